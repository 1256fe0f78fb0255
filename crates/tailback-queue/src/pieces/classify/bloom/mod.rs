//! Bloom-filter groups: spread flows over queues almost as evenly as a table of flows would, with a byte or two per
//! flow.
//!
//! A flow's key is hashed to one of G groups, and a table gives each group its queue. With these two levels, a whole
//! group can be moved to another queue. With hashing directly to K queues, some queues would have twice as many flows
//! as others. Here the flows of each group are counted without storing their keys ([`filters`]), and groups are moved
//! so that the queues get about the same number of flows ([`table`]).
//!
//! ```text
//! arrival    group of the key; while learning, a flow not seen since the last clearing is counted; a packet more
//! departure  one packet less; the last of its group: DB may move the group
//! period     forget all flows; learning begins
//! settle     flows of the queues = counts of their groups; learning ends; PB may move groups without packets
//! ```
//!
//! A group moves only when none of its packets is stored, so packets of a flow never overtake each other. An arriving
//! packet counts as stored before it is stored. Otherwise an eviction to make room for it could let its group move
//! while the packet itself goes to the old queue. It is counted whether it is dropped later or not. If it is refused,
//! no group is moved.
//!
//! At the start, the flows that the driver announces are counted without traffic and distributed once. The first
//! clearing comes one period later. Flows that join later are only found by their packets.
//!
//! Departure: groups without stored packets are not kept in lists. When PB runs, it searches all groups for them.
//!
//! State: filters and counters, the table, the number of stored packets of each group; and, for the probes, the true
//! number of flows of each group. A packet costs the hashes of [`filters`], two look-ups and, with DB, O(log K) if its
//! group moves. Each `period` costs O(G).
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5. `docs/decisions/bloom-groups.md` describes the
//! points that the source leaves open.

pub mod counting;
pub mod filters;
pub mod params;
pub mod table;

use crate::pieces::classify::Classifier;
use crate::pieces::classify::occupancy::{FLOW_RATIO, Occupancy, QUEUE_FLOWS};
use crate::pieces::store::QueueId;
use filters::{FilterShape, Filters};
use table::{MoveRules, PbCounts, Table};
use tailback_base::{Duration, KeyField, Packet, ProbeDef, Stream, Time};

/// The number of times that groups have changed their queue.
pub const MOVES: ProbeDef = ProbeDef {
    name: "moves",
    unit: "groups",
    doc: "Groups moved to another queue so far.",
    per: "",
};

/// The settings of a Bloom mapper.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub key: KeyField,
    pub queues: u32,
    pub shape: FilterShape,
    pub rules: MoveRules,
    /// Whether new flows are also counted outside the learning time.
    pub live: bool,
    pub period: Duration,
    /// The duration of learning, which is shorter than the period.
    pub settle: Duration,
}

/// The mapper.
#[derive(Debug)]
pub struct Bloom {
    config: Config,
    filters: Filters,
    table: Table,
    /// The stored packets of each group, including an arriving packet.
    stored: Vec<u32>,
    /// The counts of the previous period, for [`PbCounts::Previous`].
    before: Vec<u32>,
    started: bool,
    learning: bool,
    cleared: Time,
    truth: Vec<u32>,
    occupancy: Occupancy,
    moves: u64,
}

