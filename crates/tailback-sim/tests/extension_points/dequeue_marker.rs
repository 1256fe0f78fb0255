//! A discipline that acts when a packet leaves: what waited too long is dropped, what waited long is marked.
//!
//! Shows: the discipline owns its packets; `dequeue` may drop and mark before it answers; a packet's stamp is its
//! arrival. The last test drives the same type with a plain loop that is no simulator.

use crate::common::*;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, Ecn, Packet, Time};
use tailback_queue::testing::{Log as Reports, TestPacket};
use tailback_queue::{Backlog, DropReason, Line, MarkReason, Out, Place, QueueDiscipline, Service};
use tailback_sim::build::network::{Network, Transport};
use tailback_sim::traffic::application::AppInput;

/// A FIFO that judges a packet by its time in the queue.
pub struct Sojourn<P> {
    waiting: VecDeque<P>,
    mark_after: Duration,
    drop_after: Duration,
}

impl<P: Packet> Sojourn<P> {
    pub fn new(mark_after: Duration, drop_after: Duration) -> Sojourn<P> {
        Sojourn {
            waiting: VecDeque::new(),
            mark_after,
            drop_after,
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for Sojourn<P> {
    fn enqueue(&mut self, mut p: P, line: &Line, _out: &mut dyn Out<P>) {
        p.set_stamp(line.now);
        self.waiting.push_back(p);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        while let Some(mut p) = self.waiting.pop_front() {
            let sojourn = line.now - p.stamp();
            if sojourn > self.drop_after {
                out.dropped(p, Place::Dequeued, DropReason::Sojourn);
                continue;
            }
            if sojourn > self.mark_after && p.ecn() != Ecn::NotEct {
                p.set_ce();
                out.marked(&p, MarkReason::Sojourn);
            }
            return Service::Send(p);
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

/// 1000 B at 1 Mb/s take 8 ms. Ten that come at once wait 0, 8, 16 ... 32 ms, and those left then wait longer than 36
/// ms.
#[test]
fn it_marks_and_drops_what_the_clock_says() {
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    let queue = Sojourn::new(ms(20), ms(36));
    let link = net.link("ab", a, b, line(BitRate(1_000_000), ms(5), queue), wire(ms(5)));
    let group = net.group("burst");
    let flow = net.flow(group, 0, a, b, Transport::Datagrams { ecn: Ecn::Ect0 });
    let script = Script::new(vec![(at(1), 1000); 10]);
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, true);
    let mut built = build(net);
    built.sim.run_until(at(200));

    let arrivals: Vec<Time> = heard.borrow().iter().map(|h| h.0).collect();
    assert_eq!(
        arrivals,
        [14, 22, 30, 38, 46].map(at),
        "8 ms on the line for each, 5 ms on the wire"
    );
    let result = outcome(&built, at(200));
    assert_eq!(
        lost(&result, "ab", "sojourn"),
        5.0 + 2.0,
        "five drops; marks after 24 and 32 ms"
    );
    assert_eq!(of(&result["links"], "ab", "dropped_packets"), 5.0);
    assert_eq!(of(&result["links"], "ab", "marked_packets"), 2.0);
    let packets = built.sim.conservation(built.port(link, false));
    assert_eq!((packets.arrived, packets.delivered, packets.dropped), (10, 5, 5));
    check_conservation(&built);
}

/// Arrivals of one flow at a line: time in ns and size.
fn arrivals() -> Vec<(Time, u32)> {
    let mut x = 12345_u64;
    let mut t = 0;
    let mut next = |n: u64| {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 33) % n
    };
    let mut list = Vec::new();
    while list.len() < 3000 {
        // Bursts with gaps of up to 0.9 ms, then silences of up to 10 s.
        t += if next(50) == 0 {
            next(10_000_000_000)
        } else {
            next(900_000)
        };
        list.push((Time(t), 100 + next(1400) as u32));
    }
    list
}

/// A driver with a heart beat instead of events: it wakes at irregular times, often late, and then catches up with what
/// the line did since. It asks at the same instants as the simulator, so it must hear the same answers.
#[test]
fn a_plain_loop_gets_the_same_decisions_as_the_simulator() {
    let (rate, list) = (mbps(10), arrivals());
    let horizon = list
        .last()
        .map(|l| l.0 + Duration::from_seconds(5.0))
        .unwrap_or(Time::ZERO);

    let mut queue = Sojourn::<TestPacket>::new(ms(3), ms(8));
    let mut reports = Reports::default();
    let (mut sent, mut free_at, mut next, mut beat) = (Vec::new(), Time::ZERO, 0, Time::ZERO);
    while beat < horizon {
        beat += Duration(1 + (beat.0 * 7919 + 13) % 900_000_000);
        while next < list.len() && list[next].0 <= beat {
            let (now, bytes) = list[next];
            drain(&mut queue, rate, &mut free_at, now, &mut reports, &mut sent);
            let packet = TestPacket {
                sequence: next as u64,
                ..TestPacket::new(next as u64, 0, bytes).capable()
            };
            queue.enqueue(packet, &Line::idle(now, rate), &mut reports);
            if free_at <= now {
                free_at = now;
                drain(&mut queue, rate, &mut free_at, now, &mut reports, &mut sent);
            }
            next += 1;
        }
        drain(&mut queue, rate, &mut free_at, beat, &mut reports, &mut sent);
    }

    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, line(rate, ms(5), Sojourn::new(ms(3), ms(8))), wire(ms(5)));
    let group = net.group("same");
    let flow = net.flow(group, 0, a, b, Transport::Datagrams { ecn: Ecn::Ect0 });
    let script = Script::new(list);
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, true);
    let mut built = build(net);
    built.sim.run_until(horizon);

    let simulated: Vec<(Time, u32)> = heard
        .borrow()
        .iter()
        .filter_map(|(t, e)| match e {
            AppInput::Datagram { bytes, .. } => Some((*t, *bytes)),
            _ => None,
        })
        .collect();
    let looped: Vec<(Time, u32)> = sent.iter().map(|(end, bytes)| (*end + ms(5), *bytes)).collect();
    assert_eq!(simulated, looped);
    let result = outcome(&built, horizon);
    assert_eq!(
        of(&result["links"], "ab", "dropped_packets"),
        reports.dropped.len() as f64
    );
    assert_eq!(
        of(&result["links"], "ab", "marked_packets"),
        reports.marked.len() as f64
    );
    assert!(
        reports.dropped.len() > 100 && reports.marked.len() > 100,
        "both were exercised"
    );
    check_conservation(&built);
}

/// What the line did up to `until`: at the end of each transmission the next packet was asked for.
fn drain(
    queue: &mut Sojourn<TestPacket>,
    rate: BitRate,
    free_at: &mut Time,
    until: Time,
    reports: &mut Reports<TestPacket>,
    sent: &mut Vec<(Time, u32)>,
) {
    while *free_at <= until && queue.backlog().packets > 0 {
        let Service::Send(p) = queue.dequeue(&Line::idle(*free_at, rate), reports) else {
            break;
        };
        *free_at += rate.time_of(u64::from(p.bytes));
        sent.push((*free_at, p.bytes));
    }
}
