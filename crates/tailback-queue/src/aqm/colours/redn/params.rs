//! The parameters of REDn, and the values that are derived for parameters that are not given.

use super::steering::Limits;
use crate::aqm::average::Average;
use crate::aqm::colours::populations::{Accounting, Populations};
use crate::aqm::colours::precedence::{COLOURS, UNCOLOURED, each_colour};
use crate::aqm::red::params::{GENTLE, INITIAL_AVERAGE, MEAN_PACKET, PROBABILITY, WEIGHT};
use crate::aqm::red::signals::{Ramp, RampShape, RedClass, SignalRules};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::params::{BEFORE, BUFFER, ECN};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Level, Per, Settings, Size, params};

const LIU: &str = "Liu 2001";

tailback_base::choice! {
    /// The rule that changes the maximum probabilities.
    pub enum Steers {
        Redn = "redn",
        SelfConfiguring = "self_redn",
        Adaptive = "adaptive_redn",
        /// The maximum probabilities are constant, and the ramp has regions.
        Stepped = "stepped_red",
    }
}

tailback_base::choice! {
    /// Which averages an arrival moves.
    pub enum Moves {
        /// The averages of the populations that include the colour of the arrival.
        Population = "population",
        All = "all",
    }
}

tailback_base::choice! {
    /// How signals are spaced at a base probability.
    pub enum Spacing {
        Uniform = "uniform",
        Geometric = "geometric",
        Wait = "wait",
    }
}

impl Spacing {
    /// Whether signals are spread, and whether each signal is followed by a pause.
    pub fn rules(self) -> (bool, bool) {
        match self {
            Spacing::Uniform => (true, false),
            Spacing::Geometric => (false, false),
            Spacing::Wait => (true, true),
        }
    }
}

pub const SPACING: Key<Spacing> = Key::choice(
    "spacing",
    "uniform",
    "Gaps between signals at base probability p: uniform from 1 to 1/p packets, geometric of mean 1/p, or uniform from \
     1/p to 2/p.",
    "Floyd and Jacobson 1993 section 7 (uniform, geometric); ns-2 wait_",
);

const A_PROBABILITY: &Kind = &PROBABILITY;
const A_FACTOR: &Kind = &Kind::Real { min: 1.0, max: 1e6 };

// RED's parameters, with a value for each colour or one for all.

