//! The sessions of a scenario: hosts, access links, and a member for each client.

use super::flows::{Around, private_link};
use super::instants::instants;
use super::network::{Network, UNITS};
use crate::sim::names::PrivateEnd;
use crate::spec::SessionSpec;
use crate::traffic::application::NodeId;
use crate::traffic::session::{Context, ServersAsked};
use tailback_base::Named;
use tailback_base::quantity::Refusal;
use tailback_base::work::counted_as;

/// Put the members of one table into the network. Clients take the servers in turn.
pub(super) fn add(net: &mut Network, s: &SessionSpec, around: &Around) -> Result<(), Refusal> {
    let (library, seed, end) = (around.hooks.library(), around.seed, around.end);
    let (from, to) = (net.node(&s.from), net.node(&s.to));
    let page_servers: Vec<NodeId> = s.page_servers.iter().map(|name| net.node(name)).collect();
    let ends = [(from, &s.from), (to, &s.to)].into_iter();
    for (node, name) in ends.chain(page_servers.iter().copied().zip(&s.page_servers)) {
        net.set_edge_number(node, around.number(name));
    }
    let connection = around.hooks.connection(&s.name, &s.transport)?.ok_or_else(|| {
        let problem = format!(
            "sessions open connections, but {} has no connections",
            s.transport.model.name
        );
        Refusal::new(problem, "give transport = \"tcp\"")
    })?;
    let text = format!("sessions.{}.", s.name);
    let stream = |what: &str| Named::new(seed).text(&text).text(what).stream();
    let starts = instants(&s.start, s.clients, &[], &mut stream("start"));
    let stops = s
        .stop
        .as_ref()
        .map(|stop| instants(stop, s.clients, &starts, &mut stream("stop")));
    let (of_servers, of_clients) = (net.stem(&format!("{text}server.")), net.stem(&text));
    let mut servers = Vec::new();
    for i in counted_as(UNITS, 0..s.servers_used()) {
        servers.push(match &s.access {
            Some(a) => {
                let host = net.host(&of_servers, i, "");
                private_link(net, (&of_servers, i, PrivateEnd::Access), a, [host, from]);
                net.set_edge_number(host, around.number(&s.from));
                host
            }
            None => from,
        });
    }
    let group = net.group(&s.name);
    for i in counted_as(UNITS, 0..s.clients) {
        let stream_name = Named::new(seed).text(&text).number(i);
        let client = match &s.exit {
            Some(a) => {
                let host = net.host(&of_clients, i, ".client");
                private_link(net, (&of_clients, i, PrivateEnd::Exit), a, [to, host]);
                net.set_edge_number(host, around.number(&s.to));
                host
            }
            None => to,
        };
        let server = servers[i as usize % servers.len()];
        let transport = net.described_transport(connection.clone(), stream_name.text(".transport"));
        let asked_servers = match s.kind.servers {
            ServersAsked::All => &servers,
            ServersAsked::One => &page_servers,
        };
        net.spread(transport, s.paths, stream_name.text(".paths").stream().bits());
        net.keep_between(transport, pairs(client, server, asked_servers, connection.is_two_way()));
        let context = Context {
            index: i,
            server,
            client,
            servers: &servers,
            page_servers: page_servers.clone(),
            transport,
            two_way: connection.is_two_way(),
            laws: &library.laws,
            stream: &|quantity| stream_name.text(".").text(quantity).stream(),
        };
        let app = (s.kind.build)(&s.settings, context);
        let stop = stops.as_ref().map(|t| t[i as usize]).filter(|t| *t < end);
        let member = net.member(group, i, stream_name);
        net.feed(member, app, starts[i as usize], stop, true);
        net.keep_to_transport(member, transport);
        net.set_dscp(member, s.dscp);
        if let Some(tunnel) = &s.tunnel {
            // The label shows which of its connections begin behind the second end.
            net.set_label(member, client.0);
            net.set_tunnel(member, around.tunnel(tunnel));
        }
        net.set_weight(member, s.weight[i as usize % s.weight.len()]);
    }
    Ok(())
}

/// Sources and destinations of all connections of a client. The servers send the data. Requests use the same
/// connections if these are two-way, and otherwise connections of their own.
fn pairs(client: NodeId, server: NodeId, others: &[NodeId], two_way: bool) -> Vec<[NodeId; 2]> {
    let servers = [server].into_iter().chain(others.iter().copied());
    let data = servers.clone().map(|s| [s, client]);
    let requests = servers.map(|s| [client, s]).filter(|_| !two_way);
    data.chain(requests).collect()
}
