//! Virtual time: the progress of a fluid server that serves all conversations at once.
//!
//! Fair queueing orders packets as if the line sent a little of each backlogged conversation in turn, in proportion to
//! the weights. [`FluidClock`] is this imagined fluid server. Its clock V counts turns, in bytes per unit of weight:
//!
//! ```text
//! dV/dt = rate / (sum of the weights backlogged in the fluid server)      V stands still when the sum is 0
//! a packet of p bytes, weight w:   start S = max(finish of its predecessor, V at its arrival)     finish S + p / w
//! ```
//!
//! Conversations leave the fluid server between the events of the real server. When the clock is read, it advances from
//! one such departure to the next, so the fluid server needs no events of its own. A packet costs O(log n) on average,
//! and O(n) if n conversations leave at once.
//!
//! **Exactness.** Equal tags must compare equal, because ties are decided by arrival, and no error may grow with time.
//! Tags ([`Tag`]) are whole multiples of 2^-88 byte, in 128 bits. Every division is rounded down, by less than one such
//! unit. So the computed server is an exact fluid server with two small changes: its packets are a few units shorter
//! than the real ones, and its line does a few units less work at each step. A fluid server never increases the
//! difference between two sets of backlogs, because it is monotone and conserves work, so the sum of |differences| does
//! not grow. So errors add up but are not amplified, and they end with the busy period. At equal weights, a million
//! packets in one busy period change a tag by less than 10^-19 byte.
//!
//! Tags are compared after rounding to the nearest 2^-44 byte ([`Tag::grid`]). Tags that are equal in exact arithmetic
//! then compare equal, unless they are closer than this error to the middle between two steps. After a million packets,
//! this is the case for one pair in four million. Tags that are less than 2^-44 byte apart may count as equal. A
//! nanosecond of a line of 1 kbit/s is two million times as long.
//!
//! When the clock has passed 2^37 bytes, it restarts from zero: all tags are reduced by the same whole number of grid
//! steps.
//!
//! Weights are whole billionths, so decimal weights are exact. A change of the line's rate counts from the last advance
//! of the clock on.
//!
//! State: V and its instant; for each conversation its last finish tag and weight, 32 bytes; a heap of the backlogged
//! conversations.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, SIGCOMM 1989; J. C. R. Bennett and H. Zhang, INFOCOM 1996 (WF2Q). The
//! arithmetic is our choice.

use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::store::{PerQueue, QueueId};
use tailback_base::{BitRate, Duration, Time};

/// The units of a tag in one byte, as a power of two.
const BYTE: u32 = 88;
/// The units of a tag in a step of the grid, as a power of two.
const GRID: u32 = 44;
/// The clock restarts when it has passed this many bytes.
const LONG: i128 = 1 << (BYTE + 37);
/// The weight 1.
const ONE: u64 = 1_000_000_000;

/// An instant, or a length, of virtual time: bytes per unit of weight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Tag(i128);

impl Tag {
    pub const ZERO: Tag = Tag(0);

    /// The tag of this number of whole bytes at weight 1.
    pub const fn of_bytes(bytes: u64) -> Tag {
        Tag((if bytes < 1 << 38 { bytes as i128 } else { 1 << 38 }) << BYTE)
    }

    /// The work of the line in this time, in bytes.
    pub fn of_work(rate: BitRate, d: Duration) -> Tag {
        // bit/s times ns gives billionths of a bit.
        let work = u128::from(rate.0) * u128::from(d.0);
        let (whole, rest) = (work / 8_000_000_000, work % 8_000_000_000);
        Tag(((whole.min(1 << 38) << BYTE) + (rest << BYTE) / 8_000_000_000) as i128)
    }

    /// The length of this number of bytes at this weight.
    pub fn of(bytes: u32, weight: Weight) -> Tag {
        Tag(times(u128::from(bytes) << BYTE, ONE, weight.0) as i128)
    }

    /// This length times `by / per`, rounded down.
    pub fn scaled(self, by: Weight, per: Weight) -> Tag {
        Tag(times(self.0.max(0) as u128, by.0, per.0) as i128)
    }

    #[must_use]
    pub fn plus(self, d: Tag) -> Tag {
        Tag(self.0.saturating_add(d.0))
    }

    #[must_use]
    pub fn minus(self, d: Tag) -> Tag {
        Tag(self.0.saturating_sub(d.0))
    }

    /// The last whole multiple of `step`, which is above 0, that this tag has reached.
    pub fn down_to(self, step: Tag) -> Tag {
        Tag(self.0 - self.0.rem_euclid(step.0.max(1)))
    }

    /// The nearest step of the grid, by which tags are compared.
    pub fn grid(self) -> i128 {
        self.0.saturating_add(1 << (GRID - 1)) >> GRID
    }

    /// The amount by which a clock with this value should be set back, if the value is large enough. It is a whole
    /// number of grid steps.
    pub fn far(self) -> Option<Tag> {
        (self.0 >= LONG).then_some(Tag(self.0 >> GRID << GRID))
    }

