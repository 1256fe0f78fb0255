use super::scheme::BEST_EFFORT;
use super::*;
use crate::contract::testing::{Bench, TestPacket};
use tailback_base::{BitRate, Ecn};

type CakeBench = Bench<Cake<TestPacket>>;

/// With a target that nothing here reaches, unless a test says otherwise.
fn bench(with: &[(&str, &str)]) -> CakeBench {
    let patient = [("target", "50s"), ("interval", "100s")];
    let s = patient
        .iter()
        .chain(with)
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let config = Config::from_settings(&s, BitRate(10_000_000)).unwrap();
    Bench::new(Cake::new(config, s.get(&BUFFER), Stream::new(1, "cake")))
}

fn packet(id: u64, flow: u32, bytes: u32) -> TestPacket {
    TestPacket::new(id, flow, bytes)
}

/// A flow of this class between these hosts.
fn classed(flow: u32, dscp: u8, hosts: (u64, u64)) -> TestPacket {
    TestPacket {
        dscp,
        hosts: Some(hosts),
        ..packet(0, flow, 1500)
    }
}

/// The next packet, as soon as the shaper lets one go.
fn send(b: &mut CakeBench) -> Option<TestPacket> {
    loop {
        let line = Line { busy: None, ..b.line() };
        match b.by_hand.queue.dequeue(&line, &mut b.log) {
            Service::Send(p) => return Some(p),
            Service::Wait(t) => b.until(t),
            Service::Empty => return None,
        }
    }
}

/// Bytes sent of each of these packets' flows, each replaced when it has left.
fn shares(b: &mut CakeBench, flows: &[TestPacket], n: u32) -> Vec<f64> {
    let mut sent_bytes = vec![0.0; flows.len()];
    for p in flows {
        for _ in 0..5 {
            b.arrive(*p);
        }
    }
    for _ in 0..n {
        let p = send(b).unwrap();
        let i = flows.iter().position(|f| f.flow == p.flow).unwrap();
        sent_bytes[i] += f64::from(p.bytes);
        b.arrive(flows[i]);
    }
    sent_bytes
}

/// 1500 B and 40 B of overhead are 33 cells, 1749 B, so 1.3992 ms at 10 Mb/s.
#[test]
fn the_shaper_spaces_packets_by_their_length_on_the_link() {
    let mut b = bench(&[("rate", "10Mbps"), ("framing", "atm"), ("overhead", "40B")]);
    for id in 0..100 {
        b.arrive(packet(id, id as u32 % 7, 1500));
    }
    let mut last = None;
    while send(&mut b).is_some() {
        let now = b.now;
        if let Some(last) = last.replace(now) {
            assert_eq!(now.since(last), Duration(1_399_200));
        }
    }
}

/// What was not sent in an idle time is not sent later.
#[test]
fn an_arrival_at_an_empty_shaper_sets_its_clock() {
    let mut b = bench(&[("rate", "10Mbps")]);
    b.pass(Duration::from_millis(500));
    for id in 0..3 {
        b.arrive(packet(id, 0, 1250));
    }
    let mut at = vec![];
    while send(&mut b).is_some() {
        at.push(b.now.0);
    }
    assert_eq!(at, [500_000_000, 501_000_000, 502_000_000]);
}

/// Of 10 Mb/s, voice has its 2.5 and bulk its 0.625, and best effort the rest; alone each has all.
#[test]
fn full_classes_share_by_their_rates() {
    let flows = [(0, 0), (1, 8), (2, 46)].map(|(flow, dscp)| classed(flow, dscp, (u64::from(flow), 9)));
    let mut b = bench(&[("rate", "10Mbps")]);
    let start = b.now;
    let sent_bytes = shares(&mut b, &flows, 20_000);
    let seconds = (b.now - start).seconds();
    let rates: Vec<f64> = sent_bytes.iter().map(|bytes| bytes * 8.0 / seconds / 1e6).collect();
    for (rate, expected) in rates.iter().zip([6.875, 0.625, 2.5]) {
        assert!((rate / expected - 1.0).abs() < 0.01, "{rates:?}");
    }
    for flow in flows {
        let mut b = bench(&[("rate", "10Mbps")]);
        let sent_bytes = shares(&mut b, &[flow], 1000);
        let rate = sent_bytes[0] * 8.0 / b.now.seconds() / 1e6;
        assert!((rate / 10.0 - 1.0).abs() < 0.01, "alone {rate}");
    }
}

