//! What a scenario says of an edge conditioner: its own parameters, and a model for each stage and marker of its own.

use super::counts::PROBE_DEFS;
use crate::meter::MeterList;
use crate::meter::params::{CLASS, RATE, WINDOW};
use tailback_base::model::{Catalogue, Family, Profile};
use tailback_base::{Kind, Model, Param};

/// The families that stand in it.
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

#[rustfmt::skip]
pub static EDGE: Model = Model {
    name: "edge",
    family: "conditioner",
    title: "Edge conditioner",
    summary: "A marker, and stages that know what TCP does with losses: they protect packets whose loss would cost a timeout, \
              space marks, smooth bursts, drop what is too much, or tell other edges.",
    source: SOURCE,
    params: &[
        Param::new("marker", Kind::Model(MARKERS), "",
            "What gives packets their colour: a meter, rtt-aware or target-aware. Its `per` says whose rate is meant.", ""),
        Param::new("stages", Kind::List(&Kind::Model(STAGES)), "[]",
            "What changes colours, drops or delays, in the order that the stages have by themselves.", SOURCE),
        Param::new("preset", Kind::Profile(PRESETS), "plain", "A set of stages by name.", SOURCE),
        CLASS,
        Param::new("others", Kind::Choice(&["mark", "pass"]), "mark",
            "Packets that come in another class of assured forwarding or as EF are marked as the rest, or pass as they are.",
            "RFC 2475 section 2.3.1"),
        Param::new("acks", Kind::Choice(&["green", "metered"]), "green",
            "Pure acknowledgements are green and not metered, or treated as data.", ""),
        Param::new("flow_timeout", TIME, "5s", "A flow that is silent longer is forgotten.", ""),
        Param::new("most_flows", Kind::Count { min: 1, max: 1 << 22 }, "1000000",
            "Entries that each stage may hold; a flow without one is treated as the marker says.", ""),
        Param::new("exchange_delay", Kind::Time { min: 0.0, max: 1e3 }, "0s",
            "What this edge tells others leaves so much later; the path's delay comes on top.", ""),
        Param::new("exchange_loss", SHARE, "0", "The share of what it tells that is lost.", ""),
    ],
    probes: &PROBE_DEFS,
};

macro_rules! stage {
    ($const:ident, $name:literal, $title:literal, $summary:literal, $params:expr) => {
        #[rustfmt::skip]
        pub static $const: Model = Model {
            name: $name, family: STAGES, title: $title, summary: $summary, source: SOURCE, params: $params, probes: &[],
        };
    };
}

stage!(
    SYN,
    "syn",
    "SYN",
    "Packets that open a connection are green.",
    &[Param::new(
        "first",
        Kind::Count { min: 0, max: 1000 },
        "0",
        "So many data segments after the SYN are green too, which needs an entry for each flow.",
        SOURCE
    ),]
);
stage!(
    SMALL_WINDOW,
    "small-window",
    "Small window",
    "Packets of flows whose window is too small for a fast retransmit are green. The edge must see data and ACKs.",
    &[
        Param::new(
            "below",
            Kind::Count { min: 1, max: 1000 },
            "3",
            "Windows of fewer segments are small.",
            SOURCE
        ),
        Param::new(
            "estimate",
            Kind::Choice(&["packet", "window"]),
            "packet",
            "The window is the distance from the ACK of this packet, or of the farthest byte sent so far.",
            ""
        ),
    ]
);
stage!(
    CWR,
    "cwr",
    "CWR",
    "Packets whose sender says that it has reduced its window are green.",
    &[]
);
stage!(
    SPACING,
    "spacing",
    "Spacing of marks",
    "A flow has no two marks within a gap; what is put off is paid later.",
    &[
        Param::new(
            "gap",
            Kind::Count { min: 1, max: 1000 },
            "3",
            "Green packets between two marks of a flow.",
            ""
        ),
        Param::new(
            "max_debt",
            Kind::Count { min: 1, max: 1_000_000 },
            "4",
            "Marks of a colour that can be put off.",
            ""
        ),
        Param::new(
            "cap",
            Kind::Bool,
            "true",
            "Marks beyond the debt are forgotten, which keeps their share below 1/(gap + 1); off: they come at once.",
            ""
        ),
    ]
);
stage!(
    SHAPER,
    "shaper",
    "Rate-adaptive shaper",
    "Smooths bursts of each aggregate; faster the more packets wait.",
    &[
        Param::new(
            "committed_rate",
            RATE,
            "none",
            "The rate with a short backlog; without it, the committed rate or the target of the marker.",
            "RFC 2963 section 3"
        ),
        Param::new(
            "highest_rate",
            RATE,
            "none",
            "The rate with a long backlog; without it, that of the line.",
            "RFC 2963 section 3"
        ),
        Param::new(
            "low",
            Kind::Count { min: 0, max: 1_000_000 },
            "5",
            "Up to so many packets the backlog is short.",
            ""
        ),
        Param::new(
            "high",
            Kind::Count { min: 1, max: 1_000_000 },
            "20",
            "From so many on it is long.",
            ""
        ),
        Param::new(
            "most",
            Kind::Count { min: 1, max: 1_000_000 },
            "60",
            "A full shaper lets its head go at once.",
            ""
        ),
        Param::new(
            "memory",
            TIME,
            "100ms",
            "How far back the average of the arrival rate looks.",
            "RFC 2963 section 3"
        ),
        Param::new(
            "position",
            Kind::Choice(&["after_marker", "before_marker"]),
            "after_marker",
            "Whether packets are metered as they come or as they leave the shaper.",
            ""
        ),
    ]
);
stage!(
    POLICER,
    "policer",
    "Policer",
    "Drops at the edge what is red after all stages, or yellow and worse.",
    &[Param::new(
        "drop",
        Kind::Choice(&["red", "yellow"]),
        "red",
        "The best colour that is dropped.",
        "RFC 2475 section 2.3.3.4"
    ),]
);
stage!(
    FEEDBACK,
    "feedback",
    "Feedback from exits",
    "Edges tell how much red arrives; where red is lost on the way, it is dropped at the entry.",
    &[
        Param::new("interval", TIME, "200ms", "How often an exit tells.", ""),
        Param::new(
            "drop",
            Kind::Bool,
            "true",
            "Drop at the entry; off: entries learn what is lost and drop nothing.",
            ""
        ),
    ]
);
stage!(
    ADAPTIVE,
    "adaptive",
    "Adaptive",
    "Stages that remember flows are in use while there are few, the SYN flag while there are many.",
    &[
        Param::new(
            "threshold",
            Kind::Count { min: 1, max: 1 << 22 },
            "40",
            "So many flows are many.",
            ""
        ),
        Param::new(
            "memory",
            Kind::Bytes { min: 64, max: 1 << 40 },
            "none",
            "Sets the threshold by resources: what the router has for flows, at 64 bytes each.",
            ""
        ),
        Param::new(
            "lookups",
            Kind::Real { min: 1.0, max: 1e12 },
            "none",
            "Sets it too: look-ups in a second that the router can make.",
            ""
        ),
        Param::new(
            "flow_rate",
            Kind::Real { min: 1e-3, max: 1e9 },
            "100",
            "Packets per second of a flow, for `lookups`.",
            ""
        ),
    ]
);

