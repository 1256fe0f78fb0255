//! The tables of a scenario file, declared as [`Model`]s, so that schema, describe, docs and errors share one source.
//!
//! A parameter of [`Kind::Model`] takes a name or a table with `kind`. One of [`Kind::Named`] is a table of tables such
//! as `[link.NAME]`. The crate `tailback-scenario` reads both; the parameter's own check reads everything else.

pub use crate::declare::kinds::LONGEST_SECONDS;
use crate::declare::kinds::{self, SOME_TIME, TIME};
use tailback_base::model::{Choice, Key, Kind, Model, Param, Per, ProbeDef};
use tailback_base::{BitRate, Dscp, Duration, Size, params};

/// The largest number of flows of a scenario, in all groups together.
pub const MOST_FLOWS: u64 = 2_000_000;
/// The rate of a private link that only adds delay. It is so high that the transmission takes no time.
pub const DELAY_ONLY_BPS: u64 = 100_000_000_000_000;

/// The keys at the top of the file.
pub static SCENARIO: Model = Model {
    name: "scenario",
    family: "table",
    title: "The top of a scenario",
    summary: "A scenario is a network of links, flows over it, and what to record. Every quantity carries its unit \
              in text.",
    source: "",
    params: top::PARAMS,
    probes: &[],
};

/// The keys at the top.
pub mod top {
    use super::*;
    pub use crate::declare::paths::{FLOWLET_GAP, ON_FAILURE, PATH_SEED, PATH_SEEDS, PATHS, ROUTE_DELAY};

    params! {
        pub(super) const PARAMS;

        pub NAME: Option<String> = Key::new("name", Kind::Text, "none",
            "What to call the scenario in results. Default: the name of the file.", "");
        pub DURATION: Duration = Key::new("duration", SOME_TIME, "", "How much simulated time to run.", "");
        pub WARMUP: Duration = Key::new("warmup", TIME, "0s",
            "How much time at the start is simulated but not counted in statistics.", "");
        pub SEED: u64 = Key::new("seed", Kind::Count { min: 0, max: i64::MAX as u64 }, "1",
            "The seed of all random streams.", "");
        pub INTERVAL: Option<Duration> = Key::new("interval", SOME_TIME, "none",
            "Report each flow by intervals of this length, in addition to the totals.", "");
        pub MARKING: Option<bool> = Key::new("marking", Kind::Bool, "none",
            "Whether queues mark ECN-capable packets instead of dropping them. Default: true if a flow or session has \
             ECN on, but false in live runs and gateways. A queue's own `ecn` overrides it.", "RFC 3168");
        pub BDP_RTT: Option<String> = Key::new("bdp_rtt", Kind::Text, "none",
            "The round trip from which values such as \"0.5 bdp\" and \"2 rtt\" are computed: \"largest\" or \"mean\" \
             of the flows that cross the link, or a time such as \"40ms\". Default: the round trip that all these \
             flows have; if their round trips differ, the value is refused.", "");
        PATHS;
        PATH_SEED;
        PATH_SEEDS;
        FLOWLET_GAP;
        ROUTE_DELAY;
        ON_FAILURE;
        pub LOG_DROPS: bool = Key::new("log_drops", Kind::Bool, "false",
            "Keep one row for each dropped or marked packet.", "");
        pub SIZE_CLASSES: Vec<String> = Key::new("size_classes", Kind::List(&Kind::Text), "decades",
            "The classes of the table of completions: \"decades\" (up to 1 kB, 10 kB, ... 10 MB, and larger), \
             \"deciles\" of the sizes that the run asks for, or sizes such as [\"20kB\", \"1MB\"], which are the \
             upper ends of the classes; a last class has the larger transfers.", "");
        pub TOPOLOGY = Param::new("topology", Kind::Model("topology"), "none",
            "A well-known network, whose links need not be written out.", "");
        pub LINKS = Param::new("link", Kind::Named("link"), "none",
            "The links, by name; a node exists if a link names it.", "");
        pub SWITCHES = Param::new("switch", Kind::Named("switch"), "none",
            "Switches whose ports share a memory, each by the name of its node.", "");
        pub FLOWS = Param::new("flows", Kind::Named("flows"), "none", "The groups of flows, by name.", "");
        pub SESSIONS = Param::new("sessions", Kind::Named("sessions"), "none",
            "Clients and servers that open connections while the run goes on, by name.", "");
        pub WORKLOADS = Param::new("workload", Kind::Named("workload"), "none",
            "Flows among many hosts, drawn from a distribution of sizes or listed in a file, by name.", "");
        pub END: End = Key::choice("end", "duration",
            "What ends the run: its duration or, if that is earlier, the end of the last session's requests.", "");
        pub PROFILES = Param::new("profile", Kind::Named("profile"), "none",
            "Named sets of tcp values, which flows and other sets choose by `profile`.", "");
        pub CHANGES = Param::new("change", Kind::Named("change"), "none",
            "What changes while the run goes on: rates, delays, losses, values of queues, weights; by name.", "");
        pub RECORDINGS = Param::new("record", Kind::Named("record"), "none",
            "What to record in the course of the run, by name.", "");
    }
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The duration of the scenario.
    Duration,
    /// The end of the last session's requests, or the duration, if that is earlier.
    Sessions,
}

