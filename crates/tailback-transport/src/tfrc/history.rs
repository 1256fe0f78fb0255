//! The loss event rate, from the lengths of the intervals between loss events (RFC 5348 sections 5.2 to 5.5).
//!
//! A loss event is a lost or marked packet, together with all losses within a round trip of it. An interval is the
//! number of packets from the first packet of one event to the first packet of the next event. The mean of the last
//! eight intervals is weighted with 1 1 1 1 .8 .6 .4 .2. The open interval, since the last event, counts only if it
//! makes the mean longer. The loss event rate is the inverse of the mean.
//!
//! Discounting is an option. While the open interval is more than twice the mean of the other intervals, their weights
//! are multiplied by twice this mean divided by the length of the open interval, but at least by a quarter. The
//! discount at the time of an event is kept.
//!
//! The state is eight lengths with their factors, and the last event. A loss costs a shift of eight values. The rate
//! costs a sum over these values.

use smallvec::SmallVec;
use tailback_base::{Duration, Time};

/// RFC 5348 section 5.4: a longer history reacts later, and a shorter one reacts to noise.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Section 5.5: the older intervals are not discounted below this.
const LEAST_DISCOUNT: f64 = 0.25;

#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Packets.
    length: f64,
    /// The share of the interval's weight that is left.
    factor: f64,
}

#[derive(Debug)]
pub struct LossHistory {
    discount: bool,
    /// Intervals that have ended, the last one first.
    closed: SmallVec<[Interval; 8]>,
    /// The first packet of the last loss event, and the time at which it was or would have been received.
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

    /// A packet was lost or marked. It was received, or would have been received, at `at`. Returns whether this is a
    /// new loss event. `first` is the length in packets of the interval before the very first event.
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

    /// The number of packets from the first packet of an event to the packet before `end`.
    fn open(&self, start: u64, end: u64) -> f64 {
        (end.saturating_sub(start) as f64).max(1.0)
    }

    /// The mean of the closed intervals.
    fn mean_of_closed(&self) -> f64 {
        let (sum, weight) = weighted(self.closed.iter().zip(WEIGHTS));
        sum / weight
    }

    /// The share that is left of the older intervals' weight, for an open interval of this length.
    fn discount_of(&self, open: f64) -> f64 {
        let twice = 2.0 * self.mean_of_closed();
        if self.discount && open > twice {
            (twice / open).max(LEAST_DISCOUNT)
        } else {
            1.0
        }
    }

    /// The mean interval, packets, when the packets below `end` have been received or missed; `None` before the first
    /// event.
    pub fn mean(&self, end: u64) -> Option<f64> {
        let (start, _) = self.event?;
        let open = self.open(start, end);
        let factor = self.discount_of(open);
        // If the open interval is added, the oldest interval is left out.
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

    /// A history with events this many packets apart, each event long after the previous one. The first interval is
    /// given.
    fn history(discount: bool, intervals: &[u64]) -> (LossHistory, u64) {
        let mut h = LossHistory::new(discount);
        let mut lost_number = 1000;
        h.lost(lost_number, Time(0), RTT, || intervals[0] as f64);
        for (i, length) in intervals[1..].iter().enumerate() {
            lost_number += length;
            assert!(h.lost(
                lost_number,
                Time((i as u64 + 1) * 1_000_000_000),
                RTT,
                || unreachable!()
            ));
        }
        (h, lost_number)
    }

    fn near(x: Option<f64>, expected: f64) {
        let x = x.expect("a mean");
        assert!((x - expected).abs() < 1e-9, "{x} is not {expected}");
    }

    #[test]
    fn even_intervals_of_100() {
        let (h, last_lost) = history(false, &[100; 8]);
        near(h.mean(last_lost + 100), 100.0);
        // A short open interval does not count, but a long one counts: (500 + 5 * 100) / 6.
        near(h.mean(last_lost + 20), 100.0);
        near(h.mean(last_lost + 500), 1000.0 / 6.0);
    }

    /// Of ten intervals the two oldest do not count. If the open interval is added, a third one does not count either.
    #[test]
    fn eight_intervals_count() {
        let (h, last_lost) = history(false, &[7, 9, 800, 100, 100, 100, 100, 100, 100, 100]);
        near(h.mean(last_lost + 1), (5.8 * 100.0 + 0.2 * 800.0) / 6.0);
        near(h.mean(last_lost + 600), (600.0 + 5.0 * 100.0) / 6.0);
    }

    #[test]
    fn fewer_intervals_share_the_weights_they_have() {
        let (h, last_lost) = history(false, &[300, 100, 50]);
        near(h.mean(last_lost + 1), 450.0 / 3.0);
        // The intervals 200, 50 and 100 would give a smaller mean.
        near(h.mean(last_lost + 200), 150.0);
        near(h.mean(last_lost + 900), (900.0 + 50.0 + 100.0) / 3.0);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut h = LossHistory::new(false);
        let at_ms = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        assert!(h.lost(50, at_ms(1000), RTT, || 100.0));
        for (i, ms) in [1020, 1040, 1060, 1100].into_iter().enumerate() {
            assert!(!h.lost(51 + i as u64, at_ms(ms), RTT, || unreachable!()));
        }
        // A mark may be seen before a loss that occurred earlier.
        assert!(!h.lost(49, at_ms(990), RTT, || unreachable!()));
        assert_eq!(h.mean(60), Some(100.0));
        assert!(h.lost(90, at_ms(1101), RTT, || unreachable!()));
        assert_eq!(h.mean(91), Some((40.0 + 100.0) / 2.0));
    }

    /// There are seven intervals of 100 and an open interval of 800. Twice the mean is a quarter of the open interval.
    /// The new mean is (800 + 0.25 * 5 * 100) / (1 + 0.25 * 5).
    #[test]
    fn discounting_forgets_sooner() {
        let (h, last_lost) = history(true, &[100; 8]);
        near(h.mean(last_lost + 200), 700.0 / 6.0);
        near(h.mean(last_lost + 400), (400.0 + 0.5 * 500.0) / (1.0 + 0.5 * 5.0));
        near(h.mean(last_lost + 800), (800.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
        near(h.mean(last_lost + 8000), (8000.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
        let mut h = h;
        h.lost(last_lost + 800, Time::NEVER, RTT, || unreachable!());
        // After the event the discount is kept, and the long interval counts in full.
        near(h.mean(last_lost + 801), (800.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
    }
}
