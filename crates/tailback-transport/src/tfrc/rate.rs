//! The allowed rate of a TFRC sender (RFC 5348 sections 4.2 to 4.5).
//!
//! ```text
//! no report yet     one packet a second
//! report, p = 0     once a round trip X = max(min(2 X, limit), W / R)            W = min(4 s, max(2 s, 4380 B))
//! report, p > 0     X = max(min(X_eq(p), limit), s / 64 s)
//!                   limit: twice the largest receive rate reported in two round trips
//! silence           X is halved, not below s / 64 s; not if nothing was sent and X is no more than a new sender's
//! ```
//!
//! While the application sends less than X, the received rate does not show the path's capacity. In such intervals the
//! stored receive rates can only grow, and a loss halves them (section 4.3, data-limited intervals).

use super::equation::Path;
use super::report::Report;
use smallvec::SmallVec;
use tailback_base::{Duration, Time};

/// RFC 5348 section 4.3: at least one packet in this many seconds.
const LONGEST_GAP: f64 = 64.0;
/// Section 4.3, step 2, and section 4.5: the weight of the past.
const SMOOTHING: f64 = 0.9;
/// Section 4.2: the timer before the first report.
const FIRST_SILENCE: Duration = Duration::from_millis(2000);

/// The sender's activity in the interval that a report is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SentOfAllowed {
    /// At some time the sender sent as much as was allowed.
    AllAllowed,
    /// The sender always sent less, because there was no more data.
    Less,
}

#[derive(Debug)]
pub struct RateControl {
    /// `rtt` is zero before the first report.
    path: Path,
    damping: bool,
    /// X, bytes/s.
    allowed: f64,
    /// p, as last reported.
    loss_event_rate: f64,
    /// Receive rates that still limit X, with the times of their reports.
    received: SmallVec<[(Time, f64); 4]>,
    last_received: f64,
    /// The time at which X was last doubled.
    doubled: Time,
    /// The mean of the square roots of the round trips, and the square root of the last round trip.
    root_mean: f64,
    root: f64,
}

impl RateControl {
    pub fn new(payload: u32, least_rto: Duration, damping: bool) -> RateControl {
        let segment = f64::from(payload);
        RateControl {
            path: Path {
                segment,
                rtt: 0.0,
                least_rto: least_rto.seconds(),
            },
            damping,
            allowed: segment,
            loss_event_rate: 0.0,
            received: SmallVec::from_slice(&[(Time::ZERO, f64::INFINITY)]),
            last_received: f64::NAN,
            doubled: Time::ZERO,
            root_mean: 1.0,
            root: 1.0,
        }
    }

    /// The rate to send at now, bytes/s: X, damped or not.
    pub fn sending(&self) -> f64 {
        if self.damping {
            (self.allowed * self.root_mean / self.root).max(self.least())
        } else {
            self.allowed
        }
    }

    /// p, as last reported.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// The last reported receive rate, bytes/s; NaN before the first report.
    pub fn last_received(&self) -> f64 {
        self.last_received
    }

    /// The smoothed round trip, zero before the first report.
    pub fn rtt(&self) -> Duration {
        Duration::from_seconds(self.path.rtt)
    }

    /// How long the sender waits for a report until [`RateControl::on_silence`].
    pub fn patience(&self) -> Duration {
        if self.path.rtt == 0.0 && self.allowed >= self.path.segment {
            return FIRST_SILENCE;
        }
        Duration::from_seconds((4.0 * self.path.rtt).max(2.0 * self.path.segment / self.allowed))
    }

    fn least(&self) -> f64 {
        self.path.segment / LONGEST_GAP
    }

    /// The initial rate of a sender once it knows the round trip, bytes/s.
    fn initial(&self) -> f64 {
        let s = self.path.segment;
        (4.0 * s).min((2.0 * s).max(4380.0)) / self.path.rtt
    }

    /// A report has arrived, with a round-trip sample in seconds.
    pub fn on_report(&mut self, r: &Report, sample: f64, sent: SentOfAllowed, now: Time) {
        self.root = libm::sqrt(sample);
        if self.path.rtt == 0.0 {
            self.path.rtt = sample;
            self.root_mean = self.root;
            self.allowed = self.initial();
            self.doubled = now;
            for x in &mut self.received {
                x.0 = now;
            }
        } else {
            self.path.rtt = SMOOTHING * self.path.rtt + (1.0 - SMOOTHING) * sample;
            self.root_mean = SMOOTHING * self.root_mean + (1.0 - SMOOTHING) * self.root;
        }
        self.last_received = r.receive_rate;
        let worse = r.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = r.loss_event_rate;
        let limit = match sent {
            SentOfAllowed::AllAllowed => {
                let two = Duration::from_seconds(2.0 * self.path.rtt);
                self.received.retain(|x| now.since(x.0) <= two);
                self.received.push((now, r.receive_rate));
                2.0 * self.greatest()
            }
            SentOfAllowed::Less if worse => {
                for x in &mut self.received {
                    x.1 /= 2.0;
                }
                self.keep_greatest(0.85 * r.receive_rate, now);
                self.greatest()
            }
            SentOfAllowed::Less => {
                self.keep_greatest(r.receive_rate, now);
                2.0 * self.greatest()
            }
        };
        self.compute(limit, now);
    }

    /// The largest of the stored receive rates.
    fn greatest(&self) -> f64 {
        self.received.iter().fold(0.0, |m, x| m.max(x.1))
    }

    /// Keep only the largest of this receive rate and the stored rates.
    fn keep_greatest(&mut self, rate: f64, now: Time) {
        self.received.retain(|x| x.1.is_finite());
        let most = self.greatest().max(rate);
        self.received = SmallVec::from_slice(&[(now, most)]);
    }

    /// Compute X from the present estimates, at most `limit`.
    fn compute(&mut self, limit: f64, now: Time) {
        if self.loss_event_rate > 0.0 {
            self.allowed = self.path.rate(self.loss_event_rate).min(limit).max(self.least());
        } else if now.since(self.doubled) >= self.rtt() {
            self.allowed = (2.0 * self.allowed).min(limit).max(self.initial());
            self.doubled = now;
        }
    }

    /// No report has arrived during the time given by [`RateControl::patience`]. Returns whether the rate is cut.
    /// `spoke` says whether a packet was sent in this time.
    pub fn on_silence(&mut self, spoke: bool, now: Time) -> bool {
        let received = self.greatest();
        let p = self.loss_event_rate;
        let knows = self.path.rtt > 0.0;
        // An idle sender keeps at least the initial rate of a new sender.
        let modest = knows
            && if p > 0.0 {
                received < self.initial()
            } else {
                self.allowed < 2.0 * self.initial()
            };
        if !spoke && modest {
            return false;
        }
        if p == 0.0 {
            self.allowed = (self.allowed / 2.0).max(self.least());
            return true;
        }
        // The new limit is half of the former limit or of the equation's rate, whichever limited the rate.
        let equation = self.path.rate(p);
        let limit = if equation > 2.0 * received {
            received
        } else {
            equation / 2.0
        };
        let limit = limit.max(self.least());
        self.received = SmallVec::from_slice(&[(now, limit / 2.0)]);
        self.compute(limit, now);
        true
    }
}
