//! The settings of DualPI2: its declaration, its profiles, and the checked values.

use crate::aqm::delay::dualpi2::DualPi2;
use crate::aqm::delay::dualpi2::protection::Critical;
use crate::contract::testing::TestPacket;
use crate::params::{BEFORE, profile};
use tailback_base::model::Probe;
use tailback_base::model::Profile;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Settings, Size, params};

const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the gains of Linux with the ramp of RFC 9332",
        values: &[],
    },
    Profile {
        name: "rfc",
        doc: "the formulas of RFC 9332 appendix A, for a target of 15 ms and round trips up to 100 ms",
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
        doc: "Linux dualpi2: its form, a step at 1 ms, random signals instead of sums, and no signal of p' below two \
              packets",
        values: &[
            ("form", "linux"),
            ("l_min", "1ms"),
            ("l_max", "1ms"),
            ("l_floor", "0"),
            ("signals", "random"),
            ("min_backlog", "3028B"),
        ],
    },
];

tailback_base::choice! {
    /// How a probability becomes signals.
    pub enum Signals {
        Even = "even",
        Random = "random",
    }
}

tailback_base::choice! {
    /// Whether the rules of the RFC or those of Linux are used.
    pub enum DualForm {
        Rfc9332 = "rfc9332",
        Linux = "linux",
    }

    /// The limit on the L queue when marks no longer suffice.
    pub enum Overload {
        Drop = "drop",
        Overflow = "overflow",
    }
}

pub static MODEL: Model = Model {
    name: "dualpi2",
    family: "queue",
    title: "DualPI2 (dual-queue coupled AQM)",
    summary: "A low-latency queue (L) for scalable senders (ECT(1)), coupled to a classic queue. Measure: the delay \
              of the head packets of both queues. Function: a PI controller; the classic queue signals with the \
              square of its probability, the L queue with k times the probability or by a shallow ramp. Action: the \
              classic queue marks or drops (early), the L queue marks (coupled, step); both drop under overload.",
    source: "RFC 9332",
    params: PARAMS,
    probes: &Probe::defs(&DualPi2::<TestPacket>::READ),
};

