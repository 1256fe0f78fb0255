//! The instants at which periods end.
//!
//! State: the next end. It is a multiple of the period from the start of the run, so there is no drift. An AQM may be
//! made in the middle of a run, when its queue is first used. The ends before that are skipped.

use tailback_base::{Duration, Time};

/// The ends of periods, the first one period after the start.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    period: Duration,
    next: Time,
}

impl Ticks {
    /// Periods of this length. A period of zero counts as a nanosecond.
    pub fn new(period: Duration) -> Ticks {
        let period = Duration(period.0.max(1));
        Ticks {
            period,
            next: Time::ZERO + period,
        }
    }

    /// Begin the first period of this length when the present period of `before` ends.
    pub fn follow(&mut self, before: &Ticks) {
        self.next = before.next;
    }

    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Move on to the next end if the present one has come. Returns true exactly at the end of a period, and false
    /// otherwise.
    pub fn tick(&mut self, now: Time) -> bool {
        let on_time = now == self.next;
        if now >= self.next {
            self.next = Time(now.0 - now.0 % self.period.0) + self.period;
        }
        on_time
    }
}

/// The number of periods that count as done when the length of the period changes. It is chosen so that the next new
/// period ends with the running period or after it.
pub fn renumbered(done: u64, period: Duration, new: Duration) -> u64 {
    let end = (done + 1).saturating_mul(period.0);
    end.div_ceil(new.0.max(1)).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_period_begins_when_the_running_one_ends() {
        let mut t = Ticks::new(Duration(10));
        assert!(t.tick(Time(10)));
        let mut other = Ticks::new(Duration(7));
        other.follow(&t);
        assert!(other.tick(Time(20)));
        assert_eq!(other.next(), Time(21));
        assert_eq!(
            [10, 7, 3, 40].map(|new| renumbered(1, Duration(10), Duration(new))),
            [1, 2, 6, 0]
        );
    }

    #[test]
    fn what_was_missed_is_not_made_up_for() {
        let mut t = Ticks::new(Duration(10));
        assert!(t.tick(Time(10)) && t.tick(Time(20)));
        assert!(!t.tick(Time(57)));
        assert_eq!(t.next(), Time(60));
        assert!(t.tick(Time(60)));
    }
}
