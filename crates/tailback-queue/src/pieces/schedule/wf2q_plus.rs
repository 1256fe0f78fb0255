//! WF2Q+: only packets whose service would have begun in a fluid server may be sent; of these, the one that would be
//! finished first is sent.
//!
//! With fair queueing by finish tags alone, a flow with a large weight gets ahead of its share: a flow of weight 10
//! with ten flows of weight 1 sends ten packets in a row and then waits for ten packets of the others. WF2Q+ serves
//! only flows that are due. A flow is due if the clock V has reached its start tag S. Among these flows the smallest
//! finish tag F is served first. So no flow is more than about one packet ahead of its share or behind it.
//!
//! ```text
//! tags of a flow's first packet:           F = S + bytes / weight
//! a flow's queue gets its first packet:    S = max(F, clock)
//! next:      if no flow due, V = the smallest S;   smallest F of those with S <= V;   V = V + bytes / sum of weights
//! another packet comes to the front after a service:   S = F
//! ```
//!
//! V advances with the packet on the line (`clock`), at most to the end of this packet. It advances as if all flows
//! were always backlogged. If some are not, a fluid server is faster, and the jump to the smallest S compensates for
//! this. When the line becomes idle and all queues are empty, all tags restart from zero.
//!
//! State: V; for each flow S, F, weight and busy period; two heaps, one by F of the flows that are due, and one by S of
//! the other flows. Tags are exact ([`virtual_time`](crate::pieces::schedule::virtual_time)). Among equal tags, the
//! flow that first reached this port is served first. A packet costs O(log n).
//!
//! Source: J. C. R. Bennett and H. Zhang, "Hierarchical packet fair queueing algorithms", SIGCOMM 1996 (WF2Q+). The
//! paper scales all tags by the sum of weights. Unscaled tags need no change when this sum changes. The sum is over all
//! flows so far. After an eviction a new first packet keeps S, and the F of an emptied queue is reset to S, because the
//! evicted packet was not sent.

use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::virtual_time::{Tag, Weight, WeightSum};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Model, Packet, Time};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "wf2q-plus",
    family: "scheduler",
    title: "WF2Q+",
    summary: "Of the packets that are due, the next to leave is the one that would be finished first if each flow had \
              its share by weight.",
    source: "Bennett and Zhang, SIGCOMM 1996",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(Wf2qPlus::new())),
    }
}

/// The scheduler that serves the flows that are due, by finish tag.
#[derive(Clone, Debug, Default)]
pub struct Wf2qPlus {
    /// The value of the clock when the packet on the line will have been sent.
    v: Tag,
    /// The value of the clock when its transmission began, and the time of this.
    v_before: Tag,
    since: Time,
    flows: PerQueue<Tags>,
    /// The sum of the weights of all flows so far.
    total: WeightSum,
    due: TagHeap<i128>,
    waiting: TagHeap<i128>,
    busy_period: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tags {
    start: Tag,
    finish: Tag,
    /// The weight of the flow; `None` before its first packet.
    weight: Option<Weight>,
    /// The value from which the weight was made.
    given: f64,
    busy_period: u64,
}

impl Wf2qPlus {
    pub fn new() -> Wf2qPlus {
        Wf2qPlus::default()
    }

    /// The start and finish tag of the flow's first packet.
    pub fn tags(&self, q: QueueId) -> (Tag, Tag) {
        let f = self.flows.get(q);
        (f.start, f.finish)
    }

    /// The clock at the end of the packet on the line.
    pub fn v(&self) -> Tag {
        self.v
    }

    fn clock(&self, line: &Line) -> Tag {
        match line.busy {
            Some(_) => {
                let worked = Tag::of_work(line.rate, line.now.since(self.since));
                let turns = worked.scaled(Weight::ONE, self.total.weight());
                self.v_before.plus(turns).min(self.v)
            }
            None => self.v,
        }
    }

    fn learn(&mut self, q: QueueId, given: f64) {
        let flow = self.flows.at(q);
        if flow.given.to_bits() == given.to_bits() {
            return;
        }
        let (was, is) = (flow.weight, Weight::of(given));
        (flow.weight, flow.given) = (Some(is), given);
        self.total.add(is);
        if let Some(was) = was {
            self.total.sub(was);
        }
    }

    /// Give the flow's first packet this start tag, and insert the flow into the heap of flows that are due or into the
    /// other heap.
    fn line_up<P: Packet>(&mut self, q: QueueId, start: Tag, store: &Store<P>) {
        let flow = self.flows.at(q);
        let finish = start.plus(Tag::of(store.head_bytes(q), flow.weight.unwrap_or_default()));
        (flow.start, flow.finish) = (start, finish);
        if start.grid() <= self.v.grid() {
            self.waiting.remove(q);
            self.due.set(q, finish.grid());
        } else {
            self.due.remove(q);
            self.waiting.set(q, start.grid());
        }
    }

    fn leave(&mut self, q: QueueId) {
        self.due.remove(q);
        self.waiting.remove(q);
    }

    /// Set back a clock that has become large, together with all tags.
    fn rebase(&mut self) {
        if let Some(reading) = self.v.far() {
            self.v = self.v.minus(reading);
            self.v_before = self.v_before.minus(reading);
            self.flows.each(|f| {
                f.start = f.start.minus(reading);
                f.finish = f.finish.minus(reading);
            });
            self.due.map(|key| key - reading.grid());
            self.waiting.map(|key| key - reading.grid());
        }
    }
}

impl ServiceOrder for Wf2qPlus {}

impl<P: Packet> Scheduler<P> for Wf2qPlus {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, _line: &Line) {
        if let Some(p) = store.packet(slot) {
            self.learn(q, p.weight());
        }
    }

    fn activate(&mut self, q: QueueId, store: &Store<P>, line: &Line) {
        if line.busy.is_none() && store.backlog().packets == 1 {
            (self.v, self.v_before) = (Tag::ZERO, Tag::ZERO);
            self.busy_period += 1;
        }
        let clock = self.clock(line);
        let flow = self.flows.at(q);
        let last_finish = match flow.busy_period == self.busy_period {
            true => flow.finish,
            false => Tag::ZERO,
        };
        flow.busy_period = self.busy_period;
        self.line_up(q, last_finish.max(clock), store);
    }

    fn next(&mut self, _store: &Store<P>, line: &Line) -> Turn {
        if self.due.is_empty() {
            let Some((_, q)) = self.waiting.min() else {
                return Turn::Empty;
            };
            self.v = self.v.max(self.flows.get(q).start);
        }
        self.rebase();
        while let Some((start, q)) = self.waiting.min() {
            if start > self.v.grid() {
                break;
            }
            self.waiting.remove(q);
            self.due.set(q, self.flows.get(q).finish.grid());
        }
        (self.v_before, self.since) = (self.v, line.now);
        Turn::of(self.due.min().map(|(_, q)| q))
    }

    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, _line: &Line) {
        self.v = self.v.plus(Tag::of(bytes, self.total.weight()));
        match store.packets(q) {
            0 => self.leave(q),
            _ => self.line_up(q, self.flows.get(q).finish, store),
        }
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.leave(q);
        let flow = self.flows.at(q);
        flow.finish = flow.start;
    }

    fn head_changed(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, self.flows.get(q).start, store);
    }
}
