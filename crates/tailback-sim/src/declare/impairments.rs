//! Impairments of packets before a link's queue: the models of the family `impairment`, with a row for each.

use crate::declare::kinds::{self, SOME_TIME};
use crate::declare::netem::{self, Netem};
use tailback_base::model::{Choice, Key, Kind, Model, Settings};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, params};

/// The effect of a link on a packet before its queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Impairment {
    /// Drop (or CE-mark) the packets with these arrival indices; the first packet to arrive has index 0.
    ByIndex { indices: Vec<u64>, action: Harm },
    /// Every n-th packet: indices n-1, 2n-1, ...
    EveryNth { n: u64, action: Harm },
    /// Each packet on its own with this probability.
    Random { probability: f64, action: Harm },
    /// Two states, each with a loss probability, and transition probabilities per packet (Gilbert 1960, Elliott 1963).
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
    /// Each packet waits a time uniform in 0..max before it enters the queue, and never overtakes another packet.
    SendDelay { max: Duration },
    /// Packets with more bytes on the wire than this are lost without any notice.
    BlackHole { mtu: u64 },
    /// Linux's network emulator, with all of its keywords.
    Netem(Box<Netem>),
}

impl Impairment {
    /// The effect on a selected packet; only some impairments select packets.
    pub fn harm(&self) -> Option<Harm> {
        match self {
            Impairment::ByIndex { action, .. }
            | Impairment::EveryNth { action, .. }
            | Impairment::Random { action, .. }
            | Impairment::Gilbert { action, .. } => Some(*action),
            Impairment::Netem(of) => of.harm(),
            Impairment::BlackHole { .. } => Some(Harm::Drop),
            Impairment::Duplicate { .. } | Impairment::Reorder { .. } | Impairment::SendDelay { .. } => None,
        }
    }

    /// The longest time for which it delays a packet, if this time counts as a part of the path's delay.
    pub fn longest_delay(&self) -> Duration {
        match self {
            Impairment::Netem(of) => of.longest_delay(),
            _ => Duration::ZERO,
        }
    }

    /// The largest share of packets that it sends twice.
    pub fn copied(&self) -> f64 {
        match self {
            Impairment::Duplicate { probability } => *probability,
            Impairment::Netem(of) => of.copied(),
            _ => 0.0,
        }
    }
}

/// The effect on a selected packet. With `data_only`, only data packets are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    Drop,
    /// Set CE on an ECN-capable packet; others pass unharmed.
    Mark,
}

params! {
    ACTION: Harm = Key::choice("action", "drop", "Drop the packet, or set CE if it is ECN-capable.", "");
    INDICES: Vec<u64> = Key::new("indices", Kind::List(&Kind::Count { min: 0, max: u64::MAX }), "",
        "The indices; the first packet to arrive has index 0.", "");
    N: u64 = Key::new("n", Kind::Count { min: 1, max: u64::MAX }, "",
        "The impairment applies to one packet in this many.", "");
    PROBABILITY: f64 = Key::new("probability", kinds::PROBABILITY, "",
        "Probability that the impairment applies to a packet.",
        "");
    PROBABILITY_ALONE: f64 = PROBABILITY.with_doc(
        "Probability that the impairment applies to a packet, independently for each packet.");
    TO_BAD: f64 = Key::new("to_bad", kinds::PROBABILITY, "", "Probability of going from good to bad, per packet.", "");
    TO_GOOD: f64 = Key::new("to_good", kinds::PROBABILITY, "",
        "Probability of going from bad to good, per packet.", "");
    LOSS_GOOD: f64 = Key::new("loss_good", kinds::PROBABILITY, "0",
        "Probability of loss in the good state.", "Gilbert 1960");
    LOSS_BAD: f64 = Key::new("loss_bad", kinds::PROBABILITY, "1", "Probability of loss in the bad state.", "");
    DELAY: Duration = Key::new("delay", SOME_TIME, "", "How long a packet is held back.", "");
    MTU: u64 = Key::new("mtu", Kind::Bytes { min: 28, max: 65_535 }, "1500B",
        "The size of the largest packet that passes, in bytes on the wire.", "");
    LONGEST: Duration = Key::new("max", SOME_TIME, "", "The longest wait of a packet.", "");
}

impl Choice for Harm {
    const WORDS: &'static [&'static str] = &["drop", "mark"];
    const MEANINGS: &'static [Harm] = &[Harm::Drop, Harm::Mark];
}

/// An impairment, and how its table is read.
struct ImpairmentRow {
    model: &'static Model,
    read: fn(&Settings) -> Result<Impairment, Refusal>,
}

