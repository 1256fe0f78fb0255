//! Finds the queue with the smallest tag: a heap of queues that stores the position of each queue.
//!
//! Schedulers by tags (fair queueing, SCFQ, WF2Q) order the queues by the tag of their first packet. The tag of a queue
//! can be changed in place, and a queue can be removed from the middle. Both cost O(log n) and leave no stale entries,
//! because `place` gives the position of each queue. Among equal keys the lower queue number is first. A scheduler with
//! another rule makes that rule part of its key.
//!
//! State: for each queue in the heap its key and number, and 4 bytes for each queue ever seen.
//!
//! Each entry has four entries below it, which are next to each other in memory. So the heap has half as many levels as
//! a binary heap, and uses fewer cache lines.

use crate::pieces::arena::NONE;
use crate::pieces::store::{PerQueue, QueueId};
use tailback_base::work::counted;

/// The number of entries below an entry.
const BELOW: usize = 4;

/// Queues with keys, with the smallest key first.
#[derive(Clone, Debug)]
pub struct TagHeap<K> {
    heap: Vec<(K, QueueId)>,
    place: PerQueue<InHeap>,
}

#[derive(Clone, Copy, Debug)]
struct InHeap(u32);

impl Default for InHeap {
    fn default() -> Self {
        InHeap(NONE)
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

    /// Insert the queue, or change its key.
    pub fn set(&mut self, q: QueueId, key: K) {
        let i = match self.place.at(q).0 {
            NONE => {
                self.heap.push((key, q));
                self.heap.len() - 1
            }
            i => i as usize,
        };
        self.move_from(i, (key, q));
    }

    /// Remove the queue. Returns whether it was in the heap.
    pub fn remove(&mut self, q: QueueId) -> bool {
        let i = self.place.get(q).0;
        if i == NONE {
            return false;
        }
        self.place.seen(q).0 = NONE;
        let i = i as usize;
        if let Some(last) = self.heap.pop()
            && i < self.heap.len()
        {
            self.move_from(i, last);
        }
        true
    }

    /// Change all keys at once, with a function that preserves their order.
    pub fn map(&mut self, f: impl Fn(K) -> K) {
        for (key, _) in counted(&mut self.heap) {
            *key = f(*key);
        }
    }

    /// Find the place of an entry, starting at `i`. Every entry on the way moves into the gap.
    fn move_from(&mut self, mut i: usize, entry: (K, QueueId)) {
        let begun = i;
        while i > 0 && entry < self.heap[(i - 1) / BELOW] {
            self.settle(i, self.heap[(i - 1) / BELOW]);
            i = (i - 1) / BELOW;
        }
        if i == begun {
            while let Some(least) = self.least_below(i).filter(|j| self.heap[*j] < entry) {
                self.settle(i, self.heap[least]);
                i = least;
            }
        }
        self.settle(i, entry);
    }

    /// The smallest of the entries below this one.
    #[inline]
    fn least_below(&self, i: usize) -> Option<usize> {
        let first_child = BELOW * i + 1;
        let children = self.heap.get(first_child..)?;
        let children = &children[..children.len().min(BELOW)];
        let mut least_child = 0;
        for (j, entry) in children.iter().enumerate().skip(1) {
            if *entry < children[least_child] {
                least_child = j;
            }
        }
        (!children.is_empty()).then_some(first_child + least_child)
    }

    #[inline]
    fn settle(&mut self, i: usize, entry: (K, QueueId)) {
        self.heap[i] = entry;
        self.place.seen(entry.1).0 = i as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_top_is_the_minimum(
            steps in prop::collection::vec((0u32..12, prop::option::weighted(0.7, 0u8..5)), 1..300)
        ) {
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
