use super::*;
use crate::contract::server::Server;
use crate::contract::testing::{Bench, ClosedLoop, Log, TestPacket};
use crate::registry::{self, Registry};
use tailback_base::{DropReason, Stream};

type Queue = Box<dyn QueueDiscipline<TestPacket>>;

fn context(rate: u64) -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "htb"),
        rate: BitRate(rate),
        delay: Duration::ZERO,
    }
}

fn settings(with: &[(&str, &str)]) -> Settings {
    let s = with.iter().fold(Settings::defaults(&MODEL), |s, (k, v)| s.with(k, v));
    s.with_models(Registry::<TestPacket>::standard().nested()).unwrap()
}

fn built(with: &[(&str, &str)], line: u64) -> Queue {
    registry::build(&settings(with), context(line)).unwrap()
}

/// On a line of a gigabit.
fn bench(with: &[(&str, &str)]) -> Bench<Queue> {
    let mut b = Bench::new(built(with, 1_000_000_000));
    b.rate = BitRate(1_000_000_000);
    b
}

fn packet(id: u64, bytes: u32) -> TestPacket {
    TestPacket::new(id, id as u32 % 3, bytes)
}

/// When each of these packets leaves a bench whose line takes no time, in microseconds.
fn departures(b: &mut Bench<Queue>) -> Vec<f64> {
    let mut times_us = vec![];
    loop {
        let line = b.line();
        match b.by_hand.queue.dequeue(&line, &mut b.log) {
            Service::Send(_) => times_us.push(b.now.0 as f64 / 1e3),
            Service::Wait(t) => {
                assert!(t > b.now);
                b.until(t);
            }
            Service::Empty => return times_us,
        }
    }
}

/// A byte takes a microsecond. The first pays from the bucket, the second leaves a debt, then each waits for its
/// predecessor.
#[test]
fn packets_leave_a_length_apart_once_the_bucket_is_empty() {
    let mut b = bench(&[("rate", "8Mbps"), ("burst", "1000B")]);
    for id in 0..5 {
        b.arrive(packet(id, 1000));
    }
    assert_eq!(departures(&mut b), [0.0, 0.0, 1000.0, 2000.0, 3000.0]);
}

#[test]
fn without_a_burst_each_packet_waits_for_the_one_before() {
    let mut b = bench(&[("rate", "8Mbps"), ("burst", "0B")]);
    for id in 0..3 {
        b.arrive(packet(id, 1000));
    }
    assert_eq!(departures(&mut b), [0.0, 1000.0, 2000.0]);
    // What was not sent in a pause is not sent later.
    b.pass(Duration::from_millis(50));
    for id in 0..3 {
        b.arrive(packet(id, 500));
    }
    assert_eq!(departures(&mut b), [52_000.0, 52_500.0, 53_000.0]);
}

#[test]
fn a_pause_is_made_up_for_by_the_bucket_and_no_more() {
    let mut b = bench(&[("rate", "8Mbps"), ("burst", "3000B")]);
    b.pass(Duration::from_millis(10_000));
    for id in 0..6 {
        b.arrive(packet(id, 1000));
    }
    let start = b.now.0 as f64 / 1e3;
    let after: Vec<f64> = departures(&mut b).iter().map(|t| t - start).collect();
    assert_eq!(after, [0.0, 0.0, 0.0, 0.0, 1000.0, 2000.0]);
}

/// 40 B have 58 with the header, so 64; 1500 B have 1518; in cells 106 and 1696.
#[test]
fn a_packet_costs_its_length_on_the_link() {
    for (framing, small, large) in [("plain", 64.0, 1518.0), ("atm", 106.0, 1696.0), ("ptm", 65.0, 1542.0)] {
        let mut b = bench(&[
            ("rate", "8Mbps"),
            ("burst", "0B"),
            ("overhead", "18B"),
            ("mpu", "64B"),
            ("framing", framing),
        ]);
        for (id, bytes) in [40, 1500, 40].into_iter().enumerate() {
            b.arrive(packet(id as u64, bytes));
        }
        assert_eq!(departures(&mut b), [0.0, small, small + large], "{framing}");
    }
}

/// A packet of 60 times the bucket leaves, and what is behind waits until all of it is paid.
#[test]
fn a_packet_longer_than_the_bucket_leaves_a_debt() {
    let mut b = bench(&[("rate", "8Mbps"), ("burst", "1000B")]);
    b.arrive(packet(0, 60_000));
    b.arrive(packet(1, 40));
    b.arrive(packet(2, 40));
    assert_eq!(departures(&mut b), [0.0, 59_000.0, 59_040.0]);
}

