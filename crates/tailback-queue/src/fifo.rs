//! First in, first out: the store every single-queue discipline uses, and drop-tail.
//!
//! Drop-tail is the queue of folklore and of RFC 2309: what fits is stored, what does not fit is refused, and packets
//! leave in the order they came. It measures the backlog, and its only action is the refusal of the arriving packet.
//! It keeps the queue full under greedy TCP, refuses bursts in a row (so that flows lose together and synchronise),
//! and leaves a late flow outside (lock-out); every other discipline is judged against it.
//!
//! * [`Ring`] is the store: packets in order, their bytes, and the limit. Its memory grows with a burst and shrinks
//!   again after it, so that a thousand ports do not keep what one second needed.
//! * [`Fifo<P, A>`] is the store under an [`Admission`]: with [`DropTail`] it is `droptail`, with
//!   [`Red`](crate::red::Red) it is `red`.
//!
//! State: the packets; `bytes`, the sum of their sizes; `limit`, in packets or bytes. The packet on the wire is not
//! part of the buffer, because a router (and ns-2) hands a packet's memory to the line when its transmission begins;
//! `count_in_service` chooses the other convention. In byte mode a small packet may fit after a large one was refused.
//!
//! A packet costs one push, one pop and two additions. The simulator fuses plain `droptail` into arithmetic and does
//! not come here at all (see [`registry::fused_limit`](crate::registry::fused_limit)).

use crate::admission::{Admission, Decision, Handle, QueueView, Waiting};
use crate::capacity;
use crate::discipline::{Backlog, DropReason, Line, Out, Place, ProbeId, QueueDiscipline, Service};
use std::collections::VecDeque;
use tailback_base::{Kind, Model, Packet, Param, ProbeDef, Size, Stream, Time};

/// Said once for the disciplines that offer it.
pub const COUNT_IN_SERVICE: Param = Param::new(
    "count_in_service",
    Kind::Bool,
    "false",
    "Count the packet on the wire as part of the backlog and of the buffer.",
    "ns-2 counts waiting packets only",
);

pub static MODEL: Model = Model {
    name: "droptail",
    family: "queue",
    title: "Drop-tail",
    summary: "A FIFO that refuses what does not fit. Measure: the backlog. Function: full or not. Action: the arriving \
              packet is dropped (overflow); it never marks.",
    source: "Folklore; RFC 2309 section 2; default buffer of ns-2's DropTail",
    params: &[
        Param::new(
            "buffer",
            Kind::Size,
            "50 packets",
            "How much may wait, in packets or bytes.",
            "ns-2 default",
        ),
        COUNT_IN_SERVICE,
    ],
    probes: &[],
};

/// Packets in order of arrival, with their bytes and a limit.
#[derive(Debug)]
pub struct Ring<P> {
    packets: VecDeque<P>,
    bytes: u64,
    limit: Size,
}

/// A ring this small is not worth shrinking.
const KEEP: usize = 64;

impl<P: Packet> Ring<P> {
    pub fn new(limit: Size) -> Ring<P> {
        Ring {
            packets: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }

    #[inline]
    pub fn limit(&self) -> Size {
        self.limit
    }

    /// Whether a packet of this size fits.
    #[inline]
    pub fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.limit, self.backlog(), bytes)
    }

    /// Append, stamped with the time of acceptance. The caller has asked [`Ring::fits`].
    #[inline]
    pub fn push(&mut self, mut p: P, now: Time) {
        p.set_stamp(now);
        self.bytes += u64::from(p.bytes());
        self.packets.push_back(p);
    }

    /// Take the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let p = self.packets.pop_front()?;
        self.bytes -= u64::from(p.bytes());
        self.shrink();
        Some(p)
    }

    /// The packet at `index`, 0 being the head.
    pub fn get(&self, index: usize) -> Option<&P> {
        self.packets.get(index)
    }

    /// Take the packet at `index` out; the others keep their order. Costs up to half the backlog in moves.
    pub fn remove(&mut self, index: usize) -> Option<P> {
        let p = self.packets.remove(index)?;
        self.bytes -= u64::from(p.bytes());
        self.shrink();
        Some(p)
    }

    /// Halve the memory when an eighth of it is used: at least 3/8 of it have been popped since it was last moved, so
    /// the moves cost a constant per packet.
    #[inline]
    fn shrink(&mut self) {
        let capacity = self.packets.capacity();
        if capacity > KEEP && self.packets.len() < capacity / 8 {
            self.packets.shrink_to(capacity / 2);
        }
    }
}

impl<P: Packet> QueueView<P> for Ring<P> {
    fn stored(&self) -> Backlog {
        self.backlog()
    }
    fn limit(&self) -> Size {
        self.limit
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.packets.len() as u64 {
            0 => None,
            n => Some(Handle(stream.below(n))),
        }
    }
    fn oldest(&self) -> Option<Handle> {
        (!self.packets.is_empty()).then_some(Handle(0))
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.packets.get(at.0 as usize)
    }
    fn remove(&mut self, at: Handle, _line: &Line) -> Option<P> {
        Ring::remove(self, at.0 as usize)
    }
}

