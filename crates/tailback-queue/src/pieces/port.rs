//! The port: several queues behind one line and in one buffer, served by a scheduler.
//!
//! A single queue treats all flows in the same way: an aggressive flow fills it, and a drop may hit any flow. With
//! several queues, a scheduler divides the line between them. All queues share the buffer, and when it is full, the
//! queue that causes the overflow can lose the packets. This file is the common frame of all such disciplines. They
//! differ in three pieces ([`Classifier`], [`Scheduler`], [`DropPolicy`]), which the frame calls at fixed points:
//!
//! ```text
//! enqueue   too large for the empty buffer? drop   queue_of   refuse?   AQM: admit   while full: evict   append
//!           Scheduler::appended, activate   DropPolicy::after_append   DropPolicy::mark
//! dequeue   Scheduler::next   take a packet   Scheduler::served   DropPolicy::after_service   Classifier::left
//! evict     Scheduler::evicting   take the front   Scheduler::deactivate or head_changed   DropPolicy::after_evict
//!           Classifier::left
//! ```
//!
//! A victim queue loses the packet at its front ([`Place::Queued`], overflow), because the source can detect this loss
//! earlier than that of the last packet. A policy may choose the last packet instead, as fair queueing does. If the
//! buffer is in bytes, several packets may have to be dropped for one arriving packet, and the policy is called for
//! each of them. The victim is chosen before the arriving packet is stored. With `count_newcomer` the arriving packet
//! is stored first and counts in the length of its queue. It may then be the packet that is dropped, and it counts as
//! dropped on arrival.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11. Departures: when the last packet of the queue with the turn is
//! evicted, the turn moves to the next queue, and the flag that the quantum was given is cleared. In ns-2 this flag
//! stays set, so the queue misses one quantum when it becomes active again. If the arriving packet is itself the
//! victim, it is reported as dropped on arrival. So the drops of stored packets are exactly the bytes that were stored
//! and then discarded.
//!
//! Each queue may have its own AQM ([`QueueAqms`]). This AQM admits packets to its queue, and when the queue has the
//! turn, it decides which packets are sent.
//!
//! State: the [`Store`]; `accepted`, the bytes of stored packets; `evicted`, the bytes of stored packets that were
//! dropped later. A packet costs O(1) here, plus the costs of the pieces.

use crate::contract::admission::earlier;
use crate::contract::capacity;
use crate::contract::discipline::{
    Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, QueueDiscipline, Service, fixed, signal, unchanged,
};
use crate::contract::queue_aqms::QueueAqms;
use crate::contract::row::settings_within;
use crate::contract::view::{Exit, Handle, QueueView};
use crate::params::{AQM, BEFORE};
use crate::pieces::classify::Classifier;
use crate::pieces::drop::End;
use crate::pieces::drop::{DropPolicy, Scene};
use crate::pieces::params::BUFFER;
use crate::pieces::schedule::Scheduler;
use crate::pieces::schedule::Turn;
use crate::pieces::store::{QueueId, Store};
use tailback_base::model::Value;
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Request, Settings, Size, Stream, Time};

/// The number of queues that have packets.
pub const BACKLOGGED: ProbeDef = ProbeDef {
    name: "backlogged",
    unit: "queues",
    doc: "Queues that hold packets.",
    per: "",
};
/// The length of a queue in packets, whatever the unit of the buffer is.
pub const QUEUE_PACKETS: ProbeDef = ProbeDef {
    name: "queue_packets",
    unit: "packets",
    doc: "Packets in a queue.",
    per: "queue",
};
/// The length of a queue in bytes.
pub const QUEUE_BYTES: ProbeDef = ProbeDef {
    name: "queue_length_bytes",
    unit: "B",
    doc: "Bytes in a queue.",
    per: "queue",
};
/// The bytes that were stored and then discarded.
pub const EVICTED_BYTES: ProbeDef = ProbeDef {
    name: "evicted_bytes",
    unit: "B",
    doc: "Bytes of packets that were stored in memory and then dropped instead of sent.",
    per: "",
};
/// The share of the stored bytes that were discarded, which is wasted memory bandwidth.
pub const EVICTED_SHARE: ProbeDef = ProbeDef {
    name: "evicted_share",
    unit: "1",
    doc: "Evicted bytes as a share of all bytes stored.",
    per: "",
};