impl Choice for End {
    const WORDS: &'static [&'static str] = &["duration", "sessions"];
    const MEANINGS: &'static [End] = &[End::Duration, End::Sessions];
}

/// The parameters of a link, after those given.
macro_rules! link_params {
    ($($own:expr),*) => {
        &[
            $($own,)*
            link::RATE.param,
            link::DELAY.param,
            link::QUEUE,
            link::CONDITIONER,
            link::IMPAIR,
            link::RATE_CHANGES,
            link::REVERSE_RATE.param,
            link::REVERSE_DELAY.param,
            link::REVERSE_QUEUE,
            link::REVERSE_CONDITIONER,
            link::REVERSE_IMPAIR,
            link::REVERSE_RATE_CHANGES,
        ]
    };
}

pub static LINK: Model = Model {
    name: "link",
    family: "table",
    title: "A link between two nodes",
    summary: "Each direction has a queue, a line of some rate, and a delay. In results, the direction from `from` to \
              `to` has the link's name, and the other direction is `NAME.reverse`.",
    source: "",
    params: link_params!(link::FROM.param, link::TO.param),
    probes: &LINK_PROBES,
};

/// The keys of a link, and of a topology made of links.
pub mod link {
    use super::*;

    params! {
        pub FROM: String = Key::new("from", Kind::Text, "", "The node at one end.", "");
        pub TO: String = Key::new("to", Kind::Text, "", "The node at the other end.", "");
        pub RATE: BitRate = Key::new("rate", kinds::RATE, "", "The rate of the line.", "");
        pub DELAY: Duration = Key::new("delay", TIME, "", "One-way propagation delay.", "");
        pub QUEUE = Param::new("queue", Kind::Model("queue"), "",
            "The queue discipline before the line, with its buffer.", "");
        pub CONDITIONER = Param::new("conditioner", Kind::Model("conditioner"), "none",
            "What marks, shapes or polices packets before the queue, at an edge router. Default: nothing.", "");
        pub IMPAIR = Param::new("impair", Kind::List(&Kind::Model("impairment")), "none",
            "Impairments of packets before the queue, in this order.", "");
        pub RATE_CHANGES = Param::new("rate_changes", Kind::List(&Kind::Model("rate-change")), "none",
            "Changes of the rate during the run.", "");
        pub REVERSE_RATE: Option<BitRate> = Key::new("reverse_rate", kinds::RATE, "none",
            "The rate in the other direction. Default: the same rate.", "");
        pub REVERSE_DELAY: Option<Duration> = Key::new("reverse_delay", TIME, "none",
            "The delay in the other direction. Default: the same delay.", "");
        pub REVERSE_QUEUE = Param::new("reverse_queue", Kind::Model("queue"), "none",
            "The queue in the other direction. Default: a queue of the same kind with the same parameters.", "");
        pub REVERSE_CONDITIONER = Param::new("reverse_conditioner", Kind::Model("conditioner"), "none",
            "The conditioner of the other direction. Default: none.", "");
        pub REVERSE_IMPAIR = Param::new("reverse_impair", Kind::List(&Kind::Model("impairment")), "none",
            "Impairments of packets in the other direction. Default: none.", "");
        pub REVERSE_RATE_CHANGES = Param::new("reverse_rate_changes", Kind::List(&Kind::Model("rate-change")), "none",
            "Changes of the rate in the other direction. Default: none.", "");
        pub HOPS: u32 = Key::new("hops", Kind::Count { min: 1, max: 10_000 }, "", "How many links in a row.", "");
    }