/// A FIFO under an admission.
#[derive(Debug)]
pub struct Fifo<P, A> {
    pub(crate) ring: Ring<P>,
    pub admission: A,
    count_in_service: bool,
    gone: Vec<(P, DropReason)>,
}

impl<P: Packet, A: Admission<P>> Fifo<P, A> {
    /// `buffer` bounds what waits.
    pub fn new(buffer: Size, admission: A) -> Fifo<P, A> {
        Fifo {
            ring: Ring::new(buffer),
            admission,
            count_in_service: false,
            gone: vec![],
        }
    }

    /// Count the packet on the wire as part of the backlog the admission sees, and of the buffer.
    pub fn counting_in_service(mut self, yes: bool) -> Fifo<P, A> {
        self.count_in_service = yes;
        self
    }

    fn report_evicted(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let rest = self.ring.backlog();
        for (p, why) in self.gone.drain(..) {
            self.admission.left(&p, rest, line);
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
                // The admission let in what does not fit: the buffer is the last word.
                self.admission.left(&p, self.ring.backlog(), line);
                out.dropped(p, Place::Arriving, DropReason::Overflow);
            }
            Decision::Drop(why) => out.dropped(p, Place::Arriving, why),
        }
    }

    fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<P>) -> Service<P> {
        match self.ring.pop() {
            Some(p) => {
                self.admission.left(&p, self.ring.backlog(), line);
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

    fn probes(&self) -> &'static [ProbeDef] {
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
    fn get(&self, at: Handle) -> Option<&P> {
        self.ring.get(at.0 as usize)
    }
    fn remove(&mut self, at: Handle, line: &Line) -> Option<P> {
        let p = self.ring.remove(at.0 as usize)?;
        self.admission.left(&p, self.ring.backlog(), line);
        Some(p)
    }
}

/// Let in what fits.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl<P: Packet> Admission<P> for DropTail {
    #[inline]
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        if queue.fits(p.bytes()) {
            Decision::Store
        } else {
            Decision::Drop(DropReason::Overflow)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::OnWire;
    use crate::testing::{Bench, TestPacket};
    use tailback_base::FlowId;

    fn droptail(buffer: Size) -> Bench<Fifo<TestPacket, DropTail>> {
        Bench::new(Fifo::new(buffer, DropTail))
    }

    #[test]
    fn a_burst_fills_line_and_buffer_and_loses_its_tail() {
        let mut b = droptail(Size::Packets(5));
        b.arrive(TestPacket::new(0, 0, 1000));
        assert_eq!(b.serve(), Some(0), "the first goes into service");
        for id in 1..12 {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert_eq!(
            b.log.drops(DropReason::Overflow),
            (6..12).collect::<Vec<_>>(),
            "consecutive"
        );
        assert_eq!(b.drain(), [1, 2, 3, 4, 5]);
        assert!(b.log.dropped.iter().all(|d| d.1 == Place::Arriving));
    }

    #[test]
    fn in_bytes_a_small_packet_fits_after_a_large_one_was_refused() {
        let mut b = droptail(Size::Bytes(2500));
        for (id, bytes) in [(0, 1500), (1, 1500), (2, 1000), (3, 1)] {
            b.arrive(TestPacket::new(id, 0, bytes));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [1, 3]);
        assert_eq!(
            b.backlog(),
            Backlog {
                packets: 2,
                bytes: 2500
            }
        );
        assert_eq!(b.drain(), [0, 2]);
        assert_eq!(b.backlog(), Backlog::default());
    }

    #[test]
    fn unlimited_takes_everything_and_gives_its_memory_back() {
        let mut b = droptail(Size::Unlimited);
        for id in 0..100_000 {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert!(b.log.dropped.is_empty());
        assert_eq!(b.drain().len(), 100_000);
        assert!(
            b.queue.ring.packets.capacity() <= 2 * KEEP,
            "{}",
            b.queue.ring.packets.capacity()
        );
    }

    #[test]
    fn the_packet_on_the_wire_counts_only_when_asked() {
        let wire = OnWire {
            until: Time(8_000_000),
            flow: FlowId(0),
            pair: 0,
            bytes: 1000,
        };
        for (count, held) in [(false, 2), (true, 1)] {
            let mut b = Bench::new(Fifo::new(Size::Packets(2), DropTail).counting_in_service(count));
            b.busy = Some(wire);
            for id in 0..3 {
                b.arrive(TestPacket::new(id, 0, 1000));
            }
            assert_eq!(b.backlog().packets, held);
        }
    }
}
