//! The memory of workloads: rows of transfers, connections that are open at one time, and their packets.

use super::flows::{connection_bytes, member_bytes};
use super::lines::buffer;
use super::sessions::TIMES;
use super::traffic::ControlFacts;
use super::{Parts, of, tables};
use tailback_sim::library::Library;
use tailback_sim::sim::transfers::TransferRow;
use tailback_sim::spec::{Spec, WorkloadFlows, WorkloadSpec};

/// The share of flows that are open at one time, and the number of further open flows for each host, for an open loop
/// whose load the links carry.
const OPEN: (f64, f64) = (0.25, 16.0);
/// Bytes of a waiting packet, in rings that have doubled.
const PACKET: f64 = 2.0 * 96.0;
/// A port without a limit seldom holds more packets than this.
const MOST_WAITING: f64 = 4000.0;
/// The smallest packets that fill a buffer, bytes.
const SMALL: f64 = 1000.0;

/// The number of flows.
fn flows(spec: &Spec, w: &WorkloadSpec) -> f64 {
    let most_flows = w.most.map_or(f64::INFINITY, |n| n as f64);
    let stop = w.stop.unwrap_or(spec.duration).min(spec.duration);
    let seconds = (stop.seconds() - w.start.seconds()).max(0.0);
    let all = match &w.flows {
        WorkloadFlows::Listed(all) => all.len() as f64,
        WorkloadFlows::Drawn {
            pattern, gaps, fan_in, ..
        } => {
            let events = seconds / gaps.mean;
            f64::from(pattern.at_once(*fan_in)) * (events + 4.0 * events.sqrt() + 4.0)
        }
    };
    all.min(most_flows)
}

/// Add the memory of workloads.
pub fn add(parts: &mut Parts, spec: &Spec, library: &Library) {
    for w in &spec.workloads {
        let flows = flows(spec, w);
        let open = match w.keeps {
            true => flows,
            false => flows.min(OPEN.0 * flows + OPEN.1 * w.hosts.len() as f64),
        };
        let (row_bytes, kept_bytes) = tables::rows("transfers", flows);
        let control = ControlFacts::of(&w.transport, library);
        let mut bytes = member_bytes() + open * connection_bytes(&w.transport, control);
        bytes += row_bytes + flows * (of::<TransferRow>() + TIMES);
        let directions = spec.links.iter().flat_map(|l| [&l.forward, &l.reverse]);
        bytes += directions
            .map(|d| buffer(d, SMALL).min(MOST_WAITING) * PACKET)
            .sum::<f64>();
        parts.add(&format!("workload.{}", w.name), bytes, kept_bytes);
    }
}
