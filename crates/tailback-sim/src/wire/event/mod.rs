//! The event list: a timing wheel for near events, and a heap for later ones.
//!
//! Every entity of a run (a link's wire, its service, a timer of a discipline or an endpoint, an application's wake)
//! has at most one live event here, so the length of the list depends on the size of the network, not on the traffic.
//! Events are ordered by (time, kind, age, entity), never by insertion; kinds put departures before arrivals at the
//! same instant.
//!
//! The age decides between packets that arrive at one instant: the younger packet comes first, and the name decides
//! only between equal ages. Senders that are clocked by ACKs send equal packets on the grid of the bottleneck's
//! departures, so such ties are common, and a full drop-tail buffer has only one free place. If the name decided, the
//! same flows would get that place again and again. The reference case (100 flows, 500 Mb/s) would then have a standard
//! deviation over flows of 1.3 Mb/s, instead of 0.5 in the public simulator. In the public simulator the event
//! scheduled first wins. That event belongs to the packet that passed its access link without waiting, not to the one
//! that queued there behind another packet of its own flow. The former is the younger packet.
//!
//! The heads of wires are due within microseconds to a few milliseconds and are nearly all of the events. They go into
//! the wheel: slots of equal width, each with a sorted list that usually holds one event. A tree of bitmaps finds the
//! occupied slots. Timers and distant events go into the heap, and are popped from there when their time comes. Width
//! and number of slots follow the density of events; the order never depends on them. If very many events share one
//! instant (a million flows that start together), a list would become long in spite of this; further events then go
//! into the heap.
//!
//! Cost: about 100 instructions for a push and a pop, whatever the size of the network, and log4(n) levels in the heap.

mod heap;

use heap::Heap;
use tailback_base::Time;

/// The kind of an event. Events at one instant are processed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// A link's rate changes.
    Change,
    /// A line becomes free, or a discipline that asked to wait may send.
    Service,
    /// A discipline's own timer.
    QueueTimer,
    /// The packet at the head of a wire reaches the far end.
    Delivery,
    /// A packet held by an impairment enters the queue.
    Release,
    /// A conditioner's timer.
    EdgeTimer,
    /// A message between edges arrives.
    Message,
    /// A transport endpoint's timer.
    Endpoint,
    /// An application's wake.
    Application,
    /// Recording and the end of the warm-up. They see the state after everything else at this instant.
    Tick,
}

impl EventKind {
    const ALL: [EventKind; 10] = [
        EventKind::Change,
        EventKind::Service,
        EventKind::QueueTimer,
        EventKind::Delivery,
        EventKind::Release,
        EventKind::EdgeTimer,
        EventKind::Message,
        EventKind::Endpoint,
        EventKind::Application,
        EventKind::Tick,
    ];

    /// The kinds by number, as far as four bits allow.
    const BY_NUMBER: [EventKind; 16] = {
        let mut all = [EventKind::Tick; 16];
        let mut i = 0;
        while i < EventKind::ALL.len() {
            all[i] = EventKind::ALL[i];
            i += 1;
        }
        all
    };
}

/// Ages are compared in units of 64 ns, up to about a second.
const AGE_UNIT: u32 = 6;
const AGE_MAX: u64 = (1 << 24) - 1;

/// Time in the high 64 bits, kind in the next 8, age in the next 24, entity in the low 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EventKey(u128);

impl EventKey {
    #[inline]
    fn new(t: Time, kind: EventKind, age: u64, entity: u32) -> EventKey {
        let low = ((kind as u64) << 56) | (age << 32) | u64::from(entity);
        EventKey((u128::from(t.0) << 64) | u128::from(low))
    }

    #[inline]
    fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    fn event(self) -> (Time, EventKind, u32) {
        (
            Time(self.time()),
            EventKind::BY_NUMBER[(self.0 as u64 >> 56) as usize & 15],
            self.0 as u32,
        )
    }
}

