//! What flows send, when they start, and what links do to packets: the models the engine itself provides.
//!
//! The engine reads the checked values by these names; [`super::read`] turns instants and impairments into
//! [`crate::spec`] types.

use super::tables::{RATE, SOME_TIME, TIME};
use tailback_base::model::{Kind, Model, Param, Per};

const PROBABILITY: Kind = Kind::Real { min: 0.0, max: 1.0 };
const BYTES: Kind = Kind::Bytes { min: 1, max: 65_535 };
const ACTION: Param = Param::new(
    "action",
    Kind::Choice(&["drop", "mark"]),
    "drop",
    "Drop the packet, or set CE if it is ECN-capable.",
    "",
);

macro_rules! models {
    ($($id:ident $family:literal $name:literal $title:literal $summary:literal $source:literal [$($param:expr),* $(,)?];)*) => {
        $(pub static $id: Model = Model { name: $name, family: $family, title: $title, summary: $summary, source: $source, params: &[$($param),*], probes: &[] };)*
    };
}

models! {
    BULK "traffic" "bulk" "Bulk transfer" "Always has data to send." "" [];
    TRANSFER "traffic" "transfer" "Transfer of a given size" "Sends so many bytes, then closes." "" [
        Param::new("size", Kind::Each(Per::Flow, &Kind::Bytes { min: 1, max: 1 << 50 }), "",
            "How many bytes each flow sends.", ""),
    ];
    BURSTS "traffic" "bursts" "Bursts with pauses"
        "Sends so much over its one connection, waits until all of it is acknowledged, thinks for a while, and does so again. The time of a burst runs from its first byte handed to the transport to its last acknowledgement."
        "W-BURST of the multi-queue buffer study, after Kantawala and Turner 2005, chapter 3" [
        Param::new("size", Kind::Each(Per::Flow, &Kind::Size), "256 packets",
            "How much each flow sends in a burst: so many full segments, or so many bytes of payload.", "256 packets: Kantawala and Turner 2005"),
        Param::new("mean_think", TIME, "2s", "The mean pause between a burst and the next.", "Kantawala and Turner 2005"),
        Param::new("distribution", Kind::Choice(&["constant", "exponential"]), "exponential",
            "How the pauses are distributed.", "Kantawala and Turner 2005"),
    ];
    CBR "traffic" "cbr" "Constant bit rate" "A packet every size / rate." "" [
        Param::new("rate", Kind::Each(Per::Flow, &RATE), "", "The rate of each flow.", ""),
        Param::new("jitter", PROBABILITY, "0",
            "Each gap is multiplied by a number uniform in 1 - jitter to 1 + jitter.", ""),
    ];
    POISSON "traffic" "poisson" "Poisson arrivals" "Packets with independent exponential gaps." "" [
        Param::new("rate", Kind::Each(Per::Flow, &RATE), "", "The mean rate of each flow.", ""),
    ];
    CHURN "traffic" "churn" "Poisson arrivals with changing addresses"
        "Packets with independent exponential gaps, to an address of the flow's own: a random label, which queues that \
         hash the label take for the destination. With `mean_hold` the address is drawn again and again, so that \
         one flow ends and another begins."
        "Kantawala and Turner, WUCSE-2005-11, chapter 5" [
        Param::new("rate", Kind::Each(Per::Flow, &RATE), "", "The mean rate of each flow.", ""),
        Param::new("mean_hold", Kind::Time { min: 1e-6, max: 280_800.0 }, "none", "The mean of the exponential time an address is kept; for ever unless given.",
            "thesis chapter 5: 0.5 to 5 s"),
    ];
    ON_OFF "traffic" "on-off" "On-off source" "Sends at a constant rate while on, nothing while off." "" [
        Param::new("rate", Kind::Each(Per::Flow, &RATE), "", "The rate of each flow while on.", ""),
        Param::new("mean_on", SOME_TIME, "", "The mean length of a time on.", ""),
        Param::new("mean_off", SOME_TIME, "", "The mean length of a time off.", ""),
        Param::new("distribution", Kind::Choice(&["constant", "exponential"]), "exponential",
            "How the lengths are distributed.", ""),
    ];

    FIXED "sizes" "fixed" "One size" "All packets have this size." "" [
        Param::new("bytes", BYTES, "1500B", "The size.", ""),
    ];
    EXPONENTIAL "sizes" "exponential" "Exponential sizes"
        "Sizes drawn from an exponential distribution, cut at both ends." "" [
        Param::new("mean", BYTES, "", "The mean before cutting.", ""),
        Param::new("min", BYTES, "40B", "Smaller draws become this.", ""),
        Param::new("max", BYTES, "1500B", "Larger draws become this.", ""),
    ];
    BIMODAL "sizes" "bimodal" "Two sizes" "Each packet is large with probability `share`, otherwise small." "" [
        Param::new("small", BYTES, "", "The small size.", ""),
        Param::new("large", BYTES, "", "The large size.", ""),
        Param::new("share", PROBABILITY, "", "The share of large packets, by number.", ""),
    ];
    LISTED "sizes" "listed" "Listed sizes" "Sizes taken from a list: packet after packet, in turn." "" [
        Param::new("bytes", Kind::List(&BYTES), "", "The sizes.", ""),
    ];

    AT "instants" "at" "Given instants"
        "The flows take these instants in turn. Short: the instant or the list alone." "" [
        Param::new("times", Kind::Each(Per::Flow, &TIME), "", "The instants, since the start of the run.", ""),
    ];
    UNIFORM "instants" "uniform" "Uniform instants" "Each flow draws its instant uniformly between two." "" [
        Param::new("from", TIME, "0s", "The earliest instant.", ""),
        Param::new("to", TIME, "", "The latest instant, not itself included.", ""),
    ];
    POISSON_INSTANTS "instants" "poisson" "Poisson instants"
        "Each flow follows the one before after an exponential gap." "" [
        Param::new("from", TIME, "0s", "Where the first gap begins.", ""),
        Param::new("mean_gap", SOME_TIME, "", "The mean gap.", ""),
        Param::new("order", Kind::Choice(&["index", "random"]), "index",
            "Which flow takes which instant: one after the other, or drawn.", ""),
    ];
    AFTER "instants" "after" "A time after the start" "This long after the flow's own start; for `stop`." "" [
        Param::new("delay", Kind::Each(Per::Flow, &SOME_TIME), "", "How long.", ""),
    ];

    BY_INDEX "impairment" "by-index" "Chosen packets" "Strikes the packets with these arrival indices." "" [
        Param::new("indices", Kind::List(&Kind::Count { min: 0, max: u64::MAX }), "",
            "The indices; the first packet to arrive has index 0.", ""),
        ACTION,
    ];
    EVERY_NTH "impairment" "every-nth" "Every n-th packet" "Strikes the packets with index n-1, 2n-1 and so on." "" [
        Param::new("n", Kind::Count { min: 1, max: u64::MAX }, "", "How often.", ""),
        ACTION,
    ];
    RANDOM "impairment" "random" "Random loss" "Strikes each packet on its own with one probability." "" [
        Param::new("probability", PROBABILITY, "", "How likely.", ""),
        ACTION,
    ];
    GILBERT "impairment" "gilbert" "Gilbert-Elliott loss" "A good and a bad state, each with its own probability of loss; the state may change with each packet."
        "E. N. Gilbert 1960; E. O. Elliott 1963" [
        Param::new("to_bad", PROBABILITY, "", "Probability of going from good to bad, per packet.", ""),
        Param::new("to_good", PROBABILITY, "", "Probability of going from bad to good, per packet.", ""),
        Param::new("loss_good", PROBABILITY, "0", "Probability of loss in the good state.", "Gilbert 1960"),
        Param::new("loss_bad", PROBABILITY, "1", "Probability of loss in the bad state.", ""),
        ACTION,
    ];
    DUPLICATE "impairment" "duplicate" "Duplication" "Sends a packet twice." "" [
        Param::new("probability", PROBABILITY, "", "How likely, for each packet on its own.", ""),
    ];
    REORDER "impairment" "reorder" "Reordering" "Holds a packet back, so that later ones overtake it." "" [
        Param::new("probability", PROBABILITY, "", "How likely, for each packet on its own.", ""),
        Param::new("delay", SOME_TIME, "", "How long it is held back.", ""),
    ];
    SEND_DELAY "impairment" "send-delay" "Random send delay"
        "Each packet waits a time uniform in 0 to `max`, never overtaking." "" [
        Param::new("max", SOME_TIME, "", "The longest wait.", ""),
    ];

    SETTLING "meter" "settling" "Convergence time"
        "How long it takes in each interval until the rate of delivery stays within a band around a reserved rate: three columns of the table of intervals, where all deliveries since the clock started count, all but the first, or those of a sliding window. An interval that ends outside the band counts with its whole length."
        "Kantawala and Turner 2005, chapter 7" [
        Param::new("rate", Kind::Each(Per::Flow, &RATE), "", "The rate reserved for each flow, whole packets.", ""),
        Param::new("within", Kind::Real { min: 0.0, max: 1.0 }, "0.1", "Half the width of the band, as a share of the rate.", "Kantawala and Turner 2005"),
        Param::new("sides", Kind::Choice(&["both", "below"]), "both", "Whether being above the band also counts as outside.", ""),
        Param::new("from", Kind::Choice(&["interval", "first"]), "interval",
            "What starts the clock: the interval, or the first delivery in it.", ""),
        Param::new("window", SOME_TIME, "100ms", "The length of the sliding window.", ""),
    ];

    UDP "transport" "udp" "Datagrams"
        "One datagram a packet, nothing repeated, nothing acknowledged." "RFC 768" [
        Param::new("header", Kind::Bytes { min: 0, max: 255 }, "0B",
            "How many bytes of each packet are no payload; packet_size is always the size on the wire.", ""),
        Param::new("ecn", Kind::Bool, "false", "Datagrams are ECN-capable (ECT(0)).", "RFC 3168, section 5"),
    ];
}

/// Every traffic source.
pub static TRAFFIC: &[&Model] = &[&BULK, &TRANSFER, &BURSTS, &CBR, &POISSON, &CHURN, &ON_OFF];
/// Every distribution of packet sizes.
pub static SIZES: &[&Model] = &[&FIXED, &EXPONENTIAL, &BIMODAL, &LISTED];
/// Every way to give instants.
pub static INSTANTS: &[&Model] = &[&AT, &UNIFORM, &POISSON_INSTANTS, &AFTER];
/// Every impairment of a link.
pub static IMPAIRMENTS: &[&Model] = &[
    &BY_INDEX,
    &EVERY_NTH,
    &RANDOM,
    &GILBERT,
    &DUPLICATE,
    &REORDER,
    &SEND_DELAY,
];
