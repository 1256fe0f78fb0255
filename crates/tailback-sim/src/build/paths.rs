//! The ports that the packets of each declared flow pass, for calculations about a network that do not run it.

use crate::build::network::Built;
use tailback_base::BitRate;

/// The path of a flow's data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The name of the flow as in the table of flows, such as `bulk.0`.
    pub flow: String,
    pub group: String,
    pub index: u32,
    /// The names and rates of the ports, in order of travel.
    pub ports: Vec<(String, BitRate)>,
}

impl Built {
    /// The paths of the declared flows, in the order of the flows.
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
