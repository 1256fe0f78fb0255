//! Dynamic threshold (DTDRR): no queue may be longer than alpha times the free space.
//!
//! A refusal on arrival needs no search for a victim, no index and no state. No packet is written to memory and dropped
//! later. The threshold changes with the load: a single queue may take alpha / (1 + alpha) of the buffer. With s queues
//! that are always backlogged, the free space settles at f = b / (1 + alpha s), and the length of each queue at alpha
//! f. The free space is not used, which is the disadvantage of the rule. But it lets a queue that was idle store
//! packets at once.
//!
//! A packet is refused when it does not fit (overflow), or when its queue without the packet is at least as long as
//! alpha * (cap - used) (refused). The comparison is `>=`, not `>` (`docs/decisions/shared-buffer.md`). The length of
//! the queue, cap and used are in the unit of the buffer.
//!
//! State: none. A packet costs one comparison. Stored packets are never evicted.
//!
//! Source: A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
//! IEEE/ACM Transactions on Networking 6(2), 1998; A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 6 (DTDRR).

use crate::contract::discipline::DropReason;
use crate::pieces::drop::{DropPolicy, Eviction, PolicyEntry, Scene};
use crate::pieces::store::QueueId;
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "dtdrr",
    family: "policy",
    title: "Dynamic threshold",
    summary: "A packet that arrives at a queue longer than alpha times the free space is refused.",
    source: "Choudhury and Hahne 1998",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    pub ALPHA: f64 = Key::new("alpha", ALPHA_RANGE, "2",
        "The threshold as a multiple of the free space.", "thesis chapter 6");
}

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, _, _| Ok(Box::new(build(s))),
    }
}

/// The policy that these settings describe. The settings may also be those of a discipline that declares its
/// parameters.
pub fn build(s: &Settings) -> Threshold {
    Threshold::new(s.get(&ALPHA))
}

/// The values that alpha may have. With 0, no packets would be accepted.
pub(super) const ALPHA_RANGE: Kind = Kind::Real { min: 1e-4, max: 1e4 };

/// Whether `q` has reached alpha times the free space.
pub(super) fn reached<P: Packet>(alpha: f64, q: QueueId, scene: &Scene<P>) -> bool {
    let length = scene.store.length(q).unwrap_or(0);
    length as f64 >= alpha * scene.store.free() as f64
}

/// The policy that refuses arrivals at a queue that has reached its share of the free space.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    alpha: f64,
}

impl Threshold {
    /// A policy with this `alpha`, which is above 0.
    pub fn new(alpha: f64) -> Threshold {
        Threshold { alpha }
    }
}

impl<P: Packet> DropPolicy<P> for Threshold {
    fn refuse(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        if !scene.store.fits(scene.store.cost(p)) {
            return Some(DropReason::Overflow);
        }
        reached(self.alpha, q, scene).then_some(DropReason::Refused)
    }
    fn evict(&mut self, _newcomer: QueueId, _scene: &mut Scene<P>) -> Option<Eviction> {
        None
    }
    fn evicts(&self) -> bool {
        false
    }
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
