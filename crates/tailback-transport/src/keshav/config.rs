//! The parameters of a source, checked and in the units that the endpoints use: packets, bytes and seconds.

use super::fuzzy::Rules;
use super::params::*;
use tailback_base::model::{Key, Settings};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Time};

/// The fields are explained in `params.rs`.
#[derive(Clone, Debug)]
pub struct Config {
    pub kind: SourceKind,
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
    /// A round trip is measured from the last transmission of a packet, not from its first transmission.
    pub sample_last: bool,
    /// A generic source has one timer, for its oldest packet.
    pub one_timer: bool,
    /// When the timer for the oldest packet expires, all packets sent before that timer was started are repeated.
    pub repeats_all: bool,
}

#[derive(Clone, Debug)]
pub enum SourceKind {
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
    /// Only packets whose timers expire are sent again.
    pub generic_repair: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct PacketPairConfig {
    /// Packets.
    pub setpoint: f64,
    /// A pair leaves only when both packets fit in the window.
    pub whole_pairs: bool,
    /// The queue estimate n is computed from the round trip, not from the number of outstanding packets.
    pub queue_from_rtt: bool,
    /// The rate is computed at most once in this many round trips.
    pub control_round_trips: f64,
    /// The rate falls after this many round trips without a gap.
    pub silence: f64,
    pub alpha: Rules,
    pub filter: Rules,
}

fn rules(s: &Settings, peaks: &Key<Vec<f64>>, outputs: &Key<Vec<f64>>) -> Result<Rules, Refusal> {
    let three = |key: &Key<Vec<f64>>| {
        <[f64; 3]>::try_from(s.get(key)).map_err(|values| {
            let problem = format!("{} has {} values", key.name, values.len());
            Refusal::new(problem, "give three: for low, middle and high")
        })
    };
    let name = peaks.name;
    let (peaks, outputs) = (three(peaks)?, three(outputs)?);
    if peaks[0] < peaks[1] && peaks[1] < peaks[2] {
        Ok(Rules { peaks, outputs })
    } else {
        let problem = format!(
            "the values of {name}, {}, {}, {}, do not rise",
            peaks[0], peaks[1], peaks[2]
        );
        Err(Refusal::new(
            problem,
            "give three rising numbers, such as [0, 0.3, 0.6]",
        ))
    }
}

impl DecBitConfig {
    pub fn read(s: &Settings) -> DecBitConfig {
        DecBitConfig {
            initial_window: s.get(&INITIAL_WINDOW),
            increase: s.get(&INCREASE),
            decrease: s.get(&DECREASE),
            threshold: s.get(&THRESHOLD),
            timeout_window: s.get(&TIMEOUT_WINDOW),
        }
    }
}

impl JacobsonKarelsConfig {
    pub fn read(s: &Settings) -> JacobsonKarelsConfig {
        JacobsonKarelsConfig {
            initial_window: s.get(&INITIAL_WINDOW),
            initial_ssthresh: s.get(&INITIAL_SSTHRESH),
            min_ssthresh: s.get(&MIN_SSTHRESH),
            shut_window: s.get(&SHUT_WINDOW),
            dupthresh: s.get(&DUPTHRESH),
            go_back: s.get(&GO_BACK),
            mean_gain: s.get(&MEAN_GAIN),
            deviation_gain: s.get(&DEVIATION_GAIN),
            k: s.get(&K),
            first_samples: s.get(&FIRST_SAMPLES),
            packet_timer: s.get(&TIMER) == RetransmissionTimers::Each,
            generic_repair: s.get(&REPAIR) == Repair::Timers,
        }
    }
}

impl PacketPairConfig {
    /// # Errors
    /// The membership points of the estimator do not rise.
    pub fn read(s: &Settings) -> Result<PacketPairConfig, Refusal> {
        Ok(PacketPairConfig {
            setpoint: s.get(&SETPOINT),
            whole_pairs: s.get(&LIMIT) == Limited::Pair,
            queue_from_rtt: s.get(&QUEUE_EST) == QueueFrom::RoundTrip,
            control_round_trips: match s.get(&CONTROL_EVERY) {
                ControlEvery::TwoRoundTrips => 2.0,
                ControlEvery::Probe => 0.0,
            },
            silence: s.get(&SILENCE),
            alpha: rules(s, &ALPHA_PEAKS, &ALPHA_OUTPUTS)?,
            filter: rules(s, &FILTER_PEAKS, &FILTER_OUTPUTS)?,
        })
    }
}

impl Config {
    /// Read the parameters that all sources share. `kind` has the parameters of one source.
    ///
    /// # Errors
    /// Some parameters contradict each other.
    pub fn resolve(s: &Settings, kind: SourceKind) -> Result<Config, Refusal> {
        // Jacobson and Karels' source has one timer, with its own estimator.
        let (packet, header) = (s.get(&PACKET), s.get(&HEADER));
        if packet + header > 65_535 {
            return Err(Refusal::new(
                format!("a packet of {packet}B with a header of {header}B is more than 65535B"),
                "give a smaller packet",
            ));
        }
        let wmax = s.get(&WMAX);
        for key in [INITIAL_WINDOW, TIMEOUT_WINDOW, SHUT_WINDOW] {
            let name = key.name;
            if let Some(window) = s.find_key(&key).filter(|w| *w > f64::from(wmax)) {
                return Err(Refusal::new(
                    format!("{name} {window} exceeds wmax {wmax}"),
                    format!("lower {name} or raise wmax"),
                ));
            }
        }
        let (rto_min, rto_max) = (s.get(&RTO_MIN), s.get(&RTO_MAX));
        if rto_min > rto_max {
            return Err(Refusal::new(
                format!("rto_min {rto_min} exceeds rto_max {rto_max}"),
                "lower rto_min or raise rto_max",
            ));
        }
        let timer = Some(kind.clone())
            .filter(|k| matches!(k, SourceKind::Generic))
            .and_then(|_| s.find_key(&GENERIC_TIMER));
        Ok(Config {
            packet,
            header,
            ack: s.get(&ACK),
            wmax,
            use_echo: s.get(&USE_ECHO),
            rtt0: s.get(&RTT0).seconds(),
            rtt0_path: s.get(&RTT0_PATH),
            rto_min: rto_min.seconds(),
            rto_max: rto_max.seconds(),
            rto_max_factor: s.get(&RTO_MAX_FACTOR),
            backoff: s.get(&BACKOFF),
            tick: s.get(&TICK),
            beta: s.get(&BETA),
            gain: s.get(&GAIN),
            sample_last: s.find_key(&SAMPLE) == Some(SampleFrom::Last),
            one_timer: timer.is_some_and(|t| t != GenericTimers::Each),
            repeats_all: timer == Some(GenericTimers::All),
            kind,
        })
    }

    /// The first estimate of the round trip, seconds. `base` is the round trip of the empty path.
    pub fn first_estimate(&self, base: Duration) -> f64 {
        self.rtt0.max(self.rtt0_path * base.seconds())
    }

    /// No timeout is longer than this, seconds, if the first one is `first`.
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

    /// The first tick of this clock at or after `t`.
    pub fn on_tick(&self, t: Time) -> Time {
        match self.tick.0 {
            0 => t,
            tick => Time(t.0.div_ceil(tick).saturating_mul(tick)),
        }
    }

    /// Whether the source reacts to the congestion bit. Switches may set this bit only if the source reacts to it.
    pub fn reads_bit(&self) -> bool {
        matches!(self.kind, SourceKind::DecBit(_))
    }

    /// Whether the reported round trips include packets that were sent again.
    pub fn samples_repeats(&self) -> bool {
        !matches!(self.kind, SourceKind::JacobsonKarels(_))
    }
}
