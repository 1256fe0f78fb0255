//! Feedback from exits to entries: packets that would be dropped later are dropped at their entry.
//!
//! Every interval an exit reports to the entries how many red bytes of each aggregate have arrived. The entry compares
//! this number with the red bytes that it sent one interval earlier, after its own drops: `l = 1 - received/sent`, or 0
//! if it sent none.
//!
//! ```text
//! l > 0.05    q <- min(1, q + 0.1 l)        else    q <- max(0, q - 0.02)
//! ```
//!
//! The entry drops red packets with probability q. A lost message has no effect. An edge is the exit for packets that
//! reach it over its link, and the entry for packets that it sends.
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000, which only names this feedback. The rules are our
//! choice.
//!
//! Exits also report the sum of yellow and red bytes. Sent and received bytes, smoothed over some intervals, give the
//! loss of an aggregate's packets above its profile. A marker by round trip may use this loss ([`super::excess`]).
//!
//! State: a few counters for each aggregate. Cost of a red packet: an addition, and a random draw if q is above zero.

use std::collections::BTreeMap;
use tailback_base::work::counted_as;
use tailback_base::{Colour, Duration, Stream, Time};

/// The loss above which q grows.
const LOSS: f64 = 0.05;
const UP: f64 = 0.1;
const DOWN: f64 = 0.02;
/// The weight of an interval in the smoothed bytes.
const SMOOTHING: f64 = 1.0 / 8.0;

/// The actions of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    Drops,
    Learns,
}

/// The bytes of this interval, of the last interval, and of the interval before that.
#[derive(Default)]
struct Intervals {
    now: u64,
    last: u64,
    before: u64,
}

impl Intervals {
    fn close(&mut self) {
        (self.before, self.last, self.now) = (self.last, self.now, 0);
    }
}

/// The state of an aggregate at an entry.
#[derive(Default)]
struct Entered {
    red: Intervals,
    above: Intervals,
    drop: f64,
    /// The smoothed yellow and red bytes of an interval: those sent, and those received.
    smoothed: [f64; 2],
}

/// The state of an edge as entry and as exit.
pub struct Feedback {
    interval: Duration,
    next: Time,
    entry: Entry,
    entered: BTreeMap<u64, Entered>,
    /// For each aggregate, the bytes that have arrived: of red packets, and of yellow and red packets.
    arrived: BTreeMap<u64, [u64; 2]>,
    stream: Stream,
}

impl Feedback {
    pub fn new(interval: Duration, entry: Entry, stream: Stream) -> Feedback {
        Feedback {
            interval,
            next: Time::ZERO + interval,
            entry,
            entered: BTreeMap::new(),
            arrived: BTreeMap::new(),
            stream,
        }
    }

    /// A red packet is about to enter. Returns whether it is admitted.
    pub fn enters(&mut self, aggregate: u64, bytes: u32) -> bool {
        let e = self.entered.entry(aggregate).or_default();
        if self.entry == Entry::Drops && self.stream.chance(e.drop) {
            return false;
        }
        e.red.now += u64::from(bytes);
        true
    }

    /// Count a packet above the profile that is sent, after all drops of this edge.
    pub fn leaves(&mut self, aggregate: u64, bytes: u32) {
        self.entered.entry(aggregate).or_default().above.now += u64::from(bytes);
    }

    /// A packet arrives. Aggregates without red arrivals are also reported, because all their red packets may be
    /// lost.
    pub fn arrives(&mut self, aggregate: u64, colour: Colour, bytes: u32) {
        let [red, above] = self.arrived.entry(aggregate).or_default();
        if colour == Colour::Red {
            *red += u64::from(bytes);
        }
        if colour != Colour::Green {
            *above += u64::from(bytes);
        }
    }

    pub fn next(&self) -> Time {
        self.next
    }

    /// End the interval. Returns the report for each aggregate: the bytes of red packets, and of yellow and red
    /// packets.
    pub fn close(&mut self, now: Time) -> Vec<(u64, [u64; 2])> {
        self.next = now + self.interval;
        for e in counted_as(8, self.entered.values_mut()) {
            e.red.close();
            e.above.close();
        }
        let arrived = self.arrived.iter_mut();
        arrived
            .map(|(aggregate, bytes)| (*aggregate, std::mem::take(bytes)))
            .collect()
    }

    /// An exit reports how many yellow and red bytes of an aggregate have arrived.
    pub fn hear_above(&mut self, aggregate: u64, received: f64) {
        let Some(e) = self.entered.get_mut(&aggregate) else {
            return;
        };
        for (smoothed, now) in e.smoothed.iter_mut().zip([e.above.before as f64, received]) {
            *smoothed += SMOOTHING * (now - *smoothed);
        }
    }

