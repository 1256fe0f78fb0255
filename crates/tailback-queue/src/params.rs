//! Parameters that disciplines of several folders share.

use tailback_base::KeyField;
use tailback_base::model::Profile;
use tailback_base::{Key, Kind, Param};

/// For disciplines that can count the packet on the wire.
pub const COUNT_IN_SERVICE: Key<bool> = Key::new(
    "count_in_service",
    Kind::Bool,
    "false",
    "Count the packet on the wire as part of the backlog and of the buffer.",
    "ns-2 counts waiting packets only",
);

/// For disciplines with named sets of values; the first is "default" and empty.
pub const fn profile(profiles: &'static [Profile]) -> Param {
    Param::new(
        "profile",
        Kind::Profile(profiles),
        "default",
        "A named set of values, which lie under those given here.",
        "",
    )
}

/// For AQMs that distinguish flows.
pub const FLOW_KEY: Key<KeyField> = Key::new(
    "flow_key",
    Kind::Choice(&["tuple", "pair", "source", "destination", "label"]),
    "tuple",
    "What counts as one flow: the five-tuple, a pair of hosts, a source host, a destination host, or the destination \
     label.",
    "the five-tuple in most papers",
);

/// For disciplines with several queues.
pub const AQM: Param = Param::new(
    "aqm",
    Kind::Model("aqm"),
    "none",
    "An AQM on each queue, which meets its own queue as if it were alone; its buffer is the one that all share.",
    "",
);

/// For every discipline.
pub const BEFORE: Param = Param::new(
    "before",
    Kind::List(&Kind::Model("aqm")),
    "none",
    "AQMs that decide about a packet before this discipline does, the first of the list first.",
    "",
);
