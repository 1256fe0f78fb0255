//! One memory for the packets of several ports, divided by dynamic thresholds.
//!
//! The ports of a switch often share a memory. A queue may take what others leave, but not all of it: it refuses an
//! arriving packet while it holds as much as `alpha` times what is free. So a queue that is alone on the switch gets
//! alpha / (1 + alpha) of the memory, and n full queues get alpha / (1 + n alpha) each; the rest stays free for a queue
//! that was empty so far. Measure: the queue's own length and the free memory. Function: a threshold. Action: the
//! arriving packet is dropped (overflow).
//!
//! ```text
//! arrival at queue q    T = alpha (B - Q);    drop if length(q) >= T, or if the packet does not fit into B - Q
//! ```
//!
//! B is the memory, Q what all queues of the switch hold, both in the unit of the memory (packets or bytes).
//!
//! From: A. K. Choudhury and E. L. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998, equation 1 and section III.
//!
//! State: what all ports hold (packets and bytes), once for the switch; what a port held when it was last counted. A
//! packet costs two comparisons and two additions, beside what the discipline of its port costs.
//!
//! A port whose discipline gives each of its queues an AQM compares each queue with a threshold of its own, before that
//! AQM; any other port counts as one queue. The packet on the wire is in no queue. A discipline that makes room for an
//! arrival by dropping others is asked only if the memory has room.
//!
//! The ports share the memory by reference, so all ports of a switch belong to one driver and one thread.

use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::capacity;
use crate::contract::discipline::{Line, Out, QueueDiscipline, Service};
use crate::contract::queue_aqms::{QueueAqms, QueueId};
use crate::contract::report::{Backlog, DropReason, Place, ProbeId};
use crate::contract::view::{Congestion, Exit, PacketSource, QueueView};
use std::cell::Cell;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Size, Time};

/// The memory of a switch.
pub struct SharedMemory {
    size: Size,
    /// What all ports hold.
    held: Cell<Backlog>,
}

impl SharedMemory {
    pub fn new(size: Size) -> SharedMemory {
        SharedMemory {
            size,
            held: Cell::default(),
        }
    }

    /// What all ports hold.
    pub fn held(&self) -> Backlog {
        self.held.get()
    }

    /// The memory that no packet takes, in its unit; infinite if it has no end.
    fn free(&self) -> f64 {
        let size = match self.size {
            Size::Packets(n) | Size::Bytes(n) => n,
            Size::Unlimited => return f64::INFINITY,
        };
        size.saturating_sub(capacity::level(self.size, self.held.get())) as f64
    }

    /// A port held `before`, and now holds `now`.
    fn count(&self, before: Backlog, now: Backlog) {
        let held = self.held.get();
        self.held.set(Backlog {
            packets: held.packets + now.packets - before.packets,
            bytes: held.bytes + now.bytes - before.bytes,
        });
    }
}

/// The part of a port in the memory of its switch.
#[derive(Clone)]
pub struct MemoryShare {
    memory: Rc<SharedMemory>,
    /// Factors of queue 0, 1, ... of the port; the last is for all later ones.
    alpha: Rc<[f64]>,
}

impl MemoryShare {
    /// With one factor for each queue of the port, the last for all later ones; without any, a queue may take what is
    /// free.
    pub fn new(memory: &Rc<SharedMemory>, alpha: &[f64]) -> MemoryShare {
        MemoryShare {
            memory: memory.clone(),
            alpha: alpha.into(),
        }
    }

    /// The most that a queue may hold now.
    pub fn threshold(&self, queue: QueueId) -> f64 {
        let alpha = self.alpha.get(queue as usize).or(self.alpha.last());
        alpha.copied().unwrap_or(1.0) * self.memory.free()
    }

    /// Whether a queue that holds this much is below its threshold.
    fn admits(&self, queue: QueueId, own: Backlog) -> bool {
        (capacity::level(self.memory.size, own) as f64) < self.threshold(queue)
    }

    /// Whether the memory has room for a packet of this size.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.memory.size, self.memory.held(), bytes)
    }
}

/// A discipline whose packets lie in the memory of a switch.
pub struct SharingPort<P> {
    queue: Box<dyn QueueDiscipline<P>>,
    share: MemoryShare,
    /// The backlog that was last reported to the memory.
    counted: Backlog,
    /// Whether each queue has its own threshold; otherwise the port has one.
    by_queue: bool,
}

