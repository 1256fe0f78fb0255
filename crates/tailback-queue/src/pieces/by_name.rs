//! The pieces a scenario can name: a row each.
//!
//! A discipline named after its drop policy has a parameter `scheduler`, one named after its scheduler a parameter
//! `policy`; several have a parameter `mapper`. What they may say is what is listed here.

use crate::pieces::classify::Classifier;
use crate::pieces::classify::bloom::params as bloom;
use crate::pieces::classify::hash::{ByHash, Hashed};
use crate::pieces::classify::keys;
use crate::pieces::classify::per_flow::{Even, PerFlow};
use crate::pieces::drop::{DropPolicy, discard, longest, sticky, threshold, throughput};
use crate::pieces::schedule::Scheduler;
use crate::pieces::schedule::drr::{self, Drr};
use crate::pieces::schedule::scfq::Scfq;
use crate::pieces::schedule::wf2q::Wf2q;
use crate::pieces::schedule::wf2q_plus::Wf2qPlus;
use crate::testing::TestPacket;
use std::marker::PhantomData;
use tailback_base::quantity::Refusal;
use tailback_base::{Kind, Model, Packet, Param, Settings, Stream};

/// A scheduler. Its quantum, if it has one, is in the settings of the discipline.
pub struct SchedulerRow<P> {
    pub name: &'static str,
    pub build: fn(&Settings) -> Box<dyn Scheduler<P>>,
}

/// A drop policy, with its own parameters.
pub struct PolicyRow<P> {
    pub model: &'static Model,
    pub build: fn(&Settings, Stream) -> Result<Box<dyn DropPolicy<P>>, Refusal>,
}

/// Which flows share a queue.
pub struct MapperRow<P> {
    pub name: &'static str,
    pub queues: QueueCount,
    /// Parameters that no other mapper has.
    pub own: &'static [&'static str],
    pub build: fn(&Settings, u32, &mut Stream) -> Result<Box<dyn Classifier<P>>, Refusal>,
}

/// Where the number of queues comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueCount {
    /// A queue for each flow, so that none can be given.
    ByFlow,
    /// The parameter `queues`.
    Given,
    /// The same, and a key is hashed to find one.
    Hashed,
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const SCHEDULERS: [SchedulerRow<P>; 5] = [
        SchedulerRow {
            name: "drr",
            build: |s| Box::new(Drr::new(drr::quantum(s))),
        },
        SchedulerRow {
            name: "wdrr",
            build: |s| Box::new(Drr::weighted(drr::quantum(s))),
        },
        SchedulerRow {
            name: "scfq",
            build: |_| Box::new(Scfq::new()),
        },
        SchedulerRow {
            name: "wf2q-plus",
            build: |_| Box::new(Wf2qPlus::new()),
        },
        SchedulerRow {
            name: "wf2q",
            build: |_| Box::new(Wf2q::new()),
        },
    ];

    const POLICIES: [PolicyRow<P>; 5] = [
        PolicyRow {
            model: &longest::MODEL,
            build: |s, stream| Ok(Box::new(longest::build(s, stream)?)),
        },
        PolicyRow {
            model: &throughput::MODEL,
            build: throughput::build,
        },
        PolicyRow {
            model: &sticky::MODEL,
            build: |s, stream| Ok(Box::new(sticky::build(s, stream)?)),
        },
        PolicyRow {
            model: &threshold::MODEL,
            build: |s, stream| Ok(Box::new(threshold::build(s, stream)?)),
        },
        PolicyRow {
            model: &discard::MODEL,
            build: |s, stream| Ok(Box::new(discard::build(s, stream)?)),
        },
    ];

    const MAPPERS: [MapperRow<P>; 4] = [
        MapperRow {
            name: "per_flow",
            queues: QueueCount::ByFlow,
            own: &[],
            build: |_, _, _| Ok(Box::new(PerFlow::new())),
        },
        MapperRow {
            name: "even",
            queues: QueueCount::Given,
            own: &[],
            build: |_, queues, _| Ok(Box::new(Even::new(queues))),
        },
        MapperRow {
            name: "hash",
            queues: QueueCount::Hashed,
            own: &[],
            build: |s, queues, stream| {
                Ok(Box::new(ByHash::new(Hashed::new(
                    keys::named(s.text("hash_key"))?,
                    queues,
                    stream.bits(),
                ))))
            },
        },
        MapperRow {
            name: "bloom",
            queues: QueueCount::Hashed,
            own: &bloom::OWN,
            build: |s, queues, stream| {
                Ok(Box::new(bloom::build(
                    s,
                    keys::named(s.text("hash_key"))?,
                    queues,
                    stream,
                )?))
            },
        },
    ];
}

/// All schedulers.
pub fn schedulers<P: Packet + 'static>() -> [SchedulerRow<P>; 5] {
    List::<P>::SCHEDULERS
}

/// All drop policies.
pub fn policies<P: Packet + 'static>() -> [PolicyRow<P>; 5] {
    List::<P>::POLICIES
}

/// All mappers.
pub fn mappers<P: Packet + 'static>() -> [MapperRow<P>; 4] {
    List::<P>::MAPPERS
}

/// The names of a list of rows.
macro_rules! names {
    ($rows:expr, $row:ident => $name:expr) => {{
        let mut names = [""; $rows.len()];
        let mut i = 0;
        while i < names.len() {
            let $row = &$rows[i];
            names[i] = $name;
            i += 1;
        }
        names
    }};
}

const SCHEDULER_NAMES: &[&str] = &names!(List::<TestPacket>::SCHEDULERS, row => row.name);
const POLICY_NAMES: &[&str] = &names!(List::<TestPacket>::POLICIES, row => row.model.name);
const MAPPER_NAMES: &[&str] = &names!(List::<TestPacket>::MAPPERS, row => row.name);

/// The scheduler of a discipline that is named after its drop policy.
pub const SCHEDULER: Param = Param::new(
    "scheduler",
    Kind::Choice(SCHEDULER_NAMES),
    "drr",
    "Whose turn it is on the line: deficit round robin, or one of the schedulers by weight.",
    "thesis chapter 7",
);

/// The drop policy of a discipline that is named after its scheduler.
pub const POLICY: Param = Param::new(
    "policy",
    Kind::Choice(POLICY_NAMES),
    "longest",
    "Who loses when the buffer is full: the longest queue, or as tdrr, qsdrr, dtdrr or dsdrr with their defaults.",
    "longest: McKenney 1990",
);

pub const MAPPER: Param = Param::new(
    "mapper",
    Kind::Choice(MAPPER_NAMES),
    "per_flow",
    "Which flows share a queue: none; flows dealt out in turn to `queues` queues; those whose key has the same hash; those \
     whose key is in a group of the same queue.",
    "thesis chapter 5",
);
