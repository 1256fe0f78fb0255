//! DSDRR: closing, opening, and the limit.

use super::*;
use crate::contract::discipline::{ProbeId, QueueDiscipline};
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::Even;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::ports::dsdrr::MODEL;
use proptest::prelude::*;
use tailback_base::Size;

type Closing = Bench<Port<TestPacket, Even, Drr, Discard>>;

fn bench(buffer: u64, queues: u32, alpha: f64, limit: Option<ClosingLimit>) -> Closing {
    let policy = Discard::new(alpha, limit);
    let port = Port::new(Size::Packets(buffer), Even::new(queues), Drr::new(1500), policy);
    Bench::new(port.declaring(MODEL.probes))
}

/// Send `n` packets of a flow; returns how many were stored.
fn arrive(port_bench: &mut Closing, flow: u32, n: u32) -> u64 {
    let before = port_bench.backlog().packets;
    for _ in 0..n {
        port_bench.arrive(TestPacket::new(0, flow, 1000));
    }
    port_bench.backlog().packets - before
}

fn closed(port_bench: &Closing) -> Vec<u32> {
    let n = port_bench.queue.store().queues();
    (0..n).filter(|q| port_bench.queue.policy().is_closed(*q)).collect()
}

fn bound(port_bench: &Closing) -> u32 {
    port_bench.queue.policy().bound().unwrap()
}

fn seconds(port_bench: &mut Closing, s: u64) {
    port_bench.pass(Duration::from_millis(1000 * s));
}

#[test]
fn a_queue_closes_at_its_threshold_and_opens_when_it_has_been_served_empty() {
    let mut port_bench = bench(100, 20, 0.1, Some(ClosingLimit::default()));
    assert_eq!(arrive(&mut port_bench, 0, 10), 10, "9 < 0.1 * 91");
    assert_eq!(closed(&port_bench), []);
    assert_eq!(arrive(&mut port_bench, 0, 1), 0, "10 >= 0.1 * 90");
    assert_eq!(closed(&port_bench), [0]);
    for _ in 0..9 {
        port_bench.serve();
    }
    assert_eq!(
        arrive(&mut port_bench, 0, 1),
        0,
        "far below the threshold, but not empty: still closed"
    );
    port_bench.serve();
    assert_eq!(closed(&port_bench), []);
    assert_eq!(arrive(&mut port_bench, 0, 1), 1);
    let notes: Vec<(ProbeId, u32, f64)> = port_bench.log.notes.clone();
    let id = |name: &str| ProbeId(MODEL.probes.iter().position(|p| p.name == name).unwrap() as u16);
    assert_eq!(
        notes,
        [
            (id("closed"), 0, 1.0),
            (id("closed_queues"), 0, 1.0),
            (id("closed"), 0, 0.0),
            (id("closed_queues"), 0, 0.0)
        ]
    );
    assert!(port_bench.log.dropped.iter().all(|d| d.2 == DropReason::Refused));
}

#[test]
fn at_the_limit_long_queues_are_accepted() {
    let mut port_bench = bench(1000, 20, 0.01, Some(ClosingLimit::default()));
    assert_eq!(bound(&port_bench), 1, "nothing seen yet");
    for flow in 0..3 {
        arrive(&mut port_bench, flow, 20);
    }
    assert_eq!(
        (bound(&port_bench), closed(&port_bench)),
        (2, vec![0, 1]),
        "a tenth of 20"
    );
    assert_eq!(port_bench.queue.store().packets(2), 20);
    assert_eq!(port_bench.probe("closed_limit", 0), 2.0);
    assert_eq!(port_bench.probe("closed", 1), 1.0);
    assert_eq!(port_bench.probe("closed", 2), 0.0);
    assert!(port_bench.probe("closed", 20).is_nan());
}

#[test]
fn without_a_limit_all_close() {
    let mut port_bench = bench(1000, 20, 0.01, None);
    for flow in 0..15 {
        arrive(&mut port_bench, flow, 20);
    }
    assert_eq!(closed(&port_bench).len(), 15);
    assert_eq!(
        (port_bench.queue.next_timer(), port_bench.queue.policy().bound()),
        (None, None)
    );
    assert!(port_bench.probe("closed_limit", 0).is_nan());
}

#[test]
fn an_overflow_closes_past_the_limit_but_never_an_empty_queue() {
    let mut port_bench = bench(4, 5, 100.0, Some(ClosingLimit::default()));
    for flow in 0..4 {
        arrive(&mut port_bench, flow, 1);
    }
    for flow in 0..5 {
        arrive(&mut port_bench, flow, 1);
    }
    assert_eq!(
        (bound(&port_bench), closed(&port_bench)),
        (1, vec![0, 1, 2, 3]),
        "4 was empty"
    );
    assert!(port_bench.log.dropped.iter().all(|d| d.2 == DropReason::Overflow));
    port_bench.serve();
    assert_eq!(arrive(&mut port_bench, 4, 1), 1, "and may still send");
}

