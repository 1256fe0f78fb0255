//! What links do to packets before their queue: the models of the family `impairment`, and a row for each.

use crate::declare::kinds::{PROBABILITY, SOME_TIME};
use tailback_base::Duration;
use tailback_base::model::{Kind, Model, Param, Settings, Value};

/// What a link does to a packet before its queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Impairment {
    /// Drop (or CE-mark) the packets with these arrival indices; the first packet to arrive has index 0.
    ByIndex { indices: Vec<u64>, action: Harm },
    /// Every n-th packet: indices n-1, 2n-1, ...
    EveryNth { n: u64, action: Harm },
    /// Each packet on its own with this probability.
    Random { probability: f64, action: Harm },
    /// Two states; loss probability in each; transition probabilities per packet (Gilbert 1960, Elliott 1963).
    Gilbert {
        to_bad: f64,
        to_good: f64,
        loss_good: f64,
        loss_bad: f64,
        action: Harm,
    },
    /// Each packet is sent twice with this probability.
    Duplicate { probability: f64 },
    /// Each packet is held back by `delay` with this probability, so that later ones overtake it.
    Reorder { probability: f64, delay: Duration },
    /// Each packet waits a time uniform in 0..max before it enters the queue, never overtaking.
    SendDelay { max: Duration },
}

impl Impairment {
    /// What it does to a packet that it strikes; only some strike.
    pub fn harm(&self) -> Option<Harm> {
        match self {
            Impairment::ByIndex { action, .. }
            | Impairment::EveryNth { action, .. }
            | Impairment::Random { action, .. }
            | Impairment::Gilbert { action, .. } => Some(*action),
            Impairment::Duplicate { .. } | Impairment::Reorder { .. } | Impairment::SendDelay { .. } => None,
        }
    }
}

/// What an impairment that strikes a packet does. Only data packets are struck when `data_only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    Drop,
    /// Set CE on an ECN-capable packet; others pass unharmed.
    Mark,
}

const ACTION: Param = Param::new(
    "action",
    Kind::Choice(&["drop", "mark"]),
    "drop",
    "Drop the packet, or set CE if it is ECN-capable.",
    "",
);

fn action(s: &Settings) -> Harm {
    match s.text("action") {
        "mark" => Harm::Mark,
        "drop" => Harm::Drop,
        other => unreachable!("`action` is declared without {other}"),
    }
}

/// An impairment, and how its table is read.
struct Row {
    model: &'static Model,
    read: fn(&Settings) -> Impairment,
}

/// Every impairment, in the order the reference shows them.
static ROWS: [Row; 7] = [
    Row {
        model: &Model {
            name: "by-index",
            family: "impairment",
            title: "Chosen packets",
            summary: "Strikes the packets with these arrival indices.",
            source: "",
            params: &[
                Param::new(
                    "indices",
                    Kind::List(&Kind::Count { min: 0, max: u64::MAX }),
                    "",
                    "The indices; the first packet to arrive has index 0.",
                    "",
                ),
                ACTION,
            ],
            probes: &[],
        },
        read: |s| {
            let number = |v: &Value| match v {
                Value::Count(n) => *n,
                v => unreachable!("`indices` is declared as whole numbers, not {v:?}"),
            };
            let mut indices: Vec<u64> = s.list("indices").iter().map(number).collect();
            indices.sort_unstable();
            indices.dedup();
            Impairment::ByIndex {
                indices,
                action: action(s),
            }
        },
    },
    Row {
        model: &Model {
            name: "every-nth",
            family: "impairment",
            title: "Every n-th packet",
            summary: "Strikes the packets with index n-1, 2n-1 and so on.",
            source: "",
            params: &[
                Param::new("n", Kind::Count { min: 1, max: u64::MAX }, "", "How often.", ""),
                ACTION,
            ],
            probes: &[],
        },
        read: |s| Impairment::EveryNth {
            n: s.count("n"),
            action: action(s),
        },
    },
    Row {
        model: &Model {
            name: "random",
            family: "impairment",
            title: "Random loss",
            summary: "Strikes each packet on its own with one probability.",
            source: "",
            params: &[Param::new("probability", PROBABILITY, "", "How likely.", ""), ACTION],
            probes: &[],
        },
        read: |s| Impairment::Random {
            probability: s.real("probability"),
            action: action(s),
        },
    },
    Row {
        model: &Model {
            name: "gilbert",
            family: "impairment",
            title: "Gilbert-Elliott loss",
            summary: "A good and a bad state, each with its own probability of loss; the state may change with each \
                      packet.",
            source: "E. N. Gilbert 1960; E. O. Elliott 1963",
            params: &[
                Param::new(
                    "to_bad",
                    PROBABILITY,
                    "",
                    "Probability of going from good to bad, per packet.",
                    "",
                ),
                Param::new(
                    "to_good",
                    PROBABILITY,
                    "",
                    "Probability of going from bad to good, per packet.",
                    "",
                ),
                Param::new(
                    "loss_good",
                    PROBABILITY,
                    "0",
                    "Probability of loss in the good state.",
                    "Gilbert 1960",
                ),
                Param::new(
                    "loss_bad",
                    PROBABILITY,
                    "1",
                    "Probability of loss in the bad state.",
                    "",
                ),
                ACTION,
            ],
            probes: &[],
        },
        read: |s| Impairment::Gilbert {
            to_bad: s.real("to_bad"),
            to_good: s.real("to_good"),
            loss_good: s.real("loss_good"),
            loss_bad: s.real("loss_bad"),
            action: action(s),
        },
    },
    Row {
        model: &Model {
            name: "duplicate",
            family: "impairment",
            title: "Duplication",
            summary: "Sends a packet twice.",
            source: "",
            params: &[Param::new(
                "probability",
                PROBABILITY,
                "",
                "How likely, for each packet on its own.",
                "",
            )],
            probes: &[],
        },
        read: |s| Impairment::Duplicate {
            probability: s.real("probability"),
        },
    },
    Row {
        model: &Model {
            name: "reorder",
            family: "impairment",
            title: "Reordering",
            summary: "Holds a packet back, so that later ones overtake it.",
            source: "",
            params: &[
                Param::new(
                    "probability",
                    PROBABILITY,
                    "",
                    "How likely, for each packet on its own.",
                    "",
                ),
                Param::new("delay", SOME_TIME, "", "How long it is held back.", ""),
            ],
            probes: &[],
        },
        read: |s| Impairment::Reorder {
            probability: s.real("probability"),
            delay: s.time("delay"),
        },
    },
    Row {
        model: &Model {
            name: "send-delay",
            family: "impairment",
            title: "Random send delay",
            summary: "Each packet waits a time uniform in 0 to `max`, never overtaking.",
            source: "",
            params: &[Param::new("max", SOME_TIME, "", "The longest wait.", "")],
            probes: &[],
        },
        read: |s| Impairment::SendDelay { max: s.time("max") },
    },
];

/// The models of the family `impairment`.
pub fn models() -> Vec<&'static Model> {
    ROWS.iter().map(|r| r.model).collect()
}

/// The impairment of a checked table; `None` for a model of another family.
pub fn read(s: &Settings) -> Option<Impairment> {
    let row = ROWS.iter().find(|row| row.model.name == s.model.name)?;
    Some((row.read)(s))
}
