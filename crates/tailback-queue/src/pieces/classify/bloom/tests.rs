//! The Bloom mapper: learning, moving, and that no move lets packets overtake each other.

use super::table::BalanceTie;
use super::*;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::drop::longest::Longest;
use crate::pieces::index::length_index::Tie;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::pieces::store::Unit;
use std::collections::HashMap;
use tailback_base::Size;

type Spread = Bench<Port<TestPacket, Bloom, Drr, Longest>>;

fn config(queues: u32, groups: u32, rules: MoveRules) -> Config {
    Config {
        key: KeyField::Destination,
        queues,
        shape: FilterShape::for_flows(groups, 5),
        rules,
        live: false,
        period: Duration::from_millis(200),
        settle: Duration::from_millis(50),
    }
}

fn db() -> MoveRules {
    MoveRules {
        at_dequeue: true,
        ..MoveRules::default()
    }
}

fn bench(buffer: u64, config: Config) -> Spread {
    let stream = Stream::new(1, "test");
    let bloom = Bloom::new(config, &mut stream.clone());
    let policy = Longest::new(Unit::Packets, Tie::Fifo, stream);
    Bench::new(Port::new(Size::Packets(buffer), bloom, Drr::new(1500), policy))
}

fn packet(flow: u32) -> TestPacket {
    TestPacket::new(0, flow, 1000)
}

fn table(b: &Spread) -> &Table {
    b.queue.classifier().table()
}

fn counted(b: &Spread) -> Vec<u64> {
    (0..table(b).queues()).map(|q| table(b).flows(q)).collect()
}

fn ratio(b: &Spread) -> f64 {
    Classifier::<TestPacket>::read(b.queue.classifier(), 0, 0)
}

/// The first flow from `from` on that is in the same group as this one.
fn companion(b: &Spread, flow: u32, from: u32) -> u32 {
    let group = |f: u32| b.queue.classifier().group(&packet(f)).0;
    (from..).find(|f| *f != flow && group(*f) == group(flow)).unwrap()
}

#[test]
fn what_is_announced_is_distributed_before_the_first_packet() {
    let mut b = bench(100, config(20, 200, MoveRules::default()));
    for flow in 0..1000 {
        b.queue.flow_joined(&packet(flow), Time::ZERO);
    }
    assert!(ratio(&b).is_nan());
    b.arrive(packet(0));
    let counts = counted(&b);
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= 2, "no group of five is ever in the way: {counts:?}");
    // Some flows were missed, so the true ratio is a little above 51/49.
    assert!((1.0..1.15).contains(&ratio(&b)), "{}", ratio(&b));
    let missed = 1000 - counts.iter().sum::<u64>();
    assert!((1..40).contains(&missed), "{missed} of 1000 flows missed");
}

#[test]
fn flows_are_counted_by_their_packets_while_learning() {
    let mut b = bench(100, config(2, 20, MoveRules::default()));
    for flow in 0..10 {
        b.arrive(packet(flow));
    }
    assert_eq!(
        counted(&b),
        [0, 0],
        "nothing was announced, nothing is counted before the first clearing"
    );
    b.pass(Duration::from_millis(200));
    for flow in [0, 1, 2, 3, 3, 3] {
        b.arrive(packet(flow));
    }
    b.pass(Duration::from_millis(49));
    assert_eq!(counted(&b), [0, 0], "taken over when the counts have settled");
    b.pass(Duration::from_millis(1));
    assert_eq!(counted(&b).iter().sum::<u64>(), 4);
    for flow in 4..10 {
        b.arrive(packet(flow));
    }
    assert_eq!(counted(&b).iter().sum::<u64>(), 4, "frozen until the next learning");
    b.pass(Duration::from_millis(200));
    assert_eq!(
        counted(&b).iter().sum::<u64>(),
        0,
        "no packet came between 0.4 s and 0.45 s"
    );
}

#[test]
fn live_counts_go_on_between_learning_phases() {
    let live = Config {
        live: true,
        ..config(2, 20, MoveRules::default())
    };
    let mut b = bench(100, live);
    b.pass(Duration::from_millis(250));
    for flow in [0, 1, 2, 3, 3, 3] {
        b.arrive(packet(flow));
    }
    assert_eq!((counted(&b).iter().sum::<u64>(), table(&b).threshold()), (4, 2.0));
}

#[test]
fn db_moves_a_group_with_its_last_packet_and_never_while_learning() {
    let mut b = bench(100, config(2, 4, db()));
    // The flows of all are learned from 0.2 s to 0.25 s.
    b.pass(Duration::from_millis(200));
    let flows: Vec<u32> = (0..12).collect();
    flows.iter().for_each(|f| b.arrive(packet(*f)));
    b.drain();
    assert_eq!(b.queue.classifier().moves(), 0, "not while learning");
    b.pass(Duration::from_millis(50));
    let fullest = (0..2).max_by_key(|q| counted(&b)[*q as usize]).unwrap();
    let threshold = table(&b).threshold();
    assert!(
        counted(&b)[fullest as usize] as f64 > threshold,
        "this case needs an uneven start"
    );
    let flow = *flows
        .iter()
        .find(|f| {
            let group = b.queue.classifier().group(&packet(**f)).0;
            table(&b).queue(group) == fullest
        })
        .unwrap();
    b.arrive(packet(flow));
    b.arrive(packet(flow));
    let group = b.queue.classifier().group(&packet(flow)).0;
    b.serve();
    assert_eq!(table(&b).queue(group), fullest, "another packet of the group is stored");
    b.serve();
    assert_eq!((table(&b).queue(group), b.queue.classifier().moves()), (1 - fullest, 1));
}

