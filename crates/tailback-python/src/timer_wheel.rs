//! The times at which the timers of a kernel fire: at ticks of its clock, never early, and the later the longer they
//! run.
//!
//! Linux keeps timers in a wheel of levels (kernel/time/timer.c). Timers of less than 63 ticks fire at a tick, timers
//! of less than 8 times as many ticks at every eighth tick, and so on. Each time is rounded up, so that a timer is late
//! by one or two steps of its level.

use tailback_base::Time;

/// Timers of this number of ticks or more are on the next level.
const LEVEL: u64 = 63;
/// A level's step is this number of steps of the level below.
const STEPS: u64 = 8;

/// The wheel of a kernel.
#[derive(Clone, Copy)]
pub struct TimerWheel {
    /// The length of a tick, and how much of the first tick had passed at time 0, ns.
    pub tick: u64,
    pub phase: u64,
}

impl TimerWheel {
    /// The time at which a timer fires that was set at `set` for `deadline`.
    pub fn fires(&self, set: Time, deadline: Time) -> Time {
        let ticks = deadline.since(set).0.div_ceil(self.tick);
        let expires = (set.0 + self.phase) / self.tick + ticks;
        let (mut step, mut most) = (1, LEVEL);
        while ticks >= most {
            (step, most) = (step * STEPS, most * STEPS);
        }
        let at = (expires / step + 1) * step;
        Time((at * self.tick).saturating_sub(self.phase)).max(deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_late_by_one_or_two_steps_of_its_level() {
        for (tick, length, most_late) in [(4, 10, 8), (4, 240, 8), (4, 300, 64), (4, 3000, 512), (1, 50, 2)] {
            for phase in 0..tick {
                for set in 1000..1000 + 64 * tick {
                    let wheel = TimerWheel { tick, phase };
                    let late = wheel.fires(Time(set), Time(set + length)).0 - (set + length);
                    assert!(late <= most_late, "{late} of {length} with phase {phase}");
                }
            }
        }
        let wheel = TimerWheel { tick: 4, phase: 0 };
        assert_eq!(wheel.fires(Time(1000), Time(1010)), Time(1016));
    }
}
