//! SRR: the order of visits, its smoothness, and what happens to the round as queues come and go.

use super::*;
use crate::contract::build_context::BuildContext;
use crate::contract::testing::{Bench, Queue};
use crate::ports::srr::MODEL as DISCIPLINE;
use crate::registry;
use tailback_base::{BitRate, Duration, Settings, Stream};

fn bench(with: &[(&str, &str)]) -> Bench<Queue> {
    let base = Settings::defaults(&DISCIPLINE)
        .with("buffer", "100000 packets")
        .with("queue_limit", "10000 packets")
        .with("quantum", "1000B");
    let settings = with.iter().fold(base, |s, (name, text)| s.with(name, text));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    };
    Bench::new(registry::build(&settings, context).unwrap_or_else(|e| panic!("{e}")))
}

/// 1 2 1 3 1 2 1; each order is the previous one, its own number, and the previous one again.
#[test]
fn the_sequence_is_the_spread_of_weights() {
    let mut srr = Srr::from_settings(&Settings::defaults(&MODEL));
    let terms = |srr: &mut Srr, k: usize, n: usize| {
        (srr.highest, srr.place) = (k, 1);
        (0..n).map(|_| k - srr.read_term()).collect::<Vec<usize>>()
    };
    assert_eq!(terms(&mut srr, 3, 9), [1, 2, 1, 3, 1, 2, 1, 1, 2]);
    for k in 2..=12 {
        let before = terms(&mut srr, k - 1, (1 << (k - 1)) - 1);
        let expected = [&before[..], &[k], &before[..]].concat();
        assert_eq!(terms(&mut srr, k, (1 << k) - 1), expected);
    }
}

/// Weights 1, 2 and 5, packets of one quantum: C B C (A and C) C B C in each round of eight, with C never more than
/// twice in a row.
#[test]
fn weights_of_one_two_and_five() {
    let mut b = bench(&[]);
    for (flow, weight) in [(1, 1.0), (2, 2.0), (5, 5.0)] {
        b.fill(flow, weight, 1000, 1000);
    }
    // The first to arrive is visited first; then the round continues from the place to which the later arrivals moved
    // it.
    assert_eq!(b.flows(6), [1, 5, 1, 5, 2, 5]);
    let rounds = b.flows(800);
    for round in rounds.chunks(8) {
        assert_eq!(round, [5, 2, 5, 5, 1, 5, 2, 5]);
    }
    assert!(rounds.chunk_by(|a, b| a == b).all(|run| run[0] != 5 || run.len() <= 2));
}

/// If the weight has one digit, all turns have the same order. If it has several, each walk of a column serves every
/// queue once, but the columns may have different orders: a queue that becomes active joins the column that is being
/// walked, before the current queue.
#[test]
fn equal_weights_are_round_robin() {
    for (weight, one_order) in [(1.0, true), (3.0, false), (8.0, true), (40.0, false)] {
        let mut b = bench(&[]);
        for flow in 0..5 {
            b.fill(flow, weight, 1000, 500);
        }
        // The rest of the walk that began with the first packet of all.
        b.flows(1);
        let sent_flows = b.flows(2000);
        let step = if one_order { 1 } else { 5 };
        for (i, walk) in sent_flows.windows(5).enumerate().step_by(step) {
            let mut walk_flows = walk.to_vec();
            walk_flows.sort_unstable();
            assert_eq!(walk_flows, [0, 1, 2, 3, 4], "weight {weight}, packet {i}");
        }
    }
}

/// Shares are proportional to the weights for any weights, and granularity defines the weight of one visit per round.
#[test]
fn shares_follow_the_integer_parts_of_weights() {
    for (granularity, weights) in [
        ("1", [1.0, 7.9, 12.0, 100.0]),
        ("1000", [1e3, 7.9e3, 12e3, 100e3]),
        ("0.5", [0.5, 3.5, 6.4, 50.0]),
    ] {
        let mut b = bench(&[("granularity", granularity)]);
        for (flow, weight) in weights.into_iter().enumerate() {
            b.fill(flow as u32, weight, 1000, 9_000);
        }
        b.flows(1000);
        let sent = b.flows(6000);
        let share = |flow: u32| sent.iter().filter(|f| **f == flow).count();
        assert_eq!([0, 1, 2, 3].map(share), [50, 350, 600, 5000], "{granularity}");
    }
}

