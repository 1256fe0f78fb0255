//! The scenarios in `python/tailback/examples`: each can be read and runs. What its opening comment says is so is in
//! `tests/cases/examples.toml`.

use crate::common::*;
use tailback_scenario::load_file;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tailback/examples");

#[test]
fn every_example_opens_with_what_to_look_for_and_runs() {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .expect("the examples")
        .map(|f| f.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter_map(|f| f.strip_suffix(".toml").map(str::to_string))
        .collect();
    names.sort();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        let text = std::fs::read_to_string(format!("{FOLDER}/{name}.toml")).expect("text");
        assert!(text.starts_with("# ") && text.contains("# What to look for:"), "{name}");
        // A change behind the end of a run is warned of.
        let short: &[&str] = if name == "changes" {
            &[]
        } else {
            &["duration=2s", "warmup=500ms"]
        };
        let short: Vec<String> = short.iter().map(|a| a.to_string()).collect();
        let loaded = load_file(format!("{FOLDER}/{name}.toml"), &short).unwrap_or_else(|e| panic!("{e}"));
        assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
        let o = run(&loaded.spec, loaded.spec.seed, &Hooks::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(number(&o["links"], "delivered_packets", 0) > 0.0, "{name}");
    }
}
