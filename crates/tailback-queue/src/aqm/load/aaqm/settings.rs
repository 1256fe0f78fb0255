//! AAQM's parameters: declarations, possible values, and the checked configuration.

use super::Aaqm;
use super::alone::Alone;
use crate::aqm::red::params::{INITIAL_AVERAGE, MAX_PROBABILITY, MEAN_PACKET, WAIT, WEIGHT};
use crate::contract::admission::Admission;
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Marks};
use crate::params::BEFORE;
use tailback_base::model::Choice;
use tailback_base::model::Probe;
use tailback_base::model::Profile;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Key, Kind, Level, Model, Packet, Param, ProbeDef, Settings, Size, params};

const SHARE: Kind = Kind::Real { min: 0.0, max: 1.0 };
const THESIS: &str = "Jiang 2006";
const READING: &str = "a reading of Jiang 2006, which leaves it open";

/// Variants, each of which answers one open question of the thesis.
static PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "The algorithm as it is resolved here.",
        values: &[],
    },
    Profile {
        name: "marks",
        doc: "Only requests and marks; tokens are not used.",
        values: &[("token_use", "none")],
    },
    Profile {
        name: "tokens",
        doc: "Only tokens; no requests are made.",
        values: &[("request", "none")],
    },
    Profile {
        name: "literal",
        doc: "The output side word for word as in the thesis. Every departure takes tokens, so that tokens have an \
              effect only at the start and after idle time.",
        values: &[("charge_line", "true"), ("short", "keep"), ("ahead_on", "any")],
    },
    Profile {
        name: "parity",
        doc: "No more buffer than RED has.",
        values: &[("ahead_in_buffer", "true")],
    },
    Profile {
        name: "shape",
        doc: "Every packet takes tokens. This is a negative control, which sends no faster than tokens arrive.",
        values: &[("token_use", "shape")],
    },
];

pub static MODEL: Model = Model {
    name: "aaqm",
    family: "queue",
    title: "AAQM (adaptive active queue management)",
    summary: "RED that also requests sources to slow down, more often as congestion grows. A token bucket lets some \
              packets in that RED would drop, and lets packets wait in a stage ahead of RED's queue. Measure: the \
              filtered backlog, the backlog, the tokens. Function: RED's ramp; a request for each step of the average \
              above a pre-congestion threshold. Action: a packet with ECN is marked if RED picks it (early) or if it \
              carries a request (request). A packet without ECN that RED picks is let in if tokens pay for it; \
              otherwise it is dropped (early). If the average is above max_threshold, all packets are dropped \
              (forced).",
    source: "Jiang 2006",
    params: PARAMS,
    probes: PROBES,
};