/// CoDel measures the wait for the shaper; PIE and the bench see the shaped rate, and a busy line.
#[test]
fn the_discipline_inside_sees_the_shaped_line() {
    struct Seen(std::rc::Rc<std::cell::RefCell<Vec<(u64, Option<u64>)>>>, u64);
    impl QueueDiscipline<TestPacket> for Seen {
        fn enqueue(&mut self, _p: TestPacket, line: &Line, _out: &mut dyn Out<TestPacket>) {
            self.1 += 1;
            self.0
                .borrow_mut()
                .push((line.rate.0, line.busy.map(|w| w.until.0 / 1000)));
        }
        fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<TestPacket>) -> Service<TestPacket> {
            self.0.borrow_mut().push((line.now.0 / 1000, None));
            if self.1 == 0 {
                return Service::Empty;
            }
            self.1 -= 1;
            Service::Send(packet(7, 1000))
        }
        fn backlog(&self) -> Backlog {
            Backlog {
                packets: self.1,
                bytes: 0,
            }
        }
    }
    let seen = std::rc::Rc::new(std::cell::RefCell::new(vec![]));
    let made = seen.clone();
    let queue = Registry::<TestPacket>::standard().build_with(
        &settings(&[("rate", "8Mbps"), ("burst", "0B")]),
        context(1_000_000_000),
        &|s, at| {
            assert!(s.model.name == "htb" || at.rate == BitRate(8_000_000));
            (s.model.name == "droptail").then(|| Box::new(Seen(made.clone(), 0)) as Queue)
        },
    );
    let mut server = Server::new(queue.unwrap(), BitRate(1_000_000_000));
    let mut log = Log::default();
    server.arrive(packet(0, 1000), Time::ZERO, &mut log);
    server.arrive(packet(1, 1000), Time(500_000), &mut log);
    while server.advance(Time(9_000_000), &mut log).is_some() {}
    // A packet arrives on a free line and leaves. The next one arrives on a busy line and leaves at 1 ms. At 2 ms the
    // discipline hears that nothing waits.
    assert_eq!(
        *seen.borrow(),
        [
            (8_000_000, None),
            (0, None),
            (8_000_000, Some(1000)),
            (1000, None),
            (2000, None)
        ]
    );
}

#[test]
fn drops_marks_and_probes_are_those_of_the_discipline_inside() {
    let codel = "{ kind = codel, buffer = 50 packets, ecn = true }";
    let mut b = bench(&[("rate", "800kbps"), ("queue", codel)]);
    for id in 0..60 {
        b.arrive(packet(id, 1000).capable());
    }
    assert_eq!(b.log.drops(DropReason::Overflow), (50..60).collect::<Vec<_>>());
    departures(&mut b);
    assert!(b.log.marked.len() > 3, "{:?}", b.log.marked);
    assert!(b.probe("count", 0) > 0.0);
    assert!(b.queue.view().is_some());
}

/// What this queue sends of packets of all sizes, on a line of 7 Mb/s that is a little overloaded: the packets in the
/// order sent, each with the start of its transmission, and how many were lost.
fn sent(queue: Queue) -> (Vec<(u64, Time)>, usize) {
    let mut server = Server::new(queue, BitRate(7_000_000));
    let (mut departures, mut log) = (vec![], Log::default());
    let (mut draw, mut now) = (Stream::new(3, "arrivals"), Time::ZERO);
    for id in 0..5000 {
        now += Duration(draw.below(1_650_000));
        while let Some((_, sent)) = server.advance(now, &mut log) {
            departures.extend(sent.map(|s| (s.packet.id, s.begin)));
        }
        let p = packet(id, 40 + draw.below(1460) as u32);
        departures.extend(server.arrive(p, now, &mut log).map(|s| (s.packet.id, s.begin)));
    }
    (departures, log.dropped.len())
}

/// With the rate of the line and no overhead a shaper with a bucket of a packet changes nothing. Without a bucket it
/// has no place for the rest of the nanosecond in which a debt is paid.
#[test]
fn at_the_rate_of_the_line_it_is_the_discipline_alone() {
    let shaped = |burst, buffer| {
        let queue = format!("{{ kind = droptail, buffer = {buffer} }}");
        sent(built(
            &[("rate", "7Mbps"), ("burst", burst), ("queue", &queue)],
            7_000_000,
        ))
    };
    let droptail = |buffer| {
        let s = Settings::defaults(registry::find("droptail").unwrap()).with("buffer", buffer);
        sent(registry::build(&s, context(7_000_000)).unwrap())
    };
    assert_eq!(shaped("1514B", "20 packets"), droptail("20 packets"));
    assert!(droptail("20 packets").1 > 100);
    let (shaped, droptail) = (shaped("0B", "unlimited").0, droptail("unlimited").0);
    assert!(shaped.len().abs_diff(droptail.len()) <= 1);
    // Each packet may add the rest of a nanosecond.
    for (i, ((a, at), (b, before))) in shaped.iter().zip(&droptail).enumerate() {
        assert!(
            a == b && at >= before && at.since(*before).0 <= i as u64,
            "{a} {at:?} {b} {before:?}"
        );
    }
}

