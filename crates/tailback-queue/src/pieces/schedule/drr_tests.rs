//! DRR: turns, credit, evictions during a turn, and the fairness bound.

use super::*;
use crate::contract::admission::{Handle, QueueView};
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::longest::Longest;
use crate::pieces::index::length_index::Tie;
use crate::pieces::port::Port;
use crate::pieces::store::Unit;
use proptest::prelude::*;
use tailback_base::{Size, Stream};

type Drrs = Bench<Port<TestPacket, PerFlow, Drr, Longest>>;

fn bench(buffer: Size, drr: Drr) -> Drrs {
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
    Bench::new(Port::new(buffer, PerFlow::new(), drr, policy))
}

fn credit(b: &Drrs, q: u32) -> u64 {
    b.queue.scheduler().credit(q)
}

#[test]
fn equal_packets_take_turns() {
    let mut b = bench(Size::Unlimited, Drr::new(1500));
    for id in 0..9 {
        b.arrive(TestPacket::new(id, (id / 3) as u32, 1500));
    }
    assert_eq!(b.drain(), [0, 3, 6, 1, 4, 7, 2, 5, 8]);
    assert_eq!(b.serve(), None);
}

/// The example of the DRR paper: what a turn leaves over is added to the next.
#[test]
fn credit_left_over_counts_in_the_next_turn() {
    let mut b = bench(Size::Unlimited, Drr::new(500));
    for (id, flow, bytes) in [
        (0, 0, 200),
        (1, 0, 750),
        (2, 1, 500),
        (3, 1, 500),
        (4, 2, 600),
        (5, 2, 100),
    ] {
        b.arrive(TestPacket::new(id, flow, bytes));
    }
    assert_eq!(b.serve(), Some(0));
    assert_eq!(credit(&b, 0), 300, "750 does not fit: the turn passes with 300 left");
    assert_eq!(b.serve(), Some(2));
    assert_eq!(b.serve(), Some(1), "queue 2 lacks 100; queue 0 has 300 + 500");
    assert_eq!(credit(&b, 0), 0, "emptied");
    assert_eq!(credit(&b, 2), 500, "saved");
    assert_eq!(b.serve(), Some(3));
    assert_eq!(b.drain(), [4, 5], "600 and 100 of 1000");
}

#[test]
fn a_queue_that_comes_back_starts_with_nothing_and_waits_for_its_turn() {
    let mut b = bench(Size::Unlimited, Drr::new(1500));
    b.arrive(TestPacket::new(0, 0, 100));
    assert_eq!(b.serve(), Some(0));
    assert_eq!(credit(&b, 0), 0, "1400 are forgotten");
    for id in 1..4 {
        b.arrive(TestPacket::new(id, 1, 1500));
    }
    b.arrive(TestPacket::new(4, 0, 1500));
    assert_eq!(b.drain(), [1, 4, 2, 3]);
}

#[test]
fn a_newly_active_queue_is_last_in_the_current_round() {
    let mut b = bench(Size::Unlimited, Drr::new(1000));
    for id in 0..6 {
        b.arrive(TestPacket::new(id, (id % 3) as u32, 1000));
    }
    assert_eq!((b.serve(), b.serve()), (Some(0), Some(1)));
    // Queue 1 still has the turn, but no credit: 2 and 0 come before the newcomer, 1 after it.
    b.arrive(TestPacket::new(6, 3, 1000));
    assert_eq!(b.drain(), [2, 3, 6, 4, 5]);
}

#[test]
fn evicting_the_last_packet_of_the_queue_with_the_turn_moves_the_turn_and_leaves_no_stale_flag() {
    let mut b = bench(Size::Packets(4), Drr::new(1500));
    b.arrive(TestPacket::new(0, 0, 700));
    b.arrive(TestPacket::new(1, 0, 700));
    b.arrive(TestPacket::new(2, 1, 1500));
    assert_eq!(b.serve(), Some(0));
    assert_eq!(
        (b.queue.scheduler().turn(), credit(&b, 0)),
        (Some(0), 800),
        "its turn goes on"
    );
    let slot = b.queue.store().head(0).unwrap();
    let line = b.line();
    assert_eq!(
        b.queue
            .remove(
                Handle(u64::from(slot)),
                crate::contract::report::DropReason::Overflow,
                &line
            )
            .unwrap()
            .id,
        1
    );
    assert_eq!(
        (b.queue.scheduler().turn(), credit(&b, 0)),
        (Some(1), 0),
        "the turn moved to its successor"
    );
    // It comes back at once and must get its quantum in the next round, like all others.
    b.arrive(TestPacket::new(3, 1, 1500));
    b.arrive(TestPacket::new(4, 0, 1500));
    assert_eq!(b.drain(), [2, 4, 3], "with the flag left set, 4 would come after 3");
}

