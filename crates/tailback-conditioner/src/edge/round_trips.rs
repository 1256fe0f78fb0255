//! Round trips of aggregates, and the smallest round trip of all edges.
//!
//! An edge measures without a table of flows. For each aggregate it stores one data packet at a time (flow, end, time).
//! The ACK that covers this packet gives a sample, to which the known delay between the host and the edge is added. If
//! a packet of that flow with the same or a lower sequence number passes in between, it is a retransmission, and the
//! sample is discarded. A sample of more than 3 s is discarded too. Samples are smoothed by 1/8 (RFC 6298 section 2.3).
//!
//! Edges regularly send each other their smallest round trip. A value that has not been repeated for five intervals is
//! no longer used. With [`Source::Oracle`] the table has the propagation delays of the paths, and values stay valid.
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000, where edges exchange smallest round trips. The
//! measurement and the rules of the exchange are our choice.
//!
//! State: for each aggregate a round trip and one packet; for each other edge a round trip. Cost of a packet: a
//! comparison.

use crate::conditioner::EdgeId;
use std::collections::BTreeMap;
use tailback_base::work::counted_as;
use tailback_base::{Duration, FlowId, Time};

tailback_base::choice! {
    /// The source of round trips.
    pub enum Source {
        /// The propagation delays of the paths.
        Oracle = "oracle",
        Measured = "measured",
    }
}

/// A sample that takes longer is discarded.
const TOO_LONG: Duration = Duration(3_000_000_000);
/// A message from an edge is valid for this many intervals.
const FRESH: u64 = 5;

/// A packet whose ACK is awaited.
#[derive(Clone, Copy)]
struct Sampled {
    flow: FlowId,
    start: u64,
    end: u64,
    at: Time,
}

#[derive(Default)]
struct Aggregate {
    /// The smoothed round trip, seconds.
    smoothed: Option<f64>,
    /// The delay between the hosts and the edge, in both directions together, seconds.
    outside: f64,
    probe: Option<Sampled>,
}

/// The table of one edge.
pub struct RoundTrips {
    source: Source,
    interval: Duration,
    aggregates: BTreeMap<u64, Aggregate>,
    others: BTreeMap<EdgeId, (Time, f64)>,
}

impl RoundTrips {
    pub fn new(source: Source, interval: Duration) -> RoundTrips {
        RoundTrips {
            source,
            interval,
            aggregates: BTreeMap::new(),
            others: BTreeMap::new(),
        }
    }

    pub fn source(&self) -> Source {
        self.source
    }

    /// Set the propagation delays of a flow's path: of the whole path, and between its hosts and this edge. Both delays
    /// are for both directions together. Returns whether the smallest round trip of this edge has changed.
    pub fn path(&mut self, aggregate: u64, round_trip: Duration, outside: Duration) -> bool {
        let least_before = self.own_least();
        let a = self.aggregates.entry(aggregate).or_default();
        a.outside = outside.seconds();
        if self.source == Source::Oracle {
            a.smoothed = Some(round_trip.seconds());
        }
        self.own_least() != least_before
    }

    #[cfg(test)]
    pub fn set(&mut self, aggregate: u64, seconds: f64) {
        self.aggregates.entry(aggregate).or_default().smoothed = Some(seconds);
    }

    /// A data packet passes.
    pub fn forward(&mut self, aggregate: u64, flow: FlowId, (start, end): (u64, u64), now: Time) {
        if self.source == Source::Oracle {
            return;
        }
        let round_trips = self.aggregates.entry(aggregate).or_default();
        let spoilt = |p: &Sampled| (p.flow == flow && start <= p.start) || now.since(p.at) > TOO_LONG;
        match round_trips.probe {
            Some(p) if !spoilt(&p) => {}
            Some(p) if p.flow == flow => round_trips.probe = None,
            _ => {
                round_trips.probe = Some(Sampled {
                    flow,
                    start,
                    end,
                    at: now,
                })
            }
        }
    }

    /// An ACK passes in the other direction.
    pub fn reverse(&mut self, flow: FlowId, ack: u64, now: Time) {
        // An ACK belongs to the aggregate whose stored packet it covers. There are few aggregates to search.
        let covered = |a: &&mut Aggregate| a.probe.is_some_and(|p| p.flow == flow && ack >= p.end);
        let Some(a) = self.aggregates.values_mut().find(covered) else {
            return;
        };
        let Some(p) = a.probe else { return };
        a.probe = None;
        let elapsed = now.since(p.at);
        if elapsed <= TOO_LONG {
            let sample = elapsed.seconds() + a.outside;
            a.smoothed = Some(a.smoothed.map_or(sample, |s| s + (sample - s) / 8.0));
        }
    }

