//! Flows: the memory of each flow, whatever it sends: its state, its ends, its hosts with their links, its table
//! rows.

use super::lines::Lines;
use super::traffic::{Brings, ControlFacts};
use super::{BLOCK, Parts, of, tables};
use tailback_base::{Duration, Settings};
use tailback_sim::library::outside::STACK_KEPT;
use tailback_sim::measure::playout::{PacketPlayout, PicturePlayout};
use tailback_sim::measure::quality::Answers;
use tailback_sim::sim::APPLICATION_BYTES;
use tailback_sim::sim::flow::{DataStats, Flow, Media, Route, Snapshot};
use tailback_sim::sim::transfers::TransferRow;
use tailback_sim::spec::{GroupSpec, Spec};
use tailback_sim::traffic::bulk::BACK;
use tailback_sim::traffic::entry::Output;
use tailback_sim::traffic::registry as sources;
use tailback_sim::traffic::video::{FPS, remembered_bytes};
use tailback_sim::wire::port::Port;
use tailback_transport::datagram::ECHO;
use tailback_transport::tcp::choices::ConnectionForm;
use tailback_transport::tcp::params::CONNECTION;
use tailback_transport::tcp::{self, ConnectionEnd, Receiver, Sender};

/// A source: itself, its random stream, its distribution of sizes, and its timer in the event list.
const SOURCE: f64 = 320.0;
/// The name and description of a flow while the network is built.
const BUILDING: f64 = 200.0;
/// The bins of a flow's delays, and of a port's sojourn times: eight octaves of 32 bins of 4 B.
const BINS: f64 = 1024.0;
/// A congestion control, and the state of recovery.
const CONTROL: f64 = 480.0;
/// The state of a connection whose losses are judged by time.
const BY_TIME: f64 = 700.0;
/// The state that the two ends of a connection keep about their hosts.
const HOSTS: f64 = 2.0 * 96.0;
/// The ends of the other transports.
const OTHER_ENDS: f64 = 1100.0;
/// A datagram of a stack besides its data: its number, stored twice, and the container of the data.
const STACK_DATUM: f64 = 128.0;
/// A private link without its two ports: three names, two nodes, arcs and routes.
const LINK: f64 = 700.0;
/// A conditioner in a host.
const CONDITIONER: f64 = 1500.0;
/// The packets that a new ring has room for.
const FIRST_RING: f64 = 8.0 * (40.0 + 24.0);

/// A host's own link, both directions.
pub fn private_link_bytes() -> f64 {
    2.0 * (of::<Port>() + FIRST_RING) + LINK
}

/// The state of a flow without its ends, and its names.
fn state_bytes() -> f64 {
    of::<Flow>() + of::<[Route; 2]>() + APPLICATION_BYTES as f64 + SOURCE + BUILDING + tables::rows("flows", 1.0).0
}

/// Both ends of a connection and its timers.
fn ends_bytes(transport: &Settings, control: ControlFacts) -> f64 {
    if !std::ptr::eq(transport.model, &tcp::MODEL) {
        return OTHER_ENDS;
    }
    let ends = match transport.get(&CONNECTION) {
        ConnectionForm::TwoWay => 2.0 * of::<ConnectionEnd>() + CONTROL,
        ConnectionForm::OneWay => of::<Sender>() + of::<Receiver>(),
    };
    let records = if control.records { BY_TIME } else { 0.0 };
    let hosts = if control.limits_host { HOSTS + 2.0 * BLOCK } else { 0.0 };
    ends + CONTROL + 4.0 * BLOCK + records + hosts
}

/// A connection that an application opens.
pub fn connection_bytes(transport: &Settings, control: ControlFacts) -> f64 {
    of::<Flow>() + of::<[Route; 2]>() + ends_bytes(transport, control) + BINS / 2.0 + 8.0 * BLOCK
}

/// The row of an application that opens connections.
pub fn member_bytes() -> f64 {
    state_bytes() + BINS
}

