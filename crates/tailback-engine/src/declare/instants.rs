//! When flows start and stop: an instant, a list taken in turn, or a table that says how to draw them. The models of
//! the family `instants`, and a row for each.

use crate::declare::kinds::{SOME_TIME, TIME};
use tailback_base::model::{Kind, Model, Param, Per, Settings};
use tailback_base::{Duration, Time};

/// One instant a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Instants {
    /// Flow i takes entry i modulo the length.
    Listed(Vec<Time>),
    /// Each flow draws its own, uniform in [from, to).
    Uniform { from: Time, to: Time },
    /// Flow i follows flow i-1 after an exponential gap: a Poisson process of starts.
    /// Shuffled: which flow takes which instant is drawn as well.
    Poisson {
        from: Time,
        mean_gap: Duration,
        shuffled: bool,
    },
    /// This long after the flow's own start.
    After(Vec<Duration>),
    /// After its own start, by a time that each flow draws uniformly in [from, to).
    AfterUniform { from: Duration, to: Duration },
}

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

pub static AFTER_UNIFORM: Model = Model {
    name: "after-uniform",
    family: "instants",
    title: "A drawn time after the start",
    summary: "After the flow's own start, by a time that it draws uniformly between two; for `stop`.",
    source: "",
    params: &[
        Param::new("from", TIME, "0s", "The shortest time.", ""),
        Param::new("to", SOME_TIME, "", "The longest time, not itself included.", ""),
    ],
    probes: &[],
};

/// What may be wrong with a table of instants: problem, key, value, remedy.
pub type Wrong = (&'static str, String, String, &'static str);

/// A way to say when, and how its table is read; `stop` tells starts and stops apart.
struct Row {
    model: &'static Model,
    read: fn(&Settings, bool) -> Result<Instants, Wrong>,
}

/// Every way, in the order the reference shows them.
static ROWS: [Row; 5] = [
    Row {
        model: &AT,
        read: |s, _| {
            Ok(Instants::Listed(
                s.times("times").into_iter().map(|d| Time(d.0)).collect(),
            ))
        },
    },
    Row {
        model: &UNIFORM,
        read: |s, _| {
            let (from, to) = span(s)?;
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
        read: |s, stop| {
            stop_only(s, stop)?;
            Ok(Instants::After(s.times("delay")))
        },
    },
    Row {
        model: &AFTER_UNIFORM,
        read: |s, stop| {
            stop_only(s, stop)?;
            let (from, to) = span(s)?;
            Ok(Instants::AfterUniform { from, to })
        },
    },
];

fn span(s: &Settings) -> Result<(Duration, Duration), Wrong> {
    let (from, to) = (s.time("from"), s.time("to"));
    if from >= to {
        let problem = format!("from {from} to {to} there is no time");
        return Err(("to", problem, to.to_string(), "give a `to` that is later than `from`"));
    }
    Ok((from, to))
}

fn stop_only(s: &Settings, stop: bool) -> Result<(), Wrong> {
    if stop {
        return Ok(());
    }
    Err((
        "",
        "a start cannot be counted from the flow's own start".into(),
        s.model.name.into(),
        "give an instant such as \"10s\", or kind = \"uniform\" or \"poisson\"",
    ))
}

/// The models of the family `instants`.
pub fn models() -> Vec<&'static Model> {
    ROWS.iter().map(|r| r.model).collect()
}

/// The instants of a checked table; `stop` tells starts and stops apart. `None` for a model of another family.
pub fn read(s: &Settings, stop: bool) -> Option<Result<Instants, Wrong>> {
    let row = ROWS.iter().find(|row| row.model.name == s.model.name)?;
    Some((row.read)(s, stop))
}
