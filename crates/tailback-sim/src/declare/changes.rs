//! Declares the changes during a run: the table `[change.NAME]`.

use super::kinds::{PROBABILITY, RATE_OR_OUTAGE, SOME_TIME, TIME, WEIGHT};
use tailback_base::model::{Kind, Model, Param, Per};
use tailback_base::{BitRate, Duration, Key, choice, params};

choice! {
    /// The behaviour at the end of a trace.
    pub enum TraceEnd {
        /// The trace repeats.
        Wrap = "wrap",
        /// Its last rate stays.
        Hold = "hold",
    }
}

params! {
    pub const PARAMS;
    pub LINK: Option<String> = Key::new("link", Kind::Text, "none",
        "The direction of a link whose rate, delay, loss or queue changes: `NAME`, or `NAME.reverse`.", "");
    pub FLOWS: Option<String> = Key::new("flows", Kind::Text, "none",
        "The group of flows whose weight or congestion control changes.", "");
    pub AT: Vec<Duration> = Key::new("at", Kind::Each(Per::Change, &TIME), "none",
        "The instants at which the values take effect, in order.", "");
    pub EVERY: Option<Duration> = Key::new("every", SOME_TIME, "none",
        "The period after which the next value takes effect.", "");
    pub FROM: Option<Duration> = Key::new("from", TIME, "none",
        "When the first value takes effect, with `every`. Default: after the first period.", "");
    pub RATES: Vec<BitRate> = Key::new("rate", Kind::Each(Per::Change, &RATE_OR_OUTAGE), "none",
        "Rates of the link; 0 is an outage. The packet on the line keeps the rate that it was sent with.", "");
    pub DELAYS: Vec<Duration> = Key::new("delay", Kind::Each(Per::Change, &TIME), "none",
        "One-way propagation delays of the link. No packet overtakes a packet that is on the way.", "");
    pub LOSSES: Vec<f64> = Key::new("loss", Kind::Each(Per::Change, &PROBABILITY), "none",
        "Probabilities of random loss before the queue of the link.", "");
    pub UP: Vec<bool> = Key::new("up", Kind::Each(Per::Change, &Kind::Bool), "none",
        "Whether the link, in both directions, is up: false is a failure. Where `paths` is not \"first\", routes \
         change after the time `route_delay`, a key at the top of the scenario.", "");
    pub QUEUES = Param::new("queue", Kind::List(&Kind::Model("queue")), "none",
        "Parameters of the link's queue, which keeps its packets and its state. Each value is a table with the `kind` \
         of that queue. Parameters that are not in this table have the values of the link's own table.", "");
    pub WEIGHTS: Vec<f64> = Key::new("weight", Kind::Each(Per::Change, &WEIGHT), "none",
        "Weights of the flows, for queues that share the line by weight.", "");
    pub CONGESTION = Param::new("congestion", Kind::List(&Kind::Model("congestion")), "none",
        "Congestion controls of the flows' sources. The window and the threshold do not change, and the new \
         control begins in congestion avoidance.", "");
    pub TRACE: Option<String> = Key::new("trace", Kind::Text, "none",
        "A CSV file that the rate of the link follows, with columns `time_s` and `rate_bps` (or `time_ms`, \
         `rate_kbps`, `rate_mbps`; `time` and `rate` with a unit in each value). A rate of 0 is an outage.", "");
    pub MAHIMAHI: Option<String> = Key::new("mahimahi", Kind::Text, "none",
        "A file of Mahimahi that the link follows. Each line is a time in milliseconds at which 1504 bytes may be \
         delivered.",
        "Netravali et al. 2015");
    pub END: TraceEnd = Key::choice("end", "wrap",
        "What follows the end of a trace: the trace begins again at the time of its last line, and the rate of that \
         line is not used; or the rate of the last line continues.", "");
    pub DIGEST: Option<String> = Key::new("digest", Kind::Text, "none",
        "Digest of the contents of the trace file. It is written when a scenario is stored. A file that has changed \
         since then is refused.", "");
}

pub static CHANGE: Model = Model {
    name: "change",
    family: "table",
    title: "A change during the run",
    summary: "Changes one property of a link or of a group of flows at given times. Give one of `link` and `flows`; \
              one of `rate`, `delay`, `loss`, `up`, `queue`, `weight`, `congestion`, `trace` and `mahimahi`; and, \
              except with a trace, one of `at` and `every`. Values are taken in turn.",
    source: "",
    params: PARAMS,
    probes: &[],
};
