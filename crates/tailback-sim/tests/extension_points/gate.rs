//! A discipline that holds packets for a while, and one that wants to be called at a time of its own choosing.
//!
//! Shows: `Service::Wait` ("packets are stored, but none may leave before t"), `next_timer` and `on_timer`; a timer may
//! be put off as often as one likes; the line is asked again when either falls due.

use crate::common::*;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, Packet, Time};
use tailback_queue::{Backlog, DropReason, Line, Out, Place, QueueDiscipline, Service};
use tailback_sim::build::network::Network;
use tailback_sim::traffic::application::AppInput;
use tailback_sim::wire::packet::SimPacket;

/// A gate that opens every `period` for the first `open` of it (a time slot of a shared medium).
struct Slotted {
    waiting: VecDeque<SimPacket>,
    period: Duration,
    open: Duration,
}

impl QueueDiscipline<SimPacket> for Slotted {
    fn enqueue(&mut self, p: SimPacket, _line: &Line, _out: &mut dyn Out<SimPacket>) {
        self.waiting.push_back(p);
    }
    fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        let phase = line.now.0 % self.period.0;
        if self.waiting.is_empty() {
            Service::Empty
        } else if phase < self.open.0 {
            self.waiting.pop_front().map_or(Service::Empty, Service::Send)
        } else {
            Service::Wait(Time(line.now.0 - phase + self.period.0))
        }
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|p| u64::from(p.bytes())).sum();
        Backlog {
            packets: self.waiting.len() as u64,
            bytes,
        }
    }
}

/// Holds packets until none has come for `quiet`, then lets all go; gives up what is older than `patience`. The timer
/// is put off by every arrival.
struct Coalesce {
    waiting: VecDeque<SimPacket>,
    quiet: Duration,
    flush_at: Option<Time>,
    open: bool,
    calls: Log<Time>,
}

impl QueueDiscipline<SimPacket> for Coalesce {
    fn enqueue(&mut self, p: SimPacket, line: &Line, out: &mut dyn Out<SimPacket>) {
        if self.waiting.len() == 4 {
            return out.dropped(p, Place::Arriving, DropReason::Overflow);
        }
        self.waiting.push_back(p);
        (self.flush_at, self.open) = (Some(line.now + self.quiet), false);
    }
    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        match (self.open, self.flush_at) {
            (true, _) => self.waiting.pop_front().map_or(Service::Empty, Service::Send),
            (false, Some(t)) => Service::Wait(t),
            (false, None) => Service::Empty,
        }
    }
    fn next_timer(&self) -> Option<Time> {
        self.flush_at
    }
    fn on_timer(&mut self, line: &Line, _out: &mut dyn Out<SimPacket>) {
        self.calls.borrow_mut().push(line.now);
        (self.flush_at, self.open) = (None, true);
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|p| u64::from(p.bytes())).sum();
        Backlog {
            packets: self.waiting.len() as u64,
            bytes,
        }
    }
}

/// Times at which datagrams of 1000 B, sent at these milliseconds over 1 Mb/s and 5 ms, arrive. Checks that no packet
/// is lost.
fn through(queue: impl QueueDiscipline<SimPacket> + 'static, sends: &[u64]) -> (Vec<Time>, u64) {
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    let link = net.link("ab", a, b, line(BitRate(1_000_000), ms(5), queue), wire(ms(5)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, DATAGRAMS);
    let script = Script::new(sends.iter().map(|t| (at(*t), 1000)).collect());
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, true);
    let mut built = build(net);
    built.sim.run_until(at(10_000));
    check_conservation(&built);
    let times = heard
        .borrow()
        .iter()
        .filter(|h| matches!(h.1, AppInput::Datagram { .. }))
        .map(|h| h.0)
        .collect();
    (times, built.sim.conservation(built.port(link, false)).dropped)
}

/// Slots [0, 20), [100, 120), ... A packet takes 8 ms, so starts at 0, 8 and 16 ms fit into each.
#[test]
fn nothing_leaves_before_the_gate_opens() {
    let queue = Slotted {
        waiting: VecDeque::new(),
        period: ms(100),
        open: ms(20),
    };
    // Five at once, one into the closed gate, one into the open gate of an idle line.
    let (times, dropped) = through(queue, &[1, 1, 1, 1, 1, 150, 305]);
    let starts = [1, 9, 17, 100, 108, 200, 305];
    assert_eq!(times, starts.map(|s| at(s + 8 + 5)));
    assert_eq!(dropped, 0);
}

#[test]
fn a_timer_that_is_put_off_is_called_once_and_on_time() {
    let calls = log();
    let queue = Coalesce {
        waiting: VecDeque::new(),
        quiet: ms(50),
        flush_at: None,
        open: false,
        calls: calls.clone(),
    };
    // Each arrival puts the flush off to 50 ms later; the last of the burst comes at 90 ms, and is one too many.
    let (times, dropped) = through(queue, &[10, 30, 50, 70, 90, 500]);
    assert_eq!(*calls.borrow(), [at(120), at(550)], "not at 60, 80, 100");
    assert_eq!(times, [120, 128, 136, 144, 550].map(|s| at(s + 8 + 5)));
    assert_eq!(dropped, 1);
}

/// While a gate is closed, arrivals ask again and again; that is one event, not one for each.
#[test]
fn asking_often_does_not_fill_the_event_list() {
    let queue = Slotted {
        waiting: VecDeque::new(),
        period: ms(1000),
        open: ms(1),
    };
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, line(mbps(1000), ms(5), queue), wire(ms(5)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, DATAGRAMS);
    net.feed(
        flow,
        Box::new(Script::regular(at(2), Duration(10_000), 50_000, 100)),
        Time::ZERO,
        None,
        false,
    );
    let mut built = build(net);
    built.sim.run_until(at(400));
    assert!(built.sim.pending_events() < 10, "{} events", built.sim.pending_events());
    check_conservation(&built);
}
