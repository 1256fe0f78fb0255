//! What the end-to-end tests share: scenarios that are run from their text, and what the tests of networks share.
#![allow(dead_code, unused_imports)]

#[path = "../../../tailback-sim/tests/common/mod.rs"]
mod networks;

pub use networks::*;

use tailback_scenario::{load_text, load_text_with};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::run::run;
use tailback_sim::spec::Spec;

/// Run a scenario given as text.
pub fn run_text(text: &str) -> Outcome {
    let loaded = load_text(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    run(&loaded.spec, loaded.spec.seed, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Run a scenario that names what only this library has.
pub fn run_with(library: &Library, text: &str) -> Outcome {
    let loaded = load_text_with(library, text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let hooks = Hooks {
        library: Some(library),
        ..Hooks::default()
    };
    run(&loaded.spec, loaded.spec.seed, &hooks).unwrap_or_else(|e| panic!("{e}"))
}

/// Run with all laws checked: by events alone, or with what runs ahead.
pub fn run_with_laws(spec: &Spec, seed: u64, one_by_one: bool) -> Outcome {
    let hooks = Hooks {
        one_by_one,
        laws: true,
        ..Hooks::default()
    };
    run(spec, seed, &hooks).unwrap_or_else(|e| panic!("seed {seed}, one by one {one_by_one}: {e}"))
}

/// All that the tables of a run show, a text for each column.
pub fn shown(o: &Outcome) -> Vec<String> {
    let columns = o.tables.iter().flat_map(|t| t.columns.iter().map(move |c| (t, c)));
    columns
        .map(|(t, c)| format!("{} {} {:?}", t.name, c.name, c.data))
        .collect()
}
