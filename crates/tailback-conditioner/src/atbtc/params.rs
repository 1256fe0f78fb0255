//! What a scenario may say of the adaptive token bucket, and what it shows.

use crate::meter::params::{BURST, CLASS, PER, RATE};
use tailback_base::{Kind, Model, Param, ProbeDef};

const THESIS: &str = "Liu 2001 chapter 4";

pub static MODEL: Model = Model {
    name: "atbtc",
    family: "conditioner",
    title: "Adaptive token bucket conditioner",
    summary: "A two rate three colour marker whose buckets are as deep as what comes at their rates in the sender's smoothed \
              round trip, so that a window of TCP, which comes in one burst, is within its rates.",
    source: "Liu 2001 chapter 4; RFC 2698",
    params: &[
        COMMITTED_RATE,
        PEAK_RATE,
        MIN_DEPTH,
        COLOURS,
        DEPTH_FLOOR,
        RETRANSMIT_GREEN,
        SLOWSTART_POLICE,
        BY_WEIGHT,
        SRTT_SOURCE,
        REPORT_DELAY,
        PER,
        CLASS,
    ],
    probes: PROBES,
};

pub const COMMITTED_RATE: Param = Param::new(
    "committed_rate",
    RATE,
    "",
    "The baseline rate the client is to get, which is green; headers count.",
    THESIS,
);
pub const PEAK_RATE: Param = Param::new(
    "peak_rate",
    RATE,
    "none",
    "The higher rate, above which packets are red; without it twice the committed rate.",
    THESIS,
);
pub const MIN_DEPTH: Param = Param::new(
    "min_depth",
    BURST,
    "5000B",
    "How much both buckets hold before the first round-trip time is known, and at least later; at least what the sender \
     sends at once in the beginning.",
    "Liu 2001 chapter 4: 5 packets of 1000 bytes",
);
pub const COLOURS: Param = Param::new(
    "colours",
    Kind::Count { min: 2, max: 3 },
    "3",
    "With 2 there is no yellow: what the committed rate does not allow is red.",
    THESIS,
);
pub const DEPTH_FLOOR: Param = Param::new(
    "depth_floor",
    Kind::Bool,
    "true",
    "Never be less deep than min_depth; without it a short round trip makes a depth of less than the first window.",
    THESIS,
);
pub const RETRANSMIT_GREEN: Param = Param::new(
    "retransmit_green",
    Kind::Bool,
    "false",
    "Every retransmission is green, and takes what tokens there are.",
    THESIS,
);
pub const SLOWSTART_POLICE: Param = Param::new(
    "slowstart_police",
    Kind::Bool,
    "false",
    "Drop the first red packet of each slow start, whatever the load is, so that slow start ends.",
    THESIS,
);
pub const BY_WEIGHT: Param = Param::new(
    "by_weight",
    Kind::Bool,
    "false",
    "Each flow that is there brings both rates times its weight; a client of several flows has the sum.",
    "",
);
pub const SRTT_SOURCE: Param = Param::new(
    "srtt_source",
    Kind::Choice(&["sender", "snoop"]),
    "sender",
    "Who knows the round trip: the sender, which tells it; or nobody, and a router reads it off the time stamps of data and \
     acknowledgements that pass.",
    THESIS,
);
pub const REPORT_DELAY: Param = Param::new(
    "report_delay",
    Kind::Time { min: 0.0, max: 1e3 },
    "0s",
    "How late the sender's round-trip time is known: nothing in its host; on a link what it takes to report it.",
    THESIS,
);

pub const PROBES: &[ProbeDef] = &[
    probe("committed_tokens", "bytes", "How much green may come at once now."),
    probe("committed_depth", "bytes", "How much green may come at once at most."),
    probe(
        "peak_tokens",
        "bytes",
        "How much may come at once now before packets are red.",
    ),
    probe(
        "peak_depth",
        "bytes",
        "How much may come at once at most before packets are red.",
    ),
    probe(
        "round_trip",
        "s",
        "The smoothed round trip that the depths follow; 0 before the first.",
    ),
];

const fn probe(name: &'static str, unit: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit,
        doc,
        per: "",
    }
}
