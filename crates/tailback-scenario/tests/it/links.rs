//! One link: the fused form of drop-tail against the simulated one, rate changes, and the statistics of a link against
//! their definitions.

use crate::common::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tailback_base::{BitRate, Duration, Ecn, Packet, Settings, Size, Stream, Time};
use tailback_queue::entry::{Arithmetic, StepRule};
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_queue::{Backlog, BuildContext, Line, Out, QueueDiscipline, Service, registry};
use tailback_sim::build::network::{Alters, Direction, Network, QueueChoice, Transport};
use tailback_sim::change::{Change, Schedule, Values};
use tailback_sim::results::table::Table;
use tailback_sim::traffic::application::AppInput;
use tailback_sim::wire::packet::SimPacket;
use tailback_transport::Amount;

/// What a random network is made of.
#[derive(Clone, Debug)]
struct Case {
    rates: [u64; 2],
    delays: [u64; 2],
    limits: [Size; 2],
    /// For each datagram flow: gaps and sizes.
    flows: Vec<Vec<(u64, u32)>>,
    tcp: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let limit = || {
        prop_oneof![
            (0..12_u64).prop_map(Size::Packets),
            (0..9000_u64).prop_map(Size::Bytes),
            Just(Size::Unlimited)
        ]
    };
    let delay = || prop_oneof![Just(0), Just(1_000_000), 0..3_000_000_u64];
    // Odd rates, whose transmission times are not whole, and even ones, that put events on a grid.
    let rate = || prop_oneof![Just(8_000_000), Just(7_000_003), 100_000..20_000_000_u64];
    // Gaps and sizes of few values make many ties.
    let packet = (
        prop_oneof![Just(0), Just(500_000), Just(1_000_000), 0..4_000_000_u64],
        prop_oneof![Just(500_u32), Just(1000), 1..1500_u32],
    );
    let flows = prop::collection::vec(prop::collection::vec(packet, 1..80), 1..5);
    (
        [rate(), rate()],
        [delay(), delay()],
        [limit(), limit()],
        flows,
        0..3_u32,
    )
        .prop_map(|(rates, delays, limits, flows, tcp)| Case {
            rates,
            delays,
            limits,
            flows,
            tcp,
        })
}