params! {
    pub const PARAMS;

    OWN_BUFFER = BUFFER.with_default("unlimited", LIU).param;
    MODE: Steers = Key::choice("mode", "redn",
        "What changes the maximum probabilities: nothing; crossings of the outer thresholds; crossings of the outer \
         and the middle thresholds; or nothing, with a ramp of three regions.",
        "Liu 2001 sections 3.1, 3.2 (adaptive)");
    MIN_THRESHOLD: Vec<Level> = Key::new("min_threshold", Kind::Each(Per::Colour, &Kind::Level), "none",
        "Average backlog from which packets are signalled (L). Default: half the middle threshold.", LIU);
    MIDDLE_THRESHOLD: Vec<Level> = Key::new("middle_threshold", Kind::Each(Per::Colour, &Kind::Level), "none",
        "Average backlog from which the static probability applies (M); for adaptive_redn. Default: what the line \
         sends in middle_delay, but at least 10 packets, and at most half of max_threshold.", LIU);
    MAX_THRESHOLD: Vec<Level> = Key::new("max_threshold", Kind::Each(Per::Colour, &Kind::Level), "none",
        "Average backlog at which the probability reaches max_probability (H). Default: the number of packets that \
         signals with twice max_probability remove during longest_rtt, but at least 20, and at most half the buffer.",
        LIU);
    QUEUE_THRESHOLD: Vec<Level> = Key::new("queue_threshold", Kind::Each(Per::Colour, &Kind::Level), "none",
        "Backlog of the packets that the colour's average counts, below which nothing is signalled (K); for \
         adaptive_redn. Default: min_threshold.", LIU);
    MIDDLE_DELAY: Duration = Key::new("middle_delay", Kind::Time { min: 1e-6, max: 100.0 }, "15ms",
        "The queueing delay from which the middle threshold is computed if it is not given.", LIU);
    LONGEST_RTT: Duration = Key::new("longest_rtt", Kind::Time { min: 1e-6, max: 100.0 }, "500ms",
        "The longest round trip of the flows, from which max_threshold is computed if it is not given.", LIU);
    WEIGHTS: Vec<f64> = WEIGHT.of_kind(Kind::Each(Per::Colour, A_PROBABILITY));
    MAX_PROBABILITY: Vec<f64> = Key::new("max_probability", Kind::Each(Per::Colour, A_PROBABILITY), "none",
        "Signal probability as the average reaches max_threshold (Ps); in adaptive modes, the static probability. \
         Default: 0.1, or 0.2 for stepped_red.", LIU);
    INITIAL_PROBABILITY: Vec<f64> = Key::new("initial_probability", Kind::Each(Per::Colour, A_PROBABILITY), "none",
        "The dynamic probability at the start (Pd). Default: max_probability.", LIU);
    INCREASE: Vec<f64> = Key::new("increase", Kind::Each(Per::Colour, A_FACTOR), "2",
        "What the dynamic probability is multiplied by (U).", "Feng, Kandlur, Saha, Shin 1999");
    DECREASE: Vec<f64> = Key::new("decrease", Kind::Each(Per::Colour, A_FACTOR), "3",
        "What the dynamic probability is divided by (D).", "Feng, Kandlur, Saha, Shin 1999");
    USE_MIDDLE: Vec<bool> = Key::new("use_middle", Kind::Each(Per::Colour, &Kind::Bool), "[false, true, true]",
        "Whether this colour uses the middle threshold; for adaptive_redn.", LIU);
    ADAPT_STATIC: bool = Key::new("adapt_static", Kind::Bool, "false",
        "Adapt the static probability once a second. It stays between max_probability and twice that, and above the \
         dynamic probability; for adaptive_redn.", "Liu 2001 chapter 5 names it; the rule is tailback's");
    GENTLE_OF: Vec<bool> = GENTLE.of_kind(Kind::Each(Per::Colour, &Kind::Bool));
    ECN_OF: Vec<bool> = ECN.of_kind(Kind::Each(Per::Colour, &Kind::Bool));
    SPACINGS: Vec<Spacing> = SPACING.of_kind(Kind::Each(Per::Colour, &SPACING.param.kind));
    MOVES: Moves = Key::choice("moves", "population",
        "Which averages an arrival updates: those that count its colour, or all three, which makes the average of \
         green packets change faster.", "Clark and Fang 1998 (population); Liu 2001 leaves it open");
    OWN_MEAN_PACKET = MEAN_PACKET.with_default("1000B", LIU).param;
    INITIAL_AVERAGES: Vec<Level> = INITIAL_AVERAGE.of_kind(Kind::Each(Per::Colour, &Kind::Level));
    UNCOLOURED;
    BEFORE;
}

/// REDn's parameters, checked, with missing ones derived from the buffer and the line.
#[derive(Clone, Debug)]
pub struct Config {
    pub mode: Steers,
    pub moves: Moves,
    pub populations: Populations,
    pub ramps: [Ramp; COLOURS],
    pub rules: [SignalRules; COLOURS],
    /// The backlog of the population below which no packet is signalled.
    pub gates: [f64; COLOURS],
    pub limits: [Limits; COLOURS],
    pub adapt_static: bool,
}

