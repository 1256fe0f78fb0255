//! Queue disciplines: their memory in addition to packets, from the parameters that give a number of things.

use super::lines::{Line, Lines};
use super::{BLOCK, Parts, of};
use tailback_base::{Settings, Value};
use tailback_queue::shaped::holders;
use tailback_sim::library::Library;
use tailback_sim::spec::Spec;
use tailback_sim::wire::port::{ColourLosses, Port};

/// A discipline: its parameters, averages, random stream.
const DISCIPLINE: f64 = 4000.0;
/// One queue of several: list, bytes, its entries in scheduler and drop policy.
const QUEUE: f64 = 100.0;
/// One queue with its own AQM.
const QUEUE_WITH_AQM: f64 = 200.0;
/// Sojourn times: 23 octaves of 32 bins of 4 B, from 128 ns to a second.
const TIMES: f64 = 23.0 * 128.0;
/// Parameters that are a count of something to which a discipline gives a fixed number of bytes, with that number. If
/// two are named together, their product counts.
const TABLES: &[(&[&str], f64)] = &[
    (&["bins", "levels"], 160.0),
    (&["list"], 16.0),
    (&["flows"], 16.0),
    // Each takes a bit, in whole words; the row of the groups includes the rest of a word.
    (&["groups", "filter_bits"], 0.125),
    (&["groups"], 40.0),
    (&["history"], 200.0),
    (&["lists", "appearances"], 64.0),
];

/// Add the disciplines and ports of the declared links.
pub fn add(parts: &mut Parts, spec: &Spec, library: &Library, lines: &Lines) {
    let flows: f64 = lines.flows.iter().map(|u| u.brings.flows).sum();
    for l in &lines.all {
        let (row_bytes, kept_bytes) = super::tables::rows("delays", (TIMES / 4.0).min(l.data + l.acks));
        let mut bytes = of::<Port>() + 2.0 * TIMES + 4.0 * of::<ColourLosses>() + row_bytes;
        for s in l.spec.queue.models() {
            bytes += DISCIPLINE + tables(s, l.data + l.acks);
        }
        for (i, queue) in holders(&l.spec.queue).into_iter().enumerate() {
            bytes += queues(queue, l) * each(queue, library);
            // The first discipline is named in the scenario; each class may have one like it.
            bytes += if i > 0 {
                DISCIPLINE + tables(queue, l.data + l.acks)
            } else {
                0.0
            };
        }
        if l.spec.conditioner.is_some() {
            bytes += DISCIPLINE + 300.0 * l.flows;
        }
        bytes += l.spec.changes.len() as f64 * BLOCK + l.spec.trace.as_ref().map_or(0, |t| t.memory()) as f64;
        parts.add(&format!("link.{}.queue", l.name), bytes, kept_bytes);
    }
    // The memory of a discipline for each flow grows with the flow numbers.
    let ports = spec.links.len() as f64 * 2.0;
    parts.add("run", ports.min(8.0) * 8.0 * flows, 0.0);
}

/// The largest number of queues that a discipline may have, from its own parameters and its flows.
pub fn queues(s: &Settings, l: &Line) -> f64 {
    let declared = s
        .models()
        .iter()
        .filter_map(|m| m.number("queues").or_else(|| m.number("buckets")))
        .fold(0.0, f64::max);
    let row = tailback_queue::registry::facts(s.model.name);
    match (declared > 0.0, row.map(|f| f.queues)) {
        (true, _) => declared,
        (false, Some(tailback_queue::entry::Queues::One)) => 1.0,
        // A queue for each flow, in each direction.
        _ => 2.0 * l.flows + 64.0,
    }
}

/// The memory of one of its queues, in each of its sets.
fn each(s: &Settings, library: &Library) -> f64 {
    let aqms = library.queues.nested().family("aqm");
    let nested = s
        .models()
        .iter()
        .any(|m| aqms.iter().any(|a| std::ptr::eq(*a, m.model)));
    let facts = library
        .queues
        .entries()
        .iter()
        .find(|e| std::ptr::eq(e.model, s.model))
        .map(|e| e.facts);
    let aqm = nested || facts.is_some_and(|f| f.acts_early);
    let bytes = if aqm { QUEUE_WITH_AQM } else { QUEUE };
    bytes * facts.map_or(1.0, |f| f64::from(f.sets))
}

/// The memory of tables whose length is a parameter; a table that packets fill is not longer than their number.
fn tables(s: &Settings, packets: f64) -> f64 {
    let product = |names: &[&str]| names.iter().map(|n| s.number(n).unwrap_or(0.0)).product::<f64>();
    let table_bytes = TABLES.iter().map(|(names, bytes)| {
        let slots = match names {
            ["list"] | ["flows"] => product(names).min(packets),
            _ => product(names),
        };
        slots * bytes
    });
    // A list that is given takes memory for its own length.
    let lists = s.model.params.iter().filter_map(|p| s.find(p.name)).map(|v| match v {
        Value::List(all) => all.len() as f64 * 64.0,
        _ => 0.0,
    });
    table_bytes.sum::<f64>() + lists.sum::<f64>()
}
