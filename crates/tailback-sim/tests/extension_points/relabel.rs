//! A flow that changes its destination label while it runs, and disciplines that classify by it.
//!
//! Shows: `Net::relabel`; `KeyField::Label` read by a discipline of one's own and by the hash of a several-queue port.

use crate::common::*;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, KeyField, Packet, Settings, Stream, Time};
use tailback_queue::BuildContext;
use tailback_queue::registry;
use tailback_queue::{Backlog, Line, Out, QueueDiscipline, Service};
use tailback_sim::build::network::Network;
use tailback_sim::traffic::application::{AppInput, Application, Net};
use tailback_sim::wire::packet::SimPacket;

/// Two queues; the one for packets with this label always goes first.
struct Privilege {
    label: u64,
    queues: [VecDeque<SimPacket>; 2],
}

impl QueueDiscipline<SimPacket> for Privilege {
    fn enqueue(&mut self, p: SimPacket, _line: &Line, _out: &mut dyn Out<SimPacket>) {
        self.queues[usize::from(p.key(KeyField::Label) != self.label)].push_back(p);
    }
    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        let [first, second] = &mut self.queues;
        first
            .pop_front()
            .or_else(|| second.pop_front())
            .map_or(Service::Empty, Service::Send)
    }
    fn backlog(&self) -> Backlog {
        let all = || self.queues.iter().flatten();
        Backlog {
            packets: all().count() as u64,
            bytes: all().map(|p| u64::from(p.bytes())).sum(),
        }
    }
}

/// Sends `before` packets, changes its label, sends `after` more, all at one instant.
struct Turncoat {
    before: u32,
    label: u32,
    after: u32,
    heard: Log<(Time, u32)>,
}

impl Application for Turncoat {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match (e, net.own_flow()) {
            (AppInput::Start, Some(flow)) => {
                (0..self.before).for_each(|_| net.datagram(flow, 1000, 0));
                net.relabel(flow, self.label);
                (0..self.after).for_each(|_| net.datagram(flow, 500, 0));
            }
            (AppInput::Datagram { bytes, .. }, _) => self.heard.borrow_mut().push((net.now(), bytes)),
            _ => {}
        }
    }
}

/// The arrivals of six packets of 1000 B and, relabelled, three of 500 B over 1 Mb/s.
fn arrivals(queue: impl QueueDiscipline<SimPacket> + 'static) -> Vec<(Time, u32)> {
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, line(BitRate(1_000_000), Duration::ZERO, queue), wire(ms(5)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, DATAGRAMS);
    let heard = log();
    let app = Turncoat {
        before: 6,
        label: 77,
        after: 3,
        heard: heard.clone(),
    };
    net.feed(flow, Box::new(app), at(100), None, true);
    let mut built = build(net);
    built.sim.run_until(at(1000));
    check_conservation(&built);

    heard.borrow().clone()
}

#[test]
fn what_is_relabelled_goes_first() {
    let got = arrivals(Privilege {
        label: 77,
        queues: Default::default(),
    });
    // The first packet is on the line already; then the three with the label, 4 ms each; then the others, 8 ms each.
    let expected = [
        (108, 1000),
        (112, 500),
        (116, 500),
        (120, 500),
        (128, 1000),
        (136, 1000),
        (144, 1000),
        (152, 1000),
        (160, 1000),
    ];
    assert_eq!(got, expected.map(|(t, bytes)| (at(t), bytes)));
}

/// DRR that hashes the label has a queue for each label, so the relabelled packets do not wait behind the others.
#[test]
fn a_hash_of_the_label_sees_it() {
    let drr = |key: &str| {
        let settings = [
            ("mapper", "hash"),
            ("queues", "1000"),
            ("hash_key", key),
            ("quantum", "1000B"),
        ]
        .iter()
        .fold(
            Settings::defaults(registry::find("drr").expect("drr")),
            |s, (name, text)| s.with(name, text),
        );
        let context = BuildContext {
            stream: Stream::new(1, "drr"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        registry::build::<SimPacket>(&settings, context).unwrap_or_else(|e| panic!("{e}"))
    };
    let sizes = |key| arrivals(drr(key)).iter().map(|a| a.1).collect::<Vec<u32>>();
    assert_eq!(
        sizes("destination"),
        [1000, 1000, 1000, 1000, 1000, 1000, 500, 500, 500],
        "one queue"
    );
    // Turns of 1000 B: one large packet, or two small ones.
    assert_eq!(
        sizes("label"),
        [1000, 1000, 500, 500, 1000, 500, 1000, 1000, 1000],
        "two queues in turn"
    );
}