/// Of four, video has half and voice a quarter; best effort has what is left.
#[test]
fn four_full_classes_share_by_their_rates() {
    let flows = [(0, 0), (1, 8), (2, 40), (3, 34)].map(|(flow, dscp)| classed(flow, dscp, (u64::from(flow), 9)));
    let mut b = bench(&[("rate", "10Mbps"), ("tins", "diffserv4")]);
    let start = b.now;
    let sent_bytes = shares(&mut b, &flows, 20_000);
    let seconds = (b.now - start).seconds();
    let rates: Vec<f64> = sent_bytes.iter().map(|bytes| bytes * 8.0 / seconds / 1e6).collect();
    for (rate, expected) in rates.iter().zip([1.875, 0.625, 2.5, 5.0]) {
        assert!((rate / expected - 1.0).abs() < 0.01, "{rates:?}");
    }
    let sent_bytes = shares(&mut bench(&[("tins", "diffserv4")]), &flows, 29_000);
    for (bytes, weight) in sent_bytes.iter().zip([16.0, 1.0, 4.0, 8.0]) {
        assert!(
            (bytes / (29_000.0 * 1500.0) * 29.0 / weight - 1.0).abs() < 0.01,
            "{sent_bytes:?}"
        );
    }
}

/// Of eight, the last two have their powers of seven eighths, the one below them what is left, and the others nothing
/// while these are full. Beside best effort alone, expedited forwarding has its share.
#[test]
fn eight_classes_from_the_last_each_up_to_its_share() {
    let codes = [1, 8, 0, 34, 18, 16, 46, 48];
    let all: Vec<_> = (0..8)
        .map(|f| classed(f, codes[f as usize], (u64::from(f), 9)))
        .collect();
    let (last, before) = (823_543.0 / 2_097_152.0, 117_649.0 / 262_144.0);
    let third_share = 1.0 - last - before;
    for (flows, expected) in [
        (all.clone(), vec![0.0, 0.0, 0.0, 0.0, 0.0, third_share, before, last]),
        (vec![all[2], all[6]], vec![1.0 - before, before]),
    ] {
        let sent_bytes = shares(&mut bench(&[("rate", "10Mbps"), ("tins", "diffserv8")]), &flows, 20_000);
        let total: f64 = sent_bytes.iter().sum();
        for (bytes, share) in sent_bytes.iter().zip(&expected) {
            assert!((bytes / total - share).abs() < 0.002, "{sent_bytes:?}");
        }
    }
    let sent_bytes = shares(&mut bench(&[("tins", "diffserv8")]), &all, 40_000);
    let weights = [256.0, 224.0, 196.0, 171.0, 149.0, 130.0, 113.0, 98.0];
    let total: f64 = sent_bytes.iter().sum();
    for (bytes, weight) in sent_bytes.iter().zip(weights) {
        assert!((bytes / total * 1337.0 / weight - 1.0).abs() < 0.01, "{sent_bytes:?}");
    }
}

#[test]
fn unshaped_classes_take_turns_by_weight() {
    let flows = [(0, 0), (1, 1), (2, 4)].map(|(flow, dscp)| classed(flow, dscp, (u64::from(flow), 9)));
    let sent_bytes = shares(&mut bench(&[]), &flows, 21_000);
    for (bytes, weight) in sent_bytes.iter().zip([16.0, 1.0, 4.0]) {
        assert!(
            (bytes / (21_000.0 * 1500.0) * 21.0 / weight - 1.0).abs() < 0.01,
            "{sent_bytes:?}"
        );
    }
    let sent_bytes = shares(&mut bench(&[("tins", "besteffort")]), &flows, 3000);
    assert!(
        sent_bytes.iter().all(|bytes| (bytes / 1.5e6 - 1.0).abs() < 0.01),
        "one class: {sent_bytes:?}"
    );
}

