//! DTDRR: the comparison, its unit, and the equilibrium.

use super::*;
use crate::contract::discipline::Place;
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::ports::dtdrr::MODEL;
use tailback_base::Size;

type Bounded = Bench<Port<TestPacket, PerFlow, Drr, Threshold>>;

fn bench(buffer: Size, alpha: f64) -> Bounded {
    let port = Port::new(buffer, PerFlow::new(), Drr::new(1500), Threshold::new(alpha));
    Bench::new(port.declaring(MODEL.probes))
}

fn arrive(b: &mut Bounded, flow: u32, bytes: u32, n: u64) -> u64 {
    let before = b.backlog().packets;
    for _ in 0..n {
        b.arrive(TestPacket::new(0, flow, bytes));
    }
    b.backlog().packets - before
}

fn reasons(b: &Bounded) -> Vec<DropReason> {
    b.log.dropped.iter().map(|d| d.2).collect()
}

#[test]
fn a_lone_queue_stops_at_the_threshold_and_not_one_later() {
    let mut b = bench(Size::Packets(10), 1.0);
    assert_eq!(arrive(&mut b, 0, 1000, 7), 5, "5 waiting, 5 free: 5 >= 1 * 5");
    assert_eq!(reasons(&b), [DropReason::Refused; 2]);
    assert!(b.log.dropped.iter().all(|d| d.1 == Place::Arriving));
    assert_eq!(arrive(&mut b, 1, 1000, 9), 3, "0 < 5, 1 < 4, 2 < 3, 3 >= 2");
    b.serve();
    assert_eq!(arrive(&mut b, 0, 1000, 1), 0, "4 >= 3");
}

#[test]
fn no_room_is_an_overflow_even_for_an_empty_queue() {
    let mut b = bench(Size::Packets(3), 100.0);
    assert_eq!(arrive(&mut b, 0, 1000, 3), 3);
    assert_eq!(arrive(&mut b, 1, 1000, 1), 0);
    assert_eq!(reasons(&b), [DropReason::Overflow]);
}

#[test]
fn a_buffer_of_bytes_measures_bytes() {
    let mut b = bench(Size::Bytes(10_000), 1.0);
    // 0 < 10,000; 1500 < 8500; 3000 < 7000; 4500 < 5500; 6000 >= 4000.
    assert_eq!(arrive(&mut b, 0, 1500, 9), 4);
    // 40 B packets of another queue: until 40 n >= 4000 - 40 n.
    assert_eq!(arrive(&mut b, 1, 40, 100), 50);
}

#[test]
fn an_unlimited_buffer_refuses_nothing() {
    let mut b = bench(Size::Unlimited, 1e-4);
    assert_eq!(arrive(&mut b, 0, 1500, 10_000), 10_000);
}

/// Free space and mean queue when all queues always have more to send.
fn steady(b: &mut Bounded, cap: u64, queues: u32, bytes: u32) -> (f64, f64) {
    let used = |b: &Bounded| b.queue.store().used();
    loop {
        let before = used(b);
        for flow in 0..queues {
            arrive(b, flow, bytes, 1);
        }
        if used(b) == before {
            break;
        }
    }
    let mut free = 0.0;
    let rounds = 10 * queues;
    for _ in 0..rounds {
        b.serve();
        for flow in 0..queues {
            arrive(b, flow, bytes, 1);
        }
        free += (cap - used(b)) as f64 / f64::from(rounds);
    }
    (free, (cap as f64 - free) / f64::from(queues))
}

#[test]
fn many_backlogged_queues_leave_b_over_one_plus_alpha_s_free() {
    for (alpha, free_share, queue_share) in [(2.0, 4.975e-3, 9.950e-3), (0.1, 90.91e-3, 9.091e-3)] {
        // b = 1000 packets: 4.98 and 9.95, 90.9 and 9.09, as exactly as whole packets allow.
        let (free, mean) = steady(&mut bench(Size::Packets(1000), alpha), 1000, 100, 1000);
        assert!((free - 1000.0 * free_share).abs() < 2.0, "alpha {alpha}: {free} free");
        assert!(
            (mean - 1000.0 * queue_share).abs() < 0.02,
            "alpha {alpha}: queues of {mean}"
        );
        // With small packets and a large buffer it is exact to all digits.
        let cap = 200_000;
        let (free, mean) = steady(&mut bench(Size::Bytes(cap), alpha), cap, 100, 1);
        let (free, mean) = (free / cap as f64, mean / cap as f64);
        assert!(
            (free - free_share).abs() < 1e-5,
            "alpha {alpha}: {free} of the buffer free"
        );
        assert!(
            (mean - queue_share).abs() < 1e-6,
            "alpha {alpha}: queues of {mean} of the buffer"
        );
    }
}