params! {
    const PARAMS;

    PROFILE = Param::new("profile", Kind::Profile(PROFILES), "default",
        "A named set of the parameters below.", "");
    BUFFER: Size = Key::new("buffer", Kind::Size, "100 packets",
        "How much may wait under RED's management, in packets or bytes.", THESIS);
    MIN_THRESHOLD: Level = Key::new("min_threshold", Kind::Level, "5 packets",
        "Average backlog from which RED picks packets to be marked or dropped.", THESIS);
    MAX_THRESHOLD: Level = Key::new("max_threshold", Kind::Level, "15 packets",
        "Average backlog from which all packets are dropped.", THESIS);
    OWN_WEIGHT = WEIGHT.with_default(WEIGHT.param.default, "Jiang 2006; Floyd and Jacobson 1993 section 6").param;
    OWN_MAX_PROBABILITY = MAX_PROBABILITY
        .with_default(MAX_PROBABILITY.param.default, "ns-2 linterm 10; the thesis does not say").param;
    OWN_WAIT = WAIT.with_default("false", "Jiang 2006 (false); ns-2 wait_").param;
    PRE_FRACTION: f64 = Key::new("pre_fraction", SHARE, "0.75",
        "The pre-congestion threshold, as a fraction of max_threshold. The result has to be above min_threshold.",
        THESIS);
    STEP_FRACTION: f64 = Key::new("step_fraction", Kind::Real { min: 1e-6, max: 100.0 }, "0.05",
        "The next request is made when the average has grown by another step. A step is this fraction of \
         min_threshold.", THESIS);
    REQUEST: SlowDownSignal = Key::choice("request", "ecn",
        "How a source is asked to slow down: by marking the next ECN-capable packet, by a control packet to the \
         source, both, or not at all.", READING);
    REARM: Rearm = Key::choice("rearm", "leave",
        "When a request of the same level may be made again: after the average has fallen below the pre-congestion \
         threshold, or once it has fallen by more than a step.", READING);
    EARLY_ZONE: EarlyZone = Key::choice("early_zone", "red",
        "What happens between min_threshold and the pre-congestion threshold.", READING);
    RATE: BitRate = Key::new("rate", Kind::Rate { min: 1.0, max: 1e14 }, "64kbps",
        "The rate at which tokens arrive.", THESIS);
    BUCKET: u64 = Key::new("bucket", Kind::Count { min: 0, max: 1_000_000_000 }, "30000",
        "How many tokens the bucket can hold, in the unit of bucket_unit. With 0, tokens are not used.", THESIS);
    BUCKET_UNIT: BucketUnit = Key::choice("bucket_unit", "bytes",
        "What a token stands for.", "Jiang 2006 (bytes); ns-2's token bucket counts bits");
    START_FULL: bool = Key::new("start_full", Kind::Bool, "true",
        "Whether the bucket is full at the start.", THESIS);
    BOOST: f64 = Key::new("boost", Kind::Real { min: 0.0, max: 1000.0 }, "2",
        "By what factor tokens arrive faster while the average is between the pre-congestion threshold and \
         max_threshold.", THESIS);
    BOOST_HOT: bool = Key::new("boost_hot", Kind::Bool, "false",
        "Whether tokens also arrive faster while the average is above max_threshold.", READING);
    AHEAD_BUFFER: u64 = Key::new("ahead_buffer", Kind::Count { min: 0, max: 1_000_000 }, "60",
        "How many packets may wait in the stage ahead of RED's queue. Packets take tokens to enter this stage. With 0, \
         no packet enters this stage.",
        "Jiang 2006 (qlen_)");
    AHEAD_IN_BUFFER: bool = Key::new("ahead_in_buffer", Kind::Bool, "false",
        "Whether packets in the stage ahead count as part of the buffer. In a queue of a port they always count.",
        READING);
    AHEAD_ON: AheadOn = Key::choice("ahead_on", "inst",
        "When packets go to the stage ahead: while the backlog, or the average, is at least the pre-congestion \
         threshold; or always.", READING);
    TOKEN_USE: Tokens = Key::choice("token_use", "ahead+rescue",
        "What tokens pay for: packets that go to the stage ahead and picked packets that cannot be marked; only one \
         of the two; every packet (shape); or nothing.", READING);
    SHORT: Short = Key::choice("short", "fluid",
        "What happens to a picked packet that is larger than the tokens allow: it is let in with the probability \
         tokens / size and takes all tokens, or it is dropped and the tokens are kept.", READING);
    RESCUE_HOT: bool = Key::new("rescue_hot", Kind::Bool, "false",
        "Whether tokens also pay for packets that arrive while the average is above max_threshold.", READING);
    CHARGE_LINE: bool = Key::new("charge_line", Kind::Bool, "false",
        "Whether packets that leave at the line's rate also take tokens, if the bucket has any.", READING);
    ABOVE_MAX: AboveMax = Key::choice("above_max", "drop",
        "What happens to ECN-capable packets that arrive while the average is above max_threshold.", THESIS);
    AVERAGE_OF: AverageOf = Key::choice("average_of", "in",
        "Whether packets in the stage ahead count in the average.", READING);
    OWN_MEAN_PACKET = MEAN_PACKET.with_default(MEAN_PACKET.param.default, THESIS).param;
    INITIAL_AVERAGE;
    BEFORE;
}

