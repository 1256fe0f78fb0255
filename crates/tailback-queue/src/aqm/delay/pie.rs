//! PIE: a proportional-integral controller of the delay, for lines of any rate.
//!
//! PI controls a backlog, and its gains suit only one line rate. PIE controls the delay, which is the backlog divided
//! by the rate, so one set of gains suits all rates. While the probability is small, the gains are scaled down with it.
//! This keeps the control loop as stable for few flows as for many. A burst after a quiet time passes without signals.
//! Measure: the delay. Function: `p += alpha * (delay - reference) + beta * (delay - delay before)`, scaled. Action: a
//! drop (early), or with `ecn` a mark while p is at most `mark_cap`.
//!
//! ```text
//! every update_interval:
//!     x = alpha * (d - reference) + beta * (d - d before), over 2048, 512, 128, 32, 8, 2 or 1 by the size of p
//!     p >= 0.1: x = min(x, 0.02)       p = clamp(p + x, 0, 1)       d = d before = 0: p = 0.98 p
//!     burst = max(0, burst - update_interval), and max_burst again at rest
//! an arriving packet passes: while burst lasts; with p < 0.2 and d before < reference / 2; with two mean packets there
//!     else it is signalled with probability p; with `derandomise` after at least 0.85 / p others, at most 8.5 / p
//! ```
//!
//! From: Pan et al., HPSR 2013; RFC 8033, sections 4 and 5 and appendix A.
//!
//! State: `p`; `delay_before`, the delay at the last update; `burst`, the rest of the burst allowance, in whole
//! nanoseconds, because in floating point ten updates of 15 ms do not use up 150 ms exactly; `credit`, the sum of p
//! since the last signal.
//!
//! There are two measures of the delay. One is the time that the last packet to leave had waited, or 0 if that packet
//! left the queue empty (RFC 8033 section 4.3). The other is the backlog divided by the measured departure rate
//! (section 5.2), with a weight of 1/2 for the newest measurement, as in ns-3.
//!
//! Departures: updates are on a grid of `update_interval` that starts at time zero. Updates are skipped while they
//! would have no effect (the queue is empty, p is 0 and the burst allowance is complete).
//!
//! Cost of a packet: a few comparisons, and a random draw while p is between 0 and 1. Cost of an update: a few
//! multiplications.

use crate::contract::admission::{Admission, Decision, Exit, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, DropReason, Line, MarkReason, Out, ProbeId, signal};
use crate::entry::{Configured, Entry, Facts, Law, Marks};
use crate::linux::{self, Linux, Value, Word};
use crate::params::{self, BEFORE, ecn_key};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Packet, Param, ProbeDef, Settings, Size, Stream, Time, join, params};

