//! TDRR: the estimate, its memory, and whom it chooses.

use super::*;
use crate::multiqueue::drr::Drr;
use crate::multiqueue::per_flow::PerFlow;
use crate::multiqueue::port::Port;
use crate::testing::{Bench, TestPacket};
use proptest::prelude::*;
use tailback_base::{BitRate, Duration, Size};

type Fast = Bench<Port<TestPacket, PerFlow, Drr, Throughput<PerService>>>;

/// A line of 1 Mbit/s: 1000 bytes take 8 ms.
fn bench(buffer: Size, weight: f64, tie: Tie) -> Fast {
    let policy = Throughput::new(PerService::new(weight), tie, Stream::new(1, "test"));
    Bench::new(Port::new(buffer, PerFlow::new(), Drr::new(1000), policy).declaring(MODEL.probes))
}

fn arrive(b: &mut Fast, flows: &[u32]) {
    for flow in flows {
        b.arrive(TestPacket::new(0, *flow, 1000));
    }
}

fn serve_every(b: &mut Fast, ms: u64, n: u32) {
    for _ in 0..n {
        b.take();
        b.pass(Duration::from_millis(ms));
    }
}

#[test]
fn the_first_service_sets_the_clock_and_the_second_gives_a_sample() {
    let mut b = bench(Size::Unlimited, 0.25, Tie::Fifo);
    arrive(&mut b, &[0, 0, 0, 0]);
    serve_every(&mut b, 16, 1);
    assert_eq!(b.probe("queue_rate", 0), 0.0);
    serve_every(&mut b, 16, 1);
    assert_eq!(b.probe("queue_rate", 0), 0.25 * 500e3, "8000 bit in 16 ms");
    serve_every(&mut b, 16, 1);
    assert_eq!(b.probe("queue_rate", 0), 0.75 * 125e3 + 0.25 * 500e3);
}

#[test]
fn no_sample_exceeds_the_line() {
    let mut b = bench(Size::Unlimited, 1.0, Tie::Fifo);
    arrive(&mut b, &[0, 0, 0]);
    serve_every(&mut b, 0, 2);
    assert_eq!(
        b.probe("queue_rate", 0),
        1e6,
        "two services at one instant count as back to back"
    );
}

#[test]
fn nothing_that_divides_by_zero_reaches_the_estimate() {
    let mut b = bench(Size::Unlimited, 1.0, Tie::Fifo);
    b.rate = BitRate(0);
    for _ in 0..6 {
        b.arrive(TestPacket::new(0, 0, 0));
    }
    serve_every(&mut b, 0, 3);
    b.rate = BitRate(1_000_000);
    serve_every(&mut b, 0, 3);
    assert_eq!(b.probe("queue_rate", 0), 0.0);
    assert_eq!(PerService::new(f64::NAN).weight, 0.0);
}

#[test]
fn the_estimate_outlives_the_queue() {
    let mut b = bench(Size::Packets(4), 0.5, Tie::Fifo);
    arrive(&mut b, &[0, 0]);
    serve_every(&mut b, 8, 2);
    assert_eq!(b.probe("queue_rate", 0), 500e3);
    b.pass(Duration::from_seconds(100.0));
    assert_eq!(
        (b.backlog().packets, b.probe("queue_rate", 0)),
        (0, 500e3),
        "kept over idle time, not decayed"
    );
    // Back with a single packet beside a long queue without history: the old rate decides.
    arrive(&mut b, &[1, 1, 1, 0, 1]);
    assert_eq!(b.log.dropped.last().unwrap().0.flow, 0);
    // Now queue 0 is empty and out of the running, whatever its rate.
    arrive(&mut b, &[1, 2]);
    assert_eq!(b.log.dropped.len(), 3);
    assert!(b.log.dropped[1..].iter().all(|d| d.0.flow == 1));
}

#[test]
fn the_gap_includes_the_idle_time() {
    let mut b = bench(Size::Unlimited, 1.0, Tie::Fifo);
    arrive(&mut b, &[0]);
    serve_every(&mut b, 1000, 1);
    arrive(&mut b, &[0]);
    serve_every(&mut b, 0, 1);
    assert_eq!(b.probe("queue_rate", 0), 8e3, "8000 bit in a second");
}

#[test]
fn queues_without_history_tie_and_fall_as_asked() {
    for (tie, victim) in [(Tie::Fifo, 2), (Tie::Lowest, 0), (Tie::Ring, 1)] {
        let mut b = bench(Size::Packets(4), 0.5, tie);
        // Queues 0, 1, 2 exist; 0 is sent, comes back last; the turn is with 1. All rates are 0.
        arrive(&mut b, &[0, 1, 2]);
        b.take();
        b.pass(Duration::from_millis(8));
        if tie == Tie::Fifo {
            // Let queue 1 leave and come back as well, so that 2 has waited longest.
            b.take();
            arrive(&mut b, &[1]);
        }
        arrive(&mut b, &[0]);
        while b.backlog().packets < 4 {
            arrive(&mut b, &[3]);
        }
        arrive(&mut b, &[3]);
        assert_eq!(b.log.dropped.last().unwrap().0.flow, victim, "{tie:?}");
    }
}

proptest! {
    /// The victim is a non-empty queue of the highest rate, by looking at every queue.
    #[test]
    fn the_victim_is_the_fastest(
        steps in prop::collection::vec((0u8..4, 0u32..5, 40u32..1500, 0u64..40), 1..300),
        weight in 0.001f64..1.0,
    ) {
        let mut b = bench(Size::Packets(8), weight, Tie::Fifo);
        for (op, flow, bytes, ms) in steps {
            b.pass(Duration::from_millis(ms));
            if op == 0 {
                b.take();
                continue;
            }
            let store = b.queue.store();
            let backlogged: Vec<u32> = (0..store.queues()).filter(|q| store.packets(*q) > 0).collect();
            let rate = |q: u32| b.queue.policy().rate(q);
            let fastest = backlogged.iter().map(|q| rate(*q)).fold(0.0, f64::max);
            let tied: Vec<u32> = backlogged.into_iter().filter(|q| rate(*q) == fastest).collect();
            let fronts: Vec<TestPacket> =
                tied.iter().map(|q| *store.packet(store.head(*q).unwrap()).unwrap()).collect();
            let before = b.log.dropped.len();
            b.arrive(TestPacket::new(0, flow, bytes));
            for (p, _, _) in &b.log.dropped[before..] {
                prop_assert!(fronts.contains(p));
            }
            for q in 0..b.queue.store().queues() {
                prop_assert!((0.0..=1e6 * (1.0 + 1e-12)).contains(&b.queue.policy().rate(q)));
            }
        }
    }
}
