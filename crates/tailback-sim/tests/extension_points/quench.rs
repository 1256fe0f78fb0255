//! A discipline that sends a control packet back to a source that reacts (source quench, explicit requests).
//!
//! Shows: `Out::request`; an endpoint of a user's own with `on_request`; a datagram application that hears
//! `AppInput::Request`. The control packet is a packet of 40 bytes: it takes the links back to the source, with their
//! transmission and propagation times.

use crate::common::*;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, Packet, Request, Time};
use tailback_queue::{Backlog, DropReason, Line, Out, Place, QueueDiscipline, Service};
use tailback_sim::build::network::{Built, Direction, FlowHandle, LinkId, Network, Transport};
use tailback_sim::traffic::application::AppInput;
use tailback_sim::wire::packet::SimPacket;
use tailback_transport::{Amount, AppEvents, Endpoint, Segment, Transmit};

/// Drop-tail that tells the source of a packet it dropped how many packets wait.
struct Quench {
    waiting: VecDeque<SimPacket>,
    limit: usize,
}

impl QueueDiscipline<SimPacket> for Quench {
    fn sends_requests(&self) -> bool {
        true
    }

    fn enqueue(&mut self, p: SimPacket, _line: &Line, out: &mut dyn Out<SimPacket>) {
        if self.waiting.len() < self.limit {
            return self.waiting.push_back(p);
        }
        out.request(
            &p,
            Request::Other {
                kind: 4,
                value: p.sequence() as f64,
            },
        );
        out.dropped(p, Place::Arriving, DropReason::Overflow);
    }
    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        self.waiting.pop_front().map_or(Service::Empty, Service::Send)
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|p| u64::from(p.bytes())).sum();
        Backlog {
            packets: self.waiting.len() as u64,
            bytes,
        }
    }
}

/// A sender of 1000-byte packets, `gap` apart, that doubles the gap when it is asked to.
struct Polite {
    gap: Duration,
    next_at: Time,
    left: u64,
    sent: Log<Time>,
    asked: Log<(Time, Request)>,
}

impl Endpoint for Polite {
    fn write(&mut self, n: Amount, now: Time) {
        if let Amount::Bytes(n) = n {
            (self.left, self.next_at) = (n / 1000, now);
        }
    }
    fn close(&mut self, _now: Time) {}
    fn on_segment(&mut self, _s: &Segment, _now: Time, _up: &mut dyn AppEvents) {}
    fn poll_transmit(&mut self, now: Time) -> Transmit {
        if self.left == 0 {
            return Transmit::Idle;
        }
        if now < self.next_at {
            return Transmit::NotBefore(self.next_at);
        }
        (self.left, self.next_at) = (self.left - 1, now + self.gap);
        self.sent.borrow_mut().push(now);
        Transmit::Segment(segment(self.sent.borrow().len() as u64, 1000))
    }
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}
    fn on_request(&mut self, r: Request, now: Time) {
        self.asked.borrow_mut().push((now, r));
        self.gap = Duration(2 * self.gap.0);
    }
}

/// A receiver that says nothing.
struct Deaf;

impl Endpoint for Deaf {
    fn write(&mut self, _n: Amount, _now: Time) {}
    fn close(&mut self, _now: Time) {}
    fn on_segment(&mut self, _s: &Segment, _now: Time, _up: &mut dyn AppEvents) {}
    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        Transmit::Idle
    }
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}
}