impl Config {
    /// # Errors
    /// Thresholds that contradict each other or the buffer's unit.
    pub fn from_settings(s: &Settings, context: &BuildContext) -> Result<Config, Refusal> {
        let mode = s.get(&MODE);
        let thresholds = Thresholds::from_settings(s, context, mode)?;
        let fixed = top(s, mode);
        let initial = match s.get(&INITIAL_PROBABILITY)[..] {
            [] => fixed,
            ref given => each_colour(given),
        };
        let [increase, decrease] = [INCREASE, DECREASE].map(|key| each_colour(&s.get(&key)));
        let use_middle = each_colour(&s.get(&USE_MIDDLE));
        let gentle = each_colour(&s.get(&GENTLE_OF));
        let limits = std::array::from_fn(|colour| Limits {
            low: thresholds.min[colour],
            middle: (mode == Steers::Adaptive && use_middle[colour]).then_some(thresholds.middle[colour]),
            high: thresholds.max[colour],
            increase: increase[colour],
            decrease: decrease[colour],
            initial: initial[colour],
            fixed: fixed[colour],
        });
        let ramps = std::array::from_fn(|colour| Ramp {
            min_threshold: thresholds.min[colour],
            max_threshold: thresholds.max[colour],
            max_probability: match mode {
                Steers::Redn | Steers::Stepped => fixed[colour],
                Steers::SelfConfiguring | Steers::Adaptive => initial[colour],
            },
            gentle: gentle[colour],
            shape: match mode {
                Steers::Stepped => RampShape::Regions,
                Steers::Redn | Steers::SelfConfiguring | Steers::Adaptive => RampShape::Line,
            },
        });
        Ok(Config {
            mode,
            moves: s.get(&MOVES),
            populations: Populations::new(Accounting::Coupled, s.get(&BUFFER), averages(s)?),
            rules: rules(s, &ramps)?,
            ramps,
            gates: match mode {
                Steers::Adaptive => thresholds.gate,
                Steers::Redn | Steers::SelfConfiguring | Steers::Stepped => [0.0; COLOURS],
            },
            limits,
            adapt_static: mode == Steers::Adaptive && s.get(&ADAPT_STATIC),
        })
    }

    /// The decision for each colour.
    pub fn classes(&self) -> [RedClass; COLOURS] {
        self.ramps.map(RedClass::new)
    }
}

