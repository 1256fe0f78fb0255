//! A discipline outside the simulator: arrivals recorded at a port in a run are offered to a [`Server`] again, and
//! every packet begins its transmission at the same instant.
//!
//! Shows: `Server` as the whole law of service, for a driver that has packets and instants and nothing else.

use crate::common::*;
use tailback_base::{BitRate, Settings, Stream, Time};
use tailback_queue::server::Sent;
use tailback_queue::testing::Log as Reports;
use tailback_queue::{Backlog, BuildContext, Line, Out, QueueDiscipline, Server, Service, registry};
use tailback_sim::build::network::Network;
use tailback_sim::wire::packet::SimPacket;

type Arrival = (Time, SimPacket);

/// Notes what comes and what goes.
struct Tap {
    queue: Box<dyn QueueDiscipline<SimPacket>>,
    came: Log<Arrival>,
    went: Log<(Time, u64)>,
}

impl QueueDiscipline<SimPacket> for Tap {
    fn enqueue(&mut self, p: SimPacket, line: &Line, out: &mut dyn Out<SimPacket>) {
        self.came.borrow_mut().push((line.now, p));
        self.queue.enqueue(p, line, out);
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        let answer = self.queue.dequeue(line, out);
        if let Service::Send(p) = &answer {
            self.went.borrow_mut().push((line.now, p.wire.seq()));
        }
        answer
    }
    fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }
    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<SimPacket>) {
        self.queue.on_timer(line, out);
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

const RATE: BitRate = BitRate(8_000_000);

fn discipline(kind: &str) -> Box<dyn QueueDiscipline<SimPacket>> {
    let settings = Settings::defaults(registry::find(kind).expect(kind)).with("buffer", "40 packets");
    let context = BuildContext {
        stream: Stream::new(1, "queue"),
        rate: RATE,
        delay: ms(5),
    };
    registry::build(&settings, context).unwrap_or_else(|e| panic!("{e}"))
}

/// Offer the arrivals to the discipline before a line of its own.
fn replay(queue: Box<dyn QueueDiscipline<SimPacket>>, arrivals: &[Arrival]) -> Vec<(Time, u64)> {
    let (mut server, mut reports, mut went) = (Server::new(queue, RATE), Reports::default(), vec![]);
    let mut note = |sent: Option<Sent<SimPacket>>| went.extend(sent.map(|s| (s.begin, s.packet.wire.seq())));
    for (at, p) in arrivals {
        while let Some((_, sent)) = server.advance(*at, &mut reports) {
            note(sent);
        }
        note(server.arrive(*p, *at, &mut reports));
    }
    while let Some((_, sent)) = server.advance(self::at(3_000), &mut reports) {
        note(sent);
    }
    went
}

#[test]
fn a_server_sends_what_the_simulator_sent_packet_for_packet() {
    for kind in ["red", "codel", "drr", "dsdrr", "fq", "decsel"] {
        let (came, went) = (log(), log());
        let tap = Tap {
            queue: discipline(kind),
            came: came.clone(),
            went: went.clone(),
        };
        let mut net = Network::new(1);
        let (a, b) = (net.node("a"), net.node("b"));
        net.link("ab", a, b, line(RATE, ms(5), tap), wire(ms(5)));
        let group = net.group("f");
        // Two flows that overload the line for a second, on the grid of its departures and off it.
        for (i, gap) in [1_500, 1_731].into_iter().enumerate() {
            let flow = net.flow(group, i as u32, a, b, DATAGRAMS);
            let gap = tailback_base::Duration::from_micros(gap);
            let script = Script::regular(at(i as u64), gap, 650, 1000 - 300 * i as u32);
            net.feed(flow, Box::new(script), Time::ZERO, None, false);
        }
        build(net).sim.run_until(at(3_000));
        assert!(came.borrow().len() == 1300 && went.borrow().len() > 500, "{kind}");
        assert_eq!(replay(discipline(kind), &came.borrow()), *went.borrow(), "{kind}");
    }
}
