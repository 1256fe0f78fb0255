//! FQ-CoDel, FQ-PIE and FQ-COBALT: each is the pieces it is said to be made of, and FQ-CoDel is what RFC 8290 says.

use crate::aqm::delay::codel::{Config, Control};
use crate::contract::admission::PacketSource;
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, DropReason, Out, Place, QueueDiscipline};
use crate::contract::testing::{Bench, Log, TestPacket};
use crate::pieces::classify::hash::Hashed;
use crate::registry;
use proptest::prelude::*;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, KeyField, Settings, Stream, Time, Value};

type Built = Bench<Box<dyn QueueDiscipline<TestPacket>>>;

fn built(settings: &Settings, seed: u64) -> Built {
    let context = BuildContext {
        stream: Stream::new(seed, "test"),
        rate: BitRate(10_000_000),
        delay: Duration::ZERO,
    };
    Bench::new(registry::build(settings, context).unwrap_or_else(|e| panic!("{e:?}")))
}

fn model(name: &str) -> Settings {
    Settings::defaults(registry::find(name).unwrap())
}

/// A model as a scenario's table gives it: its name, and some of its parameters.
fn nested(family: &str, pairs: &[(&str, &str)]) -> Value {
    let registry = registry::Registry::<TestPacket>::standard();
    let of_name = registry.nested().expect(family, pairs[0].1).unwrap();
    let own = pairs[1..]
        .iter()
        .fold(Settings::defaults(of_name), |s, (key, value)| s.with(key, value));
    Value::Model(Box::new(own))
}

/// The pieces, named: what a scenario would write.
fn named(aqm: &[(&str, &str)], quantum: &str) -> Settings {
    let mut s = model("port")
        .with("buffer", "60 packets")
        .with("mapper", "hash")
        .with("queues", "1024")
        .with("hash_key", "tuple")
        .with("count_newcomer", "true");
    let policy = [("kind", "batch-drop"), ("memory", "60KB"), ("drop_batch", "8")];
    s.set_models(
        "scheduler",
        nested("scheduler", &[("kind", "drr-plus-plus"), ("quantum", quantum)]),
    );
    s.set_models("policy", nested("policy", &policy));
    s.set_models("aqm", nested("aqm", aqm));
    s
}

/// What happened, in order, to which packet, and its mark.
fn run(b: &mut Built, steps: &[(u64, u8, u8)]) -> Vec<(u64, u64, String)> {
    let mut events = vec![];
    for (id, (gap, act, flow)) in steps.iter().enumerate() {
        b.pass(Duration(*gap));
        match act {
            0..=3 => {
                let size = [40, 500, 1500, 3000][*act as usize];
                let p = TestPacket::new(id as u64, u32::from(*flow % 6), size);
                b.arrive(if flow % 2 == 0 { p.capable() } else { p });
            }
            _ => {
                if let Some(p) = b.take() {
                    events.push((b.now.0, p.id, format!("sent {:?}", p.ecn)));
                }
            }
        }
    }
    while let Some(p) = b.take() {
        events.push((b.now.0, p.id, format!("sent {:?}", p.ecn)));
    }
    events.extend(
        b.log
            .dropped
            .iter()
            .map(|d| (0, d.0.id, format!("{:?} {:?}", d.1, d.2))),
    );
    events.extend(b.log.marked.iter().map(|m| (0, m.0.id, format!("{:?}", m.1))));
    events
}

fn steps() -> impl Strategy<Value = Vec<(u64, u8, u8)>> {
    let gap = prop_oneof![3 => Just(0u64), 3 => 0u64..3_000_000, 1 => 0u64..40_000_000];
    prop::collection::vec((gap, 0u8..6, any::<u8>()), 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn each_is_its_pieces_by_name(steps in steps(), seed in 0u64..1000) {
        for (name, quantum, aqm) in [
            ("fq-codel", "1514B", &[("kind", "codel"), ("ecn", "true"), ("target", "2ms"), ("interval", "20ms")][..]),
            ("fq-pie", "1514B", &[("kind", "pie"), ("ecn", "true"), ("reference", "2ms"), ("max_burst", "20ms")]),
            ("fq-cobalt", "1500B", &[
                ("kind", "cobalt"), ("ecn", "true"), ("target", "2ms"), ("interval", "20ms"), ("mtu", "0B"),
                ("blue_threshold", "10ms"),
            ]),
        ] {
            let mut s = model(name).with("buffer", "60 packets").with("memory", "60KB").with("drop_batch", "8");
            for (key, value) in aqm.iter().filter(|(k, _)| *k != "kind") {
                s = s.with(key, value);
            }
            let whole_events = run(&mut built(&s, seed), &steps);
            let pieces = run(&mut built(&named(aqm, quantum), seed), &steps);
            prop_assert_eq!(whole_events, pieces, "{}", name);
        }
    }
}

/// RFC 8290, sections 4.1 and 4.2, literally: lists, deficits and fattest queue looked for one by one.
struct Literal {
    hash: Hashed,
    config: Config,
    queues: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    out: Log<TestPacket>,
}

#[derive(Default)]
struct Flow {
    packets: VecDeque<TestPacket>,
    deficit: i64,
    codel: Control,
    listed: bool,
}

impl Flow {
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|p| u64::from(p.bytes)).sum()
    }
}

