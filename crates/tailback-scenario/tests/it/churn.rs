//! Flows that come, go and change their addresses, and the queues that are told.

use crate::common::*;
use std::rc::Rc;
use tailback_base::{KeyField, Named, Packet, Settings, Size, Time};
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_queue::{Backlog, Line, Out, QueueDiscipline, Service};
use tailback_sim::build::network::Network;
use tailback_sim::traffic::application::Application;
use tailback_sim::traffic::entry::{Context, Entry, Streams};
use tailback_sim::traffic::packet_sizes::Fixed;
use tailback_sim::traffic::{cbr, churn};
use tailback_sim::wire::packet::SimPacket;

/// A FIFO that notes the flows it is told of: when, whose, the label, and whether it joins.
struct Told {
    fifo: Fifo<SimPacket, DropTail>,
    heard: Log<(Time, u32, u64, bool)>,
    labels: Log<(Time, u64)>,
}

impl QueueDiscipline<SimPacket> for Told {
    fn enqueue(&mut self, p: SimPacket, line: &Line, out: &mut dyn Out<SimPacket>) {
        self.labels.borrow_mut().push((line.now, p.key(KeyField::Label)));
        self.fifo.enqueue(p, line, out);
    }
    fn flow_joined(&mut self, p: &SimPacket, now: Time) {
        self.heard
            .borrow_mut()
            .push((now, p.flow().0, p.key(KeyField::Label), true));
    }
    fn flow_left(&mut self, p: &SimPacket, now: Time) {
        self.heard
            .borrow_mut()
            .push((now, p.flow().0, p.key(KeyField::Label), false));
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        self.fifo.dequeue(line, out)
    }
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

type Heard = (Log<(Time, u32, u64, bool)>, Log<(Time, u64)>);

/// One line, told of its flows.
fn line_with_ears(net: &mut Network) -> Heard {
    let (heard, labels) = (log(), log());
    let told = Told {
        fifo: Fifo::new(Size::Unlimited, DropTail),
        heard: Rc::clone(&heard),
        labels: Rc::clone(&labels),
    };
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, line(mbps(100), ms(5), told), wire(ms(5)));
    (heard, labels)
}

/// A source of datagrams of one size.
fn source(entry: &Entry, settings: &[(&str, &str)], bytes: u32) -> Box<dyn Application> {
    let settings = settings
        .iter()
        .fold(Settings::defaults(entry.model), |s, (name, text)| s.with(name, text));
    let context = Context {
        index: 0,
        sizes: &|| Box::new(Fixed(bytes)),
        header: 0,
        connection: false,
        segment: 1,
        deadline: tailback_sim::measure::quality::DEADLINE,
        streams: Streams(Named::new(1).text("churn")),
        group: &Default::default(),
    };
    (entry.build)(&settings, context)
}

#[test]
fn a_queue_is_told_of_flows_before_their_first_packet_and_after_their_last() {
    let mut net = Network::new(1);
    let (heard, labels) = line_with_ears(&mut net);
    let (a, b) = (net.node("a"), net.node("b"));
    let group = net.group("f");
    // The last one would start after its stop: it is never there.
    let times = [(0, None), (30, None), (0, Some(at(50))), (60, Some(at(40)))];
    for (i, (start, stop)) in times.into_iter().enumerate() {
        let flow = net.flow(group, i as u32, a, b, DATAGRAMS);
        net.set_label(flow, 70 + i as u32);
        let cbr = source(&cbr::ENTRY, &[("rate", "1Mbps")], 1000);
        net.feed(flow, cbr, at(start), stop, false);
    }
    let mut built = build(net);
    let start: Vec<_> = heard.borrow().clone();
    assert_eq!(
        start,
        [(at(0), 0, 70, true), (at(0), 2, 72, true)],
        "what starts with the run is there before it"
    );
    built.sim.run_until(at(100));
    assert_eq!(heard.borrow()[2..], [(at(30), 1, 71, true), (at(50), 2, 72, false)]);
    let of = |label| {
        let labels = labels.borrow();
        let times: Vec<Time> = labels.iter().filter(|l| l.1 == label).map(|l| l.0).collect();
        (times[0], *times.last().unwrap())
    };
    assert_eq!((of(71).0, of(72).1), (at(30), at(48)));
    assert!(labels.borrow().iter().all(|l| l.1 != 73));
}

/// A packet every 12 ms on the mean, an address every 0.5 s on the mean, for 2000 s.
#[test]
fn packets_stay_poisson_and_addresses_are_kept_for_exponential_times() {
    let mut net = Network::new(3);
    let (heard, labels) = line_with_ears(&mut net);
    let (a, b) = (net.node("a"), net.node("b"));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, DATAGRAMS);
    let churn = source(&churn::ENTRY, &[("rate", "1Mbps"), ("mean_hold", "500ms")], 1500);
    net.feed(flow, churn, Time::ZERO, None, false);
    let mut built = build(net);
    built.sim.run_until(at(2_000_000));
    let gaps = |times: Vec<Time>| -> (f64, f64, f64) {
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]).seconds()).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let var = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n;
        (n, mean, var.sqrt() / mean)
    };
    let heard = heard.borrow();
    let joins: Vec<Time> = heard.iter().filter(|h| h.3).map(|h| h.0).collect();
    for (what, times, expected) in [
        ("packets", labels.borrow().iter().map(|l| l.0).collect(), 0.012),
        ("addresses", joins, 0.5),
    ] {
        // An exponential gap has sd = mean; both are estimated to some 1/sqrt(n).
        let (n, mean, cv) = gaps(times);
        let tolerance = 4.0 / f64::sqrt(n);
        assert!((mean / expected - 1.0).abs() < tolerance, "{what}: {mean} s");
        assert!((cv - 1.0).abs() < 2.0 * tolerance, "{what}: {cv}");
    }
    // What is told alternates, and packets carry the label told last.
    for pair in heard.windows(2) {
        assert!(pair[0].3 != pair[1].3);
        assert!(pair[1].3 || pair[0].2 == pair[1].2, "it leaves as it came");
    }
    let now = |t: Time| heard[heard.partition_point(|h| h.0 <= t) - 1].2;
    for (t, label) in labels.borrow().iter() {
        assert_eq!(*label, now(*t));
    }
}

#[test]
fn instants_in_random_order_are_the_same_instants() {
    let run = |order: &str| {
        let text = format!(
            r#"
duration = "3s"
topology = {{ kind = "dumbbell", rate = "100Mbps", delay = "5ms", queue = "droptail" }}
[flows.few]
count = 40
start = {{ kind = "poisson", mean_gap = "20ms", order = "{order}" }}
traffic = {{ kind = "churn", rate = "100kbps" }}
transport = "udp"
"#
        );
        let o = run_text(&text);
        (0..40).map(|i| number(&o["flows"], "start_s", i)).collect::<Vec<f64>>()
    };
    let (plain, random) = (run("index"), run("random"));
    assert!(plain.is_sorted() && !random.is_sorted());
    let mut sorted = random.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, plain);
}
