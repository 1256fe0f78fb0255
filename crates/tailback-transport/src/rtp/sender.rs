//! The sending end. Frames wait in a pacer, and packets are in flight until a report covers them.
//!
//! A packet leaves when the pacing rate and the window allow it. A packet is lost if a report has no arrival for it,
//! but has the arrival of a packet at least three later. Reports can be lost too. A packet that no later report can
//! cover is dropped from the records, and counts neither as arrived nor as lost. If the window is full, and a second
//! and a round trip pass without a report, all packets in flight are taken as lost. Without this rule, an outage in
//! which a whole window or its reports are lost would never end for the sender. The connection is over when it has been
//! closed, everything written has been sent, and either each packet has been reported or a second has passed.
//!
//! The state is the waiting frames, and 16 bytes for each packet in flight.

use super::Config;
use super::control::{Fate, Feedback, LeavingPacket, RateControl, RateOutput, ReportedPacket, WrittenFrame};
use super::params::SOURCE_PROBES;
use super::receiver::LATER;
use super::report::{ArrivalReport, Contents, packet};
use crate::backlog::Backlog;
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Progress, SenderReport, Transmit};
use crate::limit::{Limit, LimitClock};
use crate::segment::Segment;
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, ProbeDef, Time};

/// The time for which a sender that has nothing more to send, or has a full window, waits for a report.
const PATIENCE: Duration = Duration::from_millis(1000);

/// A packet that was sent.
struct PacketInFlight {
    bytes: u32,
    sent: Time,
    is_told: bool,
}

pub struct MediaSender {
    cfg: Arc<Config>,
    control: Box<dyn RateControl>,
    backlog: Backlog,
    /// When each frame that still waits was written.
    waiting_since: VecDeque<Time>,
    /// The number of the next packet, the number of the next packet with media, and the earlier packets that are in
    /// flight.
    next: u64,
    next_media: u64,
    out: VecDeque<PacketInFlight>,
    in_flight: u64,
    /// The time at which everything sent so far would have left if it was sent evenly at the pacing rate.
    slot: Time,
    last_sent: Time,
    last_report: Time,
    lost: u64,
    rtt: Option<Duration>,
    report: SenderReport,
    limit: LimitClock,
    wake: Time,
    is_connected: bool,
    is_closing: bool,
    is_closed: bool,
    told: Vec<ReportedPacket>,
}

impl MediaSender {
    pub fn new(cfg: Arc<Config>) -> MediaSender {
        MediaSender {
            control: (cfg.controller.build)(&cfg.settings, cfg.terms),
            cfg,
            backlog: Backlog::default(),
            waiting_since: VecDeque::new(),
            next: 0,
            next_media: 0,
            out: VecDeque::new(),
            in_flight: 0,
            slot: Time::ZERO,
            last_sent: Time::ZERO,
            last_report: Time::ZERO,
            lost: 0,
            rtt: None,
            report: SenderReport::default(),
            limit: LimitClock::new(),
            wake: Time::NEVER,
            is_connected: false,
            is_closing: false,
            is_closed: false,
            told: Vec::new(),
        }
    }

    fn waited(&self, now: Time) -> Duration {
        self.waiting_since.front().map_or(Duration::ZERO, |t| now.since(*t))
    }

    fn output(&self) -> RateOutput {
        self.control.output(self.backlog.bytes())
    }

    /// Take the packets that a report covers for the first time, in the order of numbers. Packets that no report can
    /// cover any more are dropped from the records.
    fn learn(&mut self, r: &ArrivalReport) {
        self.told.clear();
        let base = self.next - self.out.len() as u64;
        for _ in base..r.begin.min(self.next) {
            let forgotten = self.out.pop_front();
            self.in_flight -= forgotten.filter(|o| !o.is_told).map_or(0, |o| u64::from(o.bytes));
        }
        let base = self.next - self.out.len() as u64;
        let highest = r.arrived.last().map_or(0, |a| a.number);
        let mut arrived = r.arrived.iter().peekable();
        for number in base.max(r.begin)..r.end {
            while arrived.peek().is_some_and(|a| a.number < number) {
                arrived.next();
            }
            let out = &mut self.out[(number - base) as usize];
            if out.is_told {
                continue;
            }
            let fate = match arrived.peek() {
                Some(a) if a.number == number => Fate::Received {
                    at: a.at.max(out.sent),
                    marked: a.ecn == Ecn::Ce,
                },
                _ if number + LATER <= highest => Fate::Lost,
                _ => continue,
            };
            out.is_told = true;
            self.in_flight -= u64::from(out.bytes);
            self.lost += u64::from(fate == Fate::Lost);
            self.told.push(ReportedPacket {
                number,
                bytes: out.bytes,
                sent: out.sent,
                fate,
            });
        }
        while self.out.front().is_some_and(|o| o.is_told) {
            self.out.pop_front();
        }
    }

