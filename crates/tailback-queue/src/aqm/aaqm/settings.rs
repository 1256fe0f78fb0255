//! AAQM's parameters: what they are called, what they may be, what they are together.

use super::Aaqm;
use crate::aqm::red::SHARE_HOT;
use crate::aqm::red::params::{INITIAL_AVERAGE, MAX_PROBABILITY, MEAN_PACKET, WAIT, WEIGHT, with_default};
use crate::build_context::BuildContext;
use crate::capacity;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Marks};
use crate::params::BEFORE;
use tailback_base::model::Profile;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Kind, Model, Packet, Param, ProbeDef, Settings, Size};

const SHARE: Kind = Kind::Real { min: 0.0, max: 1.0 };
const THESIS: &str = "Jiang 2006";
const READING: &str = "reading of Jiang 2006, docs/decisions/aaqm.md";

/// Variants that answer a question of the thesis each.
static PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "The algorithm as it is resolved here.",
        values: &[],
    },
    Profile {
        name: "marks",
        doc: "Requests and marks alone: tokens do nothing.",
        values: &[("token_use", "none")],
    },
    Profile {
        name: "tokens",
        doc: "Tokens alone: no requests.",
        values: &[("request", "none")],
    },
    Profile {
        name: "literal",
        doc: "The output side word for word: every departure is charged, so that tokens matter at the start and after idle \
              time only.",
        values: &[("charge_line", "true"), ("short", "keep"), ("ahead_on", "any")],
    },
    Profile {
        name: "parity",
        doc: "No more buffer than RED has.",
        values: &[("ahead_in_buffer", "true")],
    },
    Profile {
        name: "shape",
        doc: "Every packet pays: a negative control, which sends no faster than the tokens come.",
        values: &[("token_use", "shape")],
    },
];

pub static MODEL: Model = Model {
    name: "aaqm",
    family: "queue",
    title: "AAQM (adaptive active queue management)",
    summary: "RED with requests that grow with the congestion, before a stage that a token bucket pays for. Measure: the \
              filtered backlog, the backlog, the tokens. Function: RED's ramp; a request for each step of the average above \
              a pre-congestion threshold. Action: marks (early, request) of capable packets; others are let in while \
              tokens pay for them, else dropped (early); above the ramp a drop (forced).",
    source: "Jiang 2006",
    params: PARAMS,
    probes: PROBES,
};

