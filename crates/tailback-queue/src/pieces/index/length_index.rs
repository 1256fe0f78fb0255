//! Finds the longest queue, and whether a queue is the shortest, without a search.
//!
//! Longest-queue drop and the sticky victim need the extremes of all queue lengths at each overflow, while every packet
//! changes one length. If the buffer is in packets, a length changes by one. So queues of equal length are linked in a
//! list, the list heads are indexed by length, and a tree of bitmaps says which lengths occur. Every operation costs
//! O(1), with three word scans for a quarter of a million lengths. The maximum alone would not need the bitmaps,
//! because it changes by one. The minimum needs them: when the only queue of length 1 becomes empty, the next length
//! may be much larger. If the buffer is in bytes, the queues are in a set ordered by length, and operations cost O(log
//! n).
//!
//! There are four rules for ties between longest queues ([`Tie`]). `fifo` (the default) chooses the queue that has had
//! this length longest, which removes the bias towards low queue numbers (`docs/decisions/shared-buffer.md`). `lowest`
//! chooses the lowest number, and uses the ordered set for both units. `ring` chooses the first queue in service order
//! from the current turn on (ns-2). `random` draws one. `ring` and `random` are for comparison, because they visit the
//! queues of the ring or the tied queues one by one.
//!
//! State: for the lists, 12 bytes per queue and 12 per length that has occurred; for the ordered set, a node for each
//! non-empty queue.
//!
//! Linux SFQ also uses lists by length.

use crate::pieces::arena::NONE;
use crate::pieces::index::bit_tree::BitTree;
use crate::pieces::schedule::ServiceOrder;
use crate::pieces::store::{PerQueue, QueueId, Unit};
use std::collections::BTreeSet;
use tailback_base::{Key, Stream};

tailback_base::choice! {
    /// The rule for the choice between equal queues.
    #[derive(Default)]
    pub enum Tie {
        /// The queue that has had its value longest.
        #[default]
        Fifo = "fifo",
        /// The first queue in service order from the current turn on. With a scheduler that has no ring, this is the
        /// same as `Fifo`.
        Ring = "ring",
        /// The queue with the lowest number.
        Lowest = "lowest",
        /// A random queue among the equal ones.
        Random = "random",
    }
}

/// The parameter of all policies that choose between equal queues.
pub const TIE: Key<Tie> = Key::choice(
    "tie",
    "fifo",
    "Which of several equal queues is the victim: the one that has had its value for the longest time, the next in \
     service order, the one with the lowest number, or a drawn one.",
    "fifo is tailback's, against a bias to low numbers; ring is ns-2's",
);

/// The non-empty queues by length.
#[derive(Debug)]
pub struct LengthIndex {
    shape: IndexForm,
    tie: Tie,
    stream: Stream,
}

#[derive(Debug)]
enum IndexForm {
    Lists(Lists),
    Sorted(Sorted),
}

/// Lists of queues with equal length. A length is at least 1.
#[derive(Debug, Default)]
struct Lists {
    /// The list for each length.
    bucket: Vec<Bucket>,
    occupied: BitTree,
    link: PerQueue<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    head: u32,
    tail: u32,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
    /// The length under which the queue is listed; 0 if it is not listed.
    length: u32,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            prev: NONE,
            next: NONE,
            length: 0,
        }
    }
}

/// The queues, ordered by (length, time of the last change, number). With `Tie::Lowest` this time is constant.
#[derive(Debug, Default)]
struct Sorted {
    set: BTreeSet<(u64, u64, QueueId)>,
    /// The entry of each queue in the set: (length, time of the last change).
    key: PerQueue<Option<(u64, u64)>>,
    changes: u64,
    by_number: bool,
}

impl LengthIndex {
    /// An empty index of lengths in this unit. Only `Tie::Random` draws from the stream.
    pub fn new(unit: Unit, tie: Tie, stream: Stream) -> LengthIndex {
        let shape = match (unit, tie) {
            (Unit::Packets, Tie::Fifo | Tie::Ring | Tie::Random) => IndexForm::Lists(Lists::default()),
            _ => IndexForm::Sorted(Sorted {
                by_number: tie == Tie::Lowest,
                ..Sorted::default()
            }),
        };
        LengthIndex { shape, tie, stream }
    }

    /// Set the length of `q`; `None` if the queue is empty. A length in packets is at least 1 and below 2^32.
    pub fn set(&mut self, q: QueueId, length: Option<u64>) {
        match &mut self.shape {
            IndexForm::Lists(x) => x.set(q, length.map_or(0, |l| u32::try_from(l).unwrap_or(NONE))),
            IndexForm::Sorted(x) => x.set(q, length),
        }
    }