/// Every impairment, in the order the reference shows them.
static ROWS: [ImpairmentRow; 9] = [
    ImpairmentRow {
        model: &Model {
            name: "by-index",
            family: "impairment",
            title: "Chosen packets",
            summary: "Applies to the packets with these arrival indices.",
            source: "",
            params: &[INDICES.param, ACTION.param],
            probes: &[],
        },
        read: |s| {
            let mut indices = s.get(&INDICES);
            indices.sort_unstable();
            indices.dedup();
            Ok(Impairment::ByIndex {
                indices,
                action: s.get(&ACTION),
            })
        },
    },
    ImpairmentRow {
        model: &Model {
            name: "every-nth",
            family: "impairment",
            title: "Every n-th packet",
            summary: "Applies to the packets with index n-1, 2n-1 and so on.",
            source: "",
            params: &[N.param, ACTION.param],
            probes: &[],
        },
        read: |s| {
            Ok(Impairment::EveryNth {
                n: s.get(&N),
                action: s.get(&ACTION),
            })
        },
    },
    ImpairmentRow {
        model: &Model {
            name: "random",
            family: "impairment",
            title: "Random loss",
            summary: "Applies to each packet independently with the same probability.",
            source: "",
            params: &[PROBABILITY.param, ACTION.param],
            probes: &[],
        },
        read: |s| {
            Ok(Impairment::Random {
                probability: s.get(&PROBABILITY),
                action: s.get(&ACTION),
            })
        },
    },
    ImpairmentRow {
        model: &Model {
            name: "gilbert",
            family: "impairment",
            title: "Gilbert-Elliott loss",
            summary: "A good and a bad state, each with its own probability of loss; the state may change with each \
                      packet.",
            source: "E. N. Gilbert 1960; E. O. Elliott 1963",
            params: &[
                TO_BAD.param,
                TO_GOOD.param,
                LOSS_GOOD.param,
                LOSS_BAD.param,
                ACTION.param,
            ],
            probes: &[],
        },
        read: |s| {
            Ok(Impairment::Gilbert {
                to_bad: s.get(&TO_BAD),
                to_good: s.get(&TO_GOOD),
                loss_good: s.get(&LOSS_GOOD),
                loss_bad: s.get(&LOSS_BAD),
                action: s.get(&ACTION),
            })
        },
    },
    ImpairmentRow {
        model: &Model {
            name: "duplicate",
            family: "impairment",
            title: "Duplication",
            summary: "Sends a packet twice.",
            source: "",
            params: &[PROBABILITY_ALONE.param],
            probes: &[],
        },
        read: |s| {
            Ok(Impairment::Duplicate {
                probability: s.get(&PROBABILITY),
            })
        },
    },
    ImpairmentRow {
        model: &Model {
            name: "reorder",
            family: "impairment",
            title: "Reordering",
            summary: "Holds a packet back, so that later ones overtake it.",
            source: "",
            params: &[PROBABILITY_ALONE.param, DELAY.param],
            probes: &[],
        },
        read: |s| {
            Ok(Impairment::Reorder {
                probability: s.get(&PROBABILITY),
                delay: s.get(&DELAY),
            })
        },
    },
    ImpairmentRow {
        model: &Model {
            name: "send-delay",
            family: "impairment",
            title: "Random send delay",
            summary: "Each packet waits for a time that is drawn uniformly from 0 to `max`. No packet overtakes \
                      another.",
            source: "",
            params: &[LONGEST.param],
            probes: &[],
        },
        read: |s| Ok(Impairment::SendDelay { max: s.get(&LONGEST) }),
    },
    ImpairmentRow {
        model: &Model {
            name: "black-hole",
            family: "impairment",
            title: "MTU black hole",
            summary: "Loses packets larger than `mtu` without a message to the sender, which has to find this out \
                      itself.",
            source: "RFC 2923 section 2.1",
            params: &[MTU.param],
            probes: &[],
        },
        read: |s| Ok(Impairment::BlackHole { mtu: s.get(&MTU) }),
    },
    ImpairmentRow {
        model: &netem::MODEL,
        read: netem::read,
    },
];

/// The models of the family `impairment`.
pub fn models() -> Vec<&'static Model> {
    ROWS.iter().map(|r| r.model).collect()
}

/// The impairment of a checked table; `None` for a model of another family.
///
/// # Errors
/// Values that contradict each other.
pub fn read(s: &Settings) -> Result<Option<Impairment>, Refusal> {
    let row = ROWS.iter().find(|row| row.model.name == s.model.name);
    row.map(|row| (row.read)(s)).transpose()
}
