//! The parameters of a source, checked and in the units the endpoints use: packets, bytes, seconds.

use super::fuzzy::Rules;
use tailback_base::model::{Settings, Value};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Time};

/// See `params.rs` for what each field means.
#[derive(Clone, Debug)]
pub struct Config {
    pub kind: Kind,
    /// Bytes.
    pub packet: u32,
    pub header: u32,
    pub ack: u32,
    /// Packets.
    pub wmax: u32,
    pub use_echo: bool,
    /// Seconds.
    pub rtt0: f64,
    pub rtt0_path: f64,
    pub rto_min: f64,
    pub rto_max: f64,
    pub rto_max_factor: f64,
    pub backoff: f64,
    /// `Duration::ZERO` is an exact clock.
    pub tick: Duration,
    /// For sources with a timer for each packet.
    pub beta: f64,
    pub gain: f64,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Generic,
    DecBit(DecBitConfig),
    JacobsonKarels(JacobsonKarelsConfig),
    PacketPair(PacketPairConfig),
}

#[derive(Clone, Copy, Debug)]
pub struct DecBitConfig {
    pub initial_window: f64,
    pub increase: f64,
    pub decrease: f64,
    pub threshold: f64,
    pub timeout_window: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct JacobsonKarelsConfig {
    pub initial_window: f64,
    /// `None`: wmax.
    pub initial_ssthresh: Option<f64>,
    pub min_ssthresh: f64,
    pub shut_window: f64,
    pub dupthresh: u32,
    pub go_back: bool,
    pub mean_gain: f64,
    pub deviation_gain: f64,
    pub k: f64,
    pub first_samples: u32,
    /// Each packet's timer runs from its own transmission.
    pub packet_timer: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct PacketPairConfig {
    /// Packets.
    pub setpoint: f64,
    /// A pair leaves only when both packets fit in the window.
    pub whole_pairs: bool,
    /// n is taken from the round trip, not from what is outstanding.
    pub queue_from_rtt: bool,
    /// The rate is computed no more often than this, round trips.
    pub control_round_trips: f64,
    /// Without a gap for this long, round trips, the rate falls.
    pub silence: f64,
    pub alpha: Rules,
    pub filter: Rules,
}

fn rules(s: &Settings, name: &str) -> Result<Rules, Refusal> {
    let three = |key: String| -> Result<[f64; 3], Refusal> {
        let values: Vec<f64> = s
            .list(&key)
            .iter()
            .filter_map(|v| if let Value::Real(x) = v { Some(*x) } else { None })
            .collect();
        <[f64; 3]>::try_from(values.as_slice()).map_err(|_| {
            let problem = format!("{key} has {} values", values.len());
            Refusal::new(problem, "give three: for low, middle and high")
        })
    };
    let (peaks, outputs) = (three(format!("{name}_peaks"))?, three(format!("{name}_outputs"))?);
    if peaks[0] < peaks[1] && peaks[1] < peaks[2] {
        Ok(Rules { peaks, outputs })
    } else {
        let problem = format!("{name}_peaks {}, {}, {} do not rise", peaks[0], peaks[1], peaks[2]);
        Err(Refusal::new(
            problem,
            "give three rising numbers, such as [0, 0.3, 0.6]",
        ))
    }
}

impl DecBitConfig {
    pub fn read(s: &Settings) -> DecBitConfig {
        DecBitConfig {
            initial_window: s.real("initial_window"),
            increase: s.real("increase"),
            decrease: s.real("decrease"),
            threshold: s.real("threshold"),
            timeout_window: s.real("timeout_window"),
        }
    }
}

impl JacobsonKarelsConfig {
    pub fn read(s: &Settings) -> JacobsonKarelsConfig {
        JacobsonKarelsConfig {
            initial_window: s.real("initial_window"),
            initial_ssthresh: (!s.is_none("initial_ssthresh")).then(|| s.real("initial_ssthresh")),
            min_ssthresh: s.real("min_ssthresh"),
            shut_window: s.real("shut_window"),
            dupthresh: s.count("dupthresh") as u32,
            go_back: s.flag("go_back"),
            mean_gain: s.real("mean_gain"),
            deviation_gain: s.real("deviation_gain"),
            k: s.real("k"),
            first_samples: s.count("first_samples") as u32,
            packet_timer: s.text("timer") == "packet",
        }
    }
}

impl PacketPairConfig {
    /// # Errors
    /// Rules of the estimator that do not rise.
    pub fn read(s: &Settings) -> Result<PacketPairConfig, Refusal> {
        Ok(PacketPairConfig {
            setpoint: s.real("setpoint"),
            whole_pairs: s.text("limit") == "pair",
            queue_from_rtt: s.text("queue_est") == "rtt",
            control_round_trips: if s.text("control_every") == "2rtt" { 2.0 } else { 0.0 },
            silence: s.real("silence"),
            alpha: rules(s, "alpha")?,
            filter: rules(s, "filter")?,
        })
    }
}

impl Config {
    /// What all sources share, around what one has beyond that.
    ///
    /// # Errors
    /// Parameters that contradict each other.
    pub fn resolve(s: &Settings, kind: Kind) -> Result<Config, Refusal> {
        // Jacobson and Karels' source has one timer, with an estimator of its own.
        let timer_each = !matches!(kind, Kind::JacobsonKarels(_));
        let (packet, header) = (s.count("packet") as u32, s.count("header") as u32);
        if packet + header > 65_535 {
            return Err(Refusal::new(
                format!("a packet of {packet}B with a header of {header}B is more than 65535B"),
                "give a smaller packet",
            ));
        }
        let wmax = s.count("wmax") as u32;
        for window in ["initial_window", "timeout_window", "shut_window"] {
            if s.model.param(window).is_some() && s.real(window) > f64::from(wmax) {
                return Err(Refusal::new(
                    format!("{window} {} exceeds wmax {wmax}", s.real(window)),
                    format!("lower {window} or raise wmax"),
                ));
            }
        }
        let (rto_min, rto_max) = (s.time("rto_min"), s.time("rto_max"));
        if rto_min > rto_max {
            return Err(Refusal::new(
                format!("rto_min {rto_min} exceeds rto_max {rto_max}"),
                "lower rto_min or raise rto_max",
            ));
        }
        Ok(Config {
            kind,
            packet,
            header,
            ack: s.count("ack") as u32,
            wmax,
            use_echo: s.flag("use_echo"),
            rtt0: s.time("rtt0").seconds(),
            rtt0_path: s.real("rtt0_path"),
            rto_min: rto_min.seconds(),
            rto_max: rto_max.seconds(),
            rto_max_factor: s.real("rto_max_factor"),
            backoff: s.real("backoff"),
            tick: s.time("tick"),
            beta: if timer_each { s.real("beta") } else { 1.0 },
            gain: if timer_each { s.real("gain") } else { 1.0 },
        })
    }

    /// The first estimate of the round trip, seconds; `base` is the round trip of the empty path.
    pub fn first_estimate(&self, base: Duration) -> f64 {
        self.rtt0.max(self.rtt0_path * base.seconds())
    }

    /// No timeout is longer than this, seconds, when the first is `first`.
    pub fn longest_timeout(&self, first: f64) -> f64 {
        self.rto_max.max(self.rto_max_factor * first.max(self.rto_min))
    }

    /// The time from `sent` to `now` as this clock reads it, seconds.
    pub fn ticks(&self, sent: Time, now: Time) -> f64 {
        match self.tick.0 {
            0 => now.since(sent).seconds(),
            tick => (Duration((now.0 / tick - sent.0 / tick) * tick)).seconds(),
        }
    }

    /// The first instant not before `t` at which this clock ticks.
    pub fn on_tick(&self, t: Time) -> Time {
        match self.tick.0 {
            0 => t,
            tick => Time(t.0.div_ceil(tick).saturating_mul(tick)),
        }
    }

    /// Whether the source reacts to the congestion bit; only then may switches set it.
    pub fn reads_bit(&self) -> bool {
        matches!(self.kind, Kind::DecBit(_))
    }

    /// Whether the reported round trips include packets that were sent again.
    pub fn samples_repeats(&self) -> bool {
        !matches!(self.kind, Kind::JacobsonKarels(_))
    }
}
