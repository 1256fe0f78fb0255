//! What a run takes of the memory at most, by arithmetic from its scenario, without building it.
//!
//! A bound is a list of parts, each with the key of the scenario that causes it. What grows while a run goes on is
//! bounded by what the lines carry in its time: a packet that waits, a row of a table and an open connection all need
//! packets that passed a line. Sizes are those of the structs that are stored; what the allocator adds, and what is
//! only measured, are the constants at the top of each file. `benches/memory_bound.py` holds bounds beside the peaks of
//! runs.
//!
//! `traffic` says what sources and sessions bring, `lines` which way it goes and how much of it; `packets`, `flows`,
//! `queues`, `records` say what is stored of it.
//!
//! A bound of a run that loses very much is an estimate in one place, the log of drops, whose rows follow from how TCP
//! answers losses (`losses.rs`).

mod flows;
mod lines;
mod losses;
mod packets;
mod queues;
mod records;
mod sessions;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;

use crate::library::Library;
use crate::spec::Spec;
use lines::Lines;

/// What one key of a scenario makes a run take.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// As in the scenario: `flows.bulk`, `record.buffer`, `link.bottleneck.queue`; `run` for what every run takes.
    pub key: String,
    /// At most at one time, while the run goes on or its tables are made.
    pub bytes: u64,
    /// Of that, what its tables take when the run is over, until they are stored or given away.
    pub kept: u64,
}

/// What a run of nothing takes beside a program that is ready: a stack, the event list, code that is read in, bytes.
const EVERY_RUN: f64 = 930e3;
/// What the allocator loses between what it gives away, as a share of what is small.
const LOST: f64 = 1.1;

/// The parts of a run's memory, none of them empty, the largest first.
pub fn bound(spec: &Spec, library: &Library) -> Vec<Part> {
    let lines = Lines::of(spec, library);
    let mut parts = Parts::default();
    parts.add("run", EVERY_RUN, 0.0);
    flows::add(&mut parts, spec, &lines);
    sessions::add(&mut parts, spec, &lines);
    queues::add(&mut parts, spec, library, &lines);
    packets::add(&mut parts, spec, &lines);
    records::add(&mut parts, spec, &lines);
    parts
        .0
        .sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.key.cmp(&b.key)));
    parts.0
}

/// All parts together, bytes.
pub fn total(parts: &[Part]) -> u64 {
    parts.iter().map(|p| p.bytes).fold(0, u64::saturating_add)
}

/// Parts by key.
#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    /// Add so many bytes to the part of a key, of which so many are kept.
    fn add(&mut self, key: &str, bytes: f64, kept: f64) {
        // No conversion of a real number wraps; what is no number is nothing.
        let (bytes, kept) = ((LOST * bytes) as u64, kept as u64);
        if bytes == 0 {
            return;
        }
        if let Some(p) = self.0.iter_mut().find(|p| p.key == key) {
            p.bytes = p.bytes.saturating_add(bytes);
            p.kept = p.kept.saturating_add(kept);
            return;
        }
        let key = key.to_string();
        self.0.push(Part { key, bytes, kept });
    }
}

/// The size of a struct as a real number of bytes.
fn of<T>() -> f64 {
    size_of::<T>() as f64
}

/// What a block of the heap takes beside what is in it, and what is rounded up, bytes.
const BLOCK: f64 = 16.0;
