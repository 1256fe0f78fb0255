//! The estimate by loss: the rate B and the inherent loss p of a line that best explain the observed losses.
//!
//! A packet sent at a rate r up to B is lost with probability p. Above B the probability is p + (1 - p) (r - B)/r. Each
//! quarter of a second is an observation of bytes, lost bytes and rate. The last 15 observations count, with weights
//! 0.9^age. The candidates are some rates near the present one, the rate that arrives, and the estimate by delay. One
//! step of Newton's method gives the p of each candidate. The candidate with the greatest likelihood is chosen, with
//! some preference for higher rates. Then growth is bounded. The rate does not grow while the loss is greater than p.
//! It is at most 1.5 times (1.2 soon after a loss) the rate that arrives, and grows at most 1.3 times in 300 ms. The
//! rate does not grow for a time after a reduction either. This time doubles from 300 ms to a minute.

use super::super::{Fate, ReportedPacket, Terms};
use tailback_base::{Duration, Time};

const OBSERVATIONS: usize = 15;
const LEAST_OBSERVATION: Duration = Duration::from_millis(250);
const AGING: f64 = 0.9;
/// Above 5 % loss the rate is at most 100 kbit/s divided by the excess of the loss over 5 %.
const LOSS_OFFSET: f64 = 0.05;
const LOSS_BALANCE: f64 = 100_000.0;
const FIRST_INHERENT: f64 = 0.01;
const LEAST_INHERENT: f64 = 0.001;
const NEWTON_STEP: f64 = 0.75;
const FACTORS: [f64; 3] = [1.02, 1.0, 0.95];
/// The preference for higher rates has a part that depends on the rate in kbit/s and a part that depends on its
/// logarithm. It applies up to 20 % loss, with a smooth end.
const RATE_BIAS: f64 = 0.0002;
const LOG_BIAS: f64 = 0.02;
const BIAS_UP_TO: f64 = 0.2;
const BIAS_SMOOTHING: f64 = 0.002;
const GROWTH: f64 = 1.5;
const GROWTH_IN_HOLD: f64 = 1.2;
const HOLD_REGION: f64 = 1.3;
const GROWTH_OF_WINDOW: f64 = 1.3;
const GROWTH_WINDOW: Duration = Duration::from_millis(300);
const FIRST_HOLD: Duration = Duration::from_millis(300);
const LONGEST_HOLD: Duration = Duration::from_millis(60_000);
/// After a reduction the largest candidate rises by the rate that arrives in each second, for up to a minute.
const OPENS_UP_TO_S: f64 = 60.0;
const LEAST_RATE: f64 = 5000.0;

