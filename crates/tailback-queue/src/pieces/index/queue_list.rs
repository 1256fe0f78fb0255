//! An ordered list in which each queue is at most once. Removing a queue at any place costs O(1), and so does inserting
//! a queue before another one.
//!
//! State: two links, 8 bytes, for each queue that was ever in the list.

use crate::pieces::arena::NONE;
use crate::pieces::store::{PerQueue, QueueId};

#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    after: u32,
    listed: bool,
}

impl Default for Links {
    fn default() -> Self {
        Links {
            before: NONE,
            after: NONE,
            listed: false,
        }
    }
}

/// Queues in order.
#[derive(Clone, Debug)]
pub struct QueueList {
    links: PerQueue<Links>,
    first: u32,
    last: u32,
}

impl Default for QueueList {
    fn default() -> Self {
        QueueList {
            links: PerQueue::default(),
            first: NONE,
            last: NONE,
        }
    }
}

fn some(q: u32) -> Option<QueueId> {
    (q != NONE).then_some(q)
}

impl QueueList {
    pub fn first(&self) -> Option<QueueId> {
        some(self.first)
    }

    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    pub fn holds(&self, q: QueueId) -> bool {
        self.links.get(q).listed
    }

    /// The queue after `q`; `None` at the end, and for a queue that is not listed.
    pub fn after(&self, q: QueueId) -> Option<QueueId> {
        some(self.links.get(q).after)
    }

    /// Append a queue. No effect if it is already listed.
    pub fn push(&mut self, q: QueueId) {
        self.link(q, self.last, NONE);
    }

    /// Insert a queue just before `next`, which must be in the list.
    pub fn insert_before(&mut self, q: QueueId, next: QueueId) {
        self.link(q, self.links.get(next).before, next);
    }

    fn link(&mut self, q: QueueId, before: u32, after: u32) {
        if self.holds(q) {
            return;
        }
        *self.links.at(q) = Links {
            before,
            after,
            listed: true,
        };
        match some(before) {
            Some(b) => self.links.at(b).after = q,
            None => self.first = q,
        }
        match some(after) {
            Some(a) => self.links.at(a).before = q,
            None => self.last = q,
        }
    }

    /// Remove a queue, wherever it is in the list.
    pub fn remove(&mut self, q: QueueId) {
        let Links { before, after, listed } = self.links.get(q);
        if !listed {
            return;
        }
        match some(before) {
            Some(b) => self.links.at(b).after = after,
            None => self.first = after,
        }
        match some(after) {
            Some(a) => self.links.at(a).before = before,
            None => self.last = before,
        }
        *self.links.at(q) = Links::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Stream;

    /// The list gives the same results as a plain vector, for any sequence of calls.
    #[test]
    fn it_is_a_list() {
        let mut draws = Stream::new(1, "calls");
        let (mut list, mut plain) = (QueueList::default(), Vec::<QueueId>::new());
        for _ in 0..20_000 {
            let q = draws.below(12) as u32;
            match draws.below(3) {
                0 => {
                    list.remove(q);
                    plain.retain(|x| *x != q);
                }
                1 => {
                    list.push(q);
                    if !plain.contains(&q) {
                        plain.push(q);
                    }
                }
                _ if !plain.is_empty() => {
                    let position = draws.below(plain.len() as u64) as usize;
                    list.insert_before(q, plain[position]);
                    if !plain.contains(&q) {
                        plain.insert(position, q);
                    }
                }
                _ => {}
            }
            let listed: Vec<QueueId> = std::iter::successors(list.first(), |q| list.after(*q)).collect();
            assert_eq!((&listed, list.is_empty()), (&plain, plain.is_empty()));
            assert_eq!(list.holds(q), plain.contains(&q));
        }
    }
}
