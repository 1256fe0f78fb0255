//! The load of each group of flows: the size of its packets, their number, and their number at one time.

use tailback_base::{Settings, Size, Time, Value};
use tailback_sim::declare::instants::Instants;
use tailback_sim::library::Library;
use tailback_sim::spec::{GroupSpec, Spec};
use tailback_sim::traffic::entry::Offer;
use tailback_sim::traffic::telnet::TRANSFERS;
use tailback_transport::datagram::{ECHO, ECHO_SIZE};
use tailback_transport::keshav::params::{RTO_MIN, WMAX};
use tailback_transport::tcp;
use tailback_transport::tcp::config::EcnMode;
use tailback_transport::tcp::congestion::Marks;
use tailback_transport::tcp::params::{HEADER, INITIAL_WINDOW, RWND, WINDOW_CAP};

/// The smallest window that a sender is assumed to have, packets.
const LEAST_WINDOW: f64 = 4.0;
/// The first window of a transport that does not declare one (RFC 6928), packets.
const FIRST_WINDOW: f64 = 10.0;

/// One group, all its flows together.
pub struct Brings {
    pub flows: f64,
    /// It has ends that send lost data again, or respond to losses.
    pub connection: bool,
    /// Its ends are code from outside.
    pub from_outside: bool,
    /// Bytes of a data packet on the wire.
    pub packet: f64,
    /// Bytes of the answer to a datagram, if there are answers.
    pub answer: Option<f64>,
    /// Seconds from its first start to the end of the run.
    pub seconds: f64,
    /// Its rate on the wire if the rate does not depend on the network, bit/s; infinite if the network decides.
    pub rate: f64,
    /// Packets that one flow may send at once beyond that rate.
    pub at_once: f64,
    /// Packets of all flows in the whole run if no line limited them.
    pub packets: f64,
    /// The most packets that one flow may have outstanding: the caps on its window.
    pub cap: f64,
    /// Packets that one flow sends before it gets any feedback.
    pub first: f64,
    /// Packets that one flow sends again without feedback: at each timeout, and whole windows if nothing limits it.
    pub again: f64,
    /// The number of portions that it writes in the whole run, each of which has a row.
    pub portions: f64,
    pub control: ControlFacts,
}

/// The facts about the senders of a group.
#[derive(Clone, Copy)]
pub struct ControlFacts {
    /// Each outstanding segment has a record.
    pub records: bool,
    /// It is notified when each segment leaves its host.
    pub limits_host: bool,
    /// Losses do not slow it.
    pub ignores_losses: bool,
    /// Marks are its signal.
    pub needs_marks: bool,
    /// Its packets may be marked.
    pub capable: bool,
}

impl ControlFacts {
    pub fn of(transport: &Settings, library: &Library) -> ControlFacts {
        let tcp = library.transports.tcp(transport);
        let facts = tcp.as_ref().map(|c| c.controller.facts);
        ControlFacts {
            records: tcp.as_ref().is_none_or(tcp::Config::keeps_records),
            limits_host: tcp.as_ref().is_some_and(|c| c.host.most.is_some()),
            ignores_losses: facts.is_some_and(|f| f.ignores_losses),
            needs_marks: facts.is_some_and(|f| f.marks == Marks::Needs),
            capable: tcp.is_some_and(|c| c.ecn != EcnMode::Off),
        }
    }
}