    /// The value in bytes per unit of weight, for display.
    pub fn bytes(self) -> f64 {
        self.0 as f64 / (1u128 << BYTE) as f64
    }
}

/// A weight, in billionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Weight(u64);

impl Weight {
    pub const ONE: Weight = Weight(ONE);

    /// The weight that is the nearest billionth to `w`, at least one billionth.
    pub fn of(w: f64) -> Weight {
        Weight((libm::round(w * 1e9) as u64).max(1))
    }

    /// The octave of this weight's share of the total: the smallest k for which 2^k times the weight is at least the
    /// total.
    pub fn octave_of(self, total: WeightSum) -> u32 {
        let parts = total.0.div_ceil(u128::from(self.0));
        u128::BITS - parts.saturating_sub(1).leading_zeros()
    }
}

/// A sum of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WeightSum(u128);

impl WeightSum {
    pub fn add(&mut self, w: Weight) {
        self.0 += u128::from(w.0);
    }

    /// Remove a weight that was added.
    pub fn sub(&mut self, w: Weight) {
        self.0 -= u128::from(w.0);
    }

    /// The sum as a weight. If it does not fit into 64 bits, which would need 18,000 flows of weight one million, it is
    /// the largest possible weight.
    pub fn weight(self) -> Weight {
        Weight(u64::try_from(self.0).unwrap_or(u64::MAX))
    }
}

impl Default for Weight {
    fn default() -> Self {
        Weight::ONE
    }
}

/// `a * b / c`, rounded down. A quotient that does not fit into 127 bits becomes the largest value.
fn times(a: u128, b: u64, c: u64) -> u128 {
    const MOST: u128 = (1 << 127) - 1;
    if c == 0 {
        return MOST;
    }
    let low = (a & u128::from(u64::MAX)) * u128::from(b);
    let high = (a >> 64) * u128::from(b) + (low >> 64);
    // The product has three digits of 64 bits each, and is divided digit by digit.
    let c = u128::from(c);
    if high >> 64 >= c {
        return MOST;
    }
    let (high_quotient, high_rest) = (high / c, high % c);
    let second = (high_rest << 64 | low & u128::from(u64::MAX)) / c;
    if high_quotient >> 63 != 0 {
        return MOST;
    }
    high_quotient << 64 | second
}

/// The fluid server.
#[derive(Clone, Debug, Default)]
pub struct FluidClock {
    v: Tag,
    at: Time,
    /// The tag of the beginning of the run. It is the negative of the amount that was subtracted from all tags so far.
    beginning: Tag,
    conversations: PerQueue<Conversation>,
    /// The conversations whose finish tag is later than V, ordered by this tag.
    backlogged: TagHeap<Tag>,
    total: WeightSum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Conversation {
    finish: Tag,
    weight: Weight,
    /// The value from which `weight` was made; 0 before the first packet.
    given: f64,
}

impl FluidClock {
    /// The clock at the last [`FluidClock::advance`].
    pub fn v(&self) -> Tag {
        self.v
    }

    /// The finish tag of the conversation's last packet.
    pub fn finish(&self, q: QueueId) -> Tag {
        self.conversations.get(q).finish
    }

    pub fn weight(&self, q: QueueId) -> Weight {
        self.conversations.get(q).weight
    }

    /// Let the fluid server work until `now` on a line of this rate.
    pub fn advance(&mut self, now: Time, rate: BitRate) {
        let gap = now.since(self.at);
        self.at = self.at.max(now);
        if self.backlogged.is_empty() || gap == Duration::ZERO {
            return;
        }
        let mut work_left = Tag::of_work(rate, gap);
        while let Some((near, _)) = self.backlogged.min() {
            let total = self.total.weight();
            let (step, need) = (work_left.scaled(Weight::ONE, total), near.minus(self.v));
            if step < need {
                self.v = self.v.plus(step);
                return;
            }
            // The product was rounded down by less than one unit, so one unit is added.
            let done = need.scaled(total, Weight::ONE).plus(Tag(1));
            work_left = Tag(work_left.minus(done).0.max(0));
            self.v = near;
            while let Some((finish, q)) = self.backlogged.min() {
                if finish > near {
                    break;
                }
                self.backlogged.remove(q);
                self.total.sub(self.conversations.get(q).weight);
            }
        }
    }

    /// If the clock has become large, subtract its value from every tag. The value is returned, so that the caller can
    /// do the same with its tags.
    pub fn rebase(&mut self) -> Option<Tag> {
        let reading = self.v.far()?;
        self.v = self.v.minus(reading);
        self.beginning = self.beginning.minus(reading);
        self.conversations.each(|c| c.finish = c.finish.minus(reading));
        self.backlogged.map(|finish| finish.minus(reading));
        Some(reading)
    }

