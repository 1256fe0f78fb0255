//! Which packet is lost when the buffer is full: the drop policies of a port, one file each.

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

/// One drop policy that a scenario can put above a scheduler (`policy`), for a buffer of this size.
pub type PolicyEntry<P> = Row<fn(&Settings, Size, BuildContext) -> Result<Box<dyn DropPolicy<P>>, Refusal>>;

impl<P> Registered for PolicyEntry<P> {
    const FAMILY: &'static str = "policy";
    const WHAT: &'static str = "drop policy";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// Decides which queue loses a packet.
pub trait DropPolicy<P: Packet> {
    /// Refuse an arriving packet, with the reason. Called with the state before the packet is stored.
    fn refuse(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) -> Option<DropReason> {
        None
    }
    /// The queue that loses packets for one of queue `newcomer`. If it is `None` or an empty queue, the newcomer is
    /// refused instead. Called again until the newcomer fits.
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction>;
    /// The newcomer `p` has been stored at the end of `q`: whether to mark it, with the reason. The frame marks it if
    /// it is ECN-capable.
    fn mark(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) -> Option<MarkReason> {
        None
    }
    /// Whether this many bytes are more than the policy allows, with any limit of the buffer.
    fn is_over(&self, _bytes: u64) -> bool {
        false
    }
    /// Whether the policy makes room by evicting. A policy that only refuses returns false, and its `evict` is
    /// `None`.
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
    /// The policy's own probes; [`DropPolicy::read`] and [`Scene::note`] take their place in this list.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// Which queue loses, and which packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Eviction {
    pub queue: QueueId,
    pub end: End,
    /// How many packets, if the queue has that many; a policy that drops in batches takes several at once.
    pub packets: u32,
    pub why: DropReason,
}

/// Which packet of a queue is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Front,
    Back,
}

impl Eviction {
    /// One packet, because the buffer is full.
    pub fn one(queue: QueueId, end: End) -> Eviction {
        Eviction {
            queue,
            end,
            packets: 1,
            why: DropReason::Overflow,
        }
    }
}

/// The inputs and the report of a drop policy during a call.
pub struct Scene<'a, P> {
    pub store: &'a Store<P>,
    pub line: &'a Line,
    /// The number of queues: the configured number, or the number so far if the classifier makes them as flows
    /// arrive.
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

/// A boxed drop policy is a drop policy.
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