impl Brings {
    pub fn of(spec: &Spec, g: &GroupSpec, library: &Library) -> Brings {
        let connection = library.transports.connection(&g.transport).ok().flatten();
        let mean = library
            .sizes(g.sizes.model)
            .map_or(1500.0, |e| (e.build)(&g.sizes).mean());
        let segment = connection.as_ref().map(|c| f64::from(c.segment_bytes()));
        let header = g.transport.number(HEADER.name).unwrap_or(0.0);
        let source = library.source(g.traffic.model).ok();
        let offer = source.map_or(Offer::Elastic, |e| (e.offer)(&g.traffic, segment.unwrap_or(mean)));
        let seconds = (spec.duration.seconds() - first_start(&g.start)).max(0.0);
        let flows = if seconds > 0.0 { f64::from(g.count) } else { 0.0 };
        let packet = match (segment, offer) {
            (Some(segment), Offer::Paced { packet, .. }) => packet.min(segment + header),
            (Some(segment), _) => segment + header,
            (None, Offer::Paced { packet, .. }) => packet,
            (None, _) => mean,
        }
        .max(1.0);
        let (rate, at_once, packets) = match offer {
            Offer::Elastic => (f64::INFINITY, 0.0, f64::INFINITY),
            Offer::Portions { bytes, pause, once } => {
                let portion = (bytes / packet).ceil() + 1.0;
                let times = if once { 1.0 } else { over(seconds, pause) };
                (f64::INFINITY, portion, flows * portion * times)
            }
            Offer::Paced { rate, at_once, .. } => {
                let packets = flows * rate * seconds / 8.0 / packet;
                (flows * rate, at_once / packet, packets + 4.0 * packets.sqrt() + flows)
            }
        };
        let answer = match g.transport.find_key(&ECHO) {
            Some(true) => Some(g.transport.get(&ECHO_SIZE).map_or(packet, f64::from)),
            _ => None,
        };
        let cap = window_cap(&g.transport, packet).min(match offer {
            Offer::Portions { .. } => at_once,
            _ => f64::INFINITY,
        });
        let portions = match offer {
            Offer::Portions { once: true, .. } => flows,
            // Each write has a row, if the scenario asks for this.
            Offer::Paced { .. } if g.traffic.number(TRANSFERS.name) == Some(1.0) => packets,
            _ => 0.0,
        };
        Brings {
            flows,
            connection: connection.is_some(),
            from_outside: connection.as_ref().is_some_and(|c| c.is_from_outside()),
            packet,
            answer,
            seconds,
            rate,
            at_once,
            packets,
            cap,
            first: first_window(&g.transport, packet).min(cap),
            again: again(&g.transport, seconds, cap),
            portions,
            control: ControlFacts::of(&g.transport, library),
        }
    }
}

/// The number of events with this mean gap that may happen in `seconds`: the mean, plus four standard deviations, plus
/// one.
pub fn over(seconds: f64, gap: f64) -> f64 {
    let times = seconds / gap;
    if times.is_nan() {
        return 1.0;
    }
    times + 4.0 * times.sqrt() + 1.0
}

/// The start of the first flow, in seconds.
pub fn first_start(start: &Instants) -> f64 {
    match start {
        Instants::Listed(list) => list.iter().min().copied().unwrap_or(Time::ZERO).seconds(),
        Instants::Uniform { from, .. } | Instants::Poisson { from, .. } => from.seconds(),
        Instants::After(_) | Instants::AfterUniform { .. } => 0.0,
    }
}

/// A size parameter in packets; `None` if it is not given.
fn packets_of(s: &Settings, name: &str, packet: f64) -> Option<f64> {
    match s.find(name)? {
        Value::Size(Size::Bytes(n)) => Some((*n as f64 / packet).ceil()),
        Value::Size(Size::Unlimited) => Some(f64::INFINITY),
        other => other.number(),
    }
}

/// The smallest of the limits on a window, packets.
pub fn window_cap(transport: &Settings, packet: f64) -> f64 {
    let caps = [RWND.name, WINDOW_CAP.name, WMAX.name];
    let caps = caps.iter().filter_map(|name| packets_of(transport, name, packet));
    caps.fold(f64::INFINITY, f64::min).max(LEAST_WINDOW)
}

/// Packets sent again at timeouts: each timeout doubles the time to the next, except for a window that never shrinks.
pub fn again(transport: &Settings, seconds: f64, cap: f64) -> f64 {
    let timeout = transport.number(RTO_MIN.name).unwrap_or(1.0).max(0.1);
    match transport.model.name {
        "generic" => cap * (seconds / timeout + 1.0),
        _ => 4.0 + 4.0 * (1.0 + seconds).log2(),
    }
}

/// Packets that a new connection sends at once.
fn first_window(transport: &Settings, packet: f64) -> f64 {
    // A window that never changes is fully open from the start.
    if transport.model.name == "generic" {
        return f64::INFINITY;
    }
    let first = packets_of(transport, INITIAL_WINDOW.name, packet).unwrap_or(FIRST_WINDOW);
    first.max(LEAST_WINDOW)
}