#[test]
fn the_limit_follows_the_overflows() {
    let mut port_bench = bench(10, 20, 100.0, Some(ClosingLimit::default()));
    arrive(&mut port_bench, 0, 10);
    // No packet of flow 1 is ever stored, so its queue is not closed.
    let overflow = |port_bench: &mut Closing| assert_eq!(arrive(port_bench, 1, 1), 0);
    overflow(&mut port_bench);
    for expected in [4, 6, 8, 10, 10] {
        seconds(&mut port_bench, 1);
        assert_eq!(
            bound(&port_bench),
            expected,
            "two more after each period with an overflow, up to half"
        );
        overflow(&mut port_bench);
    }
    seconds(&mut port_bench, 1);
    assert_eq!((bound(&port_bench), closed(&port_bench)), (10, vec![]));
    seconds(&mut port_bench, 1);
    assert_eq!(
        bound(&port_bench),
        1,
        "no overflow, none closed: one more than are closed"
    );
    assert_eq!(port_bench.log.notes.last().unwrap().2, 1.0);
}

#[test]
fn without_overflow_the_limit_comes_down_to_one_more_than_are_closed_and_then_stays() {
    let mut port_bench = bench(
        1000,
        20,
        0.01,
        Some(ClosingLimit {
            initial: 0.3,
            ..ClosingLimit::default()
        }),
    );
    for flow in 0..3 {
        arrive(&mut port_bench, flow, 20);
    }
    assert_eq!((bound(&port_bench), closed(&port_bench).len()), (6, 3));
    seconds(&mut port_bench, 1);
    assert_eq!(bound(&port_bench), 4);
    arrive(&mut port_bench, 3, 20);
    seconds(&mut port_bench, 1);
    assert_eq!(
        (bound(&port_bench), closed(&port_bench).len()),
        (4, 4),
        "as many closed as allowed: it stays"
    );
    port_bench.drain();
    seconds(&mut port_bench, 1);
    assert_eq!(bound(&port_bench), 1);
}

#[test]
fn a_limit_that_follows_is_one_more_than_are_closed_after_every_period_without_overflow() {
    let follows = ClosingLimit {
        follows: true,
        ..ClosingLimit::default()
    };
    let mut port_bench = bench(1000, 20, 0.01, Some(follows));
    for flow in 0..2 {
        arrive(&mut port_bench, flow, 20);
    }
    assert_eq!((bound(&port_bench), closed(&port_bench).len()), (2, 2));
    seconds(&mut port_bench, 1);
    assert_eq!(bound(&port_bench), 3, "as many closed as allowed: one more");
    arrive(&mut port_bench, 2, 20);
    seconds(&mut port_bench, 1);
    assert_eq!((bound(&port_bench), closed(&port_bench).len()), (4, 3));
    port_bench.drain();
    seconds(&mut port_bench, 1);
    assert_eq!(bound(&port_bench), 1);
}

#[test]
fn one_queue_two_queues_five_queues() {
    for (queues, top) in [(1, 1), (2, 1), (5, 2)] {
        let mut port_bench = bench(2, queues, 1e4, Some(ClosingLimit::default()));
        arrive(&mut port_bench, 0, 3);
        assert_eq!(bound(&port_bench), 1, "K = {queues}");
        for _ in 0..3 {
            seconds(&mut port_bench, 1);
            port_bench.drain();
            arrive(&mut port_bench, 0, 3);
        }
        assert_eq!(bound(&port_bench), top, "K = {queues}");
        seconds(&mut port_bench, 2);
        port_bench.drain();
        seconds(&mut port_bench, 1);
        assert_eq!(bound(&port_bench), 1, "K = {queues}: never below 1");
    }
}

#[test]
fn shares_of_the_thesis_runs() {
    let limit_at = |initial: f64, queues: u32| {
        ClosingLimit {
            initial,
            ..ClosingLimit::default()
        }
        .at_first(queues)
    };
    assert_eq!(
        [
            limit_at(0.1, 100),
            limit_at(0.01, 100),
            limit_at(0.5, 100),
            limit_at(0.0, 100)
        ],
        [10, 1, 50, 1]
    );
    assert_eq!(limit_at(0.9, 100), 50, "not above the maximum");
    assert_eq!([1, 2, 5, 15, 25].map(|k| limit_at(0.1, k)), [1, 1, 1, 2, 3]);
}

proptest! {
    /// For any arrivals: a closed queue holds packets and refuses everything, and the count is right.
    #[test]
    fn an_empty_queue_is_never_closed(
        steps in prop::collection::vec((0u8..8, 0u32..6, 40u32..1500), 1..400),
        alpha in 0.01f64..3.0,
        buffer in 1u64..30,
        bytes in any::<bool>(),
        limited in any::<bool>(),
    ) {
        let size = if bytes { Size::Bytes(1000 * buffer) } else { Size::Packets(buffer) };
        let policy = Discard::new(alpha, limited.then(ClosingLimit::default));
        let mut port_bench = Bench::new(Port::new(size, Even::new(6), Drr::new(500), policy).declaring(MODEL.probes));
        for (op, flow, bytes) in steps {
            match op {
                0 => port_bench.pass(Duration::from_millis(300)),
                1..=3 => drop(port_bench.take()),
                _ => {
                    let before = port_bench.backlog();
                    port_bench.arrive(TestPacket::new(0, flow, bytes));
                    prop_assert!(port_bench.backlog().packets >= before.packets, "it never evicts");
                }
            }
            let (store, policy) = (port_bench.queue.store(), port_bench.queue.policy());
            let closed = (0..store.queues()).filter(|q| policy.is_closed(*q)).collect::<Vec<_>>();
            prop_assert_eq!(closed.len() as u32, policy.n_closed());
            for q in closed {
                prop_assert!(store.packets(q) > 0, "queue {} is closed and empty", q);
            }
            prop_assert!(policy.bound().is_none_or(|most_closed| (1..=3).contains(&most_closed)));
        }
    }
}
