//! Dialogues with plain DRR: which packet is lost when the buffer is full.

use super::*;
use crate::contract::discipline::{DropReason, Place, QueueDiscipline};
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::ports::drr::MODEL;
use tailback_base::Size;

type Drop = Bench<Port<TestPacket, PerFlow, Drr, Longest>>;

fn bench(buffer: Size, tie: Tie, count_newcomer: bool) -> Drop {
    let unit = if matches!(buffer, Size::Bytes(_)) {
        Unit::Bytes
    } else {
        Unit::Packets
    };
    let policy = Longest::new(unit, tie, Stream::new(1, "test"));
    let port = Port::new(buffer, PerFlow::new(), Drr::new(1500), policy);
    Bench::new(port.counting_newcomer(count_newcomer).declaring(MODEL.probes))
}

/// Packets of these flows, 1000 bytes each, with identities from `first`.
fn arrive(b: &mut Drop, first: u64, flows: &[u32]) {
    for (id, flow) in (first..).zip(flows) {
        b.arrive(TestPacket::new(id, *flow, 1000));
    }
}

#[test]
fn the_longest_queue_loses_its_front() {
    let mut b = bench(Size::Packets(6), Tie::Fifo, false);
    arrive(&mut b, 0, &[0, 1, 1, 1, 2, 2]);
    arrive(&mut b, 6, &[0]);
    assert_eq!(
        b.log.dropped,
        [(TestPacket::new(1, 1, 1000), Place::Queued, DropReason::Overflow)]
    );
    assert_eq!(b.probe("evicted_bytes", 0), 1000.0);
    assert_eq!(b.probe("evicted_share", 0), 1.0 / 7.0);
    assert_eq!(
        (
            b.probe("backlogged", 0),
            b.probe("queue_packets", 1),
            b.probe("queue_length_bytes", 2)
        ),
        (3.0, 2.0, 2000.0)
    );
    assert!(b.probe("queue_packets", 3).is_nan());
}

#[test]
fn ties_fall_as_asked() {
    // Lengths 2, 2, 2, reached in the order 2, 0, 1; queue 1 has the turn.
    for (tie, victim) in [(Tie::Fifo, 2), (Tie::Lowest, 0), (Tie::Ring, 1)] {
        let mut b = bench(Size::Packets(7), tie, false);
        arrive(&mut b, 0, &[0, 1, 2, 2, 0, 1, 0]);
        assert_eq!(b.serve(), Some(0), "queue 0 had three");
        assert_eq!(
            b.serve(),
            Some(1),
            "1000 of 1500 are spent, so the turn went to queue 1"
        );
        arrive(&mut b, 7, &[1, 3]);
        // Lengths now 2 (since the first service), 2 (since now), 2 (oldest), 1: the buffer is full.
        arrive(&mut b, 9, &[3]);
        assert_eq!(b.log.dropped.last().unwrap().0.flow, victim, "{tie:?}");
    }
}

#[test]
fn the_newcomer_counts_only_when_asked() {
    // Queue 0 holds 2, and queue 1 holds 2 since a later time; then a packet arrives for queue 1.
    for (count, lost) in [(false, 0), (true, 2)] {
        let mut b = bench(Size::Packets(4), Tie::Fifo, count);
        arrive(&mut b, 0, &[0, 0, 1, 1, 1]);
        assert_eq!(b.log.drops(DropReason::Overflow), [lost]);
        assert_eq!(b.backlog().packets, 4);
    }
}

#[test]
fn a_newcomer_may_be_its_own_victim() {
    // In bytes, the newcomer's queue is the longest as soon as the newcomer is counted, and the newcomer is alone
    // there.
    let mut b = bench(Size::Bytes(2000), Tie::Fifo, true);
    arrive(&mut b, 0, &[0]);
    b.arrive(TestPacket::new(1, 1, 1500));
    assert_eq!(
        b.log.dropped,
        [(TestPacket::new(1, 1, 1500), Place::Arriving, DropReason::Overflow)].map(|(p, place, why)| (
            TestPacket { stamp: b.now, ..p },
            place,
            why
        ))
    );
    assert_eq!((b.probe("evicted_bytes", 0), b.probe("backlogged", 0)), (0.0, 1.0));
    assert_eq!(b.drain(), [0]);
}

#[test]
fn in_bytes_the_longest_is_the_heaviest_and_room_is_made_until_the_newcomer_fits() {
    let mut b = bench(Size::Bytes(3000), Tie::Fifo, false);
    for id in 0..10 {
        b.arrive(TestPacket::new(id, 0, 100));
    }
    b.arrive(TestPacket::new(10, 1, 1500));
    assert_eq!(b.backlog().bytes, 2500);
    // 1000 more: 500 too many. The single large packet outweighs the ten small ones.
    b.arrive(TestPacket::new(11, 2, 1000));
    assert_eq!(b.log.drops(DropReason::Overflow), [10]);
    // 1900 more: 900 too many. Queue 0 and queue 2 hold 1000 each, queue 0 for longer. It loses one of its ten and is
    // then the shorter one, so queue 2 loses its only one.
    b.arrive(TestPacket::new(12, 1, 1900));
    assert_eq!(b.log.drops(DropReason::Overflow), [10, 0, 11]);
    assert_eq!(b.backlog().bytes, 2800);
}

#[test]
fn what_exceeds_the_whole_buffer_is_refused_and_evicts_nothing() {
    let mut b = bench(Size::Bytes(3000), Tie::Fifo, false);
    arrive(&mut b, 0, &[0, 1, 2]);
    b.arrive(TestPacket::new(3, 3, 3001));
    assert_eq!(b.log.dropped.len(), 1);
    assert_eq!((b.log.dropped[0].0.id, b.log.dropped[0].1), (3, Place::Arriving));
    assert_eq!(b.drain(), [0, 1, 2]);
}

/// Without a limit nothing is noted; where one comes, the longest of those that wait is found.
#[test]
fn a_limit_that_comes_late_finds_the_longest() {
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test")).in_buffer(Size::Unlimited);
    let mut port = Port::new(Size::Unlimited, PerFlow::new(), Drr::new(1500), policy);
    port = port.changing(&Settings::defaults(&MODEL), |_| false);
    let mut b = Bench::new(port);
    arrive(&mut b, 0, &[0, 1, 1, 1, 2]);
    let six = Settings::defaults(&MODEL).with("buffer", "5 packets");
    b.queue.reconfigure(&six).unwrap();
    arrive(&mut b, 5, &[0]);
    assert_eq!(
        b.log.dropped,
        [(TestPacket::new(1, 1, 1000), Place::Queued, DropReason::Overflow)]
    );
}
