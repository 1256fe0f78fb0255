//! The loss event rate, from the lengths of the intervals between loss events (RFC 5348 sections 5.2 to 5.5).
//!
//! A loss event is a lost or marked packet and whatever else is lost within a round trip of it. The interval from the
//! first packet of one event to the first of the next counts packets. The mean of the last eight is weighted, 1 1 1 1
//! .8 .6 .4 .2; the open interval, since the last event, counts only if that makes the mean longer. The loss event rate
//! is its inverse.
//!
//! Discounting, an option: while the open interval is more than twice the mean of the others, those count less, by
//! twice their mean over its length, but not below a quarter; what was discounted when the event came stays so.
//!
//! State: eight lengths with their factors; the last event. A loss costs a shift of eight, the rate a sum over them.

use smallvec::SmallVec;
use tailback_base::{Duration, Time};

/// RFC 5348 section 5.4: a longer history answers later, a shorter one to noise.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Section 5.5: no more is taken from the older intervals.
const LEAST_DISCOUNT: f64 = 0.25;

#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Packets.
    length: f64,
    /// How much of its weight is left.
    factor: f64,
}

#[derive(Debug)]
pub struct LossHistory {
    discount: bool,
    /// Intervals that ended, the last one first.
    closed: SmallVec<[Interval; 8]>,
    /// The first packet of the last loss event, and when it was or would have been received.
    event: Option<(u64, Time)>,
}

impl LossHistory {
    pub fn new(discount: bool) -> LossHistory {
        LossHistory {
            discount,
            closed: SmallVec::new(),
            event: None,
        }
    }

    /// A packet was lost or marked, which was or would have been received at `at`; whether that is a new loss event.
    /// `first` is the length of the interval before the first event of all, packets.
    pub fn lost(&mut self, number: u64, at: Time, rtt: Duration, first: impl FnOnce() -> f64) -> bool {
        let length = match self.event {
            None => first(),
            Some((_, before)) if at.since(before) <= rtt => return false,
            Some((start, _)) => {
                let length = self.open(start, number);
                let factor = self.discount_of(length);
                for i in &mut self.closed {
                    i.factor *= factor;
                }
                length
            }
        };
        self.closed.truncate(WEIGHTS.len() - 1);
        self.closed.insert(0, Interval { length, factor: 1.0 });
        self.event = Some((number, at));
        true
    }

    /// Packets from the first of an event to the one before `end`.
    fn open(&self, start: u64, end: u64) -> f64 {
        (end.saturating_sub(start) as f64).max(1.0)
    }

    /// The mean of the closed intervals.
    fn mean_of_closed(&self) -> f64 {
        let (sum, weight) = weighted(self.closed.iter().zip(WEIGHTS));
        sum / weight
    }

    /// What is left of the older intervals beside an open one of this length.
    fn discount_of(&self, open: f64) -> f64 {
        let twice = 2.0 * self.mean_of_closed();
        if self.discount && open > twice {
            (twice / open).max(LEAST_DISCOUNT)
        } else {
            1.0
        }
    }

    /// The mean interval, packets, when packets below `end` have been received or missed; none before the first event.
    pub fn mean(&self, end: u64) -> Option<f64> {
        let (start, _) = self.event?;
        let open = self.open(start, end);
        let factor = self.discount_of(open);
        // With the open one in front, the oldest falls out.
        let older = self.closed.iter().take(self.closed.len() - 1).zip(&WEIGHTS[1..]);
        let (sum, weight) = weighted(older.map(|(i, w)| (i, w * factor)));
        let with_open = (WEIGHTS[0] * open + sum) / (WEIGHTS[0] + weight);
        Some(with_open.max(self.mean_of_closed()))
    }

    /// Length of the open interval; NaN before the first event.
    pub fn open_interval(&self, end: u64) -> f64 {
        self.event.map_or(f64::NAN, |(start, _)| self.open(start, end))
    }
}

fn weighted<'a>(intervals: impl Iterator<Item = (&'a Interval, f64)>) -> (f64, f64) {
    intervals.fold((0.0, 0.0), |(sum, weight), (i, w)| {
        (sum + w * i.factor * i.length, weight + w * i.factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Events this many packets apart, each long after the one before; the first interval is given.
    fn history(discount: bool, intervals: &[u64]) -> (LossHistory, u64) {
        let mut h = LossHistory::new(discount);
        let mut number = 1000;
        h.lost(number, Time(0), RTT, || intervals[0] as f64);
        for (i, length) in intervals[1..].iter().enumerate() {
            number += length;
            assert!(h.lost(number, Time((i as u64 + 1) * 1_000_000_000), RTT, || unreachable!()));
        }
        (h, number)
    }

    fn near(x: Option<f64>, expected: f64) {
        let x = x.expect("a mean");
        assert!((x - expected).abs() < 1e-9, "{x} is not {expected}");
    }

    #[test]
    fn even_intervals_of_100() {
        let (h, last) = history(false, &[100; 8]);
        near(h.mean(last + 100), 100.0);
        // A short open interval does not count, a long one does: 500 + 5 * 100 over 6.
        near(h.mean(last + 20), 100.0);
        near(h.mean(last + 500), 1000.0 / 6.0);
    }

    /// Ten intervals; the two oldest do not count, and with the open one in front a third falls out.
    #[test]
    fn eight_intervals_count() {
        let (h, last) = history(false, &[7, 9, 800, 100, 100, 100, 100, 100, 100, 100]);
        near(h.mean(last + 1), (5.8 * 100.0 + 0.2 * 800.0) / 6.0);
        near(h.mean(last + 600), (600.0 + 5.0 * 100.0) / 6.0);
    }

    #[test]
    fn fewer_intervals_share_the_weights_they_have() {
        let (h, last) = history(false, &[300, 100, 50]);
        near(h.mean(last + 1), 450.0 / 3.0);
        // 200, 50 and 100 would be less.
        near(h.mean(last + 200), 150.0);
        near(h.mean(last + 900), (900.0 + 50.0 + 100.0) / 3.0);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut h = LossHistory::new(false);
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        assert!(h.lost(50, at(1000), RTT, || 100.0));
        for (i, ms) in [1020, 1040, 1060, 1100].into_iter().enumerate() {
            assert!(!h.lost(51 + i as u64, at(ms), RTT, || unreachable!()));
        }
        // A mark may be seen before a loss that came earlier.
        assert!(!h.lost(49, at(990), RTT, || unreachable!()));
        assert_eq!(h.mean(60), Some(100.0));
        assert!(h.lost(90, at(1101), RTT, || unreachable!()));
        assert_eq!(h.mean(91), Some((40.0 + 100.0) / 2.0));
    }

    /// Seven of 100 and an open one of 800: twice the mean is a quarter of it. 800 + 0.25 * 5 * 100 over 1 + 0.25 * 5.
    #[test]
    fn discounting_forgets_sooner() {
        let (h, last) = history(true, &[100; 8]);
        near(h.mean(last + 200), 700.0 / 6.0);
        near(h.mean(last + 400), (400.0 + 0.5 * 500.0) / (1.0 + 0.5 * 5.0));
        near(h.mean(last + 800), (800.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
        near(h.mean(last + 8000), (8000.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
        let mut h = h;
        h.lost(last + 800, Time::NEVER, RTT, || unreachable!());
        // The event came: what was discounted stays so, the long interval counts in full.
        near(h.mean(last + 801), (800.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
    }
}
