//! When flows start and stop: an instant, a list taken in turn, or a table that says how to draw them. The models of
//! the family `instants`, and a row for each.

use super::document::{Node, Tree};
use super::error::{At, Problem};
use super::flows::times;
use super::table::{Filled, Reader};
use crate::kinds::{SOME_TIME, TIME};
use crate::spec::Instants;
use tailback_base::model::{Kind, Model, Param, Per, Settings};
use tailback_base::{Duration, Time};

pub static AT: Model = Model {
    name: "at",
    family: "instants",
    title: "Given instants",
    summary: "The flows take these instants in turn. Short: the instant or the list alone.",
    source: "",
    params: &[Param::new(
        "times",
        Kind::Each(Per::Flow, &TIME),
        "",
        "The instants, since the start of the run.",
        "",
    )],
    probes: &[],
};

pub static UNIFORM: Model = Model {
    name: "uniform",
    family: "instants",
    title: "Uniform instants",
    summary: "Each flow draws its instant uniformly between two.",
    source: "",
    params: &[
        Param::new("from", TIME, "0s", "The earliest instant.", ""),
        Param::new("to", TIME, "", "The latest instant, not itself included.", ""),
    ],
    probes: &[],
};

pub static POISSON: Model = Model {
    name: "poisson",
    family: "instants",
    title: "Poisson instants",
    summary: "Each flow follows the one before after an exponential gap.",
    source: "",
    params: &[
        Param::new("from", TIME, "0s", "Where the first gap begins.", ""),
        Param::new("mean_gap", SOME_TIME, "", "The mean gap.", ""),
        Param::new(
            "order",
            Kind::Choice(&["index", "random"]),
            "index",
            "Which flow takes which instant: one after the other, or drawn.",
            "",
        ),
    ],
    probes: &[],
};

pub static AFTER: Model = Model {
    name: "after",
    family: "instants",
    title: "A time after the start",
    summary: "This long after the flow's own start; for `stop`.",
    source: "",
    params: &[Param::new(
        "delay",
        Kind::Each(Per::Flow, &SOME_TIME),
        "",
        "How long.",
        "",
    )],
    probes: &[],
};

/// What may be wrong with a table of instants: problem, key, value, remedy.
type Wrong = (&'static str, String, String, &'static str);

/// A way to say when, and how its table is read; `stop` tells starts and stops apart.
struct Row {
    model: &'static Model,
    read: fn(&Settings, bool) -> Result<Instants, Wrong>,
}

/// Every way, in the order the reference shows them.
static ROWS: [Row; 4] = [
    Row {
        model: &AT,
        read: |s, _| {
            Ok(Instants::Listed(
                times(s, "times").into_iter().map(|d| Time(d.0)).collect(),
            ))
        },
    },
    Row {
        model: &UNIFORM,
        read: |s, _| {
            let (from, to) = (s.time("from"), s.time("to"));
            if from >= to {
                let problem = format!("from {from} to {to} there is no time");
                return Err(("to", problem, to.to_string(), "give a `to` that is later than `from`"));
            }
            Ok(Instants::Uniform {
                from: Time(from.0),
                to: Time(to.0),
            })
        },
    },
    Row {
        model: &POISSON,
        read: |s, _| {
            Ok(Instants::Poisson {
                from: Time(s.time("from").0),
                mean_gap: s.time("mean_gap"),
                shuffled: s.text("order") == "random",
            })
        },
    },
    Row {
        model: &AFTER,
        read: |s, stop| match stop {
            true => Ok(Instants::After(times(s, "delay"))),
            false => Err((
                "",
                "a start cannot be counted from the flow's own start".into(),
                "after".into(),
                "give an instant such as \"10s\", or kind = \"uniform\" or \"poisson\"",
            )),
        },
    },
];

/// The models of the family `instants`.
pub fn models() -> Vec<&'static Model> {
    ROWS.iter().map(|r| r.model).collect()
}

/// An instant, a list of such, or a table.
pub fn instants(r: &mut Reader, node: &Node, path: &str, stop: bool) -> Option<Instants> {
    let filled = if matches!(node.tree, Tree::Table(_)) {
        r.model(node, path, "instants")?
    } else {
        r.fill_short(node, path, &AT, "times")?
    };
    let row = ROWS.iter().find(|row| row.model.name == filled.settings.model.name)?;
    match (row.read)(&filled.settings, stop) {
        Ok(instants) => Some(instants),
        Err((key, problem, value, remedy)) => {
            let path = if key.is_empty() {
                path.to_string()
            } else {
                filled.key(key)
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
pub fn in_order(r: &mut Reader, node: &Node, filled: &Filled, count: u64, (start, stop): (&Instants, &Instants)) {
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
    let flows = (count as usize).min(start.len().max(stop.len()));
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
