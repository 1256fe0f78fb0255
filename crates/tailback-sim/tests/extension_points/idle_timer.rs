//! A discipline that acts by the clock alone: its timer runs from the start of the run, on a link that no packet
//! crosses.
//!
//! Shows: `next_timer` and `on_timer` of a queue before the first packet, for controllers such as PI and PIE, which
//! measure an idle line as well.

use crate::common::*;
use tailback_base::{Duration, Packet, Time};
use tailback_queue::{Backlog, Line, Out, QueueDiscipline, Service};
use tailback_sim::build::network::Network;

/// Notes every tick of its period.
struct Clockwork {
    period: Duration,
    next: Time,
    ticks: Log<Time>,
}

impl<P: Packet> QueueDiscipline<P> for Clockwork {
    fn enqueue(&mut self, _p: P, _line: &Line, _out: &mut dyn Out<P>) {
        unreachable!("no packet comes");
    }
    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<P>) -> Service<P> {
        Service::Empty
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }
    fn on_timer(&mut self, line: &Line, _out: &mut dyn Out<P>) {
        self.ticks.borrow_mut().push(line.now);
        self.next = line.now + self.period;
    }
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

#[test]
fn a_queue_s_clock_runs_without_traffic() {
    let ticks = log();
    let clockwork = Clockwork {
        period: ms(15),
        next: at(15),
        ticks: ticks.clone(),
    };
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, line(mbps(8), ms(5), clockwork), wire(ms(5)));
    build(net).sim.run_until(at(1_000));
    let expected: Vec<Time> = (1..=66).map(|i| at(15 * i)).collect();
    assert_eq!(*ticks.borrow(), expected);
}