/// The source of the value of a declared probe.
#[derive(Clone, Copy, Debug)]
enum ProbeSource {
    Backlogged,
    QueuePackets,
    QueueBytes,
    EvictedBytes,
    EvictedShare,
    Classifier(usize),
    Scheduler(usize),
    Policy(usize),
    /// A probe of the AQM of the queue with the given index.
    Aqm(ProbeId),
    Unknown,
}

/// A port of several queues, as a discipline.
pub struct Port<P, C, S, D> {
    store: Store<P>,
    classifier: C,
    scheduler: S,
    policy: D,
    aqms: Option<Box<QueueAqms<P>>>,
    /// If some parameters may change during a run, the values of the other parameters, which must not change.
    kept: Option<Vec<(&'static str, Option<Value>)>>,
    count_newcomer: bool,
    count_in_service: bool,
    /// The number of queues for which the classifier is made.
    configured: u32,
    accepted: u64,
    evicted: u64,
    probes: Vec<ProbeDef>,
    readings: Vec<ProbeSource>,
    /// For each probe of the policy, its id in `probes`.
    ids: Vec<Option<ProbeId>>,
}

/// The [`Scene`] for a call, made from the fields that the call does not change.
macro_rules! scene {
    ($port:ident, $line:expr, $out:expr) => {
        &mut Scene {
            store: &$port.store,
            line: $line,
            queues: $port.configured.max($port.store.queues()),
            order: &$port.scheduler,
            out: $out,
            ids: &$port.ids,
        }
    };
}

impl<P, C, S, D> Port<P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    /// An empty port. `buffer` limits the backlog of all queues together. With an unlimited buffer the policy never has
    /// to evict.
    pub fn new(buffer: Size, classifier: C, scheduler: S, policy: D) -> Self {
        Port {
            store: Store::new(buffer),
            configured: classifier.queues().unwrap_or(0),
            classifier,
            scheduler,
            policy,
            aqms: None,
            kept: None,
            count_newcomer: false,
            count_in_service: false,
            accepted: 0,
            evicted: 0,
            probes: Vec::new(),
            readings: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// Store the arriving packet before the victim is chosen, so that it counts in the length of its queue (as in ns-2;
    /// `docs/decisions/shared-buffer.md`).
    pub fn counting_newcomer(mut self, yes: bool) -> Self {
        self.count_newcomer = yes;
        self
    }

    /// Count the packet on the wire as part of the buffer.
    pub fn counting_in_service(mut self, yes: bool) -> Self {
        self.count_in_service = yes;
        self
    }

    /// Allow the buffer and the AQMs to change during a run. `settings` are the present settings of the port. `of_aqms`
    /// says which parameters of the discipline are those of its AQMs.
    pub fn changing(mut self, settings: &Settings, of_aqms: impl Fn(&str) -> bool) -> Self {
        let free = |name| [BUFFER.name, AQM.name, BEFORE.name].contains(&name) || of_aqms(name);
        let kept = settings.model.params.iter().filter(|p| !free(p.name));
        self.kept = Some(kept.map(|p| (p.name, settings.find(p.name).cloned())).collect());
        self
    }

    /// Whether a packet of this cost and this number of bytes fits, in addition to the packets that count now.
    fn fits_now(&self, cost: u64, bytes: u64, line: &Line) -> bool {
        if self.policy.is_over(self.store.backlog().bytes + bytes) {
            return false;
        }
        match line.busy.filter(|_| self.count_in_service) {
            None => self.store.fits(cost),
            Some(wire) => self.store.fits(cost + capacity::cost(self.store.size(), wire.bytes)),
        }
    }

    /// Provide these probes. They may be any probes of the frame and of the pieces, in any order, and are found by
    /// name.
    pub fn declaring(mut self, probes: &[ProbeDef]) -> Self {
        let within = |list: &[ProbeDef], name: &str| list.iter().position(|d| d.name == name);
        let find = |name: &str| match name {
            _ if name == BACKLOGGED.name => ProbeSource::Backlogged,
            _ if name == QUEUE_PACKETS.name => ProbeSource::QueuePackets,
            _ if name == QUEUE_BYTES.name => ProbeSource::QueueBytes,
            _ if name == EVICTED_BYTES.name => ProbeSource::EvictedBytes,
            _ if name == EVICTED_SHARE.name => ProbeSource::EvictedShare,
            _ => within(self.policy.probes(), name)
                .map(ProbeSource::Policy)
                .or_else(|| within(self.scheduler.probes(), name).map(ProbeSource::Scheduler))
                .or_else(|| within(self.classifier.probes(), name).map(ProbeSource::Classifier))
                .unwrap_or(ProbeSource::Unknown),
        };
        let readings = probes.iter().map(|d| find(d.name)).collect();
        let id = |d: &ProbeDef| within(probes, d.name).map(|i| ProbeId(i as u16));
        let ids = self.policy.probes().iter().map(id).collect();
        (self.probes, self.readings, self.ids) = (probes.to_vec(), readings, ids);
        self
    }

    pub fn store(&self) -> &Store<P> {
        &self.store
    }

    pub fn classifier(&self) -> &C {
        &self.classifier
    }

    /// The classifier, for tests of single pieces.
    #[cfg(test)]
    pub(super) fn classifier_mut(&mut self) -> &mut C {
        &mut self.classifier
    }

    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    pub fn policy(&self) -> &D {
        &self.policy
    }

    /// Remove a stored packet without sending it, and inform all pieces, but not `out`.
    fn take_out(&mut self, slot: u32, line: &Line, out: &mut dyn Out<P>) -> Option<(QueueId, P)> {
        let q = self.store.queue_of(slot)?;
        let was_head = self.store.head(q) == Some(slot);
        self.scheduler.evicting(q, slot, &self.store, line);
        let (q, p) = self.store.remove(slot)?;
        if self.store.packets(q) == 0 {
            self.scheduler.deactivate(q, &self.store, line);
        } else if was_head {
            self.scheduler.head_changed(q, &self.store, line);
        }
        self.policy.after_evict(q, &p, scene!(self, line, out));
        Some((q, p))
    }

    /// Evict packets to make room for an arriving packet of queue `q`. If the arriving packet counts, it is already
    /// stored in the slot `newcomer`. Returns the last slot that was emptied (that of the arriving packet, if it was
    /// evicted), or `None` if the policy names no queue.
    pub(super) fn evict(
        &mut self,
        q: QueueId,
        newcomer: Option<u32>,
        line: &Line,
        out: &mut dyn Out<P>,
    ) -> Option<u32> {
        let eviction = self.policy.evict(q, scene!(self, line, out))?;
        let mut emptied = None;
        for _ in 0..eviction.packets {
            let slot = match eviction.end {
                End::Front => self.store.head(eviction.queue),
                End::Back => self.store.tail(eviction.queue),
            };
            let Some((v, x)) = slot.and_then(|slot| self.take_out(slot, line, out)) else {
                break;
            };
            emptied = slot;
            if newcomer.is_some() && newcomer == slot {
                self.refuse(x, v, eviction.why, line, out);
                break;
            }
            self.evicted += u64::from(x.bytes());
            self.classifier.left(&x, v, line.now);
            self.tell_aqm(v, &x, Exit::Evicted(eviction.why), line);
            out.dropped(x, Place::Queued, eviction.why);
        }
        emptied
    }

    /// Inform the AQM of a queue that a packet that it admitted has left.
    #[inline]
    fn tell_aqm(&mut self, q: QueueId, p: &P, how: Exit, line: &Line) {
        if let Some(aqms) = &mut self.aqms {
            aqms.left(q, p, how, self.store.backlog_of(q), line);
        }
    }

    fn refuse(&mut self, p: P, q: QueueId, why: DropReason, line: &Line, out: &mut dyn Out<P>) {
        self.classifier.refused(&p, q, line.now);
        self.tell_aqm(q, &p, Exit::Dropped(Place::Arriving, why), line);
        out.dropped(p, Place::Arriving, why);
    }

    /// Store a packet and inform the pieces. Returns `None` if no slot index was left, and the packet was dropped.
    fn append(&mut self, q: QueueId, p: P, line: &Line, out: &mut dyn Out<P>) -> Option<u32> {
        let slot = match self.store.append(q, p, line.now) {
            Ok(slot) => slot,
            Err(p) => {
                self.refuse(p, q, DropReason::Overflow, line, out);
                return None;
            }
        };
        self.scheduler.appended(q, slot, &self.store, line);
        if self.store.packets(q) == 1 {
            self.scheduler.activate(q, &self.store, line);
        }
        if let Some(p) = self.store.packet(slot) {
            self.policy.after_append(q, p, scene!(self, line, out));
        }
        Some(slot)
    }
}

impl<P, C, S, D> Port<P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    /// Mark the packet that has just arrived, if the policy says so.
    #[inline]
    fn mark(&mut self, q: QueueId, slot: u32, line: &Line, out: &mut dyn Out<P>) {
        let why = match self.store.packet(slot) {
            Some(p) => self.policy.mark(q, p, scene!(self, line, out)),
            None => None,
        };
        if let (Some(why), Some(p)) = (why, self.store.packet_mut(slot)) {
            signal(p, true, why, out);
        }
    }
}

impl<P, C, S, D> QueueDiscipline<P> for Port<P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        let (cost, bytes) = (self.store.cost(&p), u64::from(p.bytes()));
        if cost > self.store.limit() {
            out.dropped(p, Place::Arriving, DropReason::Overflow);
            return;
        }
        let q = self.classifier.queue_of(&p, line.now);
        if let Some(why) = self.policy.refuse(q, &p, scene!(self, line, out)) {
            self.classifier.refused(&p, q, line.now);
            out.dropped(p, Place::Arriving, why);
            return;
        }
        let p = match self.aqms {
            None => p,
            Some(_) => match self.admitted(q, p, line, out) {
                Some(p) => p,
                None => return,
            },
        };
        if self.count_newcomer {
            let Some(slot) = self.append(q, p, line, out) else {
                return;
            };
            while !self.fits_now(0, 0, line) {
                match self.evict(q, Some(slot), line, out) {
                    Some(emptied) if emptied == slot => return,
                    Some(_) => {}
                    None => {
                        if let Some((q, p)) = self.take_out(slot, line, out) {
                            self.refuse(p, q, DropReason::Overflow, line, out);
                        }
                        return;
                    }
                }
            }
            self.accepted += bytes;
            self.mark(q, slot, line, out);
        } else {
            while !self.fits_now(cost, bytes, line) {
                if self.evict(q, None, line, out).is_none() {
                    self.refuse(p, q, DropReason::Overflow, line, out);
                    return;
                }
            }
            if let Some(slot) = self.append(q, p, line, out) {
                self.accepted += bytes;
                self.mark(q, slot, line, out);
            }
        }
    }

    fn flow_joined(&mut self, p: &P, now: Time) {
        self.classifier.flow_joined(p, now);
        self.configured = self.classifier.queues().unwrap_or(0);
    }

    fn flow_left(&mut self, p: &P, now: Time) {
        self.classifier.flow_left(p, now);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        loop {
            let q = match self.scheduler.next(&self.store, line) {
                Turn::Queue(q) => q,
                Turn::Wait(t) => return Service::Wait(t),
                Turn::Empty => return Service::Empty,
            };
            let taken = match self.aqms {
                None => self.store.head(q).and_then(|slot| self.store.remove(slot)).map(|x| x.1),
                Some(_) => self.taken(q, line, out),
            };
            let Some(p) = taken else {
                // The queue was empty, or its AQM has dropped all its packets. So another queue gets the turn.
                self.scheduler.found_empty(q, &self.store, line);
                if !self.scheduler.revisits() && self.store.backlog().packets == 0 {
                    return Service::Empty;
                }
                continue;
            };
            self.scheduler.served(q, p.bytes(), &self.store, line);
            self.policy.after_service(q, &p, scene!(self, line, out));
            self.classifier.left(&p, q, line.now);
            self.tell_aqm(q, &p, Exit::Served, line);
            return Service::Send(p);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let pieces = earlier(self.classifier.next_timer(), self.policy.next_timer());
        match &self.aqms {
            None => pieces,
            Some(aqms) => earlier(pieces, aqms.next_timer()),
        }
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let due = |t: Option<Time>| t.is_some_and(|t| t <= line.now);
        if due(self.classifier.next_timer()) {
            self.classifier.on_timer(line.now);
        }
        if due(self.policy.next_timer()) {
            self.policy.on_timer(scene!(self, line, out));
        }
        while let Some(q) = self.aqms.as_ref().and_then(|a| a.due(line.now)) {
            self.aqm_timer(q, line, out);
        }
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    /// Change the buffer and the AQM of each queue. If the buffer becomes smaller, the next arrival evicts packets as
    /// in a full buffer.
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        let kept = self.kept.as_ref().ok_or_else(|| fixed(settings))?;
        for (name, value) in kept {
            unchanged(name, &value.as_ref(), &settings.find(name))?;
        }
        let buffer = capacity::resized(self.store.size(), settings.get(&BUFFER))?;
        if let Some(aqms) = &mut self.aqms {
            let inner = settings.model.param(AQM.name).and_then(|_| settings.nested(AQM.name));
            match inner {
                Some(own) => {
                    let taken = settings_within(own, settings).and_then(|own| aqms.reconfigure(&own));
                    taken.map_err(|e| e.within(AQM.name))?;
                }
                None => aqms.reconfigure(settings)?,
            }
        }
        self.store.set_size(buffer);
        Ok(())
    }

    fn sends_requests(&self) -> bool {
        self.aqms.as_ref().is_some_and(|a| a.sends_requests())
    }

    /// The probes of the AQMs come after those of the port, with one value for each queue.
    fn give_aqms(&mut self, mut aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        aqms.idle_at_once = !self.scheduler.revisits();
        for (i, d) in aqms.probes().iter().enumerate() {
            self.readings.push(ProbeSource::Aqm(ProbeId(i as u16)));
            self.probes.push(ProbeDef { per: "queue", ..*d });
        }
        self.aqms = Some(Box::new(aqms));
        Ok(())
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        let per_queue = |x: f64| if index < self.store.queues() { x } else { f64::NAN };
        let queues = self.configured.max(self.store.queues());
        match self
            .readings
            .get(usize::from(probe.0))
            .copied()
            .unwrap_or(ProbeSource::Unknown)
        {
            ProbeSource::Backlogged => f64::from(self.store.backlogged()),
            ProbeSource::QueuePackets => per_queue(f64::from(self.store.packets(index))),
            ProbeSource::QueueBytes => per_queue(self.store.bytes(index) as f64),
            ProbeSource::EvictedBytes => self.evicted as f64,
            ProbeSource::EvictedShare if self.accepted == 0 => 0.0,
            ProbeSource::EvictedShare => self.evicted as f64 / self.accepted as f64,
            ProbeSource::Classifier(i) => self.classifier.read(i, index),
            ProbeSource::Scheduler(i) => self.scheduler.read(i, index),
            // A policy keeps its data for a queue and does not store how many queues there are. So the port checks the
            // index.
            ProbeSource::Policy(i) if self.policy.probes()[i].per == "queue" && index >= queues => f64::NAN,
            ProbeSource::Policy(i) => self.policy.read(i, index),
            ProbeSource::Aqm(id) => per_queue(self.aqms.as_ref().map_or(f64::NAN, |a| a.read(index, id))),
            ProbeSource::Unknown => f64::NAN,
        }
    }
}