/// One source with one flow and one with nine. Between hosts on both sides: even, if every flow has a destination of
/// its own; by flows, if all go to one, where the destination has ten. By source hosts: even in both cases.
#[test]
fn hosts_share_before_flows() {
    for (isolation, one_destination, expected) in [
        ("triple", false, 0.5),
        ("triple", true, 0.1),
        ("dual-src", false, 0.5),
        ("dual-src", true, 0.5),
        ("dual-dst", true, 0.1),
        ("flows", false, 0.1),
    ] {
        let flows: Vec<TestPacket> = (0..10)
            .map(|f| {
                let destination = if one_destination { 7 } else { 100 + u64::from(f) };
                classed(f, 0, (u64::from(f > 0), destination))
            })
            .collect();
        let sent_bytes = shares(&mut bench(&[("isolation", isolation)]), &flows, 20_000);
        let share = sent_bytes[0] / sent_bytes.iter().sum::<f64>();
        assert!(
            (share - expected).abs() < 0.01,
            "{isolation} {one_destination}: {share}"
        );
        // The nine are equal among themselves.
        let (least, most) = sent_bytes[1..]
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, m), x| (l.min(*x), m.max(*x)));
        assert!(most / least < 1.05, "{sent_bytes:?}");
    }
}

/// Rounds that only give credit are processed at once. The packets leave in the same order as if the rounds came one by
/// one.
#[test]
fn skipped_rounds_change_nothing() {
    let with = [("target", "5ms"), ("interval", "50ms"), ("memory", "200kB")];
    let mut benches = [bench(&with), bench(&with)];
    benches[1].queue.tins.iter_mut().for_each(|t| t.skips_rounds = false);
    let mut draw = Stream::new(5, "draw");
    for id in 0..20_000 {
        let (flow, size) = (draw.below(300) as u32, 40 + draw.below(1460) as u32);
        let (serve, gap) = (draw.below(5) < 2, Duration(draw.below(20_000)));
        let p = TestPacket {
            hosts: Some((u64::from(flow % 40), u64::from(flow % 3))),
            dscp: [0, 8, 46][flow as usize % 7 % 3],
            ..packet(id, flow, size)
        };
        let served = benches.each_mut().map(|b| {
            b.arrive(p);
            b.pass(gap);
            if serve { b.serve() } else { None }
        });
        assert_eq!(served[0], served[1], "after {id}");
    }
    let gone = benches.each_ref().map(|b| b.log.dropped.len());
    assert!(gone[0] == gone[1] && gone[0] > 1000, "{gone:?}");
    let [a, b] = benches.each_mut().map(|b| b.drain());
    assert_eq!(a, b);
}

#[test]
fn one_queue_for_the_blind() {
    let mut b = bench(&[("isolation", "flowblind"), ("tins", "besteffort")]);
    for id in 0..30 {
        b.arrive(packet(id, id as u32 % 4, 1000));
    }
    assert_eq!(b.probe("backlogged", 0), 1.0);
    assert_eq!(b.drain(), (0..30).collect::<Vec<_>>());
}

/// A flow that wakes goes before flows with a standing queue. It waits for one quantum at most.
#[test]
fn a_sparse_flow_goes_first() {
    let mut b = bench(&[]);
    for id in 0..400 {
        b.arrive(packet(id, id as u32 % 4, 1500));
    }
    for _ in 0..40 {
        b.serve();
    }
    assert_eq!(b.probe("bulk_flows", BEST_EFFORT as u32), 4.0);
    for id in 1000..1010 {
        b.arrive(packet(id, 9, 100));
        assert_eq!(b.serve(), Some(id));
        for _ in 0..3 {
            b.serve();
        }
    }
}

