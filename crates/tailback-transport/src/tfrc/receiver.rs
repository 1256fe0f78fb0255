//! The receiving end. It finds losses, keeps their history, and sends reports (RFC 5348 sections 5.1, 5.2 and 6).
//!
//! A packet is lost once three later ones have arrived. The time at which it would have arrived is interpolated between
//! its neighbours. This time decides to which loss event the packet belongs. A packet that carries "congestion
//! experienced" counts as lost. A report is sent once per round trip, with the sender's estimate of the round trip.
//! Reports are also sent at once at a new loss event, at the first packet, and at the first packet after a silence.
//!
//! The state is the arrivals of the last round trip (16 bytes per packet) for the receive rate, the missing packets
//! with fewer than three later ones, and the history. A packet in order costs a sum over eight intervals. Departures: a
//! packet that arrives after it was counted as lost is not delivered, because the application no longer waits for this
//! packet. A second copy is not delivered either.

use super::Config;
use super::equation::Path;
use super::history::LossHistory;
use super::params::DESTINATION_PROBES;
use super::report::Report;
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit};
use crate::segment::Segment;
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, ProbeDef, Time};

/// RFC 5348 section 5.1.
const LATER_ARRIVALS: u8 = 3;

/// A packet that was overtaken.
#[derive(Clone, Copy, Debug)]
struct Missing {
    number: u64,
    /// The time at which the packet would have arrived.
    at: Time,
    /// The number of later packets that have arrived.
    later: u8,
}

pub struct Receiver {
    cfg: Arc<Config>,
    history: LossHistory,
    /// One past the highest number received, and the arrival time of this highest one.
    end: u64,
    latest: Time,
    missing: VecDeque<Missing>,
    /// Arrivals of the last round trip, with their times and payloads.
    arrivals: VecDeque<(Time, u32)>,
    bytes: u64,
    /// The last packet: its sending time, its arrival time, and the round trip that it reported (zero: none yet).
    sent: Time,
    arrived: Time,
    rtt: Duration,
    /// When the next report is due; `NEVER` means that it is sent with the next packet.
    due: Time,
    /// Whether a packet has arrived since the last report.
    news: bool,
    report: Option<Segment>,
    delivered: u64,
}

impl Receiver {
    pub fn new(cfg: Arc<Config>) -> Receiver {
        Receiver {
            history: LossHistory::new(cfg.discount),
            cfg,
            end: 0,
            latest: Time::ZERO,
            missing: VecDeque::new(),
            arrivals: VecDeque::new(),
            bytes: 0,
            sent: Time::ZERO,
            arrived: Time::ZERO,
            rtt: Duration::ZERO,
            due: Time::NEVER,
            news: false,
            report: None,
            delivered: 0,
        }
    }

    /// Store a packet's arrival. Returns whether it is the first copy.
    fn place(&mut self, number: u64, now: Time) -> bool {
        if number < self.end {
            let i = self.missing.iter().position(|m| m.number == number);
            return i.and_then(|i| self.missing.remove(i)).is_some();
        }
        let begin = if self.end == 0 { now } else { self.latest };
        let (gap, steps) = (now.since(begin), number + 1 - self.end);
        for missed in self.end..number {
            let share = Duration((u128::from(gap.0) * u128::from(missed + 1 - self.end) / u128::from(steps)) as u64);
            self.missing.push_back(Missing {
                number: missed,
                at: begin + share,
                later: 0,
            });
        }
        (self.end, self.latest) = (number + 1, now);
        true
    }

    /// Packet `number` has arrived. Returns whether this shows a new loss event.
    fn find_losses(&mut self, number: u64) -> bool {
        for m in self.missing.iter_mut().filter(|m| m.number < number) {
            m.later += 1;
        }
        let mut event = false;
        while let Some(m) = self.missing.front().copied().filter(|m| m.later >= LATER_ARRIVALS) {
            self.missing.pop_front();
            event |= self.lost(m.number, m.at);
        }
        event
    }

