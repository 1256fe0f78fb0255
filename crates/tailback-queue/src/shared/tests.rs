//! Tests: thresholds against their closed form, and counts of the memory against the queues.

use super::*;
use crate::contract::build_context::BuildContext;
use crate::contract::testing::{Bench, Queue, TestPacket};
use crate::registry::{self, Registry};
use tailback_base::{BitRate, Duration, Stream};

/// Ports of these disciplines in one memory.
fn ports(size: Size, alpha: &[f64], queues: &[&[(&str, &str)]]) -> (Rc<SharedMemory>, Vec<Bench<Queue>>) {
    let memory = Rc::new(SharedMemory::new(size));
    let benches = (0..).zip(queues).map(|(i, values)| {
        let model = registry::find(values[0].1).unwrap();
        let settings = values[1..]
            .iter()
            .fold(Settings::defaults(model), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(i, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let share = MemoryShare::new(&memory, alpha);
        let built = Registry::standard().build_sharing(&settings, context, &|_, _| None, &share);
        Bench::new(built.unwrap())
    });
    let benches = benches.collect();
    (memory, benches)
}

const PLAIN: &[(&str, &str)] = &[("kind", "droptail"), ("buffer", "unlimited")];

fn fill(bench: &mut Bench<Queue>, flow: u32, packets: u64) {
    for id in 0..packets {
        bench.arrive(TestPacket::new(id, flow, 1000));
    }
}

/// Choudhury and Hahne 1998, equation 3: n full queues hold alpha B / (1 + n alpha) each.
#[test]
fn full_queues_hold_what_the_closed_form_says() {
    for (alpha, n, each) in [
        (1.0, 1, 500),
        (0.25, 1, 200),
        (4.0, 1, 800),
        (1.0, 3, 250),
        (0.5, 4, 167),
    ] {
        let (memory, mut all) = ports(Size::Packets(1000), &[alpha], &vec![PLAIN; n]);
        for id in 0..2000 {
            for bench in &mut all {
                bench.arrive(TestPacket::new(id, 0, 1000));
            }
        }
        for bench in &all {
            // A queue below its threshold takes one packet more.
            let held = bench.backlog().packets;
            assert!(held.abs_diff(each) <= 1, "alpha {alpha}, {n} ports: {held}");
        }
        assert_eq!(
            memory.held().packets,
            all.iter().map(|b| b.backlog().packets).sum::<u64>()
        );
    }
}

/// The second queue uses what the first leaves free, and also what the first gives back.
#[test]
fn the_threshold_moves_with_what_others_hold() {
    let (memory, mut all) = ports(Size::Bytes(1_000_000), &[1.0], &[PLAIN, PLAIN]);
    fill(&mut all[0], 0, 900);
    assert_eq!(all[0].backlog().bytes, 500_000);
    fill(&mut all[1], 0, 900);
    assert_eq!(all[1].backlog().bytes, 250_000, "half of what the first left");
    // The first queue is above its threshold of 250 kB now, and takes nothing before it has sunk below it.
    fill(&mut all[0], 0, 1);
    assert_eq!(all[0].backlog().bytes, 500_000);
    while all[0].backlog().packets > 300 {
        all[0].serve();
    }
    fill(&mut all[0], 0, 900);
    // q = B - q - 250 kB
    assert_eq!(all[0].backlog().bytes, 375_000);
    all[0].drain();
    all[1].drain();
    assert_eq!(memory.held(), Backlog::default());
}

/// Packets that come too late are refused, and the memory is never overfilled, however large alpha is.
#[test]
fn the_memory_is_never_overfilled() {
    let (memory, mut all) = ports(Size::Bytes(10_500), &[1e6], &[PLAIN, PLAIN]);
    fill(&mut all[0], 0, 8);
    fill(&mut all[1], 0, 8);
    assert_eq!(memory.held().bytes, 10_000);
    assert_eq!(all[1].log.drops(DropReason::Overflow), [2, 3, 4, 5, 6, 7]);
    assert!(all[1].log.dropped.iter().all(|d| d.1 == Place::Arriving));
}

/// Each queue of a port has its own threshold: queue 0 with alpha 1, all later ones with 0.25.
#[test]
fn queues_of_a_port_have_thresholds_of_their_own() {
    let drr: &[_] = &[("kind", "drr"), ("buffer", "unlimited"), ("mapper", "per_flow")];
    let (_, mut all) = ports(Size::Packets(1000), &[1.0, 0.25], &[drr]);
    for flow in 0..3 {
        fill(&mut all[0], flow, 900);
    }
    let packets_of = |flow| all[0].probe("queue_packets", flow);
    // 1000 / 2; a quarter of the rest, 500 x 0.25 / 1.25; and of what is left then, 400 x 0.25 / 1.25.
    assert_eq!([packets_of(0), packets_of(1), packets_of(2)], [500.0, 100.0, 80.0]);
}

/// The AQM behind the threshold sets the marks: the AQM of a port, or that of each of its queues.
#[test]
fn ecn_marks_behind_the_threshold() {
    let step = [
        ("min_threshold", "5 packets"),
        ("max_threshold", "5 packets"),
        ("max_probability", "1"),
        ("weight", "1"),
        ("gentle", "false"),
        ("mark_cap", "1"),
        ("mark_above_max", "true"),
        ("wait", "false"),
        ("ecn", "true"),
    ];
    let red = [&[("kind", "red"), ("buffer", "unlimited")][..], &step].concat();
    let (_, mut all) = ports(Size::Packets(20), &[1.0], &[&red]);
    for id in 0..12 {
        all[0].arrive(TestPacket::new(id, 0, 1000).capable());
    }
    assert_eq!(all[0].log.marked.len(), 5, "from the sixth on");
    assert_eq!(all[0].log.drops(DropReason::Overflow), [10, 11], "half of the memory");
}

/// Whatever a discipline drops, holds or evicts, the memory knows what is stored.
#[test]
fn the_books_of_the_memory_are_those_of_the_queues() {
    let kinds = registry::models().filter(|m| Settings::defaults(m).missing().is_none());
    let kinds: Vec<&str> = kinds.map(|m| m.name).collect();
    let values: Vec<[(&str, &str); 1]> = kinds.iter().map(|kind| [("kind", *kind)]).collect();
    let queues: Vec<&[(&str, &str)]> = values.iter().map(|v| &v[..]).collect();
    let (memory, mut all) = ports(Size::Packets(600), &[1.0], &queues);
    let mut draw = Stream::new(1, "input");
    let mut most_packets = 0;
    for id in 0..20_000 {
        let index = draw.below(all.len() as u64) as usize;
        let bench = &mut all[index];
        bench.pass(Duration::from_millis(draw.below(3)));
        for _ in 0..draw.below(6) {
            bench.arrive(TestPacket::new(id, draw.below(9) as u32, 100 + draw.below(1400) as u32).capable());
        }
        if draw.below(2) == 0 {
            bench.serve();
        }
        let stored = all.iter().map(|b| b.backlog().packets).sum::<u64>();
        assert_eq!(memory.held().packets, stored, "{}", kinds[index]);
        most_packets = memory.held().packets.max(most_packets);
    }
    assert!(most_packets > 500, "the memory was never short: {most_packets}");
    assert_eq!(memory.held().bytes, all.iter().map(|b| b.backlog().bytes).sum::<u64>());
}
