//! Admissions: the part of a discipline that decides about a packet when it arrives.
//!
//! RED, Blue, PI, PIE, CHOKe and their kin do not schedule; they look at an arriving packet and at what waits, and let
//! the packet in, mark it, or drop it, perhaps with others that wait already. An [`Admission`] is that decision alone.
//! Two hosts make disciplines of it: [`Fifo<P, A>`](crate::fifo::Fifo) puts it over one first-in-first-out queue, and
//! [`Admitted<P, A, D>`] in front of any discipline that shows its packets through [`QueueView`] (DRR, fair queueing,
//! or another `Fifo`, which is how a pre-filter stands before RED).
//!
//! Who does what, so that no packet is lost or told of twice:
//!
//! * The admission only decides. It marks the arriving packet itself (`&mut P`, see
//!   [`signal`](crate::discipline::signal)), and asks for the eviction of waiting packets through [`Waiting::evict`].
//! * The host drops: first the evicted packets ([`Place::Queued`]), in the order asked, then the arriving one
//!   ([`Place::Arriving`]). It enforces the buffer as well, so that an admission cannot overfill it by mistake.
//! * For every packet that was let in, the host calls [`Admission::left`] once: when it is served, evicted, dropped by
//!   the queue behind or at the dequeue, or refused by the queue behind after all.
//!
//! Cost beyond the algorithm: a virtual call for each question to the queue; no allocation without evictions.

use crate::capacity;
use crate::discipline::{Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, QueueDiscipline, Service};
use std::marker::PhantomData;
use tailback_base::{Packet, ProbeDef, Request, Size, Stream, Time};

/// What becomes of an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Let it in, marked or not.
    Store,
    Drop(DropReason),
}

/// A decision about arriving packets.
pub trait Admission<P: Packet> {
    /// Decide about `p`. `queue` does not hold it yet. Marking happens here, storing and dropping in the host.
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision;
    /// A packet that was let in is gone, served or dropped; `rest` is what waits now.
    fn left(&mut self, _p: &P, _rest: Backlog, _line: &Line) {}
    /// A dequeue found nothing: the line is idle from now on.
    fn idle(&mut self, _line: &Line) {}
    /// As [`QueueDiscipline::next_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) {}
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        f64::NAN
    }
}

/// A stored packet, as its queue names it. Good until the queue next changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(pub u64);

/// What a queue shows to an admission in front of it. A port of several queues implements it over all of them.
pub trait QueueView<P> {
    /// What is stored, without the packet on the wire.
    fn stored(&self) -> Backlog;
    /// The hard limit of all that is stored; its unit is the unit the admission measures in.
    fn limit(&self) -> Size;
    /// Whether the queue would take a packet of this size. A queue that pushes others out to make room answers for
    /// that: true for whatever fits into the empty buffer.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.limit(), self.stored(), bytes)
    }
    /// A stored packet, each as likely as any other, whichever queue it waits in. One draw; none when nothing or only
    /// one packet is stored.
    fn draw(&self, stream: &mut Stream) -> Option<Handle>;
    /// The stored packet that has waited longest, if the queue knows it. Required for `front-drop` only.
    fn oldest(&self) -> Option<Handle> {
        None
    }
    fn get(&self, at: Handle) -> Option<&P>;
    /// Take the packet out, unsent, keeping the queue's own books (lengths, rings, credits). The caller reports the
    /// drop; the queue must not.
    fn remove(&mut self, at: Handle, line: &Line) -> Option<P>;
}

/// The queue as an admission meets it: a view, with the host's rule of what counts and a list for what is evicted.
pub struct Waiting<'a, P> {
    queue: &'a mut dyn QueueView<P>,
    /// What the packet on the wire adds to the backlog, when the host is told to count it.
    in_service: Backlog,
    gone: &'a mut Vec<(P, DropReason)>,
    line: &'a Line,
}

impl<'a, P: Packet> Waiting<'a, P> {
    /// `gone` collects what is evicted; the host reports it with [`Place::Queued`].
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

    /// What counts as waiting.
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

    /// The backlog in the unit of the limit, as the field's `q`.
    #[inline]
    pub fn level(&self) -> f64 {
        capacity::level(self.limit(), self.backlog()) as f64
    }

    /// Whether the queue would take a packet of this size.
    #[inline]
    pub fn fits(&self, bytes: u32) -> bool {
        self.queue.fits(bytes) && (self.in_service.packets == 0 || capacity::fits(self.limit(), self.backlog(), bytes))
    }

    /// A uniformly drawn packet that waits; see [`QueueView::draw`].
    pub fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        self.queue.draw(stream)
    }

    pub fn oldest(&self) -> Option<Handle> {
        self.queue.oldest()
    }

    pub fn get(&self, at: Handle) -> Option<&P> {
        self.queue.get(at)
    }

    /// Drop a packet that waits. False when there is none at this handle.
    pub fn evict(&mut self, at: Handle, why: DropReason) -> bool {
        match self.queue.remove(at, self.line) {
            Some(p) => {
                self.gone.push((p, why));
                true
            }
            None => false,
        }
    }
}

