//! NADA: network-assisted dynamic adaptation (RFC 8698).
//!
//! Delay, losses and marks become one number, the congestion signal x, in seconds of queue:
//!
//! ```text
//!   x = d + DLOSS (loss / PLRREF)^2 + DMARK (marks / PMRREF)^2
//! ```
//!
//! Here d is the queueing delay. If this delay is long and packets were lost recently, d is less than the queueing
//! delay, because other flows then fill the queue. While a window of 500 ms shows neither losses nor delay, the rate
//! follows the rate that arrives, with a bonus (accelerated ramp-up). Otherwise each report moves the rate r towards
//! the point at which x is XREF PRIO RMAX / r (gradual update, equations 5 to 7). Alone on a line of capacity C, a flow
//! ends at r = C with a queue of XREF PRIO RMAX / C. Flows with the same parameters get equal rates, and n flows have a
//! queue that is n times as long.
//!
//! The state is the rate (bit/s), the x of the last report (s), smoothed ratios of losses and marks, the base delay,
//! the last 15 delays, the packets of the last 500 ms, and the intervals between losses as in TFRC. A report costs a
//! step for each packet in it.
//!
//! Departures: everything is computed at the sender, from reports of RFC 8888. The RFC lets the receiver compute x. The
//! rate is on the wire. The RFC has no rule for missing reports, so the rate stays the same while reports are missing.

use super::base::BaseDelay;
use super::{Fate, Feedback, RateControl, RateOutput, Terms};
use crate::tfrc::history::LossHistory;
use std::collections::VecDeque;
use tailback_base::model::{Key, Kind, Model, Probe, Settings};
use tailback_base::{Duration, Time, params};

const TABLE: &str = "RFC 8698 table 2";
const SOME_TIME: Kind = Kind::Time { min: 1e-6, max: 60.0 };
const FACTOR: Kind = Kind::Real { min: 0.0, max: 1000.0 };
const RATIO: Kind = Kind::Real { min: 1e-6, max: 1.0 };

/// Values that can be recorded.
const READ: [Probe<Nada>; 4] = [
    Probe::new("signal", "s", "congestion signal x of the last report", |n, _| n.signal),
    Probe::new(
        "queueing",
        "s",
        "least queueing delay of the last 15 packets",
        |n, _| n.queueing,
    ),
    Probe::new("loss", "1", "smoothed ratio of losses", |n, _| n.loss),
    Probe::new(
        "received",
        "bit/s",
        "rate of the packets received in the last 500 ms",
        |n, _| n.received,
    ),
];

