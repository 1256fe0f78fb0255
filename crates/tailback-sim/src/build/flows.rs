//! The flows of a scenario: hosts, access links, endpoints, sources.

use super::conditioners::Site;
use super::instants::instants;
use super::network::{Direction, FlowHandle, LinkId, Network, Stem, Transport, UNITS};
use crate::build::hooks::{FlowEnds, Hooks};
use crate::change::Values;
use crate::declare::tables::TunnelHash;
use crate::measure::convergence::ConvergenceMeter;
use crate::measure::frames::FrameStats;
use crate::measure::playout::{self, PacketPlayout, PicturePlayout};
use crate::measure::quality::{DEADLINE, Quality};
use crate::sim::flow::Media;
use crate::sim::injected::Silent;
use crate::sim::names::PrivateEnd;
use crate::spec::{AccessSpec, GroupSpec};
use crate::traffic::application::{Application, NodeId};
use crate::traffic::entry::{Context, Entry, Output, Streams};
use crate::traffic::{superposed, voice};
use crate::wire::keys::Tunnel;
use std::ops::Range;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::work::counted_as;
use tailback_base::{Named, Time};
use tailback_transport::Connection;
use tailback_transport::datagram::{ECHO, ECHO_SIZE, HEADER, codepoint};

/// The data that all groups of a run share.
pub(super) struct Around<'a> {
    pub hooks: &'a Hooks<'a>,
    pub seed: u64,
    pub end: Time,
    /// Names of the edges where flows enter and leave, by number.
    pub aggregates: Vec<&'a str>,
    /// The names of the tunnels; the number of a tunnel is its place in this list.
    pub tunnels: Vec<&'a str>,
}

impl Around<'_> {
    /// A tunnel by its name.
    pub fn tunnel(&self, (name, hash): &(String, TunnelHash)) -> Tunnel {
        let number = self.tunnels.iter().position(|t| t == name).unwrap_or(0) as u32;
        Tunnel { number, hash: *hash }
    }

    /// The number of this edge in the list of aggregates.
    pub fn number(&self, edge: &str) -> u16 {
        self.aggregates.iter().position(|a| *a == edge).unwrap_or(0) as u16
    }
}

/// The prefix of the names of a group's flows; a number follows it.
pub(super) fn stem(group: &str) -> String {
    format!("flows.{group}.")
}

/// The start of each flow of a group, and its stop if that is given. Starts and stops are drawn from separate streams.
pub(super) fn times(g: &GroupSpec, seed: u64) -> (Vec<Time>, Option<Vec<Time>>) {
    let stream = |what: &str| Named::new(seed).text(&stem(&g.name)).text(what).stream();
    let starts = instants(&g.start, g.count, &[], &mut stream("start"));
    let stops = g
        .stop
        .as_ref()
        .map(|s| instants(s, g.count, &starts, &mut stream("stop")));
    (starts, stops)
}

/// The measurements of single datagrams and frames of each flow of a group. They exist if the group has a deadline or
/// its datagrams are answered.
fn media(g: &GroupSpec, source: &Entry, connection: bool, echo: bool) -> Option<Media> {
    let output = source.facts.output;
    let deadline = g.deadline.or(output.is_media().then_some(DEADLINE));
    if deadline.is_none() && !echo && g.playout.is_none() {
        return None;
    }
    let has_frames = output == Output::Media;
    let quality = Quality::new(deadline);
    let quality = if echo { quality.answered() } else { quality };
    let quality = match g.playout.as_ref().filter(|_| !has_frames) {
        Some(s) => quality.played(PacketPlayout::new(s, voice::filling(&g.traffic))),
        None => quality,
    };
    let shown = g.playout.as_ref().and_then(playout::fixed_delay);
    Some(Media {
        quality: (!connection || output == Output::Datagrams).then_some(quality),
        frames: has_frames.then(|| FrameStats::new(shown.map(PicturePlayout::new))),
    })
}

/// The transport of a group of datagrams.
fn datagrams(g: &GroupSpec) -> Transport {
    let t = &g.transport;
    let ecn = codepoint(t);
    match t.get(&ECHO) {
        true => Transport::Echoed {
            ecn,
            bytes: t.get(&ECHO_SIZE),
        },
        false => Transport::Datagrams { ecn },
    }
}

/// The nodes that the flows of a group pass, if those are given.
fn via(net: &mut Network, g: &GroupSpec) -> Option<Rc<[NodeId]>> {
    let nodes: Rc<[NodeId]> = g.via.iter().map(|name| net.node(name)).collect();
    (!nodes.is_empty()).then_some(nodes)
}

