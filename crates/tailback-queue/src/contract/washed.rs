//! The code points of what leaves, cleared after everyone has seen the packet.
//!
//! A discipline that clears code points (CAKE with `wash`) may have admissions before it that count packets by them. So
//! it leaves the clearing to this stage, which is outside of them all. State: none. A packet costs one call.

use crate::contract::discipline::{Backlog, Line, Out, ProbeId, QueueDiscipline, Service};
use crate::contract::queue_aqms::QueueAqms;
use crate::contract::view::QueueView;
use tailback_base::quantity::Refusal;
use tailback_base::{Dscp, Packet, ProbeDef, Settings, Time};

/// A discipline whose packets leave with the code point 0.
pub struct Washed<D>(pub D);

impl<P: Packet, D: QueueDiscipline<P>> QueueDiscipline<P> for Washed<D> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        self.0.enqueue(p, line, out);
    }

    fn flow_joined(&mut self, p: &P, now: Time) {
        self.0.flow_joined(p, now);
    }

    fn flow_left(&mut self, p: &P, now: Time) {
        self.0.flow_left(p, now);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let mut service = self.0.dequeue(line, out);
        if let Service::Send(p) = &mut service {
            p.set_dscp(Dscp(0));
        }
        service
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        self.0.on_timer(line, out);
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        self.0.reconfigure(settings)
    }

    fn give_aqms(&mut self, aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        self.0.give_aqms(aqms)
    }

    fn leave_washing(&mut self) -> bool {
        false
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        self.0.view()
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        self.0.view_mut()
    }

    fn sends_requests(&self) -> bool {
        self.0.sends_requests()
    }

    fn probes(&self) -> &[ProbeDef] {
        self.0.probes()
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        self.0.read(probe, index)
    }
}
