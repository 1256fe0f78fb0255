//! From what a scenario says to an edge conditioner.

use super::adaptive::{Adaptive, affordable};
use super::counts::{Counts, PROBE_DEFS};
use super::excess::{Excess, Loss, Precedences, Relation, Weighing};
use super::exchange::Exchange;
use super::feedback::{self, Feedback};
use super::flow_table::Memory;
use super::models::{
    self, ADAPTIVE, EDGE, FEEDBACK, POLICER, RTT_AWARE, SHAPER, SMALL_WINDOW, SPACING, SYN, TARGET_AWARE,
};
use super::pipeline::{Acks, Edge, Marker, Others, Position, Shapers, Telling};
use super::round_trips::{RoundTrips, Source};
use super::shaper::Law;
use super::small_window::{Estimate, SmallWindow};
use super::spacing::Spacing;
use super::syn::Syn;
use crate::conditioner::Conditioner;
use crate::entry::{BuildContext, Entry, Facts, Stands};
use crate::meter::params::{CLASS, WINDOW};
use std::collections::BTreeMap;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Colour, Packet, ProbeDef, Settings, Stream, Time};

pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &EDGE,
        build: build::<P>,
        facts: Facts {
            stands: Stands::Anywhere,
        },
    }
}

/// What a choice means.
fn choose<T: Copy>(s: &Settings, name: &str, meanings: &[(&str, T)]) -> T {
    let word = s.text(name);
    let found = meanings.iter().find(|m| m.0 == word);
    found
        .unwrap_or_else(|| unreachable!("{}.{name} = {word} has no meaning", s.model.name))
        .1
}

/// The settings of the stages that are listed.
struct Listed<'s>(Vec<&'s Settings>);