params! {
    const PARAMS;

    PROFILE = profile(PROFILES);
    pub BUFFER: Size = Key::new("buffer", Kind::Size, "10000 packets",
        "How much may wait in both queues together.", "Linux dualpi2");
    BUFFER_TIME: Option<Duration> = Key::new("buffer_time", Kind::Time { min: 1e-6, max: 1000.0 }, "none",
        "No more bytes may wait than the line sends in this time.", "RFC 9332 appendix A.1: 250 ms");
    TARGET: Duration = Key::new("target", Kind::Time { min: 1e-6, max: 100.0 }, "15ms",
        "The delay to which the classic queue is controlled.", "RFC 9332 appendix A.1");
    UPDATE_INTERVAL: Duration = Key::new("update_interval", Kind::Time { min: 1e-5, max: 100.0 }, "16ms",
        "Time between two updates of the probability.",
        "Linux dualpi2; RFC 9332: the target, or a third of the longest round trip if that is less");
    ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1e6 }, "0.16",
        "Gain of the distance from the target, per second.",
        "Linux dualpi2; RFC 9332: 0.1 update_interval / rtt_max^2");
    BETA: f64 = Key::new("beta", Kind::Real { min: 0.0, max: 1e6 }, "3.2",
        "Gain of the change of the delay, per second.", "Linux dualpi2; RFC 9332: 0.3 / rtt_max");
    COUPLING: f64 = Key::new("coupling", Kind::Real { min: 0.01, max: 1000.0 }, "2.0",
        "The factor k. Scalable senders are signalled with the probability k p', and classic senders with the \
         probability p' squared.",
        "RFC 9332 section 2.4");
    L_MIN: Duration = Key::new("l_min", Kind::Time { min: 0.0, max: 10.0 }, "800us",
        "Sojourn time from which the L queue marks by itself.", "RFC 9332 appendix A.1 (minTh)");
    L_MAX: Duration = Key::new("l_max", Kind::Time { min: 0.0, max: 10.0 }, "1200us",
        "Sojourn time from which the L queue marks every packet. If it equals l_min, the ramp is a step.",
        "RFC 9332 appendix A.1 (maxTh); Linux dualpi2: 1 ms for both");
    L_FLOOR: u64 = Key::new("l_floor", Kind::Count { min: 0, max: 1_000_000 }, "1",
        "The L queue does not mark by itself while it holds at most this many packets.",
        "RFC 9332 appendix A.1 (Th_len)");
    CLASSIC_WEIGHT: f64 = Key::new("classic_weight", Kind::Real { min: 0.0, max: 1.0 }, "0.1",
        "The share of bytes that the classic queue gets while both hold packets.",
        "Linux dualpi2; RFC 9332 appendix A.1: 1/16");
    TIME_SHIFT: Option<Duration> = Key::new("time_shift", Kind::Time { min: 0.0, max: 100.0 }, "none",
        "Serve the queue whose head packet has waited longer, with this time added to the wait in the L queue. \
         Default: each queue gets a share of the line.",
        "RFC 9332 appendix A.1 (time-shifted FIFO)");
    SIGNALS: Signals = Key::choice("signals", "even",
        "How signals are placed: they are spaced evenly, by a sum of the probabilities, or each signal is drawn \
         independently.",
        "RFC 9332 appendix A.1 (recur); Linux dualpi2 draws");
    MIN_BACKLOG: u64 = Key::new("min_backlog", Kind::Bytes { min: 0, max: 1_000_000_000 }, "0B",
        "No packet is signalled while both queues together hold fewer bytes than this.", "Linux dualpi2: two packets");
    FORM: DualForm = Key::choice("form", "rfc9332",
        "Whether the rules of the RFC or of Linux apply. With linux, the coupled mark and the step mark are \
         independent; l_floor is tested when a packet enters; min_backlog counts the packets that stay and does not \
         apply to the step. A credit then decides which queue is served: the L queue begins with the credit of one \
         packet, and the credit is kept while one queue is empty.",
        "Linux dualpi2 (net/sched/sch_dualpi2.c)");
    OVERLOAD: Overload = Key::choice("overload", "drop",
        "What limits the queues when k p' reaches 1: both drop with probability p' squared, or p' stays at 1/k and \
         the buffer overflows.",
        "RFC 9332 section 4.1; Linux: drop_on_overload");
    pub PROTECTION: bool = Key::new("protection", Kind::Bool, "false",
        "Queue protection: packets of a flow that makes the L queue too long go to the classic queue.", "RFC 9957");
    CRITICAL_DELAY: Duration = Key::new("critical_delay", Kind::Time { min: 1e-6, max: 10.0 }, "1ms",
        "With protection: no packet is sent to the classic queue while the delay of the L queue is below this.",
        "RFC 9957 section 4.2 (CRITICALqL)");
    CRITICAL_SCORE: Duration = Key::new("critical_score", Kind::Time { min: 1e-6, max: 10.0 }, "4ms",
        "With protection: the score from which a flow's packets go to the classic queue when the delay of the L queue \
         is critical_delay. At twice that delay, half of this score is enough.",
        "RFC 9957 section 4.2 (CRITICALqLSCORE)");
    BEFORE;
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Service {
    /// By bytes, with the share of the classic queue.
    Weighted(f64),
    /// By the longer waiting time of the heads, with this value added to the wait of the L queue.
    TimeShifted(Duration),
    /// By credit as in Linux, with the share of the classic queue.
    Credit(f64),
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
    pub form: DualForm,
    /// The largest value of p'.
    pub most: f64,
    pub protection: Option<Critical>,
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
        let service = match s.get(&TIME_SHIFT) {
            None if s.get(&FORM) == DualForm::Linux => Service::Credit(s.get(&CLASSIC_WEIGHT)),
            None => Service::Weighted(s.get(&CLASSIC_WEIGHT)),
            Some(_) if s.gives(&CLASSIC_WEIGHT) => {
                return Err(Refusal::new(
                    "classic_weight is given, but with time_shift the waiting times decide which queue is served",
                    "leave one of the two out",
                ));
            }
            Some(shift) => Service::TimeShifted(shift),
        };
        Ok(Config {
            buffer_time: s.get(&BUFFER_TIME),
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
            form: s.get(&FORM),
            most: match s.get(&OVERLOAD) {
                Overload::Drop => 1.0,
                Overload::Overflow => (1.0 / s.get(&COUPLING)).min(1.0),
            },
            protection: s.get(&PROTECTION).then(|| Critical {
                delay: s.get(&CRITICAL_DELAY),
                score: s.get(&CRITICAL_SCORE),
            }),
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