/// Add the memory of groups of flows.
pub fn add(parts: &mut Parts, spec: &Spec, lines: &Lines) {
    let edges = spec.flows.iter().filter(|g| g.conditioner.is_some());
    let all_edges: f64 = edges.map(|g| f64::from(g.count)).sum();
    for (group, used) in spec.flows.iter().zip(&lines.flows) {
        let b = &used.brings;
        let per_flow = flow_bytes(spec, group, b, used.carried / b.flows.max(1.0));
        let (row_bytes, kept_bytes) = tables::rows("transfers", b.portions);
        let transfers = b.portions * (of::<TransferRow>() + 48.0) + row_bytes;
        let (_, own_bytes) = tables::rows("flows", f64::from(group.count));
        // Each edge stores its distance to each other edge.
        let edges = if group.conditioner.is_some() {
            f64::from(group.count)
        } else {
            0.0
        };
        let delays = edges * edges.max(all_edges) * of::<Duration>();
        // Delays of the group, and its round trips.
        let (bins, bins_kept) = tables::rows("delays", (BINS / 2.0).min(used.carried));
        parts.add(
            &format!("flows.{}", group.name),
            f64::from(group.count) * per_flow + delays + transfers + bins + 2.0 * BINS,
            own_bytes + kept_bytes + bins_kept,
        );
    }
}

/// One flow of a group, which delivers this many packets.
fn flow_bytes(spec: &Spec, g: &GroupSpec, brings: &Brings, carried: f64) -> f64 {
    let mut bytes = state_bytes();
    if brings.connection {
        bytes += ends_bytes(&g.transport, brings.control);
    }
    if brings.from_outside {
        // Data that have arrived, and acknowledgements of the same size. The data that a stack keeps, and lost data,
        // have no bound.
        bytes += (2.0 * carried).min(STACK_KEPT as f64) * (brings.packet + STACK_DATUM);
    }
    if carried > 0.0 {
        // Each bin needs at least one packet.
        bytes += BINS.min(64.0 + 8.0 * carried);
    }
    let links = u8::from(g.access.is_some()) + u8::from(g.exit.is_some());
    bytes += f64::from(links) * private_link_bytes();
    if spec.warmup.0 > 0 {
        bytes += of::<Snapshot>();
    }
    let source = sources::SOURCES.iter().find(|e| std::ptr::eq(e.model, g.traffic.model));
    let output = source.map_or(Output::Packets, |e| e.facts.output);
    let echo = g.transport.find_key(&ECHO) == Some(true);
    if echo {
        // Two bits per answer, as below, the round trips, and the counts of the data in the reverse direction.
        bytes += of::<Answers>() + 2.0 * BLOCK + 3.0 * BINS + carried / 2.0 + of::<DataStats>();
    }
    if g.deadline.is_some() || output.is_media() || echo {
        // Two bits per datagram, doubled while they grow, and a second set of delays.
        bytes += of::<Media>()
            + 3.0 * BINS
            + carried / 2.0
            + tables::rows("datagrams", 1.0).0
            + tables::rows("frames", 1.0).0;
    }
    if g.playout.is_some() {
        // Two bits for each datagram that was late, and a third set of delays.
        bytes += of::<PicturePlayout>().max(of::<PacketPlayout>())
            + 2.0 * BLOCK
            + 3.0 * BINS
            + carried / 2.0
            + tables::rows("playout", 1.0).0;
    }
    if let (Output::Media, Some(frames)) = (output, g.traffic.number(FPS.name)) {
        bytes += remembered_bytes(2.0 * frames * spec.duration.seconds());
    }
    if let Some(back) = g.traffic.number(BACK.name) {
        bytes += back.min(1.0) * (of::<DataStats>() + BINS);
    }
    if g.conditioner.is_some() {
        bytes += CONDITIONER;
    }
    bytes
}
