//! An admission is the part of a discipline that decides about a packet when it arrives. RED, Blue, PI, PIE, CHOKe and
//! similar AQMs do not schedule. They use the arriving packet and the state of the queue, and then store the packet,
//! mark it, or drop it, perhaps together with packets that already wait. An [`Admission`] is that decision alone. Two
//! hosts make a discipline of an admission. [`Fifo<P, A>`](crate::fifo::Fifo) combines it with one first-in-first-out
//! queue. [`Admitted<P, A, D>`](crate::contract::admitted::Admitted) puts it in front of any discipline that shows its
//! packets through [`QueueView`], such as DRR, fair queueing, or another `Fifo`. In this way a pre-filter can run
//! before RED.
//!
//! The work is divided as follows, so that no packet is lost or reported twice:
//!
//! * The admission only decides. It marks the arriving packet itself (`&mut P`, see [`signal`]), and evicts waiting
//!   packets through [`Waiting::evict`].
//! * The host drops packets: first the evicted packets ([`Place::Queued`]), in the order of the evictions, then the
//!   arriving one ([`Place::Arriving`]). The host also enforces the buffer limit, so that an admission cannot overfill
//!   the buffer by mistake.
//! * For every packet that was let in, the host calls [`Admission::left`] once and says how the packet left: served,
//!   evicted, or dropped by the queue behind the admission. For packets that the admission itself drops in
//!   [`Admission::take`], the host makes no such call.
//!
//! Cost in addition to the algorithm: a virtual call for each query to the queue. Memory is allocated only for
//! evictions.
//!
//! [`Place::Queued`]: crate::contract::report::Place::Queued
//! [`Place::Arriving`]: crate::contract::report::Place::Arriving

use crate::contract::capacity;
use crate::contract::discipline::fixed;
use crate::contract::line::Line;
use crate::contract::report::{Backlog, DropReason, MarkReason, Out, ProbeId, signal};
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Size, Stream, Time};

pub use crate::contract::view::{Congestion, Exit, Handle, PacketSource, QueueView};

/// The decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Admit it, marked or not.
    Store,
    Drop(DropReason),
}

/// A rule that decides about arriving packets.
pub trait Admission<P: Packet> {
    /// Decide about `p`, which is not in `queue` yet. The admission marks the packet here; the host stores or drops it.
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision;
    /// The line is free: take the packet that is sent next. Packets before it may be dropped, and it may be marked. The
    /// default takes the head unchanged. Algorithms that act at departure override this function.
    #[inline]
    fn take(&mut self, from: &mut dyn PacketSource<P>, _line: &Line, _out: &mut dyn Out<P>) -> Option<P> {
        from.pop()
    }
    /// The reason why this admission cannot run before another discipline, but only on its own queue. The text is the
    /// end of a sentence that begins with the name of the admission.
    fn needs_its_queue(&self) -> Option<&'static str> {
        None
    }
    /// This packet is being sent and has left the backlog. An admission can mark it here, wherever the admission is
    /// used.
    #[inline]
    fn leaving(&mut self, _p: &mut P, _line: &Line, _out: &mut dyn Out<P>) {}
    /// An admitted packet has left; `rest` is the backlog after that.
    fn left(&mut self, _p: &P, _how: Exit, _rest: Backlog, _line: &Line) {}
    /// A dequeue found an empty queue: the line is idle from now on.
    fn idle(&mut self, _line: &Line) {}
    /// The same as [`QueueDiscipline::next_timer`](crate::contract::discipline::QueueDiscipline::next_timer).
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) {}
    /// The same as [`QueueDiscipline::reconfigure`](crate::contract::discipline::QueueDiscipline::reconfigure). The
    /// settings are those of the model of the admission.
    ///
    /// # Errors
    /// The same errors as there.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        Err(fixed(settings))
    }
    /// The congestion that this admission measures, for another admission before it.
    fn congestion(&self) -> Option<Congestion> {
        None
    }
    /// Whether this admission may send requests to sources ([`Out::request`]). An admission that returns false and
    /// sends a request violates its contract.
    fn sends_requests(&self) -> bool {
        false
    }
    fn probes(&self) -> &[ProbeDef] {
        &[]
    }
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        f64::NAN
    }
}

