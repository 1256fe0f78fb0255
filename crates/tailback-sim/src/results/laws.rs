//! Laws that hold between the numbers of a run's tables: sums and quantiles, and the load of a source.
//!
//! * Sums over intervals are equal to the totals, if the intervals fill the counted time. Sums over reasons are equal
//!   to all drops. A group has the counts of its flows together.
//! * Quantiles are in order, and a share is between 0 and 1.
//! * A source that paces its packets offers its rate: exactly, or, if gaps are drawn, within six standard deviations.

use super::outcome::Outcome;
use super::table::{Cell, Table};
use crate::library::Library;
use crate::spec::{GroupSpec, Spec};
use crate::traffic::{cbr, paced, poisson};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_base::Duration;

/// The relative difference that two sums of many terms may have.
const ROUNDING: f64 = 1e-6;
/// Quantiles, from the least on, as columns end.
const QUANTILES: [&str; 4] = ["_p50_s", "_p95_s", "_p99_s", "_max_s"];
/// Standard deviations of a sum of packets that are drawn.
const DEVIATIONS: f64 = 6.0;

/// Check the laws on the tables of a run. `seconds` is the counted time.
///
/// # Errors
/// Names the table, the row and the numbers.
pub fn check(tables: &Outcome, spec: &Spec, library: &Library, seconds: f64) -> Result<(), String> {
    for name in ["links", "flows", "datagrams", "completions"] {
        in_order(&tables[name])?;
    }
    shares(&tables["links"], "utilisation")?;
    shares(&tables["link_intervals"], "utilisation")?;
    let end = (spec.warmup.seconds(), spec.warmup.seconds() + seconds);
    intervals(&tables["intervals"], &tables["flows"], ("id", "goodput_bps"), end)?;
    intervals(
        &tables["link_intervals"],
        &tables["links"],
        ("name", "throughput_bps"),
        end,
    )?;
    reasons(&tables["losses"], &tables["links"])?;
    groups(&tables["flows"], &tables["groups"])?;
    for g in &spec.flows {
        offered(g, &tables["flows"], spec, library)?;
    }
    Ok(())
}

fn reals(t: &Table, column: &str) -> Vec<f64> {
    t.reals(column).unwrap_or_default()
}

fn texts(t: &Table, column: &str) -> Vec<Arc<str>> {
    let Some(c) = t.column(column) else { return vec![] };
    let text = |row| match c.data.cell(row) {
        Cell::Text(text) => text,
        other => format!("{other:?}").into(),
    };
    (0..t.rows()).map(text).collect()
}

/// Sums of a column by the text of another.
fn sums(t: &Table, by: &str, values: &[f64]) -> BTreeMap<Arc<str>, f64> {
    let mut sums = BTreeMap::new();
    for (key, value) in texts(t, by).into_iter().zip(values) {
        *sums.entry(key).or_insert(0.0) += value;
    }
    sums
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs()).max(1.0)
}

fn in_order(t: &Table) -> Result<(), String> {
    let first = QUANTILES[0];
    for stem in t.columns.iter().filter_map(|c| c.name.strip_suffix(first)) {
        let columns = QUANTILES.map(|q| reals(t, &format!("{stem}{q}")));
        for row in 0..t.rows() {
            let values: Vec<f64> = columns
                .iter()
                .filter_map(|v| v.get(row).copied())
                .filter(|x| !x.is_nan())
                .collect();
            // The maximum is exact, and the other quantiles are upper edges of bins.
            if values.windows(2).any(|w| w[0] > w[1] * (1.0 + 0.05)) {
                return Err(format!("{}, row {row}: the quantiles of {stem} are {values:?}", t.name));
            }
        }
    }
    Ok(())
}

fn shares(t: &Table, column: &str) -> Result<(), String> {
    let wrong = |x: &f64| *x < 0.0 || *x > 1.0 + ROUNDING;
    match reals(t, column).iter().position(wrong) {
        Some(row) => Err(format!("{}, row {row}: {column} = {}", t.name, reals(t, column)[row])),
        None => Ok(()),
    }
}

