//! A plan: points, each with its seeds, and the key of each run.

use crate::axes::Combination;
use std::sync::{Arc, OnceLock};
use tailback_scenario::key::Key;
use tailback_scenario::{Loaded, ScenarioError, load_text};
use tailback_sim::library::own;

/// One scenario of a plan, and the values of the varied quantities, by name.
#[derive(Clone, Debug)]
pub struct Point {
    pub labels: Vec<(String, String)>,
    /// The part to which it belongs, in a plan of several parts. Each part is stored separately and has its own labels.
    pub part: String,
    pub loaded: Arc<Loaded>,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub point: usize,
    pub replication: u64,
    pub seed: u64,
    /// Runs with equal keys have equal results.
    pub key: Key,
}

/// An ordered list of runs.
///
/// ```
/// use std::sync::Arc;
/// use tailback_plan::{Execution, Plan, Point};
/// use tailback_scenario::load_text;
///
/// let text = r#"
///     duration = "2s"
///     link.bottleneck = { from = "left", to = "right", rate = "10Mbps", delay = "10ms" }
///     flows.bulk = {}
/// "#;
/// let points = ["droptail", "codel"].map(|queue| Point {
///     labels: vec![("queue".into(), queue.into())],
///     part: String::new(),
///     loaded: Arc::new(load_text(text, "lab.toml", &[format!("link.bottleneck.queue={queue}")]).unwrap()),
/// });
/// // Two points with two seeds each.
/// let plan = Plan::new(points.into(), 2, "this program");
/// let results = plan.execute(Execution::new(&mut |_| true));
/// assert_eq!((results.report.done, results.report.failed), (4, 0));
/// assert_eq!(results.table("links").unwrap().rows(), 8);
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    pub points: Vec<Point>,
    pub runs: Vec<Run>,
}

impl Plan {
    /// The plan has each point `replications` times. Replication r of a point has the seed of its scenario plus r.
    ///
    /// `build` is the fingerprint of the program that will run the plan.
    pub fn new(points: Vec<Point>, replications: u64, build: &str) -> Plan {
        let each = vec![replications.max(1); points.len()];
        Plan::with_replications(points, &each, build)
    }

    /// Like [`Plan::new`], with a number of replications for each point.
    pub fn with_replications(points: Vec<Point>, replications: &[u64], build: &str) -> Plan {
        let each = (0..points.len()).zip(replications);
        let runs: Vec<(usize, u64)> = each.flat_map(|(i, n)| (0..*n).map(move |r| (i, r))).collect();
        Plan::of_runs(points, &runs, build)
    }

    /// Any runs of these points, each given by its point and its replication: a whole plan, or a part of one.
    pub fn of_runs(points: Vec<Point>, runs: &[(usize, u64)], build: &str) -> Plan {
        let run_of = |&(point, replication): &(usize, u64)| {
            let p: &Point = &points[point];
            let seed = p.loaded.spec.seed.wrapping_add(replication);
            let key = key(&p.loaded.digest, seed, build);
            Run {
                point,
                replication,
                seed,
                key,
            }
        };
        let runs = runs.iter().map(run_of).collect();
        Plan { points, runs }
    }

    /// Identifies the plan by its runs, in order.
    pub fn name(&self) -> String {
        Key::of_all(self.runs.iter().map(|r| &r.key)).to_string()
    }

    /// One base scenario with each of these combinations.
    ///
    /// # Errors
    /// A combination that does not give a valid scenario; the error names the override.
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

    /// Names of the label columns, in the order of first occurrence.
    pub fn label_names(&self) -> Vec<String> {
        self.names(&|_| true)
    }

    /// The names of the label columns for one part of the plan, in the order of first occurrence.
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

    /// The value of a label at a point; empty if the point does not have it.
    pub fn label(&self, point: usize, name: &str) -> &str {
        self.points[point]
            .labels
            .iter()
            .find(|(n, _)| n == name)
            .map_or("", |(_, v)| v)
    }
}

/// The fingerprint of the source from which this program is built, including the source of [a crate of one's own](own).
/// It is part of every key. It does not depend on the folder or the machine of the build.
pub fn source() -> &'static str {
    static WITH_OWN: OnceLock<String> = OnceLock::new();
    const SHIPPED: &str = env!("TAILBACK_SOURCE");
    own::installed().map_or(SHIPPED, |own| {
        WITH_OWN.get_or_init(|| Key::of(format!("{SHIPPED} {} {}", own.of.name, own.of.source).bytes()).to_string())
    })
}

/// A key for everything that determines a run's results.
fn key(digest: &str, seed: u64, build: &str) -> Key {
    Key::of(format!("{digest} {seed} {} {build}", env!("CARGO_PKG_VERSION")).bytes())
}