    /// The share of lost packets among an aggregate's yellow and red packets; `None` while no such packets were sent.
    pub fn loss(&self, aggregate: u64) -> Option<f64> {
        let [sent, received] = self.entered.get(&aggregate)?.smoothed;
        (sent > 0.0).then(|| (1.0 - received / sent).max(0.0))
    }

    /// An exit reports how many red bytes of an aggregate have arrived.
    pub fn hear(&mut self, aggregate: u64, received: f64) {
        let Some(e) = self.entered.get_mut(&aggregate) else {
            return;
        };
        let loss = match e.red.before {
            0 => 0.0,
            sent => 1.0 - received / sent as f64,
        };
        e.drop = match loss > LOSS {
            true => (e.drop + UP * loss).min(1.0),
            false => (e.drop - DOWN).max(0.0),
        };
    }

    /// The probability with which this edge drops red packets, for each aggregate in the order of keys.
    pub fn drops(&self) -> impl Iterator<Item = f64> {
        self.entered.values().map(|e| e.drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback() -> Feedback {
        Feedback::new(Duration(200_000_000), Entry::Drops, Stream::new(1, "feedback"))
    }

    /// An interval in which `sent` bytes enter and the exit reports `received`. Returns the probability of a drop.
    fn interval(f: &mut Feedback, sent: u32, received: f64) -> f64 {
        if f.enters(5, sent) {
            f.close(f.next());
        }
        f.close(f.next());
        f.hear(5, received);
        f.drops().next().unwrap()
    }

    #[test]
    fn the_probability_follows_the_loss() {
        let mut f = feedback();
        assert!((interval(&mut f, 1000, 500.0) - 0.05).abs() < 1e-12);
        let mut f = feedback();
        assert!((interval(&mut f, 1000, 0.0) - 0.1).abs() < 1e-12);
        // A loss of 4 % is tolerated.
        f.entered.get_mut(&5).unwrap().red.before = 1000;
        f.hear(5, 960.0);
        assert!((f.drops().next().unwrap() - 0.08).abs() < 1e-12);
        f.entered.get_mut(&5).unwrap().red.before = 0;
        f.hear(5, 0.0);
        assert!((f.drops().next().unwrap() - 0.06).abs() < 1e-12, "nothing was sent");
        f.entered.get_mut(&5).unwrap().drop = 0.01;
        f.hear(5, 0.0);
        assert_eq!(f.drops().next(), Some(0.0));
    }

    #[test]
    fn an_exit_tells_each_interval_and_others_aggregates_are_none_of_ours() {
        let mut f = feedback();
        f.arrives(8, Colour::Red, 1000);
        f.arrives(8, Colour::Green, 400);
        f.arrives(8, Colour::Red, 500);
        f.arrives(9, Colour::Yellow, 200);
        assert_eq!(
            f.close(Time(200_000_000)),
            [(8, [1500, 1500]), (9, [0, 200])],
            "no red of 9 has come through"
        );
        assert_eq!(f.close(Time(400_000_000)), [(8, [0, 0]), (9, [0, 0])]);
        assert_eq!(f.next(), Time(600_000_000));
        f.hear(8, 0.0);
        assert_eq!(f.drops().count(), 0);
    }

    #[test]
    fn it_drops_with_its_probability() {
        let mut f = feedback();
        f.enters(5, 1);
        f.entered.get_mut(&5).unwrap().drop = 0.3;
        let dropped = (0..100_000).filter(|_| !f.enters(5, 1)).count();
        assert!((dropped as f64 / 1e5 - 0.3).abs() < 0.01, "{dropped}");
        f.entry = Entry::Learns;
        assert!((0..1000).all(|_| f.enters(5, 1)));
    }

    /// In each interval 1000 bytes are sent and 700 arrive. Before any bytes were sent, the loss is not known.
    #[test]
    fn the_loss_of_what_is_above_the_profile_is_learnt() {
        let mut f = feedback();
        assert_eq!(f.loss(5), None);
        for _ in 0..40 {
            f.leaves(5, 1000);
            f.close(f.next());
            f.hear_above(5, if f.entered[&5].above.before > 0 { 700.0 } else { 0.0 });
        }
        assert!((f.loss(5).unwrap() - 0.3).abs() < 1e-9, "{:?}", f.loss(5));
        assert_eq!(f.loss(6), None);
    }
}
