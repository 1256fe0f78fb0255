//! Excess by round trip and by target: marks the packets above an aggregate's target so that losses make the rates of
//! aggregates more equal.
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
//! The second strategy for targets, `rule = "difference"`, compares the target with the averaged rate itself: q is
//! min(1, (m - T)/T). So the share of red packets of an aggregate grows with its excess relative to its target. If the
//! excesses of all aggregates are in proportion to their targets, all have the same weight.
//!
//! R is the round trip of the aggregate, R_min the smallest round trip of all aggregates of all edges
//! ([`super::round_trips`]), and T_min the smallest target. With `relation = "timeouts"` the weight by round trip uses
//! a model of TCP with timeouts instead ([`super::timeouts`]). The model needs the loss of the aggregate with the
//! smallest round trip. This loss is either a parameter, or exits report it to the edge of that aggregate
//! ([`super::feedback`]), and that edge reports it to the other edges.
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000, for the rule with three precedences. With two
//! precedences, only the packets that would be red are out of profile, after Nandy et al., "Intelligent traffic
//! conditioners for assured forwarding based differentiated services networks", 2000. The weight by target is our
//! choice, from an idea in the report. The report names the difference between the target and the exponentially
//! averaged rate as a second strategy, but gives no rule. The sliding window is such an average.
//!
//! State: the rate and the round trip of each aggregate. There is no state per flow, except a rate for each flow if
//! flows have targets. Cost of a packet: a division and up to two random draws.

use super::round_trips::RoundTrips;
use super::timeouts;
use crate::conditioner::EdgeId;
use crate::meter::meters::Scope;
use crate::meter::sliding_window::SlidingWindow;
use std::collections::BTreeMap;
use tailback_base::{BitRate, Colour, Duration, KeyField, Packet, Stream, Time};

/// The number of colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precedences {
    Two,
    Three,
}

/// The relation between loss and round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Relation {
    /// Loss is proportional to 1/R^2.
    Square,
    /// A model with timeouts, in which the aggregate with the smallest round trip has this loss.
    Timeouts(Loss),
}

/// The share of lost packets among the yellow and red packets of the aggregate with the smallest round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    Given(f64),
    /// The loss that exits report to the edge of that aggregate.
    Feedback,
}

/// Reported losses are limited to this range in the model.
const LEAST_LOSS: f64 = 1e-3;
const MOST_LOSS: f64 = 0.5;

tailback_base::choice! {
    /// The rule by which the weight depends on a target.
    pub enum TargetRule { Square = "square", Difference = "difference" }
}

/// The inputs of an aggregate's weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighing {
    pub round_trip: Option<Relation>,
    pub target: Option<TargetRule>,
}

/// The owner of a target: an aggregate or a flow.
#[derive(Clone, Copy, Debug)]
struct Party {
    rate: SlidingWindow,
    /// The target, bit/s.
    target: f64,
}

/// The weights and rates of all aggregates of an edge, or of all its flows.
pub struct Excess {
    target: BitRate,
    window: Duration,
    /// Whether aggregates or flows have targets. The target of a flow is `target` times its weight.
    scope: Scope,
    precedences: Precedences,
    weighing: Weighing,
    stream: Stream,
    parties: BTreeMap<u64, Party>,
    /// The smallest target of the parties, bit/s.
    least_own: Option<f64>,
    pub round_trips: RoundTrips,
    /// The smallest target that other edges have reported, bit/s.
    least_told: Option<f64>,
    /// For each edge, the loss of its aggregate with the smallest round trip. This edge itself has the key `None`.
    losses: BTreeMap<Option<EdgeId>, f64>,
}

impl Excess {
    pub fn new(
        (target, window): (BitRate, Duration),
        scope: Scope,
        precedences: Precedences,
        weighing: Weighing,
        round_trips: RoundTrips,
        stream: Stream,
    ) -> Excess {
        Excess {
            target,
            window,
            scope,
            precedences,
            weighing,
            stream,
            parties: BTreeMap::new(),
            least_own: None,
            round_trips,
            least_told: None,
            losses: BTreeMap::new(),
        }
    }

    /// The target of an aggregate or flow, bit/s.
    fn target(&self, key: u64) -> f64 {
        self.parties
            .get(&key)
            .map_or(self.target.bits_per_second(), |p| p.target)
    }

    /// The smallest target of this edge, bit/s.
    pub fn least_target(&self) -> f64 {
        self.least_own.unwrap_or(self.target.bits_per_second())
    }

    fn key<P: Packet>(&self, p: &P) -> u64 {
        match self.scope {
            Scope::Port => 0,
            Scope::Each(field) => p.key(field),
        }
    }

