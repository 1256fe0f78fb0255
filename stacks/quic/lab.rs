//! The line of the tables of QUIC stacks beside ours: 20 Mb/s and 40 ms, and four queues.

/// The stack's flow starts one to two seconds after ours, drawn by the seed.
pub const LAB: &str = r#"
duration = "60s"
warmup = "10s"

[link.line]
from = "a"
to = "b"
rate = "20Mbps"
delay = "20ms"
queue = "fq-codel"

[flows.theirs]
transport = "stack"
start = { kind = "uniform", from = "1s", to = "2s" }
"#;

pub const QUEUES: [(&str, &str); 4] = [
    ("drop-tail, 1 BDP", r#"{ kind = "droptail", buffer = "67 packets" }"#),
    ("drop-tail, 4 BDP", r#"{ kind = "droptail", buffer = "267 packets" }"#),
    ("CoDel", r#""codel""#),
    ("FQ-CoDel", r#""fq-codel""#),
];

/// Runs of each cell.
pub const SEEDS: u64 = 3;
