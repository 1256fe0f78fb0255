//! Whether the line is overused. The sign is the slope of the smoothed delay over the last 20 groups.
//!
//! The scaled slope m = 4 min(n, 60) slope, after n differences, is compared with a threshold g that follows |m|
//! slowly, faster downwards. The line is overused if m > g for more than 10 ms and in more than one group, while the
//! slope grows. It is underused if m < -g.

use super::groups::Difference;
use std::collections::VecDeque;

const POINTS: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MOST_COUNTED: u32 = 60;
const FIRST_THRESHOLD_MS: f64 = 12.5;
const THRESHOLDS_MS: (f64, f64) = (6.0, 600.0);
/// The gains of the threshold when it rises and when it falls, per ms.
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
/// A slope farther above the threshold than this does not move the threshold. A longer time counts as `LONGEST_MS`.
const FARTHEST_MS: f64 = 15.0;
const LONGEST_MS: f64 = 100.0;
const LEAST_OVERUSE_MS: f64 = 10.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    Normal,
    Over,
    Under,
}

pub struct Trendline {
    /// The number of differences so far, up to the number that counts.
    count: u32,
    /// The sum of the differences, and the smoothed sum, ms.
    sum: f64,
    smoothed: f64,
    /// Arrival and smoothed delay, ms.
    points: VecDeque<(f64, f64)>,
    slope: f64,
    threshold: f64,
    adapted: Option<f64>,
    /// For how long m has been above the threshold, ms, and in how many groups.
    over: Option<(f64, u32)>,
    usage: Usage,
}

impl Trendline {
    pub fn new() -> Trendline {
        Trendline {
            count: 0,
            sum: 0.0,
            smoothed: 0.0,
            points: VecDeque::new(),
            slope: 0.0,
            threshold: FIRST_THRESHOLD_MS,
            adapted: None,
            over: None,
            usage: Usage::Normal,
        }
    }

    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// m, ms.
    pub fn scaled(&self) -> f64 {
        f64::from(self.count) * self.slope * GAIN
    }

    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    pub fn add(&mut self, d: &Difference) {
        self.count = (self.count + 1).min(MOST_COUNTED);
        self.sum += d.arrived - d.sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.sum;
        self.points.push_back((d.at, self.smoothed));
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
        if self.points.len() == POINTS {
            self.judge(self.fit().unwrap_or(self.slope), d);
        }
    }

    /// The slope by least squares; `None` if all groups arrived at one instant.
    fn fit(&self) -> Option<f64> {
        let n = self.points.len() as f64;
        let (x, y) = self
            .points
            .iter()
            .fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
        let products = self.points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>();
        let squares = self.points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>();
        (squares > 0.0).then(|| products / squares)
    }

    fn judge(&mut self, slope: f64, d: &Difference) {
        let slope_before = std::mem::replace(&mut self.slope, slope);
        let m = self.scaled();
        if m > self.threshold {
            // Half of the time since the last group already counts as overuse.
            let (time, groups) = self.over.map_or((d.sent / 2.0, 1), |(t, n)| (t + d.sent, n + 1));
            self.over = Some((time, groups));
            if time > LEAST_OVERUSE_MS && groups > 1 && slope > slope_before {
                self.over = None;
                self.usage = Usage::Over;
            }
        } else {
            self.over = None;
            self.usage = if m < -self.threshold {
                Usage::Under
            } else {
                Usage::Normal
            };
        }
        self.adapt(m.abs(), d.at);
    }

    fn adapt(&mut self, size: f64, now: f64) {
        let time = now - self.adapted.replace(now).unwrap_or(now);
        if size > self.threshold + FARTHEST_MS {
            return;
        }
        let gain = if size < self.threshold { DOWN } else { UP };
        self.threshold += gain * (size - self.threshold) * time.clamp(0.0, LONGEST_MS);
        self.threshold = self.threshold.clamp(THRESHOLDS_MS.0, THRESHOLDS_MS.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usage after many groups, each of which arrives later by a share of the time between two groups.
    fn usage_at(share: f64, groups: u32) -> Usage {
        let mut t = Trendline::new();
        (1..=groups).for_each(|n| {
            let arrived = 20.0 * (1.0 + share);
            t.add(&Difference {
                sent: 20.0,
                arrived,
                at: f64::from(n) * arrived,
            });
        });
        t.usage()
    }

    /// If all 60 groups count, a slope of 12.5 / (60 * 4) = 0.052 is overuse. This is 5.5 % more than the line carries.
    /// Below this slope the threshold falls towards the slope only slowly.
    #[test]
    fn a_line_that_is_filled_too_fast_is_overused() {
        assert_eq!(usage_at(0.06, 70), Usage::Over);
        assert_eq!(usage_at(0.0, 70), Usage::Normal);
        assert_eq!(usage_at(-0.06, 70), Usage::Under);
    }

    /// With the first threshold of 12.5 ms, overuse begins at a slope of 12.5 / (4 * 60) = 0.052 if 60 groups count,
    /// and of 12.5 / (4 * 20) = 0.156 if 20 groups count. These are 5.5 and 18.5 % more than the line carries.
    #[test]
    fn overuse_begins_at_a_slope_that_falls_with_the_groups_seen() {
        let usage = |count: u32, slope: f64| {
            let mut t = Trendline::new();
            t.count = count;
            for n in 0..3 {
                let difference = Difference {
                    sent: 20.0,
                    arrived: 21.0,
                    at: 0.0,
                };
                t.judge(slope + 1e-6 * f64::from(n), &difference);
            }
            t.usage()
        };
        for (count, slope, more) in [(60, 0.052, 0.055), (20, 0.156, 0.185)] {
            assert_eq!(usage(count, slope + 0.001), Usage::Over);
            assert_eq!(usage(count, slope - 0.001), Usage::Normal);
            let slope: f64 = slope;
            assert!((slope / (1.0 - slope) - more).abs() < 0.001);
        }
    }
}
