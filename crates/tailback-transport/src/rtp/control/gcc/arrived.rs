//! The rate that arrives. It is a Bayesian estimate over windows of 150 ms. The first window is 500 ms.
//!
//! The uncertainty of a sample grows in proportion to its distance from the estimate, and an uncertain sample moves the
//! estimate less. A sample of few bytes below the estimate is more uncertain still.

use tailback_base::Time;

const FIRST_WINDOW_S: f64 = 0.5;
const WINDOW_S: f64 = 0.15;
const FEW_BYTES: u64 = 2000;
const UNCERTAINTY: f64 = 10.0;
const UNCERTAINTY_OF_FEW: f64 = 25.0;
const FIRST_VARIANCE: f64 = 50.0;
const MORE_VARIANCE: f64 = 5.0;
const LEAST: f64 = 40_000.0;

pub struct Arrived {
    rate: Option<f64>,
    variance: f64,
    bytes: u64,
    /// Length of the present window so far, s.
    length: f64,
    last: Option<Time>,
}

impl Arrived {
    pub fn new() -> Arrived {
        Arrived {
            rate: None,
            variance: FIRST_VARIANCE,
            bytes: 0,
            length: 0.0,
            last: None,
        }
    }

    /// Bit/s.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    pub fn add(&mut self, at: Time, bytes: u32) {
        if let Some((sample, is_small)) = self.sample(at, bytes) {
            self.learn(sample, is_small);
        }
    }

    /// The rate of the window that this packet ends.
    fn sample(&mut self, at: Time, bytes: u32) -> Option<(f64, bool)> {
        let window = if self.rate.is_none() { FIRST_WINDOW_S } else { WINDOW_S };
        let last_arrival = self.last.replace(at).unwrap_or(at);
        if at < last_arrival {
            (self.bytes, self.length) = (0, 0.0);
            return None;
        }
        let gap = at.since(last_arrival).seconds();
        self.length += gap;
        if gap >= window {
            // No packet arrived for a long time, so the windows in between do not count.
            self.bytes = 0;
            self.length %= window;
        }
        let mut sample = None;
        if self.length >= window {
            sample = Some((8.0 * self.bytes as f64 / window, self.bytes < FEW_BYTES));
            self.bytes = 0;
            self.length -= window;
        }
        self.bytes += u64::from(bytes);
        sample
    }

    fn learn(&mut self, sample: f64, is_small: bool) {
        let Some(rate) = self.rate else {
            self.rate = Some(sample);
            return;
        };
        let scale = if is_small && sample < rate {
            UNCERTAINTY_OF_FEW
        } else {
            UNCERTAINTY
        };
        let off = scale * (rate - sample).abs() / rate;
        let (of_sample, of_rate) = (off * off, self.variance + MORE_VARIANCE);
        let learned = (of_sample * rate + of_rate * sample) / (of_sample + of_rate);
        self.variance = of_sample * of_rate / (of_sample + of_rate);
        self.rate = Some(learned.max(LEAST));
    }
}
