//! The tables of a scenario file, declared as [`Model`]s, so that schema, describe, docs and errors share one source.
//!
//! A parameter of [`Kind::Model`] takes a name or a table with `kind`; one of [`Kind::Named`] is a table of tables such
//! as `[link.NAME]`; both are read by [`crate::scenario::read`], everything else by the parameter's own check.

pub use crate::declare::kinds::LONGEST_SECONDS;
pub(super) use crate::declare::kinds::{RATE, SOME_TIME, TIME, WEIGHT};
use tailback_base::model::{Kind, Model, Param, Per, ProbeDef};

/// The most flows of a scenario, all groups together.
pub const MOST_FLOWS: u64 = 2_000_000;
/// The rate of a private link that is there only to delay: fast enough to take no time.
pub const DELAY_ONLY_BPS: u64 = 100_000_000_000_000;

/// What stands at the top of the file.
#[rustfmt::skip]
pub static SCENARIO: Model = Model {
    name: "scenario",
    family: "table",
    title: "The top of a scenario",
    summary: "A scenario is a network of links, flows over it, and what to record. Every quantity carries its unit \
              in text.",
    source: "",
    params: &[
        Param::new("name", Kind::Text, "none",
            "What to call the scenario in results; without it, the name of the file.", ""),
        Param::new("duration", SOME_TIME, "", "How much simulated time to run.", ""),
        Param::new("warmup", TIME, "0s", "How much time at the start is simulated but not counted in statistics.", ""),
        Param::new("seed", Kind::Count { min: 0, max: i64::MAX as u64, }, "1", "The seed of all random streams.", ""),
        Param::new("interval", SOME_TIME, "none",
            "Report each flow by intervals of this length, beside the totals.", ""),
        Param::new("marking", Kind::Bool, "none",
            "Whether queues mark ECN-capable packets instead of dropping them. Default: true where a flow or session \
             has \
             ECN on, in live runs and gateways false. A queue's own `ecn` overrides it.", "RFC 3168"),
        Param::new("log_drops", Kind::Bool, "false", "Keep one row for each dropped or marked packet.", ""),
        Param::new("topology", Kind::Model("topology"), "none",
            "A well-known network, whose links need not be written out.", ""),
        Param::new("link", Kind::Named("link"), "none",
            "The links, by name; nodes come into being by being named.", ""),
        Param::new("flows", Kind::Named("flows"), "none", "The groups of flows, by name.", ""),
        Param::new("sessions", Kind::Named("sessions"), "none",
            "Clients and servers that open connections while the run goes on, by name.", ""),
        Param::new("end", Kind::Choice(&["duration", "sessions"]), "duration",
            "What ends the run: its duration, or earlier the last session that has nothing more to ask for.", ""),
        Param::new("profile", Kind::Named("profile"), "none",
            "Named sets of tcp values, which flows and other sets choose by `profile`.", ""),
        Param::new("change", Kind::Named("change"), "none",
            "What changes while the run goes on: rates, delays, losses, values of queues, weights; by name.", ""),
        Param::new("record", Kind::Named("record"), "none", "What to record in the course of the run, by name.", ""),
    ],
    probes: &[],
};

/// The parameters of a link, after those given.
#[rustfmt::skip]
macro_rules! link_params {
    ($($own:expr),*) => {
        &[
            $($own,)*
            Param::new("rate", RATE, "", "The rate of the line.", ""),
            Param::new("delay", TIME, "", "One-way propagation delay.", ""),
            Param::new("queue", Kind::Model("queue"), "",
                "The queue discipline before the line, with its buffer.", ""),
            Param::new("conditioner", Kind::Model("conditioner"), "none",
                "What marks, shapes or polices packets before the queue, at an edge router; without it, nothing.", ""),
            Param::new("impair", Kind::List(&Kind::Model("impairment")), "none",
                "What happens to packets before the queue, in this order.", ""),
            Param::new("rate_changes", Kind::List(&Kind::Model("rate-change")), "none",
                "Changes of the rate during the run.", ""),
            Param::new("reverse_rate", RATE, "none", "The rate in the other direction; without it, the same rate.", ""),
            Param::new("reverse_delay", TIME, "none",
                "The delay in the other direction; without it, the same delay.", ""),
            Param::new("reverse_queue", Kind::Model("queue"), "none",
                "The queue in the other direction; without it, another of the same sort.", ""),
            Param::new("reverse_conditioner", Kind::Model("conditioner"), "none",
                "The conditioner of the other direction; without it, none.", ""),
            Param::new("reverse_impair", Kind::List(&Kind::Model("impairment")), "none",
                "What happens to packets in the other direction; without it, nothing.", ""),
            Param::new("reverse_rate_changes", Kind::List(&Kind::Model("rate-change")), "none",
                "Changes of the rate in the other direction; without it, none.", ""),
        ]
    };
}