struct Source<'a>(&'a mut VecDeque<TestPacket>);

impl PacketSource<TestPacket> for Source<'_> {
    fn pop(&mut self) -> Option<TestPacket> {
        self.0.pop_front()
    }
    fn waiting(&self) -> Backlog {
        let bytes = self.0.iter().map(|p| u64::from(p.bytes)).sum();
        Backlog {
            packets: self.0.len() as u64,
            bytes,
        }
    }
    fn drop(&mut self, p: TestPacket, why: DropReason, out: &mut dyn Out<TestPacket>) {
        out.dropped(p, Place::Dequeued, why);
    }
}

impl Literal {
    fn enqueue(&mut self, mut p: TestPacket, now: Time, limit: usize, memory: u64) {
        p.stamp = now;
        let i = self.hash.queue(u64::from(p.flow)) as usize;
        self.queues[i].packets.push_back(p);
        if !self.queues[i].listed {
            self.new.push_back(i);
            (self.queues[i].listed, self.queues[i].deficit) = (true, 1514);
        }
        loop {
            let total: usize = self.queues.iter().map(|q| q.packets.len()).sum();
            let bytes: u64 = self.queues.iter().map(Flow::bytes).sum();
            if total <= limit && bytes <= memory {
                return;
            }
            let most_bytes = self.queues.iter().map(Flow::bytes).max().unwrap();
            let victim = self.queues.iter().position(|q| q.bytes() == most_bytes).unwrap();
            let (mut dropped_bytes, mut n) = (0, 0);
            while dropped_bytes < most_bytes / 2 && n < 8 || n == 0 {
                let dropped = self.queues[victim].packets.pop_front().unwrap();
                dropped_bytes += u64::from(dropped.bytes);
                n += 1;
                self.out.dropped(dropped, Place::Queued, DropReason::Overload);
            }
        }
    }

