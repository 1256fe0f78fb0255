//! A first-in-first-out queue with an admission.
//!
//! [`Fifo<P, A>`] is a [`Ring`] with an [`Admission`]: with [`DropTail`](super::droptail::DropTail) it is `droptail`,
//! with [`Red`](crate::aqm::red::Red) it is `red`. The packet on the wire is not part of the buffer, because a router
//! (and ns-2) gives a packet's memory to the line when its transmission begins. With `count_in_service` this packet
//! counts.

use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, Out, Place, ProbeId, QueueDiscipline, Service};
use crate::contract::view::{Congestion, Exit, Handle, QueueView};
use crate::entry::{Build, Configured, Entry, Facts};
use crate::fifo::ring::Ring;
use crate::params::{BUFFER, COUNT_IN_SERVICE};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, ProbeDef, Settings, Size, Stream, Time};

/// A FIFO with an admission.
#[derive(Debug)]
pub struct Fifo<P, A> {
    pub(crate) ring: Ring<P>,
    pub admission: A,
    count_in_service: bool,
    gone: Vec<(P, DropReason)>,
}

impl<P: Packet, A: Admission<P>> Fifo<P, A> {
    /// A FIFO whose backlog is limited by `buffer`.
    pub fn new(buffer: Size, admission: A) -> Fifo<P, A> {
        Fifo {
            ring: Ring::new(buffer),
            admission,
            count_in_service: false,
            gone: vec![],
        }
    }

    /// The FIFO that these settings describe, with their `buffer` and, if they have it, `count_in_service`.
    pub fn from_settings(s: &Settings, admission: A) -> Fifo<P, A> {
        let counted = s.find_key(&COUNT_IN_SERVICE) == Some(true);
        Fifo::new(s.get(&BUFFER), admission).counting_in_service(counted)
    }

    /// Count the packet on the wire in the backlog that the admission sees, and in the buffer.
    pub fn counting_in_service(mut self, yes: bool) -> Fifo<P, A> {
        self.count_in_service = yes;
        self
    }

    fn report_evicted(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let backlog = self.ring.backlog();
        for (p, why) in self.gone.drain(..) {
            self.admission.left(&p, Exit::Evicted(why), backlog, line);
            out.dropped(p, Place::Queued, why);
        }
    }
}

impl<P: Packet, A: Admission<P>> QueueDiscipline<P> for Fifo<P, A> {
    fn enqueue(&mut self, mut p: P, line: &Line, out: &mut dyn Out<P>) {
        let mut waiting = Waiting::new(&mut self.ring, &mut self.gone, line).counting_in_service(self.count_in_service);
        let decision = self.admission.admit(&mut p, &mut waiting, line, out);
        if !self.gone.is_empty() {
            self.report_evicted(line, out);
        }
        match decision {
            Decision::Store if self.ring.fits(p.bytes()) => self.ring.push(p, line.now),
            Decision::Store => {
                // The admission has admitted a packet that does not fit, so the packet is dropped.
                let how = Exit::Dropped(Place::Arriving, DropReason::Overflow);
                self.admission.left(&p, how, self.ring.backlog(), line);
                out.dropped(p, Place::Arriving, DropReason::Overflow);
            }
            Decision::Drop(why) => out.dropped(p, Place::Arriving, why),
        }
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        match self.admission.take(&mut self.ring, line, out) {
            Some(mut p) => {
                self.admission.leaving(&mut p, line, out);
                self.admission.left(&p, Exit::Served, self.ring.backlog(), line);
                Service::Send(p)
            }
            None => {
                self.admission.idle(line);
                Service::Empty
            }
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.admission.next_timer()
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let mut waiting = Waiting::new(&mut self.ring, &mut self.gone, line).counting_in_service(self.count_in_service);
        self.admission.on_timer(&mut waiting, line, out);
        self.report_evicted(line, out);
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    /// If the buffer becomes smaller, stored packets are not dropped. The buffer has no room until enough of the stored
    /// packets have left.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        let buffer = capacity::resized(self.ring.limit(), settings.get(&BUFFER))?;
        self.admission.reconfigure(settings)?;
        self.ring.set_limit(buffer);
        self.count_in_service = settings.find_key(&COUNT_IN_SERVICE) == Some(true);
        Ok(())
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn sends_requests(&self) -> bool {
        self.admission.sends_requests()
    }

    fn probes(&self) -> &[ProbeDef] {
        self.admission.probes()
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        self.admission.read(probe, index)
    }
}

impl<P: Packet, A: Admission<P>> QueueView<P> for Fifo<P, A> {
    fn stored(&self) -> Backlog {
        self.ring.backlog()
    }
    fn limit(&self) -> Size {
        self.ring.limit()
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        self.ring.draw(stream)
    }
    fn oldest(&self) -> Option<Handle> {
        self.ring.oldest()
    }
    fn newest(&self) -> Option<Handle> {
        self.ring.newest()
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.ring.get(at.0 as usize)
    }
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P> {
        let p = self.ring.remove(at.0 as usize)?;
        self.admission.left(&p, Exit::Evicted(why), self.ring.backlog(), line);
        Some(p)
    }
    fn congestion(&self) -> Option<Congestion> {
        self.admission.congestion()
    }
}

impl<P: Packet + 'static> Entry<P> {
    /// The registry entry of an AQM. If a scenario uses the AQM as a discipline, it decides for a FIFO.
    pub const fn aqm<A: Admission<P> + Configured + 'static>(model: &'static Model, facts: Facts) -> Entry<P> {
        Entry {
            model,
            build: Build::Whole(|s, context| Ok(Box::new(Fifo::from_settings(s, A::configured(s, context)?)))),
            admission: Some(|s, context| Ok(Box::new(A::configured(s, context)?))),
            facts,
        }
    }
}
