//! The files that a `[workload.NAME]` table names: points of a law of sizes, and lists of flows.

use super::{named_file, trace_file};
use crate::check::{Filled, Reader};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tailback_base::model::{Param, Raw, Settings};
use tailback_base::{Duration, Time};
use tailback_sim::declare::tables::LONGEST_SECONDS;
use tailback_sim::declare::workload::*;
use tailback_sim::spec::WorkloadFlows;
use tailback_sim::traffic::laws;
use tailback_sim::traffic::workload::ListedFlow;

/// The largest flow of a list, bytes.
const MOST_BYTES: u64 = 1 << 50;
/// The remedy if a line of a list cannot be read.
const A_FLOW: &str = "write source, destination, bytes and seconds, such as: host1 host9 20000 0.0015";

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

/// Points of a distribution function from a file, as the law `cdf`. Each line has a size in bytes and a share, which is
/// a fraction or a percentage. If there are three columns, the middle one is ignored.
pub fn sizes(r: &mut Reader, filled: &Filled, name: &str, file: &str) -> Option<Settings> {
    if filled.node.given(&SIZES).is_some() {
        let problem = "sizes and sizes_file both say how large flows are";
        r.complain(filled.problem("conflict", &SIZES_FILE, problem, "keep one of the two"));
        return None;
    }
    let (place, lines) = numbers(r, filled, (&SIZES_FILE, name), file)?;
    let mut points: Vec<(f64, f64)> = vec![];
    for (line_number, words) in &lines {
        let parsed: Option<Vec<f64>> = words.iter().map(|w| w.parse().ok()).collect();
        let point = match parsed.as_deref() {
            Some([size, share] | [size, _, share]) => Some((*size, *share)),
            _ => None,
        };
        let (bytes, share) = points.last().copied().unwrap_or_default();
        let fits = |p: &(f64, f64)| (bytes..=MOST_BYTES as f64).contains(&p.0) && p.1 >= share;
        let Some(point) = point.filter(fits) else {
            let problem = format!("{}: line {line_number} is \"{}\"", place.display(), words.join(" "));
            let remedy = "write a size in bytes, of at most 1e15, and the share of flows up to it, both no smaller \
                          than in the line before";
            r.complain(filled.problem("file", &SIZES_FILE, problem, remedy).value(name));
            return None;
        };
        points.push(point);
    }
    let last_share = points.last().map_or(0.0, |p| p.1);
    let scale = if last_share > 1.5 { 100.0 } else { 1.0 };
    if (last_share / scale - 1.0).abs() > 1e-6 {
        let problem = format!("{}: the last share is {last_share}, neither 1 nor 100", place.display());
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
    for (param, list) in [
        ("values", Raw::List(values.collect())),
        ("shares", Raw::List(shares.collect())),
    ] {
        if let Err(e) = settings.set(param, &list) {
            let problem = format!("{}: {}", place.display(), e.problem);
            r.complain(filled.problem("file", &SIZES_FILE, problem, e.remedy).value(name));
            return None;
        }
    }
    Some(settings)
}

/// The flows of a list. Each line is `source destination bytes time`, with hosts by name or by number from 0, and the
/// time in seconds.
pub fn flows(r: &mut Reader, filled: &Filled, name: &str, file: &str, hosts: &[String]) -> Option<WorkloadFlows> {
    for key in [
        &LOAD.param,
        &LOAD_OF.param,
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
                "{} belongs to flows that are drawn, but the list has all flows with their times",
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
    for (line_number, words) in &lines {
        let flow = match &words[..] {
            [from, to, bytes, at] => host(from)
                .zip(host(to))
                .zip(bytes.parse::<u64>().ok().zip(at.parse::<f64>().ok())),
            _ => None,
        };
        match flow {
            Some(((from, to), (bytes, at)))
                if from != to && (1..=MOST_BYTES).contains(&bytes) && (0.0..=LONGEST_SECONDS).contains(&at) =>
            {
                flows.push(ListedFlow {
                    at: Time(0) + Duration::from_seconds(at),
                    from,
                    to,
                    bytes,
                });
            }
            _ => {
                let problem = format!("{}: line {line_number} is \"{}\"", place.display(), words.join(" "));
                r.complain(filled.problem("file", &LIST, problem, A_FLOW).value(name));
                return None;
            }
        }
    }
    if flows.is_empty() {
        let problem = format!("{}: there is no flow in it", place.display());
        r.complain(filled.problem("file", &LIST, problem, A_FLOW).value(name));
        return None;
    }
    flows.sort_by_key(|f| f.at);
    Some(WorkloadFlows::Listed(Arc::from(flows)))
}