    /// The flow of this packet sends no more packets.
    pub fn left<P: Packet>(&mut self, p: &P) {
        if self.scope == Scope::Each(KeyField::Tuple) {
            self.parties.remove(&self.key(p));
            self.least_own = self.parties.values().map(|p| p.target).reduce(f64::min);
        }
    }

    /// Another edge reports its target.
    pub fn hear_target(&mut self, bits_per_second: f64) {
        let least = self.least_told.map_or(bits_per_second, |l| l.min(bits_per_second));
        self.least_told = Some(least);
    }

    /// An edge, this one or another one, reports the loss of its aggregate with the smallest round trip.
    pub fn hear_loss(&mut self, of: Option<EdgeId>, share: f64) {
        self.losses.insert(of, share);
    }

    /// The reported loss of this edge's own aggregate.
    pub fn own_loss(&self) -> Option<f64> {
        self.losses.get(&None).copied()
    }

    /// The weight by the model with timeouts; 1 while the loss is not known.
    fn by_timeouts(&self, [own, least]: [f64; 2], loss: Loss, now: Time) -> f64 {
        // The exit edge of an aggregate also has its round trip, but no loss.
        let loss_of = |edge| self.losses.get(&edge).map(|l| l.clamp(LEAST_LOSS, MOST_LOSS));
        let loss = match loss {
            Loss::Given(share) => Some(share),
            Loss::Feedback => self.round_trips.nearest(now).find_map(loss_of),
        };
        loss.map_or(1.0, |loss| timeouts::share(own, least, loss))
    }

