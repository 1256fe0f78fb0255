//! The stamps of packets, for schedulers that reserve rates.
//!
//! The rate of a flow of weight w is the rate of the line times w over the sum of the weights of all flows so far.
//! Clocks and stamps are in bytes of the line's work. The length of a packet of p bytes is the work of the line while a
//! separate line with the flow's rate would send the packet:
//!
//! ```text
//! start S = max(finish of the flow's packet before, clock at arrival)      finish F = S + p * (sum of weights) / w
//! ```
//!
//! The papers have no losses. Here an evicted packet counts as if it had never arrived: the packets that follow it
//! without a gap get earlier stamps ([`move_up`]). Otherwise a flow that sends too much would be charged for its lost
//! packets, and starve. When a new flow arrives, the sum of weights grows, so stamps that were given before are too
//! early for the new sum.
//!
//! State: S and F of each stored packet (32 bytes); the last F and the weight of each flow (48 bytes).

use crate::pieces::schedule::virtual_time::{Tag, Weight, WeightSum};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::Packet;

/// The stamps of all stored packets.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    /// The start and finish stamps of the packet in each slot.
    packets: Vec<(Tag, Tag)>,
    flows: PerQueue<Reservation>,
    total: WeightSum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Reservation {
    /// The finish stamp of the flow's last packet.
    last: Tag,
    /// The weight of the flow; `None` before its first packet.
    weight: Option<Weight>,
    /// The value from which the weight was made.
    given: f64,
}

impl Stamps {
    /// Give stamps to the packet that was stored in this slot, at the end of `q`. Returns its finish stamp.
    pub fn give<P: Packet>(&mut self, q: QueueId, slot: u32, clock: Tag, store: &Store<P>) -> Tag {
        let Some(p) = store.packet(slot) else { return clock };
        let weight = self.learn(q, p.weight());
        let length = Tag::of(p.bytes(), weight).scaled(self.total.weight(), Weight::ONE);
        let flow = self.flows.at(q);
        let start = flow.last.max(clock);
        flow.last = start.plus(length);
        let stamps = (start, flow.last);
        if self.packets.len() <= slot as usize {
            self.packets.resize(slot as usize + 1, Default::default());
        }
        self.packets[slot as usize] = stamps;
        stamps.1
    }

    fn learn(&mut self, q: QueueId, given: f64) -> Weight {
        let flow = self.flows.at(q);
        if let Some(weight) = flow.weight.filter(|_| flow.given.to_bits() == given.to_bits()) {
            return weight;
        }
        let (was, is) = (flow.weight, Weight::of(given));
        (flow.weight, flow.given) = (Some(is), given);
        self.total.add(is);
        if let Some(was) = was {
            self.total.sub(was);
        }
        is
    }

    /// The start and finish stamps of the first packet of a queue.
    pub fn head<P: Packet>(&self, q: QueueId, store: &Store<P>) -> Option<(Tag, Tag)> {
        self.packets.get(store.head(q)? as usize).copied()
    }

    /// Correct the stamps of `q`, because the packet in this slot will not be served.
    pub fn forget<P: Packet>(&mut self, q: QueueId, slot: u32, store: &Store<P>) {
        let Some((end, length)) = move_up(&mut self.packets, slot, store) else {
            return;
        };
        let flow = self.flows.at(q);
        if flow.last == end {
            flow.last = end.minus(length);
        }
    }

    /// Reduce every stamp, because the clock has been set back.
    pub fn set_back(&mut self, by: Tag) {
        for (start, finish) in &mut self.packets {
            (*start, *finish) = (start.minus(by), finish.minus(by));
        }
        self.flows.each(|f| f.last = f.last.minus(by));
    }
}

/// Correct the stamps of a queue, because the packet in this slot will not be served. The packets that follow it
/// without a gap start earlier by its length. If this holds for all later packets, the result is the old finish stamp
/// of the last one, and that length.
pub fn move_up<P: Packet>(packets: &mut [(Tag, Tag)], slot: u32, store: &Store<P>) -> Option<(Tag, Tag)> {
    let &(start, mut end) = packets.get(slot as usize)?;
    let length = end.minus(start);
    let mut next_slot = store.after(slot);
    while let Some(stamps) = next_slot.and_then(|slot| packets.get_mut(slot as usize)) {
        if stamps.0 != end {
            return None;
        }
        end = stamps.1;
        *stamps = (stamps.0.minus(length), stamps.1.minus(length));
        next_slot = next_slot.and_then(|slot| store.after(slot));
    }
    Some((end, length))
}
