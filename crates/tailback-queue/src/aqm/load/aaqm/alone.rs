//! AAQM as the only queue of a line.
//!
//! Here the packets ahead do not count in the buffer, unless `ahead_in_buffer` is set. The line can also be made to
//! wait until tokens pay for the next packet (`token_use = "shape"`).

use super::settings::Tokens;
use super::{Aaqm, Config};
use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::discipline::{Backlog, DropReason, Line, Out, Place, ProbeId, QueueDiscipline, Service};
use crate::contract::view::{Congestion, Exit, Handle, QueueView};
use crate::fifo::Ring;
use tailback_base::{Packet, ProbeDef, Size, Stream, Time};

/// The discipline.
#[derive(Debug)]
pub struct Alone<P> {
    pub(super) aaqm: Aaqm,
    /// The packets ahead, then the managed packets. The limit of this ring is the buffer of the managed packets.
    ring: Ring<P>,
}

impl<P: Packet> Alone<P> {
    pub fn new(config: Config, stream: Stream) -> Alone<P> {
        Alone {
            ring: Ring::new(config.buffer),
            aaqm: Aaqm::new(config, stream),
        }
    }

    /// The next packet in the case where every packet must pay.
    fn shaped(&mut self, line: &Line) -> Service<P> {
        self.aaqm.refill(line.now);
        let Some(bytes) = self.ring.get(0).map(P::bytes) else {
            self.aaqm.average.idle(line.now);
            return Service::Empty;
        };
        if self.aaqm.bucket.send(bytes) {
            return self.ring.pop().map_or(Service::Empty, |p| self.sent(p, line));
        }
        let wait = self.aaqm.bucket.wait(bytes, self.aaqm.token_rate());
        Service::Wait(wait.map_or(Time::NEVER, |d| line.now + d))
    }

    fn sent(&mut self, p: P, line: &Line) -> Service<P> {
        self.aaqm.left(&p, Exit::Served, self.ring.backlog(), line);
        Service::Send(p)
    }
}

impl<P: Packet> QueueDiscipline<P> for Alone<P> {
    fn enqueue(&mut self, mut p: P, line: &Line, out: &mut dyn Out<P>) {
        let mut evicts_nothing = Vec::new();
        let mut waiting = Waiting::new(&mut self.ring, &mut evicts_nothing, line);
        match self.aaqm.admit(&mut p, &mut waiting, line, out) {
            Decision::Store => self.ring.push(p, line.now),
            Decision::Drop(why) => out.dropped(p, Place::Arriving, why),
        }
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        if self.aaqm.config.tokens == Tokens::Shape {
            return self.shaped(line);
        }
        match self.aaqm.take(&mut self.ring, line, out) {
            Some(p) => self.sent(p, line),
            None => {
                self.aaqm.average.idle(line.now);
                Service::Empty
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn sends_requests(&self) -> bool {
        Admission::<P>::sends_requests(&self.aaqm)
    }

    fn probes(&self) -> &[ProbeDef] {
        Admission::<P>::probes(&self.aaqm)
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Admission::<P>::read(&self.aaqm, probe, index)
    }
}

/// Packets are numbered in the order in which they leave: first the packets ahead, then those behind them.
impl<P: Packet> QueueView<P> for Alone<P> {
    fn stored(&self) -> Backlog {
        self.ring.backlog()
    }

    fn limit(&self) -> Size {
        self.ring.limit()
    }

    fn fits(&self, bytes: u32) -> bool {
        self.aaqm.has_room(self.ring.backlog(), bytes, false)
    }

    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.ring.backlog().packets {
            0 => None,
            n => Some(Handle(stream.below(n))),
        }
    }

    fn oldest(&self) -> Option<Handle> {
        self.ring.oldest()
    }

    fn get(&self, at: Handle) -> Option<&P> {
        self.ring.get(at.0 as usize)
    }

    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        let p = self.ring.remove(at.0 as usize)?;
        if at.0 < self.aaqm.ahead.backlog.packets {
            self.aaqm.ahead.less(p.bytes());
        }
        self.aaqm.waits = self.ring.backlog();
        Some(p)
    }

    fn congestion(&self) -> Option<Congestion> {
        Admission::<P>::congestion(&self.aaqm)
    }
}