#[test]
fn the_longest_queue_may_have_the_turn() {
    let mut b = bench(Size::Packets(3), Drr::new(1500));
    for id in 0..4 {
        b.arrive(TestPacket::new(id, 0, 500));
    }
    assert_eq!(b.serve(), Some(1), "0 was evicted");
    b.arrive(TestPacket::new(4, 1, 500));
    b.arrive(TestPacket::new(5, 1, 500));
    assert_eq!(
        b.log.dropped.last().unwrap().0.id,
        2,
        "queue 0 has been of length 2 for longer"
    );
    assert_eq!(b.queue.scheduler().turn(), Some(0));
    assert_eq!(b.drain(), [3, 4, 5]);
}

#[test]
fn heavier_quanta_get_their_share() {
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
    let port = Port::new(
        Size::Unlimited,
        PerFlow::new(),
        Drr::weighted(1000, QuantumOf::Least),
        policy,
    );
    let mut b = Bench::new(port);
    for id in 0..1000 {
        let flow = (id % 11) as u32;
        let weight = if flow == 0 { 10.0 } else { 1.0 };
        b.arrive(TestPacket {
            weight,
            ..TestPacket::new(id, flow, 1000)
        });
    }
    let heavy = (0..100).filter(|_| b.take().unwrap().flow == 0).count();
    assert_eq!(
        heavy, 50,
        "weight 10 beside ten of weight 1: half the line, in runs of 10"
    );
}

#[test]
fn the_quantum_of_a_unit_of_weight_is_given_for_each_unit_of_the_least_weight_too() {
    for (of, run) in [(QuantumOf::Least, 1), (QuantumOf::Unit, 5)] {
        let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
        let mut b = Bench::new(Port::new(
            Size::Unlimited,
            PerFlow::new(),
            Drr::weighted(1000, of),
            policy,
        ));
        for id in 0..40 {
            let packet = TestPacket::new(id, (id % 2) as u32, 1000);
            b.arrive(TestPacket { weight: 5.0, ..packet });
        }
        let flows: Vec<u32> = (0..20).map(|_| b.take().unwrap().flow).collect();
        let first = flows.iter().take_while(|f| **f == flows[0]).count();
        assert_eq!(first, run, "{of:?}");
    }
}

#[test]
fn a_quantum_smaller_than_the_packets_still_serves() {
    let mut b = bench(Size::Unlimited, Drr::new(0));
    for id in 0..4 {
        b.arrive(TestPacket::new(id, (id % 2) as u32, 900));
    }
    assert_eq!(b.drain(), [0, 1, 2, 3]);
}

proptest! {
    /// Over any interval in which two queues stay backlogged, the bytes sent for them differ by at most a quantum and
    /// two largest packets; a turn that ends with packets left leaves a credit below the largest packet; an emptied
    /// queue has none. This also holds with overflow and evictions.
    #[test]
    fn service_is_fair_and_credit_bounded(
        steps in prop::collection::vec((0u8..5, 0u32..4, 40u32..=1500), 1..500),
        quantum in prop_oneof![Just(1500u32), 300u32..6000],
        buffer in prop_oneof![Just(Size::Packets(12)), Just(Size::Unlimited)],
    ) {
        const LARGEST: u64 = 1500;
        let bound = (u64::from(quantum) + 2 * LARGEST) as i64;
        let mut b = bench(buffer, Drr::new(quantum));
        for (id, flow) in (0..4).enumerate() {
            // All four queues exist, numbered as their flows.
            b.arrive(TestPacket::new(id as u64, flow, 1500));
        }
        // For each pair of queues: the difference since both became backlogged, and its extremes; `None` while either
        // is empty. An eviction empties no queue here, because the longest of four queues that hold twelve packets
        // holds three.
        let pairs = (0..4).flat_map(|i| (0..i).map(move |j| (i, j)));
        let mut pairs: Vec<(u32, u32, Option<[i64; 3]>)> = pairs.map(|(i, j)| (i, j, None)).collect();
        for (id, (op, flow, bytes)) in (4..).zip(steps) {
            let served = if op < 3 {
                b.arrive(TestPacket::new(id, flow, bytes));
                None
            } else {
                b.take()
            };
            let store = b.queue.store();
            let backlogged = |q: u32| store.packets(q) > 0;
            for (i, j, interval) in &mut pairs {
                if let (Some([d, low, high]), Some(p)) = (interval.as_mut(), &served) {
                    *d += i64::from(p.bytes) * (i64::from(p.flow == *i) - i64::from(p.flow == *j));
                    *low = (*low).min(*d);
                    *high = (*high).max(*d);
                    prop_assert!(*high - *low <= bound, "{i} and {j}: {}", *high - *low);
                }
                *interval = (backlogged(*i) && backlogged(*j)).then(|| interval.unwrap_or([0; 3]));
            }
            for q in 0..4 {
                if !backlogged(q) {
                    prop_assert_eq!(credit(&b, q), 0);
                } else if b.queue.scheduler().turn() != Some(q) {
                    prop_assert!(credit(&b, q) < LARGEST);
                }
            }
        }
    }
}