    /// The contents of the next packet: media, or padding if no media wait.
    fn contents(&mut self, padding: u32) -> Contents {
        let writes = self.backlog.writes();
        let Some(payload) = self.backlog.take(self.cfg.payload) else {
            return Contents {
                payload: padding.min(self.cfg.payload),
                media: None,
                ends_frame: false,
            };
        };
        let ends_frame = self.backlog.writes() < writes;
        if ends_frame {
            self.waiting_since.pop_front();
        }
        self.next_media += 1;
        Contents {
            payload,
            media: Some(self.next_media - 1),
            ends_frame,
        }
    }

    /// The time at which all packets in flight are taken as lost, if no report arrives before.
    fn lost_at(&self) -> Option<Time> {
        let is_full = !self.backlog.is_empty() && self.in_flight >= self.output().window;
        let since = self.last_sent.max(self.last_report);
        is_full.then(|| since + PATIENCE + self.rtt.unwrap_or_default())
    }

    fn give_up(&mut self, now: Time) {
        self.told.clear();
        let base = self.next - self.out.len() as u64;
        let out = (base..).zip(self.out.drain(..)).filter(|(_, o)| !o.is_told);
        self.told.extend(out.map(|(number, outcome)| ReportedPacket {
            number,
            bytes: outcome.bytes,
            sent: outcome.sent,
            fate: Fate::Lost,
        }));
        self.lost += self.told.len() as u64;
        (self.in_flight, self.last_report) = (0, now);
        self.pass_on(now);
    }

    /// Pass the reported packets to the rate control, once a round trip is known.
    fn pass_on(&mut self, now: Time) {
        let Some(rtt) = self.rtt else { return };
        let feedback = Feedback {
            now,
            packets: &self.told,
            rtt,
            in_flight: self.in_flight,
        };
        self.control.on_feedback(&feedback);
    }

    fn sample(&mut self, rtt: Duration) {
        let (r, seconds) = (&mut self.report, rtt.seconds());
        r.rtt.note(seconds);
        r.rtt_samples += 1;
        r.rtt_sum += seconds;
        self.rtt = Some(rtt);
    }

    /// Nothing is left to be sent, and no report is awaited.
    fn is_done(&self, now: Time) -> bool {
        self.is_closing && self.backlog.is_empty() && (self.in_flight == 0 || now >= self.last_sent + PATIENCE)
    }

    fn report_up(&mut self, now: Time, up: &mut dyn AppEvents) {
        self.wake = Time::NEVER;
        if !self.is_connected {
            self.is_connected = true;
            up.event(AppEvent::Connected);
        }
        if self.is_done(now) && !self.is_closed {
            self.is_closed = true;
            up.event(AppEvent::Closed);
        }
    }
}

impl Endpoint for MediaSender {
    fn write(&mut self, n: Amount, now: Time) {
        if self.is_closing {
            return;
        }
        self.backlog.write(n);
        match n {
            Amount::Bytes(0) => {}
            Amount::Bytes(bytes) => {
                self.waiting_since.push_back(now);
                let waited = self.waited(now);
                self.control.on_frame(&WrittenFrame {
                    now,
                    payload: bytes,
                    waiting: self.backlog.bytes(),
                    waited,
                });
            }
            Amount::Unlimited => {}
        }
        if !self.is_connected {
            self.wake = now;
        }
    }

    fn close(&mut self, now: Time) {
        self.is_closing = true;
        self.backlog.end();
        self.wake = now;
    }

    fn abort(&mut self, now: Time) {
        self.backlog.clear();
        self.waiting_since.clear();
        self.close(now);
    }

