//! The exact greatest of the recent values: a windowed maximum over rounds or cycles.
//!
//! The state is at most one value for each round of the window, in order of time and falling. An old value is removed
//! when a new one enters. A value costs one or two compares.

use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct Greatest(VecDeque<(u64, f64)>);

impl Greatest {
    /// Take a value at this time. Times never fall. Values more than `memory` before this time are removed.
    pub fn enter(&mut self, at: u64, value: f64, memory: u64) {
        while self.0.back().is_some_and(|b| b.1 <= value) {
            self.0.pop_back();
        }
        // A smaller value of the same time never counts.
        if self.0.back().is_none_or(|b| b.0 != at) {
            self.0.push_back((at, value));
        }
        while self.0.front().is_some_and(|f| f.0 + memory < at) {
            self.0.pop_front();
        }
    }

    /// The greatest value; 0 if there is no value.
    pub fn get(&self) -> f64 {
        self.0.front().map_or(0.0, |f| f.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result equals the definition: the maximum of the values that are at most `memory` older than the last.
    #[test]
    fn it_is_the_maximum_of_the_window() {
        for memory in [0, 1, 2, 10] {
            let (mut greatest, mut all) = (Greatest::default(), Vec::new());
            let mut random = 1_u64;
            for n in 0..500_u64 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let (at, value) = (n / 3, (random >> 60) as f64);
                greatest.enter(at, value, memory);
                all.push((at, value));
                let kept = all.iter().filter(|a| a.0 + memory >= at).map(|a| a.1);
                assert_eq!(greatest.get(), kept.fold(0.0, f64::max), "memory {memory}, value {n}");
                assert!(greatest.0.len() as u64 <= memory + 1);
            }
        }
    }
}
