//! The chunks of a plan: the pieces in which results are stored, with some seconds of work each.
//!
//! The borders depend on the plan alone: on an estimate of each run's packets, not on the clock or the number of
//! threads. A finished folder therefore has the same bytes, however it was made. The estimate may be wrong by a small
//! factor. Then a chunk is open for a longer or shorter time, and nothing else changes.

use crate::plan::Plan;
use tailback_sim::spec::Spec;

/// Runs that are stored together, by position in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub runs: Vec<usize>,
}

/// Work of a chunk of a small plan, in packet-hops: about a second on one core.
const LEAST_WORK: f64 = 5e6;
/// Work of a chunk of a large plan: about ten seconds.
const MOST_WORK: f64 = 5e7;
/// A plan of medium size has about this many chunks.
const CHUNKS: f64 = 256.0;
/// The cost of starting a run and making its tables, and the cost of one flow, in packet-hops.
const RUN_WORK: f64 = 2e4;
const FLOW_WORK: f64 = 200.0;

/// The runs of a plan for which `wanted` holds. A chunk ends when it has enough work or when another part of the plan
/// begins.
pub fn chunks(plan: &Plan, wanted: &dyn Fn(usize) -> bool) -> Vec<Chunk> {
    let work: Vec<f64> = plan.points.iter().map(|p| work(&p.loaded.spec)).collect();
    let total: f64 = plan.runs.iter().map(|r| work[r.point]).sum();
    let enough = (total / CHUNKS).clamp(LEAST_WORK, MOST_WORK);
    let mut chunks: Vec<Chunk> = Vec::new();
    let (mut sum, mut part) = (f64::INFINITY, "");
    for (i, r) in plan.runs.iter().enumerate().filter(|(i, _)| wanted(*i)) {
        let own = &plan.points[r.point].part;
        if sum + work[r.point] > enough || own != part {
            chunks.push(Chunk { runs: Vec::new() });
            (sum, part) = (0.0, own);
        }
        sum += work[r.point];
        if let Some(c) = chunks.last_mut() {
            c.runs.push(i);
        }
    }
    chunks
}

/// The approximate number of packets that links carry in a run.
///
/// The estimate assumes that every link is full in one direction and carries as many acknowledgements in the other.
/// Links that are much faster than the slowest one only feed it.
pub fn work(spec: &Spec) -> f64 {
    const PACKET_BITS: f64 = 8000.0;
    let rates = || spec.links.iter().map(|l| l.forward.rate.bits_per_second());
    let slowest = rates().fold(f64::INFINITY, f64::min);
    let flows: f64 = spec.flows.iter().map(|g| f64::from(g.count)).sum();
    let carried: f64 = rates().map(|r| r.min(2.0 * slowest)).sum();
    let hosts = if slowest.is_finite() { 2.0 * slowest } else { 0.0 };
    let seconds = spec.duration.seconds();
    RUN_WORK + flows * FLOW_WORK + seconds * (carried + hosts) / PACKET_BITS * 2.0
}
