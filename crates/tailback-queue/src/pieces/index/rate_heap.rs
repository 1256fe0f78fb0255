//! Finds the queue with the highest rate: a binary heap of queues that stores the position of each queue.
//!
//! The key of a heap entry can be changed in place, and an entry can be removed from the middle. Both cost O(log n) and
//! leave no stale entries, because `place` gives the position of each queue. Keys are rates or other numbers. Ties are
//! decided as in the [`LengthIndex`](crate::pieces::index::length_index): the queue that has had its key longest
//! (`fifo`), the lowest number, the first in service order, or a random one. The heap order itself includes the first
//! two rules. For the other two, the tied queues, which are together at the top of the heap, are visited one by one.
//!
//! State: for each queue in the heap its key, the time of the last change of the key, and its position: 28 bytes.
//!
//! This is a binary heap with a separate table of the positions of the queues.

use crate::pieces::arena::NONE;
use crate::pieces::index::length_index::Tie;
use crate::pieces::schedule::ServiceOrder;
use crate::pieces::store::{PerQueue, QueueId};
use tailback_base::Stream;

/// Queues with keys, with the highest key first.
#[derive(Debug)]
pub struct RateHeap {
    heap: Vec<Ranked>,
    place: PerQueue<InHeap>,
    tie: Tie,
    stream: Stream,
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ranked {
    key: f64,
    since: u64,
    queue: QueueId,
}

#[derive(Clone, Copy, Debug)]
struct InHeap(u32);

impl Default for InHeap {
    fn default() -> Self {
        InHeap(NONE)
    }
}

impl Ranked {
    /// Whether this entry belongs above the other.
    fn above(&self, other: &Ranked) -> bool {
        let by_key = self.key.total_cmp(&other.key).reverse();
        by_key
            .then(self.since.cmp(&other.since))
            .then(self.queue.cmp(&other.queue))
            .is_lt()
    }
}

impl RateHeap {
    /// An empty heap. Only `Tie::Random` draws from the stream.
    pub fn new(tie: Tie, stream: Stream) -> RateHeap {
        RateHeap {
            heap: Vec::new(),
            place: PerQueue::default(),
            tie,
            stream,
            changes: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub fn contains(&self, q: QueueId) -> bool {
        self.place.get(q).0 != NONE
    }

    /// Insert the queue, or change its key.
    pub fn set(&mut self, q: QueueId, key: f64) {
        let since = if self.tie == Tie::Lowest { 0 } else { self.changes };
        let i = match self.place.get(q).0 {
            NONE => {
                self.heap.push(Ranked { key, since, queue: q });
                self.place.at(q).0 = (self.heap.len() - 1) as u32;
                self.heap.len() - 1
            }
            i if self.heap[i as usize].key.total_cmp(&key).is_eq() => return,
            i => {
                self.heap[i as usize] = Ranked { key, since, queue: q };
                i as usize
            }
        };
        self.changes += 1;
        let i = self.rise(i);
        self.sink(i);
    }

    /// Remove the queue, if it is in the heap.
    pub fn remove(&mut self, q: QueueId) {
        let place = std::mem::take(self.place.at(q)).0;
        if place == NONE {
            return;
        }
        let i = place as usize;
        self.heap.swap_remove(i);
        if let Some(moved) = self.heap.get(i) {
            self.place.at(moved.queue).0 = place;
            let i = self.rise(i);
            self.sink(i);
        }
    }

    /// The queue with the highest key; `None` if the heap is empty.
    pub fn highest(&mut self, order: &dyn ServiceOrder) -> Option<QueueId> {
        let top = *self.heap.first()?;
        match self.tie {
            Tie::Fifo | Tie::Lowest => Some(top.queue),
            Tie::Ring => {
                let tied = |q: QueueId| match self.place.get(q).0 {
                    NONE => false,
                    i => self.heap[i as usize].key.total_cmp(&top.key).is_eq(),
                };
                order.first_that(&mut |q| tied(q)).or(Some(top.queue))
            }
            Tie::Random => {
                // All entries with the key of the top are together, because a child is never above its parent.
                let (mut tied, mut next) = (vec![0], 0);
                while let Some(&i) = tied.get(next) {
                    let children = [2 * i + 1, 2 * i + 2];
                    let same = |c: &usize| self.heap.get(*c).is_some_and(|e| e.key.total_cmp(&top.key).is_eq());
                    tied.extend(children.into_iter().filter(same));
                    next += 1;
                }
                let drawn = tied[self.stream.below(tied.len() as u64) as usize];
                Some(self.heap[drawn].queue)
            }
        }
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.heap.swap(i, j);
        self.place.at(self.heap[i].queue).0 = i as u32;
        self.place.at(self.heap[j].queue).0 = j as u32;
    }

    fn rise(&mut self, mut i: usize) -> usize {
        while i > 0 && self.heap[i].above(&self.heap[(i - 1) / 2]) {
            self.swap(i, (i - 1) / 2);
            i = (i - 1) / 2;
        }
        i
    }

    fn sink(&mut self, mut i: usize) {
        loop {
            let mut best = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if self.heap.get(child).is_some_and(|c| c.above(&self.heap[best])) {
                    best = child;
                }
            }
            if best == i {
                return;
            }
            self.swap(i, best);
            i = best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::schedule::Turns;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_top_is_the_maximum(
            steps in prop::collection::vec((0u32..12, prop::option::weighted(0.7, 0u8..5)), 1..300),
        ) {
            let rules = [Tie::Fifo, Tie::Lowest, Tie::Ring, Tie::Random];
            let mut heaps = rules.map(|tie| RateHeap::new(tie, Stream::new(1, "test")));
            let mut naive: [Option<(u8, usize)>; 12] = [None; 12];
            let ring = Turns((0..12).map(|i| (i * 5 + 3) % 12).collect());
            for (now, (q, key)) in steps.into_iter().enumerate() {
                let was = &mut naive[q as usize];
                if was.map(|x| x.0) != key {
                    *was = key.map(|k| (k, now));
                }
                let top = naive.iter().flatten().map(|x| x.0).max();
                let is_top = |q: &u32| top.is_some() && naive[*q as usize].map(|x| x.0) == top;
                let tied: Vec<u32> = (0..12).filter(is_top).collect();
                for (heap, tie) in heaps.iter_mut().zip(rules) {
                    match key {
                        Some(key) => heap.set(q, f64::from(key)),
                        None => heap.remove(q),
                    }
                    prop_assert_eq!(heap.len(), naive.iter().flatten().count());
                    let expected = match tie {
                        Tie::Lowest => tied.first().copied(),
                        Tie::Fifo => tied.iter().copied().min_by_key(|q| naive[*q as usize].map(|x| x.1)),
                        Tie::Ring => ring.0.iter().copied().find(|q| tied.contains(q)),
                        Tie::Random => {
                            let drawn = heap.highest(&ring);
                            prop_assert!(drawn.map_or(tied.is_empty(), |q| tied.contains(&q)));
                            continue;
                        }
                    };
                    prop_assert_eq!(heap.highest(&ring), expected);
                }
            }
        }
    }

    #[test]
    fn a_drawn_tie_is_uniform() {
        let mut heap = RateHeap::new(Tie::Random, Stream::new(1, "test"));
        for q in 0..5 {
            heap.set(q, 3.0);
        }
        heap.set(5, 2.0);
        let mut hits = [0_i32; 6];
        for _ in 0..50_000 {
            hits[heap.highest(&Turns(vec![])).unwrap() as usize] += 1;
        }
        assert_eq!(hits[5], 0);
        assert!(hits[..5].iter().all(|n| (n - 10_000).abs() < 400), "{hits:?}");
    }
}
