//! Plays the dialogues of `tests/dialogues`: a test for each file. The language is that of
//! `tailback_transport::dialogues::steps`.
//!
//! A file has `tcp`, what all its lines have, and lines: `id`, `says` (what has to hold, and its source), `tcp`, and
//! the `dialogue`. A line is played once for each row of `with` and each combination of `each`. A name in capitals
//! stands for its value where the dialogue has `$NAME`; any other is a parameter of `tcp`.
//!
//! The lines of `tailback conform` are such files, too. They begin behind a handshake, and name their controls.

use crate::common::settings;
use crate::rows::{Pairs, get, label, pairs, rows, text_of};
use std::path::Path;
use std::sync::Arc;
use tailback_base::Settings;
use tailback_base::model::Value;
use tailback_transport::Endpoint;
use tailback_transport::dialogues::steps::{Driven, Net, play, read};
use tailback_transport::tcp::congestion::list::CONTROLLERS;
use tailback_transport::tcp::{Config, connection, new_pair};
use toml::de::DeTable;

files! { "dialogues": connection linux linux_recovery ns2_full offload prr rack recovery rfc_details two_way undo }

/// A step that does not hold is said with file, line, time, what was expected, and what happened instead.
#[test]
fn what_does_not_hold_is_said() {
    let text = r#"[[line]]
id = "x"
tcp = { syn = false }
with = [{ N = 3 }]
dialogue = """
write 4
10ms > $N
"""
"#;
    assert_eq!(
        played("f.toml", text).1,
        ["f.toml:7: x, N = 3: at 10 ms expected `> 3`; it sent 1-4 at 0 ms"]
    );
    let wrong = played("f.toml", &text.replace("10ms >", "10ms jump")).1;
    assert!(
        wrong[0].starts_with("f.toml:7: x, N = 3: `jump`: there is no such step"),
        "{wrong:?}"
    );
}

/// Each under the first control that it is for.
#[test]
fn lines_of_conform() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tailback/apps/conformance/lines");
    let (mut count, mut broken) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let found = played(&file.to_string_lossy(), &std::fs::read_to_string(&file).unwrap());
        count += found.0;
        broken.extend(found.1);
    }
    assert!(
        count > 80 && broken.is_empty(),
        "{} of {count} broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

/// How many dialogues a file has, and what does not hold.
fn played(file: &str, source: &str) -> (usize, Vec<String>) {
    let table = DeTable::parse(source).unwrap_or_else(|e| panic!("{file}: {e}"));
    let table = table.get_ref();
    let (mut count, mut broken) = (0, Vec::new());
    let lines = get(table, "line").and_then(|l| l.get_ref().as_array());
    for line in lines.into_iter().flatten() {
        let line = line.get_ref().as_table().expect("a line is a table");
        let id = text_of(get(line, "id").expect("a line has an id"));
        let dialogue = get(line, "dialogue").unwrap_or_else(|| panic!("{id} has no dialogue"));
        let begins = source[..dialogue.span().start].matches('\n').count() + 2;
        let mut base = [get(table, "tcp"), get(line, "tcp")].map(pairs).concat();
        let mut text = text_of(dialogue);
        if let Some(controls) = get(line, "to").and_then(|t| t.get_ref().as_array()) {
            let first = text_of(&controls[0]);
            let control = if first == "any" { "reno".to_string() } else { first };
            base.splice(0..0, [("ecn".into(), "off".into()), ("congestion".into(), control)]);
            let lost = get(line, "lost_syns").map_or_else(|| "0".into(), text_of);
            text.insert_str(0, &format!("open 100ms lost {lost}; "));
        }
        for row in rows(get(line, "with"), get(line, "each")) {
            count += 1;
            let label = label(&row);
            let (words, parameters): (Pairs, Pairs) = row
                .into_iter()
                .partition(|(n, _)| n.chars().all(|c| c.is_ascii_uppercase()));
            let steps = words
                .iter()
                .fold(text.clone(), |text, (n, v)| text.replace(&format!("${n}"), v));
            let values = [base.clone(), parameters].concat();
            if let Err((at, what)) = one(&steps, &values) {
                broken.push(format!("{file}:{}: {id}{label}: {what}", begins + at as usize - 1));
            }
        }
    }
    (count, broken)
}

fn one(text: &str, values: &Pairs) -> Result<(), (u32, String)> {
    let steps = read(text).map_err(|f| (f.line, format!("`{}`: {}", f.word, f.what)))?;
    let values: Vec<(&str, &str)> = values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let two_way = values.contains(&("connection", "two-way"));
    // The parameters of a control's own, `congestion.alpha`.
    let (own, plain): (Vec<_>, Vec<_>) = values.iter().copied().partition(|(n, _)| n.starts_with("congestion."));
    let mut settings = settings(&plain);
    if let Some((_, name)) = own.iter().find(|(n, _)| *n == "congestion.kind") {
        let control = CONTROLLERS.iter().find(|c| c.model.name == *name).expect("a control");
        let parameters = own
            .iter()
            .filter_map(|(n, v)| n.strip_prefix("congestion.").zip(Some(v)));
        let parameters = parameters.filter(|(n, _)| *n != "kind");
        let model = parameters.fold(Settings::defaults(control.model), |s, (n, v)| s.with(n, v));
        settings.set_models("congestion", Value::Model(Box::new(model)));
    }
    let cfg = Config::resolve(&settings, &[]).map_err(|e| (1, format!("{values:?}: {}", e.problem)))?;
    let cfg = Arc::new(cfg);
    let driven = |end: Box<dyn Endpoint>| Box::new(Driven::new(end));
    let mut net = if two_way {
        let (a, b) = connection::new_pair(&cfg);
        Net::new(driven(Box::new(a)), driven(Box::new(b)))
    } else {
        let (a, b) = new_pair(&cfg);
        Net::new(driven(Box::new(a)), driven(Box::new(b)))
    };
    play(&steps, &mut net).map_err(|b| {
        let at = b.at.0 as f64 / 1e6;
        (b.line, format!("at {at} ms expected `{}`; {}", b.step, b.got))
    })
}
