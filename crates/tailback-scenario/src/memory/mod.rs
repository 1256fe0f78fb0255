//! An upper bound for the memory of a run, computed from its scenario without building it.
//!
//! A bound is a list of parts, each with the key of the scenario that causes it. Memory that grows during a run is
//! limited by the load that the lines carry in its time: a waiting packet, a row of a table and an open connection all
//! need packets that passed a line. Sizes are those of the stored structs. The constants at the top of each file are
//! the overhead of the allocator and sizes that are only measured. `benches/memory_bound.py` compares bounds with the
//! peaks of runs.
//!
//! `traffic` computes the load of sources, `session_load` computes the load of sessions, and `lines` computes the paths
//! of this load and how much of it the lines carry. `packets`, `flows`, `sessions`, `workloads`, `queues` and `records`
//! compute the memory for it.
//!
//! For a run that loses very many packets one part of the bound is an estimate: the log of drops. Its number of rows
//! depends on the reaction of TCP to losses (`losses.rs`).

mod flows;
mod lines;
mod losses;
mod packets;
mod queues;
mod records;
mod session_load;
mod sessions;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;
mod workloads;

use lines::Lines;
use std::collections::HashMap;
use tailback_sim::library::Library;
use tailback_sim::spec::Spec;

/// The memory that one key of a scenario causes.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPart {
    /// The key as in the scenario: `flows.bulk`, `record.buffer`, `link.bottleneck.queue`; `run` for the memory of
    /// every run.
    pub key: String,
    /// The most at one time, during the run or while its tables are made.
    pub bytes: u64,
    /// The part of it that the tables take after the run, until they are stored or released.
    pub kept: u64,
}

/// The memory of an empty run in addition to that of a loaded program, bytes: a stack, the event list, code that is
/// read in.
const EVERY_RUN: f64 = 930e3;
/// The loss of the allocator between its blocks, as a factor on small allocations.
const LOST: f64 = 1.1;

/// The parts of a run's memory, without empty ones, the largest first.
pub fn bound(spec: &Spec, library: &Library) -> Vec<MemoryPart> {
    let lines = Lines::of(spec, library);
    let mut parts = Parts::default();
    parts.add("run", EVERY_RUN, 0.0);
    flows::add(&mut parts, spec, &lines);
    sessions::add(&mut parts, spec, &lines);
    workloads::add(&mut parts, spec, library);
    queues::add(&mut parts, spec, library, &lines);
    packets::add(&mut parts, spec, &lines);
    records::add(&mut parts, spec, &lines);
    let mut parts = parts.all;
    parts.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.key.cmp(&b.key)));
    parts
}

/// All parts together, bytes.
pub fn total(parts: &[MemoryPart]) -> u64 {
    parts.iter().map(|p| p.bytes).fold(0, u64::saturating_add)
}

/// Parts, and the index of each key's part.
#[derive(Default)]
struct Parts {
    all: Vec<MemoryPart>,
    places: HashMap<String, usize>,
}

impl Parts {
    /// Add this many bytes to the part of a key, of which `kept` remain after the run.
    fn add(&mut self, key: &str, bytes: f64, kept: f64) {
        // The conversion of a real number does not wrap; NaN becomes zero.
        let (bytes, kept) = ((LOST * bytes) as u64, kept as u64);
        if bytes == 0 {
            return;
        }
        if let Some(&at) = self.places.get(key) {
            let p = &mut self.all[at];
            p.bytes = p.bytes.saturating_add(bytes);
            p.kept = p.kept.saturating_add(kept);
            return;
        }
        self.places.insert(key.to_string(), self.all.len());
        let key = key.to_string();
        self.all.push(MemoryPart { key, bytes, kept });
    }
}

/// The size of a struct as a real number of bytes.
fn of<T>() -> f64 {
    size_of::<T>() as f64
}

/// The overhead of a block of the heap, including rounding, bytes.
const BLOCK: f64 = 16.0;