    fn dequeue(&mut self, now: Time) -> Option<TestPacket> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let q = *list.front()?;
            let flow = &mut self.queues[q];
            if flow.deficit <= 0 {
                flow.deficit += 1514;
                list.pop_front();
                self.old.push_back(q);
                continue;
            }
            match flow
                .codel
                .take(&self.config, &mut Source(&mut flow.packets), now, &mut self.out)
            {
                None => {
                    list.pop_front();
                    if from_new && !self.old.is_empty() {
                        self.old.push_back(q);
                    } else {
                        self.queues[q].listed = false;
                    }
                }
                Some(p) => {
                    flow.deficit -= i64::from(p.bytes);
                    return Some(p);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn fq_codel_is_the_pseudo_code(steps in steps(), seed in 0u64..1000) {
        let settings = model("fq-codel")
            .with("buffer", "60 packets")
            .with("memory", "60KB")
            .with("drop_batch", "8")
            .with("target", "2ms")
            .with("interval", "20ms");
        let mut b = built(&settings, seed);
        let mut stream = Stream::new(seed, "test");
        stream.bits();
        let mut literal = Literal {
            hash: Hashed::new(KeyField::Tuple, 1024, stream.bits()),
            config: Config::from_settings(&settings).unwrap(),
            queues: (0..1024).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            out: Log::default(),
        };
        for (id, (gap, act, flow)) in steps.into_iter().enumerate() {
            b.pass(Duration(gap));
            match act {
                0..=3 => {
                    let size = [40, 500, 1500, 3000][act as usize];
                    let p = TestPacket::new(id as u64, u32::from(flow % 6), size);
                    let p = if flow % 2 == 0 { p.capable() } else { p };
                    b.arrive(p);
                    literal.enqueue(p, b.now, 60, 60_000);
                }
                _ => prop_assert_eq!(b.take(), literal.dequeue(b.now)),
            }
            let gone = |log: &Log<TestPacket>| log.dropped.iter().map(|d| (d.0.id, d.2)).collect::<Vec<_>>();
            prop_assert_eq!(gone(&b.log), gone(&literal.out));
            prop_assert_eq!(b.log.marked.len(), literal.out.marked.len());
        }
    }
}

/// Two flows whose keys collide share a queue, and no other flow is in it.
#[test]
fn a_collision_merges_exactly_two_flows() {
    let mut stream = Stream::new(5, "test");
    stream.bits();
    let hash = Hashed::new(KeyField::Tuple, 1024, stream.bits());
    let twin = (1..).find(|k| hash.queue(*k) == hash.queue(0)).unwrap() as u32;
    let lone_flow = (1..).find(|k| hash.queue(*k) != hash.queue(0)).unwrap() as u32;
    let mut b = built(&model("fq-codel"), 5);
    for id in 0..300 {
        b.arrive(TestPacket::new(id, [0, twin, lone_flow][id as usize % 3], 1000));
    }
    assert_eq!(b.probe("backlogged", 0), 2.0);
    assert_eq!(b.probe("queue_packets", hash.queue(0)), 200.0);
    let mut sent_packets = [0; 3];
    for _ in 0..150 {
        let p = b.take().unwrap();
        sent_packets[[0, twin, lone_flow].iter().position(|f| *f == p.flow).unwrap()] += 1;
    }
    assert!((74..=76).contains(&sent_packets[2]), "{sent_packets:?}");
    assert!(
        (37..=38).contains(&sent_packets[0]) && (37..=38).contains(&sent_packets[1]),
        "{sent_packets:?}"
    );
}

/// Sections 4.2 and 5.2.4 for FQ-COBALT too: bytes are shared equally, whatever the sizes of packets.
#[test]
fn flows_of_large_and_small_packets_share_bytes() {
    for name in ["fq-codel", "fq-cobalt", "fq-pie"] {
        let mut b = built(&model(name).with("buffer", "unlimited"), 1);
        for id in 0..16_000 {
            let small = id % 16 > 0;
            b.arrive(TestPacket::new(id, u32::from(small), if small { 100 } else { 1500 }));
        }
        let mut sent_bytes = [0_i64; 2];
        while sent_bytes[0] < 1_000_000 {
            let p = b.take().unwrap();
            sent_bytes[p.flow as usize] += i64::from(p.bytes);
            assert!(
                (sent_bytes[0] - sent_bytes[1]).abs() <= 1514 + 1500,
                "{name} {sent_bytes:?}"
            );
        }
    }
}

/// Linux counts the drops of a full buffer as drops of CoDel.
#[test]
fn what_is_shed_counts_where_asked() {
    for (count_shed, count) in [("true", 30.0), ("false", 0.0)] {
        let s = model("fq-codel")
            .with("buffer", "59 packets")
            .with("count_shed", count_shed);
        let mut b = built(&s, 1);
        for id in 0..60 {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert_eq!(b.log.drops(DropReason::Overload).len(), 30);
        let q = (0..1024).find(|q| b.probe("queue_packets", *q) > 0.0).unwrap();
        assert_eq!(b.probe("count", q), count);
    }
}

/// Sets keep flows apart that a plain hash would merge.
#[test]
fn ways_make_sets() {
    let s = model("fq-codel").with("queues", "16").with("ways", "16");
    let mut b = built(&s, 1);
    for id in 0..16 {
        b.arrive(TestPacket::new(id, id as u32, 1000));
    }
    assert_eq!(b.probe("backlogged", 0), 16.0);
    assert_eq!((b.probe("hash_misses", 0), b.probe("hash_collisions", 0)), (16.0, 0.0));
    b.arrive(TestPacket::new(16, 16, 1000));
    assert_eq!((b.probe("backlogged", 0), b.probe("hash_collisions", 0)), (16.0, 1.0));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1),
        delay: Duration::ZERO,
    };
    let e = registry::build::<TestPacket>(&model("fq-codel").with("queues", "20").with("ways", "8"), context).err();
    assert!(e.unwrap().remedy.contains("24"));
}
