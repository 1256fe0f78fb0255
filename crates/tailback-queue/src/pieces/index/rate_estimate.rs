//! Three estimates of the service rate of a queue for TDRR, because the thesis does not say which quantity it averages.
//!
//! | estimator | a sample | when | rate |
//! |---|---|---|---|
//! | [`PerService`] | 8 bytes / gap since the queue's previous service | each service | (1 - w) rate + w sample |
//! | [`PerArrival`] | 8 bytes / gap since the queue's previous arrival | each packet stored | (1 - w) rate + w sample |
//! | [`Clocked`] | 8 bytes | each service | sum of 8 bytes exp(-(t - t_i) / theta) / theta |
//!
//! A gap counts as at least the packet's time on the line, so no sample exceeds the rate of the line. The first packet
//! of a queue gives no sample. The first two estimates keep their value while a queue is idle. The third one decays
//! with theta in the same way for all queues, so only the queue just served changes its place in the order.
//!
//! State: [`PerService`] and [`PerArrival`] store for each queue a rate in bit/s and the time of its last service or
//! arrival. [`Clocked`] stores for each queue only ln(rate at time t) + t / theta, which is dimensionless and does not
//! change until the next service. Departure: the logarithm of the growing value is stored. The value itself would
//! exceed the range of a number, unless it was scaled down in all queues in time. Its logarithm stays in range and
//! gives the same order. A packet costs a division, or an exponential and a logarithm.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 3; `docs/decisions/tdrr-average.md`. A packet of zero
//! bytes, or two packets at one instant on an infinitely fast line, would cause a division by zero. So such packets do
//! not change the estimate.

use crate::contract::discipline::Line;
use crate::pieces::store::{PerQueue, QueueId};
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Settings, Time, params};

tailback_base::choice! {
    /// The events that the rate of a queue averages.
    pub enum Sampled {
        PerService = "per_service",
        PerArrival = "per_arrival",
        Clocked = "clocked",
    }
}

params! {
    pub ESTIMATOR: Sampled = Key::choice("estimator", "per_service",
        "How the rate of a queue is estimated: an average of bits divided by the gap, at each service or at each \
         arrival; or the bits served, averaged with a time constant.", "the thesis does not define the sample");
    pub WEIGHT: f64 = Key::new("weight", Kind::Real { min: 1e-9, max: 1.0 }, "0.03125",
        "The weight of each new sample in a queue's rate estimate; estimator \"clocked\" does not use it.",
        "1/32, thesis chapter 3");
    pub THETA: Duration = Key::new("theta", Kind::Time { min: 1e-6, max: 1e4 }, "100ms",
        "The time constant of estimator \"clocked\".",
        "tailback: some 32 packets of a fair share in the thesis's base case");
}

/// The estimate that a scenario chooses, with its parameter.
#[derive(Clone, Copy, Debug)]
pub enum Estimator {
    /// The mean of bits divided by the gap at each service, with this weight of a sample.
    PerService(f64),
    PerArrival(f64),
    /// Recent services, with this time constant.
    Clocked(Duration),
}

impl Estimator {
    /// The estimator that these settings describe.
    ///
    /// # Errors
    /// A given parameter belongs to an estimator that was not chosen.
    pub fn from_settings(s: &Settings) -> Result<Estimator, Refusal> {
        let sampled = s.get(&ESTIMATOR);
        let idle = match sampled {
            Sampled::Clocked => &WEIGHT.param,
            Sampled::PerService | Sampled::PerArrival => &THETA.param,
        };
        if s.is_given(idle.name) {
            return Err(Refusal::new(
                format!("estimator \"{}\" has no {}", sampled.word(), idle.name),
                format!("leave {} out, or choose another estimator", idle.name),
            ));
        }
        Ok(match sampled {
            Sampled::PerService => Estimator::PerService(s.get(&WEIGHT)),
            Sampled::PerArrival => Estimator::PerArrival(s.get(&WEIGHT)),
            Sampled::Clocked => Estimator::Clocked(s.get(&THETA)),
        })
    }
}