params! {
    /// The parameters of PIE except its buffer. `pie` uses these parameters, and so do the disciplines with a PIE on
    /// each queue.
    pub const PARAMS;

    pub REFERENCE: Duration = Key::new("reference", Kind::Time { min: 1e-6, max: 100.0 }, "15ms",
        "The delay to which the queue is controlled; Linux calls this delay `target`.",
        "RFC 8033 section 4.2 (QDELAY_REF)").called_elsewhere("target");
    pub UPDATE_INTERVAL: Duration = Key::new("update_interval", Kind::Time { min: 1e-5, max: 100.0 }, "15ms",
        "Time between two updates of the probability.", "RFC 8033 section 4.2 (T_UPDATE)");
    pub ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1000.0 }, "0.125",
        "Gain of the distance from the reference, per second.", "RFC 8033 section 4.2");
    pub BETA: f64 = Key::new("beta", Kind::Real { min: 0.0, max: 1000.0 }, "1.25",
        "Gain of the change of the delay, per second.", "RFC 8033 section 4.2");
    pub MAX_BURST: Duration = Key::new("max_burst", Kind::Time { min: 0.0, max: 100.0 }, "150ms",
        "For how long no packet is signalled after a time without congestion.", "RFC 8033 section 4.4 (MAX_BURST)");
    pub DELAY: DelaySource = Key::choice("delay", "timestamp",
        "How the delay is measured: how long the last packet waited, or the backlog divided by the \
         measured departure rate.",
        "RFC 8033 sections 4.3 and 5.2");
    pub RATE_THRESHOLD: u64 = Key::new("rate_threshold", Kind::Bytes { min: 1, max: 100_000_000 }, "16384B",
        "How many bytes leave during one measurement of the departure rate. A measurement begins when at least this \
         many bytes wait.",
        "RFC 8033 section 5.2 (DQ_THRESHOLD)");
    pub DERANDOMISE: bool = Key::new("derandomise", Kind::Bool, "true",
        "Space the signals at least 0.85 / p and at most 8.5 / p packets apart.",
        "RFC 8033 section 5.4; ns-3 has it off");
    pub SPIKE: bool = Key::new("spike", Kind::Bool, "false",
        "Add 0.02 to the probability at each update with a delay above 250 ms.", "Linux pie");
    pub MEAN_PACKET: u64 = Key::new("mean_packet", Kind::Bytes { min: 1, max: 65_535 }, "1000B",
        "No packet is signalled while at most two packets of this size wait.",
        "ns-3; RFC 8033 section 4.1 says MEAN_PKTSIZE");
    OWN_ECN: Option<bool> = ecn_key!(
        "Mark ECN-capable packets instead of dropping them early.", "RFC 8033 section 5.1");
    pub MARK_CAP: f64 = Key::new("mark_cap", Kind::Real { min: 0.0, max: 1.0 }, "0.1",
        "Above this probability, ECN-capable packets are dropped too.", "RFC 8033 section 5.1 (MARK_ECNTH)");
}

tailback_base::choice! {
    /// How the delay is measured.
    pub enum DelaySource {
        Timestamp = "timestamp",
        DepartureRate = "departure_rate",
    }
}

const BUFFER: Key<Size> = Key::new(
    "buffer",
    Kind::Size,
    "1000 packets",
    "How much may wait, in packets or bytes.",
    "Linux pie",
);

/// Values that can be recorded.
const READ: [Probe<Pie>; 3] = [
    Probe::new("probability", "", "Signal probability since the last update", |q, _| {
        q.probability
    }),
    Probe::new(
        "delay",
        "s",
        "The delay from which the probability is computed",
        |q, _| q.delay_before,
    ),
    Probe::new("burst", "s", "Remaining burst allowance", |q, _| q.burst.seconds()),
];

pub static MODEL: Model = Model {
    name: "pie",
    family: "queue",
    title: "PIE (proportional-integral controller enhanced)",
    summary: "Holds the delay at a reference on lines of any rate. Measure: the delay. Function: a probability that \
              changes while the delay is not at the reference. Action: drop (early); with ecn, mark ECN-capable \
              packets instead while the probability is small.",
    source: "Pan et al., HPSR 2013; RFC 8033",
    params: join!(Param: &[BUFFER.param], PARAMS, &[BEFORE]),
    probes: &PROBES,
};

/// The probes of a PIE.
pub const PROBES: [ProbeDef; 3] = Probe::defs(&READ);

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Pie>(
        &MODEL,
        Facts {
            also: const { &[Alias::ns3("PieQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["reference"],
            law: Some(Law::Delay("reference")),
            linux: Some(&LINUX),
            ..Facts::ONE_QUEUE
        },
    )
}

static LINUX: Linux = Linux {
    differs: linux::TICKS,
    ..Linux::new(
        "pie",
        &[
            Word::new("buffer", "limit", Value::Packets, "1000 packets"),
            linux::REFERENCE,
            linux::UPDATE,
            linux::ALPHA,
            linux::BETA,
            linux::DELAY,
            linux::ECN,
        ],
    )
};

impl Configured for Pie {
    /// # Errors
    /// Errors of [`Config::from_settings`].
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        Ok(Pie::new(Config::from_settings(s)?, context.stream))
    }
}

/// PIE's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Seconds.
    pub reference: f64,
    pub update_interval: Duration,
    /// Per second.
    pub alpha: f64,
    pub beta: f64,
    pub max_burst: Duration,
    /// The bytes of one measurement of the departure rate. `None` if the delay is the sojourn time of packets.
    pub rate_threshold: Option<u64>,
    pub derandomise: bool,
    pub spike: bool,
    pub mean_packet: u64,
    pub ecn: bool,
    pub mark_cap: f64,
}

