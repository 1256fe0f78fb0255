use super::*;
use crate::contract::discipline::{Place, QueueDiscipline};
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr_plus_plus::DrrPlusPlus;
use tailback_base::Size;

type Ported = Port<TestPacket, PerFlow, DrrPlusPlus, BatchDrop>;

fn bench(buffer: Size, batch: u64, memory: u64) -> Bench<Ported> {
    let port = Port::new(
        buffer,
        PerFlow::new(),
        DrrPlusPlus::new(1514),
        BatchDrop::new(batch, memory),
    );
    Bench::new(port.counting_newcomer(true))
}

fn arrive(b: &mut Bench<Ported>, ids: std::ops::Range<u64>, flow: u32, bytes: u32) {
    for id in ids {
        b.arrive(TestPacket::new(id, flow, bytes));
    }
}

const PLENTY: u64 = 1 << 30;

/// The fattest queue is the one with the most bytes, whatever the numbers of packets; it loses half of them, the
/// oldest.
#[test]
fn half_of_the_fattest_queue_goes() {
    let mut b = bench(Size::Packets(40), 64, PLENTY);
    arrive(&mut b, 0..30, 0, 100);
    arrive(&mut b, 100..110, 1, 1000);
    assert!(b.log.dropped.is_empty());
    arrive(&mut b, 30..31, 0, 100);
    assert_eq!(b.log.drops(DropReason::Overload), [100, 101, 102, 103, 104]);
    assert!(b.log.dropped.iter().all(|d| d.1 == Place::Queued));
    assert_eq!(b.backlog().packets, 36);
}

/// Odd sizes: as many packets are dropped as are needed to remove half of the bytes.
#[test]
fn at_least_half_of_the_bytes_go() {
    let mut b = bench(Size::Packets(5), 64, PLENTY);
    for (id, bytes) in [(0, 100), (1, 900), (2, 100), (3, 300), (4, 700)] {
        arrive(&mut b, id..id + 1, 0, bytes);
    }
    arrive(&mut b, 5..6, 1, 100);
    // 2100 B: 100 and 900 are less than 1050, with the next packet it is enough.
    assert_eq!(b.log.drops(DropReason::Overload), [0, 1, 2]);
}

#[test]
fn no_more_than_a_batch_goes_at_once() {
    let mut b = bench(Size::Packets(1000), 64, PLENTY);
    arrive(&mut b, 0..1001, 0, 1000);
    assert_eq!(b.log.drops(DropReason::Overload), (0..64).collect::<Vec<_>>());
    arrive(&mut b, 1001..1064, 0, 1000);
    assert_eq!(b.log.dropped.len(), 64, "there is room for as many again");
    arrive(&mut b, 1064..1066, 0, 1000);
    assert_eq!(b.log.dropped.len(), 128);
}

/// The bytes of all queues are limited in addition to the buffer, even if the buffer is unlimited.
#[test]
fn memory_bounds_bytes() {
    for buffer in [Size::Packets(10_000), Size::Unlimited] {
        let mut b = bench(buffer, 64, 10_000);
        arrive(&mut b, 0..4, 0, 1500);
        arrive(&mut b, 10..14, 1, 1000);
        assert!(b.log.dropped.is_empty(), "{} bytes", b.backlog().bytes);
        arrive(&mut b, 14..15, 1, 1);
        assert_eq!(b.log.drops(DropReason::Overload), [0, 1], "3000 of 6000 B are half");
    }
}

/// If a packet is alone in its queue, and the queue is the fattest, the packet is dropped on arrival.
#[test]
fn a_newcomer_that_is_the_fattest_queue_is_refused() {
    let mut b = bench(Size::Packets(100), 64, 5000);
    arrive(&mut b, 0..2, 0, 500);
    arrive(&mut b, 2..3, 1, 4500);
    assert_eq!(b.log.dropped.len(), 1);
    assert_eq!((b.log.dropped[0].0.id, b.log.dropped[0].1), (2, Place::Arriving));
    assert_eq!(b.queue.backlog().packets, 2);
}

/// Among equal queues the one with the lowest number loses.
#[test]
fn of_equals_the_lowest_number_loses() {
    let mut b = bench(Size::Packets(4), 64, PLENTY);
    for flow in [3, 1, 2, 0] {
        arrive(&mut b, u64::from(flow)..u64::from(flow) + 1, flow, 500);
    }
    // Flow 3 came first and has the queue number 0.
    arrive(&mut b, 9..10, 4, 500);
    assert_eq!(b.log.drops(DropReason::Overload), [3]);
}