const PROBES: &[ProbeDef] = &Probe::defs(&Aaqm::READ);

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: Some(on_a_queue),
        facts: Facts {
            marks: Marks::Signal,
            beside: Some(|s| match s.get(&AHEAD_IN_BUFFER) {
                true => 0,
                false => s.get(&AHEAD_BUFFER),
            }),
            ..Facts::ONE_QUEUE
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Alone::new(Config::from_settings(s)?, context.stream)))
}

/// AAQM on one queue of a port, whose queues share a line and a buffer.
fn on_a_queue<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn Admission<P>>, Refusal> {
    let config = Config::from_settings(s)?;
    if config.tokens == Tokens::Shape {
        return Err(Refusal::new(
            "with token_use = \"shape\" the line waits until tokens pay for the next packet, but a queue of a port \
             cannot hold back the line that all queues share",
            "give another token_use, or use aaqm as the only queue of the link",
        ));
    }
    let room = Room::Port;
    Ok(Box::new(Aaqm::new(Config { room, ..config }, context.stream)))
}

tailback_base::choice! {
    /// When packets go ahead.
    pub enum AheadOn {
        Backlog = "inst",
        Average = "avg",
        Always = "any",
    }
}

tailback_base::choice! {
    /// When a level may be requested again.
    pub enum Rearm {
        Leave = "leave",
        Step = "step",
    }
}

tailback_base::choice! {
    /// How a source is asked to slow down.
    enum SlowDownSignal {
        Ecn = "ecn",
        Explicit = "explicit",
        Both = "both",
        Never = "none",
    }
}

tailback_base::choice! {
    /// The action before the thresholds are reached.
    enum EarlyZone {
        Red = "red",
        Nothing = "none",
    }
}

tailback_base::choice! {
    /// The unit of the bucket.
    enum BucketUnit {
        Bytes = "bytes",
        Bits = "bits",
    }
}

tailback_base::choice! {
    /// The rule for the case that there are fewer tokens than a packet needs.
    enum Short {
        Fluid = "fluid",
        Keep = "keep",
    }
}

tailback_base::choice! {
    /// The action above the upper threshold.
    enum AboveMax {
        Drop = "drop",
        Mark = "mark",
    }
}

tailback_base::choice! {
    /// The backlog that is averaged.
    enum AverageOf {
        In = "in",
        Total = "total",
    }
}

/// The packets that count in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// The managed packets.
    Managed,
    /// The managed packets and the packets ahead.
    BothStores,
    /// The packets of all queues of the port.
    Port,
}

/// The use of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tokens {
    /// Tokens pay for sending more than RED would.
    Acts { ahead: bool, rescue: bool },
    /// Every packet pays.
    Shape,
}

const fn acts(ahead: bool, rescue: bool) -> Tokens {
    Tokens::Acts { ahead, rescue }
}

impl Choice for Tokens {
    const WORDS: &'static [&'static str] = &["ahead+rescue", "ahead", "rescue", "none", "shape"];
    const MEANINGS: &'static [Tokens] = &[
        acts(true, true),
        acts(true, false),
        acts(false, true),
        acts(false, false),
        Tokens::Shape,
    ];
}

/// The checked parameters. The thresholds and the step are in the unit of the buffer.
#[derive(Clone, Debug)]
pub struct Config {
    pub buffer: Size,
    pub min_threshold: f64,
    pub pre_threshold: f64,
    pub max_threshold: f64,
    pub weight: f64,
    pub max_probability: f64,
    pub wait: bool,
    pub step: f64,
    pub asks_by_mark: bool,
    pub asks_source: bool,
    pub rearm: Rearm,
    /// Whether packets are also picked below the pre-congestion threshold.
    pub early: bool,
    pub rate: BitRate,
    pub boosted: BitRate,
    pub boost_hot: bool,
    /// Depth of the bucket, bytes.
    pub depth: u64,
    pub start_full: bool,
    /// The largest number of packets ahead.
    pub ahead_buffer: u64,
    pub room: Room,
    pub ahead_on: AheadOn,
    pub tokens: Tokens,
    /// Whether fewer tokens than a packet has bytes may pay for the packet.
    pub partly: bool,
    pub rescue_hot: bool,
    pub charge_line: bool,
    pub mark_above_max: bool,
    pub average_of_total: bool,
    pub mean_packet: u64,
    pub initial_average: f64,
}