    fn withdraw(&mut self, bytes: u64) {
        if bytes == u64::MAX && !self.is_closing {
            self.backlog.end();
        }
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let Some(r) = ArrivalReport::read(s, &self.cfg.rule).filter(|r| r.end <= self.next) else {
            return;
        };
        self.learn(&r);
        let newest = self.told.iter().rev().find_map(|t| match t.fate {
            Fate::Received { at, .. } => Some((t.sent, at)),
            Fate::Lost => None,
        });
        if let Some((sent, at)) = newest {
            let wait = r.sent.since(at);
            self.sample(Duration(now.since(sent).0.saturating_sub(wait.0)).max(Duration(1)));
        }
        self.last_report = now;
        self.pass_on(now);
        if self.is_done(now) || !self.is_connected {
            self.report_up(now, up);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        let output = self.output();
        // No padding is sent before the first frame, because there is no connection until then.
        let pads = output.padding > 0 && self.next > 0 && !self.is_closing;
        if self.backlog.is_empty() && !pads {
            self.limit.note(Limit::Application, now, &mut self.report);
            return Transmit::Idle;
        }
        if self.in_flight >= output.window {
            self.limit.note(Limit::Network, now, &mut self.report);
            return Transmit::Idle;
        }
        let slot = Time(self.slot.0.saturating_sub(output.burst.0));
        if now < slot {
            self.limit.note(Limit::Network, now, &mut self.report);
            return Transmit::NotBefore(slot);
        }
        // A write without end stands for an encoder that makes exactly the target. Only frames that wait are sent at a
        // pace above the target.
        let pace = if self.backlog.is_endless() && !pads {
            output.target
        } else {
            output.pacing
        };
        let contents = self.contents(output.padding);
        let bytes = contents.payload + self.cfg.header;
        // An idle pacer collects no credit.
        let time = Duration::from_seconds(8.0 * f64::from(bytes) / pace);
        self.slot = self.slot.max(now) + time;
        self.last_sent = now;
        self.in_flight += u64::from(bytes);
        self.out.push_back(PacketInFlight {
            bytes,
            sent: now,
            is_told: false,
        });
        let number = self.next;
        self.next += 1;
        self.report.sent_packets += 1;
        self.report.sent_payload_bytes += u64::from(contents.payload);
        let leaving = LeavingPacket {
            now,
            number,
            bytes,
            in_flight: self.in_flight,
            is_padding: contents.media.is_none(),
        };
        self.control.on_sent(&leaving);
        Transmit::Segment(packet(number, &contents, self.cfg.header, self.cfg.ecn, now))
    }

    fn next_timeout(&self) -> Option<Time> {
        let end = match self.is_closing && !self.is_closed && self.backlog.is_empty() {
            true => self.last_sent + PATIENCE,
            false => Time::NEVER,
        };
        let control_timer = self
            .control
            .next_timer()
            .filter(|_| !self.is_closed)
            .unwrap_or(Time::NEVER);
        let lost = self.lost_at().unwrap_or(Time::NEVER);
        let t = self.wake.min(end).min(control_timer).min(lost);
        (t != Time::NEVER).then_some(t)
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        if self.control.next_timer().is_some_and(|t| t <= now) {
            self.control.on_timer(now);
        }
        if self.lost_at().is_some_and(|t| t <= now) {
            self.give_up(now);
        }
        if now >= self.wake || self.is_done(now) {
            self.report_up(now, up);
        }
    }

    fn progress(&self) -> Option<Progress> {
        None
    }

    /// The target rate of payload, bit/s.
    fn target(&self) -> Option<f64> {
        Some(self.output().target * self.cfg.payload_share())
    }

    fn srtt(&self) -> Option<Duration> {
        self.rtt
    }

    fn report(&self, now: Time) -> SenderReport {
        self.limit.report(self.report, now)
    }

    fn probes(&self) -> Vec<&'static ProbeDef> {
        SOURCE_PROBES.iter().chain(self.cfg.controller.model.probes).collect()
    }

    fn read(&self, probe: usize) -> f64 {
        match SOURCE_PROBES.get(probe).map(|p| p.name) {
            Some("target") => self.output().target,
            Some("pacing") => self.output().pacing,
            Some("rtt") => self.rtt.map_or(f64::NAN, Duration::seconds),
            Some("waiting") => self.backlog.bytes() as f64,
            Some("lost") => self.lost as f64,
            _ => self.control.read(probe - SOURCE_PROBES.len()),
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }
}
