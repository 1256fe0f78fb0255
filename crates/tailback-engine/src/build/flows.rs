//! The flows of a scenario: hosts, access links, endpoints, sources.

use super::instants::instants;
use super::network::{Direction, Network, QueueChoice, Transport};
use crate::library::Library;
use crate::measure::convergence::Settling;
use crate::spec::{AccessSpec, GroupSpec, Impairment};
use crate::traffic::application::NodeId;
use crate::traffic::registry::{self as traffic, Context};
use crate::traffic::sizes;
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, Size, Stream, Time};
use tailback_transport::Connection;

/// Put the flows of one group into the network, each with its own hosts where the scenario gives access links.
pub(super) fn add_group(
    net: &mut Network,
    g: &GroupSpec,
    library: &Library,
    seed: u64,
    end: Time,
) -> Result<(), Refusal> {
    let group = net.group(&g.name);
    let (from, to) = (net.node(&g.from), net.node(&g.to));
    let connection = library.transports.connection(&g.transport)?;
    let (header, ecn) = match connection {
        Some(_) => (0, Ecn::NotEct),
        None => (
            g.transport.count("header") as u32,
            if g.transport.flag("ecn") {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            },
        ),
    };
    let starts = instants(
        &g.start,
        g.count,
        &[],
        &mut Stream::new(seed, &format!("flows.{}.start", g.name)),
    );
    let stops = g.stop.as_ref().map(|s| {
        instants(
            s,
            g.count,
            &starts,
            &mut Stream::new(seed, &format!("flows.{}.stop", g.name)),
        )
    });
    let source = traffic::find(g.traffic.model).ok_or_else(|| unknown("traffic source", g.traffic.model.name))?;
    let sizes = sizes::find(g.sizes.model).ok_or_else(|| unknown("model of sizes", g.sizes.model.name))?;
    for i in 0..g.count {
        let name = format!("flows.{}.{i}", g.name);
        let from_host = match &g.access {
            Some(a) => {
                let host = net.node(&format!("{name}.source"));
                private_link(net, &format!("{name}.access"), a, i, host, from, &a.impairments, &[]);
                host
            }
            None => from,
        };
        let to_host = match &g.exit {
            Some(a) => {
                let host = net.node(&format!("{name}.destination"));
                private_link(net, &format!("{name}.exit"), a, i, to, host, &a.impairments, &[]);
                host
            }
            None => to,
        };
        let transport = match &connection {
            Some(c) => Transport::Described(c.clone()),
            None => Transport::Datagrams { ecn },
        };
        let flow = net.flow(group, i, from_host, to_host, transport);
        if source.facts.own_address {
            net.set_label(flow, Stream::new(seed, &format!("{name}.address")).bits() as u32);
        }
        net.set_weight(flow, g.weight[i as usize % g.weight.len()]);
        let start = starts[i as usize];
        let stop = stops.as_ref().map(|s| s[i as usize]).filter(|t| *t < end);
        let context = Context {
            index: i,
            sizes: (sizes.build)(&g.sizes),
            header,
            connection: connection.is_some(),
            segment: connection.as_ref().map_or(1, Connection::segment_bytes),
        };
        net.feed(
            flow,
            (source.build)(&g.traffic, context),
            start,
            stop,
            source.facts.listens,
        );
        if let Some(m) = &g.meter {
            net.measure(flow, Settling::from_settings(m, i));
        }
    }
    Ok(())
}

fn unknown(what: &str, name: &str) -> Refusal {
    Refusal::new(format!("there is no {what} \"{name}\""), "see `tailback describe`")
}

#[allow(clippy::too_many_arguments)]
fn private_link(
    net: &mut Network,
    name: &str,
    a: &AccessSpec,
    i: u32,
    from: NodeId,
    to: NodeId,
    forward: &[Impairment],
    reverse: &[Impairment],
) {
    let (rate, delay) = (a.rate[i as usize % a.rate.len()], a.delay[i as usize % a.delay.len()]);
    let mut directions = [forward, reverse].map(|impairments| Direction {
        impairments: impairments.to_vec(),
        ..Direction {
            queue: QueueChoice::DropTail(Size::Unlimited),
            ..Direction::new(rate, delay)
        }
    });
    let back = std::mem::replace(&mut directions[1], Direction::new(rate, delay));
    let [there, _] = directions;
    net.link(name, from, to, there, back);
}