    /// The parts of one direction that have their own tables.
    pub struct Parts {
        pub queue: Param,
        pub conditioner: Param,
        pub impair: Param,
        pub rate_changes: Param,
    }

    /// The parts of the forward and of the reverse direction.
    pub const PARTS: [Parts; 2] = [
        Parts {
            queue: QUEUE,
            conditioner: CONDITIONER,
            impair: IMPAIR,
            rate_changes: RATE_CHANGES,
        },
        Parts {
            queue: REVERSE_QUEUE,
            conditioner: REVERSE_CONDITIONER,
            impair: REVERSE_IMPAIR,
            rate_changes: REVERSE_RATE_CHANGES,
        },
    ];
}

pub static SWITCH: Model = Model {
    name: "switch",
    family: "table",
    title: "A switch with one memory",
    summary: "The ports of the node of this name (all directions of links that leave it) keep their packets in one \
              memory. Dynamic thresholds divide this memory: a queue refuses a packet while it holds `alpha` times the \
              free memory. A discipline without a `buffer` of its own has no other limit, unless its algorithm needs \
              one.",
    source: "Choudhury and Hahne 1998",
    params: switch::PARAMS,
    probes: &[],
};

/// The keys of a switch.
pub mod switch {
    use super::*;

    params! {
        pub(super) const PARAMS;

        pub BUFFER: Size = Key::new("buffer", Kind::Size, "4MB",
            "How much the ports may hold together, in packets or bytes.",
            "4MB: the switches of Alizadeh et al. 2010, table 1");
        pub ALPHA: Vec<f64> = Key::new("alpha", Kind::List(&Kind::Real { min: 0.001, max: 1000.0 }), "1",
            "The length up to which a queue may grow, as a multiple of the free memory. A list has values for queue \
             0, 1, ... of a port with several queues; its last value is for all later queues.",
            "Choudhury and Hahne 1998, section III");
    }
}

/// The probes of every link, with any discipline.
pub static LINK_PROBES: [ProbeDef; 4] = [WAITING_PACKETS, WAITING_BYTES, DELIVERED_BYTES, SOJOURN_PERCENTILES];

pub const WAITING_PACKETS: ProbeDef = ProbeDef {
    name: "queue",
    unit: "packets",
    doc: "Packets that wait, without the packet in transmission.",
    per: "",
};

pub const WAITING_BYTES: ProbeDef = ProbeDef {
    name: "queue_bytes",
    unit: "bytes",
    doc: "Bytes that wait, without the packet in transmission.",
    per: "",
};

pub const DELIVERED_BYTES: ProbeDef = ProbeDef {
    name: "delivered_bytes",
    unit: "bytes",
    doc: "Bytes that have left the line since the start.",
    per: "",
};

pub const SOJOURN_PERCENTILES: ProbeDef = ProbeDef {
    name: "sojourn_percentiles",
    unit: "s",
    doc: "Percentile of the time in the queue, accurate to 3 %, over the packets that left since the end of the \
          warm-up. The index is the percentage, 0 to 100.",
    per: "percent",
};

/// The probes of every edge, with any conditioner.
pub static EDGE_PROBES: [ProbeDef; 1] = [PASSED_PACKETS];

pub const PASSED_PACKETS: ProbeDef = ProbeDef {
    name: "packets",
    unit: "packets",
    doc: "Packets let through since the start, with a row for each colour that has packets. The index is the DiffServ \
          code point of the colour.",
    per: "colour",
};

