//! Makes an edge conditioner from the settings of a scenario.

use super::adaptive::{Adaptive, affordable};
use super::counts::{Counts, PROBE_DEFS};
use super::excess::{Excess, Loss, Precedences, Relation, TargetRule, Weighing};
use super::exchange::Exchange;
use super::feedback::{self, Feedback};
use super::flow_table::TableBounds;
use super::models::*;
use super::pipeline::{Edge, Marker, Shapers, Telling};
use super::round_trips::{RoundTrips, Source};
use super::shaper::ShaperLaw;
use super::small_window::SmallWindow;
use super::spacing::Spacing;
use super::syn::Syn;
use crate::conditioner::Conditioner;
use crate::entry::{BuildContext, Entry, Facts, Stands};
use crate::meter::meters::Scope;
use crate::meter::params::{CLASS, WINDOW};
use crate::meter::token_bucket::TOKEN_RATE;
use std::collections::BTreeMap;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, KeyField, Packet, ProbeDef, Settings, Stream, Time};

pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &EDGE,
        build: build::<P>,
        facts: Facts {
            stands: Stands::Anywhere,
        },
    }
}

/// The settings of the stages in the list.
struct Stages<'s>(Vec<&'s Settings>);

impl<'s> Stages<'s> {
    fn of(s: &'s Settings) -> Result<Stages<'s>, Refusal> {
        let list: Vec<&Settings> = s.nested_list(STAGE_LIST.name).collect();
        for (i, stage) in list.iter().enumerate() {
            if list[..i].iter().any(|before| std::ptr::eq(before.model, stage.model)) {
                let e = Refusal::new(
                    format!("the stage {} is listed twice", stage.model.name),
                    "list it once",
                );
                return Err(e.within(STAGE_LIST.name));
            }
        }
        Ok(Stages(list))
    }

    fn get(&self, model: &'static tailback_base::Model) -> Option<&'s Settings> {
        self.0.iter().find(|s| std::ptr::eq(s.model, model)).copied()
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    // A profile may name the stages, so it is applied first.
    let s = &s.with_profile(&[])?.with_models(&catalogue(context.meters))?;
    let listed = Stages::of(s)?;
    let memory = TableBounds {
        timeout: s.get(&FLOW_TIMEOUT),
        limit: s.get(&MOST_FLOWS) as usize,
    };
    // The marker uses the random stream of the edge itself, so that stages do not change its random numbers.
    let seed = context.stream.clone().bits();
    let stream = |of: &str| Stream::new(seed, of);
    let (own_edge, edges) = (context.edge, context.edge_count);
    let line_rate = context.rate;
    let (marker, telling) = marker(s, context)?;
    let mut probes: Vec<ProbeDef> = PROBE_DEFS.to_vec();
    if let Marker::Meters(m) = &marker {
        probes.extend_from_slice(m.probes());
    }
    Ok(Box::new(Edge::<P> {
        marker,
        telling,
        class: s.get(&CLASS) as u8,
        others: s.get(&OTHERS),
        acks: s.get(&ACKS),
        syn: listed.get(&SYN).map(|s| Syn::new(s.get(&FIRST), memory)),
        small_window: listed
            .get(&SMALL_WINDOW)
            .map(|s| SmallWindow::new(s.get(&BELOW), s.get(&ESTIMATE), memory)),
        cwr: listed.get(&CWR).is_some(),
        spacing: listed
            .get(&SPACING)
            .map(|s| Spacing::new(s.get(&GAP), s.get(&MAX_DEBT), s.get(&CAP), memory)),
        feedback: listed.get(&FEEDBACK).map(|s| {
            let entry = match s.get(&FEEDBACK_DROP) {
                true => feedback::Entry::Drops,
                false => feedback::Entry::Learns,
            };
            Feedback::new(s.get(&FEEDBACK_INTERVAL), entry, stream("feedback"))
        }),
        policed: listed.get(&POLICER).map(|s| s.get(&POLICED).colour()),
        told: listed.get(&TELL_SENDER).map(|s| s.get(&TOLD).colour()),
        shapers: match listed.get(&SHAPER) {
            Some(own_edge) => Some(shapers(own_edge, s, line_rate)?),
            None => None,
        },
        adaptive: match listed.get(&ADAPTIVE) {
            Some(s) => Some(Adaptive::new(threshold(s)?, memory, stream("adaptive"))),
            None => None,
        },
        exchange: Exchange::new(
            own_edge,
            edges,
            s.get(&EXCHANGE_DELAY),
            s.get(&EXCHANGE_LOSS),
            stream("exchange"),
        ),
        counts: Counts::default(),
        probes,
        flows_seen: 0,
    }))
}

fn marker(s: &Settings, context: BuildContext<'_>) -> Result<(Marker, Option<Telling>), Refusal> {
    let own = s.nested(MARKER.name).filter(|m| m.model.family == MARKERS);
    let Some(m) = own else {
        return Ok((
            Marker::Meters(context.meters.nested(s, MARKER.name, context.stream)?),
            None,
        ));
    };
    if let Some(missing) = m.missing() {
        let e = Refusal::new(
            format!("{} needs {}", m.model.name, missing.name),
            format!("give {}", missing.kind.allowed()),
        );
        return Err(e.within(MARKER.name));
    }
    let by_round_trip = std::ptr::eq(m.model, &RTT_AWARE);
    debug_assert!(by_round_trip || std::ptr::eq(m.model, &TARGET_AWARE));
    let relation = || match (m.get(&RELATION), m.get(&LOSS)) {
        (RelationForm::Square, _) => Relation::Square,
        (RelationForm::Timeouts, LossFrom::Given) => Relation::Timeouts(Loss::Given(m.get(&REFERENCE_LOSS))),
        (RelationForm::Timeouts, LossFrom::Feedback) => Relation::Timeouts(Loss::Feedback),
    };
    let listens = || {
        s.nested_list(STAGE_LIST.name)
            .any(|stage| std::ptr::eq(stage.model, &FEEDBACK))
    };
    if by_round_trip && m.get(&LOSS) == LossFrom::Feedback && !listens() {
        let e = Refusal::new(
            "the marker needs the loss from feedback, and this edge has no feedback stage",
            "add { kind = \"feedback\", drop = false } to the stages, here and at the exits",
        );
        return Err(e.within(MARKER.name));
    }
    let weighing = Weighing {
        round_trip: by_round_trip.then(relation),
        target: match by_round_trip {
            true => m.get(&BY_TARGET).then_some(TargetRule::Square),
            false => Some(m.get(&TARGET_RULE)),
        },
    };
    let scope = match by_round_trip {
        true => Scope::Each(KeyField::Aggregate),
        false => m.get(&TARGET_OF),
    };
    let source = match by_round_trip {
        true => m.get(&ROUND_TRIPS),
        false => Source::Oracle,
    };
    let interval = m.get(&INTERVAL);
    let precedences = match m.get(&PRECEDENCES) {
        3 => Precedences::Three,
        n => {
            debug_assert_eq!(n, 2);
            Precedences::Two
        }
    };
    let excess = Excess::new(
        (m.get(&TARGET), m.get(&WINDOW)),
        scope,
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

/// The rate that the marker allows its aggregate: its committed rate, target or rate.
fn rate_of_marker(s: &Settings) -> Option<BitRate> {
    let m = s.nested(MARKER.name)?;
    m.find_key(&COMMITTED_RATE)
        .or_else(|| m.find_key(&TARGET).map(Some))
        .or_else(|| m.find_key(&TOKEN_RATE).map(Some))?
}

fn shapers<P>(own: &Settings, s: &Settings, line: BitRate) -> Result<Shapers<P>, Refusal> {
    let refuse = |problem: String, remedy: &str| Err(Refusal::new(problem, remedy.to_string()).within(STAGE_LIST.name));
    let Some(committed) = own.get(&COMMITTED_RATE).or_else(|| rate_of_marker(s)) else {
        return refuse("the shaper has no committed rate".into(), "give it committed_rate");
    };
    let highest = own.get(&HIGHEST_RATE).unwrap_or(line).max(committed);
    let (low, high) = (own.get(&LOW), own.get(&HIGH));
    if low >= high {
        return refuse(
            format!("the shaper's low {low} is not below its high {high}"),
            "give a higher `high`",
        );
    }
    Ok(Shapers {
        law: ShaperLaw {
            committed: committed.bits_per_second() / 8.0,
            highest: highest.bits_per_second() / 8.0,
            low: low as f64,
            high: high as f64,
            most: own.get(&MOST) as usize,
            memory: own.get(&SHAPER_MEMORY),
        },
        position: own.get(&POSITION),
        by_aggregate: BTreeMap::new(),
    })
}

fn threshold(s: &Settings) -> Result<u64, Refusal> {
    let (memory, lookups) = (s.get(&FLOW_MEMORY), s.get(&LOOKUPS));
    if memory.is_none() && lookups.is_none() {
        return Ok(s.get(&THRESHOLD));
    }
    let refuse = |problem: &str, remedy: &str| Err(Refusal::new(problem, remedy).within(STAGE_LIST.name));
    if s.gives(&THRESHOLD) {
        return refuse(
            "threshold is given together with memory or lookups, from which it is computed",
            "leave threshold out, or memory and lookups",
        );
    }
    let (memory, lookups) = (memory.unwrap_or(u64::MAX), lookups.unwrap_or(f64::INFINITY));
    match affordable(memory, lookups, s.get(&FLOW_RATE)) {
        0 => refuse(
            "memory and lookups are too small for a single flow",
            "give larger values",
        ),
        n => Ok(n),
    }
}
