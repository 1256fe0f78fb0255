//! Batch drop: when a limit is exceeded, the queue with the most bytes loses packets from its front, up to a whole
//! batch at once.
//!
//! During a long overload, every arrival finds the buffer full. A search for the fattest queue at each arrival would
//! make an overloaded router even slower. So the fattest queue loses half of its bytes at once, or `batch` packets,
//! whichever is less. The arriving packet is stored before the queue is chosen. `memory` limits the bytes in addition
//! to the buffer, which usually counts packets.
//!
//! From: RFC 8290, section 4.1 (a batch from the queue with the largest byte count).
//!
//! State: the index that finds the fattest queue ([`Fattest`]). A packet costs an update of a count, and a drop a
//! search of all queues. While drops are frequent and small, both cost O(log n) instead. Among equal queues the one
//! with the lowest number loses packets, which favours no flow if queues are hashed.

use crate::contract::discipline::DropReason;
use crate::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use crate::pieces::index::fattest::Fattest;
use crate::pieces::store::QueueId;
use tailback_base::{Key, Kind, Model, Packet, Settings, params};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "batch-drop",
    family: "policy",
    title: "Batch drop from the fattest queue",
    summary: "When too much waits, the queue with the most bytes loses packets from its front: half of its bytes, but \
              at most a batch of packets (overload).",
    source: "RFC 8290 section 4.1",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    /// The largest number of packets that are dropped at once.
    pub DROP_BATCH: u64 = Key::new("drop_batch", Kind::Count { min: 1, max: 1_000_000 }, "64",
        "The most packets that are dropped at once. Fewer packets are dropped if they already have half of the \
         queue's bytes.",
        "RFC 8290 section 4.1");
    /// The largest number of bytes in all queues.
    pub MEMORY: u64 = Key::new("memory", Kind::Bytes { min: 1, max: 1_000_000_000_000 }, "32MiB",
        "The most bytes that may wait in all queues together, in addition to the limit of `buffer`.", "Linux fq_codel");
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
pub fn build(s: &Settings) -> BatchDrop {
    BatchDrop::new(s.get(&DROP_BATCH), s.get(&MEMORY))
}

/// The policy that drops packets from the fattest queue.
#[derive(Clone, Debug)]
pub struct BatchDrop {
    batch: u64,
    memory: u64,
    fattest: Fattest,
}

impl BatchDrop {
    /// A policy that drops at most this number of packets at once, and allows this number of bytes in all queues.
    pub fn new(batch: u64, memory: u64) -> BatchDrop {
        BatchDrop {
            batch,
            memory,
            fattest: Fattest::default(),
        }
    }
}

impl<P: Packet> DropPolicy<P> for BatchDrop {
    fn evict(&mut self, _newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        let store = scene.store;
        let queue = self.fattest.find(store)?;
        let enough = store.bytes(queue) / 2;
        let (mut dropped_bytes, mut packets) = (0, 0);
        for p in store.packets_of(queue) {
            dropped_bytes += u64::from(p.bytes());
            packets += 1;
            if dropped_bytes >= enough || u64::from(packets) >= self.batch {
                break;
            }
        }
        Some(Eviction {
            queue,
            end: End::Front,
            packets,
            why: DropReason::Overload,
        })
    }

    fn is_over(&self, bytes: u64) -> bool {
        bytes > self.memory
    }

    fn after_append(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.fattest.changed(q, scene.store);
    }
    fn after_service(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.fattest.changed(q, scene.store);
    }
    fn after_evict(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.fattest.changed(q, scene.store);
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