/// This view lets an admission run before a port. It draws from the packets of all queues with equal probability, and
/// evicts packets from any queue.
impl<P, C, S, D> QueueView<P> for Port<P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    fn stored(&self) -> Backlog {
        self.store.backlog()
    }

    fn limit(&self) -> Size {
        self.store.size()
    }

    fn fits(&self, bytes: u32) -> bool {
        let cost = match self.store.size() {
            Size::Bytes(_) => u64::from(bytes),
            Size::Packets(_) | Size::Unlimited => 1,
        };
        if self.policy.evicts() {
            cost <= self.store.limit()
        } else {
            self.store.fits(cost)
        }
    }

    /// One random draw from all stored packets. It costs O(1), except at the first call.
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.store.backlog().packets {
            0 => None,
            n => self
                .store
                .nth(stream.below(n) as u32)
                .map(|slot| Handle(u64::from(slot))),
        }
    }

    fn oldest(&self) -> Option<Handle> {
        self.store.oldest().map(|slot| Handle(u64::from(slot)))
    }
    fn newest(&self) -> Option<Handle> {
        self.store.newest().map(|slot| Handle(u64::from(slot)))
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.store.packet(u32::try_from(at.0).ok()?)
    }

    /// A packet that an admission evicts also counts as stored and then discarded.
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P> {
        let (q, p) = self.take_out(u32::try_from(at.0).ok()?, line, &mut Silent)?;
        self.evicted += u64::from(p.bytes());
        self.classifier.left(&p, q, line.now);
        self.tell_aqm(q, &p, Exit::Evicted(why), line);
        Some(p)
    }
}

/// An `Out` that ignores reports.
pub(super) struct Silent;

impl<P> Out<P> for Silent {
    fn dropped(&mut self, _p: P, _place: Place, _why: DropReason) {}
    fn marked(&mut self, _p: &P, _why: MarkReason) {}
    fn request(&mut self, _about: &P, _r: Request) {}
    fn note(&mut self, _probe: ProbeId, _index: u32, _value: f64) {}
}

#[path = "port_aqm.rs"]
mod aqm;

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
