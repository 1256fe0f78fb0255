//! Time: an integer count of nanoseconds.
//!
//! [`Time`] is an instant since the start of the run, [`Duration`] a length of time; both have 64 bits and are never
//! negative. Arithmetic saturates, so "never" ([`Time::NEVER`]) remains "never". Formulas use seconds as `f64`; the
//! engine never uses seconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant, in nanoseconds since the start of the run.
///
/// ```
/// use tailback_base::{Duration, Time};
///
/// let sent = Time::from_seconds(1.5);
/// let arrived = sent + Duration::from_millis(20);
/// assert_eq!(arrived - sent, Duration::from_millis(20));
/// // Arithmetic saturates: there is nothing before the start, and never stays never.
/// assert_eq!(sent - arrived, Duration::ZERO);
/// assert_eq!(Time::NEVER + Duration::from_millis(1), Time::NEVER);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A length of time, in nanoseconds.
///
/// ```
/// use tailback_base::Duration;
///
/// let target = Duration::from_millis(5);
/// assert_eq!(target, Duration::from_micros(5000));
/// assert_eq!(target.seconds(), 0.005);
/// assert_eq!(target.to_string(), "5ms");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub u64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// Later than every instant of any run.
    pub const NEVER: Time = Time(u64::MAX);

    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The nearest nanosecond to `s` seconds; negative values and NaN become zero.
    pub fn from_seconds(s: f64) -> Time {
        Time(Duration::from_seconds(s).0)
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    pub const ZERO: Duration = Duration(0);
    pub const FOREVER: Duration = Duration(u64::MAX);

    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The nearest nanosecond to `s` seconds; negative values and NaN become zero, values that are too long saturate.
    #[inline]
    pub fn from_seconds(s: f64) -> Duration {
        // Half a nanosecond rounds up. The part below one nanosecond is exact, as with `round`.
        let ns = s * 1e9;
        let whole = ns as u64;
        Duration(whole.saturating_add(u64::from(ns - whole as f64 >= 0.5)))
    }

    pub const fn from_millis(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }

    pub const fn from_micros(us: u64) -> Duration {
        Duration(us * 1_000)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.saturating_sub(d.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Time(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn seconds_are_rounded_as_by_the_library() {
        let by_library = |s: f64| Duration(libm::round(s * 1e9) as u64);
        let mut rng = Stream::new(1, "seconds");
        let edges = [
            0.0,
            -0.0,
            -1.0,
            0.5e-9,
            4.999_999_999_999_999e-10,
            1.5e-9,
            2.5e-9,
            1e9,
            1.8e10,
            1e300,
        ];
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
        // All sizes from a thousandth of a nanosecond to thirty years.
        let random_seconds = (0..100_000).map(|_| rng.uniform() * libm::pow(10.0, 21.0 * rng.uniform() - 12.0));
        let halves = (0..10_000).map(|n| (f64::from(n) + 0.5) * 1e-9);
        for s in edges
            .into_iter()
            .chain(odd)
            .chain(halves)
            .chain(random_seconds.collect::<Vec<_>>())
        {
            assert_eq!(Duration::from_seconds(s), by_library(s), "{s:e} s");
        }
    }
}
