//! Parameters that disciplines of several rooms offer.

use tailback_base::{Kind, Param};

/// For disciplines that can count the packet on the wire.
pub const COUNT_IN_SERVICE: Param = Param::new(
    "count_in_service",
    Kind::Bool,
    "false",
    "Count the packet on the wire as part of the backlog and of the buffer.",
    "ns-2 counts waiting packets only",
);
