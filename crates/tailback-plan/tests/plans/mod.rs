//! What the tests that run plans share: scenarios run on all cores, columns out of tables, and Student's t.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use tailback_plan::execute::Results;
use tailback_plan::{Combination, Execution, Plan};
use tailback_sim::results::{Data, Table};

/// A path in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// One point of a plan: a name and what it changes in the base scenario.
pub fn point(name: &str, overrides: &[String]) -> Combination {
    Combination {
        labels: vec![("point".into(), name.into())],
        overrides: overrides.to_vec(),
    }
}

/// The points, each with this many seeds from 1 on.
pub fn plan(base: &str, points: &[Combination], seeds: u64) -> Plan {
    Plan::of_combinations(base, "test.toml", points, seeds, "test").unwrap_or_else(|e| panic!("{e}"))
}

/// Run a plan on all cores, in memory.
pub fn execute(plan: &Plan) -> Results {
    let mut progress = |_: &_| true;
    let results = plan.execute(Execution::new(&mut progress));
    if let Some((run, why)) = &results.failure {
        panic!("run {run:?} failed: {why}");
    }
    results
}

pub fn table(r: &Results, name: &str) -> Table {
    r.table(name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub fn texts(t: &Table, column: &str) -> Vec<String> {
    match t.column(column).map(|c| &c.data) {
        Some(Data::Text(v)) => v.iter().map(ToString::to_string).collect(),
        _ => panic!("no column of text {column}"),
    }
}

/// The values of `column` in the rows where each of `given` holds.
pub fn values(t: &Table, column: &str, given: &[(&str, &str)]) -> Vec<f64> {
    let all = t.reals(column).unwrap_or_else(|| panic!("no column {column}"));
    let fits = |i: usize| {
        given.iter().all(|(c, v)| match t.column(c).map(|c| &c.data) {
            Some(Data::Text(x)) => *x[i] == **v,
            _ => panic!("no column of text {c}"),
        })
    };
    (0..all.len()).filter(|i| fits(*i)).map(|i| all[i]).collect()
}

/// Mean, standard deviation and standard error of replications.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub mean: f64,
    pub sd: f64,
    pub se: f64,
    /// Half-width of the 95 % interval, Student t.
    pub half: f64,
}

pub fn sample(x: &[f64]) -> Sample {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let sd = (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let se = sd / n.sqrt();
    Sample {
        mean,
        sd,
        se,
        half: t95(x.len()) * se,
    }
}

/// The two-sided 95 % point of Student's t for a sample of this size.
pub fn t95(size: usize) -> f64 {
    match size {
        10 => 2.262,
        20 => 2.093,
        _ => panic!("no t for a sample of {size}"),
    }
}

/// A folder of this test process that is removed when the value is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, n) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(format!("tailback-plan-{process}-{n}-{name}"));
        let _ = std::fs::remove_dir_all(&dir);
        Folder(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every file under a folder, by its path in the folder. The manifest is left out, because it holds times.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|n| n != "manifest.json") {
                let bytes = std::fs::read(&path).expect("the file can be read");
                all.insert(path.strip_prefix(dir).expect("it is inside").to_path_buf(), bytes);
            }
        }
    }
    all
}

pub fn assert_same(a: &Path, b: &Path, what: &str) {
    let (a, b) = (files(a), files(b));
    assert_eq!(
        a.keys().collect::<Vec<_>>(),
        b.keys().collect::<Vec<_>>(),
        "{what}: files"
    );
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{what}: {} differs", name.display());
    }
}
