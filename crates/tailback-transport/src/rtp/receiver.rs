//! The receiving end: it delivers what arrives, and reports (RFC 8888).
//!
//! A report covers the numbers from the first of which no report was final to the highest that arrived. A number that
//! is missing is in the reports until three later ones have arrived; then it is final. Reports are sent by the
//! [rule](super::control::ReportRule) of the rate control, and never while nothing new has arrived.
//!
//! State: 24 bytes for each packet that no report has covered.

use super::Config;
use super::report::{ArrivalReport, ReportedArrival};
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit};
use crate::segment::Segment;
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_base::Time;

/// So many later arrivals make a missing packet a lost one, at both ends.
pub const LATER: u64 = 3;

pub struct MediaReceiver {
    cfg: Arc<Config>,
    /// The first number that is not final.
    begin: u64,
    /// From `begin` on, by number.
    arrived: VecDeque<Option<ReportedArrival>>,
    /// Packets since the last report, and whether one of them ended a frame.
    news: u32,
    ends_frame: bool,
    reported: Option<Time>,
    due: Time,
    report: Option<Segment>,
    delivered: u64,
}

impl MediaReceiver {
    pub fn new(cfg: Arc<Config>) -> MediaReceiver {
        MediaReceiver {
            cfg,
            begin: 0,
            arrived: VecDeque::new(),
            news: 0,
            ends_frame: false,
            reported: None,
            due: Time::NEVER,
            report: None,
            delivered: 0,
        }
    }

    /// Store an arrival; returns whether it is the first copy, as far as that is known.
    fn place(&mut self, a: ReportedArrival) -> bool {
        let Some(i) = a.number.checked_sub(self.begin) else {
            // It was reported as lost.
            return true;
        };
        let i = i as usize;
        if i >= self.arrived.len() {
            self.arrived.resize(i + 1, None);
        }
        self.arrived[i].replace(a).is_none()
    }

    fn write_report(&mut self, now: Time) {
        let report = ArrivalReport {
            begin: self.begin,
            end: self.begin + self.arrived.len() as u64,
            sent: now,
            arrived: self.arrived.iter().flatten().copied().collect(),
        };
        self.report = Some(report.segment(&self.cfg.rule));
        let is_open = |n: u64| n + LATER >= report.end;
        while let Some(first) = self.arrived.front()
            && (first.is_some() || !is_open(self.begin))
        {
            self.arrived.pop_front();
            self.begin += 1;
        }
        (self.news, self.ends_frame) = (0, false);
        (self.reported, self.due) = (Some(now), Time::NEVER);
    }
}

impl Endpoint for MediaReceiver {
    /// It sends no data.
    fn write(&mut self, _n: Amount, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let (Some((_, marker)), true) = (s.timestamps, s.payload > 0) else {
            return;
        };
        // A report that is due at this instant covers the packets before this one.
        self.on_timeout(now, up);
        let arrival = ReportedArrival {
            number: s.seq,
            at: now,
            ecn: s.ecn,
        };
        if self.place(arrival) {
            self.delivered += u64::from(s.payload);
            up.event(AppEvent::Delivered(u64::from(s.payload)));
            up.event(AppEvent::Packet(s.seq));
        }
        self.news += 1;
        self.ends_frame |= marker > Time::ZERO;
        let rule = &self.cfg.rule;
        let is_full = rule.packets > 0 && self.news >= rule.packets;
        if is_full || (rule.frames && self.ends_frame) {
            self.write_report(now);
        } else {
            let due = self.reported.map_or(now, |t| t + rule.every).max(now);
            self.due = self.due.min(due);
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        self.report.take().map_or(Transmit::Idle, Transmit::Segment)
    }

    fn next_timeout(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }

    fn on_timeout(&mut self, now: Time, _up: &mut dyn AppEvents) {
        if now >= self.due {
            self.write_report(now);
        }
    }

    fn received_bytes(&self) -> u64 {
        self.delivered
    }
}