impl Config {
    /// # Errors
    /// Thresholds out of order, a zero step, or an empty bucket for packets that must pay.
    pub fn from_settings(s: &Settings) -> Result<Config, Refusal> {
        let (buffer, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let level = |key| capacity::threshold(s, key, buffer, mean_packet);
        let (min_threshold, max_threshold) = (level(&MIN_THRESHOLD)?, level(&MAX_THRESHOLD)?);
        let pre_threshold = s.get(&PRE_FRACTION) * max_threshold;
        if !(pre_threshold > min_threshold && pre_threshold < max_threshold) {
            return Err(Refusal::new(
                format!(
                    "the pre-congestion threshold, pre_fraction * max_threshold = {pre_threshold}, is not between \
                     min_threshold ({min_threshold}) and max_threshold ({max_threshold})"
                ),
                "give a max_threshold of at least 4/3 min_threshold, or another pre_fraction below 1",
            ));
        }
        let step = s.get(&STEP_FRACTION) * min_threshold;
        if step <= 0.0 {
            return Err(Refusal::new(
                "with min_threshold 0 the step from one request to the next is zero",
                "give a min_threshold above 0",
            ));
        }
        let tokens = s.get(&TOKEN_USE);
        let depth = s.get(&BUCKET) / if s.get(&BUCKET_UNIT) == BucketUnit::Bits { 8 } else { 1 };
        if tokens == Tokens::Shape && depth == 0 {
            return Err(Refusal::new(
                "every packet has to pay (token_use = \"shape\"), but the bucket can hold no token",
                "give a bucket of at least the largest packet",
            ));
        }
        let rate = s.get(&RATE);
        let boosted = BitRate((rate.0 as f64 * s.get(&BOOST)).round() as u64);
        if tokens == Tokens::Shape && boosted.0 == 0 {
            return Err(Refusal::new(
                "every packet has to pay (token_use = \"shape\"), but with boost 0 no tokens come before congestion",
                "give a boost above 0",
            ));
        }
        let request = s.get(&REQUEST);
        Ok(Config {
            buffer,
            min_threshold,
            pre_threshold,
            max_threshold,
            weight: s.get(&WEIGHT),
            max_probability: s.get(&MAX_PROBABILITY),
            wait: s.get(&WAIT),
            step,
            asks_by_mark: matches!(request, SlowDownSignal::Ecn | SlowDownSignal::Both),
            asks_source: matches!(request, SlowDownSignal::Explicit | SlowDownSignal::Both),
            rearm: s.get(&REARM),
            early: s.get(&EARLY_ZONE) == EarlyZone::Red,
            rate,
            boosted,
            boost_hot: s.get(&BOOST_HOT),
            depth,
            start_full: s.get(&START_FULL),
            ahead_buffer: s.get(&AHEAD_BUFFER),
            room: match s.get(&AHEAD_IN_BUFFER) {
                true => Room::BothStores,
                false => Room::Managed,
            },
            ahead_on: s.get(&AHEAD_ON),
            tokens,
            partly: s.get(&SHORT) == Short::Fluid,
            rescue_hot: s.get(&RESCUE_HOT),
            charge_line: s.get(&CHARGE_LINE),
            mark_above_max: s.get(&ABOVE_MAX) == AboveMax::Mark,
            average_of_total: s.get(&AVERAGE_OF) == AverageOf::Total,
            mean_packet,
            initial_average: level(&INITIAL_AVERAGE)?,
        })
    }
}
