//! The ports that the packets of each declared flow pass, for what is computed of a network without running it.

use crate::build::network::Built;
use tailback_base::BitRate;

/// The way of a flow's data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// As in the table of flows: `bulk.0`.
    pub flow: String,
    pub group: String,
    pub index: u32,
    /// Names and rates, in order of travel.
    pub ports: Vec<(String, BitRate)>,
}

impl Built {
    /// The ways of the declared flows, in their order.
    pub fn paths(&self) -> Vec<Path> {
        let declared = self.sim.flows.all[..self.sim.declared()].iter().zip(&self.sim.net.ways);
        let path = |(flow, ways): (&crate::sim::flow::Flow, &[crate::sim::flow::Route; 2])| {
            let group = self.group_names[flow.group as usize].clone();
            let port = |p: &u32| (self.port_names.of(*p), self.sim.net.ports[*p as usize].rate());
            Path {
                flow: format!("{group}.{}", flow.index),
                index: flow.index,
                group,
                ports: self.sim.net.one_path(ways[0]).iter().map(port).collect(),
            }
        };
        declared.map(path).collect()
    }
}
