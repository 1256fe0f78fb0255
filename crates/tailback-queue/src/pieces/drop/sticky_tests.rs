//! QSDRR: consequences of the rule, and a replay of the overflows that the report describes.

use super::*;
use crate::contract::discipline::ProbeId;
use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::ports::qsdrr::MODEL;
use std::collections::BTreeSet;
use tailback_base::Size;

type Stickies = Bench<Port<TestPacket, PerFlow, Drr, Sticky>>;

fn bench(buffer: u64) -> Stickies {
    let policy = Sticky::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
    Bench::new(Port::new(Size::Packets(buffer), PerFlow::new(), Drr::new(1000), policy).declaring(MODEL.probes))
}

/// One packet of each of these flows.
fn arrive(b: &mut Stickies, flows: &[u32]) {
    for flow in flows {
        b.arrive(TestPacket::new(0, *flow, 1000));
    }
}

fn lengths(b: &Stickies) -> Vec<u32> {
    (0..b.queue.store().queues())
        .map(|q| b.queue.store().packets(q))
        .collect()
}

fn victims(b: &Stickies) -> Vec<f64> {
    b.log.notes.iter().map(|n| n.2).collect()
}

#[test]
fn the_victim_is_chosen_when_room_is_needed_and_judged_before_the_eviction() {
    let mut b = bench(7);
    arrive(&mut b, &[0, 0, 0, 1, 1, 2, 2]);
    assert_eq!(b.queue.policy().sticky(), None);
    assert!(b.probe("victim", 0).is_nan());
    arrive(&mut b, &[3]);
    assert_eq!((lengths(&b), victims(&b)), (vec![2, 2, 2, 1], vec![0.0]));
    arrive(&mut b, &[3]);
    assert_eq!(
        (lengths(&b), victims(&b)),
        (vec![1, 2, 2, 2], vec![0.0]),
        "not the longest any more, but not the shortest"
    );
    assert_eq!(
        b.probe("victim", 0),
        0.0,
        "it is the shortest now; nobody asks before room is needed"
    );
    arrive(&mut b, &[3]);
    assert_eq!(
        (lengths(&b), victims(&b)),
        (vec![1, 1, 2, 3], vec![0.0, 1.0]),
        "judged first, so 0 loses no more"
    );
    let id = MODEL.probes.iter().position(|p| p.name == "victim").unwrap();
    assert_eq!(b.log.notes[1].0, ProbeId(id as u16));
    assert_eq!((b.log.notes[1].1, b.probe("victim", 0)), (0, 1.0));
}