    /// The inputs of the weight.
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
            Some(TargetRule::Square) => {
                let least = self.least_told.unwrap_or(f64::INFINITY);
                let ratio = (least.min(self.least_target()) / self.target(aggregate)).min(1.0);
                ratio * ratio
            }
            Some(TargetRule::Difference) => {
                let target = self.target(aggregate);
                let above = self.rate(aggregate).map_or(0.0, |rate| rate - target);
                (above / target).clamp(0.0, 1.0)
            }
            None => 1.0,
        };
        by_round_trip * by_target
    }

    /// The rate of an aggregate, bit/s.
    pub fn rate(&self, aggregate: u64) -> Option<f64> {
        self.parties.get(&aggregate).map(|p| p.rate.bits_per_second())
    }

    /// The aggregates, in the order of their keys.
    pub fn aggregates(&self) -> impl Iterator<Item = u64> {
        self.parties.keys().copied()
    }

    /// The colour of a packet.
    pub fn colour<P: Packet>(&mut self, p: &P, now: Time) -> Colour {
        let key = self.key(p);
        let (target_rate, window, scope) = (self.target.bits_per_second(), self.window, self.scope);
        let least_target = &mut self.least_own;
        let party = self.parties.entry(key).or_insert_with(|| {
            let times = if scope == Scope::Each(KeyField::Tuple) {
                p.weight()
            } else {
                1.0
            };
            let target = target_rate * times;
            *least_target = Some(least_target.map_or(target, |l| l.min(target)));
            Party {
                rate: SlidingWindow::new(BitRate(target.round() as u64), window),
                target,
            }
        });
        let (rate, target) = (party.rate.count(p.bytes(), now), party.target);
        if rate <= target {
            return Colour::Green;
        }
        let excess_share = (rate - target) / rate;
        let weight = self.weight(key, now);
        match self.precedences {
            Precedences::Two if self.stream.uniform() < excess_share * weight => Colour::Yellow,
            Precedences::Two => Colour::Green,
            Precedences::Three if self.stream.uniform() < 1.0 - excess_share => Colour::Green,
            Precedences::Three if self.stream.uniform() < 1.0 - weight => Colour::Yellow,
            Precedences::Three => Colour::Red,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_trips::Source;
    use super::*;
    use crate::testing::Plain;
    use tailback_base::{Dscp, Duration};

    fn excess(precedences: Precedences, weighing: Weighing) -> Excess {
        let trips = RoundTrips::new(Source::Oracle, Duration(1_000_000_000));
        let (target, window) = (BitRate(2_000_000), Duration(1_000_000_000));
        let per = Scope::Each(KeyField::Aggregate);
        Excess::new(
            (target, window),
            per,
            precedences,
            weighing,
            trips,
            Stream::new(1, "excess"),
        )
    }

    /// A packet of 1000 bytes of aggregate 7.
    fn packet() -> Plain {
        Plain {
            aggregate: 7,
            ..Plain::new(1000, Dscp(0))
        }
    }

    const BY_ROUND_TRIP: Weighing = Weighing {
        round_trip: Some(Relation::Square),
        target: None,
    };

    /// The shares of green, yellow and red packets among 1000-byte packets at 5 Mb/s.
    fn shares(e: &mut Excess) -> [f64; 3] {
        let n = 200_000_u32;
        let mut seen = [0_u32; 3];
        for i in 0..n {
            seen[e.colour(&packet(), Time(u64::from(i) * 1_600_000)) as usize] += 1;
        }
        seen.map(|c| f64::from(c) / f64::from(n))
    }

    fn near(got: [f64; 3], want: [f64; 3]) {
        let far = got.iter().zip(want).any(|(g, w)| (g - w).abs() > 0.005);
        assert!(!far, "{got:?}, not {want:?}");
    }

    /// At 5 Mb/s with a target of 2 Mb/s, three fifths of the packets are above the target. If the aggregate has four
    /// times the smallest round trip, one in sixteen of these packets is red.
    #[test]
    fn three_precedences_split_the_excess_by_the_square_of_round_trips() {
        let mut e = excess(Precedences::Three, BY_ROUND_TRIP);
        near(shares(&mut e), [0.4, 0.0, 0.6]);
        e.round_trips.set(7, 0.08);
        e.round_trips.set(8, 0.02);
        near(shares(&mut excess_at(e)), [0.4, 0.6 * 15.0 / 16.0, 0.6 / 16.0]);
    }

    /// The same stage with its clock at zero.
    fn excess_at(mut e: Excess) -> Excess {
        e.parties.clear();
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
            target: Some(TargetRule::Square),
        };
        let mut e = excess(Precedences::Three, weighing);
        e.hear_target(6e6);
        assert_eq!(e.weight(7, Time(0)), 1.0, "it is the least itself");
        e.hear_target(2e6);
        near(shares(&mut e), [0.4, 0.0, 0.6]);
        e.hear_target(1e6);
        near(shares(&mut excess_at(e)), [0.4, 0.45, 0.15]);
    }

    /// The loss of the edge with the smallest round trip is used. The weight is one until this loss is known.
    #[test]
    fn with_timeouts_the_loss_may_come_from_feedback() {
        let weighing = Weighing {
            round_trip: Some(Relation::Timeouts(Loss::Feedback)),
            target: None,
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

    /// At 5 Mb/s with a target of 2 Mb/s, the excess is one and a half times the target, so all of it is red. At 3 Mb/s
    /// the excess is a third of the packets, and half of it is red.
    #[test]
    fn the_difference_from_the_target_weighs_by_itself() {
        let weighing = Weighing {
            round_trip: None,
            target: Some(TargetRule::Difference),
        };
        let mut e = excess(Precedences::Three, weighing);
        e.hear_target(1e6);
        near(shares(&mut e), [0.4, 0.0, 0.6]);
        let mut e = excess(Precedences::Three, weighing);
        let mut seen = [0_u32; 3];
        for i in 0..200_000_u64 {
            seen[e.colour(&packet(), Time(i * 8_000_000 / 3)) as usize] += 1;
        }
        near(seen.map(|c| f64::from(c) / 2e5), [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]);
    }

    /// Two flows of one aggregate have 3 Mb/s each. The flow of weight 1 has a target of 2 Mb/s, and the flow of weight
    /// 2 has 4 Mb/s.
    #[test]
    fn a_flow_has_a_target_by_its_weight() {
        let weighing = Weighing {
            round_trip: None,
            target: Some(TargetRule::Square),
        };
        let mut e = excess(Precedences::Three, weighing);
        e.scope = Scope::Each(KeyField::Tuple);
        let flow = |flow, weight| Plain {
            flow,
            weight,
            ..packet()
        };
        let mut green = [0_u32; 2];
        for i in 0..100_000_u64 {
            for (k, p) in [flow(0, 1.0), flow(1, 2.0)].iter().enumerate() {
                green[k] += u32::from(e.colour(p, Time(i * 8_000_000 / 3)) == Colour::Green);
            }
        }
        assert!((f64::from(green[0]) / 1e5 - 2.0 / 3.0).abs() < 0.01, "{green:?}");
        assert_eq!(green[1], 100_000, "within its target");
        assert_eq!((e.weight(0, Time(0)), e.weight(1, Time(0))), (1.0, 0.25));
        assert_eq!((e.least_target(), e.aggregates().count()), (2e6, 2));
        e.left(&flow(0, 1.0));
        assert_eq!((e.least_target(), e.aggregates().count()), (4e6, 1));
    }

    #[test]
    fn at_or_below_the_target_all_is_green() {
        let mut e = excess(Precedences::Three, BY_ROUND_TRIP);
        let green = (0..1000).all(|i| e.colour(&packet(), Time(i * 4_100_000)) == Colour::Green);
        assert!(green);
    }
}