/// At 1 Mb/s a largest packet takes 12.112 ms: the target is one and a half of it, and the interval grows by as much.
#[test]
fn a_slow_class_has_a_longer_target() {
    let s = Settings::defaults(&MODEL).with("rate", "1Mbps");
    let config = Config::from_settings(&s, BitRate(1)).unwrap();
    let tin = |class| Tin::new(&config, class, 0, 0);
    let best_effort = tin(scheme::DIFFSERV3.classes[BEST_EFFORT]);
    assert_eq!(best_effort.mtu_time, Duration(12_112_000));
    assert_eq!(best_effort.cobalt.target, Duration(18_168_000));
    assert_eq!(best_effort.cobalt.interval, Duration(113_168_000));
    // Bulk, at 62.5 kb/s: twice the target is more than the interval.
    let bulk = tin(scheme::DIFFSERV3.classes[1]);
    assert_eq!(bulk.cobalt.target, Duration(290_688_000));
    assert_eq!(bulk.cobalt.interval, Duration(581_376_000));
}

#[test]
fn memory_follows_the_rate() {
    for (rate, memory) in [("10Mbps", 4 << 20), ("1Gbps", 50_000_000)] {
        let s = Settings::defaults(&MODEL).with("rate", rate);
        assert_eq!(Config::from_settings(&s, BitRate(1)).unwrap().memory, memory);
    }
    let s = Settings::defaults(&MODEL).with("memory", "100kB");
    assert_eq!(Config::from_settings(&s, BitRate(1)).unwrap().memory, 100_000);
}

/// The head of the queue with most bytes goes, whatever its class, and its BLUE learns of it.
#[test]
fn short_memory_takes_the_head_of_the_longest_queue() {
    let mut b = bench(&[("memory", "10kB"), ("target", "1ms")]);
    for id in 0..6 {
        b.arrive(packet(id, 0, 1000));
    }
    for id in 10..14 {
        b.arrive(TestPacket {
            dscp: 46,
            ..packet(id, 1, 1000)
        });
    }
    assert!(b.log.dropped.is_empty());
    b.arrive(packet(20, 2, 500));
    assert_eq!(b.log.drops(DropReason::Overload), [0]);
    let q = b.queue.tins[BEST_EFFORT].classify(&packet(0, 0, 1000));
    assert_eq!(b.queue.tins[BEST_EFFORT].control(q).probability(), 1.0 / 256.0);
    assert!(b.queue.tins[BEST_EFFORT].control(q).is_dropping());
    // A packet that fills the memory alone is dropped itself.
    let mut b = bench(&[("memory", "4kB")]);
    b.arrive(packet(0, 0, 3000));
    b.arrive(packet(1, 1, 3500));
    assert_eq!((b.log.dropped[0].0.id, b.log.dropped[0].1), (1, Place::Arriving));
}

/// The index finds the same longest queue as a search of all queues.
#[test]
fn the_longest_queue_is_known_while_memory_is_short() {
    let mut b = bench(&[("memory", "60kB"), ("isolation", "flows")]);
    let mut draw = Stream::new(3, "draw");
    for id in 0..5000 {
        let flow = draw.below(30) as u32;
        b.arrive(packet(id, flow, 40 + draw.below(1460) as u32));
        if draw.below(2) == 0 {
            b.serve();
        }
        let store = &b.queue.store;
        let most = (0..store.queues()).map(|q| store.bytes(q)).max().unwrap();
        let first = (0..store.queues()).find(|q| store.bytes(*q) == most);
        if b.queue.backlog().packets > 0 {
            assert_eq!(b.queue.longest.clone().find(store), first);
        }
    }
    assert!(b.log.drops(DropReason::Overload).len() > 1000);
}

