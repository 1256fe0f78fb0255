//! Digests of results, recorded once: every example, and one point of each set of runs of both studies, cut short.
//!
//! A change of the code that is not meant to change a number leaves them alone. Where one is meant to,
//! `TAILBACK_DIGESTS=write cargo test --release -p tailback-scenario --test digests` records them anew, and the commit
//! names what changed, with old and new numbers. New columns and tables are no change.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailback_scenario::{Loaded, load_file, load_json};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::table::{Data, Table};
use tailback_sim::run::run;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tailback/examples");
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests/recorded.txt");

fn scenarios() -> Vec<(String, Loaded)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(EXAMPLES).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "toml") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            all.push((name, load_file(&path, &[]).unwrap_or_else(|e| panic!("{e}"))));
        }
    }
    for line in include_str!("studies.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let name = row["name"].as_str().expect("a name").to_string();
        let loaded = load_json(&row["scenario"].to_string(), &name, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        all.push((name, loaded));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// FNV-1a over the bytes, folded to 32 bits.
fn fold(bytes: impl Iterator<Item = u8>) -> u32 {
    let h = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (h ^ (h >> 32)) as u32
}

fn digest(data: &Data) -> u32 {
    match data {
        Data::Count(v) => fold(v.iter().flat_map(|x| x.to_le_bytes())),
        // Every NaN is "no value".
        Data::Real(v) => fold(
            v.iter()
                .flat_map(|x| if x.is_nan() { [0xff; 8] } else { x.to_le_bytes() }),
        ),
        Data::Text(v) => fold(v.iter().flat_map(|t| t.bytes().chain([0]))),
    }
}

/// Column and digest, by `scenario table`.
fn digests(name: &str, tables: &[Table]) -> Vec<(String, BTreeMap<String, String>)> {
    let filled = tables.iter().filter(|t| t.rows() > 0);
    filled
        .map(|t| {
            let columns = t
                .columns
                .iter()
                .map(|c| (c.name.to_string(), format!("{:08x}", digest(&c.data))));
            (format!("{name} {}", t.name), columns.collect())
        })
        .collect()
}

fn now() -> BTreeMap<String, BTreeMap<String, String>> {
    let scenarios = scenarios();
    let (next, all) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, l)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let o = run(&l.spec, l.spec.seed, &Hooks::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
                    all.lock().expect("no panic").extend(digests(name, &o.tables));
                }
            });
        }
    });
    all.into_inner().expect("no panic")
}

#[test]
fn results_are_as_recorded() {
    let now = now();
    if std::env::var("TAILBACK_DIGESTS").is_ok_and(|v| v == "write") {
        let mut text = String::new();
        for (table, columns) in &now {
            let columns: Vec<String> = columns.iter().map(|(c, d)| format!("{c}={d}")).collect();
            writeln!(text, "{table} {}", columns.join(" ")).expect("memory");
        }
        std::fs::write(RECORDED, text).expect("written");
        return;
    }
    let mut changed = Vec::new();
    for line in std::fs::read_to_string(RECORDED).expect("recorded.txt").lines() {
        let mut words = line.split(' ');
        let table = format!("{} {}", words.next().unwrap_or(""), words.next().unwrap_or(""));
        let columns = now.get(&table);
        let is = |c: &str, d: &str| columns.and_then(|all| all.get(c)).is_some_and(|x| x == d);
        let wrong: Vec<&str> = words
            .filter(|w| !w.split_once('=').is_some_and(|(c, d)| is(c, d)))
            .collect();
        if !wrong.is_empty() {
            changed.push(format!("{table}: {}", wrong.join(" ")));
        }
    }
    assert!(
        changed.is_empty(),
        "{} tables changed:\n{}",
        changed.len(),
        changed.join("\n")
    );
}