pub static MODEL: Model = Model {
    name: "nada",
    family: "rate-control",
    title: "NADA",
    summary: "Queueing delay, losses and marks are summed up in one signal. The rate changes until it is inversely \
              proportional to this signal. A single flow fills the line, with a queueing delay of xref times max_rate \
              divided by the line's rate.",
    source: "RFC 8698",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    PRIO: f64 = Key::new("prio", Kind::Real { min: 0.01, max: 100.0 }, "1",
        "The weight of a flow: flows share a line in proportion to their weights.", TABLE);
    XREF: Duration = Key::new("xref", SOME_TIME, "10ms",
        "The signal (a delay) at which the rate stays at max_rate.", TABLE);
    KAPPA: f64 = Key::new("kappa", FACTOR, "0.5", "A factor in each step of the rate.", TABLE);
    ETA: f64 = Key::new("eta", FACTOR, "2",
        "A factor in the part of a step that follows the change of the signal.", TABLE);
    TAU: Duration = Key::new("tau", SOME_TIME, "500ms", "Upper bound of the round trip for which a step is stable.",
        TABLE);
    QEPS: Duration = Key::new("qeps", SOME_TIME, "10ms",
        "The queueing delay above which the accelerated ramp-up ends.", TABLE);
    DFILT: Duration = Key::new("dfilt", SOME_TIME, "120ms",
        "The longest delay that filters of the signal add. A longer delay makes the steps of the accelerated ramp-up \
         smaller.", TABLE);
    GAMMA_MAX: f64 = Key::new("gamma_max", FACTOR, "0.5", "The largest step of the accelerated ramp-up.", TABLE);
    QBOUND: Duration = Key::new("qbound", SOME_TIME, "50ms",
        "The queueing delay that one step of the accelerated ramp-up may cause.", TABLE);
    QTH: Duration = Key::new("qth", SOME_TIME, "50ms",
        "The queueing delay above which delays count less in the signal while losses are recent.", TABLE);
    LAMBDA: f64 = Key::new("lambda", FACTOR, "0.5", "How fast delays above qth count less as they grow.", TABLE);
    MULTILOSS: f64 = Key::new("multiloss", FACTOR, "7",
        "For how long losses are recent, as a multiple of the mean interval between losses.", TABLE);
    DLOSS: Duration = Key::new("dloss", SOME_TIME, "10ms",
        "The delay in the signal that a loss ratio of plrref is worth.", TABLE);
    PLRREF: f64 = Key::new("plrref", RATIO, "0.01", "The reference loss ratio, for dloss.", TABLE);
    DMARK: Duration = Key::new("dmark", SOME_TIME, "2ms",
        "The delay in the signal that a marking ratio of pmrref is worth.", TABLE);
    PMRREF: f64 = Key::new("pmrref", RATIO, "0.01", "The reference marking ratio, for dmark.", TABLE);
    BASE_HISTORY: Duration = Key::new("base_history", Kind::Time { min: 0.1, max: 86_400.0 }, "600s",
        "The least one-way delay of this time is taken as the delay of the path without queues.",
        "RFC 8698 section 5.1.1: tens of minutes");
    BETA: f64 = Key::new("beta", FACTOR, "0.1",
        "How data that wait in the pacer change the rates: the encoder makes less and the pacer sends more by this \
         share of the waiting data, up to 5 % of the rate.",
        "RFC 8698 table 3, BETA_S and BETA_V");
    FPS: f64 = Key::new("fps", Kind::Real { min: 0.1, max: 10_000.0 }, "30", "Frames a second, for beta.",
        "RFC 8698 table 3");
}

/// The observation window (LOGWIN), the number of delays of which the least counts, and the weight of a ratio (ALPHA).
const LOGWIN: Duration = Duration::from_millis(500);
const LEAST_OF: usize = 15;
const ALPHA: f64 = 0.1;
/// The report interval (DELTA). It is the time step of the first report, and the largest step of a late report.
const DELTA: Duration = Duration::from_millis(100);
const LARGEST_STEP: f64 = 5.0;
/// Section 5.2.2, equations 11 and 12: the waiting data change neither rate by more than this share.
const MOST_SHARE: f64 = 0.05;

/// A packet in the observation window.
struct SeenPacket {
    /// The time at which the packet arrived, or at which its loss was reported.
    at: Time,
    bytes: u32,
    /// Queueing delay, s.
    queueing: f64,
    lost: bool,
    marked: bool,
}

pub struct Nada {
    s: Settings,
    terms: Terms,
    /// Bit/s.
    rate: f64,
    signal: f64,
    queueing: f64,
    loss: f64,
    marks: f64,
    received: f64,
    base: BaseDelay,
    /// Queueing delays, s.
    delays: VecDeque<f64>,
    window: VecDeque<SeenPacket>,
    losses: LossHistory,
    /// The number of the last packet that was lost.
    last_loss: Option<u64>,
    first: Option<Time>,
    updated: Option<Time>,
}

pub fn build(s: &Settings, terms: Terms) -> Box<dyn RateControl> {
    Box::new(Nada {
        s: s.clone(),
        terms,
        rate: terms.start,
        signal: 0.0,
        queueing: 0.0,
        loss: 0.0,
        marks: 0.0,
        received: 0.0,
        base: BaseDelay::new(s.get(&BASE_HISTORY)),
        delays: VecDeque::new(),
        window: VecDeque::new(),
        losses: LossHistory::new(false),
        last_loss: None,
        first: None,
        updated: None,
    })
}

