//! Excess by round trip and by target: marks the packets above an aggregate's target so that losses even out the
//! rates of aggregates.
//!
//! The steady rate of TCP is proportional to 1/(R sqrt p), so losses in proportion to 1/R^2 give equal rates at
//! different round trips. In the same way losses in proportion to 1/T^2 share the excess in proportion to the
//! targets.
//!
//! ```text
//! m  rate of the aggregate (sliding window)     p = (m - T)/m            share of packets above the target T
//! q  weight of the aggregate, at most 1:        (R_min/R)^2, (T_min/T)^2, or both together
//!
//! three precedences    m <= T: green     else with probability 1-p green, p (1-q) yellow, p q red
//! two                  m <= T: green     else with probability p q yellow, else green
//! ```
//!
//! R is the round trip of the aggregate, R_min the least of all aggregates of all edges ([`super::round_trips`]);
//! T_min is the least target. With `relation = "timeouts"` the weight by round trip uses a model of TCP with timeouts
//! instead ([`super::timeouts`]). The model needs the loss of the aggregate with the least round trip. This loss is a
//! parameter, or exits report it to the edge of that aggregate ([`super::feedback`]), which reports it to the other
//! edges.
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000: the rule of three precedences. With two precedences
//! only the packets that would be red are out of profile, after Nandy et al., "Intelligent traffic conditioners for
//! assured forwarding based differentiated services networks", 2000. The weight by target is ours, from an idea in
//! the report.
//!
//! State: rate and round trip of each aggregate, no state per flow. Cost: a division and up to two draws per packet.

use super::round_trips::RoundTrips;
use super::timeouts;
use crate::conditioner::EdgeId;
use crate::meter::sliding_window::SlidingWindow;
use std::collections::BTreeMap;
use tailback_base::{BitRate, Colour, Duration, Stream, Time};

/// The number of colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precedences {
    Two,
    Three,
}

/// How loss and round trip are related.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Relation {
    /// Loss is proportional to 1/R^2.
    Square,
    /// A model with timeouts, where the aggregate with the least round trip has this loss.
    Timeouts(Loss),
}

/// The share of the yellow and red packets that the aggregate with the least round trip loses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    Given(f64),
    /// The loss that exits report to the edge of that aggregate.
    Feedback,
}

/// Reported losses are limited to this range in the model.
const LEAST_LOSS: f64 = 1e-3;
const MOST_LOSS: f64 = 0.5;

/// What the weight of an aggregate depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighing {
    pub round_trip: Option<Relation>,
    pub target: bool,
}

/// The weights and rates of all aggregates of an edge.
pub struct Excess {
    target: BitRate,
    window: Duration,
    precedences: Precedences,
    weighing: Weighing,
    stream: Stream,
    rates: BTreeMap<u64, SlidingWindow>,
    pub round_trips: RoundTrips,
    /// The least target reported by other edges, bit/s.
    least_told: Option<f64>,
    /// For each edge, the loss of its aggregate with the least round trip; this edge's own has the key `None`.
    losses: BTreeMap<Option<EdgeId>, f64>,
}

impl Excess {
    pub fn new(
        target: BitRate,
        window: Duration,
        precedences: Precedences,
        weighing: Weighing,
        round_trips: RoundTrips,
        stream: Stream,
    ) -> Excess {
        Excess {
            target,
            window,
            precedences,
            weighing,
            stream,
            rates: BTreeMap::new(),
            round_trips,
            least_told: None,
            losses: BTreeMap::new(),
        }
    }

    pub fn target(&self) -> f64 {
        self.target.bits_per_second()
    }

    /// Another edge reports its target.
    pub fn hear_target(&mut self, bits_per_second: f64) {
        let least = self.least_told.map_or(bits_per_second, |l| l.min(bits_per_second));
        self.least_told = Some(least);
    }

    /// An edge, another one or this one, reports the loss of its aggregate with the least round trip.
    pub fn hear_loss(&mut self, of: Option<EdgeId>, share: f64) {
        self.losses.insert(of, share);
    }

    /// The reported loss of this edge's own aggregate.
    pub fn own_loss(&self) -> Option<f64> {
        self.losses.get(&None).copied()
    }

    /// The weight from the model with timeouts; 1 while the loss is not known.
    fn by_timeouts(&self, [own, least]: [f64; 2], loss: Loss, now: Time) -> f64 {
        // The exit edge of an aggregate knows its round trip too, but no loss.
        let known = |edge| self.losses.get(&edge).map(|l| l.clamp(LEAST_LOSS, MOST_LOSS));
        let loss = match loss {
            Loss::Given(share) => Some(share),
            Loss::Feedback => self.round_trips.nearest(now).find_map(known),
        };
        loss.map_or(1.0, |loss| timeouts::share(own, least, loss))
    }

    /// What the weight depends on.
    pub fn weighing(&self) -> Weighing {
        self.weighing
    }

    /// The weight of an aggregate, 1 until its round trip is known.
    pub fn weight(&self, aggregate: u64, now: Time) -> f64 {
        let by_round_trip = self.weighing.round_trip.map_or(1.0, |relation| {
            let (own, least) = (self.round_trips.of(aggregate), self.round_trips.least(now));
            match (own, least, relation) {
                (Some(own), Some(least), Relation::Square) => (least / own) * (least / own),
                (Some(own), Some(least), Relation::Timeouts(loss)) => self.by_timeouts([own, least], loss, now),
                _ => 1.0,
            }
        });
        let by_target = match self.weighing.target {
            true => {
                let ratio = self.least_told.map_or(1.0, |l| (l / self.target()).min(1.0));
                ratio * ratio
            }
            false => 1.0,
        };
        by_round_trip * by_target
    }

