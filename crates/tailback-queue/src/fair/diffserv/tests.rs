use super::*;
use crate::contract::discipline::MarkReason;
use crate::contract::testing::{Bench, TestPacket};
use crate::registry;
use std::collections::BTreeMap;
use tailback_base::{BitRate, Duration};

/// EF, AF1 to AF4 in green, best effort.
const CODES: [u8; 6] = [46, 10, 18, 26, 34, 0];
/// 1024 B at 10 Mb/s.
const PACKET_NS: u64 = 819_200;

fn bench(with: &[(&str, &str)]) -> Bench<Box<dyn QueueDiscipline<TestPacket>>> {
    let s = with
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(10_000_000),
        delay: Duration::ZERO,
    };
    let mut b = Bench::new(registry::build(&s, context).unwrap_or_else(|e| panic!("{e}")));
    b.rate = BitRate(10_000_000);
    b
}

fn packet(id: u64, class: usize) -> TestPacket {
    TestPacket {
        dscp: CODES[class],
        ..TestPacket::new(id, class as u32, 1024)
    }
}

/// All classes backlogged, EF at 1 Mb/s: the rest is shared 4 : 3 : 2 : 1 : 1, and EF waits for the packet on the line
/// at most.
#[test]
fn shares_of_a_full_line() {
    let mut b = bench(&[("ef_rate", "1.1Mbps"), ("buffer", "20 packets")]);
    let (mut sent_bytes, mut id) = (BTreeMap::new(), 0);
    let (mut next_ef, mut arrived, mut waits) = (0, 0, vec![]);
    let seconds = 40;
    let steps = seconds * 1_000_000_000 / PACKET_NS;
    for step in 0..steps {
        // While the packet of this step was sent, packets have come.
        for class in 1..6 {
            while b.probe("waiting", class) < 9.0 {
                b.arrive(packet(id, class as usize));
                id += 1;
            }
        }
        if next_ef <= step * PACKET_NS {
            b.arrive(packet(id, 0));
            (arrived, next_ef) = (step, next_ef + 8_192_000);
            id += 1;
        }
        let p = b.take().unwrap();
        if p.flow == 0 {
            waits.push(step - arrived);
        }
        *sent_bytes.entry(p.flow).or_insert(0_u64) += u64::from(p.bytes);
        b.pass(Duration(PACKET_NS));
    }
    let mbps = |class: u32| sent_bytes[&class] as f64 * 8.0 / seconds as f64 / 1e6;
    for (class, expected) in [(0, 1.0), (1, 3.27), (2, 2.45), (3, 1.64), (4, 0.82), (5, 0.82)] {
        assert!((mbps(class) - expected).abs() < 0.006, "{class}: {}", mbps(class));
    }
    assert!(
        waits.len() > 4000 && waits.iter().all(|w| *w == 0),
        "it is the next to go"
    );
}

#[test]
fn expedited_forwarding_beyond_its_rate_is_dropped_where_it_enters() {
    for (overrides, per_second) in [(&[][..], 1.0), (&[("ef_rate", "3Mbps")], 3.0)] {
        let mut b = bench(overrides);
        // 5 Mb/s.
        for id in 0..50_000 {
            b.arrive(packet(id, 0));
            b.serve();
            b.pass(Duration(2 * PACKET_NS));
        }
        let passed = 50_000 - b.log.drops(DropReason::Profile).len();
        let seconds = 50_000.0 * 2.0 * PACKET_NS as f64 / 1e9;
        let mbps = (passed as f64 - 2.0) * 8192.0 / seconds / 1e6;
        assert!((mbps - per_second).abs() < 0.01, "{mbps}");
    }
}

/// A class that is full drops its own packets: the others keep their room.
#[test]
fn buffers_are_apart() {
    let mut b = bench(&[
        ("buffer", "30 packets"),
        ("ef_buffer", "2 packets"),
        ("ef_burst", "9000B"),
    ]);
    for id in 0..200 {
        b.arrive(packet(id, 4));
    }
    assert_eq!(b.log.drops(DropReason::Overflow).len(), 170);
    for class in [0, 1, 5] {
        for id in 0..5 {
            b.arrive(packet(1000 + id, class));
        }
    }
    let waiting = [0, 1, 2, 3, 4, 5].map(|c| b.probe("waiting", c));
    assert_eq!(waiting, [2.0, 5.0, 0.0, 0.0, 30.0, 5.0]);
    assert!(b.probe("waiting", 6).is_nan());
    assert_eq!(b.backlog().packets, 42);
    assert_eq!(b.drain().len(), 42);
}

/// The AQM of a class sees only that class, and distinguishes the colours of its packets.
#[test]
fn each_class_of_assured_forwarding_has_an_aqm() {
    let mut b = bench(&[]);
    for id in 0..200 {
        b.arrive(TestPacket {
            dscp: [26, 28, 30][id as usize % 3],
            ..TestPacket::new(id, 0, 1024)
        });
    }
    assert!(
        b.log.dropped.iter().all(|d| d.2 == DropReason::Overflow),
        "the average is slow"
    );
    let averages: Vec<f64> = (0..12).map(|i| b.probe("average", i)).collect();
    assert!(
        averages[6] > 1.0 && averages[6] < averages[7] && averages[7] < averages[8],
        "{averages:?}"
    );
    assert!(
        averages
            .iter()
            .enumerate()
            .all(|(i, a)| (6..9).contains(&i) || *a == 0.0)
    );
    assert_eq!((b.probe("backlog", 6), b.probe("waiting", 3)), (34.0, 100.0));
    assert!(b.probe("average", 12).is_nan());
    // With another AQM: CoDel drops when packets leave, and may drop all that wait.
    let mut b = bench(&[("aqm", "codel")]);
    for id in 0..50 {
        b.arrive(packet(id, 1).capable());
        b.arrive(packet(1000 + id, 5));
    }
    b.pass(Duration::from_millis(200));
    for _ in 0..60 {
        b.serve();
        b.pass(Duration::from_millis(20));
    }
    let codel = b.log.drops(DropReason::Sojourn).len() + b.log.marks(MarkReason::Sojourn).len();
    assert!(codel > 0);
    assert_eq!(
        b.log.dropped.iter().filter(|d| d.0.flow == 5).count(),
        0,
        "best effort has none"
    );
    b.drain();
    assert_eq!(b.backlog(), Backlog::default());
}

#[test]
fn what_stands_before_sees_all_classes() {
    let mut b = bench(&[("before", "[choke]"), ("buffer", "50 packets")]);
    for id in 0..400 {
        b.arrive(packet(id, 1 + id as usize % 5));
    }
    let matched = b.log.drops(DropReason::Match);
    assert!(!matched.is_empty());
    let left = b.backlog().packets as usize;
    assert_eq!(b.drain().len(), left);
}

#[test]
fn five_weights() {
    let s = Settings::defaults(&MODEL).with("weights", "[1, 2]");
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    };
    let e = registry::build::<TestPacket>(&s, context).err().unwrap();
    assert!(e.path == "weights" && e.problem.contains("2 weights"), "{e:?}");
}
