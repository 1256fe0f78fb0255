//! Builds a network from a scenario: links, flows and recordings, which are found by name.
//!
//! [`prepare`] reads a [`Spec`] and calls a [`network::Network`] by its public steps, as a Rust user would.

pub mod alone;
pub(crate) mod assemble;
mod conditioners;
mod flows;
pub mod hooks;
mod instants;
pub(crate) mod links;
pub(crate) mod lone;
pub mod network;
pub mod paths;
mod recordings;
mod sessions;
mod workloads;

use crate::build::hooks::Hooks;
use crate::declare::tables::End;
use crate::spec::Spec;
use crate::wire::packet::MAX_TIME;
use network::{Built, Network};
use tailback_base::Time;
use tailback_base::quantity::Refusal;

/// A network ready to run.
pub struct Prepared {
    pub built: Built,
    /// Ports of the declared links, in order of their names.
    pub reported: Vec<u32>,
    /// Start of the measured time.
    pub from: Time,
}

/// Build the network a spec describes.
///
/// # Errors
/// See [`crate::run::run`].
pub fn prepare(spec: &Spec, seed: u64, hooks: &Hooks) -> Result<Prepared, Refusal> {
    if spec.duration.0 > MAX_TIME.0 {
        return Err(Refusal::new(
            format!("a run of {} is too long", spec.duration),
            "give at most 78h",
        ));
    }
    let mut net = Network::new(seed);
    net.choose_paths(spec.path_rules);
    let mut edges = links::add(&mut net, spec, seed, hooks)?;
    let around = flows::Around {
        hooks,
        seed,
        end: Time::ZERO + spec.duration,
        aggregates: aggregates(spec)?,
        tunnels: tunnels(spec),
    };
    for g in &spec.flows {
        flows::add_group(&mut net, g, &around, &mut edges)?;
    }
    for s in &spec.sessions {
        sessions::add(&mut net, s, &around)?;
    }
    for w in &spec.workloads {
        workloads::add(&mut net, w, &around)?;
    }
    conditioners::add(&mut net, edges, hooks.library(), seed)?;
    let mut built = net.build()?;
    built.sim.ahead.never |= hooks.one_by_one;
    if hooks.laws {
        built.check_laws();
    }
    if spec.end == End::Sessions {
        built.end_with_sessions();
    }
    // The links of the scenario were added first.
    let mut reported = built.link_ports[..spec.links.len()].concat();
    reported.sort_unstable();
    for port in built.unreported(&reported) {
        port.leave_queue_uncounted();
    }
    let from = Time::ZERO + spec.warmup;
    if spec.warmup.0 > 0 {
        built.warm_up(from);
    }
    if let Some(period) = spec.interval {
        built.intervals(period, from + period, &reported);
    }
    recordings::declare(spec, &mut built)?;
    if let Some(make) = hooks.tap {
        let tap = make(&built.names());
        built.tap(tap);
    }
    Ok(Prepared { built, reported, from })
}

/// The names of the tunnels, in natural order.
fn tunnels(spec: &Spec) -> Vec<&str> {
    let of_flows = spec.flows.iter().filter_map(|g| g.tunnel.as_ref());
    let of = of_flows.chain(spec.sessions.iter().filter_map(|s| s.tunnel.as_ref()));
    let mut names: Vec<&str> = of.map(|(name, _)| name.as_str()).collect();
    names.sort_by(|a, b| crate::sim::names::natural(a, b));
    names.dedup();
    names
}

/// The names of the edges at which flows enter and leave, in natural order. The number of an edge among aggregates is
/// its place in this list.
fn aggregates(spec: &Spec) -> Result<Vec<&str>, Refusal> {
    let mut names: Vec<&str> = spec
        .flows
        .iter()
        .flat_map(|g| &g.aggregate)
        .map(String::as_str)
        .collect();
    for s in &spec.sessions {
        names.extend([s.from.as_str(), s.to.as_str()]);
        names.extend(s.page_servers.iter().map(String::as_str));
    }
    names.extend(spec.workloads.iter().flat_map(|w| &w.hosts).map(String::as_str));
    names.sort_by(|a, b| crate::sim::names::natural(a, b));
    names.dedup();
    if names.len() > usize::from(u16::MAX) + 1 {
        return Err(Refusal::new(
            format!("flows enter and leave at {} edges", names.len()),
            "give them at most 65536, by source_edge and destination_edge",
        ));
    }
    Ok(names)
}