/// A packet larger than the quantum is sent after at most ceil(size / quantum) visits of its queue.
#[test]
fn a_large_packet_waits_for_its_visits() {
    for (bytes, visits) in [(1000, 1), (1001, 2), (2500, 3), (3000, 3)] {
        let mut b = bench(&[]);
        b.fill(1, 1.0, 1000, 500);
        b.fill(2, 1.0, bytes, 100);
        let sent = b.flows(100);
        let gaps: Vec<usize> = sent.split(|f| *f == 2).map(<[u32]>::len).collect();
        // Between two of its packets, the other flow, with packets of one quantum, sends one for each visit.
        assert!(gaps.iter().all(|gap| *gap <= visits), "{bytes}: {gaps:?}");
        assert!(gaps.contains(&visits), "{bytes}: {gaps:?}");
    }
}

/// The round keeps its place when the highest weight comes and goes: times 2^d, or divided and rounded up.
#[test]
fn the_place_follows_the_order_of_the_sequence() {
    let mut srr = Srr::from_settings(&Settings::defaults(&MODEL));
    let mut place = |from: (usize, u64), column: usize| {
        (srr.highest, srr.place) = from;
        srr.columns = vec![QueueList::default(); COLUMNS];
        srr.columns[column].push(0);
        srr.reorder();
        (srr.highest, srr.place)
    };
    assert_eq!(place((1, 1), 2), (3, 4));
    assert_eq!(place((3, 5), 4), (5, 20));
    assert_eq!(place((5, 21), 2), (3, 6));
    assert_eq!(place((5, 20), 2), (3, 5));
    assert_eq!(place((5, 31), 2), (3, 1), "8 is beyond the seven terms");
    assert_eq!(place((3, 7), 2), (3, 7));
}

/// For any arrivals and departures, no queue is forgotten and the shares of those that stay are right.
#[test]
fn queues_come_and_go() {
    let mut b = bench(&[]);
    let mut draws = Stream::new(5, "arrivals");
    b.fill(0, 4.0, 1000, 9_000);
    b.fill(1, 2.0, 1000, 9_000);
    let mut sent_packets = [0.0_f64; 2];
    for _ in 0..4_000 {
        let flow = 2 + draws.below(30) as u32;
        let packets = draws.below(4);
        b.fill(flow, f64::from(1 << (flow % 9)), 200 + 100 * (flow % 20), packets);
        for _ in 0..3 {
            let p = b.take();
            let flow = p.map_or(9, |p| p.flow) as usize;
            if let Some(n) = sent_packets.get_mut(flow) {
                *n += 1.0;
            }
        }
    }
    assert!(
        sent_packets[1] > 500.0 && (sent_packets[0] / sent_packets[1] - 2.0).abs() < 0.1,
        "{sent_packets:?}"
    );
    let left = b.backlog().packets as usize;
    assert_eq!(b.drain().len(), left);
}

/// A flow without the least weight counts as the least.
#[test]
fn weights_are_held_within_their_places() {
    let mut b = bench(&[("granularity", "10")]);
    b.fill(1, 0.001, 1000, 100);
    b.fill(2, 10.0, 1000, 100);
    let sent = b.flows(100);
    assert_eq!(sent.iter().filter(|f| **f == 1).count(), 50);
    let mut b = bench(&[]);
    b.fill(1, 1e9, 1000, 100);
    assert_eq!(b.flows(100).len(), 100);
}

/// A queue that leaves during a walk passes its visit to the next of its column, and the walk continues.
#[test]
fn a_walk_goes_on_when_its_queue_leaves() {
    let mut b = bench(&[]);
    b.fill(1, 2.0, 1000, 10);
    b.fill(2, 2.0, 1000, 1);
    b.fill(3, 1.0, 1000, 10);
    // The first visit ends the walk; in the next walk the second queue is before the first, and sends its only
    // packet.
    assert_eq!(b.flows(4), [1, 2, 1, 3]);
}