/// An admission in front of any discipline that shows its packets.
///
/// Its probes are the admission's, unless [`Admitted::with_probes`] declares both parts'. Drops of the discipline
/// behind are reported when its call has ended, since the admission hears of them first.
pub struct Admitted<P, A, D> {
    pub admission: A,
    pub queue: D,
    probes: Option<&'static [ProbeDef]>,
    gone: Vec<(P, DropReason)>,
    behind: Vec<(P, Place, DropReason)>,
    packet: PhantomData<P>,
}

/// Passes reports on, but keeps the drops for later.
struct KeepDrops<'a, P> {
    out: &'a mut dyn Out<P>,
    drops: &'a mut Vec<(P, Place, DropReason)>,
}

impl<P> Out<P> for KeepDrops<'_, P> {
    fn dropped(&mut self, p: P, place: Place, why: DropReason) {
        self.drops.push((p, place, why));
    }
    fn marked(&mut self, p: &P, why: MarkReason) {
        self.out.marked(p, why);
    }
    fn request(&mut self, about: &P, r: Request) {
        self.out.request(about, r);
    }
    fn note(&mut self, probe: ProbeId, index: u32, value: f64) {
        self.out.note(probe, index, value);
    }
}

impl<P: Packet, A: Admission<P>, D: QueueDiscipline<P> + QueueView<P>> Admitted<P, A, D> {
    pub fn new(admission: A, queue: D) -> Self {
        Admitted {
            admission,
            queue,
            probes: None,
            gone: vec![],
            behind: vec![],
            packet: PhantomData,
        }
    }

    /// Show the probes of both: the declaration must list the admission's first, then the discipline's.
    pub fn with_probes(mut self, probes: &'static [ProbeDef]) -> Self {
        self.probes = Some(probes);
        self
    }

    /// Report what the admission evicted.
    fn report_evicted(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let rest = self.queue.stored();
        for (p, why) in self.gone.drain(..) {
            self.admission.left(&p, rest, line);
            out.dropped(p, Place::Queued, why);
        }
    }

    /// Let the discipline act; then tell the admission, and the world, what it dropped.
    fn act<R>(&mut self, line: &Line, out: &mut dyn Out<P>, call: impl FnOnce(&mut D, &mut dyn Out<P>) -> R) -> R {
        let result = call(
            &mut self.queue,
            &mut KeepDrops {
                out,
                drops: &mut self.behind,
            },
        );
        let rest = self.queue.stored();
        for (p, place, why) in self.behind.drain(..) {
            self.admission.left(&p, rest, line);
            out.dropped(p, place, why);
        }
        result
    }
}

impl<P: Packet, A: Admission<P>, D: QueueDiscipline<P> + QueueView<P>> QueueDiscipline<P> for Admitted<P, A, D> {
    fn enqueue(&mut self, mut p: P, line: &Line, out: &mut dyn Out<P>) {
        let mut waiting = Waiting::new(&mut self.queue, &mut self.gone, line);
        let decision = self.admission.admit(&mut p, &mut waiting, line, out);
        self.report_evicted(line, out);
        match decision {
            Decision::Store => self.act(line, out, |queue, out| queue.enqueue(p, line, out)),
            Decision::Drop(why) => out.dropped(p, Place::Arriving, why),
        }
    }

    fn flow_joined(&mut self, p: &P, now: Time) {
        self.queue.flow_joined(p, now);
    }

    fn flow_left(&mut self, p: &P, now: Time) {
        self.queue.flow_left(p, now);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let service = self.act(line, out, |queue, out| queue.dequeue(line, out));
        match &service {
            Service::Send(p) => self.admission.left(p, self.queue.stored(), line),
            Service::Empty => self.admission.idle(line),
            Service::Wait(_) => {}
        }
        service
    }

    fn next_timer(&self) -> Option<Time> {
        earlier(self.admission.next_timer(), self.queue.next_timer())
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let due = |t: Option<Time>| t.is_some_and(|t| t <= line.now);
        if due(self.admission.next_timer()) {
            let mut waiting = Waiting::new(&mut self.queue, &mut self.gone, line);
            self.admission.on_timer(&mut waiting, line, out);
            self.report_evicted(line, out);
        }
        if due(self.queue.next_timer()) {
            self.act(line, out, |queue, out| queue.on_timer(line, out));
        }
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn probes(&self) -> &'static [ProbeDef] {
        self.probes.unwrap_or(self.admission.probes())
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        let own = self.admission.probes().len() as u16;
        if probe.0 < own {
            self.admission.read(probe, index)
        } else {
            self.queue.read(ProbeId(probe.0 - own), index)
        }
    }
}

/// So that admissions stack: the outermost sees, and may evict, what waits in the innermost.
impl<P: Packet, A: Admission<P>, D: QueueView<P>> QueueView<P> for Admitted<P, A, D> {
    fn stored(&self) -> Backlog {
        self.queue.stored()
    }
    fn limit(&self) -> Size {
        self.queue.limit()
    }
    fn fits(&self, bytes: u32) -> bool {
        self.queue.fits(bytes)
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        self.queue.draw(stream)
    }
    fn oldest(&self) -> Option<Handle> {
        self.queue.oldest()
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.queue.get(at)
    }
    fn remove(&mut self, at: Handle, line: &Line) -> Option<P> {
        let p = self.queue.remove(at, line)?;
        self.admission.left(&p, self.queue.stored(), line);
        Some(p)
    }
}

/// The earlier of two instants that may be absent.
pub fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
