//! The times at which flows start and stop: an instant, a list taken in turn, or a table with a distribution. Declares
//! the models of the family `instants`, with a row for each.

use crate::declare::kinds::{SOME_TIME, TIME};
use tailback_base::model::{Key, Kind, Model, Per, Settings};
use tailback_base::{Duration, Time, choice, params};

choice! {
    enum FlowOrder {
        Index = "index",
        Random = "random",
    }
}

params! {
    pub TIMES: Vec<Duration> = Key::new("times", Kind::Each(Per::Flow, &TIME), "",
        "The instants, since the start of the run.", "");
    FROM: Duration = Key::new("from", TIME, "0s", "The earliest instant.", "");
    TO: Duration = Key::new("to", TIME, "", "The end of the range of instants; the end itself is excluded.", "");
    FIRST_GAP: Duration = FROM.with_doc("The instant at which the first gap begins.");
    MEAN_GAP: Duration = Key::new("mean_gap", SOME_TIME, "", "The mean gap.", "");
    ORDER: FlowOrder = Key::choice("order", "index",
        "Which flow takes which instant: one after the other, or drawn.", "");
    DELAY: Vec<Duration> = Key::new("delay", Kind::Each(Per::Flow, &SOME_TIME), "",
        "The time after the flow's own start.",
        "");
    SHORTEST: Duration = FROM.with_doc("The shortest time.");
    LONGEST: Duration = Key::new(TO.param.name, SOME_TIME, "",
        "The end of the range of times; the end itself is excluded.",
        "");
}

/// One instant for each flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Instants {
    /// Flow i takes entry i modulo the length.
    Listed(Vec<Time>),
    /// Each flow draws its own, uniform in [from, to).
    Uniform { from: Time, to: Time },
    /// Flow i follows flow i-1 after an exponential gap: a Poisson process of starts. If `shuffled`, it is also drawn
    /// which flow takes which instant.
    Poisson {
        from: Time,
        mean_gap: Duration,
        shuffled: bool,
    },
    /// The offset from the flow's own start.
    After(Vec<Duration>),
    /// A time after the flow's own start, which each flow draws uniformly from [from, to).
    AfterUniform { from: Duration, to: Duration },
}

pub static AT: Model = Model {
    name: "at",
    family: "instants",
    title: "Given instants",
    summary: "The flows take these instants in turn. Short form: only the instant or the list.",
    source: "",
    params: &[TIMES.param],
    probes: &[],
};

pub static UNIFORM: Model = Model {
    name: "uniform",
    family: "instants",
    title: "Uniform instants",
    summary: "Each flow draws its instant uniformly from a range.",
    source: "",
    params: &[FROM.param, TO.param],
    probes: &[],
};

pub static POISSON: Model = Model {
    name: "poisson",
    family: "instants",
    title: "Poisson instants",
    summary: "The instant of each flow comes an exponentially distributed gap after the instant of the flow before it.",
    source: "",
    params: &[FIRST_GAP.param, MEAN_GAP.param, ORDER.param],
    probes: &[],
};

pub static AFTER: Model = Model {
    name: "after",
    family: "instants",
    title: "A time after the start",
    summary: "The instant comes `delay` after the flow's own start. Only `stop` can be given in this way.",
    source: "",
    params: &[DELAY.param],
    probes: &[],
};

pub static AFTER_UNIFORM: Model = Model {
    name: "after-uniform",
    family: "instants",
    title: "A drawn time after the start",
    summary: "The instant comes a time after the flow's own start. This time is drawn uniformly from a range. Only \
              `stop` can be given in this way.",
    source: "",
    params: &[SHORTEST.param, LONGEST.param],
    probes: &[],
};

/// An error in a table of instants: problem, key, value, remedy.
pub type Wrong = (&'static str, String, String, &'static str);

/// A way to give instants, and how its table is read; `stop` distinguishes stops from starts.
struct InstantRow {
    model: &'static Model,
    read: fn(&Settings, bool) -> Result<Instants, Wrong>,
}

/// Every way to give instants, in the order in which the reference shows them.
static ROWS: [InstantRow; 5] = [
    InstantRow {
        model: &AT,
        read: |s, _| {
            let times = s.get(&TIMES).into_iter();
            Ok(Instants::Listed(times.map(|d| Time(d.0)).collect()))
        },
    },
    InstantRow {
        model: &UNIFORM,
        read: |s, _| {
            let (from, to) = span(s)?;
            Ok(Instants::Uniform {
                from: Time(from.0),
                to: Time(to.0),
            })
        },
    },
    InstantRow {
        model: &POISSON,
        read: |s, _| {
            Ok(Instants::Poisson {
                from: Time(s.get(&FIRST_GAP).0),
                mean_gap: s.get(&MEAN_GAP),
                shuffled: s.get(&ORDER) == FlowOrder::Random,
            })
        },
    },
    InstantRow {
        model: &AFTER,
        read: |s, stop| {
            stop_only(s, stop)?;
            Ok(Instants::After(s.get(&DELAY)))
        },
    },
    InstantRow {
        model: &AFTER_UNIFORM,
        read: |s, stop| {
            stop_only(s, stop)?;
            let (from, to) = span(s)?;
            Ok(Instants::AfterUniform { from, to })
        },
    },
];

fn span(s: &Settings) -> Result<(Duration, Duration), Wrong> {
    let (from, to) = (s.get(&FROM), s.get(&TO));
    if from >= to {
        let problem = format!("the range from {from} to {to} is empty");
        return Err((
            TO.name,
            problem,
            to.to_string(),
            "give a `to` that is later than `from`",
        ));
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

/// The instants of a checked table; `stop` distinguishes stops from starts. `None` for a model of another family.
pub fn read(s: &Settings, stop: bool) -> Option<Result<Instants, Wrong>> {
    let row = ROWS.iter().find(|row| row.model.name == s.model.name)?;
    Some((row.read)(s, stop))
}
