//! Token buckets: they limit traffic to a rate and a burst.
//!
//! Tokens arrive continuously at a rate and are kept up to a depth; each packet takes one token per byte. Tokens are
//! counted in units of a bit at 1e9 bit/s (bits times 1e9), so that a rate over nanoseconds is exact, whatever the
//! order of calls. The caller owns the rate and may change it at any instant up to which tokens have been counted.
//!
//! There are never enough tokens for a packet larger than the depth. The fate of such a packet depends on the user:
//!
//! | who | a packet larger than the depth | mean rate | |---|---|---| | a meter ([`Bucket::take`]) | does not conform
//! (RFC 2697 and 2698, section 3) | of what conforms at most the rate | | a shaper ([`Bucket::send`]) | leaves when
//! the bucket is full, and leaves a debt of what was missing | the rate | | a shaper that does not know the next
//! packet ([`Bucket::charge`]) | leaves when there is no debt, and leaves one | the rate |
//!
//! State: tokens (below zero while there is a debt), depth, and the instant at which tokens were last counted. A call
//! costs a few integer operations.

use crate::quantity::BitRate;
use crate::time::{Duration, Time};

/// Token units in a byte.
const BYTE: i128 = 8_000_000_000;

#[inline]
fn of(bytes: u32) -> i128 {
    i128::from(bytes) * BYTE
}

/// The tokens that arrive at a rate in a time.
#[inline]
fn came(rate: BitRate, time: Duration) -> i128 {
    i128::from(rate.0) * i128::from(time.0)
}

/// A bucket of tokens.
///
/// ```
/// use tailback_base::{BitRate, Bucket, Duration, Time};
///
/// let rate = BitRate(12_000_000);
/// let mut bucket = Bucket::full(3000);
/// assert!(bucket.take(1500) && bucket.take(1500));
/// assert!(!bucket.take(1500));
/// // 1500 bytes come back in a millisecond at 12 Mb/s.
/// assert_eq!(bucket.wait(1500, rate), Some(Duration::from_millis(1)));
/// bucket.fill(rate, Time::from_seconds(0.001));
/// assert!(bucket.take(1500));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    depth: i128,
    tokens: i128,
    counted: Time,
}

impl Bucket {
    /// A full bucket of this depth, bytes.
    pub fn full(depth: u64) -> Bucket {
        let depth = i128::from(depth) * BYTE;
        Bucket {
            depth,
            tokens: depth,
            counted: Time::ZERO,
        }
    }

    /// The same bucket, empty.
    #[must_use]
    pub fn emptied(self) -> Bucket {
        Bucket { tokens: 0, ..self }
    }

    /// Add the tokens that have arrived at `rate` since they were last counted.
    #[inline]
    pub fn fill(&mut self, rate: BitRate, now: Time) {
        self.tokens = self.at(rate, now);
        self.counted = now;
    }

    /// Add the tokens that have arrived; tokens for which this bucket has no room go to another bucket, as far as that
    /// has room.
    pub fn fill_over(&mut self, other: &mut Bucket, rate: BitRate, now: Time) {
        let new = came(rate, now.since(self.counted));
        let over = (self.tokens + new - self.depth).max(0);
        other.tokens = (other.tokens + over).min(other.depth);
        other.counted = now;
        self.fill(rate, now);
    }

    fn at(&self, rate: BitRate, now: Time) -> i128 {
        let new = came(rate, now.since(self.counted));
        (self.tokens + new).min(self.depth)
    }

    /// Whether there are tokens for this many bytes.
    #[inline]
    pub fn holds(&self, bytes: u32) -> bool {
        self.tokens >= of(bytes)
    }