/// Everything there is to see of a run over two links in a row: when each datagram arrived, and the tables.
fn observe(c: &Case, fused: bool, step: Option<StepRule>) -> (Vec<(Time, AppInput)>, [Table; 3]) {
    let direction = |i: usize, size: Size| {
        let queue = match (fused, step) {
            (true, None) => QueueChoice::DropTail(size),
            (false, None) => QueueChoice::Discipline(Box::new(Fifo::new(size, DropTail))),
            (true, step) => QueueChoice::Computed(Arithmetic { limit: size, step }),
            (false, Some(step)) => QueueChoice::Discipline(red_step(size, step)),
        };
        Direction::new(BitRate(c.rates[i]), Duration(c.delays[i])).with(queue)
    };
    let mut net = Network::new(3);
    let [a, b, d] = ["a", "b", "d"].map(|n| net.node(n));
    net.link("ab", a, b, direction(0, c.limits[0]), direction(0, Size::Packets(20)));
    net.link("bd", b, d, direction(1, c.limits[1]), direction(1, Size::Packets(20)));
    let heard = log();
    let group = net.group("datagrams");
    for (i, packets) in c.flows.iter().enumerate() {
        let mut t = Time(1_000_000);
        let sends = packets.iter().map(|(gap, bytes)| {
            t += Duration(*gap);
            (t, *bytes)
        });
        let script = Script {
            heard: heard.clone(),
            ..Script::new(sends.collect())
        };
        // Every other flow joins at the second link; each third can be marked.
        let from = if i % 2 == 0 { a } else { b };
        let ecn = if i % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        let flow = net.flow(group, i as u32, from, d, Transport::Datagrams { ecn });
        net.feed(flow, Box::new(script), Time::ZERO, None, true);
    }
    let group = net.group("tcp");
    for i in 0..c.tcp {
        let ends = tcp_ends(&[
            ("min_rto", "50ms"),
            ("initial_rto", "50ms"),
            ("ecn", if i == 0 { "on" } else { "off" }),
        ]);
        let flow = net.flow(group, i, a, d, Transport::Connection(ends));
        net.feed(flow, Box::new(Transfer(Amount::Bytes(60_000))), Time::ZERO, None, false);
    }
    let mut built = build(net);
    built.sim.run_until(at(60_000));
    check_conservation(&built);
    let o = outcome(&built, at(60_000));
    let heard = heard.borrow().clone();
    (heard, ["flows", "links", "losses"].map(|t| o[t].clone()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Arithmetic or events, it is the same queue: every arrival at the same nanosecond, every count, time average and
    /// time in the queue the same, also when packets still wait at the end.
    #[test]
    fn fused_drop_tail_is_drop_tail(c in case()) {
        let (fused, explicit) = (observe(&c, true, None), observe(&c, false, None));
        prop_assert_eq!(fused.0, explicit.0);
        // NaN (no value) is not equal to itself, so tables are compared as text.
        for (a, b) in fused.1.iter().zip(&explicit.1) {
            for (x, y) in a.columns.iter().zip(&b.columns) {
                prop_assert_eq!(format!("{x:?}"), format!("{y:?}"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// So is a step, whether it marks or drops, below the limit and above it.
    #[test]
    fn a_computed_step_is_red(c in case(), threshold in 1..8_u64, marks in any::<bool>()) {
        let step = Some(StepRule { threshold, marks });
        let mut packets = c;
        packets.limits = packets.limits.map(|limit| match limit {
            Size::Packets(n) => Size::Packets(n.max(1)),
            Size::Bytes(n) => Size::Packets(n / 1000 + 1),
            Size::Unlimited => limit,
        });
        let (fused, explicit) = (observe(&packets, true, step), observe(&packets, false, step));
        prop_assert_eq!(fused.0, explicit.0);
        for (a, b) in fused.1.iter().zip(&explicit.1) {
            for (x, y) in a.columns.iter().zip(&b.columns) {
                prop_assert_eq!(format!("{x:?}"), format!("{y:?}"));
            }
        }
    }
}

/// RED as a step.
fn red_step(buffer: Size, step: StepRule) -> Box<dyn QueueDiscipline<SimPacket>> {
    let (threshold, marks) = (format!("{} packets", step.threshold), step.marks.to_string());
    let buffer = match buffer {
        Size::Packets(n) => format!("{n} packets"),
        Size::Bytes(n) => format!("{n}B"),
        Size::Unlimited => "unlimited".into(),
    };
    let settings = Settings::defaults(registry::find("red").unwrap())
        .with("profile", "step")
        .with("buffer", &buffer)
        .with("min_threshold", &threshold)
        .with("max_threshold", &threshold)
        .with("ecn", &marks);
    let context = BuildContext {
        stream: Stream::new(1, "step"),
        rate: mbps(8),
        delay: ms(1),
    };
    registry::build(&settings, context).unwrap()
}

/// 1000 B at 8 Mb/s take 1 ms, at 2 Mb/s 4 ms. The packet on the line when the rate changes keeps its time.
#[test]
fn a_rate_change_takes_effect_with_the_next_packet() {
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    let mut there = drop_tail(mbps(8), ms(5), Size::Unlimited);
    // The last change comes while the line is idle.
    let change = Change {
        to: Values::Rate([2, 4, 1].map(mbps).to_vec()),
        when: Schedule::At(vec![Time(3_500_000), at(13), at(50)]),
    };
    there.alters = Some(Box::new(Alters {
        changes: vec![change],
        trace: None,
    }));
    let link = net.link("ab", a, b, there, wire(ms(5)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, DATAGRAMS);
    let script = Script::new([vec![(at(1), 1000); 8], vec![(at(60), 1000)]].concat());
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, true);
    let mut built = build(net);
    built.sim.run_until(at(100));
    // On the line from 1, 2, 3 (1 ms each), 4, 8, 12 (4 ms: at 13 the line is busy until 16), 16, 18 (2 ms); 60 (8 ms).
    let ends = [2, 3, 4, 8, 12, 16, 18, 20, 68];
    let got: Vec<Time> = heard.borrow().iter().map(|h| h.0).collect();
    assert_eq!(got, ends.map(|t| at(t + 5)));
    let result = outcome(&built, at(100));
    // A packet keeps its rate: 8 Mb/s until 4 ms, 2 until 16, 4 until 50, 1 until 100. That is 242 kbit; nine packets
    // have 72 kbit.
    assert!((of(&result["links"], "ab", "utilisation") - 72.0 / 242.0).abs() < 1e-12);
    assert_eq!(built.sim.conservation(built.port(link, false)).delivered, 9);
    check_conservation(&built);
}

/// 1000 B at 8 Mb/s take 1 ms. Three arrive while one is on the line and two find room: the oldest stored is dropped.
#[test]
fn wasted_is_what_was_stored_and_never_sent() {
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    let queue = Fifo::new(Size::Bytes(1700), tailback_queue::fifo::front_drop::FrontDrop);
    net.link("ab", a, b, line(mbps(8), ms(5), queue), wire(ms(5)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, DATAGRAMS);
    // 1000 goes on the line, 500 and 1000 wait, 1200 pushes both out; 2000 is larger than the buffer.
    let sends = [1000, 500, 1000, 1200, 2000].map(|bytes| (at(1), bytes));
    net.feed(flow, Box::new(Script::new(sends.to_vec())), Time::ZERO, None, false);
    let mut built = build(net);
    built.sim.run_until(at(100));
    let result = outcome(&built, at(100));
    assert_eq!(of(&result["links"], "ab", "wasted"), 1500.0 / 3700.0);
    assert_eq!([0, 1].map(|i| number(&result["losses"], "bytes", i)), [2000.0, 1500.0]);
    assert_eq!([0, 1].map(|i| number(&result["losses"], "packets", i)), [1.0, 2.0]);
    assert!(of(&result["links"], "ab.reverse", "wasted").is_nan(), "nothing stored");
}

/// A FIFO that writes down its length at each change, for an integral made by hand.
struct Witness {
    inner: Fifo<SimPacket, DropTail>,
    steps: Log<(Time, u64)>,
    sent_bytes: Rc<RefCell<u64>>,
}

impl QueueDiscipline<SimPacket> for Witness {
    fn enqueue(&mut self, p: SimPacket, line: &Line, out: &mut dyn Out<SimPacket>) {
        self.inner.enqueue(p, line, out);
        self.steps.borrow_mut().push((line.now, self.backlog().packets));
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        let answer = self.inner.dequeue(line, out);
        if let Service::Send(p) = &answer {
            *self.sent_bytes.borrow_mut() += u64::from(p.bytes());
        }
        self.steps.borrow_mut().push((line.now, self.backlog().packets));
        answer
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

/// The mean queue is the integral of its length over time, and utilisation the share of time the line sends: added up
/// step by step, with and without a cut, for the simulated and the computed queue.
#[test]
fn mean_queue_and_utilisation_are_what_they_say() {
    for cut in [Time::ZERO, at(700)] {
        let run = |queue: QueueChoice| {
            let mut net = Network::new(4);
            let (a, b) = (net.node("a"), net.node("b"));
            net.link("ab", a, b, Direction::new(mbps(8), ms(5)).with(queue), wire(ms(5)));
            let mut chance = net.stream("test");
            let mut t = Time(1_000_000);
            let sends = (0..2000).map(|_| {
                t += Duration(chance.exponential(1_050_000.0) as u64);
                (t, 1000)
            });
            let script = Script::new(sends.collect());
            let group = net.group("f");
            let flow = net.flow(group, 0, a, b, Transport::Datagrams { ecn: Ecn::NotEct });
            net.feed(flow, Box::new(script), Time::ZERO, None, false);
            let mut built = build(net);
            if cut > Time::ZERO {
                built.warm_up(cut);
            }
            let end = at(1900);
            built.sim.run_until(end);
            let o = outcome(&built, end);
            // `outcome` divides by the whole time.
            let seconds = (end - cut).seconds();
            let get = |c| of(&o["links"], "ab", c) * end.seconds() / seconds;
            (get("mean_queue_packets"), get("utilisation"))
        };
        let (steps, sent_bytes) = (log(), Rc::new(RefCell::new(0)));
        let inner = Fifo::new(Size::Packets(15), DropTail);
        let witness = Witness {
            inner,
            steps: steps.clone(),
            sent_bytes: sent_bytes.clone(),
        };
        let simulated = run(QueueChoice::Discipline(Box::new(witness)));
        let computed = run(QueueChoice::DropTail(Size::Packets(15)));
        let mut steps = steps.borrow().clone();
        steps.push((at(1900), 0));
        let area: f64 = steps
            .windows(2)
            .map(|w| w[0].1 as f64 * (w[1].0.max(cut) - w[0].0.max(cut)).seconds())
            .sum();
        let mean = area / (at(1900) - cut).seconds();
        assert!(
            (simulated.0 - mean).abs() < 1e-9 && (computed.0 - mean).abs() < 1e-9,
            "{simulated:?} {computed:?} {mean}"
        );
        assert!((simulated.1 - computed.1).abs() < 1e-12);
        if cut == Time::ZERO {
            // 1 ms for each packet; the one on the line at the end has been there for less.
            let sent = *sent_bytes.borrow() as f64 / 1000.0 * 0.001 / 1.9;
            assert!(
                simulated.1 <= sent + 1e-12 && simulated.1 > sent - 0.001 / 1.9,
                "{simulated:?} {sent}"
            );
        }
        assert!(mean > 1.0 && simulated.1 > 0.8);
    }
}
