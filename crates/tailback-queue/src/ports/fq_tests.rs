//! Dialogues and closed loops; `tests/fair_queueing.rs` holds fair queueing against an exact reference.

use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, MarkReason, OnWire};
use crate::contract::testing::{Bench, ClosedLoop, Queue, TestPacket};
use crate::registry;
use tailback_base::{BitRate, Duration, Ecn, FlowId, Settings, Stream, Time};

fn build(model: &str, set: &[(&str, &str)]) -> Queue {
    let settings = Settings::defaults(registry::find(model).unwrap());
    let settings = set.iter().fold(settings, |s, (name, value)| s.with(name, value));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(80_000),
        delay: Duration::ZERO,
    };
    registry::build(&settings, context).unwrap()
}

/// A byte a microsecond.
fn bench(model: &str, set: &[(&str, &str)]) -> Bench<Queue> {
    let mut b = Bench::new(build(model, set));
    b.rate = BitRate(8_000_000);
    b
}

fn wire(flow: u32, bytes: u32) -> OnWire {
    OnWire {
        until: Time(1_000_000),
        flow: FlowId(flow),
        pair: u64::from(flow),
        bytes,
    }
}

#[test]
fn a_short_packet_overtakes_the_backlog_of_others() {
    let mut b = bench("fq", &[]);
    for id in 0..5 {
        b.arrive(TestPacket::new(id, 0, 1000));
    }
    b.arrive(TestPacket::new(9, 1, 40));
    assert_eq!(b.drain(), [9, 0, 1, 2, 3, 4]);
}

