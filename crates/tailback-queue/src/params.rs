//! Parameters that disciplines of several modules share.

use tailback_base::model::Profile;
use tailback_base::{Duration, Key, KeyField, Kind, Param, Settings, Size};

/// The buffer of every discipline. Several disciplines have another default.
pub const BUFFER: Key<Size> = Key::new(
    "buffer",
    Kind::Size,
    "100 packets",
    "How much may wait, in packets or bytes.",
    "tailback",
);

/// A parameter of disciplines that can count the packet on the wire.
pub const COUNT_IN_SERVICE: Key<bool> = Key::new(
    "count_in_service",
    Kind::Bool,
    "false",
    "Count the packet on the wire as part of the backlog and of the buffer.",
    "ns-2 counts waiting packets only",
);

/// The declaration of `ecn`, with a text about the packets that are marked, and the source.
macro_rules! ecn_key {
    ($doc:literal, $source:literal) => {
        tailback_base::Key::<Option<bool>>::new(
            "ecn",
            tailback_base::Kind::Bool,
            "none",
            concat!($doc, " Default: the value of the scenario's `marking`."),
            $source,
        )
    };
}
pub(crate) use ecn_key;

/// The parameter with which a discipline overrides the rule of its network; see [`crate::marking`].
pub const ECN: Key<Option<bool>> = ecn_key!("Mark ECN-capable packets instead of dropping them early.", "RFC 3168");

/// Whether a discipline with these settings marks instead of dropping.
pub fn ecn(s: &Settings) -> bool {
    s.get(&ECN) == Some(true)
}

/// The delay above which every packet is marked, in addition to the control law.
pub const CE_THRESHOLD: Key<Option<Duration>> = Key::new(
    "ce_threshold",
    Kind::Time { min: 0.0, max: 100.0 },
    "none",
    "Mark every ECN-capable packet that has waited longer than this, also if `ecn` is off.",
    "RFC 8290 section 5.2.7",
);

/// The parameter of disciplines with named sets of values. The first set is "default" and is empty.
pub const fn profile(profiles: &'static [Profile]) -> Param {
    Param::new(
        "profile",
        Kind::Profile(profiles),
        "default",
        "A named set of values. Values that are given here replace those of the set.",
        "",
    )
}

/// The parameter of AQMs that distinguish flows.
pub const FLOW_KEY: Key<KeyField> = Key::new(
    "flow_key",
    Kind::Choice(&["tuple", "pair", "source", "destination", "label"]),
    "tuple",
    "What counts as one flow: the five-tuple, a pair of hosts, a source host, a destination host, or the destination \
     label.",
    "the five-tuple in most papers",
);

/// The parameter of disciplines with several queues.
pub const AQM: Param = Param::new(
    "aqm",
    Kind::Model("aqm"),
    "none",
    "An AQM on each queue. Each AQM measures only its own queue. The buffer of each AQM is the one that all queues \
     share.",
    "",
);

/// The parameter of shapers.
pub const QUEUE: Param = Param::new(
    "queue",
    Kind::Model("queue"),
    "droptail",
    "The discipline inside the shaper, which sees a line of the shaped rate.",
    "",
);

/// The parameter of every discipline.
pub const BEFORE: Param = Param::new(
    "before",
    Kind::List(&Kind::Model("aqm")),
    "none",
    "AQMs that decide about a packet before this discipline does, in the order of the list.",
    "",
);
