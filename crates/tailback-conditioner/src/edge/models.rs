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

/// The families of models inside an edge conditioner.
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
        doc: "for aggregates with long round trips: CWR and SYN packets and windows below 3 are green",
        values: &[("stages", "[cwr, syn, { kind = small-window, below = 3 }]")],
    },
    Profile {
        name: "favour-short-rtt",
        doc: "for aggregates with short round trips: windows below 7 are green, marks are spaced and bursts are shaped",
        values: &[("stages", "[{ kind = small-window, below = 7 }, spacing, shaper]")],
    },
];

pub static EDGE: Model = Model {
    name: "edge",
    family: "conditioner",
    title: "Edge conditioner",
    summary: "A marker, and stages that take account of TCP's reaction to losses. These stages keep a distance between \
              marks of a flow, smooth bursts, drop the excess, report to other edges, or protect packets whose loss \
              would cause a timeout.",
    source: SOURCE,
    params: PARAMS,
    probes: &PROBE_DEFS,
};

params! {
    const PARAMS;

    pub MARKER = Param::new("marker", Kind::Model(MARKERS), "",
        "The marker that gives packets their colour: a meter, rtt-aware or target-aware. The key `per` of the marker \
         chooses whether the marker measures the rate of all packets, of each aggregate or of each flow.", "");
    pub STAGE_LIST = Param::new("stages", Kind::List(&Kind::Model(STAGES)), "[]",
        "The stages, which change the colour of packets, drop them or delay them. They act in a fixed order.", SOURCE);
    pub PRESET = Param::new("preset", Kind::Profile(PRESETS), "plain", "A named set of stages.", SOURCE);
    CLASS;
    pub OTHERS: Others = Key::choice("others", "mark",
        "What happens to packets that arrive with EF or with a class of assured forwarding other than `class`: they \
         are marked like all other packets, or pass unchanged.",
        "RFC 2475 section 2.3.1");
    pub ACKS: Acks = Key::choice("acks", "green",
        "What happens to pure acknowledgements: they are green and are not metered, or they are treated like data.",
        "");
    pub FLOW_TIMEOUT: Duration = Key::new("flow_timeout", TIME, "5s",
        "The state of a flow is removed when no packet of the flow has arrived for longer than this.",
        "");
    pub MOST_FLOWS: u64 = Key::new("most_flows", Kind::Count { min: 1, max: 1 << 22 }, "1000000",
        "How many flows each stage has entries for. Packets of a flow without an entry keep the colour that the \
         marker gave them.",
        "");
    pub EXCHANGE_DELAY: Duration = Key::new("exchange_delay", Kind::Time { min: 0.0, max: 1e3 }, "0s",
        "Delay of this edge's messages to other edges, in addition to the delay of the path.", "");
    pub EXCHANGE_LOSS: f64 = Key::new("exchange_loss", SHARE, "0",
        "The share of this edge's messages to other edges that is lost.",
        "");
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
        "How many data segments after the SYN are green too. To count these segments, an edge needs an entry for each \
         flow.",
        SOURCE);
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
        "A window of fewer segments than this is small.", SOURCE);
    pub ESTIMATE: Estimate = Key::choice("estimate", "packet",
        "How the window is estimated: as the distance from the highest ACK to the end of this packet, or as the \
         distance from the highest ACK to the highest byte sent so far.", "");
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
    "Two marks of a flow have at least a given number of green packets between them. A mark that comes too early is \
     given to a later packet.",
    OF_SPACING,
);

params! {
    const OF_SPACING;

    pub GAP: u64 = Key::new("gap", Kind::Count { min: 1, max: 1000 }, "3",
        "The least number of green packets between two marks of a flow.", "");
    pub MAX_DEBT: u64 = Key::new("max_debt", Kind::Count { min: 1, max: 1_000_000 }, "4",
        "How many marks of each colour can be postponed.", "");
    pub CAP: bool = Key::new("cap", Kind::Bool, "true",
        "Whether marks beyond `max_debt` are left out, so that the share of marks stays below 1/(gap + 1). If false, \
         these marks are given at once.", "");
}

