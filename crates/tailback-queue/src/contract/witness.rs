//! Stores the answers of a discipline, for the check that its line is not idle while packets wait.
//!
//! The check cannot ask a discipline whether it would give a packet now, because a question changes the discipline. So
//! the last answer is stored, and also whether a later call may have changed the answer. Each call costs a few memory
//! writes.

use super::discipline::{Backlog, Line, Out, ProbeId, QueueDiscipline, Service};
use super::queue_aqms::QueueAqms;
use super::view::QueueView;
use std::cell::Cell;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Time};

/// The last answer of a discipline that was asked for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// The discipline gave a packet or was empty, or another call was made after the answer.
    #[default]
    Open,
    /// The discipline gives no packet before this instant.
    Waits(Time),
}

/// A discipline whose answers are stored.
pub struct Witness<P> {
    queue: Box<dyn QueueDiscipline<P>>,
    answer: Rc<Cell<Answer>>,
}

impl<P: Packet> Witness<P> {
    /// Wrap a discipline. Returns the wrapper, and the cell with the last answer.
    pub fn new(queue: Box<dyn QueueDiscipline<P>>) -> (Witness<P>, Rc<Cell<Answer>>) {
        let answer: Rc<Cell<Answer>> = Rc::default();
        let witness = Witness {
            queue,
            answer: answer.clone(),
        };
        (witness, answer)
    }
}

impl<P: Packet> QueueDiscipline<P> for Witness<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        self.answer.set(Answer::Open);
        self.queue.enqueue(p, line, out);
    }
    fn flow_joined(&mut self, p: &P, now: Time) {
        self.queue.flow_joined(p, now);
    }
    fn flow_left(&mut self, p: &P, now: Time) {
        self.queue.flow_left(p, now);
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let service = self.queue.dequeue(line, out);
        self.answer.set(match service {
            Service::Wait(t) => Answer::Waits(t),
            Service::Send(_) | Service::Empty => Answer::Open,
        });
        service
    }
    fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }
    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        self.answer.set(Answer::Open);
        self.queue.on_timer(line, out);
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        self.queue.reconfigure(settings)
    }
    fn give_aqms(&mut self, aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        self.queue.give_aqms(aqms)
    }
    fn leave_washing(&mut self) -> bool {
        self.queue.leave_washing()
    }
    fn view(&self) -> Option<&dyn QueueView<P>> {
        self.queue.view()
    }
    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        self.queue.view_mut()
    }
    fn sends_requests(&self) -> bool {
        self.queue.sends_requests()
    }
    fn is_shared(&self) -> bool {
        self.queue.is_shared()
    }
    fn probes(&self) -> &[ProbeDef] {
        self.queue.probes()
    }
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        self.queue.read(probe, index)
    }
}