/// Number of slots at the start, and the maximum (a tree of three bitmaps).
const SLOTS: usize = 4096;
const MOST_SLOTS: usize = 1 << 18;
/// No event: end of a slot's list.
const NONE: u32 = u32::MAX;
/// Width of a slot at the start, as a power of two of nanoseconds.
const WIDTH_BITS: u32 = 12;
const WIDTH_RANGE: (u32, u32) = (1, 24);
/// An event that would come after this number of other events of its slot goes into the heap.
const LONGEST_WALK: u32 = 32;
/// The width is reviewed after this many pushes.
const REVIEW: u32 = 8192;

/// The number of slots that the scouts look ahead of the present slot.
const SCOUTS: [u64; 4] = [32, 24, 16, 8];

#[derive(Clone, Copy)]
struct Node {
    key: EventKey,
    next: u32,
}

/// The pending events of one run.
pub struct EventList {
    /// First node of each slot's list. The index is the absolute slot number modulo the number of slots, a power of
    /// two.
    slots: Vec<u32>,
    occupied: Bitmap,
    nodes: Vec<Node>,
    free: u32,
    in_wheel: usize,
    /// Time of the last event popped; no earlier event is pushed. The wheel holds the slots from this time on.
    now: u64,
    width: u32,
    /// The heap's first event is not due before this time; 0 if the time has to be found.
    far_from: u64,
    heap: Heap,
    pushes: u32,
    /// The slots up to which the scouts have looked, as absolute slot numbers.
    scouts: [u64; SCOUTS.len()],
    /// Counts since the last review: the list nodes that were walked past, and the pushes that were too far away for
    /// the wheel.
    walked: u32,
    far: u32,
}

impl Default for EventList {
    fn default() -> Self {
        EventList {
            slots: vec![NONE; SLOTS],
            occupied: Bitmap::new(SLOTS),
            nodes: Vec::new(),
            free: NONE,
            in_wheel: 0,
            now: 0,
            width: WIDTH_BITS,
            far_from: u64::MAX,
            heap: Heap::default(),
            pushes: 0,
            scouts: [0; SCOUTS.len()],
            walked: 0,
            far: 0,
        }
    }
}

impl EventList {
    pub fn new() -> EventList {
        EventList::default()
    }

