//! Dynamic threshold (DTDRR): no queue may be longer than alpha times the free space.
//!
//! Refusing on arrival needs no search for a victim, no index and no state, and never writes packets to memory that
//! are dropped later. The threshold changes with the load: a single queue may take alpha / (1 + alpha) of the buffer.
//! With s queues that are always backlogged the free space settles at f = b / (1 + alpha s), and each of them at
//! alpha f. The space left free is the price of the rule; it lets a queue that was idle store packets at once.
//!
//! A packet is refused when it does not fit (overflow), or when its queue without the packet is at least as long as
//! alpha * (cap - used) (refused): `>=`, not `>` (`docs/decisions/shared-buffer.md`). Queue, cap and used are in the
//! unit of the buffer.
//!
//! State: none. A packet costs one comparison; nothing is ever evicted.
//!
//! Source: A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
//! IEEE/ACM Transactions on Networking 6(2), 1998; A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 6 (DTDRR).

use crate::contract::discipline::DropReason;
use crate::pieces::drop::{DropPolicy, Eviction, PolicyEntry, Scene};
use crate::pieces::store::QueueId;
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

/// The policy alone, for use under a scheduler of another name.
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

/// The row of the list of drop policies.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, _, _| Ok(Box::new(build(s))),
    }
}

/// The policy that these settings describe; the settings of a discipline that declares its parameters also work.
pub fn build(s: &Settings) -> Threshold {
    Threshold::new(s.get(&ALPHA))
}

/// The values that alpha may have; 0 would accept nothing.
pub(super) const ALPHA_RANGE: Kind = Kind::Real { min: 1e-4, max: 1e4 };

/// Whether `q` has reached alpha times the free space.
pub(super) fn reached<P: Packet>(alpha: f64, q: QueueId, scene: &Scene<P>) -> bool {
    let length = scene.store.length(q).unwrap_or(0);
    length as f64 >= alpha * scene.store.free() as f64
}

/// Refuses arrivals at a queue that has reached its share of the free space.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    alpha: f64,
}

impl Threshold {
    /// `alpha` is above 0.
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