/// COBALT acts on a standing queue, and never drops its last packet.
#[test]
fn the_last_packet_of_a_queue_is_spared() {
    let settings = [("target", "5ms"), ("interval", "100ms")];
    let mut b = bench(&settings);
    let mut served = 0;
    for id in 0..600 {
        b.arrive(packet(id, 0, 1000));
        b.pass(Duration::from_millis(20)); // alone, 20 ms late, and never dropped
        served += u64::from(b.serve().is_some());
    }
    assert_eq!((served, b.log.dropped.len()), (600, 0));
    let mut b = bench(&settings);
    for id in 0..600 {
        b.arrive(packet(id, 0, 1000));
    }
    for _ in 0..400 {
        b.pass(Duration::from_millis(1));
        b.serve();
    }
    assert!(b.log.drops(DropReason::Sojourn).len() > 5);
    assert!(b.log.dropped.iter().all(|d| d.1 == Place::Dequeued));
}

/// What can be marked is marked, and only BLUE drops it; in a network that does not mark it is dropped.
#[test]
fn capable_packets_are_marked() {
    let actions = |ecn: &str| {
        let mut b = bench(&[("target", "5ms"), ("interval", "100ms"), ("ecn", ecn)]);
        for id in 0..600 {
            b.arrive(packet(id, 0, 1000).capable());
        }
        for _ in 0..400 {
            b.pass(Duration::from_millis(1));
            b.serve();
        }
        assert!(b.log.marked.iter().all(|m| m.0.ecn == Ecn::Ce));
        (b.log.marked.len(), b.log.drops(DropReason::Sojourn).len())
    };
    let (marks, drops) = actions("true");
    assert!(marks > 5 && drops == 0, "{marks} {drops}");
    let (marks, drops) = actions("false");
    assert!(marks == 0 && drops > 5, "{marks} {drops}");
}

/// A queue that ran empty keeps what its COBALT has learned, and forgets it with the packets of others.
#[test]
fn an_empty_queue_decays() {
    let mut b = bench(&[("target", "5ms"), ("interval", "100ms")]);
    for id in 0..300 {
        b.arrive(packet(id, 0, 1000));
    }
    let q = b.queue.tins[BEST_EFFORT].classify(&packet(0, 0, 1000));
    while b.backlog().packets > 0 {
        b.pass(Duration::from_millis(1));
        b.serve();
    }
    let count = b.queue.tins[BEST_EFFORT].control(q).count();
    assert!(count > 3);
    // Nothing looks at it while nothing is sent.
    b.pass(Duration::from_millis(10_000));
    assert_eq!(b.queue.tins[BEST_EFFORT].control(q).count(), count);
    let mut counts = vec![];
    for id in 0..2000 {
        b.arrive(packet(1000 + id, 1, 1000));
        b.serve();
        b.pass(Duration::from_millis(1));
        counts.push(b.queue.tins[BEST_EFFORT].control(q).count());
    }
    assert!(counts.windows(2).all(|w| w[0] - w[1] <= 1), "one step at a time");
    assert_eq!(counts.last(), Some(&0));
    // Who was served last has not been visited since.
    assert_eq!(b.probe("bulk_flows", BEST_EFFORT as u32), 1.0);
}

/// If CAKE stands behind the bottleneck (`ingress`), dropped packets have used the time of the link as well.
#[test]
fn dropped_packets_take_their_time_where_asked() {
    for (ingress, per_drop) in [("true", 1.0), ("false", 0.0)] {
        let mut b = bench(&[
            ("rate", "10Mbps"),
            ("target", "5ms"),
            ("interval", "20ms"),
            ("ingress", ingress),
        ]);
        for id in 0..2000 {
            b.arrive(packet(id, 0, 1250));
        }
        let mut sent_packets = 0;
        while sent_packets < 200 {
            sent_packets += u64::from(send(&mut b).is_some());
        }
        let dropped = b.log.drops(DropReason::Sojourn).len() as f64;
        assert!(dropped > 20.0);
        let expected = 199.0 + per_drop * dropped;
        assert!(
            (b.now.seconds() * 1e3 - expected).abs() <= 2.0,
            "{ingress}: {:?} for {expected}",
            b.now
        );
    }
}