    pub fn len(&self) -> usize {
        self.in_wheel + self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of events in the wheel, mostly those of wires.
    #[inline]
    pub fn due_soon(&self) -> usize {
        self.in_wheel
    }

    /// Time of the last event popped. Everything done ahead of time is later.
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    #[inline]
    pub fn push(&mut self, t: Time, kind: EventKind, entity: u32) {
        self.push_key(EventKey::new(t, kind, 0, entity));
    }

    /// The packet at the head of a port's wire, sent by its source at `born`, reaches the far end at `t`.
    #[inline]
    pub fn push_delivery(&mut self, t: Time, port: u32, born: Time) {
        // No packet arrives before it is born.
        let age = (t.0.wrapping_sub(born.0) >> AGE_UNIT).min(AGE_MAX);
        self.push_key(EventKey::new(t, EventKind::Delivery, age, port));
    }

    /// Rare cases (a review, an event beyond the wheel, a new node, an occupied slot) are separate calls at the end,
    /// so that the rest needs few registers.
    #[inline]
    fn push_key(&mut self, key: EventKey) {
        self.pushes += 1;
        if self.pushes == REVIEW {
            self.review();
        }
        self.place(key);
    }

    #[inline]
    fn place(&mut self, key: EventKey) {
        let slot = key.time().max(self.now) >> self.width;
        if slot - (self.now >> self.width) >= self.slots.len() as u64 {
            return self.place_far(key);
        }
        let slot = slot as usize & (self.slots.len() - 1);
        if self.slots[slot] != NONE {
            return self.place_among(key, slot);
        }
        let node = self.free;
        // No node has the number `NONE`.
        let Some(n) = self.nodes.get_mut(node as usize) else {
            return self.place_among(key, slot);
        };
        self.free = n.next;
        *n = Node { key, next: NONE };
        self.slots[slot] = node;
        self.occupied.set(slot);
        self.in_wheel += 1;
    }

    #[cold]
    fn place_far(&mut self, key: EventKey) {
        self.far += 1;
        self.far_from = self.far_from.min(key.time());
        self.heap.push(key);
    }

    /// Insert into a slot's list, in order, or into the heap if the walk is long.
    #[inline(never)]
    fn place_among(&mut self, key: EventKey, slot: usize) {
        let first_node = self.slots[slot];
        if first_node == NONE {
            self.occupied.set(slot);
            return self.link(key, slot, NONE, NONE);
        }
        if key < self.nodes[first_node as usize].key {
            return self.link(key, slot, NONE, first_node);
        }
        let mut node = first_node;
        for _ in 0..LONGEST_WALK {
            self.walked += 1;
            let next_node = self.nodes[node as usize].next;
            if next_node == NONE || key < self.nodes[next_node as usize].key {
                return self.link(key, slot, node, next_node);
            }
            node = next_node;
        }
        self.far_from = self.far_from.min(key.time());
        self.heap.push(key);
    }

    /// Insert a new node between two nodes of a slot's list, or at its head after `NONE`.
    #[inline(always)]
    fn link(&mut self, key: EventKey, slot: usize, after: u32, next: u32) {
        let node = self.node(key);
        self.nodes[node as usize].next = next;
        if after == NONE {
            self.slots[slot] = node;
        } else {
            self.nodes[after as usize].next = node;
        }
        self.in_wheel += 1;
    }

    #[inline(always)]
    fn node(&mut self, key: EventKey) -> u32 {
        let node = Node { key, next: NONE };
        if self.free == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let i = self.free;
        self.free = self.nodes[i as usize].next;
        self.nodes[i as usize] = node;
        i
    }

    /// The first slot that is not empty, from the present one on.
    #[inline(never)]
    fn first_slot(&self) -> Option<usize> {
        if self.in_wheel == 0 {
            return None;
        }
        let from = (self.now >> self.width) as usize & (self.slots.len() - 1);
        self.occupied.at_or_around(from)
    }

    /// The time at which the earliest event is due.
    pub fn next_time(&mut self) -> Option<Time> {
        let soon = self.first_slot().map(|slot| self.nodes[self.slots[slot] as usize].key);
        let earliest = soon.into_iter().chain(self.heap.peek()).min();
        earliest.map(|key| Time(key.time()))
    }

    /// Take the earliest event, if it is not later than `until`.
    ///
    /// Nearly always this event is in the wheel, and earlier than everything in the heap.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, EventKind, u32)> {
        let Some(slot) = self.first_slot() else {
            return self.pop_far(until);
        };
        let node = self.slots[slot];
        let Node { key, next } = self.nodes[node as usize];
        if key.time() >= self.far_from && self.far_is_first(key) {
            return self.pop_far(until);
        }
        if key.time() > until.0 {
            return None;
        }
        self.slots[slot] = next;
        if next == NONE {
            self.occupied.clear(slot);
        }
        self.nodes[node as usize].next = self.free;
        self.free = node;
        self.in_wheel -= 1;
        self.now = self.now.max(key.time());
        Some(key.event())
    }

    #[cold]
    #[inline(never)]
    fn far_is_first(&mut self, key: EventKey) -> bool {
        let far = self.heap.peek();
        self.far_from = far.map_or(u64::MAX, EventKey::time);
        far.is_some_and(|far| far < key)
    }

    #[cold]
    #[inline(never)]
    fn pop_far(&mut self, until: Time) -> Option<(Time, EventKind, u32)> {
        let key = self.heap.peek()?;
        if key.time() > until.0 {
            return None;
        }
        self.heap.take();
        // The time is not searched now, because a later push may fill the place of the event that was popped.
        self.far_from = 0;
        self.now = self.now.max(key.time());
        Some(key.event())
    }