impl Nada {
    fn observe(&mut self, f: &Feedback) {
        for p in f.packets {
            let (at, queueing, lost, marked) = match p.fate {
                Fate::Received { at, marked } => {
                    let queueing = self.base.queueing(p.sent, at).seconds();
                    self.delays.push_back(queueing);
                    self.first.get_or_insert(at);
                    (at, queueing, false, marked)
                }
                Fate::Lost => {
                    self.losses.lost(p.number, f.now, f.rtt, || (p.number + 1) as f64);
                    self.last_loss = Some(p.number);
                    (f.now, 0.0, true, false)
                }
            };
            self.window.push_back(SeenPacket {
                at,
                bytes: p.bytes,
                queueing,
                lost,
                marked,
            });
        }
        while self.delays.len() > LEAST_OF {
            self.delays.pop_front();
        }
        self.window.retain(|p| f.now.since(p.at) < LOGWIN);
    }

    /// Section 4.2: x of the packets seen.
    fn signal(&mut self, f: &Feedback) -> f64 {
        let count = |of: fn(&SeenPacket) -> bool| self.window.iter().filter(|p| of(p)).count() as f64;
        let all = (self.window.len() as f64).max(1.0);
        self.loss += ALPHA * (count(|p| p.lost) / all - self.loss);
        self.marks += ALPHA * (count(|p| p.marked) / all - self.marks);
        self.queueing = self.delays.iter().copied().fold(f64::INFINITY, f64::min);
        if self.queueing.is_infinite() {
            self.queueing = 0.0;
        }
        let (mut delay, threshold) = (self.queueing, self.s.get(&QTH).seconds());
        let newest = f.packets.last().map_or(0, |p| p.number);
        let is_recent = self.last_loss.is_some_and(|lost| {
            let interval = self.losses.mean(newest + 1).unwrap_or(f64::INFINITY);
            ((newest - lost.min(newest)) as f64) < self.s.get(&MULTILOSS) * interval
        });
        if is_recent && delay > threshold {
            delay = threshold * libm::exp(-self.s.get(&LAMBDA) * (delay - threshold) / threshold);
        }
        let square = |ratio: f64| ratio * ratio;
        delay
            + self.s.get(&DLOSS).seconds() * square(self.loss / self.s.get(&PLRREF))
            + self.s.get(&DMARK).seconds() * square(self.marks / self.s.get(&PMRREF))
    }

    /// Bit/s that arrived in the observation window.
    fn received(&self, now: Time) -> f64 {
        let bytes: u64 = self.window.iter().filter(|p| !p.lost).map(|p| u64::from(p.bytes)).sum();
        let so_far = self.first.map_or(LOGWIN, |first| now.since(first).min(LOGWIN));
        8.0 * bytes as f64 / so_far.max(DELTA).seconds()
    }
}

impl RateControl for Nada {
    fn on_feedback(&mut self, f: &Feedback) {
        self.observe(f);
        let signal = self.signal(f);
        self.received = self.received(f.now);
        let step = self.updated.map_or(DELTA, |t| f.now.since(t)).seconds();
        let delta = step.min(LARGEST_STEP * DELTA.seconds());
        self.updated = Some(f.now);
        let quiet = self.s.get(&QEPS).seconds();
        let s = &self.s;
        if self.window.iter().all(|p| !p.lost && p.queueing < quiet) {
            let wait = f.rtt.seconds() + DELTA.seconds() + s.get(&DFILT).seconds();
            let gamma = s.get(&GAMMA_MAX).min(s.get(&QBOUND).seconds() / wait);
            self.rate = self.rate.max((1.0 + gamma) * self.received);
        } else {
            let tau = s.get(&TAU).seconds();
            let offset = signal - s.get(&PRIO) * s.get(&XREF).seconds() * self.terms.max / self.rate;
            let change = signal - self.signal;
            self.rate -= self.rate * s.get(&KAPPA) * (delta / tau * offset / tau + s.get(&ETA) * change / tau);
        }
        self.rate = self.terms.clamp(self.rate);
        self.signal = signal;
    }

    fn output(&self, waiting: u64) -> RateOutput {
        // Section 5.2.2: the waiting data lower the rate of the encoder and raise the rate of the pacer.
        let share = (self.s.get(&BETA) * 8.0 * waiting as f64 * self.s.get(&FPS)).min(MOST_SHARE * self.rate);
        RateOutput {
            target: self.terms.clamp(self.rate - share),
            pacing: (self.rate + share).min(self.terms.max),
            window: u64::MAX,
            burst: Duration::ZERO,
            padding: 0,
        }
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}
