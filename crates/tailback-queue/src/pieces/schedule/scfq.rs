//! Self-clocked fair queueing (SCFQ): fair queueing that reads its clock off the packet it is sending.
//!
//! The fluid server of fair queueing has to be followed from departure to departure. SCFQ needs no such server: its clock
//! is the finish tag of the packet in service.
//!
//! ```text
//! a packet of p bytes, weight w, arrives:   F = max(v, F of the flow's packet before) + p / w
//! next:                                     the smallest F of all first packets; v = that F
//! ```
//!
//! Cheap and fair in the long run, but a flow that was idle starts from the tag in service, not from where the fluid server
//! is, and may wait for a packet of every other flow. When the line has fallen idle with nothing queued all tags start from
//! zero again.
//!
//! State: v; for each flow its last F and the busy period it belongs to; for each stored packet its F; a heap of the flows
//! by the F of their first packet. Tags are exact ([`virtual_time`](crate::pieces::schedule::virtual_time)); of equal tags the flow goes first
//! that came to this port first. A packet costs O(log n).
//!
//! Source: S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994.
//! Tags are in bytes per unit of weight, where the paper has seconds: the order is the
//! same. An evicted packet keeps its place in the flow's tags.

use crate::pieces::schedule::{Scheduler, ServiceOrder, Turn};

use crate::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::virtual_time::{Tag, Weight};
use crate::pieces::store::{PerQueue, QueueId, Store};
use crate::row::SchedulerEntry;
use tailback_base::{Model, Packet};

/// The scheduler alone, above a drop policy of another name.
pub static MODEL: Model = Model {
    name: "scfq",
    family: "scheduler",
    title: "Self-clocked fair queueing",
    summary: "By finish tags that grow with bytes over weight; the clock is the tag of the packet in service.",
    source: "Golestani, INFOCOM 1994",
    params: &[],
    probes: &[],
};

/// The row of the list of schedulers.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(Scfq::new())),
    }
}

/// Serve by self-clocked finish tags.
#[derive(Clone, Debug, Default)]
pub struct Scfq {
    v: Tag,
    flows: PerQueue<Flow>,
    /// Finish tags by slot.
    packets: Vec<Tag>,
    heads: TagHeap<i128>,
    busy_period: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    finish: Tag,
    busy_period: u64,
}

impl Scfq {
    pub fn new() -> Scfq {
        Scfq::default()
    }

    /// A clock that has come far is set back, with all tags.
    fn rebase(&mut self) {
        if let Some(reading) = self.v.far() {
            self.v = self.v.minus(reading);
            self.flows.each(|f| f.finish = f.finish.minus(reading));
            self.packets.iter_mut().for_each(|t| *t = t.minus(reading));
            self.heads.map(|key| key - reading.grid());
        }
    }

    fn line_up<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        if let Some(finish) = store.head(q).and_then(|slot| self.packets.get(slot as usize)) {
            self.heads.set(q, finish.grid());
        }
    }
}

impl ServiceOrder for Scfq {}

impl<P: Packet> Scheduler<P> for Scfq {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        let Some(p) = store.packet(slot) else { return };
        if line.busy.is_none() && store.backlog().packets == 1 {
            self.v = Tag::ZERO;
            self.busy_period += 1;
        }
        let flow = self.flows.at(q);
        let last = match flow.busy_period == self.busy_period {
            true => flow.finish,
            false => Tag::ZERO,
        };
        let finish = last.max(self.v).plus(Tag::of(p.bytes(), Weight::of(p.weight())));
        *flow = Flow {
            finish,
            busy_period: self.busy_period,
        };
        if self.packets.len() <= slot as usize {
            self.packets.resize(slot as usize + 1, Tag::ZERO);
        }
        self.packets[slot as usize] = finish;
    }

    fn activate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn next(&mut self, store: &Store<P>, _line: &Line) -> Turn {
        let Some((_, q)) = self.heads.min() else {
            return Turn::Empty;
        };
        if let Some(finish) = store.head(q).and_then(|slot| self.packets.get(slot as usize)) {
            self.v = *finish;
            self.rebase();
        }
        Turn::Queue(q)
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, _line: &Line) {
        match store.packets(q) {
            0 => {
                self.heads.remove(q);
            }
            _ => self.line_up(q, store),
        }
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.heads.remove(q);
    }

    fn head_changed(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }
}
