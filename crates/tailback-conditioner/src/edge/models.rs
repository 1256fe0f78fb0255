//! The declarations of an edge conditioner: its own parameters, and a model for each stage and for each of its
//! markers.

use super::counts::PROBE_DEFS;
use super::excess::TargetRule;
use super::pipeline::{Acks, Others, Position};
use super::round_trips::Source;
use super::small_window::Estimate;
use crate::meter::MeterList;
use crate::meter::meters::Scope;
use crate::meter::params::{CLASS, Police, RATE, WINDOW};
use tailback_base::model::{Catalogue, Family, Profile};
use tailback_base::{BitRate, Duration, Key, Kind, Model, Param, params};

/// The families of models inside it.
pub const STAGES: &str = "edge-stage";
pub const MARKERS: &str = "edge-marker";

const TIME: Kind = Kind::Time { min: 1e-3, max: 1e3 };
const SHARE: Kind = Kind::Real { min: 0.0, max: 1.0 };
const SOURCE: &str = "Habib, Fahmy and Bhargava 2000";

/// Sets of stages that the report recommends.
const PRESETS: &[Profile] = &[
    Profile {
        name: "plain",
        doc: "the marker alone",
        values: &[],
    },
    Profile {
        name: "favour-long-rtt",
        doc: "for aggregates with long round trips: CWR, SYN, and windows below 3",
        values: &[("stages", "[cwr, syn, { kind = small-window, below = 3 }]")],
    },
    Profile {
        name: "favour-short-rtt",
        doc: "for aggregates with short round trips: windows below 7, marks spaced and bursts shaped",
        values: &[("stages", "[{ kind = small-window, below = 7 }, spacing, shaper]")],
    },
];

pub static EDGE: Model = Model {
    name: "edge",
    family: "conditioner",
    title: "Edge conditioner",
    summary: "A marker, and stages that know what TCP does with losses: they protect packets whose loss would cost a \
              timeout, space marks, smooth bursts, drop what is too much, or tell other edges.",
    source: SOURCE,
    params: PARAMS,
    probes: &PROBE_DEFS,
};

params! {
    const PARAMS;

    pub MARKER = Param::new("marker", Kind::Model(MARKERS), "",
        "What gives packets their colour: a meter, rtt-aware or target-aware. Its `per` says whose rate is meant.", "");
    pub STAGE_LIST = Param::new("stages", Kind::List(&Kind::Model(STAGES)), "[]",
        "The stages, which change colours, drop or delay. They have a fixed order.", SOURCE);
    pub PRESET = Param::new("preset", Kind::Profile(PRESETS), "plain", "A set of stages by name.", SOURCE);
    CLASS;
    pub OTHERS: Others = Key::choice("others", "mark",
        "Packets that come in another class of assured forwarding or as EF are marked as the rest, or pass as they \
         are.",
        "RFC 2475 section 2.3.1");
    pub ACKS: Acks = Key::choice("acks", "green",
        "Pure acknowledgements are green and not metered, or treated as data.", "");
    pub FLOW_TIMEOUT: Duration = Key::new("flow_timeout", TIME, "5s", "A flow that is silent longer is forgotten.", "");
    pub MOST_FLOWS: u64 = Key::new("most_flows", Kind::Count { min: 1, max: 1 << 22 }, "1000000",
        "The most entries of each stage; a flow without one is treated as the marker decides.", "");
    pub EXCHANGE_DELAY: Duration = Key::new("exchange_delay", Kind::Time { min: 0.0, max: 1e3 }, "0s",
        "Delay of this edge's messages to others, in addition to the path's.", "");
    pub EXCHANGE_LOSS: f64 = Key::new("exchange_loss", SHARE, "0", "The share of its messages that is lost.", "");
}

/// A model inside an edge conditioner.
const fn part(
    family: &'static str,
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    params: &'static [Param],
) -> Model {
    Model {
        name,
        family,
        title,
        summary,
        source: SOURCE,
        params,
        probes: &[],
    }
}

pub static SYN: Model = part(
    STAGES,
    "syn",
    "SYN",
    "Packets that open a connection are green.",
    OF_SYN,
);

params! {
    const OF_SYN;

    pub FIRST: u64 = Key::new("first", Kind::Count { min: 0, max: 1000 }, "0",
        "This many data segments after the SYN are green too, which needs an entry for each flow.", SOURCE);
}

pub static SMALL_WINDOW: Model = part(
    STAGES,
    "small-window",
    "Small window",
    "Packets of flows whose window is too small for a fast retransmit are green. The edge must see data and ACKs.",
    OF_SMALL_WINDOW,
);