impl Bloom {
    /// A mapper with seeds that are drawn from the stream.
    pub fn new(config: Config, stream: &mut Stream) -> Bloom {
        let filters = Filters::new(config.shape, stream.bits(), stream.bits());
        let groups = filters.shape().groups;
        Bloom {
            table: Table::new(groups, config.queues, &config.rules),
            filters,
            stored: vec![0; groups as usize],
            before: Vec::new(),
            started: false,
            learning: false,
            cleared: Time::ZERO,
            truth: vec![0; groups as usize],
            occupancy: Occupancy::new(config.queues),
            moves: 0,
            config,
        }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The number of groups moved so far.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Distribute the announced flows, once.
    fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.table.distribute(self.filters.counts());
            let truth = self.truth.iter().enumerate();
            self.occupancy
                .recount(truth.map(|(g, n)| (self.table.queue(g as u32), *n)));
        }
    }

    fn group<P: Packet>(&self, p: &P) -> (u32, u64) {
        let key = p.key(self.config.key);
        (self.filters.group(key), key)
    }

    fn settle(&mut self) {
        let Bloom {
            config,
            filters,
            table,
            stored,
            before,
            truth,
            occupancy,
            moves,
            ..
        } = self;
        let counted = config.rules.counts;
        if config.rules.periodic {
            let counts = match counted {
                PbCounts::Previous => &before[..],
                PbCounts::Fresh | PbCounts::Mixed => filters.counts(),
            };
            // With `Mixed`, the flows of the queues and the threshold are still those of the previous period, changed
            // by later moves.
            if counted != PbCounts::Mixed {
                table.learn(counts);
            }
            table.balance(
                counts,
                &|g| stored[g as usize] == 0,
                &config.rules,
                &mut |g, from, to| {
                    *moves += 1;
                    occupancy.transfer(from, to, truth[g as usize]);
                },
            );
        }
        if !config.rules.periodic || counted != PbCounts::Fresh {
            table.learn(filters.counts());
        }
    }
}

impl<P: Packet> Classifier<P> for Bloom {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        self.start();
        let (group, key) = self.group(p);
        // Outside the learning time the filters are not read, and the next learning begins with empty filters.
        if (self.learning || self.config.live) && self.filters.insert(group, key) {
            // While learning, the table is not changed; it takes over all counts when learning ends.
            let counted = self.filters.count(group);
            if counted && !self.learning {
                self.table.count_one(group);
            }
        }
        self.stored[group as usize] += 1;
        self.table.queue(group)
    }

    fn queues(&self) -> Option<u32> {
        Some(self.config.queues)
    }

    fn refused(&mut self, p: &P, _q: QueueId, _now: Time) {
        let (group, _) = self.group(p);
        self.stored[group as usize] -= 1;
    }

    fn left(&mut self, p: &P, _q: QueueId, _now: Time) {
        let (group, _) = self.group(p);
        let stored = &mut self.stored[group as usize];
        *stored -= 1;
        if *stored > 0 || self.learning || !self.config.rules.at_dequeue {
            return;
        }
        let from = self.table.queue(group);
        let flows = self.filters.counts()[group as usize];
        if let Some(to) = self.table.at_dequeue(group, flows, &self.config.rules) {
            self.moves += 1;
            self.occupancy.transfer(from, to, self.truth[group as usize]);
        }
    }

    fn flow_joined(&mut self, p: &P, _now: Time) {
        let (group, key) = self.group(p);
        self.truth[group as usize] += 1;
        if self.started {
            self.occupancy.join(self.table.queue(group), 1);
        } else if self.filters.insert(group, key) {
            self.filters.count(group);
        }
    }

    fn flow_left(&mut self, p: &P, _now: Time) {
        let (group, _) = self.group(p);
        if self.truth[group as usize] == 0 {
            return;
        }
        self.truth[group as usize] -= 1;
        if self.started {
            self.occupancy.leave(self.table.queue(group), 1);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(
            self.cleared
                + if self.learning {
                    self.config.settle
                } else {
                    self.config.period
                },
        )
    }

    fn on_timer(&mut self, now: Time) {
        self.start();
        if self.learning {
            self.learning = false;
            self.settle();
        } else {
            self.learning = true;
            self.cleared = now;
            if self.config.rules.counts == PbCounts::Previous {
                self.before.clear();
                self.before.extend_from_slice(self.filters.counts());
            }
            self.filters.clear();
        }
    }

    fn probes(&self) -> &'static [ProbeDef] {
        const { &[FLOW_RATIO, QUEUE_FLOWS, MOVES] }
    }

    fn read(&self, probe: usize, index: u32) -> f64 {
        match probe {
            0 if self.started => self.occupancy.ratio(),
            1 if self.started => self.occupancy.flows(index).map_or(f64::NAN, f64::from),
            2 => self.moves as f64,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
