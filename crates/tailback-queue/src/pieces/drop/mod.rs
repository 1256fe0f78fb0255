//! The drop policies of a port, which decide which packet is lost when the buffer is full. Each policy has its own
//! file.

pub mod batch;
pub mod discard;
pub mod fair_share;
pub mod heavy;
pub mod longest;
pub mod most_held;
pub mod queue_limit;
pub mod random_discard;
pub mod share_mark;
pub mod sticky;
pub mod threshold;
pub mod throughput;

use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, MarkReason, Out, ProbeId};
use crate::contract::row::Row;
use crate::pieces::schedule::ServiceOrder;
use crate::pieces::store::{QueueId, Store};
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, ProbeDef, Settings, Size, Time};

/// The registry entry of a drop policy that a scenario can combine with a scheduler (`policy`). It builds the policy
/// for a buffer of a given size.
pub type PolicyEntry<P> = Row<fn(&Settings, Size, BuildContext) -> Result<Box<dyn DropPolicy<P>>, Refusal>>;

impl<P> Registered for PolicyEntry<P> {
    const FAMILY: &'static str = "policy";
    const WHAT: &'static str = "drop policy";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// A rule that decides which queue loses a packet.
pub trait DropPolicy<P: Packet> {
    /// Refuse an arriving packet, with the reason. This is called before the packet is stored.
    fn refuse(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) -> Option<DropReason> {
        None
    }
    /// The queue that loses packets to make room for a packet of queue `newcomer`. If the result is `None` or an empty
    /// queue, the arriving packet is refused instead. This is called again until the arriving packet fits.
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction>;
    /// The reason to mark the arriving packet `p`, which has been stored at the end of `q`, or `None`. The port marks
    /// the packet if it is ECN-capable.
    fn mark(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) -> Option<MarkReason> {
        None
    }
    /// Whether this number of bytes exceeds the policy's own limit, which is in addition to that of the buffer.
    fn is_over(&self, _bytes: u64) -> bool {
        false
    }
    /// Whether the policy makes room by evicting packets. A policy that only refuses arrivals returns false here, and
    /// `None` from `evict`.
    fn evicts(&self) -> bool {
        true
    }
    fn after_append(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {}
    fn after_service(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {}
    fn after_evict(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {}
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _scene: &mut Scene<P>) {}
    /// The policy's own probes. The arguments of [`DropPolicy::read`] and [`Scene::note`] are indices in this list.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// The queue that loses packets, and the packets that it loses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Eviction {
    pub queue: QueueId,
    pub end: End,
    /// The number of packets, if the queue has this many. A policy that drops in batches takes several at once.
    pub packets: u32,
    pub why: DropReason,
}

/// The end of the queue from which packets are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Front,
    Back,
}

impl Eviction {
    /// The eviction of one packet, because the buffer is full.
    pub fn one(queue: QueueId, end: End) -> Eviction {
        Eviction {
            queue,
            end,
            packets: 1,
            why: DropReason::Overflow,
        }
    }
}

/// The inputs of a drop policy during a call, and the receiver of its reports.
pub struct Scene<'a, P> {
    pub store: &'a Store<P>,
    pub line: &'a Line,
    /// The number of queues: the configured number, or the number so far if the classifier adds queues as flows arrive.
    pub queues: u32,
    /// The scheduler's ring, for ties that are broken in service order.
    pub order: &'a dyn ServiceOrder,
    pub(in crate::pieces) out: &'a mut dyn Out<P>,
    /// For each of the policy's probes, its id in the discipline's declaration.
    pub(in crate::pieces) ids: &'a [Option<ProbeId>],
}

impl<P> Scene<'_, P> {
    /// Report the new value of the policy's probe number `probe`. No effect if the model does not declare it.
    pub fn note(&mut self, probe: usize, index: u32, value: f64) {
        if let Some(Some(id)) = self.ids.get(probe) {
            self.out.note(*id, index, value);
        }
    }
}

/// A boxed drop policy is a drop policy too, so that it can be chosen by name.
impl<P: Packet> DropPolicy<P> for Box<dyn DropPolicy<P>> {
    fn refuse(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        (**self).refuse(q, p, scene)
    }
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        (**self).evict(newcomer, scene)
    }
    fn mark(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<MarkReason> {
        (**self).mark(q, p, scene)
    }
    fn is_over(&self, bytes: u64) -> bool {
        (**self).is_over(bytes)
    }
    fn evicts(&self) -> bool {
        (**self).evicts()
    }
    fn after_append(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        (**self).after_append(q, p, scene)
    }
    fn after_service(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        (**self).after_service(q, p, scene)
    }
    fn after_evict(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        (**self).after_evict(q, p, scene)
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, scene: &mut Scene<P>) {
        (**self).on_timer(scene)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}