pub static SHAPER: Model = part(
    STAGES,
    "shaper",
    "Rate-adaptive shaper",
    "Smooths bursts of each aggregate. Its rate is higher when more packets wait.",
    OF_SHAPER,
);

params! {
    const OF_SHAPER;

    pub COMMITTED_RATE: Option<BitRate> = Key::new("committed_rate", RATE, "none",
        "The shaper's rate while its backlog is short. Default: the committed rate or the target of the marker.",
        "RFC 2963 section 3");
    pub HIGHEST_RATE: Option<BitRate> = Key::new("highest_rate", RATE, "none",
        "The shaper's rate while its backlog is long. Default: the line's rate.", "RFC 2963 section 3");
    pub LOW: u64 = Key::new("low", Kind::Count { min: 0, max: 1_000_000 }, "5",
        "The backlog is short up to this many packets.", "");
    pub HIGH: u64 = Key::new("high", Kind::Count { min: 1, max: 1_000_000 }, "20",
        "The backlog is long from this many packets on.",
        "");
    pub MOST: u64 = Key::new("most", Kind::Count { min: 1, max: 1_000_000 }, "60",
        "How many packets the shaper holds. When it is full, its first packet leaves at once.", "");
    pub SHAPER_MEMORY: Duration = Key::new("memory", TIME, "100ms",
        "The time over which the arrival rate is averaged.", "RFC 2963 section 3");
    pub POSITION: Position = Key::choice("position", "after_marker",
        "Whether packets are metered when they arrive or when they leave the shaper.", "");
}

pub static POLICER: Model = part(
    STAGES,
    "policer",
    "Policer",
    "Drops the packets at the edge that are red after all stages, or the packets that are yellow or red after all \
     stages.",
    OF_POLICER,
);

params! {
    const OF_POLICER;

    pub POLICED: Police = Key::choice("drop", "red",
        "The best colour that is dropped: with yellow, red packets are dropped too.", "RFC 2475 section 2.3.3.4");
}

pub static TELL_SENDER: Model = part(
    STAGES,
    "tell-sender",
    "Marks told to the sender",
    "Reports to the sender of a packet that the packet leaves the edge yellow or red, so that the sender reduces its \
     window before a packet is lost.",
    OF_TELL_SENDER,
);

params! {
    const OF_TELL_SENDER;

    pub TOLD: Police = Key::choice("from", "red",
        "The best colour that is reported to the sender. Once per window of data, a TCP sender reduces its congestion \
         window: for red as after a loss, and for yellow by half as much.", SOURCE);
}

pub static FEEDBACK: Model = part(
    STAGES,
    "feedback",
    "Feedback from exits",
    "Exits report how many red packets arrive. If red packets are lost between entry and exit, the entry drops red \
     packets.",
    OF_FEEDBACK,
);

params! {
    const OF_FEEDBACK;

    pub FEEDBACK_INTERVAL: Duration = Key::new("interval", TIME, "200ms", "How often an exit reports.", "");
    pub FEEDBACK_DROP: bool = Key::new("drop", Kind::Bool, "true",
        "Whether packets are dropped at the entry. If false, entries receive the reports but drop nothing.", "");
}

pub static ADAPTIVE: Model = part(
    STAGES,
    "adaptive",
    "Adaptive",
    "While there are few flows, the stages that have an entry for each flow are in use. While there are many flows, \
     the stage that uses the SYN flag replaces these stages.",
    OF_ADAPTIVE,
);

params! {
    const OF_ADAPTIVE;

    pub THRESHOLD: u64 = Key::new("threshold", Kind::Count { min: 1, max: 1 << 22 }, "40",
        "From this number of flows on, the stage that uses the SYN flag replaces the stages that have an entry for \
         each flow.",
        "");
    pub FLOW_MEMORY: Option<u64> = Key::new("memory", Kind::Bytes { min: 64, max: 1 << 40 }, "none",
        "The memory that the router has for flows, at 64 bytes for each flow. The threshold is computed from this \
         memory.", "");
    pub LOOKUPS: Option<f64> = Key::new("lookups", Kind::Real { min: 1.0, max: 1e12 }, "none",
        "How many look-ups per second the router can make. The threshold is also computed from this number.", "");
    pub FLOW_RATE: f64 = Key::new("flow_rate", Kind::Real { min: 1e-3, max: 1e9 }, "100",
        "How many packets per second each flow has, for the threshold that is computed from `lookups`.", "");
}

