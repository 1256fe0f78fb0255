//! When flows start and stop: an instant, a list taken in turn, or a table that says how to draw them.

use super::document::{Node, Tree};
use super::error::{At, Problem};
use super::flows::times;
use super::table::{Filled, Reader};
use super::traffic_models as own;
use crate::spec::Instants;
use tailback_base::{Duration, Time};

/// An instant, a list of such, or a table.
pub fn instants(r: &mut Reader, node: &Node, path: &str, stop: bool) -> Option<Instants> {
    let filled = if matches!(node.tree, Tree::Table(_)) {
        r.model(node, path, "instants")?
    } else {
        r.fill_short(node, path, &own::AT, "times")?
    };
    let s = &filled.settings;
    let instants = |key: &str| times(s, key).into_iter().map(|d| Time(d.0)).collect();
    match s.model.name {
        "uniform" => {
            let (from, to) = (Time(s.time("from").0), Time(s.time("to").0));
            if from >= to {
                let problem = format!("from {} to {} there is no time", s.time("from"), s.time("to"));
                r.complain(
                    Problem::new(
                        "conflict",
                        node.at.clone(),
                        &filled.key("to"),
                        problem,
                        "give a `to` that is later than `from`",
                    )
                    .value(s.time("to").to_string()),
                );
                return None;
            }
            Some(Instants::Uniform { from, to })
        }
        "poisson" => Some(Instants::Poisson {
            from: Time(s.time("from").0),
            mean_gap: s.time("mean_gap"),
            shuffled: s.text("order") == "random",
        }),
        "after" if stop => Some(Instants::After(times(s, "delay"))),
        "after" => {
            let problem = "a start cannot be counted from the flow's own start";
            r.complain(
                Problem::new(
                    "conflict",
                    node.at.clone(),
                    path,
                    problem,
                    "give an instant such as \"10s\", or kind = \"uniform\" or \"poisson\"",
                )
                .value("after"),
            );
            None
        }
        _ => Some(Instants::Listed(instants("times"))),
    }
}

/// The earliest instant there can be, if it can be known.
pub fn first_instant(i: &Instants) -> Option<Time> {
    match i {
        Instants::Listed(list) => list.iter().copied().min(),
        Instants::Uniform { from, .. } | Instants::Poisson { from, .. } => Some(*from),
        Instants::After(_) => None,
    }
}

/// The latest instant a flow may take, if there is one.
fn last_instant(i: &Instants) -> Option<Time> {
    match i {
        Instants::Listed(list) => list.iter().copied().max(),
        Instants::Uniform { to, .. } => Some(*to),
        Instants::Poisson { .. } | Instants::After(_) => None,
    }
}

/// A flow that stops before it starts is a mistake, where that can be seen; where it is drawn, perhaps one.
pub fn in_order(r: &mut Reader, node: &Node, filled: &Filled, start: &Instants, stop: &Instants) {
    let (Instants::Listed(start), Instants::Listed(stop)) = (start, stop) else {
        if let (Some(last), Some(first)) = (last_instant(start), first_instant(stop))
            && first < last
        {
            let (first, last) = (Duration(first.0), Duration(last.0));
            r.warnings.push(format!(
                "{}: a flow may start as late as {last} and stop as early as {first}: one that starts after it stops sends \
                 nothing; give stop = {{ kind = \"after\", delay = ... }}, or a later one",
                filled.path
            ));
        }
        return;
    };
    let flows = (filled.settings.count("count") as usize).min(start.len().max(stop.len()));
    if let Some(i) = (0..flows).find(|i| stop[i % stop.len()] <= start[i % start.len()]) {
        let (a, b) = (Duration(start[i % start.len()].0), Duration(stop[i % stop.len()].0));
        let at = node.get("stop").map_or(At::Nowhere, |e| e.node.at.clone());
        let problem = format!("flow {i} would stop at {b} but start at {a}");
        r.complain(
            Problem::new(
                "conflict",
                at,
                &filled.key("stop"),
                problem,
                "give a stop later than the start",
            )
            .value(b.to_string()),
        );
    }
}