    /// Take the tokens for this many bytes, if there are enough.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> bool {
        let enough = self.holds(bytes);
        if enough {
            self.tokens -= of(bytes);
        }
        enough
    }

    /// Take the available tokens, at most for this many bytes.
    pub fn take_at_most(&mut self, bytes: u32) {
        self.tokens = (self.tokens - of(bytes)).max(self.tokens.min(0));
    }

    /// Tokens missing before a packet of this many bytes may leave a shaper. A packet larger than the depth needs a
    /// full bucket.
    #[inline]
    fn missing(&self, bytes: u32) -> i128 {
        (of(bytes).min(self.depth) - self.tokens).max(0)
    }

    /// Take the tokens of a packet of this many bytes that leaves a shaper, if it may leave. A packet larger than the
    /// depth leaves a debt, which is paid first from the tokens that arrive.
    #[inline]
    pub fn send(&mut self, bytes: u32) -> bool {
        let may = self.missing(bytes) == 0;
        if may {
            self.tokens -= of(bytes);
        }
        may
    }

    /// The time at `rate` until [`Bucket::send`] lets this many bytes go; `None` if never.
    pub fn wait(&self, bytes: u32, rate: BitRate) -> Option<Duration> {
        let missing = self.missing(bytes).unsigned_abs();
        match rate.0 {
            _ if missing == 0 => Some(Duration::ZERO),
            0 => None,
            rate => u64::try_from(missing.div_ceil(u128::from(rate))).ok().map(Duration),
        }
    }

    /// Take the tokens for this many bytes, whether or not the bucket has them; the missing tokens are a debt.
    pub fn charge(&mut self, bytes: u32) {
        self.tokens -= of(bytes);
    }

    /// Forgive the debt beyond the tokens that arrive at `rate` in this time.
    pub fn owe_at_most(&mut self, rate: BitRate, over: Duration) {
        self.tokens = self.tokens.max(-came(rate, over));
    }

    /// Set the depth to the tokens that arrive at `rate` in this time, but at least to this many bytes. Tokens beyond
    /// the new depth are lost; none are added.
    pub fn set_depth(&mut self, rate: BitRate, over: Duration, at_least: u64) {
        self.depth = came(rate, over).max(i128::from(at_least) * BYTE);
        self.tokens = self.tokens.min(self.depth);
    }

    /// Fill the bucket to its depth.
    pub fn fill_up(&mut self) {
        self.tokens = self.depth;
    }

    /// The depth, bytes.
    pub fn depth(&self) -> f64 {
        self.depth as f64 / BYTE as f64
    }

    /// Tokens when they were last counted, bytes; negative if there is a debt.
    pub fn bytes(&self) -> f64 {
        self.tokens as f64 / BYTE as f64
    }

    /// Tokens at `now` if they arrive at `rate`, bytes.
    pub fn bytes_at(&self, rate: BitRate, now: Time) -> f64 {
        self.at(rate, now) as f64 / BYTE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_at_the_rate_up_to_the_depth_and_are_exact() {
        let mut b = Bucket::full(3000);
        assert!(b.take(3000) && !b.take(1));
        // A byte takes 8 / 7e6 s = 1142.857.. ns: its token has arrived at the next whole nanosecond.
        let rate = BitRate(7_000_000);
        assert_eq!(b.wait(1, rate), Some(Duration(1143)));
        b.fill(rate, Time(1142));
        assert!(!b.holds(1));
        b.fill(rate, Time(1143));
        assert!(b.holds(1));
        // Ten thousand steps give the same result as one step.
        for i in 1..=10_000 {
            b.fill(rate, Time(1143 + i * 100));
        }
        assert_eq!(b.bytes(), Bucket::full(3000).emptied().bytes_at(rate, Time(1_001_143)));
        b.fill(rate, Time(1_000_000_000));
        assert_eq!(b.bytes(), 3000.0);
    }

    #[test]
    fn a_depth_that_changes_loses_tokens_and_adds_none() {
        let (rate, mut b) = (BitRate(8_000_000), Bucket::full(3000));
        b.set_depth(rate, Duration::from_millis(10), 0);
        assert_eq!((b.bytes(), b.depth()), (3000.0, 10_000.0));
        b.set_depth(rate, Duration::from_millis(1), 0);
        assert_eq!((b.bytes(), b.depth()), (1000.0, 1000.0));
        b.set_depth(rate, Duration::from_millis(1), 5000);
        b.fill_up();
        assert_eq!((b.bytes(), b.depth()), (5000.0, 5000.0));
    }

    #[test]
    fn what_one_cannot_hold_goes_to_the_other() {
        let (mut first_bucket, mut second_bucket) = (Bucket::full(1000).emptied(), Bucket::full(500).emptied());
        // One byte per microsecond.
        let rate = BitRate(8_000_000);
        for (at, tokens) in [(900, (900.0, 0.0)), (1200, (1000.0, 200.0)), (9000, (1000.0, 500.0))] {
            first_bucket.fill_over(&mut second_bucket, rate, Time(at * 1000));
            assert_eq!((first_bucket.bytes(), second_bucket.bytes()), tokens);
        }
    }

    #[test]
    fn a_packet_larger_than_the_depth_leaves_when_it_is_full_and_owes_the_rest() {
        // One byte per microsecond.
        let (rate, mut b) = (BitRate(8_000_000), Bucket::full(1000));
        assert!(!b.take(5000), "no meter lets it pass");
        assert!(b.send(5000));
        assert_eq!((b.bytes(), b.send(1)), (-4000.0, false));
        assert_eq!(
            b.wait(5000, rate),
            Some(Duration(5_000_000)),
            "4000 owed, then a full bucket"
        );
        assert_eq!(b.wait(40, rate), Some(Duration(4_040_000)));
        b.take_at_most(100);
        assert_eq!(b.bytes(), -4000.0, "there is nothing to take");
        b.fill(rate, Time(4_039_999));
        assert!(!b.send(40));
        b.fill(rate, Time(4_040_000));
        assert!(b.send(40));
        assert_eq!(b.bytes(), 0.0);
    }

    #[test]
    fn a_charge_may_leave_a_debt_of_any_size() {
        // One byte per microsecond.
        let (rate, mut b) = (BitRate(8_000_000), Bucket::full(1000));
        b.charge(600);
        assert!(b.holds(0) && b.wait(0, rate) == Some(Duration::ZERO));
        b.charge(1500);
        assert_eq!((b.bytes(), b.holds(0)), (-1100.0, false));
        assert_eq!(b.wait(0, rate), Some(Duration(1_100_000)));
    }

    #[test]
    fn nothing_comes_at_no_rate_and_a_full_bucket_need_not_wait() {
        let mut b = Bucket::full(1000);
        assert_eq!(b.wait(5000, BitRate(0)), Some(Duration::ZERO), "fuller it does not get");
        b.take_at_most(5000);
        assert_eq!((b.bytes(), b.wait(1, BitRate(0))), (0.0, None));
    }
}