    /// A packet is lost or marked. Returns whether this is a new loss event. The first event is preceded by an interval
    /// at which the equation gives the rate that was received (RFC 5348 section 6.3.1).
    fn lost(&mut self, number: u64, at: Time) -> bool {
        let path = Path {
            segment: f64::from(self.cfg.payload),
            rtt: self.rtt.seconds(),
            least_rto: self.cfg.least_rto.seconds(),
        };
        let rate = self.receive_rate();
        let first_interval = || {
            if path.rtt > 0.0 {
                1.0 / path.loss_event_rate(rate)
            } else {
                1.0
            }
        };
        self.history.lost(number, at, self.rtt, first_interval)
    }

    /// Payload received in the last round trip, bytes/s.
    fn receive_rate(&self) -> f64 {
        if self.rtt == Duration::ZERO {
            return 0.0;
        }
        self.bytes as f64 / self.rtt.seconds()
    }

    /// Remove arrivals that are at least this old.
    fn forget(&mut self, age: Duration, now: Time) {
        while let Some(&(arrival, bytes)) = self.arrivals.front()
            && now.since(arrival) >= age
        {
            self.arrivals.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// At the end of a round trip, send a report if there is something to report. Otherwise send it with the next
    /// packet.
    fn report_if_due(&mut self, now: Time) {
        if now < self.due {
            return;
        }
        self.due = Time::NEVER;
        if self.news {
            // The last report already covered the packets that arrived exactly one round trip ago.
            self.forget(self.rtt + Duration(1), now);
            self.write_report(now);
        }
    }

    fn write_report(&mut self, now: Time) {
        let report = Report {
            end: self.end,
            echo: self.sent,
            delay: now.since(self.arrived),
            receive_rate: self.receive_rate(),
            loss_event_rate: self.history.mean(self.end).map_or(0.0, |mean| 1.0 / mean),
        };
        self.report = Some(report.segment(self.cfg.report));
        self.news = false;
        // As long as no round trip is known, a report is sent for each packet.
        self.due = if self.rtt == Duration::ZERO {
            Time::NEVER
        } else {
            now + self.rtt
        };
    }
}

impl Endpoint for Receiver {
    /// The receiving end sends no data.
    fn write(&mut self, _n: Amount, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let (Some((sent_at, rtt)), true) = (s.timestamps, s.payload > 0) else {
            return;
        };
        // A report that is due at this instant covers the packets before this one.
        self.report_if_due(now);
        (self.sent, self.arrived, self.rtt) = (sent_at, now, Duration(rtt.0));
        self.news = true;
        let mut event = false;
        if self.place(s.seq, now) {
            self.arrivals.push_back((now, s.payload));
            self.bytes += u64::from(s.payload);
            self.forget(self.rtt, now);
            self.delivered += u64::from(s.payload);
            up.event(AppEvent::Delivered(u64::from(s.payload)));
            event = self.find_losses(s.seq);
            if s.ecn == Ecn::Ce {
                event |= self.lost(s.seq, now);
            }
        }
        // At the first packet, and at the first after a silence, no timer is set.
        if event || self.due == Time::NEVER {
            self.write_report(now);
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        self.report.take().map_or(Transmit::Idle, Transmit::Segment)
    }

    fn next_timeout(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }

    fn on_timeout(&mut self, now: Time, _up: &mut dyn AppEvents) {
        self.report_if_due(now);
    }

    fn received_bytes(&self) -> u64 {
        self.delivered
    }

    fn probes(&self) -> Vec<&'static ProbeDef> {
        DESTINATION_PROBES.iter().collect()
    }

    fn read(&self, probe: usize) -> f64 {
        match DESTINATION_PROBES.get(probe).map(|p| p.name) {
            Some("open_interval") => self.history.open_interval(self.end),
            Some("mean_interval") => self.history.mean(self.end).unwrap_or(f64::NAN),
            _ => f64::NAN,
        }
    }
}