params! {
    const OF_SMALL_WINDOW;

    pub BELOW: u64 = Key::new("below", Kind::Count { min: 1, max: 1000 }, "3",
        "Windows of fewer segments are small.", SOURCE);
    pub ESTIMATE: Estimate = Key::choice("estimate", "packet",
        "The window is the distance from the ACK of this packet, or of the farthest byte sent so far.", "");
}

pub static CWR: Model = part(
    STAGES,
    "cwr",
    "CWR",
    "Packets whose sender says that it has reduced its window are green.",
    &[],
);

pub static SPACING: Model = part(
    STAGES,
    "spacing",
    "Spacing of marks",
    "A flow has no two marks within a gap; what is put off is paid later.",
    OF_SPACING,
);

params! {
    const OF_SPACING;

    pub GAP: u64 = Key::new("gap", Kind::Count { min: 1, max: 1000 }, "3",
        "Green packets between two marks of a flow.", "");
    pub MAX_DEBT: u64 = Key::new("max_debt", Kind::Count { min: 1, max: 1_000_000 }, "4",
        "Marks of a colour that can be put off.", "");
    pub CAP: bool = Key::new("cap", Kind::Bool, "true",
        "Marks beyond the debt are forgotten, so that their share stays below 1/(gap + 1). If off, they come at \
         once.", "");
}

pub static SHAPER: Model = part(
    STAGES,
    "shaper",
    "Rate-adaptive shaper",
    "Smooths bursts of each aggregate; faster the more packets wait.",
    OF_SHAPER,
);

params! {
    const OF_SHAPER;

    pub COMMITTED_RATE: Option<BitRate> = Key::new("committed_rate", RATE, "none",
        "The rate with a short backlog. Default: the committed rate or the target of the marker.",
        "RFC 2963 section 3");
    pub HIGHEST_RATE: Option<BitRate> = Key::new("highest_rate", RATE, "none",
        "The rate with a long backlog. Default: that of the line.", "RFC 2963 section 3");
    pub LOW: u64 = Key::new("low", Kind::Count { min: 0, max: 1_000_000 }, "5",
        "Up to this many packets the backlog is short.", "");
    pub HIGH: u64 = Key::new("high", Kind::Count { min: 1, max: 1_000_000 }, "20", "From this many on it is long.", "");
    pub MOST: u64 = Key::new("most", Kind::Count { min: 1, max: 1_000_000 }, "60",
        "A full shaper lets its head go at once.", "");
    pub SHAPER_MEMORY: Duration = Key::new("memory", TIME, "100ms",
        "How far back the average of the arrival rate looks.", "RFC 2963 section 3");
    pub POSITION: Position = Key::choice("position", "after_marker",
        "Whether packets are metered as they come or as they leave the shaper.", "");
}

pub static POLICER: Model = part(
    STAGES,
    "policer",
    "Policer",
    "Drops at the edge what is red after all stages, or yellow and worse.",
    OF_POLICER,
);

params! {
    const OF_POLICER;

    pub POLICED: Police = Key::choice("drop", "red", "The best colour that is dropped.", "RFC 2475 section 2.3.3.4");
}

pub static TELL_SENDER: Model = part(
    STAGES,
    "tell-sender",
    "Marks told to the sender",
    "Tells the sender of a packet that leaves yellow or red, which reduces its window before a loss makes it.",
    OF_TELL_SENDER,
);

params! {
    const OF_TELL_SENDER;

    pub TOLD: Police = Key::choice("from", "red",
        "The best colour that is told. A TCP sender answers red once a window as it answers a loss, and yellow by half \
         of that.", SOURCE);
}

pub static FEEDBACK: Model = part(
    STAGES,
    "feedback",
    "Feedback from exits",
    "Exits report how much red arrives. If red is lost on the way, it is dropped at the entry.",
    OF_FEEDBACK,
);

params! {
    const OF_FEEDBACK;

    pub FEEDBACK_INTERVAL: Duration = Key::new("interval", TIME, "200ms", "How often an exit reports.", "");
    pub FEEDBACK_DROP: bool = Key::new("drop", Kind::Bool, "true",
        "Drop at the entry; if off, entries learn what is lost but drop nothing.", "");
}

pub static ADAPTIVE: Model = part(
    STAGES,
    "adaptive",
    "Adaptive",
    "While there are few flows, the stages that remember flows are in use. While there are many, the stage that uses \
     the SYN flag takes their place.",
    OF_ADAPTIVE,
);

