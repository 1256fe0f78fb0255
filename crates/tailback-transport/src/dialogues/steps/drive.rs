//! An endpoint of this crate as an end of a dialogue. It has a clock, a list of the segments that it sends, and a
//! record of the events that its application got.

use super::{Act, PAYLOAD, PlayedEnd, Sent};
use crate::{Amount, AppEvent, AppEvents, Endpoint, Segment, Transmit};
use tailback_base::Time;

/// An endpoint that a dialogue drives.
pub struct Driven {
    pub end: Box<dyn Endpoint>,
    /// The time at which the pacer allows the next segment.
    paced: Time,
    sent: Vec<Sent>,
    heard: Heard,
}

#[derive(Default)]
struct Heard {
    now: Time,
    events: Vec<(Time, AppEvent)>,
}

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.events.push((self.now, e));
    }
}

impl Driven {
    pub fn new(end: Box<dyn Endpoint>) -> Driven {
        Driven {
            end,
            paced: Time::NEVER,
            sent: Vec::new(),
            heard: Heard::default(),
        }
    }

    /// Send what may be sent now.
    fn pump(&mut self, now: Time) {
        self.paced = loop {
            match self.end.poll_transmit(now) {
                Transmit::Segment(segment) => self.sent.push(Sent { at: now, segment }),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
    }

    /// When the application got this event for the first time, s; infinite if it never did.
    fn when(&self, what: AppEvent, zero: Time) -> f64 {
        let mut heard = self.heard.events.iter();
        heard
            .find(|e| e.1 == what)
            .map_or(f64::INFINITY, |e| seconds(e.0, zero))
    }
}

/// Seconds since an instant.
fn seconds(t: Time, zero: Time) -> f64 {
    if t == Time::NEVER {
        f64::INFINITY
    } else {
        t.since(zero).seconds()
    }
}

impl PlayedEnd for Driven {
    fn act(&mut self, act: Act, now: Time) {
        match act {
            Act::Write(n) => self.end.write(n.map_or(Amount::Unlimited, Amount::Bytes), now),
            Act::Withdraw => self.end.withdraw(u64::MAX),
            Act::Close => self.end.close(now),
            Act::Abort => self.end.abort(now),
            Act::StayOpen => self.end.stay_open(),
            Act::Read(on) => self.end.set_reading(on, now),
        }
        self.pump(now);
    }

    fn arrive(&mut self, s: &Segment, now: Time) {
        self.heard.now = now;
        self.end.on_segment(s, now, &mut self.heard);
        self.pump(now);
    }

    fn next(&self) -> Time {
        self.end.next_timeout().unwrap_or(Time::NEVER).min(self.paced)
    }

    fn advance(&mut self, now: Time) {
        self.heard.now = now;
        if self.end.next_timeout().is_some_and(|t| t <= now) {
            self.end.on_timeout(now, &mut self.heard);
        }
        self.pump(now);
    }

    fn take(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    fn value(&self, name: &str, now: Time, zero: Time) -> Option<f64> {
        if let Some(probe) = self.end.probes().iter().position(|p| p.name == name) {
            let divisor = if name == "outstanding" { PAYLOAD as f64 } else { 1.0 };
            return Some(self.end.read(probe) / divisor);
        }
        let report = self.end.report(now);
        Some(match name {
            "timeouts" => report.timeouts as f64,
            "fast_retransmits" => report.fast_retransmits as f64,
            "ecn_reductions" => report.ecn_reductions as f64,
            "retransmitted" => report.retransmitted_packets as f64,
            "rtt_samples" => report.rtt_samples as f64,
            "rtt_least" => report.rtt.least,
            "limited_by_network" => report.limited_by_network.seconds(),
            "limited_by_window_cap" => report.limited_by_window_cap.seconds(),
            "limited_by_application" => report.limited_by_application.seconds(),
            "received" => self.end.received_bytes() as f64 / PAYLOAD as f64,
            "timer" => seconds(self.end.next_timeout().unwrap_or(Time::NEVER), zero),
            "is_closed" => f64::from(u8::from(self.end.is_closed())),
            "connected" => self.when(AppEvent::Connected, zero),
            "all_acknowledged" => self.when(AppEvent::AllAcknowledged, zero),
            "peer_closed" => self.when(AppEvent::PeerClosed, zero),
            "closed" => self.when(AppEvent::Closed, zero),
            _ => self.end.info().iter().find(|(n, _)| *n == name)?.1 as f64,
        })
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.end.probes().iter().map(|p| p.name).collect();
        names.extend(self.end.info().iter().map(|(n, _)| *n));
        names.extend([
            "timeouts",
            "fast_retransmits",
            "ecn_reductions",
            "retransmitted",
            "received",
            "timer",
        ]);
        names.sort_unstable();
        names.dedup();
        names
    }
}
