//! The conditioners of a scenario: before the lines of edge routers, and in hosts.

use super::network::{FlowHandle, LinkId, Network};
use crate::library::Library;
use crate::sim::names::natural;
use crate::traffic::application::Side;
use tailback_base::model::with_nearest;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Settings, Stream};
use tailback_conditioner::{BuildContext, EdgeId, Stands};

/// The place of a conditioner. An edge has the name of its port.
pub(super) struct Site<'s> {
    pub name: String,
    pub link: LinkId,
    pub reverse: bool,
    pub rate: BitRate,
    pub settings: &'s Settings,
    /// For a conditioner in a host: the flow whose sender is on that host.
    pub host_of: Option<FlowHandle>,
}

/// Build them all, numbered in natural order of their names.
pub(super) fn add(net: &mut Network, mut sites: Vec<Site>, library: &Library, seed: u64) -> Result<(), Refusal> {
    sites.sort_by(|a, b| natural(&a.name, &b.name));
    let find = |name: &str| match sites.iter().position(|s| s.name == name) {
        Some(i) => Ok(EdgeId(i as u32)),
        None => Err(Refusal::new(
            format!("there is no edge \"{name}\""),
            with_nearest(
                name,
                sites.iter().map(|s| s.name.as_str()),
                "the name of a link that has a conditioner",
            ),
        )),
    };
    for (i, s) in sites.iter().enumerate() {
        let context = BuildContext {
            stream: Stream::new(seed, &format!("edge.{}", s.name)),
            rate: s.rate,
            edge: EdgeId(i as u32),
            edge_count: sites.len() as u32,
            edges: &find,
            meters: &library.meters,
        };
        let row = library.conditioner(s.settings.model)?;
        let edge = net.edge(s.link, s.reverse, row.build(s.settings, context)?);
        match (s.host_of, row.facts.stands) {
            (Some(flow), _) => net.follow(flow, Side::Source, edge),
            (None, Stands::WithSenders) => net.hear(edge),
            (None, Stands::Anywhere | Stands::InHosts) => {}
        }
    }
    Ok(())
}