tailback_base::choice! {
    /// The relation between loss and round trip.
    pub enum RelationForm { Square = "square", Timeouts = "timeouts" }

    /// The source of the loss of the aggregate with the smallest round trip.
    pub enum LossFrom { Given = "given", Feedback = "feedback" }
}

params! {
    pub TARGET: BitRate = Key::new("target", RATE, "",
        "The target rate. Packets within this rate are green. The rate includes headers.",
        SOURCE);
    pub PRECEDENCES: u64 = Key::new("precedences", Kind::Count { min: 2, max: 3 }, "3",
        "How many colours are given: 3 are green, yellow and red; 2 are green and yellow.", SOURCE);
    pub INTERVAL: Duration = Key::new("interval", TIME, "1s", "How often the edges send messages to each other.", "");
}

pub static RTT_AWARE: Model = part(
    MARKERS,
    "rtt-aware",
    "Marker by round trip",
    "Packets above an aggregate's target become yellow and red in a ratio that depends on the square of its \
     round-trip time, so that all aggregates get the same rate.",
    OF_RTT_AWARE,
);

params! {
    const OF_RTT_AWARE;

    TARGET;
    PRECEDENCES;
    WINDOW;
    pub ROUND_TRIPS: Source = Key::choice("round_trips", "oracle",
        "Where the round trips come from: the propagation delays of the paths, or what the edges measure and report.",
        "");
    pub RELATION: RelationForm = Key::choice("relation", "square",
        "How the loss p of an aggregate depends on its round trip R: as 1/R^2, or as in a model of TCP with timeouts.",
        "Padhye et al. 1998");
    pub LOSS: LossFrom = Key::choice("loss", "given",
        "For relation `timeouts`: where the loss of the aggregate with the least round trip comes from. If exits \
         report this loss, this edge and the exits need the stage feedback.", "");
    pub REFERENCE_LOSS: f64 = Key::new("reference_loss", Kind::Real { min: 1e-3, max: 0.5 }, "0.02",
        "For relation `timeouts` with a given loss: the loss rate of yellow and red packets in the aggregate with the \
         least round trip.", "");
    pub BY_TARGET: bool = Key::new("by_target", Kind::Bool, "false",
        "Whether the ratio of yellow and red packets also depends on the square of the targets.",
        SOURCE);
    INTERVAL;
}

pub static TARGET_AWARE: Model = part(
    MARKERS,
    "target-aware",
    "Marker by target",
    "Packets above a target become yellow and red in such a ratio that each aggregate or flow gets excess bandwidth \
     in proportion to its target.",
    OF_TARGET_AWARE,
);

params! {
    const OF_TARGET_AWARE;

    TARGET;
    pub TARGET_RULE: TargetRule = Key::choice("rule", "square",
        "What the ratio of yellow and red packets depends on: the square of the targets, or how far the averaged rate \
         is above the aggregate's own target.",
        SOURCE);
    pub TARGET_OF: Scope = Key::choice("per", "aggregate",
        "What the target applies to: all packets together, each aggregate, or each flow. The target of a flow is \
         multiplied by the flow's `weight`.",
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

/// The possible markers: the meters, and the markers of the edge itself.
pub fn markers(meters: &MeterList) -> Vec<&'static Model> {
    let meters = meters.rows().iter().map(|r| r.model);
    meters.chain([&RTT_AWARE, &TARGET_AWARE]).collect()
}

/// The families of models of an edge.
pub fn families(meters: &MeterList) -> [Family; 2] {
    [
        Family::new(MARKERS, "Markers of an edge conditioner", markers(meters)),
        Family::new(STAGES, "Stages of an edge conditioner", stages()),
    ]
}

/// The families of models of an edge, to look up names.
pub fn catalogue(meters: &MeterList) -> Catalogue {
    Catalogue::new(families(meters))
}