const PARAMS: &[Param] = &[
    Param::new(
        "profile",
        Kind::Profile(PROFILES),
        "default",
        "A named set of the parameters below.",
        "",
    ),
    Param::new(
        "buffer",
        Kind::Size,
        "100 packets",
        "How much may wait under RED's management, in packets or bytes.",
        THESIS,
    ),
    Param::new(
        "min_threshold",
        Kind::Level,
        "5 packets",
        "Average backlog from which packets are picked.",
        THESIS,
    ),
    Param::new(
        "max_threshold",
        Kind::Level,
        "15 packets",
        "Average backlog from which all are dropped.",
        THESIS,
    ),
    with_default(WEIGHT, WEIGHT.default, "Jiang 2006; Floyd and Jacobson 1993 section 6"),
    with_default(
        MAX_PROBABILITY,
        MAX_PROBABILITY.default,
        "ns-2 linterm 10; the thesis does not say",
    ),
    with_default(WAIT, "false", "Jiang 2006 (false); ns-2 wait_"),
    Param::new(
        "pre_fraction",
        SHARE,
        "0.75",
        "The pre-congestion threshold, as a part of max_threshold; above min_threshold.",
        THESIS,
    ),
    Param::new(
        "step_fraction",
        Kind::Real { min: 1e-6, max: 100.0 },
        "0.05",
        "The average grows by this part of min_threshold from one request to the next.",
        THESIS,
    ),
    Param::new(
        "request",
        Kind::Choice(&["ecn", "explicit", "both", "none"]),
        "ecn",
        "How a source is asked to slow down: by marking the next capable packet, by a control packet to the source, both, \
         or not at all.",
        READING,
    ),
    Param::new(
        "rearm",
        Kind::Choice(&["leave", "step"]),
        "leave",
        "When a level may be asked for again: after the average has fallen below the pre-congestion threshold, or once it has \
         fallen by more than a step.",
        READING,
    ),
    Param::new(
        "early_zone",
        Kind::Choice(&["red", "none"]),
        "red",
        "What happens between min_threshold and the pre-congestion threshold.",
        READING,
    ),
    Param::new(
        "rate",
        Kind::Rate { min: 1.0, max: 1e14 },
        "64kbps",
        "How fast tokens come.",
        THESIS,
    ),
    Param::new(
        "bucket",
        Kind::Count {
            min: 0,
            max: 1_000_000_000,
        },
        "30000",
        "How many tokens there may be, in the unit of bucket_unit; 0 switches the output side off.",
        THESIS,
    ),
    Param::new(
        "bucket_unit",
        Kind::Choice(&["bytes", "bits"]),
        "bytes",
        "What a token stands for.",
        "Jiang 2006 (bytes); ns-2's token bucket counts bits",
    ),
    Param::new(
        "start_full",
        Kind::Bool,
        "true",
        "Whether the bucket is full at the start.",
        THESIS,
    ),
    Param::new(
        "boost",
        Kind::Real { min: 0.0, max: 1000.0 },
        "2",
        "How many times faster tokens come between the pre-congestion threshold and max_threshold.",
        THESIS,
    ),
    Param::new("boost_hot", Kind::Bool, "false", "Also above max_threshold.", READING),
    Param::new(
        "ahead_buffer",
        Kind::Count { min: 0, max: 1_000_000 },
        "60",
        "How many packets may wait ahead; 0 lets none go ahead.",
        "Jiang 2006 (qlen_)",
    ),
    Param::new(
        "ahead_in_buffer",
        Kind::Bool,
        "false",
        "Whether packets that wait ahead count as part of the buffer.",
        READING,
    ),
    Param::new(
        "ahead_on",
        Kind::Choice(&["inst", "avg", "any"]),
        "inst",
        "When packets go ahead: while the backlog, or the average, is at the pre-congestion threshold or above, or always.",
        READING,
    ),
    Param::new(
        "token_use",
        Kind::Choice(&["ahead+rescue", "ahead", "rescue", "none", "shape"]),
        "ahead+rescue",
        "What tokens pay for: packets that go ahead, picked packets that cannot be marked; or for every packet (shape).",
        READING,
    ),
    Param::new(
        "short",
        Kind::Choice(&["fluid", "keep"]),
        "fluid",
        "With fewer tokens than a picked packet has bytes: it is let in with the probability tokens / size, which takes them \
         all; or it is lost and they are kept.",
        READING,
    ),
    Param::new(
        "rescue_hot",
        Kind::Bool,
        "false",
        "Whether tokens also pay for packets above max_threshold.",
        READING,
    ),
    Param::new(
        "charge_line",
        Kind::Bool,
        "false",
        "Whether packets that leave at the pace of the line take tokens as well, as far as there are any.",
        READING,
    ),
    Param::new(
        "above_max",
        Kind::Choice(&["drop", "mark"]),
        "drop",
        "What happens to capable packets above max_threshold.",
        THESIS,
    ),
    Param::new(
        "average_of",
        Kind::Choice(&["in", "total"]),
        "in",
        "Whether packets that wait ahead count in the average.",
        READING,
    ),
    with_default(MEAN_PACKET, MEAN_PACKET.default, THESIS),
    INITIAL_AVERAGE,
    BEFORE,
];

const fn probe(name: &'static str, unit: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit,
        doc,
        per: "",
    }
}

const PROBES: &[ProbeDef] = &[
    probe("average", "unit of the buffer", "Filtered backlog at the last arrival"),
    probe("probability", "", "Base probability of a pick at the last arrival"),
    probe(
        "tokens",
        "bytes",
        "Tokens when they were last counted; below zero, what is owed",
    ),
    probe("inside", "packets", "Packets that wait under RED's management"),
    probe("ahead", "packets", "Packets that wait ahead"),
    probe(
        "level",
        "",
        "Highest level asked for, -1 below the pre-congestion threshold",
    ),
    probe("marks", "packets", "Packets marked since the start"),
    probe("requests", "", "Control packets sent since the start"),
    probe("funded", "packets", "Packets that tokens paid for since the start"),
    SHARE_HOT,
];

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            marks: Marks::Signal,
            beside: Some(|s| match s.flag("ahead_in_buffer") {
                true => 0,
                false => s.count("ahead_buffer"),
            }),
            ..Facts::ONE_QUEUE
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Aaqm::new(Config::from_settings(s)?, context.stream)))
}

/// When packets go ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AheadOn {
    Backlog,
    Average,
    Always,
}

/// When a level may be asked for again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rearm {
    Leave,
    Step,
}

/// What tokens are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tokens {
    /// To send more than RED would.
    Acts { ahead: bool, rescue: bool },
    /// Every packet pays.
    Shape,
}

fn unknown<T>(what: &str, name: &str) -> Result<T, Refusal> {
    Err(Refusal::new(
        format!("there is no {what} \"{name}\""),
        "see `tailback describe aaqm`",
    ))
}