const TARGET: Param = Param::new(
    "target",
    RATE,
    "",
    "What is below this rate is green; headers count.",
    SOURCE,
);
const PRECEDENCES: Param = Param::new(
    "precedences",
    Kind::Count { min: 2, max: 3 },
    "3",
    "Green, yellow and red, or green and yellow alone.",
    SOURCE,
);
const INTERVAL: Param = Param::new("interval", TIME, "1s", "How often the edges tell each other.", "");

macro_rules! marker {
    ($const:ident, $name:literal, $title:literal, $summary:literal, $params:expr) => {
        #[rustfmt::skip]
        pub static $const: Model = Model {
            name: $name, family: MARKERS, title: $title, summary: $summary, source: SOURCE, params: $params, probes: &[],
        };
    };
}

marker!(
    RTT_AWARE,
    "rtt-aware",
    "Marker by round trip",
    "What is above an aggregate's target is graded by the square of its round trip, so that all get the same rate.",
    &[
        TARGET,
        PRECEDENCES,
        WINDOW,
        Param::new(
            "round_trips",
            Kind::Choice(&["oracle", "measured"]),
            "oracle",
            "Propagation delays of the paths, or what the edges measure and tell.",
            ""
        ),
        Param::new(
            "relation",
            Kind::Choice(&["square", "timeouts"]),
            "square",
            "How loss and round trip belong together: p as 1/R^2, or by a model of TCP with timeouts.",
            "Padhye et al. 1998"
        ),
        Param::new(
            "loss",
            Kind::Choice(&["given", "feedback"]),
            "given",
            "For `timeouts`: where the loss of the aggregate with the least round trip comes from. What exits tell needs \
             the stage feedback, there and here.",
            ""
        ),
        Param::new(
            "reference_loss",
            Kind::Real { min: 1e-3, max: 0.5 },
            "0.02",
            "For `timeouts`, given: the loss of what is yellow or red of the aggregate with the least round trip.",
            ""
        ),
        Param::new(
            "by_target",
            Kind::Bool,
            "false",
            "Graded by the square of targets too.",
            SOURCE
        ),
        INTERVAL,
    ]
);
marker!(
    TARGET_AWARE,
    "target-aware",
    "Marker by target",
    "What is above an aggregate's target is graded by the square of the target, so that excess goes with targets.",
    &[TARGET, PRECEDENCES, WINDOW, INTERVAL,]
);

/// The stages, in the order the reference shows them.
pub fn stages() -> Vec<&'static Model> {
    vec![
        &SYN,
        &SMALL_WINDOW,
        &CWR,
        &SPACING,
        &SHAPER,
        &FEEDBACK,
        &POLICER,
        &ADAPTIVE,
    ]
}

/// What may be its marker: the meters and those of its own.
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

/// The same, to look names up in.
pub fn catalogue(meters: &MeterList) -> Catalogue {
    Catalogue::new(families(meters))
}