#[rustfmt::skip]
pub static LINK: Model = Model {
    name: "link",
    family: "table",
    title: "A link between two nodes",
    summary: "Each direction has a queue, a line of some rate, and a delay. Results call the way from `from` to \
              `to` by the link's name, the way back `NAME.reverse`.",
    source: "",
    params: link_params!(
        Param::new("from", Kind::Text, "", "The node at one end.", ""),
        Param::new("to", Kind::Text, "", "The node at the other end.", "")),
    probes: &LINK_PROBES,
};

/// What any link can be asked for, whatever its discipline.
pub static LINK_PROBES: [ProbeDef; 4] = [
    ProbeDef {
        name: "queue",
        unit: "packets",
        doc: "Packets waiting, without the one on the line.",
        per: "",
    },
    ProbeDef {
        name: "queue_bytes",
        unit: "bytes",
        doc: "Bytes waiting, without the packet on the line.",
        per: "",
    },
    ProbeDef {
        name: "delivered_bytes",
        unit: "bytes",
        doc: "Bytes that have left the line since the start.",
        per: "",
    },
    ProbeDef {
        name: "sojourn_percentiles",
        unit: "s",
        doc: "Time in the queue that so many percent of packets have not exceeded, 0 to 100 (the index), of those \
              that left since the end of the warm-up; to 3 %.",
        per: "percent",
    },
];

/// What any edge can be asked for, whatever its conditioner.
pub static EDGE_PROBES: [ProbeDef; 1] = [ProbeDef {
    name: "packets",
    unit: "packets",
    doc: "Packets let through since the start, one row for each colour that has any (index: its DiffServ code point).",
    per: "colour",
}];

/// What any flow can be asked for, whatever its transport.
pub static FLOW_PROBES: [ProbeDef; 1] = [ProbeDef {
    name: "goodput",
    unit: "bytes",
    doc: "Payload delivered to the application since the start.",
    per: "",
}];

#[rustfmt::skip]
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

#[rustfmt::skip]
pub static PARKING_LOT: Model = Model {
    name: "parking-lot",
    family: "topology",
    title: "Parking lot",
    summary: "A chain of links `hop1` .. `hopN` between nodes `r0` .. `rN`, all alike. `[link.hop2]` may override \
              fields of one. Flows run from `r0` to `rN` unless they choose other nodes.",
    source: "",
    params: link_params!(Param::new("hops", Kind::Count { min: 1, max: 10_000 }, "", "How many links in a row.", "")),
    probes: &[],
};

#[rustfmt::skip]
pub static FLOWS: Model = Model {
    name: "flows",
    family: "table",
    title: "A group of flows",
    summary: "Flows that share path, transport and traffic. Where a list is allowed, the flows of the group take \
              its values in turn. A table named after a transport, such as `tcp = { variant = \"reno\" }`, chooses \
              that transport.",
    source: "",
    params: &[
        Param::new("count", Kind::Count { min: 1, max: MOST_FLOWS, }, "1", "How many flows.", ""),
        Param::new("from", Kind::Text, "none",
            "The node the data comes from; without it, where the topology or the only link begins.", ""),
        Param::new("to", Kind::Text, "none",
            "The node the data goes to; without it, where the topology or the only link ends.", ""),
        Param::new("weight", Kind::Each(Per::Flow, &WEIGHT), "1",
            "The flow's share where a queue shares the line by weight: twice the weight, twice the rate. Other queues \
             do not look at it.", ""),
        Param::new("rtt", Kind::Each(Per::Flow, &TIME), "none",
            "The round trip with empty queues and without transmission times; sets the access delay.", ""),
        Param::new("access_rate", Kind::Each(Per::Flow, &RATE), "none",
            "Each flow has its own source host behind a link of this rate. Without it there is none, or, if a delay is \
             asked for, one that only delays.", ""),
        Param::new("access_delay", Kind::Each(Per::Flow, &TIME), "none", "One-way delay of that link.", ""),
        Param::new("exit_rate", Kind::Each(Per::Flow, &RATE), "none",
            "Each flow has its own destination host behind a link of this rate.", ""),
        Param::new("exit_delay", Kind::Each(Per::Flow, &TIME), "none", "One-way delay of that link.", ""),
        Param::new("send_delay", TIME, "none",
            "Each packet leaves its source after a wait uniform in 0 to this, in order; breaks phase effects. 0s for \
             none.", ""),
        Param::new("access_impair", Kind::List(&Kind::Model("impairment")), "none",
            "What happens to data on the access link.", ""),
        Param::new("exit_impair", Kind::List(&Kind::Model("impairment")), "none",
            "What happens to data on the exit link.", ""),
        Param::new("conditioner", Kind::Model("conditioner"), "none",
            "What marks, shapes or polices each flow in its source host, before the access link (one that takes no \
             time, \
             if no other is asked for).", ""),
        Param::new("source_edge", Kind::Text, "none",
            "The edge at which the flows enter, for conditioners and queues that go by aggregate; without it, \
             `from`.", ""),
        Param::new("destination_edge", Kind::Text, "none",
            "The edge at which they leave; without it, `to`.", ""),
        Param::new("transport", Kind::Model("transport"), "none",
            "The protocol; without it tcp for bulk, transfer and bursts, udp for the rest.", ""),
        Param::new("traffic", Kind::Model("traffic"), "bulk", "What the application sends, and when.", ""),
        Param::new("packet_size", Kind::Bytes { min: 1, max: 65_535 }, "none",
            "Size of each datagram: short for sizes = { kind = \"fixed\", bytes = ... }.", ""),
        Param::new("sizes", Kind::Model("sizes"), "fixed",
            "Where the sizes of datagrams, or of writes to tcp, come from.", ""),
        Param::new("meter", Kind::Model("meter"), "none",
            "What else the table of intervals says about each flow.", ""),
        Param::new("deadline", SOME_TIME, "none",
            "Measure how datagrams fare: the table of datagrams has losses by runs, jitter, and what takes longer \
             than this. \
             Voice and video have it without being asked, with 150ms.", ""),
        Param::new("start", Kind::Model("instants"), "0s",
            "When the flows start: an instant, a list taken in turn, or a table with kind.", ""),
        Param::new("stop", Kind::Model("instants"), "none",
            "When the flows stop sending; without it, at the end of the run.", ""),
    ],
    probes: &FLOW_PROBES,
};

