//! The load that workloads are meant to put on each layer of a topology.
//!
//! The load given for a workload is that of its hosts' links. Flows between two hosts of one switch go no further, and
//! the links above may carry less than all hosts below (oversubscription), so each layer has a load of its own. All
//! pairs of hosts are taken as equally likely, whatever the pattern; for drawn pairs this is the mean. A layer's load
//! is the payload that crosses its links in one direction, divided by what they carry in that direction. The larger
//! load of the two directions counts.

use super::routes::{Hop, Routes};
use crate::check::Reader;
use crate::error::At;
use std::collections::BTreeMap;
use tailback_sim::library::Library;
use tailback_sim::spec::{LinkSpec, Spec, WorkloadFlows, WorkloadSpec};

/// With more switches with hosts than this, the pairs are too many, and no load of a layer is computed.
pub const MOST_SWITCHES: usize = 1000;

/// The load of a workload's flows on a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerLoad {
    pub workload: String,
    pub layer: String,
    /// Payload divided by the capacity of the links.
    pub load: f64,
}

/// The loads of all workloads whose flows are drawn; empty without layers.
pub fn of(spec: &Spec, library: &Library) -> Vec<LayerLoad> {
    let (links, mut all) = (&spec.links, vec![]);
    if links.iter().all(|l| l.layer.is_none()) {
        return all;
    }
    let mut routes = Routes::new(links);
    for w in &spec.workloads {
        let Some(bits) = offered(w, library) else { continue };
        for (layer, per_bit) in loads_per_bit(links, &w.hosts, &mut routes).unwrap_or_default() {
            let workload = w.name.clone();
            let load = bits * per_bit;
            all.push(LayerLoad { workload, layer, load });
        }
    }
    all
}

/// The load of each layer for one bit/s of payload between hosts that are drawn; `None` if there are too many switches.
pub fn loads_per_bit(links: &[LinkSpec], hosts: &[String], routes: &mut Routes) -> Option<BTreeMap<String, f64>> {
    let of_layer = |(layer, crossed): (String, [f64; 2])| {
        let in_layer = || links.iter().filter(|l| l.layer.as_ref() == Some(&layer));
        let capacity = |reverse: bool| -> f64 {
            let direction = |l: &LinkSpec| if reverse { l.reverse.rate } else { l.forward.rate };
            in_layer().map(|l| direction(l).bits_per_second()).sum()
        };
        let load = (0..2).map(|i| crossed[i] / capacity(i == 1)).fold(0.0, f64::max);
        (layer, load)
    };
    Some(crossings(links, hosts, routes)?.into_iter().map(of_layer).collect())
}

/// Warn of layers that cannot carry the load that is meant for them.
pub fn warn(r: &mut Reader, loads: &[LayerLoad]) {
    for LayerLoad { workload, layer, load } in loads.iter().filter(|l| l.load > 1.0) {
        let text =
            format!("its flows are {load:.3} times what the {layer} links carry: queues grow as long as flows arrive");
        r.warn(At::Nowhere, format!("workload.{workload}"), text);
    }
}

/// Payload that arrives, bit/s; `None` for a list, and for laws without a known mean.
fn offered(w: &WorkloadSpec, library: &Library) -> Option<f64> {
    let WorkloadFlows::Drawn {
        pattern,
        fan_in,
        gaps,
        sizes,
    } = &w.flows
    else {
        return None;
    };
    Some(library.law(sizes).mean()? * 8.0 * f64::from(pattern.at_once(*fan_in)) / gaps.mean)
}

/// The number of links of each layer that a flow crosses forward and backward, on average over all pairs of hosts.
fn crossings(links: &[LinkSpec], hosts: &[String], routes: &mut Routes) -> Option<BTreeMap<String, [f64; 2]>> {
    let mut hosts_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for host in hosts {
        let switch = routes.neighbour(host).unwrap_or(host);
        hosts_of.entry(switch).or_default().push(host);
    }
    if hosts_of.len() > MOST_SWITCHES {
        return None;
    }
    let mut sums = BTreeMap::new();
    let n = hosts.len() as f64;
    for own in hosts_of.values() {
        for other in hosts_of.values() {
            let same = std::ptr::eq(own, other);
            let pairs = own.len() * (other.len() - usize::from(same));
            let to = if same { own.get(1) } else { other.first() };
            let Some(to) = to.filter(|_| pairs > 0) else { continue };
            for Hop { link, reverse } in routes.path(own[0], to).unwrap_or_default() {
                if let Some(layer) = &links[link].layer {
                    let counted: &mut [f64; 2] = sums.entry(layer.clone()).or_default();
                    counted[usize::from(reverse)] += pairs as f64 / (n * (n - 1.0));
                }
            }
        }
    }
    Some(sums)
}