impl AheadOn {
    fn named(name: &str) -> Result<AheadOn, Refusal> {
        match name {
            "inst" => Ok(AheadOn::Backlog),
            "avg" => Ok(AheadOn::Average),
            "any" => Ok(AheadOn::Always),
            other => unknown("ahead_on", other),
        }
    }
}

impl Rearm {
    fn named(name: &str) -> Result<Rearm, Refusal> {
        match name {
            "leave" => Ok(Rearm::Leave),
            "step" => Ok(Rearm::Step),
            other => unknown("rearm", other),
        }
    }
}

impl Tokens {
    fn named(name: &str) -> Result<Tokens, Refusal> {
        let acts = |ahead, rescue| Ok(Tokens::Acts { ahead, rescue });
        match name {
            "ahead+rescue" => acts(true, true),
            "ahead" => acts(true, false),
            "rescue" => acts(false, true),
            "none" => acts(false, false),
            "shape" => Ok(Tokens::Shape),
            other => unknown("token_use", other),
        }
    }
}

/// The checked parameters. Thresholds and step are in the unit of the buffer.
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
    /// Packets are picked below the pre-congestion threshold.
    pub early: bool,
    pub rate: BitRate,
    pub boosted: BitRate,
    pub boost_hot: bool,
    /// Of the bucket, bytes.
    pub depth: u64,
    pub start_full: bool,
    /// Packets.
    pub ahead_buffer: u64,
    pub ahead_in_buffer: bool,
    pub ahead_on: AheadOn,
    pub tokens: Tokens,
    /// Fewer tokens than a packet has bytes may pay for it.
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
    /// Thresholds out of order, no step, a bucket that holds nothing for packets that must pay.
    pub fn from_settings(s: &Settings) -> Result<Config, Refusal> {
        let (buffer, mean_packet) = (s.size("buffer"), s.count("mean_packet"));
        let level = |name| capacity::threshold(s, name, buffer, mean_packet);
        let (min_threshold, max_threshold) = (level("min_threshold")?, level("max_threshold")?);
        let pre_threshold = s.real("pre_fraction") * max_threshold;
        if !(pre_threshold > min_threshold && pre_threshold < max_threshold) {
            return Err(Refusal::new(
                format!(
                    "the pre-congestion threshold, pre_fraction * max_threshold = {pre_threshold}, is not between \
                     min_threshold ({min_threshold}) and max_threshold ({max_threshold})"
                ),
                "give a max_threshold of at least 4/3 min_threshold, or another pre_fraction below 1",
            ));
        }
        let step = s.real("step_fraction") * min_threshold;
        if step <= 0.0 {
            return Err(Refusal::new(
                "with min_threshold 0 the step from one request to the next is nothing",
                "give a min_threshold above 0",
            ));
        }
        let tokens = Tokens::named(s.text("token_use"))?;
        let depth = s.count("bucket") / if s.text("bucket_unit") == "bits" { 8 } else { 1 };
        if tokens == Tokens::Shape && depth == 0 {
            return Err(Refusal::new(
                "every packet has to pay (token_use = \"shape\"), and the bucket holds nothing",
                "give a bucket of at least the largest packet",
            ));
        }
        let rate = s.rate("rate");
        let boosted = BitRate((rate.0 as f64 * s.real("boost")).round() as u64);
        if tokens == Tokens::Shape && boosted.0 == 0 {
            return Err(Refusal::new(
                "every packet has to pay (token_use = \"shape\"), and with boost 0 no tokens come before congestion",
                "give a boost above 0",
            ));
        }
        let request = s.text("request");
        Ok(Config {
            buffer,
            min_threshold,
            pre_threshold,
            max_threshold,
            weight: s.real("weight"),
            max_probability: s.real("max_probability"),
            wait: s.flag("wait"),
            step,
            asks_by_mark: matches!(request, "ecn" | "both"),
            asks_source: matches!(request, "explicit" | "both"),
            rearm: Rearm::named(s.text("rearm"))?,
            early: s.text("early_zone") == "red",
            rate,
            boosted,
            boost_hot: s.flag("boost_hot"),
            depth,
            start_full: s.flag("start_full"),
            ahead_buffer: s.count("ahead_buffer"),
            ahead_in_buffer: s.flag("ahead_in_buffer"),
            ahead_on: AheadOn::named(s.text("ahead_on"))?,
            tokens,
            partly: s.text("short") == "fluid",
            rescue_hot: s.flag("rescue_hot"),
            charge_line: s.flag("charge_line"),
            mark_above_max: s.text("above_max") == "mark",
            average_of_total: s.text("average_of") == "total",
            mean_packet,
            initial_average: level("initial_average")?,
        })
    }
}
