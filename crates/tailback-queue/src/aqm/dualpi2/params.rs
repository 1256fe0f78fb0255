//! The parameters of DualPI2: its declaration, its profiles, and the checked values.

use crate::aqm::dualpi2::DualPi2;
use crate::params::BEFORE;
use crate::testing::TestPacket;
use tailback_base::model::Probe;
use tailback_base::model::Profile;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Param, Settings, Size};

const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the gains of Linux with the ramp of RFC 9332",
        values: &[],
    },
    Profile {
        name: "rfc",
        doc: "RFC 9332 appendix A: its formulas for a target of 15 ms and round trips up to 100 ms",
        values: &[
            ("update_interval", "15ms"),
            ("alpha", "0.15"),
            ("beta", "3.0"),
            ("classic_weight", "0.0625"),
            ("buffer", "unlimited"),
            ("buffer_time", "250ms"),
        ],
    },
    Profile {
        name: "linux",
        doc: "Linux dualpi2: a step at 1 ms, chance instead of sums, nothing below two packets",
        values: &[
            ("l_min", "1ms"),
            ("l_max", "1ms"),
            ("l_floor", "0"),
            ("signals", "random"),
            ("min_backlog", "3000B"),
        ],
    },
];

pub const BUFFER: Key<Size> = Key::new(
    "buffer",
    Kind::Size,
    "10000 packets",
    "How much may wait in both queues together.",
    "Linux dualpi2",
);

const BUFFER_TIME: Key<Option<Duration>> = Key::new(
    "buffer_time",
    Kind::Time { min: 1e-6, max: 1000.0 },
    "none",
    "No more bytes may wait than the line sends in this time.",
    "RFC 9332 appendix A.1: 250 ms",
);

const TARGET: Key<Duration> = Key::new(
    "target",
    Kind::Time { min: 1e-6, max: 100.0 },
    "15ms",
    "The delay of the classic queue that it holds.",
    "RFC 9332 appendix A.1",
);

const UPDATE_INTERVAL: Key<Duration> = Key::new(
    "update_interval",
    Kind::Time { min: 1e-5, max: 100.0 },
    "16ms",
    "Time between two updates of the probability.",
    "Linux dualpi2; RFC 9332: the target, or a third of the longest round trip if that is less",
);

const ALPHA: Key<f64> = Key::new(
    "alpha",
    Kind::Real { min: 0.0, max: 1e6 },
    "0.16",
    "Gain of the distance from the target, per second.",
    "Linux dualpi2; RFC 9332: 0.1 update_interval / rtt_max^2",
);

const BETA: Key<f64> = Key::new(
    "beta",
    Kind::Real { min: 0.0, max: 1e6 },
    "3.2",
    "Gain of the change of the delay, per second.",
    "Linux dualpi2; RFC 9332: 0.3 / rtt_max",
);

const COUPLING: Key<f64> = Key::new(
    "coupling",
    Kind::Real { min: 0.01, max: 1000.0 },
    "2.0",
    "k: a scalable sender is signalled with k times the probability whose square meets a classic one.",
    "RFC 9332 section 2.4",
);

const L_MIN: Key<Duration> = Key::new(
    "l_min",
    Kind::Time { min: 0.0, max: 10.0 },
    "800us",
    "The L queue's own marking begins at this sojourn.",
    "RFC 9332 appendix A.1 (minTh)",
);

const L_MAX: Key<Duration> = Key::new(
    "l_max",
    Kind::Time { min: 0.0, max: 10.0 },
    "1200us",
    "From this sojourn on all is marked; with l_min = l_max it is a step.",
    "RFC 9332 appendix A.1 (maxTh); Linux dualpi2: 1 ms for both",
);

const L_FLOOR: Key<u64> = Key::new(
    "l_floor",
    Kind::Count { min: 0, max: 1_000_000 },
    "1",
    "With no more packets than this in the L queue its own marking rests.",
    "RFC 9332 appendix A.1 (Th_len)",
);

const CLASSIC_WEIGHT: Key<f64> = Key::new(
    "classic_weight",
    Kind::Real { min: 0.0, max: 1.0 },
    "0.1",
    "The share of bytes that the classic queue gets while both hold packets.",
    "Linux dualpi2; RFC 9332 appendix A.1: 1/16",
);

const TIME_SHIFT: Key<Option<Duration>> = Key::new(
    "time_shift",
    Kind::Time { min: 0.0, max: 100.0 },
    "none",
    "Serve the head that has waited longer, the L queue's with this much added, instead of by shares.",
    "RFC 9332 appendix A.1 (time-shifted FIFO)",
);

