//! The sending end, which sends packets evenly spaced in time at the allowed rate.
//!
//! The next packet may be sent when the time `payload` divided by the rate has passed since the last packet. The rate
//! is the one that holds at that time. After an idle period the next packet is sent at once, without a burst. The
//! connection is over when it has been closed, everything written has been sent, and a report about the last packet has
//! arrived or failed to arrive.
//!
//! The state is the waiting data, the allowed rate, and the periods in which the rate, and not the application, limited
//! the sender (RFC 5348 section 8.2.1). A period is kept as long as reports may still be about it.

use super::Config;
use super::params::SOURCE_PROBES;
use super::rate::{RateControl, SentOfAllowed};
use super::report::{Report, packet};
use crate::backlog::Backlog;
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, SenderReport, Transmit};
use crate::limit::{Limit, LimitClock};
use crate::segment::Segment;
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_base::{Duration, ProbeDef, Time};

/// The beginnings and ends of the periods in which the rate limited the sender. The last period may still be open.
#[derive(Default)]
struct HeldBack(VecDeque<(Time, Time)>);

impl HeldBack {
    fn begin(&mut self, now: Time) {
        if self.0.back().is_none_or(|last| last.1 != Time::NEVER) {
            self.0.push_back((now, Time::NEVER));
        }
    }

    fn end(&mut self, now: Time) {
        if let Some(last) = self.0.back_mut().filter(|last| last.1 == Time::NEVER) {
            last.1 = now;
        }
    }

    /// Whether the rate limited the sender after `from` and up to `to`. Periods that ended before are removed.
    fn within(&mut self, from: Time, to: Time) -> bool {
        let was_limited = self.0.iter().any(|(start, end)| *start <= to && *end > from);
        while self.0.front().is_some_and(|(_, end)| *end <= to) {
            self.0.pop_front();
        }
        was_limited
    }
}

pub struct Sender {
    cfg: Arc<Config>,
    backlog: Backlog,
    rate: RateControl,
    /// Number of the next packet.
    next: u64,
    /// The time at which the last packet was sent.
    left: Option<Time>,
    /// The time at which the rate is cut if no report arrives before (the no-feedback timer).
    silence: Time,
    /// Whether a packet was sent since `silence` was set.
    spoke: bool,
    held: HeldBack,
    /// The sending time of the packet that the last report echoed, and one past the highest number reported.
    covered: Time,
    reported: u64,
    report: SenderReport,
    limit: LimitClock,
    /// When to report events to the application although no report has arrived.
    wake: Time,
    connected_told: bool,
    closing: bool,
    closed: bool,
}

impl Sender {
    pub fn new(cfg: Arc<Config>) -> Sender {
        Sender {
            rate: RateControl::new(cfg.payload, cfg.least_rto, cfg.damping),
            cfg,
            backlog: Backlog::default(),
            next: 0,
            left: None,
            silence: Time::NEVER,
            spoke: false,
            held: HeldBack::default(),
            covered: Time::ZERO,
            reported: 0,
            report: SenderReport::default(),
            limit: LimitClock::new(),
            wake: Time::NEVER,
            connected_told: false,
            closing: false,
            closed: false,
        }
    }

    /// When the next packet may leave.
    fn slot(&self) -> Time {
        let gap = || Duration::from_seconds(f64::from(self.cfg.payload) / self.rate.sending());
        self.left.map_or(Time::ZERO, |t| t + gap())
    }

    /// Nothing is left to be sent, and no report is awaited.
    fn is_done(&self) -> bool {
        self.closing && self.backlog.is_empty() && self.reported == self.next
    }

    fn be_patient(&mut self, now: Time) {
        self.silence = if self.is_done() {
            Time::NEVER
        } else {
            now + self.rate.patience()
        };
        self.spoke = false;
    }

    fn sample(&mut self, rtt: Duration) {
        let (r, rtt) = (&mut self.report, rtt.seconds());
        r.rtt.note(rtt);
        r.rtt_samples += 1;
        r.rtt_sum += rtt;
    }

