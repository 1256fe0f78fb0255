//! The levels of requests between the pre-congestion threshold and the upper one.
//!
//! Level 0 is requested when the average crosses the pre-congestion threshold. The next level is requested each time
//! the average has grown by another step above the highest level so far. A request waits until a packet can carry it.
//! When the average falls below the threshold, a waiting request is cancelled and the highest level is reset. With
//! `rearm` = step, the highest level also follows the average down, one step behind it.

use super::settings::{Config, Rearm};

/// A sum of steps that should equal a limit may differ from it by this much because of rounding.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    /// The range of averages that has levels, and the step between two levels, in the unit of the buffer.
    from: f64,
    to: f64,
    step: f64,
    count: u32,
    rearm: Rearm,
    highest: Option<u32>,
    pending: bool,
}

impl Levels {
    pub fn new(c: &Config) -> Levels {
        let count = ((c.max_threshold - c.pre_threshold) / c.step - ROUNDING)
            .ceil()
            .max(1.0);
        Levels {
            from: c.pre_threshold,
            to: c.max_threshold,
            step: c.step,
            count: count as u32,
            rearm: c.rearm,
            highest: None,
            pending: false,
        }
    }

    /// The number of levels.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The highest level that was requested since the average was last below the threshold.
    pub fn highest(&self) -> Option<u32> {
        self.highest
    }

    /// Update the levels with the average at an arrival.
    pub fn observe(&mut self, average: f64) {
        if average < self.from {
            (self.highest, self.pending) = (None, false);
        } else if average < self.to {
            let level = (((average - self.from) / self.step + ROUNDING) as u32).min(self.count - 1);
            if self.highest.is_none_or(|h| level > h) {
                self.highest = Some(level);
                self.pending = true;
            } else if self.rearm == Rearm::Step {
                self.highest = self.highest.map(|h| h.min(level + 1));
            }
        }
    }

    /// The level that is still to be requested.
    pub fn pending(&self) -> Option<u32> {
        self.highest.filter(|_| self.pending)
    }

    pub fn asked(&mut self) {
        self.pending = false;
    }
}
