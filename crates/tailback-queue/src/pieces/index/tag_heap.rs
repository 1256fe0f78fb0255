//! Which queue has the smallest tag: a binary heap of queues that knows where each stands.
//!
//! Schedulers by tags (fair queueing, SCFQ, WF2Q) keep the queues by the tag of their first packet. A queue's tag changes
//! where it is and leaves from the middle, O(log n), without stale entries, because `place` says where each queue stands.
//! Equal keys are decided by the lower queue number; a scheduler with another rule makes it part of its key.
//!
//! State: for each queue in the heap its key and number, and 4 bytes for each queue ever seen.
//!
//! A binary heap with the place of each queue beside it.

use crate::pieces::arena::NONE;
use crate::pieces::store::{PerQueue, QueueId};

/// Queues with keys, smallest first.
#[derive(Clone, Debug)]
pub struct TagHeap<K> {
    heap: Vec<(K, QueueId)>,
    place: PerQueue<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place(u32);

impl Default for Place {
    fn default() -> Self {
        Place(NONE)
    }
}

impl<K> Default for TagHeap<K> {
    fn default() -> Self {
        TagHeap {
            heap: Vec::new(),
            place: PerQueue::default(),
        }
    }
}

impl<K: Ord + Copy> TagHeap<K> {
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub fn contains(&self, q: QueueId) -> bool {
        self.place.get(q).0 != NONE
    }

    /// The smallest key and its queue.
    #[inline]
    pub fn min(&self) -> Option<(K, QueueId)> {
        self.heap.first().copied()
    }

    /// Put the queue in, or change its key.
    pub fn set(&mut self, q: QueueId, key: K) {
        let i = match self.place.get(q).0 {
            NONE => {
                self.heap.push((key, q));
                self.heap.len() - 1
            }
            i => {
                self.heap[i as usize].0 = key;
                i as usize
            }
        };
        let i = self.rise(i);
        self.sink(i);
    }

    /// Take the queue out; whether it was in.
    pub fn remove(&mut self, q: QueueId) -> bool {
        let i = self.place.get(q).0;
        if i == NONE {
            return false;
        }
        self.place.at(q).0 = NONE;
        let i = i as usize;
        self.heap.swap_remove(i);
        if i < self.heap.len() {
            let i = self.rise(i);
            self.sink(i);
        }
        true
    }

    /// Change all keys at once, by a map that keeps their order.
    pub fn map(&mut self, f: impl Fn(K) -> K) {
        for (key, _) in &mut self.heap {
            *key = f(*key);
        }
    }

    /// Move entry `i` up to where it belongs; every entry passed moves down a place.
    fn rise(&mut self, mut i: usize) -> usize {
        let entry = self.heap[i];
        while i > 0 && entry < self.heap[(i - 1) / 2] {
            self.settle(i, self.heap[(i - 1) / 2]);
            i = (i - 1) / 2;
        }
        self.settle(i, entry);
        i
    }

    fn sink(&mut self, mut i: usize) {
        let entry = self.heap[i];
        loop {
            let mut child = 2 * i + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            if entry < self.heap[child] {
                break;
            }
            self.settle(i, self.heap[child]);
            i = child;
        }
        self.settle(i, entry);
    }

    fn settle(&mut self, i: usize, entry: (K, QueueId)) {
        self.heap[i] = entry;
        self.place.at(entry.1).0 = i as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_top_is_the_minimum(steps in prop::collection::vec((0u32..12, prop::option::weighted(0.7, 0u8..5)), 1..300)) {
            let mut heap = TagHeap::default();
            let mut naive: [Option<u8>; 12] = [None; 12];
            for (q, key) in steps {
                match key {
                    Some(key) => heap.set(q, key),
                    None => prop_assert_eq!(heap.remove(q), naive[q as usize].is_some()),
                }
                naive[q as usize] = key;
                let min = (0..12u32).filter_map(|q| naive[q as usize].map(|k| (k, q))).min();
                prop_assert_eq!(heap.min(), min);
                prop_assert!((0..12u32).all(|q| heap.contains(q) == naive[q as usize].is_some()));
                prop_assert_eq!(heap.is_empty(), min.is_none());
            }
        }
    }
}
