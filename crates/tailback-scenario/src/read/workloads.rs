//! The `[workload.NAME]` tables: flows among many hosts, at random or from a list.

use super::flows::Around;
use super::names::{among, named};
use super::routes::Routes;
use super::transport::{inner_conflict, transport};
use super::{layer_loads, workload_files};
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node};
use crate::error::Problem;
use std::collections::{BTreeMap, BTreeSet};
use tailback_base::model::{Choice, Param, Settings};
use tailback_sim::declare::tables::top;
use tailback_sim::declare::workload::*;
use tailback_sim::spec::{GroupSpec, SessionSpec, WorkloadFlows, WorkloadSpec};
use tailback_sim::traffic::workload::{Arrivals, Gaps, Pattern};

/// Read all tables. `file` is the scenario's file.
pub fn workloads(
    r: &mut Reader,
    (root, file): (&Node, &str),
    around: &Around,
    (groups, sessions): (&[GroupSpec], &[SessionSpec]),
    routes: &mut Routes,
) -> Vec<WorkloadSpec> {
    let mut workloads = vec![];
    for entry in named(r, root, &top::WORKLOADS) {
        let taken = groups.iter().map(|g| &g.name).chain(sessions.iter().map(|s| &s.name));
        if taken.into_iter().any(|name| *name == entry.key) {
            let problem = format!("flows or sessions are called \"{}\", too", entry.key);
            let remedy = "give each its own name: results tell them apart by it";
            let path = join(top::WORKLOADS.name, &entry.key);
            r.complain(Problem::new("conflict", entry.key_at.clone(), &path, problem, remedy));
        }
        workloads.extend(workload(r, entry, file, around, routes));
    }
    workloads
}

fn workload(r: &mut Reader, entry: &Entry, file: &str, around: &Around, routes: &mut Routes) -> Option<WorkloadSpec> {
    let problems_before = r.seen();
    let path = join(top::WORKLOADS.name, &entry.key);
    let node = &entry.node;
    let transports: Vec<&'static str> = r.library.catalogue.family("transport").iter().map(|m| m.name).collect();
    let filled = r.fill(node, &path, &WORKLOAD, &transports);
    let part = |param: &Param| node.given(param).map(|n| (n, join(&path, param.name)));
    let transport = transport(r, node, &path, &transports, None, around.profiles);
    let own_sizes = part(&SIZES).and_then(|(n, key)| r.model(n, &key, "transfer-size"));
    let filled = filled?;
    let s = &filled.settings;
    let transport = transport.filter(|t| connects(r, &filled, t));
    let hosts = hosts(r, &filled, around, routes)?;
    if s.gives(&DIGEST) && s.get(&LIST).is_none() && s.get(&SIZES_FILE).is_none() {
        let problem = "digest is that of a file, but the table names no file";
        let remedy = "add list or sizes_file, or leave digest out";
        r.complain(filled.problem("conflict", &DIGEST, problem, remedy));
    }
    let flows = match s.get(&LIST) {
        Some(list) => workload_files::flows(r, &filled, &list, file, &hosts),
        None => {
            let sizes = match s.get(&SIZES_FILE) {
                Some(name) => workload_files::sizes(r, &filled, &name, file),
                None => sizes(r, &filled, own_sizes),
            };
            sizes.and_then(|sizes| drawn(r, &filled, sizes, &hosts, around, routes))
        }
    };
    if r.seen() > problems_before {
        return None;
    }
    Some(WorkloadSpec {
        name: entry.key.clone(),
        hosts,
        flows: flows?,
        most: s.get(&MOST),
        paths: s.get(&PATHS).unwrap_or(around.paths),
        keeps: s.get(&CONNECTION) == Connections::Keep,
        transport: transport?,
        dscp: s.get(&DSCP),
        start: s.get(&START),
        stop: s.get(&STOP),
    })
}