    fn report_up(&mut self, up: &mut dyn AppEvents) {
        self.wake = Time::NEVER;
        if !self.connected_told {
            self.connected_told = true;
            up.event(AppEvent::Connected);
        }
        if self.is_done() && !self.closed {
            self.closed = true;
            self.silence = Time::NEVER;
            up.event(AppEvent::Closed);
        }
    }
}

impl Endpoint for Sender {
    fn write(&mut self, n: Amount, now: Time) {
        if self.closing {
            return;
        }
        self.backlog.write(n);
        if !self.connected_told {
            self.wake = now;
        }
    }

    fn close(&mut self, now: Time) {
        self.closing = true;
        self.backlog.end();
        if self.is_done() {
            self.wake = now;
        }
    }

    fn abort(&mut self, now: Time) {
        self.backlog.clear();
        self.close(now);
    }

    fn withdraw(&mut self, bytes: u64) {
        if bytes == u64::MAX && !self.closing {
            self.backlog.end();
        }
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let Some(r) = Report::read(s) else { return };
        if r.end > self.next || r.end == 0 {
            // This report is about packets that were never sent.
            return;
        }
        let rtt = Duration(now.since(r.echo).0.saturating_sub(r.delay.0)).max(Duration(1));
        self.sample(rtt);
        let sent_share = if self.held.within(self.covered, r.echo) {
            SentOfAllowed::AllAllowed
        } else {
            SentOfAllowed::Less
        };
        self.covered = self.covered.max(r.echo);
        self.reported = self.reported.max(r.end);
        self.rate.on_report(&r, rtt.seconds(), sent_share, now);
        self.be_patient(now);
        if self.is_done() || !self.connected_told {
            self.report_up(up);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        let slot = self.slot();
        if self.backlog.is_empty() {
            // Until the slot the sender sends as much as it may.
            self.held.end(slot.max(now));
            self.limit.note(Limit::Application, now, &mut self.report);
            return Transmit::Idle;
        }
        if now < slot {
            self.held.begin(now);
            self.limit.note(Limit::Network, now, &mut self.report);
            return Transmit::NotBefore(slot);
        }
        let Some(bytes) = self.backlog.take(self.cfg.payload) else {
            return Transmit::Idle;
        };
        self.left = Some(now);
        if self.silence == Time::NEVER {
            self.be_patient(now);
        }
        self.spoke = true;
        self.report.sent_packets += 1;
        self.report.sent_payload_bytes += u64::from(bytes);
        let sequence = self.next;
        self.next += 1;
        Transmit::Segment(packet(
            sequence,
            bytes,
            self.cfg.header,
            self.cfg.ecn,
            now,
            self.rate.rtt(),
        ))
    }

    fn next_timeout(&self) -> Option<Time> {
        let t = self.silence.min(self.wake);
        (t != Time::NEVER).then_some(t)
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        if now >= self.wake {
            self.report_up(up);
        }
        if now >= self.silence {
            if self.closing && self.backlog.is_empty() {
                // The last packet, or the report about this packet, is lost.
                self.reported = self.next;
                self.report_up(up);
            } else if self.rate.on_silence(self.spoke, now) {
                self.report.timeouts += 1;
            }
            self.be_patient(now);
        }
    }

    fn srtt(&self) -> Option<Duration> {
        (self.report.rtt_samples > 0).then(|| self.rate.rtt())
    }

    fn report(&self, now: Time) -> SenderReport {
        self.limit.report(self.report, now)
    }

    fn probes(&self) -> Vec<&'static ProbeDef> {
        SOURCE_PROBES.iter().collect()
    }

    fn read(&self, probe: usize) -> f64 {
        let r = &self.rate;
        match SOURCE_PROBES.get(probe).map(|p| p.name) {
            Some("rate") => 8.0 * r.sending(),
            Some("receive_rate") => 8.0 * r.last_received(),
            Some("loss_event_rate") => r.loss_event_rate(),
            Some("rtt") if self.report.rtt_samples == 0 => f64::NAN,
            Some("rtt") => r.rtt().seconds(),
            Some("mean_interval") if r.loss_event_rate() == 0.0 => f64::NAN,
            Some("mean_interval") => 1.0 / r.loss_event_rate(),
            _ => f64::NAN,
        }
    }

    fn is_closed(&self) -> bool {
        self.closed
    }
}
