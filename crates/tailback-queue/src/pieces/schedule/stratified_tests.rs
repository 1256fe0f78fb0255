//! Stratified round robin: the order of slots, the bound of the delay in each stratum, and shares.

use super::*;
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::threshold::Threshold;
use crate::pieces::port::Port;
use tailback_base::{Size, Stream};

type Strata = Bench<Port<TestPacket, PerFlow, Stratified, Threshold>>;

fn bench() -> Strata {
    let scheduler = Stratified::from_settings(&Settings::defaults(&MODEL).with("quantum", "1000B"));
    Bench::new(Port::new(
        Size::Unlimited,
        PerFlow::new(),
        scheduler,
        Threshold::new(1.0),
    ))
}

/// Shares of 1/2, 1/4 and twice 1/8: one slot in each 2, 4 and 8.
#[test]
fn each_stratum_has_its_interval() {
    let mut b = bench();
    for (flow, weight) in [(0, 4.0), (1, 2.0), (2, 1.0), (3, 1.0)] {
        b.fill(flow, weight, 1000, 100);
    }
    for round in b.flows(80).chunks(8) {
        assert_eq!(round, [0, 1, 0, 2, 0, 1, 0, 3]);
    }
}

/// The first packet of a flow that wakes leaves at the latest 2 * 2^k slots after it came, in every stratum, while all
/// others send as much as they may. Weights are of no binary ratio.
#[test]
fn the_wait_of_a_stratum_is_two_intervals() {
    let weights = [20.0, 9.0, 7.0, 5.0, 3.1, 3.0, 1.0, 1.0, 0.7, 0.3, 0.3, 0.1];
    let mut draws = Stream::new(1, "wakes");
    let mut b = bench();
    for (flow, weight) in (0..).zip(weights) {
        b.fill(flow, weight, 1000, 30_000);
    }
    b.flows(2000);
    // A flow of each stratum sleeps and wakes; 12 is of weight 1, 13 of 9 and so on.
    for (flow, weight) in [(12, 1.0), (13, 9.0), (14, 0.1), (15, 30.0)] {
        let mut worst = 0;
        for _ in 0..100 {
            b.flows(1 + draws.below(100) as usize);
            b.fill(flow, weight, 1000, 1);
            let arrival_slot = b.queue.scheduler().slot;
            while b.take().is_some_and(|p| p.flow != flow) {}
            let k = b.queue.scheduler().members.get(flow).stratum;
            let waited = b.queue.scheduler().slot - arrival_slot;
            assert!(waited <= 2 << k, "weight {weight}, stratum {k}: {waited} slots");
            worst = worst.max(waited);
        }
        assert!(worst > 0, "weight {weight}");
    }
}

/// The wait of a flow with half of the line does not grow with the number of others; a quantum of each other queue
/// would.
#[test]
fn the_wait_does_not_depend_on_the_number_of_flows() {
    for others in [10u32, 100, 1000] {
        let mut b = bench();
        for flow in 0..others {
            b.fill(flow, 1.0, 1000, 40);
        }
        b.fill(others, f64::from(others), 1000, 2000);
        b.flows(100);
        let longest = b.flows(2000).split(|f| *f == others).map(<[u32]>::len).max();
        assert!(longest <= Some(2), "{others} others: {longest:?} in a row");
    }
}

/// In the long run the line is shared by weight, for packets of all sizes.
#[test]
fn shares_follow_the_weights() {
    let weights = [1.0, 1.5, 1.9, 4.0, 13.0];
    let mut draws = Stream::new(2, "sizes");
    let mut b = bench();
    for (flow, weight) in (0..).zip(weights) {
        for id in 0..60_000 {
            let bytes = 40 + draws.below(961) as u32;
            b.arrive(TestPacket {
                weight,
                ..TestPacket::new(id, flow, bytes)
            });
        }
    }
    let mut sent_bytes = [0.0; 5];
    for _ in 0..80_000 {
        if let Some(p) = b.take() {
            sent_bytes[p.flow as usize] += f64::from(p.bytes);
        }
    }
    let all: f64 = sent_bytes.iter().sum::<f64>() / weights.iter().sum::<f64>();
    for (bytes, weight) in sent_bytes.iter().zip(weights) {
        assert!((bytes / weight / all - 1.0).abs() < 2e-3, "{sent_bytes:?}");
    }
}

/// For any arrivals and departures no queue is forgotten, and the port is empty in the end.
#[test]
fn queues_come_and_go() {
    let mut draws = Stream::new(3, "arrivals");
    let mut b = bench();
    let mut in_all = 0;
    for _ in 0..5000 {
        let flow = draws.below(40) as u32;
        let packets = draws.below(4);
        b.fill(flow, f64::from(1 + flow * flow), 100 + 70 * flow, packets);
        in_all += packets;
        in_all -= b.flows(2).len() as u64;
    }
    assert_eq!(b.backlog().packets, in_all);
    assert_eq!(b.drain().len() as u64, in_all);
}