/// The averages, with a weight and a first value for each colour.
fn averages(s: &Settings) -> Result<[Average; COLOURS], Refusal> {
    let (limit, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
    let initial = each_colour(&capacity::thresholds(s, &INITIAL_AVERAGES, limit, mean_packet)?);
    let weights = each_colour(&s.get(&WEIGHTS));
    Ok(std::array::from_fn(|c| {
        Average::new(initial[c], weights[c], mean_packet)
    }))
}

/// Whether packets of each colour are marked.
fn ecn_of_colours(s: &Settings) -> [bool; COLOURS] {
    match s.get(&ECN_OF)[..] {
        [] => [false; COLOURS],
        ref flags => each_colour(flags),
    }
}

/// Packets are marked only below the second phase: `mark_cap` is the largest base probability of the ramp, and in the
/// second phase the base probability is larger.
fn rules(s: &Settings, ramps: &[Ramp; COLOURS]) -> Result<[SignalRules; COLOURS], Refusal> {
    let (ecn, spacings) = (ecn_of_colours(s), each_colour(&s.get(&SPACINGS)));
    let rules = |colour: usize| {
        let (spread, wait) = spacings[colour].rules();
        Ok(SignalRules {
            ecn: ecn[colour],
            mark_cap: ramps[colour].max_probability,
            mark_above_max: false,
            bytes: false,
            mean_packet: s.get(&MEAN_PACKET),
            spread,
            wait,
            first_count: false,
            ns2_guards: false,
        })
    };
    Ok([rules(0)?, rules(1)?, rules(2)?])
}

/// The constant probability at the upper threshold, from the settings.
fn top(s: &Settings, mode: Steers) -> [f64; COLOURS] {
    let default = match mode {
        Steers::Stepped => 2.0 * GUIDELINE,
        Steers::Redn | Steers::SelfConfiguring | Steers::Adaptive => GUIDELINE,
    };
    match s.get(&MAX_PROBABILITY)[..] {
        [] => [default; COLOURS],
        ref given => each_colour(given),
    }
}

/// The largest reasonable probability below the upper threshold (Liu 2001, section 3.3).
const GUIDELINE: f64 = 0.1;

/// Thresholds in the unit of the buffer, by colour.
struct Thresholds {
    min: [f64; COLOURS],
    middle: [f64; COLOURS],
    max: [f64; COLOURS],
    gate: [f64; COLOURS],
}

impl Thresholds {
    fn from_settings(s: &Settings, context: &BuildContext, mode: Steers) -> Result<Thresholds, Refusal> {
        let (limit, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let unit = capacity::packet(limit, mean_packet);
        let levels = |key| -> Result<_, Refusal> {
            let list = capacity::thresholds(s, key, limit, mean_packet)?;
            Ok((!list.is_empty()).then(|| each_colour(&list)))
        };
        let signalled = match mode {
            Steers::Stepped => top(s, mode).map(|p| 0.5 * p),
            Steers::Redn | Steers::SelfConfiguring | Steers::Adaptive => top(s, mode),
        };
        let line_rate = LineRate {
            rate: u128::from(context.rate.0),
            bits: 8 * u128::from(mean_packet),
        };
        let half_limit = match limit {
            Size::Packets(n) | Size::Bytes(n) => 0.5 * n as f64,
            Size::Unlimited => f64::INFINITY,
        };
        let largest = signalled.iter().fold(0.0, |a: f64, p| a.max(*p));
        let by_signals = line_rate.signalled(s.get(&LONGEST_RTT).0, largest).max(20) as f64;
        let max = levels(&MAX_THRESHOLD)?.unwrap_or([(by_signals * unit).min(half_limit); COLOURS]);
        let sent = line_rate.sent(s.get(&MIDDLE_DELAY).0).max(10) as f64 * unit;
        let middle = levels(&MIDDLE_THRESHOLD)?.unwrap_or(max.map(|max| sent.min(0.5 * max)));
        let whole = |level: f64| (level / unit).floor() * unit;
        let min = levels(&MIN_THRESHOLD)?.unwrap_or(middle.map(|middle| whole(0.5 * middle)));
        let gate = levels(&QUEUE_THRESHOLD)?.unwrap_or(min);
        let all = Thresholds { min, middle, max, gate };
        all.check(mode)?;
        Ok(all)
    }

    fn check(&self, mode: Steers) -> Result<(), Refusal> {
        let order = [
            ("min_threshold", self.min),
            ("middle_threshold", self.middle),
            ("max_threshold", self.max),
        ];
        let used = order
            .iter()
            .filter(|(name, _)| mode == Steers::Adaptive || *name != "middle_threshold");
        let used: Vec<_> = used.collect();
        for pair in used.windows(2) {
            let ((lower, low_levels), (upper, high_levels)) = (pair[0], pair[1]);
            if let Some(colour) = (0..COLOURS).find(|&colour| low_levels[colour] > high_levels[colour]) {
                return Err(Refusal::new(
                    format!(
                        "{lower} ({}) is above {upper} ({})",
                        low_levels[colour], high_levels[colour]
                    ),
                    format!(
                        "give {upper} of at least {lower}; if both are left out, they are computed from the line's \
                         rate"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The rate of a line in mean packets. It is computed in integers, so that the thresholds equal those of the guidelines
/// exactly.
struct LineRate {
    /// The rate, bit/s.
    rate: u128,
    /// Bits of a mean packet.
    bits: u128,
}

const NANOS: u128 = 1_000_000_000;

impl LineRate {
    /// Packets sent in this time, ns.
    fn sent(&self, time: u64) -> u64 {
        (self.rate * u128::from(time) / (self.bits * NANOS)) as u64
    }

    /// The number of packets that signals with twice this probability remove in this time.
    fn signalled(&self, time: u64, probability: f64) -> u64 {
        let p = (probability * NANOS as f64).round() as u128;
        (self.rate * u128::from(time) * 2 * p / (self.bits * NANOS * NANOS)) as u64
    }
}
