//! DRR++: deficit round robin that serves queues that have just become active before queues that stay backlogged.
//!
//! With plain DRR, a queue that becomes active waits for the turns of all other queues, however little it sends. DRR++
//! keeps two lists. A queue that becomes active enters the end of the new list with a whole quantum, and the new list
//! is served before the old one. A queue that has used its quantum goes to the end of the old list and shares the line
//! with the other queues of this list. So a flow that sends less than a quantum per round is served almost at once. A
//! new queue that has become empty goes to the end of the old list before it leaves the lists. Otherwise the queue
//! could become new again with every packet, and starve the others.
//!
//! ```text
//! next:   the first queue of the new list, or of the old one
//!         deficit <= 0: it gets a quantum, goes to the end of the old list, and the next is looked at
//!         empty: to the end of the old list, if it was new and the old list is not empty; else out of both
//! a packet that is sent is taken from the deficit, whatever its size
//! ```
//!
//! From: M. MacGregor and W. Shi, "Deficits for bursty latency-critical flows: DRR++", ICON 2000; RFC 8290, sections
//! 4.1 and 4.2 (the two lists).
//!
//! State: two lists of queues; for each queue its deficit in bytes and its list. A packet costs O(1), with a quantum
//! of at least the largest packet.

use crate::contract::discipline::Line;
use crate::pieces::schedule::drr::{QUANTUM, quantum};
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{PerQueue, QueueId, Store};
use std::collections::VecDeque;
use tailback_base::{Key, Model, Packet, params};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "drr-plus-plus",
    family: "scheduler",
    title: "DRR++ (deficit round robin with new and old queues)",
    summary: "Queues that have just become active go first, for a quantum. The other queues take turns, a quantum of \
              bytes a turn.",
    source: "MacGregor and Shi 2000; RFC 8290 section 4",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    /// The quantum parameter of the disciplines that use DRR++.
    pub ETHERNET_QUANTUM: u64 = Key::new("quantum", QUANTUM.param.kind, "1514B",
        "The credit that a queue gets when it becomes active, and with each turn.",
        "RFC 8290 section 5.2.4: a largest Ethernet frame");
}

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |s, _| Ok(Box::new(DrrPlusPlus::new(quantum(s)))),
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Credit {
    /// The deficit, bytes. It is negative after a packet that was larger than the deficit.
    deficit: i64,
    /// Whether the queue is in one of the lists.
    listed: bool,
}

/// The two lists of queues.
#[derive(Clone, Debug)]
pub struct DrrPlusPlus {
    quantum: i64,
    new: VecDeque<QueueId>,
    old: VecDeque<QueueId>,
    member: PerQueue<Credit>,
}

impl DrrPlusPlus {
    /// DRR++ with a quantum in bytes; 0 counts as 1.
    pub fn new(quantum: u32) -> DrrPlusPlus {
        DrrPlusPlus {
            quantum: i64::from(quantum.max(1)),
            new: VecDeque::new(),
            old: VecDeque::new(),
            member: PerQueue::default(),
        }
    }

    /// The bytes that a queue may still send before it waits for the other queues.
    pub fn deficit(&self, q: QueueId) -> i64 {
        self.member.get(q).deficit
    }
}

impl ServiceOrder for DrrPlusPlus {
    fn turn(&self) -> Option<QueueId> {
        self.new.front().or(self.old.front()).copied()
    }
}

impl<P: Packet> Scheduler<P> for DrrPlusPlus {
    /// Add the queue to the new list. A queue that is still in a list stays there.
    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        let member = self.member.at(q);
        if !member.listed {
            *member = Credit {
                deficit: self.quantum,
                listed: true,
            };
            self.new.push_back(q);
        }
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        loop {
            let list = if self.new.is_empty() {
                &mut self.old
            } else {
                &mut self.new
            };
            let Some(q) = list.front().copied() else {
                return Turn::Empty;
            };
            let member = self.member.at(q);
            if member.deficit > 0 {
                return Turn::Queue(q);
            }
            member.deficit += self.quantum;
            list.pop_front();
            self.old.push_back(q);
        }
    }

    fn served(&mut self, q: QueueId, bytes: u32, _store: &Store<P>, _line: &Line) {
        self.member.at(q).deficit -= i64::from(bytes);
    }

    /// The queue stays in its list until its next turn.
    fn deactivate(&mut self, _q: QueueId, _store: &Store<P>, _line: &Line) {}

    fn revisits(&self) -> bool {
        true
    }

    /// Move the empty queue `q`, which is the first of its list, to the old list or out of the lists.
    fn found_empty(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        let was_new = self.new.front() == Some(&q);
        let list = if was_new { &mut self.new } else { &mut self.old };
        list.pop_front();
        match was_new && !self.old.is_empty() {
            true => self.old.push_back(q),
            false => self.member.at(q).listed = false,
        }
    }
}

#[cfg(test)]
#[path = "drr_plus_plus_tests.rs"]
mod tests;