    /// Another edge reports its smallest round trip.
    pub fn hear(&mut self, from: EdgeId, seconds: f64, now: Time) {
        self.others.insert(from, (now, seconds));
    }

    /// The round trip of an aggregate, seconds.
    pub fn of(&self, aggregate: u64) -> Option<f64> {
        self.aggregates.get(&aggregate)?.smoothed
    }

    /// The smallest round trip of this edge's aggregates, seconds.
    pub fn own_least(&self) -> Option<f64> {
        self.aggregates
            .values()
            .filter_map(|a| a.smoothed)
            .min_by(f64::total_cmp)
    }

    /// The aggregate of this edge with the smallest round trip.
    pub fn own_nearest(&self) -> Option<u64> {
        let smoothed = counted_as(4, &self.aggregates).filter_map(|(k, a)| Some((*k, a.smoothed?)));
        smoothed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|a| a.0)
    }

    /// The values that other edges have reported and that are still valid.
    fn told(&self, now: Time) -> impl Iterator<Item = (EdgeId, f64)> {
        let limit = Duration(FRESH * self.interval.0);
        let fresh = move |t: Time| self.source == Source::Oracle || now.since(t) <= limit;
        let fresh_others = self.others.iter().filter(move |(_, (t, _))| fresh(*t));
        fresh_others.map(|(edge, (_, r))| (*edge, *r))
    }

    /// The smallest round trip of all edges, seconds.
    pub fn least(&self, now: Time) -> Option<f64> {
        let of_others = self.told(now).map(|t| t.1);
        of_others.chain(self.own_least()).min_by(f64::total_cmp)
    }

    /// The edges with the smallest round trip; `None` stands for this edge.
    pub fn nearest(&self, now: Time) -> impl Iterator<Item = Option<EdgeId>> {
        let least = self.least(now);
        let own = (self.own_least() == least).then_some(None);
        let told = self.told(now).filter(move |t| Some(t.1) == least);
        own.into_iter().chain(told.map(|t| Some(t.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const F: FlowId = FlowId(1);

    fn measured() -> RoundTrips {
        let mut t = RoundTrips::new(Source::Measured, Duration(1000 * MS));
        t.path(9, Duration(100 * MS), Duration(20 * MS));
        t
    }

    #[test]
    fn a_sample_has_the_way_to_the_host_too() {
        let mut t = measured();
        assert_eq!(t.of(9), None);
        t.forward(9, F, (1, 1001), Time(0));
        t.forward(9, F, (1001, 2001), Time(MS));
        t.reverse(F, 1000, Time(70 * MS));
        assert_eq!(t.of(9), None, "not yet covered");
        t.reverse(FlowId(2), 9000, Time(75 * MS));
        t.reverse(F, 2001, Time(80 * MS));
        assert!((t.of(9).unwrap() - 0.1).abs() < 1e-12);
        t.forward(9, F, (2001, 3001), Time(100 * MS));
        t.reverse(F, 3001, Time(340 * MS));
        assert!((t.of(9).unwrap() - 0.12).abs() < 1e-12, "1/8 of 160 ms more");
    }

    #[test]
    fn retransmissions_and_long_waits_spoil_it() {
        let mut t = measured();
        t.forward(9, F, (1001, 2001), Time(0));
        t.forward(9, F, (1, 1001), Time(50 * MS));
        t.reverse(F, 2001, Time(100 * MS));
        assert_eq!(t.of(9), None);
        t.forward(9, F, (2001, 3001), Time(200 * MS));
        t.reverse(F, 3001, Time(3201 * MS));
        assert_eq!(t.of(9), None);
        t.forward(9, F, (3001, 4001), Time(4000 * MS));
        t.reverse(F, 4001, Time(4080 * MS));
        assert!(t.of(9).is_some());
    }

    #[test]
    fn the_least_of_all_edges_is_forgotten_unless_told_again() {
        let mut t = measured();
        t.set(9, 0.1);
        t.hear(EdgeId(1), 0.02, Time(0));
        assert_eq!(t.least(Time(5000 * MS)), Some(0.02));
        assert_eq!(t.least(Time(5001 * MS)), Some(0.1));
        let mut oracle = RoundTrips::new(Source::Oracle, Duration(1000 * MS));
        assert!(oracle.path(9, Duration(100 * MS), Duration::ZERO));
        assert!(!oracle.path(9, Duration(100 * MS), Duration::ZERO));
        oracle.hear(EdgeId(1), 0.02, Time(0));
        assert_eq!((oracle.of(9), oracle.least(Time(60_000 * MS))), (Some(0.1), Some(0.02)));
    }
}
