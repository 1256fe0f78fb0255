//! Changes during a run: the next value of a change takes effect.

use super::{Broken, Sim};
use crate::change::{Change, Values};
use crate::sim::flow::Carrier;
use crate::traffic::application::Side;
use crate::wire::event::EventKind;
use crate::wire::port::{Before, Queue};
use tailback_base::work::counted_as;
use tailback_base::{FlowId, Stream, Time};

/// The target of a change.
#[derive(Clone, Debug)]
pub(crate) enum Altered {
    Port(u32),
    /// The state of this port in routes.
    Routes(u32),
    /// A new congestion control draws its random numbers from `rng`.
    Flows {
        flows: Vec<u32>,
        rng: Stream,
    },
}

/// A change, and how many of its values have taken effect.
pub(crate) struct Planned {
    of: Altered,
    change: Change,
    done: usize,
}

impl Planned {
    fn next(&self) -> Option<Time> {
        self.change.when.nth(self.done)
    }
}

impl Sim {
    /// Schedule a change for its times.
    pub(crate) fn plan_change(&mut self, of: Altered, change: Change) {
        let change_number = self.changes.len() as u32;
        self.changes.push(Planned { of, change, done: 0 });
        self.await_change(change_number);
    }

    pub(super) fn changes_are_planned(&self) -> bool {
        !self.changes.is_empty()
    }

    fn await_change(&mut self, number: u32) {
        if let Some(t) = self.changes[number as usize].next() {
            self.events.push(t.max(self.now), EventKind::Change, number);
        }
        let of_flows = self.changes.iter().filter(|c| matches!(c.of, Altered::Flows { .. }));
        self.ahead.change = of_flows.filter_map(Planned::next).min();
    }

    pub(super) fn on_change(&mut self, number: u32) {
        let mut changes = std::mem::take(&mut self.changes);
        let Planned { of, change, done } = &mut changes[number as usize];
        let index = *done % change.to.len();
        *done += 1;
        match of {
            Altered::Port(port) => self.change_port(*port, &change.to, index),
            Altered::Routes(port) => {
                if let Values::Up(up) = &change.to {
                    self.follow_link(*port, up[index]);
                }
            }
            Altered::Flows { flows, rng } => {
                for flow in counted_as(64, flows.iter()) {
                    self.change_flow(FlowId(*flow), &change.to, index, rng);
                }
            }
        }
        self.changes = changes;
        self.await_change(number);
    }

    fn change_port(&mut self, port: u32, to: &Values, value: usize) {
        let port_state = &mut self.net.ports[port as usize];
        match to {
            Values::Rate(rates) => {
                if let Some(service) = port_state.set_rate(rates[value], self.now) {
                    self.events.push(service, EventKind::Service, port);
                }
                self.note_due(port);
            }
            Values::Delay(delays) => port_state.set_delay(delays[value]),
            Values::Loss(probabilities) => {
                if let Some(impairments) = &mut port_state.impair {
                    impairments.set_loss(probabilities[value]);
                }
            }
            Values::Queue(settings) => {
                if let Queue::Explicit(e) = &mut port_state.queue {
                    let refused = e.server.queue.reconfigure(&settings[value]).err();
                    if let Some(e) = refused {
                        let (does, remedy) = (e.problem, e.remedy);
                        self.give_up(Broken { port, does, remedy });
                    }
                }
            }
            Values::Up(up) => {
                let keeps = self.net.keeps_under_way;
                let bits = Before::DOWN | if keeps { 0 } else { Before::LOSES };
                match up[value] {
                    true => port_state.before &= !bits,
                    false => port_state.before |= bits,
                }
            }
            Values::Weight(_) | Values::Congestion(_) => {}
        }
    }

    fn change_flow(&mut self, id: FlowId, to: &Values, value: usize, rng: &mut Stream) {
        match to {
            Values::Weight(weights) => self.alter_keys(id, |keys| keys.weight = weights[value]),
            Values::Congestion(controls) => {
                let now = self.now;
                let flow = &mut self.flows.all[id.0 as usize];
                if let Carrier::Connection([source, _]) = &mut flow.carrier {
                    source.set_congestion(&controls[value], rng, now);
                    flow.colours |= source.colours();
                    self.pump(id, Side::Source);
                }
            }
            Values::Rate(_) | Values::Delay(_) | Values::Loss(_) | Values::Queue(_) | Values::Up(_) => {}
        }
    }
}
