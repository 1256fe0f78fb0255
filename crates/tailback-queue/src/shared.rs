//! One memory for the packets of several ports, divided by dynamic thresholds.
//!
//! The ports of a switch often share a memory. A queue may use only a part of the memory that other queues leave free:
//! an arriving packet is refused while the length of its queue is at least `alpha` times the free memory. So if only
//! one queue has packets, it gets alpha / (1 + alpha) of the memory, and n full queues get alpha / (1 + n alpha) each.
//! The rest stays free for a queue that was empty so far. Measure: the queue's own length and the free memory.
//! Function: a threshold. Action: the arriving packet is dropped (overflow).
//!
//! ```text
//! arrival at queue q    T = alpha (B - Q);    drop if length(q) >= T, or if the packet does not fit into B - Q
//! ```
//!
//! B is the size of the memory, and Q the space that all queues of the switch use, both in the unit of the memory
//! (packets or bytes).
//!
//! From: A. K. Choudhury and E. L. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998, equation 1 and section III.
//!
//! State: the packets and bytes of all ports together, once for the switch; the backlog of each port when it was last
//! counted. A packet costs two comparisons and two additions, and the cost of the discipline of its port.
//!
//! If the discipline of a port can have an AQM on each queue, each queue is compared with its own threshold before its
//! AQM. Any other port counts as one queue. The packet on the wire counts in no queue. If a discipline makes room for
//! an arrival by dropping other packets, the arrival reaches this discipline only if the memory has room.
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
    /// The backlog of all ports together.
    held: Cell<Backlog>,
}

impl SharedMemory {
    pub fn new(size: Size) -> SharedMemory {
        SharedMemory {
            size,
            held: Cell::default(),
        }
    }

    /// The backlog of all ports together.
    pub fn held(&self) -> Backlog {
        self.held.get()
    }

    /// The free memory, in its unit; infinite if the memory is unlimited.
    fn free(&self) -> f64 {
        let size = match self.size {
            Size::Packets(n) | Size::Bytes(n) => n,
            Size::Unlimited => return f64::INFINITY,
        };
        size.saturating_sub(capacity::level(self.size, self.held.get())) as f64
    }

    /// Count a change of the backlog of a port from `before` to `now`.
    fn count(&self, before: Backlog, now: Backlog) {
        let held_memory = self.held.get();
        self.held.set(Backlog {
            packets: held_memory.packets + now.packets - before.packets,
            bytes: held_memory.bytes + now.bytes - before.bytes,
        });
    }
}

/// The rule for the part of a port in the memory of its switch.
#[derive(Clone)]
pub struct MemoryShare {
    memory: Rc<SharedMemory>,
    /// The factors of queue 0, 1, ... of the port. The last factor is used for all later queues.
    alpha: Rc<[f64]>,
}

impl MemoryShare {
    /// A share with one factor for each queue of the port; the last factor is used for all later queues. Without
    /// factors, the factor is 1.
    pub fn new(memory: &Rc<SharedMemory>, alpha: &[f64]) -> MemoryShare {
        MemoryShare {
            memory: memory.clone(),
            alpha: alpha.into(),
        }
    }

    /// The threshold of a queue at present.
    pub fn threshold(&self, queue: QueueId) -> f64 {
        let alpha = self.alpha.get(queue as usize).or(self.alpha.last());
        alpha.copied().unwrap_or(1.0) * self.memory.free()
    }

    /// Whether a queue with this backlog is below its threshold.
    fn admits(&self, queue: QueueId, own: Backlog) -> bool {
        (capacity::level(self.memory.size, own) as f64) < self.threshold(queue)
    }

    /// Whether the memory has room for a packet of this size.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.memory.size, self.memory.held(), bytes)
    }
}

/// A discipline whose packets are in the shared memory of a switch.
pub struct SharingPort<P> {
    queue: Box<dyn QueueDiscipline<P>>,
    share: MemoryShare,
    /// The backlog that was last reported to the memory.
    counted: Backlog,
    /// Whether each queue has its own threshold; otherwise the port has one.
    by_queue: bool,
}

impl<P: Packet> SharingPort<P> {
    /// Wrap a discipline. `by_queue` says whether it was built with a [`QueueThreshold`] on each queue.
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

    /// Thresholds for the queues of a port that has no AQM on its queues.
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
