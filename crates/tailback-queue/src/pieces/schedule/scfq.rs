//! Self-clocked fair queueing (SCFQ): fair queueing that takes its clock from the packet on the line.
//!
//! Fair queueing must compute its fluid server from departure to departure. SCFQ needs no fluid server, because its
//! clock is the finish tag of the packet in service.
//!
//! ```text
//! a packet of p bytes, weight w, arrives:   S = max(v, F of the flow's packet before)     F = S + p / w
//! next:                                     the smallest F of all first packets; v = that F
//! ```
//!
//! While a flow has waiting packets, v is below the F of its first packet. So the S of each later packet equals the F
//! of the packet before it, and only the tags of first packets have to be stored.
//!
//! SCFQ needs little computation and is fair in the long run. But a flow that was idle starts from the tag in service
//! and not from the clock of a fluid server. So it may wait for a packet of every other flow. When the line becomes
//! idle and all queues are empty, all tags restart from zero.
//!
//! State: v; for each flow, S and F of its first packet, or of its last packet if its queue is empty, and the busy
//! period of these tags; a heap of the flows by F. Tags are exact
//! ([`virtual_time`](crate::pieces::schedule::virtual_time)). Among equal tags, the flow that first reached this port
//! is served first. A packet costs O(log n).
//!
//! Source: S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994. Here tags
//! are in bytes per unit of weight. In the paper they are in seconds, which gives the same order. The paper has no
//! losses. Here a flow is not charged for an evicted packet. A new first packet keeps the S of the evicted one, and the
//! F of an emptied queue is reset to its S. Otherwise a flow that sends too much would be charged for its lost packets,
//! and starve.

use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::virtual_time::{Tag, Weight};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Model, Packet};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "scfq",
    family: "scheduler",
    title: "Self-clocked fair queueing",
    summary: "Packets leave in the order of finish tags, which grow by bytes divided by weight. The clock is the tag \
              of the packet in service.",
    source: "Golestani, INFOCOM 1994",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(Scfq::new())),
    }
}

/// The scheduler that serves packets by self-clocked finish tags.
#[derive(Clone, Debug, Default)]
pub struct Scfq {
    v: Tag,
    flows: PerQueue<Tags>,
    heads: TagHeap<i128>,
    busy_period: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tags {
    start: Tag,
    finish: Tag,
    busy_period: u64,
}

impl Scfq {
    pub fn new() -> Scfq {
        Scfq::default()
    }

    /// Set back a clock that has become large, together with all tags.
    fn rebase(&mut self) {
        if let Some(reading) = self.v.far() {
            self.v = self.v.minus(reading);
            self.flows.each(|f| {
                f.start = f.start.minus(reading);
                f.finish = f.finish.minus(reading);
            });
            self.heads.map(|key| key - reading.grid());
        }
    }

    /// Set the start tag of the first packet of `q`.
    fn line_up<P: Packet>(&mut self, q: QueueId, start: Tag, store: &Store<P>) {
        let Some(p) = store.head(q).and_then(|slot| store.packet(slot)) else {
            return;
        };
        let finish = start.plus(Tag::of(p.bytes(), Weight::of(p.weight())));
        *self.flows.at(q) = Tags {
            start,
            finish,
            busy_period: self.busy_period,
        };
        self.heads.set(q, finish.grid());
    }
}

impl ServiceOrder for Scfq {}

impl<P: Packet> Scheduler<P> for Scfq {
    fn activate(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        if line.busy.is_none() && store.backlog().packets == 1 {
            self.v = Tag::ZERO;
            self.busy_period += 1;
        }
        let flow = self.flows.get(q);
        let last_finish = match flow.busy_period == self.busy_period {
            true => flow.finish,
            false => Tag::ZERO,
        };
        self.line_up(q, last_finish.max(self.v), store);
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        let Some((_, q)) = self.heads.min() else {
            return Turn::Empty;
        };
        self.v = self.flows.get(q).finish;
        self.rebase();
        Turn::Queue(q)
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, _line: &Line) {
        match store.packets(q) {
            0 => {
                self.heads.remove(q);
            }
            _ => self.line_up(q, self.flows.get(q).finish, store),
        }
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        let flow = self.flows.at(q);
        flow.finish = flow.start;
        self.heads.remove(q);
    }

    fn head_changed(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, self.flows.get(q).start, store);
    }
}