    /// The rate of an aggregate, bit/s.
    pub fn rate(&self, aggregate: u64) -> Option<f64> {
        self.rates.get(&aggregate).map(SlidingWindow::bits_per_second)
    }

    /// Aggregates, in the order of their keys.
    pub fn aggregates(&self) -> impl Iterator<Item = u64> {
        self.rates.keys().copied()
    }

    /// The colour of a packet of this many bytes.
    pub fn colour(&mut self, aggregate: u64, bytes: u32, now: Time) -> Colour {
        let (target, window) = (self.target, self.window);
        let rate = self.rates.entry(aggregate);
        let rate = rate
            .or_insert_with(|| SlidingWindow::new(target, window))
            .count(bytes, now);
        if rate <= self.target() {
            return Colour::Green;
        }
        let above = (rate - self.target()) / rate;
        let weight = self.weight(aggregate, now);
        match self.precedences {
            Precedences::Two if self.stream.uniform() < above * weight => Colour::Yellow,
            Precedences::Two => Colour::Green,
            Precedences::Three if self.stream.uniform() < 1.0 - above => Colour::Green,
            Precedences::Three if self.stream.uniform() < 1.0 - weight => Colour::Yellow,
            Precedences::Three => Colour::Red,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_trips::Source;
    use super::*;
    use tailback_base::Duration;

    fn excess(precedences: Precedences, weighing: Weighing) -> Excess {
        let trips = RoundTrips::new(Source::Oracle, Duration(1_000_000_000));
        let (target, window) = (BitRate(2_000_000), Duration(1_000_000_000));
        Excess::new(target, window, precedences, weighing, trips, Stream::new(1, "excess"))
    }

    const BY_ROUND_TRIP: Weighing = Weighing {
        round_trip: Some(Relation::Square),
        target: false,
    };

    /// Shares of green, yellow and red among 1000-byte packets at 5 Mb/s, once the rate is known.
    fn shares(e: &mut Excess) -> [f64; 3] {
        let n = 200_000_u32;
        let mut seen = [0_u32; 3];
        for i in 0..n {
            seen[e.colour(7, 1000, Time(u64::from(i) * 1_600_000)) as usize] += 1;
        }
        seen.map(|c| f64::from(c) / f64::from(n))
    }

    fn near(got: [f64; 3], want: [f64; 3]) {
        let far = got.iter().zip(want).any(|(g, w)| (g - w).abs() > 0.005);
        assert!(!far, "{got:?}, not {want:?}");
    }

    /// 5 Mb/s with a target of 2 Mb/s: three fifths are above it. With four times the least round trip one in sixteen
    /// of these is red.
    #[test]
    fn three_precedences_split_the_excess_by_the_square_of_round_trips() {
        let mut e = excess(Precedences::Three, BY_ROUND_TRIP);
        near(shares(&mut e), [0.4, 0.0, 0.6]);
        e.round_trips.set(7, 0.08);
        e.round_trips.set(8, 0.02);
        near(shares(&mut excess_at(e)), [0.4, 0.6 * 15.0 / 16.0, 0.6 / 16.0]);
    }

    /// The same with its clock at zero.
    fn excess_at(mut e: Excess) -> Excess {
        e.rates.clear();
        e
    }

    #[test]
    fn two_precedences_keep_what_would_be_red() {
        let mut e = excess(Precedences::Two, BY_ROUND_TRIP);
        e.round_trips.set(7, 0.04);
        e.round_trips.set(8, 0.02);
        near(shares(&mut e), [1.0 - 0.15, 0.15, 0.0]);
    }

    #[test]
    fn targets_weigh_likewise_and_alike_ones_do_not() {
        let weighing = Weighing {
            round_trip: None,
            target: true,
        };
        let mut e = excess(Precedences::Three, weighing);
        e.hear_target(6e6);
        assert_eq!(e.weight(7, Time(0)), 1.0, "it is the least itself");
        e.hear_target(2e6);
        near(shares(&mut e), [0.4, 0.0, 0.6]);
        e.hear_target(1e6);
        near(shares(&mut excess_at(e)), [0.4, 0.45, 0.15]);
    }

    /// The loss that counts is that of the edge with the least round trip; the weight is one until this loss is
    /// known.
    #[test]
    fn with_timeouts_the_loss_may_come_from_feedback() {
        let weighing = Weighing {
            round_trip: Some(Relation::Timeouts(Loss::Feedback)),
            target: false,
        };
        let mut e = excess(Precedences::Three, weighing);
        e.round_trips.set(7, 0.1);
        e.round_trips.hear(EdgeId(1), 0.02, Time(0));
        e.round_trips.hear(EdgeId(3), 0.02, Time(0));
        e.hear_loss(None, 0.4);
        assert_eq!(e.weight(7, Time(0)), 1.0);
        e.hear_loss(Some(EdgeId(3)), 0.05);
        assert_eq!(e.weight(7, Time(0)), timeouts::share(0.1, 0.02, 0.05));
        e.hear_loss(Some(EdgeId(3)), 0.0);
        assert_eq!(e.weight(7, Time(0)), timeouts::share(0.1, 0.02, 1e-3));
        assert!(e.weight(7, Time(0)) < 0.1);
    }

    #[test]
    fn at_or_below_the_target_all_is_green() {
        let mut e = excess(Precedences::Three, BY_ROUND_TRIP);
        let green = (0..1000).all(|i| e.colour(7, 1000, Time(i * 4_100_000)) == Colour::Green);
        assert!(green);
    }
}