/// Whether a transport has connections that retransmit lost data.
fn connects(r: &mut Reader, filled: &Filled, t: &Settings) -> bool {
    if r.library.transports.repeats_losses(t.model) {
        return true;
    }
    let problem = format!(
        "flows of a workload must arrive whole, but {} does not send lost packets again",
        t.model.name
    );
    let remedy = "leave the transport out, or give transport = \"tcp\"";
    r.complain(
        filled
            .problem("conflict", &TRANSPORT, problem, remedy)
            .value(t.model.name),
    );
    false
}

/// The hosts, given or all nodes with one link.
fn hosts(r: &mut Reader, filled: &Filled, around: &Around, routes: &mut Routes) -> Option<Vec<String>> {
    if !around.whole {
        return None;
    }
    let mut hosts = filled.settings.get(&HOSTS);
    if hosts.is_empty() {
        hosts = routes.leaves().into_iter().map(String::from).collect();
    }
    if let Some(unknown) = hosts.iter().find(|h| !routes.has(h)) {
        let nodes: Vec<&str> = routes.node_names().collect();
        let (near, remedy) = among(unknown, nodes.into_iter(), "nodes");
        let problem = format!("no link touches a node \"{}\"", crate::error::shorten(unknown, 60));
        let problem = filled
            .problem("unreachable", &HOSTS, problem, remedy)
            .value(unknown.clone());
        r.complain(problem.nearest(near.as_deref()));
        return None;
    }
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let problem = match hosts.len() {
        n if n != sorted.len() => "a host is named twice".to_string(),
        n @ 0..2 => format!("flows go from one host to another, but the number of hosts is {n}"),
        _ => {
            let reached: BTreeSet<&str> = routes.connected(&hosts[0]).into_iter().collect();
            match hosts[1..].iter().find(|h| !reached.contains(h.as_str())) {
                None => return Some(hosts),
                Some(apart) => format!("no way leads from \"{}\" to \"{apart}\"", hosts[0]),
            }
        }
    };
    let remedy = "name two hosts or more that links join, or leave hosts out for all nodes with one link";
    r.complain(filled.problem("value", &HOSTS, problem, remedy));
    None
}

/// The law of sizes.
fn sizes(r: &mut Reader, filled: &Filled, given: Option<Filled>) -> Option<Settings> {
    let Some(given) = given else {
        if filled.part(&SIZES).is_none() {
            r.missing(&SIZES, filled.node, &filled.path, &WORKLOAD);
        }
        return None;
    };
    let row = r
        .library
        .laws
        .iter()
        .find(|l| std::ptr::eq(&l.size, given.settings.model))?;
    if let Err(conflict) = (row.check)(&given.settings) {
        inner_conflict(r, given.node.at.clone(), &given.path, conflict);
        return None;
    }
    Some(given.settings)
}