#[test]
fn a_tie_for_the_shortest_keeps_the_victim_and_being_alone_below_replaces_it() {
    let mut b = bench(10);
    arrive(&mut b, &[0, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
    arrive(&mut b, &[1, 2]);
    assert_eq!(
        (lengths(&b), victims(&b)),
        (vec![2, 4, 4], vec![0.0]),
        "4, then 3 tied with two others: kept"
    );
    arrive(&mut b, &[1]);
    assert_eq!(
        (lengths(&b), victims(&b)),
        (vec![2, 4, 4], vec![0.0, 1.0]),
        "2 is strictly the shortest: 1 has been 4 longest"
    );
}

#[test]
fn a_victim_emptied_by_service_is_replaced_at_the_next_overflow() {
    let mut b = bench(4);
    arrive(&mut b, &[0, 0, 1, 1, 1]);
    assert_eq!((lengths(&b), victims(&b)), (vec![1, 3], vec![0.0]));
    assert_eq!(b.take().unwrap().flow, 0);
    assert_eq!(b.queue.policy().sticky(), Some(0), "not before room is needed");
    arrive(&mut b, &[2, 2]);
    assert_eq!((lengths(&b), victims(&b)), (vec![0, 2, 2], vec![0.0, 1.0]));
}

#[test]
fn the_only_queue_is_chosen_again_without_a_change() {
    let mut b = bench(3);
    arrive(&mut b, &[0, 0, 0, 0, 0, 0]);
    assert_eq!(
        (lengths(&b), victims(&b)),
        (vec![3], vec![0.0]),
        "one change is told, not three"
    );
}

#[test]
fn the_victim_outlives_a_time_without_overflow() {
    let mut b = bench(6);
    arrive(&mut b, &[0, 0, 0, 1, 1, 1, 1]);
    assert_eq!((lengths(&b), victims(&b)), (vec![2, 4], vec![0.0]));
    arrive(&mut b, &[0]);
    assert_eq!((lengths(&b), victims(&b)), (vec![3, 3], vec![0.0, 1.0]));
    b.serve();
    b.serve();
    b.pass(tailback_base::Duration::from_seconds(1000.0));
    // When the buffer fills again, queue 0 is the longer one, and queue 1 is not strictly the shortest: it stays the
    // victim.
    arrive(&mut b, &[2, 0]);
    assert_eq!(lengths(&b), [3, 2, 1]);
    arrive(&mut b, &[2]);
    assert_eq!((lengths(&b), victims(&b)), (vec![3, 1, 2], vec![0.0, 1.0]));
}

/// Section 3.2: n equal queues of L packets, n packets to drop, nothing arrives or is served: how many queues lose
/// packets?
const REPLAY: [(u32, u32, usize); 8] = [
    (100, 40, 14),
    (100, 10, 15),
    (100, 5, 22),
    (100, 2, 51),
    (100, 1, 100),
    (10, 5, 4),
    (10, 4, 4),
    (10, 3, 5),
];

/// The number of flows that lose packets when n equal queues of L packets must give up n packets.
fn replay<D: DropPolicy<TestPacket>>(n: u32, length: u32, policy: D) -> usize {
    let cap = u64::from(n * length);
    let mut b = Bench::new(Port::new(Size::Packets(cap), PerFlow::new(), Drr::new(1500), policy));
    for i in 0..n * length {
        b.arrive(TestPacket::new(u64::from(i), i % n, 1500));
    }
    let line = b.line();
    for _ in 0..n {
        b.by_hand.queue.evict(0, None, &line, &mut b.log).expect("a victim");
    }
    assert_eq!(b.backlog().packets, cap - u64::from(n));
    b.log.dropped.iter().map(|d| d.0.flow).collect::<BTreeSet<_>>().len()
}

#[test]
fn the_replay_gives_the_published_number_of_victims() {
    for tie in [Tie::Fifo, Tie::Ring, Tie::Lowest, Tie::Random] {
        for (n, length, victims) in REPLAY {
            let policy = Sticky::new(Unit::Packets, tie, Stream::new(1, "test"));
            assert_eq!(replay(n, length, policy), victims, "n = {n}, L = {length}, {tie:?}");
        }
    }
}

/// The same in a buffer of bytes, through a normal arrival: one newcomer as large as n packets.
#[test]
fn the_replay_holds_in_bytes_for_one_large_newcomer() {
    for (n, length, victims) in REPLAY {
        let policy = Sticky::new(Unit::Bytes, Tie::Fifo, Stream::new(1, "test"));
        let cap = u64::from(n * length * 100);
        let mut b = Bench::new(Port::new(Size::Bytes(cap), PerFlow::new(), Drr::new(1500), policy));
        for i in 0..n * length {
            b.arrive(TestPacket::new(u64::from(i), i % n, 100));
        }
        b.arrive(TestPacket::new(0, n, n * 100));
        assert_eq!(b.log.dropped.len(), n as usize);
        let lost: BTreeSet<u32> = b.log.dropped.iter().map(|d| d.0.flow).collect();
        assert_eq!(lost.len(), victims, "n = {n}, L = {length}");
    }
}

/// The reading that was not chosen (`docs/decisions/shared-buffer.md`): a victim that ties for the shortest is
/// replaced.
struct Loose(Sticky);

impl DropPolicy<TestPacket> for Loose {
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<TestPacket>) -> Option<Eviction> {
        let length = |q| scene.store.packets(q);
        let other_queues = (0..scene.store.queues()).filter(|q| Some(*q) != self.0.sticky && length(*q) > 0);
        if self
            .0
            .sticky
            .is_some_and(|q| other_queues.map(length).min().is_some_and(|l| length(q) <= l))
        {
            self.0.sticky = None;
        }
        self.0.evict(newcomer, scene)
    }
    fn after_append(&mut self, q: QueueId, p: &TestPacket, scene: &mut Scene<TestPacket>) {
        self.0.after_append(q, p, scene);
    }
    fn after_evict(&mut self, q: QueueId, p: &TestPacket, scene: &mut Scene<TestPacket>) {
        self.0.after_evict(q, p, scene);
    }
}

#[test]
fn the_replay_tells_the_strict_reading_from_the_loose_one() {
    for (n, length, victims) in REPLAY {
        let loose = replay(
            n,
            length,
            Loose(Sticky::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"))),
        );
        assert!(loose >= victims, "n = {n}, L = {length}: {loose}");
        if length > 1 {
            assert_eq!(loose, n as usize, "n = {n}, L = {length}: each victim gives one packet");
        }
    }
}
