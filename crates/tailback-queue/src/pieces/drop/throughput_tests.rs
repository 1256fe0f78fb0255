//! TDRR: the estimate, its memory, and its victims.

use super::*;
use crate::contract::discipline::Line;
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::index::rate_estimate::{Clocked, PerArrival, PerService};
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::ports::tdrr::MODEL;
use proptest::prelude::*;
use tailback_base::{BitRate, Duration, Size, Time};

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
    // Back with a single packet next to a long queue without history: the old rate decides.
    arrive(&mut b, &[1, 1, 1, 0, 1]);
    assert_eq!(b.log.dropped.last().unwrap().0.flow, 0);
    // Now queue 0 is empty and cannot be the victim, whatever its rate.
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
        // Queues 0, 1, 2 exist; 0 is sent and comes back last; queue 1 has the turn. All rates are 0.
        arrive(&mut b, &[0, 1, 2]);
        b.take();
        b.pass(Duration::from_millis(8));
        if tie == Tie::Fifo {
            // Queue 1 leaves and comes back as well, so that 2 has waited longest.
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
    /// The victim is a non-empty queue with the highest rate; checked by looking at every queue.
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

/// The life of one packet: stored, then sent after a while.
#[derive(Clone, Copy, Debug)]
struct Life {
    queue: u32,
    bytes: u32,
    stored: u64,
    sent: u64,
}

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let one = (0u32..4, 1u32..1500, 0u64..30_000_000, 0u64..5_000_000);
    prop::collection::vec(one, 1..120).prop_map(|steps| {
        let mut now = 0;
        let life = |(queue, bytes, gap, wait): (u32, u32, u64, u64)| {
            now += gap;
            Life {
                queue,
                bytes,
                stored: now,
                sent: now + wait,
            }
        };
        let mut all: Vec<Life> = steps.into_iter().map(life).collect();
        all.sort_by_key(|l| l.sent);
        all
    })
}

fn line(ns: u64) -> Line {
    Line::idle(Time(ns), BitRate(1_000_000))
}

proptest! {
    /// Estimating per arrival gives the same as estimating per service with the arrival times.
    #[test]
    fn per_arrival_is_per_service_with_other_instants(lives in lives(), weight in 0.001f64..1.0) {
        let (mut arrivals, mut services) = (PerArrival::new(weight), PerService::new(weight));
        let mut by_arrival = lives.clone();
        by_arrival.sort_by_key(|l| l.stored);
        for l in &by_arrival {
            let a = arrivals.appended(l.queue, l.bytes, &line(l.stored));
            prop_assert_eq!(a, services.served(l.queue, l.bytes, &line(l.stored)));
            prop_assert_eq!(arrivals.served(l.queue, l.bytes, &line(l.sent)), None);
            prop_assert_eq!(services.appended(l.queue, l.bytes, &line(l.sent)), None);
        }
    }

    /// The clocked estimate equals its defining sum, its keys order the queues like the sums, and neither a late
    /// start nor a long run exceeds the range of a number.
    #[test]
    fn the_clocked_estimate_is_its_sum(lives in lives(), theta_ms in 1u64..1000, start_h in 0u64..78) {
        let start = start_h * 3_600_000_000_000;
        let theta = theta_ms as f64 * 1e-3;
        let mut clocked = Clocked::new(Duration::from_millis(theta_ms));
        for (i, life) in lives.iter().enumerate() {
            let key = clocked.served(life.queue, life.bytes, &line(start + life.sent));
            prop_assert_eq!(key, Some(clocked.key(life.queue)));
            let sum = |q: u32| -> f64 {
                let since = |x: &Life| (life.sent - x.sent) as f64 * 1e-9;
                let part = |x: &Life| 8.0 * f64::from(x.bytes) * (-since(x) / theta).exp() / theta;
                lives[..=i].iter().filter(|x| x.queue == q).map(part).sum()
            };
            // t / theta is up to 3e8 here, so the error of its last digits is about 1e-7.
            for q in 0..4 {
                let (a, b) = (clocked.rate(q), sum(q));
                prop_assert!((a - b).abs() <= 1e-5 * b, "queue {q}: {a}, not {b}");
                for r in 0..4 {
                    if sum(q) > sum(r) * 1.001 {
                        prop_assert!(clocked.key(q) > clocked.key(r));
                    }
                }
            }
        }
    }
}

#[test]
fn a_clocked_estimate_forgets_with_its_time_constant_and_keeps_the_order() {
    let mut c = Clocked::new(Duration::from_millis(100));
    c.served(0, 1000, &line(0));
    c.served(1, 500, &line(0));
    assert!((c.rate(0) - 80e3).abs() < 1e-6, "8000 bit in 0.1 s");
    let keys = [c.key(0), c.key(1)];
    c.appended(2, 1000, &line(100_000_000));
    assert!((c.rate(0) - 80e3 / std::f64::consts::E).abs() < 1e-6);
    assert_eq!([c.key(0), c.key(1)], keys, "nothing moves in the order");
    assert_eq!(c.rate(2), 0.0, "not served yet");
    c.served(2, 0, &line(100_000_000));
    assert_eq!(c.key(2), f64::NEG_INFINITY, "no bits, no change");
}
