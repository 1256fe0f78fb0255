//! The pieces that a scenario can name, with an entry each.
//!
//! A discipline that is named after its drop policy has a parameter `scheduler`. A discipline that is named after its
//! scheduler has a parameter `policy`. Several disciplines have a parameter `mapper`. The possible values of these
//! parameters are listed here.

use crate::contract::build_context::BuildContext;
use crate::contract::testing::TestPacket;
use crate::pieces::classify::Classifier;
use crate::pieces::classify::bloom::params as bloom;
use crate::pieces::classify::by_weight::ByWeight;
use crate::pieces::classify::hash::{ByHash, Hashed};
use crate::pieces::classify::hash_sets::{HashSets, WAYS};
use crate::pieces::classify::per_flow::{Even, PerFlow};
use crate::pieces::drop::{
    DropPolicy, PolicyEntry, batch, discard, fair_share, heavy, longest, queue_limit, random_discard, sticky,
    threshold, throughput,
};
use crate::pieces::params::{BUFFER, HASH_KEY};
use crate::pieces::schedule::drr::{self, QUANTUM};
use crate::pieces::schedule::{
    Scheduler, SchedulerEntry, drr_plus_plus, frame_based, priority, round_robin, scfq, srr, stratified, virtual_clock,
    weighted_round_robin, wf2q, wf2q_plus,
};
use std::marker::PhantomData;
use tailback_base::model::Registry;
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Packet, Param, Settings, Stream, params};

/// The registry entry of a mapper, which decides which flows share a queue.
pub struct MapperRow<P> {
    pub name: &'static str,
    pub queues: QueueCount,
    /// The parameters that no other mapper has.
    pub own: &'static [Param],
    pub build: fn(&Settings, u32, &mut Stream) -> Result<Box<dyn Classifier<P>>, Refusal>,
}

/// The rule for the number of queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueCount {
    /// There is a queue for each flow, so the number of queues cannot be given.
    ByFlow,
    /// The parameter `queues` gives the number.
    Given,
    /// The parameter `queues` gives the number, and a hash of a key chooses the queue.
    Hashed,
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const SCHEDULERS: &'static [SchedulerEntry<P>] = &[
        drr::entry(),
        drr::weighted_entry(),
        drr_plus_plus::entry(),
        scfq::entry(),
        wf2q_plus::entry(),
        wf2q::entry(),
        priority::entry(),
        round_robin::entry(),
        srr::entry(),
        stratified::entry(),
        weighted_round_robin::entry(),
        virtual_clock::entry(),
        frame_based::entry(),
    ];

    const POLICIES: &'static [PolicyEntry<P>] = &[
        longest::entry(),
        throughput::entry(),
        sticky::entry(),
        threshold::entry(),
        discard::entry(),
        fair_share::entry(),
        queue_limit::entry(),
        batch::entry(),
        random_discard::entry(),
        heavy::entry(),
    ];

    const MAPPERS: [MapperRow<P>; 6] = [
        MapperRow {
            name: "per_flow",
            queues: QueueCount::ByFlow,
            own: &[],
            build: |_, _, _| Ok(Box::new(PerFlow::new())),
        },
        MapperRow {
            name: "weight",
            queues: QueueCount::ByFlow,
            own: &[],
            build: |_, _, _| Ok(Box::new(ByWeight::default())),
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
                    s.get(&HASH_KEY),
                    queues,
                    stream.bits(),
                ))))
            },
        },
        MapperRow {
            name: "hash_sets",
            queues: QueueCount::Hashed,
            own: &[WAYS.param],
            build: |s, queues, stream| {
                let key = s.get(&HASH_KEY);
                Ok(Box::new(HashSets::whole(key, queues, s.get(&WAYS), stream)?))
            },
        },
        MapperRow {
            name: "bloom",
            queues: QueueCount::Hashed,
            own: bloom::PARAMS,
            build: |s, queues, stream| Ok(Box::new(bloom::build(s, s.get(&HASH_KEY), queues, stream)?)),
        },
    ];
}

/// The schedulers and drop policies from which disciplines can be built: those of the lists above, and those that a
/// caller adds.
pub struct Pieces<P> {
    pub schedulers: Registry<SchedulerEntry<P>>,
    pub policies: Registry<PolicyEntry<P>>,
}

impl<P> Clone for Pieces<P> {
    fn clone(&self) -> Self {
        Pieces {
            schedulers: self.schedulers.clone(),
            policies: self.policies.clone(),
        }
    }
}

