//! Parameters and probes that disciplines with several queues share.

use crate::pieces::classify::per_flow::QUEUE_FLOW;
use crate::pieces::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, QUEUE_BYTES, QUEUE_PACKETS};
use tailback_base::KeyField;
use tailback_base::{Key, Kind, ProbeDef, Size};

/// The parameters of a port: the model's own, those of the mapper, and some that come last.
macro_rules! port_params {
    ($($own:expr),* ; $($last:expr),* $(,)?) => {{
        use $crate::pieces::classify::bloom::params as bloom;
        use $crate::pieces::by_name::{MAPPER, SCHEDULER};
        use $crate::params::{AQM, BEFORE};
        use $crate::pieces::classify::hash_sets::WAYS;
        use $crate::pieces::params::{BUFFER, HASH_KEY, QUEUES};
        &[
            BUFFER.param,
            SCHEDULER,
            $($own,)*
            MAPPER.param,
            QUEUES.param,
            HASH_KEY.param,
            WAYS.param,
            bloom::GROUPS.param,
            bloom::GROUP_FLOWS.param,
            bloom::FILTER_BITS.param,
            bloom::HASH_FUNCTIONS.param,
            bloom::COUNTER_BITS.param,
            bloom::FILTER_PERIOD.param,
            bloom::SETTLE.param,
            bloom::BALANCE.param,
            bloom::BALANCE_THRESHOLD.param,
            bloom::LIVE_COUNTS.param,
            bloom::REPICK.param,
            bloom::NO_WORSE.param,
            bloom::LARGEST_FIRST.param,
            bloom::PB_COUNTS.param,
            $($last,)*
            AQM,
            BEFORE,
        ]
    }};
}

/// The probes of a port: those of every port and mapper, and the model's own.
macro_rules! port_probes {
    ($($own:expr),* $(,)?) => {{
        use $crate::pieces::classify::{bloom, occupancy, per_flow};
        use $crate::pieces::port;
        &[
            port::BACKLOGGED,
            port::QUEUE_PACKETS,
            port::QUEUE_BYTES,
            port::EVICTED_BYTES,
            port::EVICTED_SHARE,
            per_flow::QUEUE_FLOW,
            occupancy::FLOW_RATIO,
            occupancy::QUEUE_FLOWS,
            bloom::MOVES,
            $($own,)*
        ]
    }};
}
pub(crate) use {port_params, port_probes};

pub const BUFFER: Key<Size> = Key::new(
    "buffer",
    Kind::Size,
    "1000 packets",
    "How much may wait in all queues together.",
    "tailback",
);

pub const QUEUES: Key<Option<u64>> = Key::new(
    "queues",
    Kind::Count { min: 1, max: 1_000_000 },
    "none",
    "How many queues there are, for every mapper but \"per_flow\".",
    "",
);

pub const HASH_KEY: Key<KeyField> = Key::new(
    "hash_key",
    Kind::Choice(&["destination", "source", "pair", "tuple", "label"]),
    "destination",
    "What mappers \"hash\", \"hash_sets\" and \"bloom\" hash: destination host, source host, both, the five-tuple, or \
     the destination label.",
    "thesis chapter 5: the destination alone",
);

pub const COUNT_NEWCOMER: Key<bool> = Key::new(
    "count_newcomer",
    Kind::Bool,
    "false",
    "Store the newcomer before the victim is chosen, so that its own queue is judged with it.",
    "false is the rule read literally; ns-2's DRR counts it",
);

/// The probes of every port with a queue for each flow.
pub const PORT_PROBES: [ProbeDef; 6] = [
    BACKLOGGED,
    QUEUE_PACKETS,
    QUEUE_BYTES,
    EVICTED_BYTES,
    EVICTED_SHARE,
    QUEUE_FLOW,
];

/// The buffer of disciplines with hashed queues and an AQM on each: those of RFC 8290 and similar ones.
pub const FLOW_BUFFER: Key<Size> = Key::new(
    "buffer",
    Kind::Size,
    "10240 packets",
    "How much may wait in all queues together.",
    "RFC 8290 section 5.2.3",
);

/// The number of their queues.
pub const FLOW_QUEUES: Key<u64> = Key::new(
    "queues",
    Kind::Count { min: 1, max: 1_000_000 },
    "1024",
    "How many queues flows are hashed to.",
    "RFC 8290 section 5.2.5",
);

/// The key that distinguishes their flows.
pub const FLOW_HASH_KEY: Key<KeyField> = Key::new(
    "hash_key",
    HASH_KEY.param.kind,
    "tuple",
    "What is hashed: the five-tuple, destination host, source host, both, or the destination label.",
    "RFC 8290 section 4.1",
);

/// The probe of an AQM, with one value for each queue.
pub const fn of_each_queue(probe: ProbeDef) -> ProbeDef {
    ProbeDef { per: "queue", ..probe }
}
