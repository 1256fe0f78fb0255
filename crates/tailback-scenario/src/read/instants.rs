//! The times at which flows start and stop, as a table gives them.

use super::names::place;
use crate::check::{Filled, Reader, join};
use crate::document::{Node, Tree};
use crate::error::Problem;
use tailback_base::{Duration, Time};
use tailback_sim::declare::instants as declared;
use tailback_sim::declare::instants::Instants;
use tailback_sim::declare::tables::flows::STOP;

/// An instant, a list of instants, or a table.
pub fn instants(r: &mut Reader, node: &Node, path: &str, stop: bool) -> Option<Instants> {
    let filled = if matches!(node.tree, Tree::Table(_)) {
        r.model(node, path, "instants")?
    } else {
        r.fill_short(node, path, &declared::AT, &declared::TIMES)?
    };
    match declared::read(&filled.settings, stop)? {
        Ok(instants) => Some(instants),
        Err((key, problem, value, remedy)) => {
            let path = if key.is_empty() {
                path.to_string()
            } else {
                join(path, key)
            };
            r.complain(Problem::new("conflict", node.at.clone(), &path, problem, remedy).value(value));
            None
        }
    }
}

/// The earliest instant there can be, if it can be known.
pub fn first_instant(i: &Instants) -> Option<Time> {
    match i {
        Instants::Listed(list) => list.iter().copied().min(),
        Instants::Uniform { from, .. } | Instants::Poisson { from, .. } => Some(*from),
        Instants::After(_) | Instants::AfterUniform { .. } => None,
    }
}

/// The latest instant a flow may take, if there is one.
fn last_instant(i: &Instants) -> Option<Time> {
    match i {
        Instants::Listed(list) => list.iter().copied().max(),
        Instants::Uniform { to, .. } => Some(*to),
        Instants::Poisson { .. } | Instants::After(_) | Instants::AfterUniform { .. } => None,
    }
}

/// A flow that stops before it starts is a mistake if the instants are known, and perhaps a mistake if they are drawn.
pub fn in_order(r: &mut Reader, filled: &Filled, count: u32, (start, stop): (&Instants, &Instants)) {
    let (Instants::Listed(start), Instants::Listed(stop)) = (start, stop) else {
        if let (Some(last_start), Some(first_stop)) = (last_instant(start), first_instant(stop))
            && first_stop < last_start
        {
            let (first_stop, last_start) = (Duration(first_stop.0), Duration(last_start.0));
            let text = format!(
                "a flow may start as late as {last_start} and stop as early as {first_stop}: one that starts after \
                 it stops sends nothing; give stop = {{ kind = \"after\", delay = ... }}, or a later one"
            );
            r.warn(place(filled.node, &[STOP.name]), &filled.path, text);
        }
        return;
    };
    let flows = (count as usize).min(start.len().max(stop.len()));
    if let Some(i) = (0..flows).find(|i| stop[i % stop.len()] <= start[i % start.len()]) {
        let (a, b) = (Duration(start[i % start.len()].0), Duration(stop[i % stop.len()].0));
        let problem = format!("flow {i} would stop at {b} but start at {a}");
        let remedy = "give a stop later than the start";
        r.complain(filled.problem("conflict", &STOP, problem, remedy).value(b.to_string()));
    }
}
