//! The classifiers of a port, which decide which packets share a queue. Each classifier has its own file.

pub mod bloom;
pub mod buckets;
pub mod by_weight;
pub mod conversations;
pub mod hash;
pub mod hash_sets;
pub mod occupancy;
pub mod per_flow;

use crate::pieces::store::QueueId;
use tailback_base::{Packet, ProbeDef, Time};

/// A rule that maps packets to queues.
pub trait Classifier<P: Packet> {
    /// The queue of an arriving packet. Numbers start at 0 and have no gaps, because the port has a queue for every
    /// number up to the largest one used. For the same packet, a call of either [`Classifier::refused`] or
    /// [`Classifier::left`] follows.
    fn queue_of(&mut self, p: &P, now: Time) -> QueueId;
    /// The number of queues, if it is known in advance.
    fn queues(&self) -> Option<u32> {
        None
    }
    /// A flow with packets like this one may send from now on; see `QueueDiscipline::flow_joined`.
    fn flow_joined(&mut self, _p: &P, _now: Time) {}
    /// The flow sends no more packets, or the keys of its packets have changed.
    fn flow_left(&mut self, _p: &P, _now: Time) {}
    /// The packet was dropped on arrival.
    fn refused(&mut self, _p: &P, _q: QueueId, _now: Time) {}
    /// The packet left queue `q`, served or evicted.
    fn left(&mut self, _p: &P, _q: QueueId, _now: Time) {}
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    /// The classifier's own probes. The argument of [`Classifier::read`] is the index in this list.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        f64::NAN
    }
}

/// A boxed classifier is a classifier too, so that the mapper of a port can be chosen at run time.
impl<P: Packet> Classifier<P> for Box<dyn Classifier<P>> {
    fn queue_of(&mut self, p: &P, now: Time) -> QueueId {
        (**self).queue_of(p, now)
    }
    fn queues(&self) -> Option<u32> {
        (**self).queues()
    }
    fn flow_joined(&mut self, p: &P, now: Time) {
        (**self).flow_joined(p, now)
    }
    fn flow_left(&mut self, p: &P, now: Time) {
        (**self).flow_left(p, now)
    }
    fn refused(&mut self, p: &P, q: QueueId, now: Time) {
        (**self).refused(p, q, now)
    }
    fn left(&mut self, p: &P, q: QueueId, now: Time) {
        (**self).left(p, q, now)
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, now: Time) {
        (**self).on_timer(now)
    }
    fn probes(&self) -> &'static [ProbeDef] {
        (**self).probes()
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        (**self).read(probe, index)
    }
}