/// Nine flows of one set: eight have a queue each, the ninth shares.
#[test]
fn a_full_set_is_shared() {
    let mut b = bench(&[("queues", "8")]);
    for id in 0..9 {
        b.arrive(packet(id, id as u32, 1000));
    }
    let counts = ["hash_misses", "hash_collisions", "backlogged"].map(|name| b.probe(name, 0));
    assert_eq!(counts, [8.0, 1.0, 8.0]);
}

#[test]
fn queues_make_whole_sets() {
    let s = Settings::defaults(&MODEL).with("queues", "20");
    let e = Config::from_settings(&s, BitRate(1)).err().unwrap();
    assert!(e.remedy.contains("24"), "{e}");
}

/// One source with one flow and one with nine, to destinations of their own. Behind address translation the sources are
/// one host, with ten.
#[test]
fn hosts_behind_address_translation_are_one() {
    let share = |overrides: &[(&str, &str)]| {
        let flows: Vec<TestPacket> = (0..10)
            .map(|f| classed(f, 0, (u64::from(f > 0), 100 + u64::from(f))))
            .collect();
        let sent_bytes = shares(&mut bench(overrides), &flows, 20_000);
        sent_bytes[0] / sent_bytes.iter().sum::<f64>()
    };
    for (translated, isolation, expected) in [
        ("neither", "dual-src", 0.5),
        ("source", "dual-src", 0.1),
        ("destination", "dual-src", 0.5),
        ("source", "triple", 0.1),
    ] {
        let found = share(&[("isolation", isolation), ("translated", translated)]);
        assert!((found - expected).abs() < 0.01, "{translated} {isolation}: {found}");
    }
}

/// A round trip of half a second gives an interval of half a second and a target of 25 ms. Values that are given stay,
/// and the words of tc stand for round trips.
#[test]
fn the_round_trip_sets_interval_and_target() {
    let times_of = |with: &[(&str, &str)]| {
        let s = with.iter().fold(Settings::defaults(&MODEL), |s, (k, v)| s.with(k, v));
        let config = Config::from_settings(&s.with_profile(&[]).unwrap(), BitRate(1)).unwrap();
        (config.cobalt.target.seconds(), config.cobalt.interval.seconds())
    };
    assert_eq!(times_of(&[]), (0.005, 0.1));
    assert_eq!(times_of(&[("rtt", "500ms")]), (0.025, 0.5));
    assert_eq!(times_of(&[("rtt", "500ms"), ("target", "7ms")]), (0.007, 0.5));
    assert_eq!(times_of(&[("rtt", "500ms"), ("interval", "1s")]), (0.025, 1.0));
    for (path, rtt) in [
        ("datacentre", 0.0001),
        ("lan", 0.001),
        ("metro", 0.01),
        ("regional", 0.03),
        ("internet", 0.1),
        ("oceanic", 0.3),
        ("satellite", 1.0),
        ("interplanetary", 3600.0),
    ] {
        assert_eq!(times_of(&[("profile", path)]), (rtt / 20.0, rtt), "{path}");
    }
    assert_eq!(times_of(&[("profile", "metro"), ("rtt", "20ms")]), (0.001, 0.02));
}

/// The class is that of the code point with which the packet came.
#[test]
fn washing_clears_the_code_point_of_what_leaves() {
    for (wash, dscps) in [("true", [0, 0]), ("false", [46, 8])] {
        let mut b = bench(&[("wash", wash)]);
        b.arrive(classed(0, 8, (1, 2)));
        b.arrive(classed(1, 46, (1, 2)).capable());
        assert_eq!((b.probe("tin_packets", 1), b.probe("tin_packets", 2)), (1.0, 1.0));
        let mut sent = [send(&mut b).unwrap(), send(&mut b).unwrap()];
        sent.sort_by_key(|p| std::cmp::Reverse(p.flow));
        assert_eq!(sent.map(|p| p.dscp), dscps);
        assert_eq!(sent[0].ecn, Ecn::Ect0, "the other two bits stay");
    }
}