    /// The longest queue; `None` if all queues are empty.
    pub fn longest(&mut self, order: &dyn ServiceOrder) -> Option<QueueId> {
        let (longest_queue, ties) = match &self.shape {
            IndexForm::Lists(x) => x.longest()?,
            // Counting the tied queues visits each of them. So they are counted only if the rule for ties visits them
            // anyway.
            IndexForm::Sorted(x) => x.longest(matches!(self.tie, Tie::Ring | Tie::Random))?,
        };
        if ties == 1 {
            return Some(longest_queue);
        }
        match self.tie {
            Tie::Fifo | Tie::Lowest => Some(longest_queue),
            Tie::Ring => {
                let longest = self.length(longest_queue);
                order
                    .first_that(&mut |q| self.length(q) == longest)
                    .or(Some(longest_queue))
            }
            Tie::Random => {
                let k = self.stream.below(u64::from(ties));
                match &self.shape {
                    IndexForm::Lists(x) => x.nth_after(longest_queue, k),
                    IndexForm::Sorted(x) => x.nth_longest(k),
                }
            }
        }
    }

    /// Whether `q` is empty, or shorter than every other non-empty queue. If `q` is the only non-empty queue, it is the
    /// shortest.
    pub fn strictly_shortest(&self, q: QueueId) -> bool {
        match &self.shape {
            IndexForm::Lists(x) => {
                let length = x.link.get(q).length;
                length == 0 || (x.occupied.lowest() == Some(length) && x.bucket[length as usize].count == 1)
            }
            IndexForm::Sorted(x) => match x.key.get(q) {
                None => true,
                // Among the two shortest queues, `q` must be the first, and the other must be longer.
                Some((length, _)) => {
                    let mut shortest = x.set.iter();
                    shortest.next().is_some_and(|k| k.0 == length) && shortest.next().is_none_or(|k| k.0 > length)
                }
            },
        }
    }

    /// The length under which `q` is listed; 0 if it is empty.
    fn length(&self, q: QueueId) -> u64 {
        match &self.shape {
            IndexForm::Lists(x) => u64::from(x.link.get(q).length),
            IndexForm::Sorted(x) => x.key.get(q).map_or(0, |k| k.0),
        }
    }
}

impl Lists {
    fn set(&mut self, q: QueueId, length: u32) {
        let old = *self.link.at(q);
        if old.length == length {
            return;
        }
        if old.length > 0 {
            let bucket = &mut self.bucket[old.length as usize];
            bucket.count -= 1;
            match old.prev {
                NONE => bucket.head = old.next,
                prev => self.link.at(prev).next = old.next,
            }
            match old.next {
                NONE => bucket.tail = old.prev,
                next => self.link.at(next).prev = old.prev,
            }
            if bucket.count == 0 {
                self.occupied.clear(old.length);
            }
        }
        if length == 0 {
            *self.link.at(q) = Link::default();
            return;
        }
        if self.bucket.len() <= length as usize {
            self.bucket.resize(
                length as usize + 1,
                Bucket {
                    head: NONE,
                    tail: NONE,
                    count: 0,
                },
            );
        }
        let bucket = &mut self.bucket[length as usize];
        let old_tail = bucket.tail;
        bucket.tail = q;
        bucket.count += 1;
        match old_tail {
            NONE => {
                bucket.head = q;
                self.occupied.set(length);
            }
            old_tail => self.link.at(old_tail).next = q,
        }
        *self.link.at(q) = Link {
            prev: old_tail,
            next: NONE,
            length,
        };
    }

    /// The first of the longest queues, and the number of longest queues.
    fn longest(&self) -> Option<(QueueId, u32)> {
        let bucket = &self.bucket[self.occupied.highest()? as usize];
        Some((bucket.head, bucket.count))
    }

    fn nth_after(&self, first: QueueId, k: u64) -> Option<QueueId> {
        let q = (0..k).fold(first, |q, _| self.link.get(q).next);
        (q != NONE).then_some(q)
    }
}

impl Sorted {
    fn set(&mut self, q: QueueId, length: Option<u64>) {
        let key = self.key.at(q);
        if key.map(|k| k.0) == length {
            return;
        }
        if let Some((length, when)) = key.take() {
            self.set.remove(&(length, when, q));
        }
        if let Some(length) = length {
            let when = if self.by_number { 0 } else { self.changes };
            self.changes += 1;
            *key = Some((length, when));
            self.set.insert((length, when, q));
        }
    }