    /// Show each scout the events that have come into its view since its last call: the first events of the slots
    /// ahead. This changes nothing. A scout does not see events that are pushed later in front of it.
    #[inline]
    pub fn scout(&mut self, mut seen: impl FnMut(usize, EventKind, u32)) {
        let present_slot = self.now >> self.width;
        let mask = self.slots.len() - 1;
        for (i, lead) in SCOUTS.iter().enumerate() {
            let end = present_slot + lead;
            let mut slot_number = self.scouts[i].max(present_slot) + 1;
            // After a change of width this number may have any value.
            while slot_number <= end {
                let from = slot_number as usize & mask;
                let Some(slot) = self.occupied.next(from) else { break };
                slot_number += (slot - from) as u64;
                if slot_number > end {
                    break;
                }
                let key = self.nodes[self.slots[slot] as usize].key;
                seen(i, key.event().1, key.0 as u32);
                slot_number += 1;
            }
            self.scouts[i] = end;
        }
    }

    /// Use more and narrower slots if lists grow, and wider slots if events fall beyond the wheel.
    #[cold]
    fn review(&mut self) {
        let (mut width, mut slots) = (self.width, self.slots.len());
        if self.walked > REVIEW {
            width = (width - 1).max(WIDTH_RANGE.0);
            slots = (2 * slots).min(MOST_SLOTS);
        } else if self.far > REVIEW / 4 && self.walked < REVIEW / 4 {
            width = (width + 1).min(WIDTH_RANGE.1);
        }
        (self.pushes, self.walked, self.far) = (0, 0, 0);
        if width == self.width {
            return;
        }
        let mut keys = Vec::with_capacity(self.in_wheel);
        for &first in &self.slots {
            let mut node = first;
            while node != NONE {
                keys.push(self.nodes[node as usize].key);
                node = self.nodes[node as usize].next;
            }
        }
        self.nodes.clear();
        (self.free, self.in_wheel, self.width) = (NONE, 0, width);
        (self.slots, self.occupied) = (vec![NONE; slots], Bitmap::new(slots));
        for k in keys {
            self.place(k);
        }
        (self.walked, self.far) = (0, 0);
    }
}

/// The occupied slots: a bit for each slot, a bit for each word of these bits, and a bit for each word of the latter.
struct Bitmap {
    bits: Vec<u64>,
    words: Vec<u64>,
    top: u64,
}

impl Bitmap {
    fn new(slots: usize) -> Bitmap {
        Bitmap {
            bits: vec![0; slots / 64],
            words: vec![0; (slots / 4096).max(1)],
            top: 0,
        }
    }

    #[inline]
    fn set(&mut self, i: usize) {
        let word = &mut self.bits[i >> 6];
        let was_marked = *word != 0;
        *word |= 1 << (i & 63);
        if !was_marked {
            self.words[i >> 12] |= 1 << ((i >> 6) & 63);
            self.top |= 1 << (i >> 12);
        }
    }

    #[inline]
    fn clear(&mut self, i: usize) {
        self.bits[i >> 6] &= !(1 << (i & 63));
        if self.bits[i >> 6] == 0 {
            self.words[i >> 12] &= !(1 << ((i >> 6) & 63));
            if self.words[i >> 12] == 0 {
                self.top &= !(1 << (i >> 12));
            }
        }
    }

    /// The first set bit from `i` on; if all of these are clear, the first set bit from the beginning (wrapped around).
    #[inline(always)]
    fn at_or_around(&self, i: usize) -> Option<usize> {
        let here = self.bits[i >> 6] & (!0 << (i & 63));
        if here != 0 {
            return Some((i & !63) + here.trailing_zeros() as usize);
        }
        self.next_word(i).or_else(|| self.first())
    }

    /// The first set bit from `i` on.
    #[inline]
    fn next(&self, i: usize) -> Option<usize> {
        let here = self.bits[i >> 6] & (!0 << (i & 63));
        if here != 0 {
            return Some((i & !63) + here.trailing_zeros() as usize);
        }
        self.next_word(i)
    }

    /// The first set bit at all.
    #[cold]
    fn first(&self) -> Option<usize> {
        if self.top == 0 {
            return None;
        }
        let group = self.top.trailing_zeros() as usize;
        let w = (group << 6) + self.words[group].trailing_zeros() as usize;
        Some((w << 6) + self.bits[w].trailing_zeros() as usize)
    }

