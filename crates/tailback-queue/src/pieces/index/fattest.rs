//! Which queue holds the most bytes, for policies that ask only when too much waits; among equals the lowest number.
//!
//! There are two methods: to look at all queues, which costs nothing until the question is asked, or to keep them in
//! order, which costs something at every packet. A policy that drops a whole batch at each question asks rarely and
//! should look. With hundreds of queues of two packets each, a batch is one packet, each arrival asks, and keeping
//! order is cheaper. So both costs are estimated at each question, and the order is kept while looking would have
//! cost more. The answer is the same.
//!
//! State: the recent cost of looking beyond that of keeping order; the order, while it is kept. A packet costs a
//! count, or O(log n); a question O(n), or O(1).

use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::store::{QueueId, Store};
use std::cmp::Reverse;
use tailback_base::Packet;

/// The cost of a change in the order, in looks at a queue.
const CHANGE: u64 = 16;

/// Finds the queue with the most bytes.
#[derive(Clone, Debug, Default)]
pub struct Fattest {
    order: Option<TagHeap<Reverse<u64>>>,
    /// Number of changes since the last question.
    changes: u64,
    /// How many looks at queues keeping the order would have saved; at most the cost of building it.
    saved: u64,
}

impl Fattest {
    /// The length of `q` has changed.
    #[inline]
    pub fn changed<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        self.changes += 1;
        if let Some(order) = &mut self.order {
            line_up(order, q, store);
        }
    }

    /// The queue with the most bytes; `None` if all are empty.
    pub fn find<P: Packet>(&mut self, store: &Store<P>) -> Option<QueueId> {
        let (looks, making) = (u64::from(store.queues()), CHANGE * u64::from(store.backlogged()));
        let keeping = CHANGE * std::mem::take(&mut self.changes);
        self.saved = (self.saved + looks).saturating_sub(keeping).min(making);
        if self.saved == 0 {
            self.order = None;
        } else if self.saved == making && self.order.is_none() {
            let mut order = TagHeap::default();
            (0..store.queues()).for_each(|q| line_up(&mut order, q, store));
            self.order = Some(order);
        }
        match &self.order {
            Some(order) => order.min().map(|(_, q)| q),
            None => look(store),
        }
    }
}

fn look<P: Packet>(store: &Store<P>) -> Option<QueueId> {
    let fatter = |a: QueueId, b: QueueId| if store.bytes(b) > store.bytes(a) { b } else { a };
    let queues = (0..store.queues()).filter(|q| store.packets(*q) > 0);
    queues.reduce(fatter)
}

fn line_up<P: Packet>(order: &mut TagHeap<Reverse<u64>>, q: QueueId, store: &Store<P>) {
    match store.packets(q) {
        0 => {
            order.remove(q);
        }
        _ => order.set(q, Reverse(store.bytes(q))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;
    use tailback_base::{Size, Stream, Time};

    /// With both methods the result is that of a look at all queues: with questions rare, frequent, rare.
    #[test]
    fn it_names_whom_a_look_names() {
        let (mut store, mut draws) = (Store::new(Size::Packets(2000)), Stream::new(1, "calls"));
        let (mut fattest, mut kept_steps) = (Fattest::default(), [0, 0]);
        for step in 0..60_000u64 {
            if draws.below(2000) >= store.backlog().packets {
                let q = draws.below(300) as u32;
                let p = TestPacket::new(step, q, 1 + draws.below(3) as u32);
                store.append(q, p, Time::ZERO).unwrap();
                fattest.changed(q, &store);
            } else if let Some(slot) = store.nth(draws.below(store.backlog().packets) as u32) {
                let (q, _) = store.remove(slot).unwrap();
                fattest.changed(q, &store);
            }
            let often = (20_000..40_000).contains(&step);
            if often || draws.below(100) == 0 {
                assert_eq!(fattest.find(&store), look(&store), "step {step}");
                kept_steps[usize::from(often)] += u64::from(fattest.order.is_some());
            }
        }
        assert!(
            kept_steps[1] > 19_000,
            "order is kept while every packet asks: {kept_steps:?}"
        );
        assert!(kept_steps[0] < 20, "and given up when few do: {kept_steps:?}");
    }

    #[test]
    fn of_none_there_is_no_fattest() {
        let store = Store::<TestPacket>::new(Size::Packets(5));
        assert_eq!(Fattest::default().find(&store), None);
    }
}
