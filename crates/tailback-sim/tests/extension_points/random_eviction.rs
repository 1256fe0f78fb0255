//! An admission in front of a scheduler of several queues: when the buffer is full it draws one of all stored packets
//! and evicts it, whichever queue it waits in.
//!
//! Shows: `Admission`, `Waiting::draw` and `evict`, and `Admitted` over the port of DRR; a user's own random stream.

use crate::common::*;
use tailback_base::{Packet, Size, Stream, Time};
use tailback_queue::Admitted;
use tailback_queue::admission::{Admission, Decision, Exit, Waiting};
use tailback_queue::pieces::classify::per_flow::PerFlow;
use tailback_queue::pieces::drop::longest::Longest;
use tailback_queue::pieces::index::length_index::Tie;
use tailback_queue::pieces::port::Port;
use tailback_queue::pieces::schedule::drr::Drr;
use tailback_queue::pieces::store::Unit;
use tailback_queue::{Backlog, DropReason, Line, Out};
use tailback_sim::build::network::Network;

/// Evicts at random; keeps, for each flow, how many it evicted, and how many packets it let in that are still there.
struct Roulette {
    stream: Stream,
    evicted: Log<u32>,
    inside: u64,
}

impl<P: Packet> Admission<P> for Roulette {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        while queue.backlog().packets > 0 && !queue_has_room(queue, p) {
            let Some(victim) = queue.draw(&mut self.stream) else {
                break;
            };
            let flow = queue.get(victim).map_or(u32::MAX, |v| v.flow().0);
            queue.evict(victim, DropReason::Penalty);
            self.evicted.borrow_mut().push(flow);
        }
        self.inside += 1;
        Decision::Store
    }
    fn left(&mut self, _p: &P, _how: Exit, _rest: Backlog, _line: &Line) {
        self.inside -= 1;
    }
}

/// A port that pushes out always says it fits; the admission wants to choose the victim itself.
fn queue_has_room<P: Packet>(queue: &Waiting<'_, P>, _p: &P) -> bool {
    matches!(queue.limit(), Size::Packets(n) if queue.backlog().packets < n)
}

#[test]
fn evictions_follow_the_shares_of_the_buffer() {
    let evicted = log();
    let roulette = Roulette {
        stream: Stream::new(1, "roulette"),
        evicted: evicted.clone(),
        inside: 0,
    };
    let limit = 60;
    let policy = Longest::new(Unit::Packets, Tie::Lowest, Stream::new(1, "unused"));
    let port = Port::new(Size::Packets(limit), PerFlow::new(), Drr::new(1000), policy);
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    let link = net.link(
        "ab",
        a,
        b,
        line(mbps(8), ms(5), Admitted::new(roulette, port)),
        wire(ms(5)),
    );
    // 1000 B take 1 ms. Flow 0 offers three packets a line time, flow 1 one, flow 2 a quarter of one.
    let group = net.group("f");
    let mut expected = 0;
    for (i, gap_us) in [333, 1000, 4000].into_iter().enumerate() {
        let flow = net.flow(group, i as u32, a, b, DATAGRAMS);
        let gap = tailback_base::Duration::from_micros(gap_us);
        let first = 1 + i as u64;
        let n = (9_990 - first) * 1000 / gap_us + 1;
        expected += n;
        let script = Script::regular(at(first), gap, n, 1000);
        net.feed(flow, Box::new(script), Time::ZERO, None, false);
    }
    let mut built = build(net);
    built.sim.run_until(at(9_990));

    let packets = built.sim.conservation(built.port(link, false));
    // From 1 ms on the line never rests; the wire holds five packets, the line one.
    assert_eq!(packets.arrived, expected);
    assert_eq!(packets.delivered, 9984);
    assert_eq!(packets.inside, limit + 1 + 5);
    assert_eq!(packets.dropped, evicted.borrow().len() as u64, "nobody else dropped");
    let result = outcome(&built, at(9_990));
    assert_eq!(lost(&result, "ab", "penalty"), packets.dropped as f64);
    assert_eq!(of(&result["links"], "ab", "max_queue_packets"), limit as f64);
    // DRR gives each flow its share of the line, but who has few packets in the buffer is seldom drawn: flow 2, within
    // its share of a third, keeps nearly all, flow 0 loses most.
    let share = |flow: u32| evicted.borrow().iter().filter(|f| **f == flow).count() as f64 / packets.dropped as f64;
    assert!(
        share(0) > 0.7 && share(2) < 0.02,
        "{} {} {}",
        share(0),
        share(1),
        share(2)
    );
    check_conservation(&built);
}