/// The decision about an arriving packet. A packet that is to be signalled is marked if `ecn` is on and the packet is
/// ECN-capable; otherwise it is dropped early.
#[inline]
pub fn early<P: Packet>(selected: bool, p: &mut P, ecn: bool, out: &mut dyn Out<P>) -> Decision {
    match selected && !signal(p, ecn, MarkReason::Early, out) {
        true => Decision::Drop(DropReason::Early),
        false => Decision::Store,
    }
}

/// The queue as an admission sees it: a view, the host's rule about which packets count as waiting, and a list for
/// evicted packets.
pub struct Waiting<'a, P> {
    queue: &'a mut dyn QueueView<P>,
    /// The amount that the packet on the wire adds to the backlog, if the host counts it.
    in_service: Backlog,
    gone: &'a mut Vec<(P, DropReason)>,
    line: &'a Line,
}

impl<'a, P: Packet> Waiting<'a, P> {
    /// `gone` collects the evicted packets. The host reports them as
    /// [`Place::Queued`](crate::contract::report::Place::Queued).
    pub fn new(queue: &'a mut dyn QueueView<P>, gone: &'a mut Vec<(P, DropReason)>, line: &'a Line) -> Self {
        Waiting {
            queue,
            in_service: Backlog::default(),
            gone,
            line,
        }
    }

    /// Count the packet on the wire as part of the backlog (the option `count_in_service`).
    pub fn counting_in_service(mut self, yes: bool) -> Self {
        if let (true, Some(wire)) = (yes, self.line.busy) {
            self.in_service = Backlog {
                packets: 1,
                bytes: u64::from(wire.bytes),
            };
        }
        self
    }

    /// The packets that count as waiting.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        let b = self.queue.stored();
        Backlog {
            packets: b.packets + self.in_service.packets,
            bytes: b.bytes + self.in_service.bytes,
        }
    }

    #[inline]
    pub fn limit(&self) -> Size {
        self.queue.limit()
    }

    /// The backlog in the unit of the limit, the `q` of the literature.
    #[inline]
    pub fn level(&self) -> f64 {
        capacity::level(self.limit(), self.backlog()) as f64
    }

    /// Whether the queue would accept a packet of this size.
    #[inline]
    pub fn fits(&self, bytes: u32) -> bool {
        self.queue.fits(bytes) && (self.in_service.packets == 0 || capacity::fits(self.limit(), self.backlog(), bytes))
    }

    /// A waiting packet, drawn with equal probabilities; see [`QueueView::draw`].
    pub fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        self.queue.draw(stream)
    }

    pub fn oldest(&self) -> Option<Handle> {
        self.queue.oldest()
    }

    pub fn newest(&self) -> Option<Handle> {
        self.queue.newest()
    }

    /// The packet that leaves after `k` others; see [`QueueView::nth`].
    pub fn nth(&self, k: u64) -> Option<Handle> {
        self.queue.nth(k)
    }

    pub fn get(&self, at: Handle) -> Option<&P> {
        self.queue.get(at)
    }

    /// The congestion that the AQM after this one measures; see [`QueueView::congestion`].
    pub fn congestion(&self) -> Option<Congestion> {
        self.queue.congestion()
    }

    /// Drop a waiting packet. Returns false if no packet has this handle.
    pub fn evict(&mut self, at: Handle, why: DropReason) -> bool {
        match self.queue.remove(at, why, self.line) {
            Some(p) => {
                self.gone.push((p, why));
                true
            }
            None => false,
        }
    }
}

/// A boxed admission is an admission too, so that admissions can be chosen by name.
impl<P: Packet> Admission<P> for Box<dyn Admission<P>> {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        (**self).admit(p, queue, line, out)
    }
    fn take(&mut self, from: &mut dyn PacketSource<P>, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        (**self).take(from, line, out)
    }
    fn needs_its_queue(&self) -> Option<&'static str> {
        (**self).needs_its_queue()
    }
    fn leaving(&mut self, p: &mut P, line: &Line, out: &mut dyn Out<P>) {
        (**self).leaving(p, line, out)
    }
    fn left(&mut self, p: &P, how: Exit, rest: Backlog, line: &Line) {
        (**self).left(p, how, rest, line)
    }
    fn idle(&mut self, line: &Line) {
        (**self).idle(line)
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) {
        (**self).on_timer(queue, line, out)
    }
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        (**self).reconfigure(settings)
    }
    fn congestion(&self) -> Option<Congestion> {
        (**self).congestion()
    }
    fn sends_requests(&self) -> bool {
        (**self).sends_requests()
    }
    fn probes(&self) -> &[ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}

/// The earlier of two instants, either of which may be absent.
pub fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