/// a --1 Mb/s, 3 ms-- b --2 Mb/s, 7 ms-- c --100 kb/s, 1 ms, Quench of `limit`-- d; a flow from a to d.
fn chain(limit: usize, transport: Transport) -> (Network, FlowHandle, LinkId) {
    let mut net = Network::new(1);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
    let both = |rate, delay| {
        (
            Direction::new(BitRate(rate), ms(delay)),
            Direction::new(BitRate(rate), ms(delay)),
        )
    };
    let (there, back) = both(1_000_000, 3);
    net.link("ab", a, b, there, back);
    let (there, back) = both(2_000_000, 7);
    net.link("bc", b, c, there, back);
    let queue = Quench {
        waiting: VecDeque::new(),
        limit,
    };
    let slow = net.link("cd", c, d, line(BitRate(100_000), ms(1), queue), wire(ms(1)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, d, transport);
    (net, flow, slow)
}

/// 1000 B take 8 ms on ab and 4 ms on bc; 40 B take 320 us and 160 us on the way back.
const THERE: Duration = Duration(8_000_000 + 3_000_000 + 4_000_000 + 7_000_000);
const BACK: Duration = Duration(160_000 + 7_000_000 + 320_000 + 3_000_000);

fn finish(net: Network, slow: LinkId) -> (Built, u64) {
    let mut built = build(net);
    built.sim.run_until(at(5000));
    check_conservation(&built);
    let dropped = built.sim.conservation(built.port(slow, false)).dropped;
    (built, dropped)
}

#[test]
fn a_request_reaches_the_endpoint_after_the_way_back() {
    let (sent, asked) = (log(), log());
    let source = Polite {
        gap: ms(10),
        next_at: Time::ZERO,
        left: 0,
        sent: sent.clone(),
        asked: asked.clone(),
    };
    let (mut net, flow, slow) = chain(1, Transport::Connection([Box::new(source), Box::new(Deaf)]));
    net.feed(flow, Box::new(Transfer(Amount::Bytes(20_000))), at(100), None, false);
    let (_, dropped) = finish(net, slow);
    let (sent, asked) = (sent.borrow(), asked.borrow());
    // One on the line for 80 ms and one in the queue: the third packet, sent at 120 ms, is the first to be dropped.
    assert_eq!(sent[..3], [100, 110, 120].map(at));
    assert_eq!(
        asked[0],
        (at(120) + THERE + BACK, Request::Other { kind: 4, value: 3.0 })
    );
    assert_eq!(asked.len() as u64, dropped, "one request for each drop");
    // It was on its way for 32.48 ms, in which packets at 130, 140 and 150 ms left. The gap that runs when it comes
    // is kept, the next is doubled.
    assert_eq!(sent[3..7], [130, 140, 150, 160].map(at));
    assert!(sent[7] >= at(180));
    assert_eq!(sent.len(), 20);
}

#[test]
fn a_datagram_application_hears_the_request_and_its_value() {
    let (mut net, flow, slow) = chain(1, DATAGRAMS);
    let script = Script::regular(at(100), ms(10), 5, 1000);
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, false);
    let (_, dropped) = finish(net, slow);
    let requests: Vec<(Time, AppInput)> = heard.borrow().clone();
    // Datagrams 2, 3 and 4 find the queue full.
    let sent = [120, 130, 140].map(at);
    assert_eq!((requests.len(), dropped), (3, 3));
    for (i, (heard_at, what)) in requests.iter().enumerate() {
        assert_eq!(*heard_at, sent[i] + THERE + BACK);
        let datagram = Request::Other {
            kind: 4,
            value: 2.0 + i as f64,
        };
        assert!(matches!(what, AppInput::Request { request, .. } if *request == datagram));
    }
}

/// A queue in the source's own host is not behind any link: what it asks is heard at once, and in order.
#[test]
fn several_requests_at_one_instant_arrive_in_order() {
    let mut net = Network::new(1);
    let (a, b, c) = (net.node("a"), net.node("b"), net.node("c"));
    net.link("ab", a, b, wire(ms(1)), wire(ms(1)));
    let tell_all = Deferred {
        waiting: VecDeque::new(),
    };
    net.link("bc", b, c, line(BitRate(1_000_000), ms(1), tell_all), wire(ms(1)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, c, DATAGRAMS);
    let script = Script::new(vec![(at(10), 1000); 4]);
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, false);
    let mut built = build(net);
    built.sim.run_until(at(1000));
    let values: Vec<f64> = heard
        .borrow()
        .iter()
        .filter_map(|(_, e)| match e {
            AppInput::Request {
                request: Request::Other { value, .. },
                ..
            } => Some(*value),
            _ => None,
        })
        .collect();
    assert_eq!(values, [1.0, 2.0, 3.0]);
    check_conservation(&built);
}

/// Sends the first packet it gets; when the line is free again, drops the rest and says so for each.
struct Deferred {
    waiting: VecDeque<SimPacket>,
}

impl QueueDiscipline<SimPacket> for Deferred {
    fn sends_requests(&self) -> bool {
        true
    }

    fn enqueue(&mut self, p: SimPacket, _line: &Line, _out: &mut dyn Out<SimPacket>) {
        self.waiting.push_back(p);
    }
    fn dequeue(&mut self, _line: &Line, out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        if let Some(p) = self.waiting.pop_front_if(|p| p.sequence() == 0) {
            return Service::Send(p);
        }
        for p in self.waiting.drain(..) {
            out.request(
                &p,
                Request::Other {
                    kind: 0,
                    value: p.sequence() as f64,
                },
            );
            out.dropped(p, Place::Dequeued, DropReason::Overload);
        }
        Service::Empty
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|p| u64::from(p.bytes())).sum();
        Backlog {
            packets: self.waiting.len() as u64,
            bytes,
        }
    }
}
