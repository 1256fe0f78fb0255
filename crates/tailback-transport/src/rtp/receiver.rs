//! The receiving end. It delivers the packets that arrive, and reports them (RFC 8888).
//!
//! A report covers the numbers from the first one that is not final to the highest one that arrived. A missing number
//! stays in the reports until a number that is at least three later has arrived. The missing number is then final.
//! Reports are sent by the [rule](super::control::ReportRule) of the rate control, and never while nothing new has
//! arrived. Of several copies of a packet, the first one counts. It counts as marked if any copy that arrives before
//! the report is marked (RFC 8888 section 3.1).
//!
//! No report covers more than 16384 numbers. After a longer gap the report begins later, and the sender drops the
//! packets before this beginning.
//!
//! The state is 24 bytes for each number that no report has covered, at most 400 kB, and the last 1024 numbers that are
//! missing.

use super::Config;
use super::report::{ArrivalReport, Contents, ReportedArrival};
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit};
use crate::segment::Segment;
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_base::{Ecn, Time};

/// Both ends take a missing packet as lost once a packet with a number greater by at least this has arrived.
pub const LATER: u64 = 3;
/// RFC 8888 section 3.1: the most numbers in a report.
const MOST_NUMBERS: u64 = 16_384;
/// The most missing numbers that are kept. A late packet whose number is no longer kept is taken as a copy.
const MISSING: usize = 1024;

pub struct MediaReceiver {
    cfg: Arc<Config>,
    /// The first number that is not final.
    begin: u64,
    /// The packets from `begin` on, by number; `None` for a missing one.
    arrived: VecDeque<Option<ReportedArrival>>,
    /// Numbers before `begin` that were reported as lost, ascending.
    missing: VecDeque<u64>,
    /// Packets since the last report.
    news: u32,
    reported: Option<Time>,
    due: Time,
    /// The reports that are not sent yet. Two reports may be written at one instant: the report that is due, and
    /// another report that an arriving packet causes.
    reports: VecDeque<Segment>,
    delivered: u64,
}

impl MediaReceiver {
    pub fn new(cfg: Arc<Config>) -> MediaReceiver {
        MediaReceiver {
            cfg,
            begin: 0,
            arrived: VecDeque::new(),
            missing: VecDeque::new(),
            news: 0,
            reported: None,
            due: Time::NEVER,
            reports: VecDeque::new(),
            delivered: 0,
        }
    }

    /// Store an arrival. Returns whether it is the first copy.
    fn place(&mut self, a: ReportedArrival, now: Time) -> bool {
        let Some(i) = a.number.checked_sub(self.begin) else {
            let late = self.missing.binary_search(&a.number);
            return late.is_ok_and(|i| self.missing.remove(i).is_some());
        };
        if i >= MOST_NUMBERS {
            self.skip_to(a.number + 1 - MOST_NUMBERS, now);
        }
        self.news += 1;
        let i = (a.number - self.begin) as usize;
        if i >= self.arrived.len() {
            self.arrived.resize(i + 1, None);
        }
        match &mut self.arrived[i] {
            Some(first) => {
                if a.ecn == Ecn::Ce {
                    first.ecn = Ecn::Ce;
                }
                false
            }
            none => {
                *none = Some(a);
                true
            }
        }
    }

    /// Report the packets that have arrived so far, and let the next report begin at `begin`. Packets that are missing
    /// before `begin` are not reported again.
    fn skip_to(&mut self, begin: u64, now: Time) {
        if self.news > 0 {
            self.write_report(now);
        }
        let past = (begin.saturating_sub(self.begin)).min(self.arrived.len() as u64);
        self.arrived.drain(..past as usize);
        self.begin = self.begin.max(begin);
    }

    fn write_report(&mut self, now: Time) {
        let report = ArrivalReport {
            begin: self.begin,
            end: self.begin + self.arrived.len() as u64,
            sent: now,
            arrived: self.arrived.iter().flatten().copied().collect(),
        };
        self.reports.push_back(report.segment(&self.cfg.rule));
        let is_open = |n: u64| n + LATER >= report.end;
        while let Some(first_arrival) = self.arrived.front()
            && (first_arrival.is_some() || !is_open(self.begin))
        {
            if first_arrival.is_none() {
                self.missing.push_back(self.begin);
            }
            self.arrived.pop_front();
            self.begin += 1;
        }
        let old = self.missing.len().saturating_sub(MISSING);
        self.missing.drain(..old);
        self.news = 0;
        (self.reported, self.due) = (Some(now), Time::NEVER);
    }
}

impl Endpoint for MediaReceiver {
    /// The receiving end sends no data.
    fn write(&mut self, _n: Amount, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let Some(contents) = Contents::read(s) else { return };
        // A report that is due at this instant covers the packets before this one.
        self.on_timeout(now, up);
        let arrival = ReportedArrival {
            number: s.seq,
            at: now,
            ecn: s.ecn,
        };
        if self.place(arrival, now)
            && let Some(number) = contents.media
        {
            self.delivered += u64::from(s.payload);
            up.event(AppEvent::Delivered(u64::from(s.payload)));
            up.event(AppEvent::Packet(number));
        }
        if self.news == 0 {
            return;
        }
        let rule = &self.cfg.rule;
        let is_full = (rule.packets > 0 && self.news >= rule.packets) || self.arrived.len() as u64 == MOST_NUMBERS;
        if is_full || (rule.frames && contents.ends_frame) {
            self.write_report(now);
        } else {
            let due = self.reported.map_or(now, |t| t + rule.every).max(now);
            self.due = self.due.min(due);
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        self.reports.pop_front().map_or(Transmit::Idle, Transmit::Segment)
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