fn intervals(parts: &Table, whole: &Table, (key, rate): (&str, &str), (from, to): (f64, f64)) -> Result<(), String> {
    let (starts, ends) = (reals(parts, "from_s"), reals(parts, "to_s"));
    let first_start = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let last = ends.iter().copied().fold(0.0, f64::max);
    if starts.is_empty() || (first_start - from).abs() > 1e-9 || (last - to).abs() > 1e-9 {
        return Ok(());
    }
    let bits: Vec<f64> = reals(parts, rate)
        .iter()
        .zip(starts.iter().zip(&ends))
        .map(|(bps, (from, to))| bps * (to - from))
        .collect();
    let summed = sums(parts, key, &bits);
    for (name, bps) in sums(whole, key, &reals(whole, rate)) {
        let total = bps * (to - from);
        let sum = summed.get(&name).copied().unwrap_or(0.0);
        if !close(sum, total) {
            return Err(format!(
                "{}: {rate} of {name} is {sum} bits over its intervals and {total} in all",
                parts.name
            ));
        }
    }
    Ok(())
}

fn reasons(losses: &Table, links: &Table) -> Result<(), String> {
    let is_drop: Vec<bool> = texts(losses, "event").iter().map(|e| &**e == "drop").collect();
    let packets: Vec<f64> = reals(losses, "packets")
        .iter()
        .zip(is_drop)
        .map(|(n, drop)| if drop { *n } else { 0.0 })
        .collect();
    let summed = sums(losses, "link", &packets);
    for (name, all) in sums(links, "name", &reals(links, "dropped_packets")) {
        let sum = summed.get(&name).copied().unwrap_or(0.0);
        if sum != all {
            return Err(format!("losses: {name} has {sum} drops by reason and {all} in all"));
        }
    }
    Ok(())
}

fn groups(flows: &Table, groups: &Table) -> Result<(), String> {
    for (of_flows, of_group) in [("goodput_bps", "goodput_bps_sum"), ("sent_packets", "sent_packets")] {
        let summed = sums(flows, "group", &reals(flows, of_flows));
        for (name, all) in sums(groups, "group", &reals(groups, of_group)) {
            let sum = summed.get(&name).copied().unwrap_or(0.0);
            if !close(sum, all) {
                return Err(format!(
                    "groups: {of_group} of {name} is {all}, and {sum} over its flows"
                ));
            }
        }
    }
    Ok(())
}

/// Check that a source of datagrams with a given rate has sent as many as the rate says.
fn offered(g: &GroupSpec, flows: &Table, spec: &Spec, library: &Library) -> Result<(), String> {
    // The variance of a gap in units of its mean's square; jitter is uniform.
    let variance = match g.traffic.model.name {
        name if name == cbr::MODEL.name => 1.0 / 3.0,
        name if name == poisson::MODEL.name => 1.0,
        _ => return Ok(()),
    };
    let paces = library.transports.carries_datagrams(g.transport.model);
    if !paces || g.stop.is_some() || !g.changes.is_empty() || spec.warmup > Duration::ZERO {
        return Ok(());
    }
    let Ok(entry) = library.sizes(g.sizes.model) else {
        return Ok(());
    };
    let sizes = (entry.build)(&g.sizes);
    let rows = texts(flows, "group")
        .into_iter()
        .enumerate()
        .filter(|(_, name)| **name == *g.name);
    let (starts, sent_packets) = (reals(flows, "start_s"), reals(flows, "sent_packets"));
    for (i, (row, _)) in rows.enumerate() {
        let rate = g.traffic.turn(&paced::RATE, i as u32).bits_per_second();
        let expected = rate * (spec.duration.seconds() - starts[row]) / (8.0 * sizes.mean());
        // A cycle of sizes, or of phases, may begin anywhere.
        let spread = f64::from(sizes.largest()) / sizes.mean();
        let most = DEVIATIONS * (expected * (variance + spread - 1.0)).sqrt() + 2.0 * spread;
        if (sent_packets[row] - expected).abs() > most {
            return Err(format!(
                "flows, row {row}: {} packets were sent where {expected:.1} are asked for",
                sent_packets[row]
            ));
        }
    }
    Ok(())
}