impl Config {
    /// Read the settings of a model that declares PIE's parameters.
    ///
    /// # Errors
    /// The size of a measurement is given, but the departure rate is not measured.
    pub fn from_settings(s: &Settings) -> Result<Config, Refusal> {
        let measured = s.get(&DELAY) == DelaySource::DepartureRate;
        if s.gives(&RATE_THRESHOLD) && !measured {
            return Err(Refusal::new(
                "rate_threshold is given, but the delay is measured by the time stamps of packets",
                "set delay = \"departure_rate\", or leave rate_threshold out",
            ));
        }
        Ok(Config {
            reference: s.get(&REFERENCE).seconds(),
            update_interval: s.get(&UPDATE_INTERVAL),
            alpha: s.get(&ALPHA),
            beta: s.get(&BETA),
            max_burst: s.get(&MAX_BURST),
            rate_threshold: measured.then(|| s.get(&RATE_THRESHOLD)),
            derandomise: s.get(&DERANDOMISE),
            spike: s.get(&SPIKE),
            mean_packet: s.get(&MEAN_PACKET),
            ecn: params::ecn(s),
            mark_cap: s.get(&MARK_CAP),
        })
    }
}

/// The divisor of an update's step, for a probability below each bound.
const SCALE: [(f64, f64); 6] = [
    (1e-6, 2048.0),
    (1e-5, 512.0),
    (1e-4, 128.0),
    (1e-3, 32.0),
    (1e-2, 8.0),
    (0.1, 2.0),
];

/// A delay that does not occur in normal operation, seconds, and the step of the probability above it.
const SPIKE_STEP: (f64, f64) = (0.25, 0.02);

/// PIE's decision.
#[derive(Clone, Debug)]
pub struct Pie {
    config: Config,
    probability: f64,
    /// The delay at the last update, seconds.
    delay_before: f64,
    burst: Duration,
    /// The sum of the probabilities since the last signal.
    credit: f64,
    /// The time of the next update; `None` while an update would have no effect.
    next_update: Option<Time>,
    /// The time that the last packet to leave had waited, seconds; 0 if that packet left the queue empty.
    sojourn: f64,
    departures: Departures,
    stream: Stream,
}

/// The departure rate, measured whenever enough packets wait to keep the line busy.
#[derive(Clone, Copy, Debug, Default)]
struct Departures {
    /// The time when the present measurement began, and the bytes that have left since then.
    running: Option<(Time, u64)>,
    /// The mean duration of a measurement, seconds; `None` before the first measurement.
    mean: Option<f64>,
}

impl Departures {
    /// A packet of `bytes` leaves; `waiting` includes it.
    fn leaves(&mut self, bytes: u64, waiting: u64, threshold: u64, now: Time) {
        if self.running.is_none() && waiting >= threshold {
            self.running = Some((now, 0));
        }
        let Some((since, gone)) = &mut self.running else { return };
        *gone += bytes;
        if *gone >= threshold {
            let took = now.since(*since).seconds();
            self.mean = Some(self.mean.map_or(took, |mean| (mean + took) / 2.0));
            self.running = None;
        }
    }

    /// The time that these bytes take to leave, seconds.
    fn delay(&self, bytes: u64, threshold: u64) -> f64 {
        self.mean.unwrap_or(0.0) * bytes as f64 / threshold as f64
    }
}

impl Pie {
    pub fn new(config: Config, stream: Stream) -> Pie {
        Pie {
            config,
            probability: 0.0,
            delay_before: 0.0,
            burst: config.max_burst,
            credit: 0.0,
            next_update: None,
            sojourn: 0.0,
            departures: Departures::default(),
            stream,
        }
    }

