//! The `[workload.NAME]` tables: flows among many hosts, at random or from a list.

use super::flows::Around;
use super::names::{among, named};
use super::routes::Routes;
use super::transport::{inner_conflict, transport};
use super::{named_file, trace_file};
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node};
use crate::error::Problem;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tailback_base::model::{Choice, Param, Raw, Settings};
use tailback_base::{Duration, Time};
use tailback_sim::declare::tables::top;
use tailback_sim::declare::workload::*;
use tailback_sim::spec::{GroupSpec, SessionSpec, WorkloadFlows, WorkloadSpec};
use tailback_sim::traffic::laws;
use tailback_sim::traffic::workload::{Arrivals, Gaps, ListedFlow, Pattern};

/// Most hosts of a workload.
const MOST_HOSTS: usize = 100_000;
/// The largest flow of a list, bytes.
const MOST_BYTES: u64 = 1 << 50;

/// Read all tables. `file` is the scenario's.
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
    let before = r.seen();
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
    let flows = match s.get(&LIST) {
        Some(list) => listed(r, &filled, &list, file, &hosts),
        None => {
            let sizes = match s.get(&SIZES_FILE) {
                Some(name) => sizes_of_file(r, &filled, &name, file),
                None => sizes(r, &filled, own_sizes),
            };
            sizes.and_then(|sizes| drawn(r, &filled, sizes, &hosts, around))
        }
    };
    if r.seen() > before {
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

/// Whether a transport has connections that repeat what is lost.
fn connects(r: &mut Reader, filled: &Filled, t: &Settings) -> bool {
    if r.library.transports.repeats_losses(t.model) {
        return true;
    }
    let problem = format!(
        "flows of a workload arrive whole, and {} does not repeat what is lost",
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
        n @ 0..2 => format!("flows go from one host to another, and there are {n}"),
        n if n > MOST_HOSTS => format!("{n} hosts are too many"),
        _ => {
            let reached = routes.connected(&hosts[0]);
            match hosts[1..].iter().find(|h| !reached.contains(&h.as_str())) {
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

/// What a workload draws.
fn drawn(r: &mut Reader, filled: &Filled, sizes: Settings, hosts: &[String], around: &Around) -> Option<WorkloadFlows> {
    let s = &filled.settings;
    let (pattern, fan_in) = (s.get(&PATTERN), s.get(&FAN_IN));
    if pattern != Pattern::Incast && s.gives(&FAN_IN) {
        let problem = format!("fan_in is that of an incast, and the pattern is \"{}\"", pattern.word());
        let remedy = "add pattern = \"incast\", or leave fan_in out";
        r.complain(filled.problem("conflict", &FAN_IN, problem, remedy));
        return None;
    }
    if pattern == Pattern::Incast && fan_in as usize >= hosts.len() {
        let problem = format!("{fan_in} hosts send to one other, and there are {} in all", hosts.len());
        let remedy = format!("give a fan_in of at most {}", hosts.len() - 1);
        r.complain(
            filled
                .problem("conflict", &FAN_IN, problem, remedy)
                .value(fan_in.to_string()),
        );
        return None;
    }
    let at_once = if pattern == Pattern::Incast {
        f64::from(fan_in)
    } else {
        1.0
    };
    let mean = match (s.get(&LOAD), s.get(&MEAN_GAP)) {
        (None, Some(gap)) => gap.seconds(),
        (Some(load), None) => {
            let law = r.library.law(&sizes);
            let Some(mean) = law.mean() else {
                let problem = format!(
                    "the mean of {} is not known in closed form, which load needs",
                    sizes.model.name
                );
                let remedy = "give mean_gap, the mean time between arrivals, in place of load";
                r.complain(filled.problem("conflict", &LOAD, problem, remedy));
                return None;
            };
            mean * 8.0 * at_once / (load * capacity(hosts, around))
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
        let problem = "shape is that of log-normal times, and arrivals are a Poisson process";
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

/// The rates of the links of hosts, towards the network, bit/s.
fn capacity(hosts: &[String], around: &Around) -> f64 {
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    for link in around.links {
        for (node, d) in [(&link.from, &link.forward), (&link.to, &link.reverse)] {
            *rates.entry(node).or_default() += d.rate.bits_per_second();
        }
    }
    hosts.iter().filter_map(|h| rates.get(h.as_str())).sum()
}

/// The lines of a file, each as its numbers, with their number in the file.
fn numbers(
    r: &mut Reader,
    filled: &Filled,
    (key, name): (&Param, &str),
    file: &str,
) -> Option<(PathBuf, Vec<(usize, Vec<String>)>)> {
    let place = trace_file::place(file, name);
    let digest = filled.settings.get(&DIGEST);
    let text = match named_file::text(&place.display().to_string(), digest, r.library) {
        Ok(text) => text,
        Err(e) => {
            r.complain(filled.problem("file", key, e.problem, e.remedy).value(name));
            return None;
        }
    };
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let split = |line: &str| {
        line.split([' ', '\t', ','])
            .filter(|w| !w.is_empty())
            .map(String::from)
            .collect()
    };
    Some((place, lines.map(|(i, line)| (i, split(line))).collect()))
}

/// Points of a distribution function from a file, as the law `cdf`: in each line a size in bytes and a share, which is
/// a fraction or a percentage; of three columns the middle one is not looked at.
fn sizes_of_file(r: &mut Reader, filled: &Filled, name: &str, file: &str) -> Option<Settings> {
    if filled.node.given(&SIZES).is_some() {
        let problem = "sizes and sizes_file both say how large flows are";
        r.complain(filled.problem("conflict", &SIZES_FILE, problem, "keep one of the two"));
        return None;
    }
    let (place, lines) = numbers(r, filled, (&SIZES_FILE, name), file)?;
    let mut points: Vec<(f64, f64)> = vec![];
    for (number, words) in &lines {
        let parsed: Option<Vec<f64>> = words.iter().map(|w| w.parse().ok()).collect();
        let point = match parsed.as_deref() {
            Some([size, share] | [size, _, share]) => Some((*size, *share)),
            _ => None,
        };
        let fits = |p: &(f64, f64)| p.0 >= 0.0 && p.1 >= 0.0 && points.last().is_none_or(|l| l.0 <= p.0 && l.1 <= p.1);
        let Some(point) = point.filter(fits) else {
            let problem = format!("{}: line {number} is \"{}\"", place.display(), words.join(" "));
            let remedy =
                "write a size in bytes and the share of flows up to it, both no smaller than in the line before";
            r.complain(filled.problem("file", &SIZES_FILE, problem, remedy).value(name));
            return None;
        };
        points.push(point);
    }
    let whole = points.last().map_or(0.0, |p| p.1);
    let scale = if whole > 1.5 { 100.0 } else { 1.0 };
    if (whole / scale - 1.0).abs() > 1e-6 {
        let problem = format!("{}: the last share is {whole}, neither 1 nor 100", place.display());
        let remedy = "let the last line have the largest size, with all flows";
        r.complain(filled.problem("file", &SIZES_FILE, problem, remedy).value(name));
        return None;
    }
    let row = r.library.laws.iter().find(|l| l.size.name == laws::CDF)?;
    let values = points
        .iter()
        .map(|p| Raw::Text(format!("{}B", libm::round(p.0) as u64)));
    let shares = points.iter().map(|p| Raw::Real(p.1 / scale));
    let mut settings = Settings::defaults(&row.size);
    for (name, list) in [
        ("values", Raw::List(values.collect())),
        ("shares", Raw::List(shares.collect())),
    ] {
        if let Err(e) = settings.set(name, &list) {
            r.complain(filled.problem("file", &SIZES_FILE, e.problem, e.remedy).value(name));
            return None;
        }
    }
    Some(settings)
}

/// The flows of a list: `source destination bytes time` in each line, hosts by name or by number from 0, in seconds.
fn listed(r: &mut Reader, filled: &Filled, name: &str, file: &str, hosts: &[String]) -> Option<WorkloadFlows> {
    for key in [
        &LOAD.param,
        &MEAN_GAP.param,
        &SIZES,
        &SIZES_FILE.param,
        &ARRIVALS.param,
        &SHAPE.param,
        &PATTERN.param,
        &FAN_IN.param,
        &START.param,
    ] {
        if filled.node.given(key).is_some() {
            let problem = format!(
                "{} belongs to flows that are drawn, and the list has all flows with their times",
                key.name
            );
            r.complain(filled.problem("conflict", key, problem, "keep one of the two"));
            return None;
        }
    }
    let (place, lines) = numbers(r, filled, (&LIST, name), file)?;
    let number_of: BTreeMap<&str, u32> = (0..).zip(hosts).map(|(i, h)| (h.as_str(), i)).collect();
    let host = |word: &str| {
        let numbered = || word.parse::<u32>().ok().filter(|n| (*n as usize) < hosts.len());
        number_of.get(word).copied().or_else(numbered)
    };
    let mut flows = vec![];
    for (number, words) in &lines {
        let flow = match &words[..] {
            [from, to, bytes, at] => host(from)
                .zip(host(to))
                .zip(bytes.parse::<u64>().ok().zip(at.parse::<f64>().ok())),
            _ => None,
        };
        match flow {
            Some(((from, to), (bytes, at))) if from != to && (1..=MOST_BYTES).contains(&bytes) && at >= 0.0 => flows
                .push(ListedFlow {
                    at: Time(0) + Duration::from_seconds(at),
                    from,
                    to,
                    bytes,
                }),
            _ => {
                let problem = format!("{}: line {number} is \"{}\"", place.display(), words.join(" "));
                let remedy = "write source, destination, bytes and seconds, such as: host1 host9 20000 0.0015";
                r.complain(filled.problem("file", &LIST, problem, remedy).value(name));
                return None;
            }
        }
    }
    flows.sort_by_key(|f| f.at);
    Some(WorkloadFlows::Listed(Arc::from(flows)))
}
