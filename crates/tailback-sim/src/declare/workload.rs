//! The table `[workload.NAME]`, declared.

pub use super::kinds::Connections;
use super::kinds::{SOME_TIME, TIME};
use super::tables::flows;
pub use super::tables::flows::{DSCP, PATHS};
use tailback_base::model::{Key, Kind, Model, Param};
use tailback_base::{Duration, choice, params};

choice! {
    /// The rule that says which hosts send to which.
    pub enum Pattern {
        AllToAll = "all-to-all",
        Permutation = "permutation",
        Pairs = "pairs",
        Incast = "incast",
    }

    /// The distribution of the times between arrivals around their mean.
    pub enum Arrivals {
        Poisson = "poisson",
        LogNormal = "log-normal",
    }
}

impl Pattern {
    /// The number of flows that arrive at one instant.
    pub fn at_once(self, fan_in: u32) -> u32 {
        match self {
            Pattern::Incast => fan_in,
            Pattern::AllToAll | Pattern::Permutation | Pattern::Pairs => 1,
        }
    }
}

pub static WORKLOAD: Model = Model {
    name: "workload",
    family: "table",
    title: "A workload",
    summary: "Flows among many hosts. Each flow is a transfer over its own connection. The connection opens when the \
              flow arrives, whether or not earlier flows have ended, and closes when all data are acknowledged. Each \
              flow has one row in the table of transfers. A table named after a transport, such as `tcp = { \
              congestion = \"dctcp\" }`, chooses that transport.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    pub HOSTS: Vec<String> = Key::new("hosts", Kind::List(&Kind::Text), "none",
        "The nodes that send and receive. Default: all nodes with one link.", "");
    pub SIZES = Param::new("sizes", Kind::Model("transfer-size"), "none",
        "How many bytes a flow has: a law, such as \"web-search\".", "");
    pub SIZES_FILE: Option<String> = Key::new("sizes_file", Kind::Text, "none",
        "A file of sizes and shares, which replaces `sizes`. Each line has a size in bytes and the share of flows that \
         are at most as large, as a fraction or in per cent, in ascending order.", "");
    pub LIST: Option<String> = Key::new("list", Kind::Text, "none",
        "A file of flows, which replaces all that is drawn. Each line has source, destination, bytes, and seconds from \
         the beginning. Hosts are named, or numbered from 0.", "");
    pub DIGEST: Option<String> = Key::new("digest", Kind::Text, "none",
        "Digest of the contents of the file in `sizes_file` or `list`. It is written when a scenario is stored. A file \
         that has changed since then is refused.", "");
    pub LOAD: Option<f64> = Key::new("load", Kind::Real { min: 1e-6, max: 100.0 }, "none",
        "The load: the rate at which payload arrives, as a share of the rates of all hosts' links, or of the links \
         that `load_of` names.", "");
    pub LOAD_OF: Option<String> = Key::new("load_of", Kind::Text, "none",
        "The layer of links to which `load` refers, such as \"leaf-spine\". Default: the links of hosts.", "");
    pub MEAN_GAP: Option<Duration> = Key::new("mean_gap", SOME_TIME, "none",
        "Mean time from one arrival to the next, in place of `load`.", "");
    pub ARRIVALS: Arrivals = Key::choice("arrivals", "poisson",
        "How times between arrivals are distributed: a Poisson process, or log-normal times, which come in bursts.",
        "");
    pub SHAPE: f64 = Key::new("shape", Kind::Real { min: 0.0, max: 10.0 }, "2",
        "For log-normal times: the standard deviation of the logarithm.", "");
    pub PATTERN: Pattern = Key::choice("pattern", "all-to-all",
        "Which hosts send to which: two hosts are drawn for each flow (all-to-all); each host sends to one other host, \
         so that each host receives from one host (permutation); each host sends to one other host that is drawn \
         (pairs); or `fan_in` hosts send to one host at once (incast).",
        "");
    pub FAN_IN: u32 = Key::new("fan_in", Kind::Count { min: 1, max: 100_000 }, "16",
        "With pattern incast: how many hosts send at one instant.", "");
    pub MOST: Option<u64> = Key::new("flows", Kind::Count { min: 1, max: 1 << 32 }, "none",
        "The largest number of flows. Default: as many as arrive until `stop`.", "");
    pub CONNECTION: Connections = Key::choice("connection", "new",
        "Whether each flow opens a new connection, or takes a connection that an earlier flow between the same hosts \
         has left idle. In the second case the flow begins with the window of that connection and without a handshake.",
        "");
    pub TRANSPORT = Param {
        default: "tcp",
        doc: "The protocol of the connections.",
        ..flows::TRANSPORT
    };
    PATHS;
    DSCP;
    pub START: Duration = Key::new("start", TIME, "0s", "When the workload starts.", "");
    pub STOP: Option<Duration> = Key::new("stop", SOME_TIME, "none",
        "When no more flows arrive. Default: at the end of the run.", "");
}