    /// The first instant of the grid after `now`.
    fn after(&self, now: Time) -> Time {
        let step = self.config.update_interval.0.max(1);
        Time((now.0 / step + 1) * step)
    }

    fn delay(&self, backlog: Backlog) -> f64 {
        match self.config.rate_threshold {
            None => self.sojourn,
            Some(threshold) => self.departures.delay(backlog.bytes, threshold),
        }
    }

    /// Compute the new probability from the delay `d`. Returns whether further updates would have no effect.
    fn update(&mut self, d: f64) -> bool {
        let c = &self.config;
        let mut change = c.alpha * (d - c.reference) + c.beta * (d - self.delay_before);
        change /= SCALE.iter().find(|s| self.probability < s.0).map_or(1.0, |s| s.1);
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        if c.spike && d > SPIKE_STEP.0 {
            change += SPIKE_STEP.1;
        }
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        let idle = d == 0.0 && self.delay_before == 0.0;
        if idle {
            self.probability *= 0.98;
        }
        self.burst = Duration(self.burst.0.saturating_sub(c.update_interval.0));
        let half = c.reference / 2.0;
        let quiet = self.probability == 0.0 && d < half && self.delay_before < half;
        if quiet {
            self.burst = c.max_burst;
        }
        self.delay_before = d;
        quiet && idle
    }

    /// Whether the random test and the credit since the last signal select this packet for a signal.
    fn chooses(&mut self) -> bool {
        let p = self.probability;
        self.credit = if p == 0.0 { 0.0 } else { self.credit + p };
        if self.config.derandomise && self.credit < 0.85 {
            return false;
        }
        let hit = self.config.derandomise && self.credit >= 8.5 || self.stream.chance(p);
        if hit {
            self.credit = 0.0;
        }
        hit
    }
}

impl<P: Packet> Admission<P> for Pie {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        if self.next_update.is_none() {
            self.next_update = Some(self.after(line.now));
        }
        if !queue.fits(p.bytes()) {
            self.credit = 0.0;
            return Decision::Drop(DropReason::Overflow);
        }
        let c = &self.config;
        let light = self.probability < 0.2 && self.delay_before < c.reference / 2.0;
        if self.burst > Duration::ZERO || light || queue.backlog().bytes <= 2 * c.mean_packet {
            return Decision::Store;
        }
        let ecn = c.ecn && self.probability <= c.mark_cap;
        if self.chooses() && !signal(p, ecn, MarkReason::Early, out) {
            return Decision::Drop(DropReason::Early);
        }
        Decision::Store
    }

    fn left(&mut self, p: &P, how: Exit, rest: Backlog, line: &Line) {
        if how == Exit::Served {
            self.sojourn = line.now.since(p.stamp()).seconds();
            if let Some(threshold) = self.config.rate_threshold {
                let bytes = u64::from(p.bytes());
                self.departures.leaves(bytes, rest.bytes + bytes, threshold, line.now);
            }
        }
        if rest.packets == 0 {
            self.sojourn = 0.0;
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.next_update
    }

    fn on_timer(&mut self, queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        let backlog = queue.backlog();
        let rests = self.update(self.delay(backlog));
        let stop = rests && backlog.packets == 0 && self.burst == self.config.max_burst;
        self.next_update = (!stop).then(|| self.after(line.now));
    }

    fn probes(&self) -> &[ProbeDef] {
        &PROBES
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The probability stays. The rest of the burst allowance stays, but at most the new allowance; a complete
    /// allowance becomes the new one. If the departure rate is now measured in another way, its measurement starts
    /// again.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let new = Config::from_settings(s)?;
        self.burst = match self.burst == self.config.max_burst {
            true => new.max_burst,
            false => self.burst.min(new.max_burst),
        };
        if new.rate_threshold != self.config.rate_threshold {
            self.departures = Departures::default();
        }
        self.config = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