/// Put the flows of one group into the network, each with its own hosts where the scenario gives access links. The
/// places of conditioners in hosts are added to `edges`.
pub(super) fn add_group<'s>(
    net: &mut Network,
    g: &'s GroupSpec,
    around: &Around,
    edges: &mut Vec<Site<'s>>,
) -> Result<(), Refusal> {
    let (library, seed, end) = (around.hooks.library(), around.seed, around.end);
    let group = net.group(&g.name);
    let (from, to) = (net.node(&g.from), net.node(&g.to));
    let connection = around.hooks.connection(&g.name, &g.transport)?;
    let header = match connection {
        Some(_) => 0,
        None => g.transport.get(&HEADER),
    };
    let (starts, stops) = times(g, seed);
    let source = library.source(g.traffic.model)?;
    let via = via(net, g);
    let aggregate = [around.number(&g.aggregate[0]), around.number(&g.aggregate[1])];
    let sizes = library.sizes(g.sizes.model)?;
    let text = stem(&g.name);
    let stem = net.stem(&text);
    let first_flow = net.next_flow();
    let shared = superposed::Shared::default();
    let private = usize::from(g.access.is_some()) + usize::from(g.exit.is_some());
    net.expect(g.count as usize, g.count as usize * private);
    for i in counted_as(UNITS, 0..g.count) {
        let mut access = None;
        let from_host = match &g.access {
            Some(a) => {
                let host = net.host(&stem, i, ".source");
                access = Some(private_link(net, (&stem, i, PrivateEnd::Access), a, [host, from]));
                host
            }
            None => from,
        };
        let to_host = match &g.exit {
            Some(a) => {
                let host = net.host(&stem, i, ".destination");
                private_link(net, (&stem, i, PrivateEnd::Exit), a, [to, host]);
                host
            }
            None => to,
        };
        let transport = match (around.hooks.ends, &connection) {
            (FlowEnds::Injected, _) => Transport::Injected,
            (FlowEnds::Simulated, Some(c)) => Transport::Described(c.clone()),
            (FlowEnds::Simulated, None) => datagrams(g),
        };
        let echo = connection.is_none() && g.transport.get(&ECHO);
        let flow = net.flow(group, i, from_host, to_host, transport);
        let stream_name = net.stream_name(flow);
        if source.facts.own_address {
            net.set_label(flow, stream_name.text(".address").stream().bits() as u32);
        }
        net.set_aggregate(flow, aggregate);
        net.set_paths(flow, g.paths, via.clone());
        net.set_dscp(flow, g.dscp);
        if let Some(tunnel) = &g.tunnel {
            net.set_tunnel(flow, around.tunnel(tunnel));
        }
        if let (Some(settings), Some(link), Some(access_line)) = (&g.conditioner, access, &g.access) {
            edges.push(Site {
                name: format!("{text}{i}.access"),
                link,
                reverse: false,
                rate: access_line.rate[i as usize % access_line.rate.len()],
                settings,
                host_of: Some(flow),
            });
        }
        net.set_weight(flow, g.weight[i as usize % g.weight.len()]);
        let start = starts[i as usize];
        let stop = stops.as_ref().map(|s| s[i as usize]).filter(|t| *t < end);
        let context = Context {
            index: i,
            sizes: &|| (sizes.build)(&g.sizes),
            header,
            connection: connection.is_some(),
            segment: connection.as_ref().map_or(1, Connection::segment_bytes),
            deadline: g.deadline.unwrap_or(DEADLINE),
            streams: Streams(stream_name),
            group: &shared,
        };
        let app: Box<dyn Application> = match around.hooks.ends {
            FlowEnds::Injected => Box::new(Silent),
            FlowEnds::Simulated => (source.build)(&g.traffic, context),
        };
        let listens = source.facts.listens || app.listens();
        net.feed(flow, app, start, stop, listens);
        if let Some(media) = media(g, source, connection.is_some(), echo) {
            net.measure_media(flow, media);
        }
        if let Some(m) = &g.meter {
            net.measure(flow, ConvergenceMeter::from_settings(m, i));
        }
    }
    add_changes(net, g, first_flow..net.next_flow(), around.hooks.ends)
}

/// Plan the changes of a group of flows.
fn add_changes(net: &mut Network, g: &GroupSpec, flows: Range<FlowHandle>, ends: FlowEnds) -> Result<(), Refusal> {
    for (i, change) in g.changes.iter().enumerate() {
        if let (FlowEnds::Injected, Values::Congestion(_)) = (ends, &change.to) {
            let problem = format!(
                "the senders of flows.{} are real, so a change cannot set their congestion control",
                g.name
            );
            return Err(Refusal::new(problem, "leave the change out in live runs"));
        }
        let name = format!("{}change.{i}", stem(&g.name));
        net.change(flows.clone(), change.clone(), &name);
    }
    Ok(())
}

/// The link of a flow of this number between its own host and the network.
pub(super) fn private_link(
    net: &mut Network,
    (stem, i, end): (&Stem, u32, PrivateEnd),
    a: &AccessSpec,
    ends: [NodeId; 2],
) -> LinkId {
    let nth = |n: usize| i as usize % n;
    let (rate, delay) = (a.rate[nth(a.rate.len())], a.delay[nth(a.delay.len())]);
    let outward = Direction {
        impairments: a.impairments.clone(),
        ..Direction::new(rate, delay)
    };
    net.private_link((stem, i, end), ends, [outward, Direction::new(rate, delay)])
}