tailback_base::choice! {
    /// How a probability becomes signals.
    pub enum Signals {
        Even = "even",
        Random = "random",
    }
}

const SIGNALS: Key<Signals> = Key::choice(
    "signals",
    "even",
    "Space signals evenly by summing up their probabilities, or draw each.",
    "RFC 9332 appendix A.1 (recur); Linux dualpi2 draws",
);

const MIN_BACKLOG: Key<u64> = Key::new(
    "min_backlog",
    Kind::Bytes {
        min: 0,
        max: 1_000_000_000,
    },
    "0B",
    "With less than this waiting in both queues nothing is signalled.",
    "Linux dualpi2: two packets",
);

pub static MODEL: Model = Model {
    name: "dualpi2",
    family: "queue",
    title: "DualPI2 (dual-queue coupled AQM)",
    summary: "A queue of low latency for scalable senders (ECT(1)), coupled to a classic one. Measure: the delay of \
              both heads. \
              Function: PI; the classic queue signals with the square of its probability, the other with k times it \
              or by a \
              shallow ramp. Action: classic mark or drop (early), the other mark (coupled, step); drops under \
              overload.",
    source: "RFC 9332",
    params: &[
        Param::new(
            "profile",
            Kind::Profile(PROFILES),
            "default",
            "A named set of values, which lie under those given here.",
            "",
        ),
        BUFFER.param,
        BUFFER_TIME.param,
        TARGET.param,
        UPDATE_INTERVAL.param,
        ALPHA.param,
        BETA.param,
        COUPLING.param,
        L_MIN.param,
        L_MAX.param,
        L_FLOOR.param,
        CLASSIC_WEIGHT.param,
        TIME_SHIFT.param,
        SIGNALS.param,
        MIN_BACKLOG.param,
        BEFORE,
    ],
    probes: &Probe::defs(&DualPi2::<TestPacket>::READ),
};

/// Which queue has the turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Service {
    /// By bytes; the value is the share of the classic queue.
    Weighted(f64),
    /// The head that has waited longer; the value is added to the L queue's wait.
    TimeShifted(Duration),
}

/// The checked values.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub buffer_time: Option<Duration>,
    /// Seconds.
    pub target: f64,
    pub update_interval: Duration,
    /// Per second.
    pub alpha: f64,
    pub beta: f64,
    pub coupling: f64,
    pub l_min: Duration,
    pub l_max: Duration,
    pub l_floor: u64,
    pub service: Service,
    pub signals: Signals,
    /// Bytes.
    pub min_backlog: u64,
}

impl Config {
    /// Read the settings of the model.
    ///
    /// # Errors
    /// A ramp that falls, or two schedulers.
    pub fn from_settings(s: &Settings) -> Result<Config, Refusal> {
        let (l_min, l_max) = (s.get(&L_MIN), s.get(&L_MAX));
        if l_min > l_max {
            return Err(Refusal::new(
                format!("l_min ({l_min}) is above l_max ({l_max})"),
                "give l_min of at most l_max",
            ));
        }
        let time = |name: &str| (!s.is_none(name)).then(|| s.time(name));
        let service = match time("time_shift") {
            None => Service::Weighted(s.get(&CLASSIC_WEIGHT)),
            Some(_) if s.gives(&CLASSIC_WEIGHT) => {
                return Err(Refusal::new(
                    "classic_weight is given, and time_shift serves by waiting times",
                    "leave one of the two out",
                ));
            }
            Some(shift) => Service::TimeShifted(shift),
        };
        Ok(Config {
            buffer_time: time("buffer_time"),
            target: s.get(&TARGET).seconds(),
            update_interval: s.get(&UPDATE_INTERVAL),
            alpha: s.get(&ALPHA),
            beta: s.get(&BETA),
            coupling: s.get(&COUPLING),
            l_min,
            l_max,
            l_floor: s.get(&L_FLOOR),
            service,
            signals: s.get(&SIGNALS),
            min_backlog: s.get(&MIN_BACKLOG),
        })
    }

    /// The L queue's own probability for a sojourn.
    pub fn ramp(&self, sojourn: Duration) -> f64 {
        if sojourn <= self.l_min {
            0.0
        } else if sojourn >= self.l_max {
            1.0
        } else {
            (sojourn.0 - self.l_min.0) as f64 / (self.l_max.0 - self.l_min.0) as f64
        }
    }
}
