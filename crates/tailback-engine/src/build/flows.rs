//! The flows of a scenario: hosts, access links, endpoints, sources.

use super::instants::instants;
use super::network::{Direction, Network, QueueChoice, Transport};
use crate::measure::convergence::Settling;
use crate::spec::{AccessSpec, GroupSpec, Impairment};
use crate::traffic::application::{Application, NodeId};
use crate::traffic::bursts::Bursts;
use crate::traffic::source::{self, Pattern, Sizes};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Ecn, Settings, Size, Stream, Time, Value};
use tailback_transport::registry::{self as connections, Connection};

/// Put the flows of one group into the network, each with its own hosts where the scenario gives access links.
pub(super) fn add_group(net: &mut Network, g: &GroupSpec, seed: u64, end: Time) -> Result<(), Refusal> {
    let group = net.group(&g.name);
    let (from, to) = (net.node(&g.from), net.node(&g.to));
    let connection = if connections::is_connection(g.transport.model.name) {
        Some(Connection::resolve(&g.transport)?)
    } else {
        None
    };
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
    let sizes = Sizes::from_settings(&g.sizes);
    for i in 0..g.count {
        let name = format!("flows.{}.{i}", g.name);
        let source = match &g.access {
            Some(a) => {
                let host = net.node(&format!("{name}.source"));
                private_link(net, &format!("{name}.access"), a, i, host, from, &a.impairments, &[]);
                host
            }
            None => from,
        };
        let destination = match &g.exit {
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
        let flow = net.flow(group, i, source, destination, transport);
        if g.traffic.model.name == "churn" {
            net.set_label(flow, Stream::new(seed, &format!("{name}.address")).bits() as u32);
        }
        net.set_weight(flow, g.weight[i as usize % g.weight.len()]);
        let start = starts[i as usize];
        let stop = stops.as_ref().map(|s| s[i as usize]).filter(|t| *t < end);
        let (feed, listens): (Box<dyn Application>, bool) = if g.traffic.model.name == "bursts" {
            let segment = connection.as_ref().map_or(1, Connection::segment_bytes);
            (Box::new(bursts(&g.traffic, i, segment)), true)
        } else {
            let feed = source::Source::new(pattern(&g.traffic, i), sizes.clone(), header, connection.is_some());
            (Box::new(feed), false)
        };
        net.feed(flow, feed, start, stop, listens);
        if let Some(m) = &g.meter {
            net.measure(flow, Settling::from_settings(m, i));
        }
    }
    Ok(())
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

/// The value of a per-flow parameter for flow `i`.
fn nth<'a>(s: &'a Settings, name: &str, i: u32) -> &'a Value {
    let list = s.list(name);
    &list[i as usize % list.len()]
}

fn pattern(s: &Settings, i: u32) -> Pattern {
    let rate = || match nth(s, "rate", i) {
        Value::Rate(r) => *r,
        _ => BitRate(1),
    };
    match s.model.name {
        "transfer" => match nth(s, "size", i) {
            Value::Count(bytes) => Pattern::Transfer { bytes: *bytes },
            _ => Pattern::Bulk,
        },
        "cbr" => Pattern::Constant {
            rate: rate(),
            jitter: s.real("jitter"),
        },
        "poisson" => Pattern::Poisson { rate: rate() },
        "churn" => Pattern::Churn {
            rate: rate(),
            hold: (!s.is_none("mean_hold")).then(|| s.time("mean_hold")),
        },
        "on-off" => Pattern::OnOff {
            rate: rate(),
            on: s.time("mean_on"),
            off: s.time("mean_off"),
            exponential: s.text("distribution") == "exponential",
        },
        _ => Pattern::Bulk,
    }
}

/// The source of flow `i` of a group that sends bursts; a full segment carries `segment` bytes.
fn bursts(s: &Settings, i: u32, segment: u32) -> Bursts {
    let size = match nth(s, "size", i) {
        Value::Size(Size::Packets(n)) => n.saturating_mul(u64::from(segment)),
        Value::Size(Size::Bytes(n)) => *n,
        _ => u64::from(segment),
    };
    Bursts::new(size, s.time("mean_think"), s.text("distribution") == "exponential")
}
