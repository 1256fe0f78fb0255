//! Parameters and probes that disciplines with several queues share.

use crate::pieces::classify::hash_sets::{COUNTS, WAYS_OR_NONE};
use crate::pieces::classify::per_flow::QUEUE_FLOW;
use crate::pieces::drop::batch::{DROP_BATCH, MEMORY};
use crate::pieces::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, QUEUE_BYTES, QUEUE_PACKETS};
use tailback_base::{Key, KeyField, Kind, Param, ProbeDef, Size, join, params};

/// The parameters of a port: the model's own parameters, those of the mapper, and those that are listed last.
macro_rules! port_params {
    ($own:expr, $last:expr) => {{
        use $crate::pieces::catalogue::{MAPPER, SCHEDULER};
        use $crate::pieces::classify::{bloom, hash_sets};
        use $crate::pieces::params::{HASH_KEY, QUEUES};
        tailback_base::join!(tailback_base::Param:
            &[$crate::pieces::params::BUFFER.param, SCHEDULER],
            $own,
            &[MAPPER.param, QUEUES.param, HASH_KEY.param, hash_sets::WAYS.param],
            bloom::params::PARAMS,
            $last,
            &[$crate::params::AQM, $crate::params::BEFORE],
        )
    }};
}

/// The probes of a port: those of every port and mapper, and the model's own probes.
macro_rules! port_probes {
    ($($own:expr)?) => {{
        use $crate::pieces::classify::{bloom, occupancy};
        tailback_base::join!(tailback_base::ProbeDef:
            $crate::pieces::params::PORT_PROBES,
            &[occupancy::FLOW_RATIO, occupancy::QUEUE_FLOWS, bloom::MOVES],
            $($own,)?
        )
    }};
}
pub(crate) use {port_params, port_probes};

params! {
    pub BUFFER: Size = Key::new("buffer", Kind::Size, "1000 packets",
        "How much may wait in all queues together.", "tailback");
    pub QUEUES: Option<u64> = Key::new("queues", Kind::Count { min: 1, max: 1_000_000 }, "none",
        "How many queues there are, for every mapper except \"per_flow\" and \"weight\".", "");
    pub HASH_KEY: KeyField = Key::new("hash_key", Kind::Choice(&["destination", "source", "pair", "tuple", "label"]),
        "destination",
        "What mappers \"hash\", \"hash_sets\" and \"bloom\" hash: destination host, source host, both, the five-tuple, \
         or the destination label.", "thesis chapter 5: the destination alone");
    pub COUNT_NEWCOMER: bool = Key::new("count_newcomer", Kind::Bool, "false",
        "Store the arriving packet before the victim is chosen, so that it counts in the length of its own queue.",
        "false is the rule read literally; ns-2's DRR counts it");
}

/// The probes of every port with a queue for each flow.
pub const PORT_PROBES: &[ProbeDef] = &[
    BACKLOGGED,
    QUEUE_PACKETS,
    QUEUE_BYTES,
    EVICTED_BYTES,
    EVICTED_SHARE,
    QUEUE_FLOW,
];

params! {
    /// The buffer of disciplines with hashed queues and an AQM on each queue, such as those of RFC 8290.
    pub FLOW_BUFFER: Size = Key::new("buffer", Kind::Size, "10240 packets",
        "How much may wait in all queues together.", "RFC 8290 section 5.2.3");
    /// The number of queues of disciplines with hashed queues and an AQM on each queue.
    pub FLOW_QUEUES: u64 = Key::new("queues", Kind::Count { min: 1, max: 1_000_000 }, "1024",
        "How many queues flows are hashed to.", "RFC 8290 section 5.2.5");
    /// The key that distinguishes flows in disciplines with hashed queues and an AQM on each queue.
    pub FLOW_HASH_KEY: KeyField = Key::new("hash_key", HASH_KEY.param.kind, "tuple",
        "What is hashed: the five-tuple, destination host, source host, both, or the destination label.",
        "RFC 8290 section 4.1");
}

/// All parameters of these disciplines, except those of their AQM.
pub const fn flow_params(quantum: Key<u64>) -> [Param; 7] {
    [
        FLOW_BUFFER.param,
        FLOW_QUEUES.param,
        FLOW_HASH_KEY.param,
        WAYS_OR_NONE.param,
        quantum.param,
        DROP_BATCH.param,
        MEMORY.param,
    ]
}

/// The probes of all these disciplines. The probes of the AQM follow them.
pub const FLOW_PROBES: &[ProbeDef] = join!(ProbeDef:
    &[BACKLOGGED, QUEUE_PACKETS, QUEUE_BYTES, EVICTED_BYTES, EVICTED_SHARE],
    &COUNTS,
);

/// The probes of an AQM, declared with a value for each queue.
pub const fn of_each_queue<const N: usize>(mut probes: [ProbeDef; N]) -> [ProbeDef; N] {
    let mut i = 0;
    while i < N {
        probes[i].per = "queue";
        i += 1;
    }
    probes
}
