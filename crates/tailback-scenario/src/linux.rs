//! The form of a discipline in Linux, and the law of its parameters, as data for programs.

use serde_json::{Value as Json, json};
use tailback_queue::entry::{Facts, Law};
use tailback_queue::linux::{Linux, Unsaid, Value, Word};
use tailback_queue::registry::{facts, nearest_in_linux};

/// The fields of a queue's description in addition to its parameters.
pub fn of_queue(name: &str) -> [(&'static str, Json); 4] {
    let facts = facts(name).unwrap_or(&Facts::ONE_QUEUE);
    [
        ("linux", facts.linux.map_or(Json::Null, described)),
        ("nearest_in_linux", json!(nearest_in_linux(name))),
        ("law", facts.law.map_or(Json::Null, law)),
        ("shapes", json!(facts.shapes)),
    ]
}

/// The law, and the parameter that it is about.
fn law(law: Law) -> Json {
    match law {
        Law::Sojourn => json!({ "name": "sojourn", "parameter": null }),
        Law::RoundTrip(parameter) => json!({ "name": "round-trip", "parameter": parameter }),
        Law::Delay(parameter) => json!({ "name": "delay", "parameter": parameter }),
        Law::Average => json!({ "name": "average", "parameter": null }),
    }
}

pub fn described(linux: &Linux) -> Json {
    let presets = linux.presets.iter().map(|p| {
        let values = p.values.iter().filter(|(_, value)| !value.is_empty());
        json!({ "word": p.word, "values": values.collect::<Vec<_>>(), "adds": p.adds })
    });
    let built_in = linux
        .built_in
        .iter()
        .map(|b| json!({ "parameter": b.parameter, "value": b.value, "differs": b.differs }));
    json!({
        "kind": linux.kind,
        "in_bytes": linux.in_bytes,
        "always": linux.always,
        "options": linux.options.iter().map(word).collect::<Vec<_>>(),
        "presets": presets.collect::<Vec<_>>(),
        "built_in": built_in.collect::<Vec<_>>(),
        "since": linux.since,
        "differs": linux.differs,
        "note": linux.note,
    })
}

fn word(w: &Word) -> Json {
    let (unsaid, default) = match w.unsaid {
        Unsaid::Is(value) => ("is", value),
        Unsaid::Device => ("device", ""),
        Unsaid::Needed => ("needed", ""),
        Unsaid::Told => ("told", ""),
    };
    let unit = match w.value {
        Value::Packets => "packets",
        Value::Size => "size",
        Value::Bytes => "bytes",
        Value::BytesOfPackets => "bytes-of-packets",
        Value::Time => "time",
        Value::Seconds => "seconds",
        Value::Rate => "rate",
        Value::Whole => "whole",
        Value::PowerOfTwo => "power-of-two",
        Value::Number => "number",
        Value::Times(_) => "times",
        Value::Percent => "percent",
        Value::Burst => "burst",
        Value::RoundTrip => "round-trip",
        Value::Flag(..) => "flag",
        Value::Choice(_) => "choice",
    };
    let words = match w.value {
        Value::Flag(yes, no) => json!([["true", yes], ["false", no]]),
        Value::Choice(words) => json!(words),
        _ => json!([]),
    };
    let times = match w.value {
        Value::Times(n) => n,
        _ => 1,
    };
    json!({
        "word": w.word,
        "parameter": w.parameter,
        "also": w.also,
        "value": unit,
        "words": words,
        "times": times,
        "unsaid": unsaid,
        "default": default,
        "only_with": w.only_with,
        "most": w.most,
    })
}
