//! The observations of an agent about its connection: counts over an interval, made into numbers without unit.
//!
//! The same code serves the environment and a trained policy that runs as a congestion control, so that the policy sees
//! the same values as in training.
//!
//! Data count when they are delivered: acknowledged or reported for the first time (Cheng, Cardwell, Yeganeh, Jacobson,
//! draft-cheng-iccrg-delivery-rate-estimation). An ACK number that jumps over a repaired hole delivers the repair only.
//!
//! State: the counts since the last look; the least round trip and the greatest delivery rate of the connection so far.

use crate::control::{ControlAck, CountedAck};
use pyo3::prelude::*;

/// The number of values that an agent sees of its connection.
pub const SEEN: usize = 7;

/// Counts of a connection.
#[pyclass(module = "tailback._core")]
#[derive(Clone, Debug)]
pub struct PathFeatures {
    segment: f64,
    /// Delivered since the connection began, bytes.
    total: u64,
    delivered: f64,
    /// The most that one ACK delivered.
    most_of_one: f64,
    lost: f64,
    echoed: f64,
    pub acks: u64,
    rtt_sum: f64,
    rtt_count: f64,
    /// The round trip of the last interval that measured one.
    last_rtt: f64,
    least_rtt: f64,
    most_rate: f64,
    /// The values of the last interval, for rewards: bytes a second, seconds, share lost.
    pub rate: f64,
    pub rtt: f64,
    pub loss: f64,
}

impl PathFeatures {
    pub fn count(&mut self, a: CountedAck) {
        self.acks += 1;
        let new = a.delivered.map_or(0, |total| total - self.total);
        self.total += new;
        self.delivered += new as f64;
        self.most_of_one = self.most_of_one.max(new as f64);
        self.lost += a.lost as f64;
        if a.echo {
            self.echoed += new as f64;
        }
        if let Some(rtt) = a.rtt {
            let s = rtt.seconds();
            self.rtt_sum += s;
            self.rtt_count += 1.0;
            self.least_rtt = self.least_rtt.min(s);
        }
        // A sample over less than a round trip shows a burst of ACKs, not the path.
        if let Some((rate, over)) = a.sample
            && over >= self.least_rtt
        {
            self.most_rate = self.most_rate.max(rate);
        }
    }

    /// The values of an interval of this number of seconds, with a window of this number of bytes. Counting begins
    /// anew.
    pub fn look(&mut self, interval_s: f64, cwnd: f64) -> [f32; SEEN] {
        self.rate = if interval_s > 0.0 {
            self.delivered / interval_s
        } else {
            0.0
        };
        // This number of bytes came after the first ACK of the interval.
        if interval_s > 0.0 {
            let after = (self.delivered - self.most_of_one) / interval_s;
            self.most_rate = self.most_rate.max(after);
        }
        if self.rtt_count > 0.0 {
            self.last_rtt = self.rtt_sum / self.rtt_count;
        }
        self.rtt = self.last_rtt;
        let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        self.loss = share(self.lost, self.lost + self.delivered);
        let has_rtt = self.least_rtt.is_finite();
        let path = if has_rtt { self.least_rtt * self.most_rate } else { 0.0 };
        let features = [
            share(self.rate, self.most_rate),
            if has_rtt {
                self.last_rtt / self.least_rtt - 1.0
            } else {
                0.0
            },
            self.loss,
            share(self.echoed, self.delivered),
            libm::log2((cwnd / self.segment).max(1.0)) / 10.0,
            if path > 0.0 { (cwnd / path).min(10.0) } else { 0.0 },
            if self.acks > 0 { 1.0 } else { 0.0 },
        ];
        (self.delivered, self.most_of_one) = (0.0, 0.0);
        (self.lost, self.echoed, self.acks) = (0.0, 0.0, 0);
        (self.rtt_sum, self.rtt_count) = (0.0, 0.0);
        features.map(|x| x as f32)
    }
}

#[pymethods]
impl PathFeatures {
    /// Counts for a connection whose full segments have this number of bytes of payload.
    #[new]
    pub fn new(segment: f64) -> PathFeatures {
        PathFeatures {
            segment,
            total: 0,
            delivered: 0.0,
            most_of_one: 0.0,
            lost: 0.0,
            echoed: 0.0,
            acks: 0,
            rtt_sum: 0.0,
            rtt_count: 0.0,
            last_rtt: 0.0,
            least_rtt: f64::INFINITY,
            most_rate: 0.0,
            rate: 0.0,
            rtt: 0.0,
            loss: 0.0,
        }
    }

    /// Count an ACK of a congestion control with `wants_rate = True`.
    fn add(&mut self, ack: &Bound<ControlAck>) {
        self.count(ack.get().counted());
    }

    /// The least round trip so far, seconds; before the first sample the value `unknown`.
    pub fn round_trip(&self, unknown: f64) -> f64 {
        if self.least_rtt.is_finite() {
            self.least_rtt
        } else {
            unknown
        }
    }

    /// The values that an agent sees after an interval of this number of seconds with a window of this number of bytes.
    /// Counting begins anew.
    fn take(&mut self, interval_s: f64, cwnd: f64) -> Vec<f32> {
        self.look(interval_s, cwnd).to_vec()
    }
}
