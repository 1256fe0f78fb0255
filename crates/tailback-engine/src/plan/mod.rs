//! Plans: an expanded, ordered list of runs, executed on all cores, stored, and resumable.
//!
//! Replications, `reproduce` and sweeps are all plans. A plan is points (a scenario and what distinguishes it) times
//! replications (seeds). The same seeds serve every point, so that comparisons are paired. Each run has a key, a hash of
//! scenario, seed, version and source; a run whose key is already stored is not run again.
//!
//! Results come in plan order, whatever the number of threads.

pub mod chunks;
pub mod execute;
pub mod keeper;
pub mod key;
#[cfg(feature = "parquet")]
pub mod lock;
#[cfg(feature = "parquet")]
pub mod store;
pub mod tables;

pub use execute::{Execution, Report, RunReport, Status};
pub use key::Key;
#[cfg(feature = "parquet")]
pub use store::Keep;

use crate::scenario::{Loaded, ScenarioError, load_text};
use std::sync::Arc;

/// One scenario of a plan, and the values of what is varied, by name.
#[derive(Clone, Debug)]
pub struct Point {
    pub labels: Vec<(String, String)>,
    /// What it belongs to in a plan of several parts, each of which is stored apart and has labels of its own.
    pub part: String,
    pub loaded: Arc<Loaded>,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub point: usize,
    pub replication: u64,
    pub seed: u64,
    /// Equal for equal results.
    pub key: Key,
}

/// An ordered list of runs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub points: Vec<Point>,
    pub runs: Vec<Run>,
}

/// What is varied: a path in the scenario and its values, as `--set` takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Column in the results.
    pub label: String,
    /// Paths that take the value (usually one).
    pub paths: Vec<String>,
    pub values: Vec<String>,
}

/// One combination: the label and value of each axis, and the overrides it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    pub labels: Vec<(String, String)>,
    pub overrides: Vec<String>,
}

/// Every combination of the axes, the last one fastest.
pub fn product(axes: &[Axis]) -> Vec<Combination> {
    let mut all = vec![Combination {
        labels: vec![],
        overrides: vec![],
    }];
    for a in axes {
        all = all
            .iter()
            .flat_map(|c| a.values.iter().map(move |v| extend(c, a, v)))
            .collect();
    }
    all
}

/// The axes in step: the i-th value of each.
///
/// # Errors
/// Axes of different lengths.
pub fn zip(axes: &[Axis]) -> Result<Vec<Combination>, String> {
    let n = axes.first().map_or(0, |a| a.values.len());
    if let Some(a) = axes.iter().find(|a| a.values.len() != n) {
        return Err(format!(
            "zip needs axes of one length: {} has {} values, {} has {n}",
            a.label,
            a.values.len(),
            axes[0].label
        ));
    }
    let start = Combination {
        labels: vec![],
        overrides: vec![],
    };
    Ok((0..n)
        .map(|i| axes.iter().fold(start.clone(), |c, a| extend(&c, a, &a.values[i])))
        .collect())
}

fn extend(c: &Combination, a: &Axis, value: &str) -> Combination {
    let mut c = c.clone();
    c.labels.push((a.label.clone(), value.to_string()));
    c.overrides.extend(a.paths.iter().map(|p| format!("{p}={value}")));
    c
}

impl Plan {
    /// Points times `replications`; replication r of every point has the seed of its scenario plus r.
    ///
    /// `build` is the fingerprint of the program that will run it.
    pub fn new(points: Vec<Point>, replications: u64, build: &str) -> Plan {
        let each = vec![replications.max(1); points.len()];
        Plan::with_replications(points, &each, build)
    }

    /// As [`Plan::new`], with a number of replications for each point.
    pub fn with_replications(points: Vec<Point>, replications: &[u64], build: &str) -> Plan {
        let mut runs = Vec::new();
        for (i, (p, n)) in points.iter().zip(replications).enumerate() {
            for r in 0..*n {
                let seed = p.loaded.spec.seed.wrapping_add(r);
                runs.push(Run {
                    point: i,
                    replication: r,
                    seed,
                    key: key(&p.loaded.digest, seed, build),
                });
            }
        }
        Plan { points, runs }
    }

    /// One base scenario with each of these combinations.
    ///
    /// # Errors
    /// A combination that is not a valid scenario; the error names the override.
    pub fn of_combinations(
        base: &str,
        name: &str,
        combinations: &[Combination],
        replications: u64,
        build: &str,
    ) -> Result<Plan, ScenarioError> {
        let mut points = Vec::new();
        for c in combinations {
            let loaded = load_text(base, name, &c.overrides)?;
            points.push(Point {
                labels: c.labels.clone(),
                part: String::new(),
                loaded: Arc::new(loaded),
            });
        }
        Ok(Plan::new(points, replications, build))
    }

    /// Names of the label columns, in the order they first occur.
    pub fn label_names(&self) -> Vec<String> {
        self.names(&|_| true)
    }

    /// The same, of one part of the plan.
    pub fn labels_of_part(&self, part: &str) -> Vec<String> {
        self.names(&|p| p.part == part)
    }

    fn names(&self, of: &dyn Fn(&Point) -> bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.points.iter().filter(|p| of(p)).flat_map(|p| &p.labels) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The value of a label at a point; empty where the point has none.
    pub fn label(&self, point: usize, name: &str) -> &str {
        self.points[point]
            .labels
            .iter()
            .find(|(n, _)| n == name)
            .map_or("", |(_, v)| v)
    }
}

/// The fingerprint of the source this program is made of, which is part of every key; the same in whatever folder and on
/// whatever machine it was built.
pub fn source() -> &'static str {
    env!("TAILBACK_SOURCE")
}

/// Stands for everything that decides a run's results.
fn key(digest: &str, seed: u64, build: &str) -> Key {
    Key::of(format!("{digest} {seed} {} {build}", env!("CARGO_PKG_VERSION")).bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(label: &str, values: &[&str]) -> Axis {
        Axis {
            label: label.into(),
            paths: vec![format!("link.b.{label}")],
            values: values.iter().map(|v| v.to_string()).collect(),
        }
    }

    #[test]
    fn product_runs_the_last_axis_fastest_and_zip_walks_in_step() {
        let axes = [axis("queue", &["red", "blue"]), axis("buffer", &["1", "2", "3"])];
        let p = product(&axes);
        assert_eq!(p.len(), 6);
        assert_eq!(p[1].overrides, ["link.b.queue=red", "link.b.buffer=2"]);
        assert!(zip(&axes).unwrap_err().contains("one length"));
        let z = zip(&[axis("queue", &["red", "blue"]), axis("buffer", &["1", "2"])]).unwrap();
        assert_eq!(
            z[1].labels,
            [
                ("queue".to_string(), "blue".to_string()),
                ("buffer".to_string(), "2".to_string())
            ]
        );
    }
}