/// The random draws of a workload.
fn drawn(
    r: &mut Reader,
    filled: &Filled,
    sizes: Settings,
    hosts: &[String],
    around: &Around,
    routes: &mut Routes,
) -> Option<WorkloadFlows> {
    let s = &filled.settings;
    let (pattern, fan_in) = (s.get(&PATTERN), s.get(&FAN_IN));
    if pattern != Pattern::Incast && s.gives(&FAN_IN) {
        let problem = format!("fan_in belongs to an incast, but the pattern is \"{}\"", pattern.word());
        let remedy = "add pattern = \"incast\", or leave fan_in out";
        r.complain(filled.problem("conflict", &FAN_IN, problem, remedy));
        return None;
    }
    if pattern == Pattern::Incast && fan_in as usize >= hosts.len() {
        let problem = format!(
            "{fan_in} hosts send to one other host, but there are {} hosts in all",
            hosts.len()
        );
        let remedy = format!("give a fan_in of at most {}", hosts.len() - 1);
        r.complain(
            filled
                .problem("conflict", &FAN_IN, problem, remedy)
                .value(fan_in.to_string()),
        );
        return None;
    }
    if s.gives(&LOAD_OF) && s.get(&LOAD).is_none() {
        let problem = "load_of names the links to which load refers, but load is not given";
        r.complain(filled.problem(
            "conflict",
            &LOAD_OF,
            problem,
            "add load, such as 0.5, or leave load_of out",
        ));
        return None;
    }
    let mean = match (s.get(&LOAD), s.get(&MEAN_GAP)) {
        (None, Some(gap)) => gap.seconds(),
        (Some(load), None) => {
            let mean = match r.library.law(&sizes).mean() {
                Some(mean) if mean > 0.0 => mean,
                known => {
                    let problem = match known {
                        Some(_) => format!(
                            "the mean of {} is 0, so that no number of flows makes a load",
                            sizes.model.name
                        ),
                        None => format!(
                            "load needs the mean of {} in closed form, which is not known",
                            sizes.model.name
                        ),
                    };
                    let remedy = "give mean_gap, the mean time between arrivals, in place of load";
                    r.complain(filled.problem("conflict", &LOAD, problem, remedy));
                    return None;
                }
            };
            mean * 8.0 * f64::from(pattern.at_once(fan_in)) / (load * capacity(r, filled, hosts, around, routes)?)
        }
        (both, _) => {
            let problem = match both {
                Some(_) => "load and mean_gap both say how often flows arrive",
                None => "nothing says how often flows arrive",
            };
            let remedy = "give one of load, such as 0.5, and mean_gap, such as \"100us\"";
            r.complain(filled.problem("conflict", &LOAD, problem, remedy));
            return None;
        }
    };
    let arrivals = s.get(&ARRIVALS);
    if arrivals == Arrivals::Poisson && s.gives(&SHAPE) {
        let problem = "shape belongs to log-normal times, but arrivals are a Poisson process";
        r.complain(filled.problem(
            "conflict",
            &SHAPE,
            problem,
            "add arrivals = \"log-normal\", or leave shape out",
        ));
        return None;
    }
    let gaps = Gaps {
        arrivals,
        mean,
        shape: s.get(&SHAPE),
    };
    Some(WorkloadFlows::Drawn {
        pattern,
        fan_in,
        gaps,
        sizes,
    })
}

/// The payload at which the links to which the load refers would be full, bit/s.
fn capacity(r: &mut Reader, filled: &Filled, hosts: &[String], around: &Around, routes: &mut Routes) -> Option<f64> {
    let Some(layer) = filled.settings.get(&LOAD_OF) else {
        return Some(rates_of_hosts(hosts, around));
    };
    let Some(loads) = layer_loads::loads_per_bit(around.links, hosts, routes) else {
        let problem = format!(
            "the hosts are at more than {} switches, which is too many to compute the load of a layer",
            layer_loads::MOST_SWITCHES
        );
        let remedy = "leave load_of out, for the load of the hosts' links, or give mean_gap in place of load";
        r.complain(filled.problem("limit", &LOAD_OF, problem, remedy).value(layer));
        return None;
    };
    if let Some(per_bit) = loads.get(&layer) {
        return Some(1.0 / per_bit);
    }
    let (near, remedy) = among(&layer, loads.keys().map(String::as_str), "layers that flows cross");
    let problem = format!(
        "no flow crosses links of a layer \"{}\"",
        crate::error::shorten(&layer, 60)
    );
    let problem = filled.problem("unreachable", &LOAD_OF, problem, remedy).value(layer);
    r.complain(problem.nearest(near.as_deref()));
    None
}

/// The rates of the links of hosts, towards the network, bit/s.
fn rates_of_hosts(hosts: &[String], around: &Around) -> f64 {
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    for link in around.links {
        for (node, d) in [(&link.from, &link.forward), (&link.to, &link.reverse)] {
            *rates.entry(node).or_default() += d.rate.bits_per_second();
        }
    }
    hosts.iter().filter_map(|h| rates.get(h.as_str())).sum()
}