#[test]
fn equal_tags_leave_in_order_of_arrival() {
    let mut b = bench("fq", &[]);
    for (id, flow) in [(0, 2), (1, 0), (2, 1), (3, 1), (4, 0), (5, 2)] {
        b.arrive(TestPacket::new(id, flow, 500));
    }
    assert_eq!(b.drain(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn who_was_idle_saved_nothing_up() {
    let mut b = bench("fq", &[]);
    for id in 0..4 {
        b.arrive(TestPacket::new(id, 0, 1000));
    }
    // 3000 bytes later only the last of them is left in the imagined system as well: the newcomer shares from here on.
    b.pass(Duration::from_micros(3000));
    for id in 10..13 {
        b.arrive(TestPacket::new(id, 1, 1000));
    }
    assert_eq!(b.drain(), [0, 1, 2, 3, 10, 11, 12]);
}

#[test]
fn promptness_lets_who_was_idle_go_first() {
    for (delta, order) in [("0B", [0, 1, 9]), ("400B", [0, 9, 1]), ("1000B", [9, 0, 1])] {
        let mut b = bench("fq", &[("delta", delta)]);
        b.arrive(TestPacket::new(0, 0, 1000));
        b.arrive(TestPacket::new(1, 0, 200));
        // V is 600; the packet's start tag as well, whatever delta; its key 1500 - delta against 1000 and 1200.
        b.pass(Duration::from_micros(600));
        b.arrive(TestPacket::new(9, 1, 900));
        assert_eq!(b.drain(), order, "delta {delta}");
    }
}

#[test]
fn weights_divide_the_line() {
    let mut b = bench("fq", &[]);
    for id in 0..60 {
        let flow = (id % 2) as u32;
        b.arrive(TestPacket {
            weight: [3.0, 1.0][flow as usize],
            ..TestPacket::new(id, flow, 1000)
        });
    }
    let heavy = (0..40).filter(|_| b.serve().unwrap().is_multiple_of(2)).count();
    assert_eq!(heavy, 30);
}

#[test]
fn whoever_holds_most_loses_what_came_last() {
    let mut b = bench("fq", &[("buffer", "4 packets")]);
    for (id, flow) in [(0, 0), (1, 1), (2, 1), (3, 0)] {
        b.arrive(TestPacket::new(id, flow, 1000));
    }
    b.arrive(TestPacket::new(4, 2, 1000));
    assert_eq!(
        b.log.drops(DropReason::Overflow),
        [2],
        "flows 0 and 1 hold two, flow 1 longer"
    );
    b.arrive(TestPacket::new(5, 0, 1000));
    assert_eq!(
        b.log.drops(DropReason::Overflow),
        [2, 5],
        "the newcomer made its own the longest"
    );
    b.arrive(TestPacket::new(6, 1, 1000));
    assert_eq!(
        b.log.drops(DropReason::Overflow),
        [2, 5, 6],
        "and tied it is the one as well"
    );
    assert_eq!(b.drain(), [0, 1, 4, 3]);
}

#[test]
fn of_others_that_hold_most_loses_who_has_longest_or_the_lowest_number() {
    for (tie, lost) in [("fifo", 2), ("lowest", 3)] {
        let mut b = bench("fq", &[("buffer", "4 packets"), ("tie", tie)]);
        // Flow 1 holds two before flow 0 does.
        for (id, flow) in [(0, 0), (1, 1), (2, 1), (3, 0), (4, 2)] {
            b.arrive(TestPacket::new(id, flow, 1000));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [lost], "{tie}");
    }
}

#[test]
fn a_dropped_packet_is_charged_only_when_asked() {
    // Flow 0 is refused five packets; then both send one more.
    for (charge, order) in [("false", [0, 1, 10, 11]), ("true", [0, 1, 11, 10])] {
        let mut b = bench("fq", &[("buffer", "2 packets"), ("charge_dropped", charge)]);
        for id in 0..7 {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [2, 3, 4, 5, 6]);
        let mut packets = vec![b.serve().unwrap(), b.serve().unwrap()];
        b.arrive(TestPacket::new(10, 0, 1000));
        b.arrive(TestPacket::new(11, 1, 4000));
        packets.extend(b.drain());
        assert_eq!(packets, order, "charge_dropped = {charge}");
    }
}

#[test]
fn the_packet_on_the_line_takes_a_place_only_when_asked() {
    for (count, held_packets) in [("false", 2), ("true", 1)] {
        let mut b = bench("fq", &[("buffer", "2 packets"), ("count_in_service", count)]);
        b.busy = Some(wire(0, 1000));
        for id in 0..4 {
            b.arrive(TestPacket::new(id, 1, 1000));
        }
        assert_eq!(b.backlog().packets, held_packets);
    }
}

#[test]
fn the_bit_goes_to_who_holds_more_than_a_third_of_its_share() {
    let mut b = bench("fqbit", &[("buffer", "24 packets")]);
    let capable_packet = |id, flow| TestPacket::new(id, flow, 1000).capable();
    b.arrive(capable_packet(0, 0));
    b.arrive(capable_packet(100, 1));
    assert_eq!(b.serve(), Some(0));
    b.busy = Some(wire(0, 1000));
    // Two conversations: more than 24 / 3 / 2 = 4 packets, the one on the line included.
    for id in 1..6 {
        b.arrive(capable_packet(id, 0));
    }
    assert_eq!(b.log.marks(MarkReason::Share), [4, 5]);
    // No packet of flow 0 is on the line, so one packet more fits its share. ACKs and packets that are not ECN-capable
    // get no bit.
    assert_eq!(b.serve(), Some(100));
    b.busy = Some(wire(1, 1000));
    b.arrive(TestPacket::new(6, 0, 1000));
    b.arrive(TestPacket {
        data: false,
        ..capable_packet(7, 0)
    });
    b.arrive(capable_packet(8, 0));
    assert_eq!(b.log.marks(MarkReason::Share), [4, 5, 8]);
    assert!(b.log.marked.iter().all(|(p, _)| p.ecn == Ecn::Ce));
}

#[test]
fn an_unlimited_port_never_sets_the_bit() {
    let mut b = bench("fqbit", &[("buffer", "unlimited"), ("theta", "0")]);
    for id in 0..100 {
        b.arrive(TestPacket::new(id, 0, 1000).capable());
    }
    assert!(b.log.marked.is_empty());
}

/// Sizes and rate must be in the same unit: were the clock eight times too fast, fair queueing would be nearly a FIFO.
#[test]
fn telnet_waits_for_half_a_packet_of_two_transfers() {
    let delay = |queue: Queue| {
        let mut closed_loop = ClosedLoop::new(queue, BitRate(80_000));
        for _ in 0..2 {
            closed_loop.window(5, 1000, Duration::from_micros(14_400));
        }
        closed_loop.poisson(40, 5.0);
        closed_loop.run(Duration::from_seconds(10_000.0));
        assert!(closed_loop.log.dropped.is_empty() && closed_loop.delays[2].len() > 1500);
        closed_loop.mean_delay(2)
    };
    let fair = delay(build("fq", &[]));
    assert!((fair - 0.054).abs() < 0.002, "half of 0.1 s and its own 4 ms: {fair}");
    let fifo = delay(build("droptail", &[]));
    assert!((fifo - 0.94).abs() < 0.02, "nine packets and a half: {fifo}");
}