#[test]
fn the_newcomer_keeps_its_group_where_it_is_when_its_last_packet_is_evicted_for_it() {
    let mut b = bench(1, config(2, 4, db()));
    b.pass(Duration::from_millis(200));
    (0..12).for_each(|f| b.arrive(packet(f)));
    b.drain();
    b.pass(Duration::from_millis(50));
    let fullest = (0..2).max_by_key(|q| counted(&b)[*q as usize]).unwrap();
    let group = |b: &Spread, f: u32| b.queue.classifier().group(&packet(f)).0;
    let flow = (0..12).find(|f| table(&b).queue(group(&b, *f)) == fullest).unwrap();
    let other = companion(&b, flow, 0);
    b.arrive(packet(flow));
    b.log.dropped.clear();
    b.arrive(packet(other));
    assert_eq!(b.log.dropped.len(), 1, "the first made room for the second");
    assert_eq!(
        table(&b).queue(group(&b, flow)),
        fullest,
        "not moved from under the newcomer"
    );
    assert_eq!(b.queue.store().packets(fullest), 1);
    b.serve();
    assert_eq!(table(&b).queue(group(&b, flow)), 1 - fullest, "moved when it is gone");
}

#[test]
fn a_refused_packet_moves_nothing() {
    let mut b = bench(100, config(2, 4, db()));
    b.pass(Duration::from_millis(200));
    (0..12).for_each(|f| b.arrive(packet(f)));
    b.drain();
    b.pass(Duration::from_millis(50));
    let mut bloom = Bloom::new(config(2, 4, db()), &mut Stream::new(1, "test"));
    std::mem::swap(&mut bloom, b.queue.classifier_mut());
    for f in 0..12 {
        let q = bloom.queue_of(&packet(f), b.now);
        bloom.refused(&packet(f), q, b.now);
    }
    assert_eq!(bloom.moves(), 0);
    let moved = (0..12).any(|f| {
        let q = bloom.queue_of(&packet(f), b.now);
        bloom.left(&packet(f), q, b.now);
        bloom.moves() > 0
    });
    assert!(moved, "served, they would");
}

#[test]
fn flows_that_leave_and_join_are_the_truth_and_nothing_else() {
    let mut b = bench(100, config(2, 20, MoveRules::default()));
    for flow in 0..10 {
        b.queue.flow_joined(&packet(flow), Time::ZERO);
    }
    b.arrive(packet(0));
    let counted_before = counted(&b);
    for flow in 0..10 {
        let now = b.now;
        b.queue.flow_left(&packet(flow), now);
    }
    assert!(ratio(&b).is_nan(), "nobody is left: 0 / 0");
    for flow in 100..104 {
        let now = b.now;
        b.queue.flow_joined(&packet(flow), now);
    }
    assert!(ratio(&b) >= 1.0);
    assert_eq!(counted(&b), counted_before);
}

/// Random traffic over few groups and queues with very short timers. Checked at every step: all stored packets of a
/// group are in the group's queue; packets of a flow leave in order; the bookkeeping ends at zero.
fn no_overtaking(rules: MoveRules, live: bool, seed: u64) -> u64 {
    let mut rng = Stream::new(seed, "overtaking");
    let hectic = Config {
        live,
        period: Duration::from_millis(9),
        settle: Duration::from_millis(2),
        ..config(3, 7, rules)
    };
    let mut b = bench(8, hectic);
    let mut last_ids: HashMap<u32, u64> = HashMap::new();
    for id in 1..6000 {
        match rng.below(8) {
            0 => b.pass(Duration(rng.below(3_000_000))),
            1..=3 => {
                if let Some(p) = b.take() {
                    let before = last_ids.insert(p.flow, p.id);
                    assert!(before.is_none_or(|x| x < p.id), "{p:?} after {before:?}");
                }
            }
            _ => {
                // Flows from a moving range, so that counts change.
                let flow = (id / 200) as u32 + rng.below(15) as u32;
                b.arrive(TestPacket::new(id, flow, 500));
            }
        }
        let (store, mapper) = (b.queue.store(), b.queue.classifier());
        for k in 0..store.backlog().packets as u32 {
            let slot = store.nth(k).unwrap();
            let group = mapper.group(store.packet(slot).unwrap()).0;
            assert_eq!(store.queue_of(slot), Some(mapper.table().queue(group)));
        }
    }
    b.drain();
    assert!(b.queue.classifier().stored.iter().all(|n| *n == 0));
    b.queue.classifier().moves()
}

#[test]
fn moves_never_reorder_a_flow() {
    for periodic in [false, true] {
        for at_dequeue in [false, true] {
            for (exact, no_worse) in [(false, false), (true, false), (true, true)] {
                let rules = MoveRules {
                    periodic,
                    at_dequeue,
                    exact,
                    no_worse,
                    repick: exact,
                    largest_first: no_worse,
                    counts: match (exact, no_worse) {
                        (false, _) => PbCounts::Fresh,
                        (true, false) => PbCounts::Previous,
                        (true, true) => PbCounts::Mixed,
                    },
                    tie: match exact {
                        true => BalanceTie::First,
                        false => BalanceTie::FewestGroups,
                    },
                };
                let moves: u64 = (0..4).map(|seed| no_overtaking(rules, no_worse, seed)).sum();
                assert_eq!(moves > 100, periodic || at_dequeue, "{rules:?}: {moves} moves");
            }
        }
    }
}
