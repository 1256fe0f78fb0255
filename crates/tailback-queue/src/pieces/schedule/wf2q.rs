//! WF2Q: like WF2Q+, with the exact clock of the fluid server.
//!
//! Each packet gets its tags on arrival from the fluid server, which WF2Q+ only approximates ([`FluidClock`]): S =
//! max(F of the flow's packet before, V), F = S + bytes / weight. Only first packets whose service has begun in the
//! fluid server (S is at most the present V) may be sent. Of these, the packet that the fluid server would finish first
//! is sent next. The purpose of WF2Q is to check WF2Q+ and to show the cost of the exact clock: if n flows leave the
//! fluid server between two events, the next packet costs O(n).
//!
//! ```text
//! a packet never starts before the fluid server starts it
//! and never ends later than the fluid server ends it, plus the time of a largest packet
//! ```
//!
//! State: the fluid clock; S and F of each stored packet; two heaps, one by F of the flows that are due, and one by S
//! of the other flows. Among equal tags, the flow that first reached this port is served first. A packet costs O(log n)
//! on average.
//!
//! Source: J. C. R. Bennett and H. Zhang, "WF2Q: worst-case fair weighted fair queueing", INFOCOM 1996. The paper has
//! no losses. Here evicted packets are removed from the fluid server, and the packets after them get earlier tags.
//! Otherwise a flow that sends too much would be charged for its lost packets, and starve. The cost of an eviction is
//! proportional to the number of packets after it.

use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::stamps::move_up;
use crate::pieces::schedule::virtual_time::{FluidClock, Tag};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Model, Packet};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "wf2q",
    family: "scheduler",
    title: "WF2Q, exact",
    summary: "Only packets that a fluid server would have begun to serve may leave. Of these, the one that the fluid \
              server would finish first leaves first.",
    source: "Bennett and Zhang, INFOCOM 1996",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(Wf2q::new())),
    }
}

/// The scheduler that serves the flows that the fluid server serves, by its finish tags.
#[derive(Clone, Debug, Default)]
pub struct Wf2q {
    clock: FluidClock,
    /// The start and finish tags of the packet in each slot.
    packets: Vec<(Tag, Tag)>,
    due: TagHeap<i128>,
    waiting: TagHeap<i128>,
}

impl Wf2q {
    pub fn new() -> Wf2q {
        Wf2q::default()
    }

    fn advance(&mut self, line: &Line) {
        self.clock.advance(line.now, line.rate);
        if let Some(reading) = self.clock.rebase() {
            for (start, finish) in &mut self.packets {
                (*start, *finish) = (start.minus(reading), finish.minus(reading));
            }
            self.due.map(|key| key - reading.grid());
            self.waiting.map(|key| key - reading.grid());
        }
    }

    /// The tags of the first packet of a queue.
    fn head<P: Packet>(&self, q: QueueId, store: &Store<P>) -> Option<(Tag, Tag)> {
        self.packets.get(store.head(q)? as usize).copied()
    }

    /// Correct the tags, because the packet in this slot will not be served.
    fn forget<P: Packet>(&mut self, q: QueueId, slot: u32, store: &Store<P>) {
        if let Some((end, length)) = move_up(&mut self.packets, slot, store)
            && self.clock.finish(q) == end
        {
            self.clock.set_finish(q, end.minus(length));
        }
    }

    /// Insert the flow among those that wait. Whether it is due is decided when the next packet is chosen.
    fn line_up<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        self.due.remove(q);
        match self.head(q, store) {
            Some((start, _)) => self.waiting.set(q, start.grid()),
            None => {
                self.waiting.remove(q);
            }
        }
    }
}

impl ServiceOrder for Wf2q {}

impl<P: Packet> Scheduler<P> for Wf2q {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        self.advance(line);
        let Some(p) = store.packet(slot) else { return };
        self.clock.weigh(q, p.weight());
        let start = self.clock.finish(q).max(self.clock.v());
        let finish = start.plus(Tag::of(p.bytes(), self.clock.weight(q)));
        self.clock.set_finish(q, finish);
        if self.packets.len() <= slot as usize {
            self.packets.resize(slot as usize + 1, Default::default());
        }
        self.packets[slot as usize] = (start, finish);
    }

    fn activate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn next(&mut self, store: &Store<P>, line: &Line) -> Turn {
        self.advance(line);
        while let Some((start, q)) = self.waiting.min() {
            if start > self.clock.v().grid() {
                break;
            }
            self.waiting.remove(q);
            if let Some((_, finish)) = self.head(q, store) {
                self.due.set(q, finish.grid());
            }
        }
        // The last alternative is needed after rounding, and if the line was faster than the rate that the clock used.
        Turn::of(self.due.min().or_else(|| self.waiting.min()).map(|(_, q)| q))
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn evicting(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        self.advance(line);
        self.forget(q, slot, store);
    }

    fn deactivate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn head_changed(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }
}