    /// The first of the longest queues, and the number of longest queues if `count` is set (otherwise 0).
    fn longest(&self, count: bool) -> Option<(QueueId, u32)> {
        let longest = self.set.last()?.0;
        let mut ties = self.set.range((longest, 0, 0)..);
        let first = ties.next()?.2;
        Some((first, if count { 1 + ties.count() as u32 } else { 0 }))
    }

    fn nth_longest(&self, k: u64) -> Option<QueueId> {
        let longest = self.set.last()?.0;
        self.set.range((longest, 0, 0)..).nth(k as usize).map(|x| x.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::schedule::Turns;
    use proptest::prelude::*;

    fn index(unit: Unit, tie: Tie) -> LengthIndex {
        LengthIndex::new(unit, tie, Stream::new(1, "test"))
    }

    /// The expected answers, found by a search of all queues. A queue is (length, time of the last change).
    #[derive(Default)]
    struct Naive {
        queue: Vec<(u64, u64)>,
        changes: u64,
    }

    impl Naive {
        fn set(&mut self, q: usize, length: u64) {
            self.changes += 1;
            if self.queue.len() <= q {
                self.queue.resize(q + 1, (0, 0));
            }
            if self.queue[q].0 != length {
                self.queue[q] = (length, self.changes);
            }
        }
        fn ties(&self) -> Vec<(u64, u32)> {
            let longest = self.queue.iter().map(|x| x.0).max().unwrap_or(0);
            let tied = self
                .queue
                .iter()
                .enumerate()
                .filter(|(_, x)| longest > 0 && x.0 == longest);
            tied.map(|(q, x)| (x.1, q as u32)).collect()
        }
        fn strictly_shortest(&self, q: usize) -> bool {
            let length = self.queue.get(q).map_or(0, |x| x.0);
            length == 0
                || self
                    .queue
                    .iter()
                    .enumerate()
                    .all(|(i, x)| i == q || x.0 == 0 || x.0 > length)
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_looking_at_every_queue(
            bytes in any::<bool>(),
            steps in prop::collection::vec((0usize..8, prop_oneof![4 => 0u64..6, 1 => 0u64..5000]), 1..300),
            turn in 0u32..8,
        ) {
            let unit = if bytes { Unit::Bytes } else { Unit::Packets };
            let rules = [Tie::Fifo, Tie::Ring, Tie::Lowest, Tie::Random];
            let mut indexes = rules.map(|tie| index(unit, tie));
            let mut naive = Naive::default();
            let ring = Turns((0..8).map(|i| (turn + i * 3) % 8).collect());
            for (q, length) in steps {
                naive.set(q, length);
                let ties = naive.ties();
                for (index, tie) in indexes.iter_mut().zip(rules) {
                    index.set(q as u32, (length > 0).then_some(length));
                    let longest = index.longest(&ring);
                    match tie {
                        Tie::Fifo => prop_assert_eq!(longest, ties.iter().min().map(|x| x.1)),
                        Tie::Lowest => prop_assert_eq!(longest, ties.iter().map(|x| x.1).min()),
                        Tie::Ring => {
                            let tied = |q: &&u32| ties.iter().any(|x| x.1 == **q);
                            prop_assert_eq!(longest, ring.0.iter().find(tied).copied());
                        }
                        Tie::Random => {
                            prop_assert_eq!(longest.is_some(), !ties.is_empty());
                            prop_assert!(longest.is_none_or(|q| ties.iter().any(|x| x.1 == q)));
                        }
                    }
                    for q in 0..9 {
                        prop_assert_eq!(index.strictly_shortest(q), naive.strictly_shortest(q as usize));
                    }
                }
            }
        }
    }

    #[test]
    fn a_drawn_tie_is_uniform() {
        for unit in [Unit::Packets, Unit::Bytes] {
            let mut index = index(unit, Tie::Random);
            for q in 0..4 {
                index.set(q, Some(7));
            }
            index.set(4, Some(6));
            let mut hits = [0_i32; 5];
            for _ in 0..40_000 {
                hits[index.longest(&Turns(vec![])).unwrap() as usize] += 1;
            }
            assert_eq!(hits[4], 0);
            assert!(hits[..4].iter().all(|n| (n - 10_000).abs() < 400), "{hits:?}");
        }
    }

    #[test]
    fn without_a_ring_the_ring_rule_is_fifo() {
        let mut index = index(Unit::Packets, Tie::Ring);
        index.set(2, Some(3));
        index.set(1, Some(3));
        assert_eq!(index.longest(&Turns(vec![])), Some(2));
    }
}
