//! An admission before a discipline.

use crate::contract::admission::{Admission, Decision, Waiting, earlier};
use crate::contract::discipline::{
    Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, QueueDiscipline, Service, fixed_value,
};
use crate::contract::row::settings_within;
use crate::contract::view::{Congestion, Exit, Handle, QueueView};
use crate::params::BEFORE;
use std::marker::PhantomData;
use tailback_base::quantity::Refusal;
use tailback_base::{Dscp, Packet, ProbeDef, Request, Settings, Size, Stream, Time};

/// An admission before any discipline that shows its packets.
///
/// The probes are those of the inner discipline, followed by those of the admission. Drops by the inner discipline are
/// reported after its call has ended, because the admission is informed first. The inner discipline decides which
/// packet is sent: [`Admission::take`] is used only in a [`Fifo`](crate::fifo::Fifo) or on a queue of a port.
pub struct Admitted<P, A, D> {
    pub admission: A,
    pub queue: D,
    /// The position of this admission in the list `before` of the discipline's settings, if it is in this list.
    number: Option<usize>,
    /// Whether this admission clears the code points of packets that leave. It clears them after all admissions have
    /// counted the packets.
    washes: bool,
    probes: Vec<ProbeDef>,
    gone: Vec<(P, DropReason)>,
    behind: Vec<(P, Place, DropReason)>,
    packet: PhantomData<P>,
}

/// Passes reports on, but keeps the drops until the call has ended.
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
        let probes = queue.probes().iter().chain(admission.probes()).copied().collect();
        Admitted {
            admission,
            queue,
            number: None,
            washes: false,
            probes,
            gone: vec![],
            behind: vec![],
            packet: PhantomData,
        }
    }

    /// Set the position of this admission among those before the discipline (`before`), from 0.
    pub fn standing_at(mut self, number: usize) -> Self {
        self.number = Some(number);
        self
    }

    /// Make this the outermost admission. It clears code points instead of the discipline.
    pub fn washing(mut self, washes: bool) -> Self {
        self.washes = washes;
        self
    }

    /// Report the packets that the admission evicted.
    fn report_evicted(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let stored = self.queue.stored();
        for (p, why) in self.gone.drain(..) {
            self.admission.left(&p, Exit::Evicted(why), stored, line);
            out.dropped(p, Place::Queued, why);
        }
    }

    /// Call the discipline, and then report the packets that it dropped to the admission and to `out`.
    fn act<R>(&mut self, line: &Line, out: &mut dyn Out<P>, call: impl FnOnce(&mut D, &mut dyn Out<P>) -> R) -> R {
        let result = call(
            &mut self.queue,
            &mut KeepDrops {
                out,
                drops: &mut self.behind,
            },
        );
        let stored = self.queue.stored();
        for (p, place, why) in self.behind.drain(..) {
            let how = match place {
                Place::Queued => Exit::Evicted(why),
                Place::Arriving | Place::Dequeued => Exit::Dropped(place, why),
            };
            self.admission.left(&p, how, stored, line);
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
        let mut service = self.act(line, out, |queue, out| queue.dequeue(line, out));
        match &mut service {
            Service::Send(p) => {
                self.admission.leaving(p, line, out);
                self.admission.left(p, Exit::Served, self.queue.stored(), line);
                if self.washes {
                    p.set_dscp(Dscp(0));
                }
            }
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

    /// The settings are those of the discipline behind this admission. They contain the settings of the admissions
    /// before that discipline.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        let own = self.number.and_then(|n| settings.nested_list(BEFORE.name).nth(n));
        let own = own.ok_or_else(|| fixed_value(BEFORE.name))?;
        self.queue.reconfigure(settings)?;
        let taken = settings_within(own, settings).and_then(|own| self.admission.reconfigure(&own));
        taken.map_err(|e| e.within(BEFORE.name))
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn sends_requests(&self) -> bool {
        self.admission.sends_requests() || self.queue.sends_requests()
    }

    fn is_shared(&self) -> bool {
        self.queue.is_shared()
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        let behind = self.queue.probes().len() as u16;
        match probe.0.checked_sub(behind) {
            None => self.queue.read(probe, index),
            Some(own) => self.admission.read(ProbeId(own), index),
        }
    }
}

/// This view allows admissions to be stacked. The outermost one sees, and may evict, packets that wait in the innermost
/// discipline.
impl<P: Packet, A: Admission<P>, D: QueueDiscipline<P> + QueueView<P>> QueueView<P> for Admitted<P, A, D> {
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
    fn newest(&self) -> Option<Handle> {
        self.queue.newest()
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.queue.get(at)
    }
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P> {
        let p = self.queue.remove(at, why, line)?;
        self.admission.left(&p, Exit::Evicted(why), self.queue.stored(), line);
        Some(p)
    }
    fn congestion(&self) -> Option<Congestion> {
        self.admission.congestion().or_else(|| self.queue.congestion())
    }
}

/// A discipline chosen by name, with the view that an admission before it needs.
pub struct Viewed<P>(Box<dyn QueueDiscipline<P>>);

impl<P: Packet> Viewed<P> {
    /// The discipline with its view. If the discipline does not show its packets, it is returned as the error.
    pub fn new(queue: Box<dyn QueueDiscipline<P>>) -> Result<Viewed<P>, Box<dyn QueueDiscipline<P>>> {
        match queue.view().is_some() {
            true => Ok(Viewed(queue)),
            false => Err(queue),
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for Viewed<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        self.0.enqueue(p, line, out)
    }
    fn flow_joined(&mut self, p: &P, now: Time) {
        self.0.flow_joined(p, now)
    }
    fn flow_left(&mut self, p: &P, now: Time) {
        self.0.flow_left(p, now)
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        self.0.dequeue(line, out)
    }
    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }
    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        self.0.on_timer(line, out)
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        self.0.reconfigure(settings)
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

/// If the discipline has no view, the queue counts as empty and full. [`Viewed::new`] has excluded this case.
impl<P: Packet> QueueView<P> for Viewed<P> {
    fn stored(&self) -> Backlog {
        self.0.backlog()
    }
    fn limit(&self) -> Size {
        self.0.view().map_or(Size::Unlimited, |v| v.limit())
    }
    fn fits(&self, bytes: u32) -> bool {
        self.0.view().is_some_and(|v| v.fits(bytes))
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        self.0.view()?.draw(stream)
    }
    fn oldest(&self) -> Option<Handle> {
        self.0.view()?.oldest()
    }
    fn newest(&self) -> Option<Handle> {
        self.0.view()?.newest()
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.0.view()?.get(at)
    }
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P> {
        self.0.view_mut()?.remove(at, why, line)
    }
    fn congestion(&self) -> Option<Congestion> {
        self.0.view()?.congestion()
    }
}