    /// The first set bit in the words after that of `i`.
    #[inline(never)]
    fn next_word(&self, i: usize) -> Option<usize> {
        // The bits of a word above position p; none above 63.
        let bits_above = |p: usize| (!0u64 << p) << 1;
        let mut word = self.words[i >> 12] & bits_above((i >> 6) & 63);
        let mut group = i >> 12;
        if word == 0 {
            let groups = self.top & bits_above(group);
            if groups == 0 {
                return None;
            }
            group = groups.trailing_zeros() as usize;
            word = self.words[group];
        }
        let w = (group << 6) + word.trailing_zeros() as usize;
        Some((w << 6) + self.bits[w].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_keep_their_numbers() {
        for (i, k) in EventKind::ALL.iter().enumerate() {
            assert_eq!(*k as usize, i);
        }
    }

    #[test]
    fn departures_come_first_then_the_younger_then_the_name() {
        let mut e = EventList::new();
        let t = Time(5);
        e.push(t, EventKind::Delivery, 1);
        e.push(t, EventKind::Service, 9);
        e.push(t, EventKind::Delivery, 0);
        e.push_delivery(Time(1_000_000), 3, Time(0));
        e.push_delivery(Time(1_000_000), 4, Time(900_000));
        let order: Vec<_> = std::iter::from_fn(|| e.pop_until(Time::NEVER))
            .map(|(_, k, id)| (k, id))
            .collect();
        assert_eq!(
            order,
            [
                (EventKind::Service, 9),
                (EventKind::Delivery, 0),
                (EventKind::Delivery, 1),
                (EventKind::Delivery, 4),
                (EventKind::Delivery, 3)
            ]
        );
    }

    /// Flows that start together push all their events at one instant, in the order of their numbers.
    #[test]
    fn a_million_events_at_one_instant_cost_a_short_walk_each() {
        const N: u32 = 1_000_000;
        let mut e = EventList::new();
        for i in 0..N {
            e.push(Time(5_000), EventKind::Application, i);
        }
        // Pushing an event later than all others compares it with only a few.
        assert!(e.walked <= REVIEW * LONGEST_WALK);
        for i in 0..N {
            assert_eq!(e.pop_until(Time::NEVER), Some((Time(5_000), EventKind::Application, i)));
        }
        assert!(e.is_empty());
    }

    #[test]
    fn the_width_follows_the_density() {
        let mut e = EventList::new();
        let mut now = 0;
        let mut run = |e: &mut EventList, gap: u64| {
            for i in 0..1_000_000u64 {
                e.push(
                    Time(now + gap + (i * 7919 % 1000) * gap / 1000),
                    EventKind::Delivery,
                    i as u32,
                );
                if e.len() > 2000 {
                    now = e.pop_until(Time::NEVER).unwrap().0.0;
                }
            }
            e.width
        };
        assert!(run(&mut e, 50_000) < WIDTH_BITS);
        assert!(run(&mut e, 1_000_000_000) > WIDTH_BITS);
    }

    proptest! {
        /// Compared with a sorted list, for any interleaving of push and pop, near and far, dense and sparse.
        #[test]
        fn pops_in_order(
            scale in 0u32..40,
            ops in prop::collection::vec(prop::option::weighted(0.55, (0u64..5000, 0u32..10)), 1..2000),
            review in 1u32..REVIEW,
        ) {
            let mut e = EventList::new();
            e.pushes = review;
            let mut model: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for op in ops {
                match op {
                    Some((ahead, id)) => {
                        let t = now + ((ahead << scale) >> 12);
                        e.push(Time(t), EventKind::Delivery, id);
                        model.push((t, id));
                        model.sort_unstable();
                    }
                    None => {
                        let expected = if model.is_empty() { None } else { Some(model.remove(0)) };
                        prop_assert_eq!(e.pop_until(Time::NEVER).map(|(t, _, id)| (t.0, id)), expected);
                        now = expected.map_or(now, |(t, _)| t);
                    }
                }
                prop_assert_eq!(e.len(), model.len());
            }
        }
    }
}