    /// Set the weight of the conversation from now on.
    pub fn weigh(&mut self, q: QueueId, given: f64) {
        let c = self.conversations.at(q);
        if c.given.to_bits() == given.to_bits() {
            return;
        }
        if c.given == 0.0 {
            // The conversation is new, so its last packet counts as finished at the beginning of the run.
            c.finish = self.beginning;
        }
        let was = std::mem::replace(&mut c.weight, Weight::of(given));
        c.given = given;
        if self.backlogged.contains(q) {
            self.total.sub(was);
            self.total.add(self.conversations.get(q).weight);
        }
    }

    /// Set the finish tag of the conversation's last packet, after it got another packet or lost its last one.
    pub fn set_finish(&mut self, q: QueueId, finish: Tag) {
        let c = self.conversations.at(q);
        c.finish = finish;
        let weight = c.weight;
        if finish > self.v {
            if !self.backlogged.contains(q) {
                self.total.add(weight);
            }
            self.backlogged.set(q, finish);
        } else if self.backlogged.remove(q) {
            self.total.sub(weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// If the product fits into 128 bits, the result is the plain quotient.
        #[test]
        fn times_is_multiplication_and_division(a in 0u128..1 << 64, b: u64, c in 1u64..) {
            let exact = a * u128::from(b) / u128::from(c);
            prop_assert_eq!(times(a, b, c), exact.min((1 << 127) - 1));
        }

        /// The division is the inverse of the multiplication, also beyond 128 bits.
        #[test]
        fn times_undoes_itself(a in 0u128..1 << 127, b in 1u64..) {
            prop_assert_eq!(times(a, b, b), a);
        }
    }

    #[test]
    fn a_share_lies_in_the_octave_of_its_inverse() {
        let total = |parts: &[f64]| {
            let mut sum = WeightSum::default();
            parts.iter().filter(|w| **w > 0.0).for_each(|w| sum.add(Weight::of(*w)));
            sum
        };
        for (weight, other_weights, octave) in [
            (1.0, 0.0, 0),
            (1.0, 1.0, 1),
            (1.0, 1.1, 2),
            (0.1, 0.3, 2),
            (3.0, 0.001, 1),
        ] {
            assert_eq!(
                Weight::of(weight).octave_of(total(&[weight, other_weights])),
                octave,
                "{weight} of {other_weights}"
            );
        }
        assert_eq!(Weight::of(1e-9).octave_of(total(&[1e-9, 1e9])), 60);
    }

    #[test]
    fn two_conversations_share_and_the_last_has_the_line() {
        let rate = BitRate(8_000_000_000);
        let mut c = FluidClock::default();
        let p = Tag::of(1000, Weight::ONE);
        c.set_finish(0, p);
        c.set_finish(1, p.plus(p));
        // The line sends one byte per nanosecond. At 2000 ns both conversations have received 1000 bytes of service,
        // and the first one leaves. Then the second one is served twice as fast.
        for (ns, bytes) in [
            (1000, 500.0),
            (2000, 1000.0),
            (2500, 1500.0),
            (3000, 2000.0),
            (9000, 2000.0),
        ] {
            c.advance(Time(ns), rate);
            assert_eq!(c.v().bytes(), bytes, "at {ns} ns");
        }
        assert_eq!(c.total, WeightSum::default());
    }

    #[test]
    fn weights_set_the_pace() {
        let rate = BitRate(8_000_000_000);
        let mut c = FluidClock::default();
        c.weigh(0, 3.0);
        c.set_finish(0, Tag::of(3000, c.weight(0)));
        c.set_finish(1, Tag::of(1000, c.weight(1)));
        c.advance(Time(2000), rate);
        assert_eq!(c.v().bytes(), 500.0, "4 units of weight, 2000 bytes of work");
        c.weigh(0, 1.0);
        c.advance(Time(2500), rate);
        assert_eq!(c.v().bytes(), 750.0);
    }

    #[test]
    fn a_clock_that_has_come_far_starts_again_and_nobody_notices() {
        let rate = BitRate(8_000_000_000);
        let mut c = FluidClock::default();
        let far = Tag::of_bytes(1 << 37);
        c.set_finish(0, far.plus(Tag::of_bytes(1000)));
        c.advance(Time(100_000_000_000), rate);
        assert!(c.rebase().is_none());
        c.advance(Time((1 << 37) + 300), rate);
        let reading = c.rebase().unwrap();
        assert_eq!((reading.bytes(), c.v().bytes()), ((1u64 << 37) as f64 + 300.0, 0.0));
        assert_eq!(c.finish(0).bytes(), 700.0);
        c.weigh(1, 1.0);
        assert_eq!(
            c.finish(1).plus(reading),
            Tag::ZERO,
            "as if it had been there from the beginning"
        );
        c.advance(Time((1 << 37) + 400), rate);
        assert_eq!(
            (c.v().bytes(), c.backlogged.min().map(|x| x.0.bytes())),
            (100.0, Some(700.0))
        );
    }
}
