use super::*;
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::longest::Longest;
use crate::pieces::index::length_index::Tie;
use crate::pieces::port::Port;
use crate::pieces::store::Unit;
use tailback_base::{Size, Stream};

type Ported = Port<TestPacket, PerFlow, DrrPlusPlus, Longest>;

fn bench(quantum: u32) -> Bench<Ported> {
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(0, ""));
    let scheduler = DrrPlusPlus::new(quantum);
    Bench::new(Port::new(Size::Unlimited, PerFlow::new(), scheduler, policy))
}

fn arrive(b: &mut Bench<Ported>, flow: u32, bytes: u32, n: u32) {
    for _ in 0..n {
        b.arrive(TestPacket::new(0, flow, bytes));
    }
}

fn serve(b: &mut Bench<Ported>) -> u32 {
    b.take().map_or(u32::MAX, |p| p.flow)
}

/// Two queues with packets of 1500 B and 100 B never differ by more than a quantum and a packet.
#[test]
fn backlogged_queues_share_bytes() {
    for quantum in [300, 1514, 9000] {
        let mut b = bench(quantum);
        arrive(&mut b, 0, 1500, 1000);
        arrive(&mut b, 1, 100, 15_000);
        let mut sent_bytes = [0_i64; 2];
        for _ in 0..8000 {
            let p = b.take().unwrap();
            sent_bytes[p.flow as usize] += i64::from(p.bytes);
            // Each may be one packet ahead of its credit, and one may have had its turn when the other has not.
            let apart = (sent_bytes[0] - sent_bytes[1]).abs();
            assert!(apart <= i64::from(quantum) + 1500, "{quantum}: {sent_bytes:?}");
        }
        assert!(sent_bytes[0] > 300_000);
    }
}

/// A flow that never has two packets waits for at most one quantum and one packet of each other flow; and not even
/// for that while the others are in the old list.
#[test]
fn a_sparse_flow_waits_for_a_round_at_the_most() {
    let mut b = bench(1514);
    for flow in 0..20 {
        arrive(&mut b, flow, 1000, 500);
    }
    for _ in 0..100 {
        serve(&mut b);
    }
    let mut worst = 0;
    for round in 0..200 {
        for _ in 0..round % 37 {
            serve(&mut b);
        }
        arrive(&mut b, 99, 200, 1);
        let mut waited = 0;
        while serve(&mut b) != 99 {
            waited += 1000;
        }
        worst = worst.max(waited);
    }
    assert!(worst <= 20 * (1514 + 1000), "{worst}");
    assert!(worst > 0, "sometimes its queue still stands at the end of the old list");
    // After a round without packets it is served first.
    for _ in 0..100 {
        serve(&mut b);
    }
    arrive(&mut b, 99, 200, 1);
    assert_eq!(serve(&mut b), 99);
}

#[test]
fn new_queues_go_first_and_stand_at_the_end_when_their_quantum_is_used() {
    let mut b = bench(1000);
    arrive(&mut b, 0, 1000, 5);
    arrive(&mut b, 1, 1000, 5);
    assert_eq!([serve(&mut b), serve(&mut b)], [0, 1], "each its first quantum");
    arrive(&mut b, 2, 500, 5);
    // Two packets of 500 B are a quantum.
    let order: Vec<u32> = (0..6).map(|_| serve(&mut b)).collect();
    assert_eq!(order, [2, 2, 0, 1, 2, 2]);
}

/// RFC 8290 section 4.2: a new queue that is empty goes to the end of the old list, so that it cannot be new again at
/// once.
#[test]
fn an_empty_new_queue_cannot_come_back_at_once() {
    let mut b = bench(1000);
    arrive(&mut b, 0, 1000, 10);
    assert_eq!(serve(&mut b), 0);
    arrive(&mut b, 1, 100, 1);
    assert_eq!(serve(&mut b), 1, "new");
    // Visited while empty: it goes to the end of the old list. Then it becomes active, and is served in its turn
    // there.
    assert_eq!(serve(&mut b), 0);
    arrive(&mut b, 1, 100, 1);
    assert_eq!(b.queue.scheduler().new.len(), 0, "not new");
    assert_eq!(b.queue.scheduler().deficit(1), 900, "with what it had left");
    assert_eq!(serve(&mut b), 1);
}

/// A queue that is found empty when it is alone, or in the old list, leaves; it becomes active again with a whole
/// quantum.
#[test]
fn a_queue_that_was_visited_empty_is_forgotten() {
    let mut b = bench(1000);
    arrive(&mut b, 0, 400, 1);
    assert_eq!(serve(&mut b), 0);
    assert_eq!(b.queue.scheduler().deficit(0), 600);
    assert_eq!(b.take(), None);
    assert_eq!(b.queue.scheduler().turn(), None);
    arrive(&mut b, 0, 400, 1);
    assert_eq!(b.queue.scheduler().deficit(0), 1000);
}

/// A packet larger than the quantum is sent on credit and paid back in turns.
#[test]
fn a_large_packet_is_paid_back() {
    let mut b = bench(300);
    arrive(&mut b, 0, 1500, 3);
    arrive(&mut b, 1, 300, 20);
    let order: Vec<u32> = (0..12).map(|_| serve(&mut b)).collect();
    assert_eq!(order, [0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]);
}