params! {
    const OF_ADAPTIVE;

    pub THRESHOLD: u64 = Key::new("threshold", Kind::Count { min: 1, max: 1 << 22 }, "40",
        "The number of flows from which there are many.", "");
    pub FLOW_MEMORY: Option<u64> = Key::new("memory", Kind::Bytes { min: 64, max: 1 << 40 }, "none",
        "Sets the threshold by the memory that the router has for flows, at 64 bytes each.", "");
    pub LOOKUPS: Option<f64> = Key::new("lookups", Kind::Real { min: 1.0, max: 1e12 }, "none",
        "Also sets the threshold: how many look-ups per second the router can make.", "");
    pub FLOW_RATE: f64 = Key::new("flow_rate", Kind::Real { min: 1e-3, max: 1e9 }, "100",
        "Packets per second of a flow, for `lookups`.", "");
}

tailback_base::choice! {
    /// How loss and round trip are related.
    pub enum RelationForm { Square = "square", Timeouts = "timeouts" }

    /// Where the loss of the aggregate with the least round trip comes from.
    pub enum LossFrom { Given = "given", Feedback = "feedback" }
}

params! {
    pub TARGET: BitRate = Key::new("target", RATE, "", "What is below this rate is green; headers count.", SOURCE);
    pub PRECEDENCES: u64 = Key::new("precedences", Kind::Count { min: 2, max: 3 }, "3",
        "Green, yellow and red, or green and yellow alone.", SOURCE);
    pub INTERVAL: Duration = Key::new("interval", TIME, "1s", "How often the edges tell each other.", "");
}

pub static RTT_AWARE: Model = part(
    MARKERS,
    "rtt-aware",
    "Marker by round trip",
    "What is above an aggregate's target is graded by the square of its round trip, so that all get the same rate.",
    OF_RTT_AWARE,
);

params! {
    const OF_RTT_AWARE;

    TARGET;
    PRECEDENCES;
    WINDOW;
    pub ROUND_TRIPS: Source = Key::choice("round_trips", "oracle",
        "Propagation delays of the paths, or what the edges measure and report.", "");
    pub RELATION: RelationForm = Key::choice("relation", "square",
        "How loss and round trip belong together: p as 1/R^2, or by a model of TCP with timeouts.",
        "Padhye et al. 1998");
    pub LOSS: LossFrom = Key::choice("loss", "given",
        "For `timeouts`: where the loss of the aggregate with the least round trip comes from. What exits tell needs \
         the stage feedback, there and here.", "");
    pub REFERENCE_LOSS: f64 = Key::new("reference_loss", Kind::Real { min: 1e-3, max: 0.5 }, "0.02",
        "For `timeouts`, given: the loss of what is yellow or red of the aggregate with the least round trip.", "");
    pub BY_TARGET: bool = Key::new("by_target", Kind::Bool, "false", "Graded by the square of targets too.", SOURCE);
    INTERVAL;
}

pub static TARGET_AWARE: Model = part(
    MARKERS,
    "target-aware",
    "Marker by target",
    "What is above a target is graded so that excess goes with targets, of aggregates or of flows.",
    OF_TARGET_AWARE,
);

params! {
    const OF_TARGET_AWARE;

    TARGET;
    pub TARGET_RULE: TargetRule = Key::choice("rule", "square",
        "What grades the excess: the square of the targets, or how far the averaged rate is above the own one.",
        SOURCE);
    pub TARGET_OF: Scope = Key::choice("per", "aggregate",
        "Whose target it is: of all that passes, of each aggregate, or of each flow, which has it times its `weight`.",
        SOURCE);
    PRECEDENCES;
    WINDOW;
    INTERVAL;
}

/// The stages, in the order of the reference page.
pub fn stages() -> Vec<&'static Model> {
    vec![
        &SYN,
        &SMALL_WINDOW,
        &CWR,
        &SPACING,
        &SHAPER,
        &FEEDBACK,
        &POLICER,
        &TELL_SENDER,
        &ADAPTIVE,
    ]
}

/// The possible markers: the meters, and those of the edge itself.
pub fn markers(meters: &MeterList) -> Vec<&'static Model> {
    let meters = meters.rows().iter().map(|r| r.model);
    meters.chain([&RTT_AWARE, &TARGET_AWARE]).collect()
}

/// The families of an edge.
pub fn families(meters: &MeterList) -> [Family; 2] {
    [
        Family::new(MARKERS, "Markers of an edge conditioner", markers(meters)),
        Family::new(STAGES, "Stages of an edge conditioner", stages()),
    ]
}

/// The same, for looking up names.
pub fn catalogue(meters: &MeterList) -> Catalogue {
    Catalogue::new(families(meters))
}
