//! The forms of these ports in Linux: the kinds of qdisc, and the words of `tc`.

use crate::linux::{self, Linux, Value, Word};

pub static FQ_CODEL: Linux = Linux {
    differs: linux::OTHER_HASH,
    ..Linux::new(
        "fq_codel",
        &[
            Word::new("buffer", "limit", Value::Packets, "10240 packets"),
            linux::FLOWS,
            linux::QUANTUM,
            linux::TARGET,
            linux::INTERVAL,
            linux::CE_THRESHOLD,
            linux::MEMORY,
            Word::new("drop_batch", "drop_batch", Value::Whole, "64"),
            linux::ECN,
        ],
    )
};

pub static FQ_COBALT: Linux = Linux {
    always: &["besteffort", "flows"],
    ..linux::OF_CAKE
};

pub static FQ_PIE: Linux = Linux {
    since: "5.6",
    differs: "Linux uses another hash, so that other flows share a queue there. A full buffer drops the arrival, not \
              a batch of the longest queue.",
    ..Linux::new(
        "fq_pie",
        &[
            Word::new("buffer", "limit", Value::Packets, "10240 packets"),
            linux::FLOWS,
            linux::QUANTUM,
            linux::REFERENCE,
            linux::UPDATE,
            linux::ALPHA,
            linux::BETA,
            linux::MEMORY,
            Word::new("mark_cap", "ecn_prob", Value::Percent, "0.1"),
            linux::DELAY,
            linux::ECN,
        ],
    )
};
