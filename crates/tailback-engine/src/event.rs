//! The event list: an implicit 4-ary heap with a hole at the root.
//!
//! Every entity of a run (a link's wire, its service, a timer of a discipline or an endpoint, an application's wake) has
//! at most one live event here, so the list is as long as the network is large, not as the traffic. Events are ordered
//! by (time, kind, age, entity), never by insertion; kinds put departures before arrivals at the same instant.
//!
//! Why age: of packets that arrive at one instant the younger comes first, and only then the name decides. Senders that
//! are clocked by ACKs send equal packets on the grid of the bottleneck's departures, so such ties are the rule, not the
//! exception, and a full drop-tail buffer has one place to give away. Broken by name, they hand it to the same flows again
//! and again: the reference case (100 flows, 500 Mb/s) then shows a standard deviation over flows of 1.3 Mb/s where the
//! public simulator has 0.5. There the event scheduled first wins, which is the packet that went straight through its
//! access link and not the one that queued there behind another of its own flow: the younger one.
//!
//! Almost every event schedules the next one of its own kind. A pop therefore only leaves a hole at the root, and the
//! push that follows starts down from there: one walk instead of two.
//!
//! Cost: one pop and one push are about log4(n) levels of 4 comparisons of 128-bit keys.

use tailback_base::Time;

/// What an event is about. The order is the order at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// A link's rate changes.
    RateChange,
    /// A line falls free, or a discipline that asked to wait may send.
    Service,
    /// A discipline's own timer.
    QueueTimer,
    /// The packet at the head of a wire reaches the far end.
    Delivery,
    /// A packet held back by an impairment enters the queue.
    Release,
    /// A conditioner's timer.
    EdgeTimer,
    /// A message between edges arrives.
    Message,
    /// A transport endpoint's timer.
    Endpoint,
    /// An application's wake.
    Application,
    /// Recording and the end of the warm-up: sees the state after everything else at this instant.
    Tick,
}

impl EventKind {
    const ALL: [EventKind; 10] = [
        EventKind::RateChange,
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
}

/// Ages are compared in units of 64 ns, up to about a second.
const AGE_UNIT: u32 = 6;
const AGE_MAX: u64 = (1 << 24) - 1;

/// Time in the high 64 bits, kind in the next 8, age in the next 24, entity in the low 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    #[inline]
    fn new(t: Time, kind: EventKind, age: u64, entity: u32) -> Key {
        let low = ((kind as u64) << 56) | (age << 32) | u64::from(entity);
        Key((u128::from(t.0) << 64) | u128::from(low))
    }
}

/// The pending events of one run.
#[derive(Default)]
pub struct EventList {
    heap: Vec<Key>,
    /// The root has been popped and not yet replaced.
    hole: bool,
}

impl EventList {
    pub fn new() -> EventList {
        EventList::default()
    }

    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn push(&mut self, t: Time, kind: EventKind, entity: u32) {
        self.push_key(Key::new(t, kind, 0, entity));
    }

    /// The packet at the head of a port's wire, sent by its source at `born`, reaches the far end at `t`.
    #[inline]
    pub fn push_delivery(&mut self, t: Time, port: u32, born: Time) {
        let age = ((t - born).0 >> AGE_UNIT).min(AGE_MAX);
        self.push_key(Key::new(t, EventKind::Delivery, age, port));
    }

    #[inline]
    fn push_key(&mut self, key: Key) {
        if self.hole {
            self.hole = false;
            self.settle(key);
        } else {
            self.sift_up(key);
        }
    }

    /// Take the earliest event that is not later than `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, EventKind, u32)> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if self.heap.is_empty() {
                // The hole was all there was.
                return None;
            }
            self.sink(last);
        }
        let Key(k) = *self.heap.first()?;
        let t = Time((k >> 64) as u64);
        if t > until {
            return None;
        }
        self.hole = true;
        Some((t, EventKind::ALL[(k as u64 >> 56) as usize], k as u32))
    }

    /// The least child of the hole at `i`, if it has children.
    #[inline(always)]
    fn least_child(heap: &[Key], i: usize) -> Option<(usize, Key)> {
        let first = 4 * i + 1;
        if let Some(Ok(four)) = heap.get(first..first + 4).map(<&[Key; 4]>::try_from) {
            let (a, ka) = if four[1] < four[0] { (1, four[1]) } else { (0, four[0]) };
            let (b, kb) = if four[3] < four[2] { (3, four[3]) } else { (2, four[2]) };
            return Some(if kb < ka { (first + b, kb) } else { (first + a, ka) });
        }
        heap.get(first..)?.iter().copied().enumerate().map(|(c, k)| (first + c, k)).min_by_key(|(_, k)| *k)
    }

    /// Fill the hole at the root with an event that follows soon, as the next packet of a wire does: down until it fits.
    fn settle(&mut self, key: Key) {
        let heap = &mut self.heap[..];
        let mut i = 0;
        while let Some((least, k)) = EventList::least_child(heap, i) {
            if k >= key {
                break;
            }
            heap[i] = k;
            i = least;
        }
        heap[i] = key;
    }

    /// Fill the hole at the root with the last leaf, which belongs near the bottom: move the hole all the way down
    /// without asking, then let the key rise a step or none.
    fn sink(&mut self, key: Key) {
        let heap = &mut self.heap[..];
        let mut i = 0;
        while let Some((least, k)) = EventList::least_child(heap, i) {
            heap[i] = k;
            i = least;
        }
        while i > 0 {
            let parent = (i - 1) / 4;
            let k = heap[parent];
            if k <= key {
                break;
            }
            heap[i] = k;
            i = parent;
        }
        heap[i] = key;
    }

    fn sift_up(&mut self, key: Key) {
        let mut i = self.heap.len();
        self.heap.push(key);
        while i > 0 {
            let parent = (i - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[i] = self.heap[parent];
            i = parent;
        }
        self.heap[i] = key;
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
        let order: Vec<_> = std::iter::from_fn(|| e.pop_until(Time::NEVER)).map(|(_, k, id)| (k, id)).collect();
        assert_eq!(order, [(EventKind::Service, 9), (EventKind::Delivery, 0), (EventKind::Delivery, 1), (EventKind::Delivery, 4), (EventKind::Delivery, 3)]);
    }

    proptest! {
        /// Against a sorted list, under any interleaving of push and pop.
        #[test]
        fn pops_in_order(ops in prop::collection::vec(prop::option::of((0u64..50, 0u32..10)), 1..400)) {
            let mut e = EventList::new();
            let mut model: Vec<(u64, u32)> = Vec::new();
            for op in ops {
                match op {
                    Some((t, id)) => {
                        e.push(Time(t), EventKind::Delivery, id);
                        model.push((t, id));
                        model.sort_unstable();
                    }
                    None => {
                        let expected = if model.is_empty() { None } else { Some(model.remove(0)) };
                        prop_assert_eq!(e.pop_until(Time::NEVER).map(|(t, _, id)| (t.0, id)), expected);
                    }
                }
                prop_assert_eq!(e.len(), model.len());
            }
        }
    }
}