impl<P: Packet> SharingPort<P> {
    /// `by_queue` if the discipline was built with [`QueueThreshold`]s on its queues.
    pub fn new(queue: Box<dyn QueueDiscipline<P>>, share: MemoryShare, by_queue: bool) -> SharingPort<P> {
        SharingPort {
            queue,
            share,
            counted: Backlog::default(),
            by_queue,
        }
    }

    #[inline]
    fn count(&mut self) {
        let now = self.queue.backlog();
        self.share.memory.count(self.counted, now);
        self.counted = now;
    }
}

impl<P: Packet> QueueDiscipline<P> for SharingPort<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        let below = self.by_queue || self.share.admits(0, self.counted);
        if !(below && self.share.fits(p.bytes())) {
            return out.dropped(p, Place::Arriving, DropReason::Overflow);
        }
        self.queue.enqueue(p, line, out);
        self.count();
    }
    fn flow_joined(&mut self, p: &P, now: Time) {
        self.queue.flow_joined(p, now);
    }
    fn flow_left(&mut self, p: &P, now: Time) {
        self.queue.flow_left(p, now);
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let service = self.queue.dequeue(line, out);
        self.count();
        service
    }
    fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }
    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        self.queue.on_timer(line, out);
        self.count();
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        self.queue.reconfigure(settings)
    }
    fn view(&self) -> Option<&dyn QueueView<P>> {
        self.queue.view()
    }
    fn sends_requests(&self) -> bool {
        self.queue.sends_requests()
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn probes(&self) -> &[ProbeDef] {
        self.queue.probes()
    }
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        self.queue.read(probe, index)
    }
}

/// The threshold of one queue of a port, before the AQM of this queue.
pub struct QueueThreshold<P> {
    share: MemoryShare,
    queue: QueueId,
    aqm: Option<Box<dyn Admission<P>>>,
}

impl<P: Packet> QueueThreshold<P> {
    pub fn new(share: MemoryShare, queue: QueueId, aqm: Option<Box<dyn Admission<P>>>) -> QueueThreshold<P> {
        QueueThreshold { share, queue, aqm }
    }

    /// Thresholds on the queues of a port that has no AQM on each.
    pub fn alone(share: &MemoryShare) -> QueueAqms<P>
    where
        P: 'static,
    {
        let share = share.clone();
        QueueAqms::new(Box::new(move |q| Box::new(QueueThreshold::new(share.clone(), q, None))))
    }
}

impl<P: Packet> Admission<P> for QueueThreshold<P> {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        match &mut self.aqm {
            _ if !self.share.admits(self.queue, queue.backlog()) => Decision::Drop(DropReason::Overflow),
            Some(aqm) => aqm.admit(p, queue, line, out),
            None => Decision::Store,
        }
    }
    fn take(&mut self, from: &mut dyn PacketSource<P>, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        match &mut self.aqm {
            Some(aqm) => aqm.take(from, line, out),
            None => from.pop(),
        }
    }
    fn leaving(&mut self, p: &mut P, line: &Line, out: &mut dyn Out<P>) {
        if let Some(aqm) = &mut self.aqm {
            aqm.leaving(p, line, out);
        }
    }
    fn left(&mut self, p: &P, how: Exit, rest: Backlog, line: &Line) {
        if let Some(aqm) = &mut self.aqm {
            aqm.left(p, how, rest, line);
        }
    }
    fn idle(&mut self, line: &Line) {
        if let Some(aqm) = &mut self.aqm {
            aqm.idle(line);
        }
    }
    fn next_timer(&self) -> Option<Time> {
        self.aqm.as_ref()?.next_timer()
    }
    fn on_timer(&mut self, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) {
        if let Some(aqm) = &mut self.aqm {
            aqm.on_timer(queue, line, out);
        }
    }
    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        self.aqm.as_mut().map_or(Ok(()), |aqm| aqm.reconfigure(settings))
    }
    fn congestion(&self) -> Option<Congestion> {
        self.aqm.as_ref()?.congestion()
    }
    fn sends_requests(&self) -> bool {
        self.aqm.as_ref().is_some_and(|aqm| aqm.sends_requests())
    }
    fn probes(&self) -> &[ProbeDef] {
        self.aqm.as_ref().map_or(&[], |aqm| aqm.probes())
    }
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        self.aqm.as_ref().map_or(f64::NAN, |aqm| aqm.read(probe, index))
    }
}

#[cfg(test)]
mod tests;