/// The probes of every flow, with any transport.
pub static FLOW_PROBES: [ProbeDef; 1] = [GOODPUT];

pub const GOODPUT: ProbeDef = ProbeDef {
    name: "goodput",
    unit: "bytes",
    doc: "Payload delivered in order to the application since the start.",
    per: "",
};

pub static DUMBBELL: Model = Model {
    name: "dumbbell",
    family: "topology",
    title: "Dumbbell",
    summary: "One link named `bottleneck` from node `left` to node `right`. `[link.bottleneck]` may override its \
              fields.",
    source: "",
    params: link_params!(),
    probes: &[],
};

pub static PARKING_LOT: Model = Model {
    name: "parking-lot",
    family: "topology",
    title: "Parking lot",
    summary: "A chain of links `hop1` .. `hopN` between nodes `r0` .. `rN`, all alike. `[link.hop2]` may override \
              fields of one link. Flows run from `r0` to `rN` unless they choose other nodes.",
    source: "",
    params: link_params!(link::HOPS.param),
    probes: &[],
};

pub static FLOWS: Model = Model {
    name: "flows",
    family: "table",
    title: "A group of flows",
    summary: "Flows that share path, transport and traffic. Where a list is allowed, the flows of the group take \
              its values in turn. A table named after a transport, such as `tcp = { variant = \"reno\" }`, chooses \
              that transport.",
    source: "",
    params: flows::PARAMS,
    probes: &FLOW_PROBES,
};

tailback_base::choice! {
    /// The fields by which queues tell flows in a tunnel apart.
    pub enum TunnelHash {
        Outer = "outer",
        Inner = "inner",
    }
}

/// The keys of a group of flows.
pub mod flows {
    use super::*;
    pub use crate::declare::paths::{OWN_PATHS as PATHS, VIA};

