//! Tests over the examples that come with the program, and the scenario that the lab begins with.

use crate::controls::controls;
use crate::state::{PAGE, ScenarioReader, ScenarioTable, State, explicit, table_in, watched};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tailback_scenario::load_text;

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tailback")
}

/// All files of scenarios under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => paths.extend(files(&path)),
            false if path.extension().is_some_and(|e| e == "toml") => paths.push(path),
            false => {}
        }
    }
    paths.sort();
    paths
}

/// The documents of the files that are scenarios of built-in models.
fn documents() -> Vec<(String, ScenarioTable)> {
    let lab = package().join("apps/lab");
    let all = files(&package().join("examples"))
        .into_iter()
        .chain([lab.join("start.toml")]);
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let loaded = load_text(&text, &path.display().to_string(), &[]).ok()?;
        Some((path.display().to_string(), loaded.document.as_object()?.clone()))
    };
    all.filter_map(read).collect()
}

fn small() -> ScenarioTable {
    let document = json!({
        "duration": "6s",
        "warmup": "1s",
        "link": {"bottleneck": {"from": "a", "to": "b", "rate": "10Mbps", "delay": "10ms", "queue": {"kind": "red"}}},
        "flows": {
            "bulk": {"count": 3, "rtt": "40ms"},
            "steady": {"traffic": {"kind": "cbr", "rate": "2Mbps"}, "rtt": "30ms"},
        },
    });
    document.as_object().unwrap().clone()
}

/// The value that the slider of a control has at a place.
fn value(kind: &str, number: f64) -> Value {
    match kind {
        "time" => json!(format!("{}ns", (number * 1e9).round())),
        "rate" => json!(format!("{number}bps")),
        "bytes" => json!(format!("{}B", number.round())),
        "count" => json!(number.round() as u64),
        _ => json!(number),
    }
}

#[test]
fn both_ends_of_every_slider_are_scenarios() {
    let reader = ScenarioReader::default();
    let mut all = documents();
    assert!(all.len() > 15, "{}", all.len());
    all.push(("small".into(), small()));
    for (name, document) in all {
        let document = explicit(&document, PAGE, &reader).unwrap();
        let beside = json!({"kind": "cake"}).as_object().cloned();
        let state = State { document, beside };
        let documents = state.documents(&reader).unwrap();
        let link = watched(&reader.load(&documents[0], PAGE).unwrap().spec).name.clone();
        let mut places = 0;
        for group in controls(&state, &reader).unwrap() {
            for control in group["controls"].as_array().unwrap() {
                assert_ne!(control["doc"], "", "{name}: {control}");
                if control["range"].is_null() {
                    continue;
                }
                let mut path: Vec<&str> = control["path"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                let is_beside = path[0] == "beside";
                if is_beside {
                    path.splice(..1, ["link", &link, "queue"]);
                }
                let (last, tables) = path.split_last().unwrap();
                for end in ["least", "most"] {
                    let mut changed = documents[usize::from(is_beside)].clone();
                    let table = tables.iter().fold(&mut changed, |table, key| table_in(table, key));
                    let set = value(control["kind"].as_str().unwrap(), control[end].as_f64().unwrap());
                    table.insert((*last).into(), set.clone());
                    if let Err(e) = reader.load(&changed, PAGE) {
                        panic!("{name}: {path:?} = {set}: {e}");
                    }
                    places += 1;
                }
            }
        }
        assert!(places > 8, "{name}: {places}");
    }
}
