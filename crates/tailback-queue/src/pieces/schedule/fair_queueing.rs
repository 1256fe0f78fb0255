//! Fair queueing (FQ): packets leave in the order in which a server that sends all conversations at once would finish
//! them.
//!
//! The rule imagines a line that sends one byte of each backlogged conversation in turn ([`FluidClock`]). A packet of p
//! bytes gets
//!
//! ```text
//! start tag   S = max(E of its conversation, V)      finish tag   E = S + p
//! send key    B = p + max(E before, V - delta)       the smallest key goes next, ties by arrival, without pre-emption
//! ```
//!
//! A packet of a conversation that sends little finds an empty queue and waits for about one packet of the other
//! conversations, however much these send. A conversation that sends much only fills its own queue. With `delta`, a
//! conversation that was idle is served slightly earlier, without a larger share of the line. With weights, p becomes p
//! / w.
//!
//! When the buffer is full, the conversation with the longest queue loses its last packet
//! ([`most_held`](crate::pieces::drop::most_held)). The finish tag of the conversation is restored, as if this packet
//! had never arrived (Keshav 1991). With `charge_dropped`, dropped packets count (Demers, Keshav and Shenker 1989).
//! Then a source that continues to send into a full buffer is starved.
//!
//! State: the fluid clock; for each stored packet its key, the E before it and its number in the order of arrival; a
//! heap of the queues by the key of their first packet. Keys grow along a queue, so the first packet of a queue has the
//! smallest key. A packet costs O(log n). [`virtual_time`](crate::pieces::schedule::virtual_time) describes the
//! arithmetic, and how ties and drift are handled.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989; S.
//! Keshav's Berkeley thesis, 1991, chapter 6. If an admission removes a packet from the middle of a queue, the
//! conversation is still charged for this packet.

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::virtual_time::{FluidClock, Tag};
use crate::pieces::schedule::{Scheduler, ServiceOrder, Turn};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Key, Kind, Packet, ProbeDef, params};

/// The work of the fluid server, in turns of one byte.
pub const VIRTUAL_TIME: ProbeDef = ProbeDef {
    name: "virtual_time",
    unit: "B",
    doc: "Bytes that the fluid server has sent of each backlogged conversation of weight 1, at the last arrival.",
    per: "",
};

params! {
    pub DELTA: u64 = Key::new("delta", Kind::Bytes { min: 0, max: 1_000_000_000 }, "0B",
        "How far a packet of a conversation that was idle may move ahead, in rounds of one byte for each conversation \
         (promptness).",
        "Demers, Keshav and Shenker 1989; 0 in Keshav 1991");
    pub CHARGE_DROPPED: bool = Key::new("charge_dropped", Kind::Bool, "false",
        "Whether a dropped packet counts as service to its conversation.",
        "false in Keshav 1991, true in Demers, Keshav and Shenker 1989");
}

/// The scheduler that serves packets by the finish tags of the fluid server.
#[derive(Clone, Debug)]
pub struct Fair {
    clock: FluidClock,
    delta: Tag,
    charge_dropped: bool,
    /// The tags of the packet in each slot.
    packets: Vec<PacketTags>,
    /// The queues, ordered by the send key and the arrival of their first packet.
    heads: TagHeap<(i128, u64)>,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct PacketTags {
    key: Tag,
    /// The E of the conversation before this packet.
    before: Tag,
    arrival: u64,
}

impl Fair {
    /// A scheduler with `delta` in bytes.
    pub fn new(delta: u64, charge_dropped: bool) -> Fair {
        Fair {
            clock: FluidClock::default(),
            delta: Tag::of_bytes(delta),
            charge_dropped,
            packets: Vec::new(),
            heads: TagHeap::default(),
            arrivals: 0,
        }
    }

    pub fn clock(&self) -> &FluidClock {
        &self.clock
    }

    fn advance(&mut self, line: &Line) {
        self.clock.advance(line.now, line.rate);
        if let Some(reading) = self.clock.rebase() {
            for t in &mut self.packets {
                (t.key, t.before) = (t.key.minus(reading), t.before.minus(reading));
            }
            self.heads.map(|(key, arrival)| (key - reading.grid(), arrival));
        }
    }

    fn line_up<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        match store.head(q).and_then(|slot| self.packets.get(slot as usize)) {
            Some(t) => self.heads.set(q, (t.key.grid(), t.arrival)),
            None => {
                self.heads.remove(q);
            }
        }
    }
}

impl ServiceOrder for Fair {}

impl<P: Packet> Scheduler<P> for Fair {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        self.advance(line);
        let Some(p) = store.packet(slot) else { return };
        self.clock.weigh(q, p.weight());
        let size = Tag::of(p.bytes(), self.clock.weight(q));
        let (virtual_time, before) = (self.clock.v(), self.clock.finish(q));
        self.clock.set_finish(q, before.max(virtual_time).plus(size));
        if self.packets.len() <= slot as usize {
            self.packets.resize(slot as usize + 1, PacketTags::default());
        }
        self.packets[slot as usize] = PacketTags {
            key: before.max(virtual_time.minus(self.delta)).plus(size),
            before,
            arrival: self.arrivals,
        };
        self.arrivals += 1;
    }

    fn activate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        Turn::of(self.heads.min().map(|(_, q)| q))
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.heads.remove(q);
    }

    fn evicting(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        if !self.charge_dropped && store.tail(q) == Some(slot) {
            self.advance(line);
            if let Some(t) = self.packets.get(slot as usize) {
                self.clock.set_finish(q, t.before);
            }
        }
    }

    fn head_changed(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn probes(&self) -> &'static [ProbeDef] {
        const { &[VIRTUAL_TIME] }
    }

    fn read(&self, _probe: usize, _index: u32) -> f64 {
        self.clock.v().bytes()
    }
}