#[rustfmt::skip]
pub static SESSIONS: Model = Model {
    name: "sessions",
    family: "table",
    title: "Sessions",
    summary: "Clients that talk to servers over connections opened while the run goes on. `kind` says how; the \
              parameters of the kind stand in the same table. Data go from the servers at `from` to the clients at \
              `to`. \
              Each client has one row in the results, whatever number of connections it opens, and each transfer has \
              one \
              in the table of transfers. A table named after a transport, such as `tcp = { variant = \"reno\" }`, \
              chooses \
              that transport.",
    source: "",
    params: &[
        Param::new("clients", Kind::Count { min: 1, max: MOST_FLOWS, }, "1", "How many clients.", ""),
        Param::new("servers", Kind::Count { min: 1, max: MOST_FLOWS, }, "none",
            "How many servers, which the clients take in turn; without it, one for each client.", ""),
        Param::new("from", Kind::Text, "none",
            "The node of the servers; without it, where the topology or the only link begins.", ""),
        Param::new("to", Kind::Text, "none",
            "The node of the clients; without it, where the topology or the only link ends.", ""),
        Param::new("weight", Kind::Each(Per::Flow, &WEIGHT), "1",
            "The client's share where a queue shares the line by weight. Other queues do not look at it.", ""),
        Param::new("rtt", Kind::Each(Per::Flow, &TIME), "none",
            "The round trip with empty queues and without transmission times; sets the delay of the clients' \
             links.", ""),
        Param::new("access_rate", Kind::Each(Per::Flow, &RATE), "none",
            "Each server has its own host behind a link of this rate.", ""),
        Param::new("access_delay", Kind::Each(Per::Flow, &TIME), "none", "One-way delay of that link.", ""),
        Param::new("exit_rate", Kind::Each(Per::Flow, &RATE), "none",
            "Each client has its own host behind a link of this rate.", ""),
        Param::new("exit_delay", Kind::Each(Per::Flow, &TIME), "none", "One-way delay of that link.", ""),
        Param::new("transport", Kind::Model("transport"), "tcp", "The protocol of the connections.", ""),
        Param::new("start", Kind::Model("instants"), "0s",
            "When the clients start: an instant, a list taken in turn, or a table with kind.", ""),
        Param::new("stop", Kind::Model("instants"), "none",
            "When they begin nothing more; without it, at the end of the run.", ""),
    ],
    probes: &[],
};

#[rustfmt::skip]
pub static RECORD: Model = Model {
    name: "record",
    family: "table",
    title: "A recording",
    summary: "Which quantities of a link, of the flows of a group or of a conditioner to write down, and when. Give \
              one of `link`, `flows` and `edge`, and one of `every` and `on_change`.",
    source: "",
    params: &[
        Param::new("link", Kind::Text, "none", "The link, `NAME` or `NAME.reverse`.", ""),
        Param::new("flows", Kind::Text, "none",
            "The group of flows: `NAME`, or `NAME.reverse` for what the destinations send back.", ""),
        Param::new("edge", Kind::Text, "none",
            "The conditioner of a link, `NAME` or `NAME.reverse`, or of the hosts of a group, `flows.NAME`.", ""),
        Param::new("probes", Kind::List(&Kind::Text), "",
            "The names of the quantities, such as `queue` or `cwnd`. Of one with more than 4,096 values, as of a \
             million queues, \
             a sample has those beyond only where they are not 0.", ""),
        Param::new("every", SOME_TIME, "none", "A row each time this much time has passed.", ""),
        Param::new("on_change", Kind::Bool, "false", "A row whenever the value changes.", ""),
    ],
    probes: &[],
};

#[rustfmt::skip]
pub static RATE_CHANGE: Model = Model {
    name: "rate-change",
    family: "rate-change",
    title: "A change of rate",
    summary: "From an instant on, the line has another rate.",
    source: "",
    params: &[
        Param::new("at", TIME, "", "When.", ""),
        Param::new("rate", RATE, "", "The new rate.", ""),
    ],
    probes: &[],
};