/// Bytes are counted in kB, as in the likelihood of libwebrtc.
#[derive(Clone, Copy, Default)]
struct Observation {
    kb: f64,
    lost_kb: f64,
    /// Bit/s.
    rate: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct LossyLine {
    rate: f64,
    inherent: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossState {
    /// The estimate by delay counts.
    ByDelay,
    Increasing,
    Decreasing,
}

struct Hold {
    until: Option<Time>,
    length: Duration,
    rate: f64,
}

impl Hold {
    const NONE: Hold = Hold {
        until: None,
        length: FIRST_HOLD,
        rate: f64::INFINITY,
    };
}

pub struct LossLimit {
    terms: Terms,
    state: LossState,
    /// Newest first.
    seen: Vec<Observation>,
    partial: Observation,
    /// The time at which the last packet of the last observation was sent.
    last: Option<Time>,
    line: LossyLine,
    /// A bound by the mean loss.
    bound: f64,
    reduced: Option<Time>,
    /// While the rate recovers: the time since which it recovers, and the largest rate that it may reach in the present
    /// window.
    recovering: Option<Time>,
    most_in_window: f64,
    hold: Hold,
    delay: f64,
    proven: f64,
    arrived: Option<f64>,
}

impl LossLimit {
    pub fn new(terms: Terms) -> LossLimit {
        LossLimit {
            terms,
            state: LossState::ByDelay,
            seen: Vec::new(),
            partial: Observation::default(),
            last: None,
            line: LossyLine {
                rate: terms.start,
                inherent: FIRST_INHERENT,
            },
            bound: f64::INFINITY,
            reduced: None,
            recovering: None,
            most_in_window: f64::INFINITY,
            hold: Hold::NONE,
            delay: terms.start,
            proven: f64::INFINITY,
            arrived: None,
        }
    }

    /// Bit/s; `None` where the estimate by delay counts.
    pub fn rate(&self) -> Option<f64> {
        (self.state != LossState::ByDelay).then(|| self.line.rate.min(self.delay).min(self.bound))
    }

    pub fn state(&self) -> LossState {
        self.state
    }

    pub fn set(&mut self, rate: f64) {
        self.line.rate = rate;
    }

    /// The traffic has changed. Drop all observations.
    pub fn restart(&mut self) {
        self.seen.clear();
        (self.partial, self.last, self.bound) = (Observation::default(), None, f64::INFINITY);
    }

    /// Take the packets of a report. `proven` is a rate that the line is known to carry, and the estimate does not
    /// exceed this rate.
    pub fn update(&mut self, packets: &[ReportedPacket], delay: f64, arrived: Option<f64>, proven: Option<f64>) {
        self.delay = delay;
        self.proven = proven.unwrap_or(f64::INFINITY);
        self.arrived = arrived.or(self.arrived);
        if self.observe(packets) {
            self.decide();
        }
        let limited = self.line.rate.min(self.bound);
        if limited > delay {
            self.line.rate = delay;
        }
    }

    /// Whether an observation is complete.
    fn observe(&mut self, packets: &[ReportedPacket]) -> bool {
        let mut newest = packets[0].sent;
        for p in packets {
            let kb = f64::from(p.bytes) / 1000.0;
            self.partial.kb += kb;
            self.partial.lost_kb += if p.fate == Fate::Lost { kb } else { 0.0 };
            newest = newest.max(p.sent);
        }
        let last_sent = *self.last.get_or_insert(newest);
        let length = newest.since(last_sent);
        if newest <= last_sent || length <= LEAST_OBSERVATION {
            return false;
        }
        self.last = Some(newest);
        let rate = 8000.0 * self.partial.kb / length.seconds();
        self.seen.insert(
            0,
            Observation {
                rate,
                ..std::mem::take(&mut self.partial)
            },
        );
        self.seen.truncate(OBSERVATIONS);
        let loss = self.mean_loss();
        self.bound = match loss > LOSS_OFFSET {
            true => LOSS_BALANCE / (loss - LOSS_OFFSET),
            false => f64::INFINITY,
        };
        true
    }

    /// Observations with their weights.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let weights = std::iter::successors(Some(1.0), |w| Some(w * AGING));
        weights.zip(&self.seen)
    }

    fn mean_loss(&self) -> f64 {
        let (lost, all) = self
            .weighted()
            .fold((0.0, 0.0), |(lost, all), (w, o)| (lost + w * o.lost_kb, all + w * o.kb));
        if all > 0.0 { lost / all } else { 0.0 }
    }

    fn decide(&mut self) {
        let Some(now) = self.last else { return };
        let loss = self.mean_loss();
        let mut best = (f64::MIN, self.line);
        for rate in self.candidates(now) {
            let line = self.fitted(rate);
            let likelihood = self.likelihood(&line, loss);
            if likelihood > best.0 {
                best = (likelihood, line);
            }
        }
        let mut best_line = best.1;
        if best_line.rate < self.line.rate {
            self.reduced = Some(now);
        }
        if loss > best_line.inherent {
            best_line.rate = best_line.rate.min(self.line.rate);
        }
        if self.is_limited() {
            best_line.rate = self.bounded(best_line.rate, now);
        }
        let holds = self.hold.until.is_some_and(|until| until > now);
        if self.state == LossState::Decreasing && holds && best_line.rate < self.delay {
            best_line.rate = best_line.rate.min(self.hold.rate);
            self.line = best_line;
            return;
        }
        self.change_state(best_line.rate, now);
        self.line = best_line;
        let is_over = self.recovering.is_none_or(|t| t + GROWTH_WINDOW < now);
        if self.is_limited() && is_over {
            self.most_in_window = LEAST_RATE.max(GROWTH_OF_WINDOW * best_line.rate);
            self.recovering = Some(now);
        }
    }

    fn is_limited(&self) -> bool {
        self.state != LossState::ByDelay
    }

    /// The rate after the bounds of growth, while losses limit it.
    fn bounded(&self, rate: f64, now: Time) -> f64 {
        let mut rate = rate;
        if self.recovering.is_some_and(|t| t + GROWTH_WINDOW > now) {
            rate = rate.min(self.most_in_window);
        }
        let Some(arrived) = self.arrived.filter(|_| self.grows_to(rate)) else {
            return rate;
        };
        let is_near = arrived < HOLD_REGION * self.hold.rate && self.hold.rate.is_finite();
        let growth = if is_near { GROWTH_IN_HOLD } else { GROWTH };
        rate = self.line.rate.max(rate.min(growth * arrived));
        if self.state == LossState::Decreasing && rate == self.line.rate {
            // One bit/s more makes the state change to growth.
            rate += 1.0;
        }
        rate
    }

    fn grows_to(&self, rate: f64) -> bool {
        let as_before = self.line.rate == rate && self.state == LossState::Increasing;
        self.is_limited() && (self.line.rate < rate || as_before)
    }

    fn change_state(&mut self, rate: f64, now: Time) {
        let is_below = rate < self.delay && rate < self.terms.max;
        self.state = if is_below && self.grows_to(rate) {
            LossState::Increasing
        } else if is_below {
            if self.state != LossState::Decreasing {
                self.hold = Hold {
                    until: Some(now + self.hold.length),
                    length: Duration(2 * self.hold.length.0).min(LONGEST_HOLD),
                    rate,
                };
            }
            LossState::Decreasing
        } else {
            self.hold = Hold::NONE;
            LossState::ByDelay
        };
    }

    fn candidates(&self, now: Time) -> Vec<f64> {
        let present = self.line.rate;
        let mut rates: Vec<f64> = FACTORS.iter().map(|f| f * present).collect();
        rates.extend(self.arrived);
        if self.delay > present {
            rates.push(self.delay);
        }
        let most = present.max(self.most(now));
        rates.iter().map(|r| r.min(most)).collect()
    }

    /// The bound of the candidates that are above the present rate.
    fn most(&self, now: Time) -> f64 {
        let window = if self.is_limited() {
            self.most_in_window
        } else {
            f64::INFINITY
        };
        let most_rate = self
            .terms
            .max
            .min(self.proven)
            .min(window)
            .min(self.bound)
            .min(self.delay);
        match (self.arrived, self.reduced) {
            (Some(arrived), Some(t)) => most_rate + arrived * now.since(t).seconds().min(OPENS_UP_TO_S),
            _ => most_rate,
        }
    }

    /// The line of this rate with the inherent loss that Newton's method finds.
    fn fitted(&self, rate: f64) -> LossyLine {
        let feasible = |p: f64| p.max(LEAST_INHERENT).min((LOSS_OFFSET + LOSS_BALANCE / rate).min(1.0));
        let lossy_line = LossyLine {
            rate,
            inherent: feasible(self.line.inherent),
        };
        let (mut first_derivative, mut second_derivative) = (0.0, 0.0);
        for (w, observation) in self.weighted() {
            let p = probability(&lossy_line, observation.rate);
            let kept = observation.kb - observation.lost_kb;
            first_derivative += w * (observation.lost_kb / p - kept / (1.0 - p));
            second_derivative -= w * (observation.lost_kb / (p * p) + kept / ((1.0 - p) * (1.0 - p)));
        }
        if second_derivative == 0.0 || second_derivative.is_nan() {
            second_derivative = -1e-6;
        }
        LossyLine {
            inherent: feasible(lossy_line.inherent - NEWTON_STEP * first_derivative / second_derivative),
            ..lossy_line
        }
    }

    fn likelihood(&self, line: &LossyLine, loss: f64) -> f64 {
        let room = BIAS_UP_TO - loss;
        let scale = room / (BIAS_SMOOTHING + room.abs());
        let kbits = line.rate / 1000.0;
        let bias = scale * (RATE_BIAS * kbits + LOG_BIAS * libm::log(1.0 + kbits));
        self.weighted().fold(0.0, |sum, (w, o)| {
            let p = probability(line, o.rate);
            let fit = o.lost_kb * libm::log(p) + (o.kb - o.lost_kb) * libm::log(1.0 - p);
            sum + w * (fit + bias * o.kb)
        })
    }
}

/// The probability of a loss at this rate.
fn probability(line: &LossyLine, rate: f64) -> f64 {
    let excess_loss = if rate > line.rate {
        (1.0 - line.inherent) * (rate - line.rate) / rate
    } else {
        0.0
    };
    (line.inherent + excess_loss).clamp(1e-6, 1.0 - 1e-6)
}