impl<'s> Listed<'s> {
    fn of(s: &'s Settings) -> Result<Listed<'s>, Refusal> {
        let list: Vec<&Settings> = s.nested_list("stages").collect();
        for (i, stage) in list.iter().enumerate() {
            if list[..i].iter().any(|before| std::ptr::eq(before.model, stage.model)) {
                let e = Refusal::new(
                    format!("the stage {} is listed twice", stage.model.name),
                    "list it once",
                );
                return Err(e.within("stages"));
            }
        }
        Ok(Listed(list))
    }

    fn get(&self, model: &'static tailback_base::Model) -> Option<&'s Settings> {
        self.0.iter().find(|s| std::ptr::eq(s.model, model)).copied()
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    // A preset names its stages.
    let s = &s.with_profile(&[])?.with_models(&models::catalogue(context.meters))?;
    let listed = Listed::of(s)?;
    let memory = Memory {
        timeout: s.time("flow_timeout"),
        limit: s.count("most_flows") as usize,
    };
    // The marker has the edge's own stream, so that stages move none of its draws.
    let seed = context.stream.clone().bits();
    let stream = |of: &str| Stream::new(seed, of);
    let (own, edges) = (context.edge, context.edge_count);
    let line = context.rate;
    let (marker, telling) = marker(s, context)?;
    let mut probes: Vec<ProbeDef> = PROBE_DEFS.to_vec();
    if let Marker::Meters(m) = &marker {
        probes.extend_from_slice(m.probes());
    }
    Ok(Box::new(Edge::<P> {
        marker,
        telling,
        class: s.count(CLASS.name) as u8,
        others: choose(s, "others", &[("mark", Others::Mark), ("pass", Others::Pass)]),
        acks: choose(s, "acks", &[("green", Acks::Green), ("metered", Acks::Metered)]),
        syn: listed.get(&SYN).map(|s| Syn::new(s.count("first"), memory)),
        small_window: listed.get(&SMALL_WINDOW).map(|s| {
            let estimate = choose(
                s,
                "estimate",
                &[("packet", Estimate::Packet), ("window", Estimate::Window)],
            );
            SmallWindow::new(s.count("below"), estimate, memory)
        }),
        cwr: listed.get(&models::CWR).is_some(),
        spacing: listed
            .get(&SPACING)
            .map(|s| Spacing::new(s.count("gap"), s.count("max_debt"), s.flag("cap"), memory)),
        feedback: listed.get(&FEEDBACK).map(|s| {
            let entry = match s.flag("drop") {
                true => feedback::Entry::Drops,
                false => feedback::Entry::Learns,
            };
            Feedback::new(s.time("interval"), entry, stream("feedback"))
        }),
        policed: listed
            .get(&POLICER)
            .map(|s| choose(s, "drop", &[("red", Colour::Red), ("yellow", Colour::Yellow)])),
        shapers: match listed.get(&SHAPER) {
            Some(own) => Some(shapers(own, s, line)?),
            None => None,
        },
        adaptive: match listed.get(&ADAPTIVE) {
            Some(s) => Some(Adaptive::new(threshold(s)?, memory, stream("adaptive"))),
            None => None,
        },
        exchange: Exchange::new(
            own,
            edges,
            s.time("exchange_delay"),
            s.real("exchange_loss"),
            stream("exchange"),
        ),
        counts: Counts::default(),
        probes,
        flows_seen: 0,
    }))
}

fn marker(s: &Settings, context: BuildContext<'_>) -> Result<(Marker, Option<Telling>), Refusal> {
    let own = s.nested("marker").filter(|m| m.model.family == models::MARKERS);
    let Some(m) = own else {
        return Ok((
            Marker::Meters(context.meters.nested(s, "marker", context.stream)?),
            None,
        ));
    };
    if let Some(missing) = m.missing() {
        let e = Refusal::new(
            format!("{} needs {}", m.model.name, missing.name),
            format!("give {}", missing.kind.allowed()),
        );
        return Err(e.within("marker"));
    }
    let by_round_trip = std::ptr::eq(m.model, &RTT_AWARE);
    debug_assert!(by_round_trip || std::ptr::eq(m.model, &TARGET_AWARE));
    let relation = || {
        let given = Loss::Given(m.real("reference_loss"));
        let timeouts = Relation::Timeouts(choose(m, "loss", &[("given", given), ("feedback", Loss::Feedback)]));
        choose(m, "relation", &[("square", Relation::Square), ("timeouts", timeouts)])
    };
    let listens = || {
        s.nested_list("stages")
            .any(|stage| std::ptr::eq(stage.model, &FEEDBACK))
    };
    if by_round_trip && m.text("loss") == "feedback" && !listens() {
        let e = Refusal::new(
            "the marker's loss is to come from feedback, and the edge hears of none",
            "add { kind = \"feedback\", drop = false } to the stages, here and at the exits",
        );
        return Err(e.within("marker"));
    }
    let weighing = Weighing {
        round_trip: by_round_trip.then(relation),
        target: !by_round_trip || m.flag("by_target"),
    };
    let source = match by_round_trip {
        true => choose(
            m,
            "round_trips",
            &[("oracle", Source::Oracle), ("measured", Source::Measured)],
        ),
        false => Source::Oracle,
    };
    let interval = m.time("interval");
    let precedences = match m.count("precedences") {
        3 => Precedences::Three,
        n => {
            debug_assert_eq!(n, 2);
            Precedences::Two
        }
    };
    let excess = Excess::new(
        m.rate("target"),
        m.time(WINDOW.name),
        precedences,
        weighing,
        RoundTrips::new(source, interval),
        context.stream,
    );
    let telling = Telling {
        interval,
        at: Time::ZERO,
    };
    Ok((Marker::Excess(Box::new(excess)), Some(telling)))
}

/// The rate that the marker gives its aggregate: committed rate, target or rate.
fn rate_of_marker(s: &Settings) -> Option<BitRate> {
    let m = s.nested("marker")?;
    let name = ["committed_rate", "target", "rate"]
        .into_iter()
        .find(|n| m.model.param(n).is_some())?;
    (!m.is_none(name)).then(|| m.rate(name))
}

fn shapers<P>(own: &Settings, s: &Settings, line: BitRate) -> Result<Shapers<P>, Refusal> {
    let refuse = |problem: String, remedy: &str| Err(Refusal::new(problem, remedy.to_string()).within("stages"));
    let given = |name: &str| (!own.is_none(name)).then(|| own.rate(name));
    let Some(committed) = given("committed_rate").or_else(|| rate_of_marker(s)) else {
        return refuse("the shaper has no committed rate".into(), "give it committed_rate");
    };
    let highest = given("highest_rate").unwrap_or(line).max(committed);
    let (low, high) = (own.count("low"), own.count("high"));
    if low >= high {
        return refuse(
            format!("the shaper's low {low} is not below its high {high}"),
            "give a higher `high`",
        );
    }
    Ok(Shapers {
        law: Law {
            committed: committed.bits_per_second() / 8.0,
            highest: highest.bits_per_second() / 8.0,
            low: low as f64,
            high: high as f64,
            most: own.count("most") as usize,
            memory: own.time("memory"),
        },
        position: choose(
            own,
            "position",
            &[
                ("after_marker", Position::AfterMarker),
                ("before_marker", Position::BeforeMarker),
            ],
        ),
        by_aggregate: BTreeMap::new(),
    })
}

fn threshold(s: &Settings) -> Result<u64, Refusal> {
    if s.is_none("memory") && s.is_none("lookups") {
        return Ok(s.count("threshold"));
    }
    let refuse = |problem: &str, remedy: &str| Err(Refusal::new(problem, remedy).within("stages"));
    if s.is_given("threshold") {
        return refuse(
            "threshold stands beside memory or lookups, which set it",
            "leave one of them out",
        );
    }
    let memory = if s.is_none("memory") {
        u64::MAX
    } else {
        s.count("memory")
    };
    let lookups = if s.is_none("lookups") {
        f64::INFINITY
    } else {
        s.real("lookups")
    };
    match affordable(memory, lookups, s.real("flow_rate")) {
        0 => refuse("memory and lookups allow no flow", "give more of them"),
        n => Ok(n),
    }
}