    params! {
        pub(super) const PARAMS;

        pub COUNT: u32 = Key::new("count", Kind::Count { min: 1, max: MOST_FLOWS }, "1", "How many flows.", "");
        pub FROM: Option<String> = Key::new("from", Kind::Text, "none",
            "The node the data comes from. Default: where the topology or the only link begins.", "");
        pub TO: Option<String> = Key::new("to", Kind::Text, "none",
            "The node the data goes to. Default: where the topology or the only link ends.", "");
        pub WEIGHT: Vec<f64> = Key::new("weight", Kind::Each(Per::Flow, &kinds::WEIGHT), "1",
            "The flow's weight in queues that share the line by weight. Twice the weight gives twice the rate. Other \
             queues ignore it.", "");
        pub RTT: Vec<Duration> = Key::new("rtt", Kind::Each(Per::Flow, &TIME), "none",
            "The round trip with empty queues and without transmission times. It sets the access delay.", "");
        PATHS;
        VIA;
        pub ACCESS_RATE: Vec<BitRate> = Key::new("access_rate", Kind::Each(Per::Flow, &kinds::RATE), "none",
            "Each flow has its own source host behind a link of this rate. Default: there is no such link, or, if a \
             delay is given, a link that only delays.", "");
        pub ACCESS_DELAY: Vec<Duration> = Key::new("access_delay", Kind::Each(Per::Flow, &TIME), "none",
            "One-way delay of the access link.", "");
        pub EXIT_RATE: Vec<BitRate> = Key::new("exit_rate", Kind::Each(Per::Flow, &kinds::RATE), "none",
            "Each flow has its own destination host behind a link of this rate.", "");
        pub EXIT_DELAY: Vec<Duration> = Key::new("exit_delay", Kind::Each(Per::Flow, &TIME), "none",
            "One-way delay of the exit link.", "");
        pub SEND_DELAY: Option<Duration> = Key::new("send_delay", TIME, "none",
            "Each packet waits at its source for a time drawn uniformly from 0 to this. Packets leave in order. The \
             waits break phase effects. With 0s there is no wait.", "");
        pub ACCESS_IMPAIR = Param::new("access_impair", Kind::List(&Kind::Model("impairment")), "none",
            "Impairments of data on the access link.", "");
        pub EXIT_IMPAIR = Param::new("exit_impair", Kind::List(&Kind::Model("impairment")), "none",
            "Impairments of data on the exit link.", "");
        pub CONDITIONER = Param::new("conditioner", Kind::Model("conditioner"), "none",
            "What marks, shapes or polices each flow in its source host, before the access link. If the flow has no \
             access link, it gets a link that takes no time.", "");
        pub SOURCE_EDGE: Option<String> = Key::new("source_edge", Kind::Text, "none",
            "The edge at which the flows enter, for conditioners and queues that work by aggregate. Default: `from`.",
            "");
        pub DESTINATION_EDGE: Option<String> = Key::new("destination_edge", Kind::Text, "none",
            "The edge at which the flows leave. Default: `to`.", "");
        pub TRANSPORT = Param::new("transport", Kind::Model("transport"), "none",
            "The protocol. Default: tcp for bulk, transfer and bursts, udp for the rest.", "");
        pub TRAFFIC = Param::new("traffic", Kind::Model("traffic"), "bulk",
            "What the application sends, and when.", "");
        pub PACKET_SIZE: Option<u32> = Key::new("packet_size", Kind::Bytes { min: 1, max: 65_535 }, "none",
            "Size of each datagram; a short form of sizes = { kind = \"fixed\", bytes = ... }.", "");
        pub SIZES = Param::new("sizes", Kind::Model("sizes"), "fixed",
            "Where the sizes of datagrams, or of writes to tcp, come from.", "");
        pub METER = Param::new("meter", Kind::Model("meter"), "none",
            "An additional measure of each flow, in the table of intervals.", "");
        pub DEADLINE: Option<Duration> = Key::new("deadline", SOME_TIME, "none",
            "Measure the quality of delivery: the table of datagrams has runs of losses, jitter, and the datagrams \
             whose delay is longer than this. Default: 150ms for voice and video, otherwise no such measure.", "");
        pub PLAYOUT = Param::new("playout", Kind::Model("playout"), "none",
            "Measure what is heard or seen: the table of playout has the datagrams or frames that are lost or too \
             late at their playout time, the rating of a call, and the freezes of video.", "");
        pub DSCP: Dscp = Key::new("dscp", Kind::CodePoint, "CS0",
            "The DiffServ code point of the packets that the ends send, in both directions: data, ACKs, answers. \
             Conditioners may change it on the way.", "RFC 2474, RFC 4594");
        pub TUNNEL: Option<String> = Key::new("tunnel", Kind::Text, "none",
            "The tunnel that the flows are in. Queues see the ends of the tunnel as source and destination of all \
             flows in it.", "");
        pub TUNNEL_HASH: TunnelHash = Key::choice("tunnel_hash", "outer",
            "How many flows a tunnel has for queues that keep flows apart: one, by the outer header; or all flows, by \
             a hash of the inner header.", "RFC 2983 section 2; RFC 6438");
        pub START = Param::new("start", Kind::Model("instants"), "0s",
            "When the flows start: an instant, a list taken in turn, or a table with kind.", "");
        pub STOP = Param::new("stop", Kind::Model("instants"), "none",
            "When the flows stop sending. Default: at the end of the run.", "");
    }
}

pub static SESSIONS: Model = Model {
    name: "sessions",
    family: "table",
    title: "Sessions",
    summary: "Clients that talk to servers over connections opened while the run goes on. `kind` chooses how; the \
              parameters of the kind are in the same table. Data go from the servers at `from` to the clients at `to`. \
              Each client has one row in the results, whatever number of connections it opens, and each transfer has \
              one in the table of transfers. A table named after a transport, such as `tcp = { variant = \"reno\" }`, \
              chooses that transport.",
    source: "",
    params: sessions::PARAMS,
    probes: &[],
};

/// The keys of sessions. Keys that flows have too are those of [`flows`].
pub mod sessions {
    pub use super::flows::{ACCESS_DELAY, DSCP, EXIT_DELAY, PATHS, TUNNEL, TUNNEL_HASH};
    use super::*;