impl<P: Packet + 'static> Pieces<P> {
    /// All pieces of tailback, compiled for one type of packet.
    pub fn compiled() -> Pieces<P> {
        Pieces {
            schedulers: Registry::new(List::<P>::SCHEDULERS.iter().copied()),
            policies: Registry::new(List::<P>::POLICIES.iter().copied()),
        }
    }

    /// The scheduler that this discipline names, with its own random stream.
    ///
    /// # Errors
    /// An error of the scheduler, with the path to it.
    pub fn scheduler(&self, of: &Settings, context: &BuildContext) -> Result<Box<dyn Scheduler<P>>, Refusal> {
        let own_settings = scheduler_settings(of)?;
        let row = self
            .schedulers
            .row(own_settings.model.name)
            .map_err(|e| e.within(SCHEDULER.name))?;
        // The seed is drawn from a copy of the stream, so that the other pieces draw the same numbers as without a
        // scheduler.
        let seed = context.stream.clone().bits();
        let context = BuildContext {
            stream: Stream::new(seed, SCHEDULER.name),
            ..context.clone()
        };
        (row.build)(&own_settings, context).map_err(|e| e.within(SCHEDULER.name))
    }

    /// The drop policy that this discipline names.
    ///
    /// # Errors
    /// An error of the policy, with the path to it.
    pub fn policy(&self, of: &Settings, context: BuildContext) -> Result<Box<dyn DropPolicy<P>>, Refusal> {
        let own = nested(of, POLICY.name)?;
        let row = self.policies.row(own.model.name).map_err(|e| e.within(POLICY.name))?;
        (row.build)(own, of.get(&BUFFER), context).map_err(|e| e.within(POLICY.name))
    }
}

/// The settings of the scheduler that a discipline names. The `quantum` of the discipline is a short form for that of
/// its scheduler. A scheduler without a quantum ignores it.
///
/// # Errors
/// The settings name no scheduler, or they give a quantum for both.
pub fn scheduler_settings(of: &Settings) -> Result<Settings, Refusal> {
    let mut own_settings = nested(of, SCHEDULER.name)?.clone();
    let name = QUANTUM.name;
    let kind = |s: &Settings| s.model.param(name).map(|p| p.kind);
    if kind(of).is_none() || kind(of) != kind(&own_settings) || !of.is_given(name) {
        return Ok(own_settings);
    }
    if own_settings.is_given(name) {
        let e = Refusal::new(
            format!("{name} is given to {} and to its scheduler", of.model.name),
            "keep one of the two",
        );
        return Err(e.within(name).within(SCHEDULER.name));
    }
    own_settings.lay_value_of(of, name);
    Ok(own_settings)
}

fn nested<'s>(of: &'s Settings, key: &str) -> Result<&'s Settings, Refusal> {
    let none = || Refusal::new(format!("{} needs a {key}", of.model.name), "name one, or leave it out");
    of.nested(key).ok_or_else(|| none().within(key))
}

/// All mappers.
pub fn mappers<P: Packet + 'static>() -> [MapperRow<P>; 6] {
    List::<P>::MAPPERS
}

/// The names in a list of entries.
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

const MAPPER_NAMES: &[&str] = &names!(List::<TestPacket>::MAPPERS, row => row.name);

params! {
    /// The scheduler of a discipline that is named after its drop policy.
    pub SCHEDULER = Param::new("scheduler", Kind::Model("scheduler"), "drr",
        "The scheduler, which chooses the queue that sends next: deficit round robin, or a scheduler by weight.",
        "thesis chapter 7");
    /// The drop policy of a discipline that is named after its scheduler.
    pub POLICY = Param::new("policy", Kind::Model("policy"), "longest",
        "Which queue loses a packet when the buffer is full: the longest queue, or the one that tdrr, qsdrr, dtdrr or \
         dsdrr chooses.",
        "longest: McKenney 1990");
    pub MAPPER: String = Key::new("mapper", Kind::Choice(MAPPER_NAMES), "per_flow",
        "Which flows share a queue. per_flow: each flow has its own. weight: flows of the same weight, as the classes \
         of strict priority. even: flows are given to `queues` queues in turn. hash: flows whose key has the same \
         hash. hash_sets: the same, if no queue of their set is free. bloom: flows whose key is in a group of the same \
         queue.",
        "thesis chapter 5");
}