/// With every discipline of the registry inside, and packets of all sizes: what is sent in ten seconds is the rate.
#[test]
fn every_discipline_is_held_to_the_rate() {
    for model in registry::models() {
        let mut inner = Settings::defaults(model);
        while let Some(p) = inner.missing() {
            inner = inner.with(p.name, if p.name == "rate" { "5Mbps" } else { "100 packets" });
        }
        let mut outer = settings(&[("rate", "5Mbps"), ("burst", "0B"), ("overhead", "20B")]);
        outer.set_models("queue", tailback_base::Value::Model(Box::new(inner)));
        let queue: Queue =
            registry::build(&outer, context(100_000_000)).unwrap_or_else(|e| panic!("{}: {e}", model.name));
        let mut all = ClosedLoop::new(queue, BitRate(100_000_000));
        for bytes in [200, 700, 1500] {
            all.window(10, bytes, Duration::from_millis(5));
        }
        all.run(Duration::from_millis(10_000));
        let sent_bytes: f64 = all
            .delays
            .iter()
            .zip([220.0, 720.0, 1520.0])
            .map(|(d, b)| d.len() as f64 * b)
            .sum();
        // A dropped packet does not come again, so the loop may run out of packets.
        if all.log.dropped.is_empty() {
            assert!(
                (sent_bytes * 8.0 / 5e7 - 1.0).abs() < 0.01,
                "{}: {sent_bytes}",
                model.name
            );
        }
        assert!(sent_bytes * 8.0 <= 1.01 * 5e7, "{}: {sent_bytes}", model.name);
    }
}

#[test]
fn the_rate_changes_and_the_discipline_keeps_its_packets() {
    let settings_with = |rate: &'static str| [("rate", rate), ("burst", "0B"), ("queue", "cake")];
    let mut b = bench(&settings_with("8Mbps"));
    for id in 0..4 {
        b.arrive(TestPacket::new(id, 0, 1000));
    }
    assert_eq!(b.serve(), Some(0));
    // CAKE itself takes no new values, and need not.
    b.queue.reconfigure(&settings(&settings_with("4Mbps"))).unwrap();
    assert_eq!(departures(&mut b), [2000.0, 4000.0, 6000.0]);
    let other = settings(&[("rate", "8Mbps"), ("queue", "{ kind = cake, interval = 50ms }")]);
    let e = b.queue.reconfigure(&other).unwrap_err();
    assert!(e.to_string().contains("cake"), "{e}");
    let mut b = bench(&[("rate", "8Mbps"), ("queue", "{ kind = droptail, buffer = 3 packets }")]);
    let more = settings(&[("rate", "8Mbps"), ("queue", "{ kind = droptail, buffer = 5 packets }")]);
    b.queue.reconfigure(&more).unwrap();
    for id in 0..9 {
        b.arrive(packet(id, 1000));
    }
    assert_eq!(b.backlog().packets, 5);
}

#[test]
fn a_shaper_in_a_shaper_holds_to_the_lower_rate() {
    let mut b = bench(&[
        ("rate", "8Mbps"),
        ("burst", "0B"),
        ("queue", "{ kind = htb, rate = 4Mbps, burst = 0B }"),
    ]);
    for id in 0..3 {
        b.arrive(packet(id, 1000));
    }
    assert_eq!(departures(&mut b), [0.0, 2000.0, 4000.0]);
}

#[test]
fn what_is_wrong_inside_is_said_with_its_place() {
    let refused = |queue: &str| {
        let s = settings(&[("rate", "8Mbps"), ("queue", queue)]);
        registry::build::<TestPacket>(&s, context(1)).err().unwrap().to_string()
    };
    assert!(refused("{ kind = red, min_threshold = 9 packets, max_threshold = 3 packets }").contains("threshold"));
    let s = Settings::defaults(&MODEL);
    let e = registry::build::<TestPacket>(&s, context(1)).err().unwrap();
    assert!(e.to_string().contains("htb needs rate"), "{e}");
}