    params! {
        pub(super) const PARAMS;

        pub CLIENTS: u32 = Key::new("clients", Kind::Count { min: 1, max: MOST_FLOWS }, "1", "How many clients.", "");
        pub SERVERS: Option<u32> = Key::new("servers", Kind::Count { min: 1, max: MOST_FLOWS }, "none",
            "How many servers there are. The clients take the servers in turn or, with incast, each client asks all \
             servers. Default: one for each client.", "");
        pub FROM: Option<String> = flows::FROM.with_doc(
            "The node of the servers. Default: where the topology or the only link begins.");
        pub TO: Option<String> = flows::TO.with_doc(
            "The node of the clients. Default: where the topology or the only link ends.");
        pub WEIGHT: Vec<f64> = flows::WEIGHT.with_doc(
            "The client's weight in queues that share the line by weight. Other queues ignore it.");
        pub RTT: Vec<Duration> = flows::RTT.with_doc(
            "The round trip with empty queues and without transmission times. It sets the delay of the clients' \
             links.");
        pub ACCESS_RATE: Vec<BitRate> = flows::ACCESS_RATE.with_doc(
            "Each server has its own host behind a link of this rate.");
        PATHS;
        ACCESS_DELAY;
        pub EXIT_RATE: Vec<BitRate> = flows::EXIT_RATE.with_doc(
            "Each client has its own host behind a link of this rate.");
        EXIT_DELAY;
        pub TRANSPORT = Param {
            default: "tcp",
            doc: "The protocol of the connections.",
            ..flows::TRANSPORT
        };
        DSCP;
        TUNNEL;
        TUNNEL_HASH;
        pub START = Param {
            doc: "When the clients start: an instant, a list taken in turn, or a table with kind.",
            ..flows::START
        };
        pub STOP = Param {
            doc: "When the clients stop beginning anything new. Default: at the end of the run.",
            ..flows::STOP
        };
    }
}

pub static RECORD: Model = Model {
    name: "record",
    family: "table",
    title: "A recording",
    summary: "Which quantities of a link, of the flows of a group or of a conditioner to write down, and when. Give \
              one of `link`, `flows` and `edge`, and one of `every` and `on_change`.",
    source: "",
    params: record::PARAMS,
    probes: &[],
};

/// The keys of a recording.
pub mod record {
    use super::*;

    params! {
        pub(super) const PARAMS;

        pub LINK: Option<String> = Key::new("link", Kind::Text, "none", "The link, `NAME` or `NAME.reverse`.", "");
        pub FLOWS: Option<String> = Key::new("flows", Kind::Text, "none",
            "The group of flows, `NAME`, or one of its flows, `NAME.0`. With `.reverse` after the name, the packets \
             that the destinations send back.", "");
        pub EDGE: Option<String> = Key::new("edge", Kind::Text, "none",
            "The conditioner of a link, `NAME` or `NAME.reverse`, or of the hosts of a group, `flows.NAME`.", "");
        pub PROBES: Vec<String> = Key::new("probes", Kind::List(&Kind::Text), "",
            "The names of the quantities, such as `queue` or `cwnd`. A sample has the first 4,096 values of a \
             quantity. Of further values, as with a million queues, it has only those that are not 0.", "");
        pub EVERY: Option<Duration> = Key::new("every", SOME_TIME, "none",
            "The time between two rows.", "");
        pub ON_CHANGE: bool = Key::new("on_change", Kind::Bool, "false",
            "A row whenever the value changes. A quantity that each packet has, such as the `delay` of datagrams, has \
             a row for each packet.", "");
    }
}

pub static RATE_CHANGE: Model = Model {
    name: "rate-change",
    family: "rate-change",
    title: "A change of rate",
    summary: "From an instant on, the line has another rate.",
    source: "",
    params: rate_change::PARAMS,
    probes: &[],
};

/// The keys of a change of rate.
pub mod rate_change {
    use super::*;

    params! {
        pub(super) const PARAMS;

        pub AT: Duration = Key::new("at", TIME, "", "When the rate changes.", "");
        pub RATE: BitRate = Key::new("rate", kinds::RATE_OR_OUTAGE, "", "The new rate; 0 is an outage.", "");
    }
}
