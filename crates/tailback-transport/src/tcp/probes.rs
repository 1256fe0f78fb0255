//! The probes of the model `tcp`: the values of a sender that a recorder may read.

use tailback_base::ProbeDef;

pub const CWND: ProbeDef = ProbeDef {
    name: "cwnd",
    unit: "segments",
    doc: "congestion window, without fast-recovery inflation",
    per: "",
};

/// The values of [`Sender`](super::Sender) that a recorder may read, in the order of `read`.
pub static PROBES: &[ProbeDef] = &[
    CWND,
    ProbeDef {
        name: "ssthresh",
        unit: "segments",
        doc: "slow-start threshold",
        per: "",
    },
    ProbeDef {
        name: "srtt",
        unit: "s",
        doc: "smoothed round-trip time",
        per: "",
    },
    ProbeDef {
        name: "rttvar",
        unit: "s",
        doc: "smoothed mean deviation of the round-trip time",
        per: "",
    },
    ProbeDef {
        name: "rto",
        unit: "s",
        doc: "retransmission timeout, backoff included",
        per: "",
    },
    ProbeDef {
        name: "backoff",
        unit: "1",
        doc: "factor on the timeout after consecutive expiries",
        per: "",
    },
    ProbeDef {
        name: "outstanding",
        unit: "B",
        doc: "bytes sent and not acknowledged",
        per: "",
    },
    ProbeDef {
        name: "dupacks",
        unit: "1",
        doc: "consecutive duplicate ACKs",
        per: "",
    },
    ProbeDef {
        name: "phase",
        unit: "1",
        doc: "0 open, 1 fast recovery, 2 after a timeout",
        per: "",
    },
];