/// A rule that estimates the rate of a queue. A method that changes the key of the queue returns the new key.
pub trait RateEstimate {
    /// A packet was stored.
    fn appended(&mut self, _q: QueueId, _bytes: u32, _line: &Line) -> Option<f64> {
        None
    }
    /// A packet was sent.
    fn served(&mut self, _q: QueueId, _bytes: u32, _line: &Line) -> Option<f64> {
        None
    }
    /// The key by which queues are ordered.
    fn key(&self, q: QueueId) -> f64;
    /// The rate for display, bit/s.
    fn rate(&self, q: QueueId) -> f64 {
        self.key(q)
    }
}

/// The mean of bits divided by the gap between packets.
#[derive(Clone, Debug)]
struct Gaps {
    weight: f64,
    queue: PerQueue<Last>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    rate: f64,
    at: Option<Time>,
}

impl Gaps {
    fn new(weight: f64) -> Gaps {
        Gaps {
            weight: if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 1.0) },
            queue: PerQueue::default(),
        }
    }

    fn packet(&mut self, q: QueueId, bytes: u32, line: &Line) -> Option<f64> {
        let queue = self.queue.at(q);
        let last = queue.at.replace(line.now)?;
        let bits = 8.0 * f64::from(bytes);
        // This uses floating point instead of Line::time_of, because the time of a packet may be less than a
        // nanosecond.
        let gap = line.now.since(last).seconds().max(bits / line.rate.bits_per_second());
        let sample = bits / gap;
        if !sample.is_finite() {
            return None;
        }
        queue.rate = (1.0 - self.weight) * queue.rate + self.weight * sample;
        Some(queue.rate)
    }
}

/// The mean of bits divided by the gap, at each service.
#[derive(Clone, Debug)]
pub struct PerService(Gaps);

impl PerService {
    /// An estimate in which `weight` is w, the share of a new sample, limited to 0..=1.
    pub fn new(weight: f64) -> PerService {
        PerService(Gaps::new(weight))
    }
}

impl RateEstimate for PerService {
    fn served(&mut self, q: QueueId, bytes: u32, line: &Line) -> Option<f64> {
        self.0.packet(q, bytes, line)
    }
    fn key(&self, q: QueueId) -> f64 {
        self.0.queue.get(q).rate
    }
}

/// The mean of bits divided by the gap, at each arrival.
#[derive(Clone, Debug)]
pub struct PerArrival(Gaps);

impl PerArrival {
    /// An estimate in which `weight` is w, the share of a new sample, limited to 0..=1.
    pub fn new(weight: f64) -> PerArrival {
        PerArrival(Gaps::new(weight))
    }
}

impl RateEstimate for PerArrival {
    fn appended(&mut self, q: QueueId, bytes: u32, line: &Line) -> Option<f64> {
        self.0.packet(q, bytes, line)
    }
    fn key(&self, q: QueueId) -> f64 {
        self.0.queue.get(q).rate
    }
}

/// The rate of recent services. The longer ago a service was, the less it counts.
#[derive(Clone, Debug)]
pub struct Clocked {
    theta: f64,
    /// ln(rate) + t / theta, which does not change while the queue is not served.
    queue: PerQueue<Level>,
    now: Time,
}

#[derive(Clone, Copy, Debug)]
struct Level(f64);

impl Default for Level {
    fn default() -> Self {
        Level(f64::NEG_INFINITY)
    }
}

impl Clocked {
    /// An estimate with the time constant `theta`, at least a nanosecond.
    pub fn new(theta: Duration) -> Clocked {
        Clocked {
            theta: theta.max(Duration(1)).seconds(),
            queue: PerQueue::default(),
            now: Time::ZERO,
        }
    }

    fn age(&self) -> f64 {
        self.now.seconds() / self.theta
    }
}

impl RateEstimate for Clocked {
    fn appended(&mut self, _q: QueueId, _bytes: u32, line: &Line) -> Option<f64> {
        self.now = line.now;
        None
    }

    fn served(&mut self, q: QueueId, bytes: u32, line: &Line) -> Option<f64> {
        self.now = line.now;
        let rate = self.rate(q) + 8.0 * f64::from(bytes) / self.theta;
        let level = libm::log(rate) + self.age();
        if !level.is_finite() {
            return None;
        }
        self.queue.at(q).0 = level;
        Some(level)
    }

    fn key(&self, q: QueueId) -> f64 {
        self.queue.get(q).0
    }

    fn rate(&self, q: QueueId) -> f64 {
        libm::exp(self.queue.get(q).0 - self.age())
    }
}
