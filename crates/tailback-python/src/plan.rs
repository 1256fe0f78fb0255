//! Plans: lists of runs, executed without the interpreter lock.

use crate::discipline::PyQueue;
use crate::results::Results;
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use tailback_engine::packet::SimPacket;
use tailback_engine::plan::{self as engine, Axis, Combination, Execution, Point, Report};
use tailback_engine::run::QueueMaker;
use tailback_queue::{BuildContext, QueueDiscipline};

/// Makes a discipline written in Python.
type Maker = Box<dyn Fn(BuildContext) -> Box<dyn QueueDiscipline<SimPacket>> + Sync>;

/// Points (a scenario and what distinguishes it) times replications (seeds).
#[pyclass(frozen, module = "tailback._core")]
pub struct Plan {
    points: Vec<Point>,
    replications: u64,
}

#[pymethods]
impl Plan {
    /// `points` are pairs of labels (a dict of texts) and a scenario. With `seed`, replication r of every point runs with
    /// seed + r; without it, with the seed of its scenario plus r.
    #[new]
    #[pyo3(signature = (points, replications = 1, seed = None))]
    fn new(points: Vec<(Bound<PyDict>, Bound<Scenario>)>, replications: u64, seed: Option<u64>) -> PyResult<Plan> {
        if replications == 0 {
            return Err(PyValueError::new_err("a plan needs at least one replication"));
        }
        let mut list = Vec::new();
        for (labels, scenario) in points {
            let mut named = Vec::new();
            for (k, v) in labels {
                named.push((k.extract::<String>()?, v.str()?.extract::<String>()?));
            }
            let mut loaded = scenario.get().loaded.clone();
            if let Some(s) = seed.filter(|s| *s != loaded.spec.seed) {
                Arc::make_mut(&mut loaded).spec.seed = s;
            }
            list.push(Point { labels: named, loaded });
        }
        Ok(Plan {
            points: list,
            replications,
        })
    }

    /// How many runs it has.
    fn __len__(&self) -> usize {
        self.points.len() * self.replications as usize
    }

    /// The runs in order: a dict each with point, replication, seed and key.
    #[pyo3(signature = (build = ""))]
    fn runs<'py>(&self, py: Python<'py>, build: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let plan = engine::Plan::new(self.points.clone(), self.replications, build);
        let row = |r: &engine::Run| {
            let d = PyDict::new(py);
            d.set_item("point", r.point)?;
            d.set_item("replication", r.replication)?;
            d.set_item("seed", r.seed)?;
            d.set_item("key", &r.key)?;
            Ok(d)
        };
        plan.runs.iter().map(row).collect()
    }

    /// Run what is not stored in `dir` yet. `progress` is called a few times a second with a dict, on the calling thread,
    /// and stops the plan by returning False. Ctrl-C stops it too; what is finished is kept.
    #[pyo3(signature = (dir = None, jobs = 0, progress = None, queues = None, build = ""))]
    fn execute(
        &self,
        py: Python,
        dir: Option<PathBuf>,
        jobs: usize,
        progress: Option<Py<PyAny>>,
        queues: Option<HashMap<String, Py<PyAny>>>,
        build: &str,
    ) -> PyResult<Results> {
        let plan = engine::Plan::new(self.points.clone(), self.replications, build);
        let makers: Vec<(String, Maker)> = queues
            .unwrap_or_default()
            .into_iter()
            .map(|(port, factory)| {
                let at = port.clone();
                (
                    port,
                    Box::new(move |mut context: BuildContext| {
                        Box::new(PyQueue::<SimPacket>::make(&factory, &at, &mut context.stream))
                            as Box<dyn QueueDiscipline<SimPacket>>
                    }) as Maker,
                )
            })
            .collect();
        self.check_ports(makers.iter().map(|(port, _)| port.as_str()))?;
        let mut raised: Option<PyErr> = None;
        let results = py.detach(|| {
            let mut tell = |r: &Report| -> bool {
                Python::attach(|py| {
                    let answer = py.check_signals().and_then(|()| match &progress {
                        Some(f) => Ok(!f
                            .call1(py, (report(py, r)?,))?
                            .bind(py)
                            .is(pyo3::types::PyBool::new(py, false))),
                        None => Ok(true),
                    });
                    answer.unwrap_or_else(|e| {
                        raised = Some(e);
                        false
                    })
                })
            };
            plan.execute(Execution {
                dir,
                jobs,
                queues: makers
                    .iter()
                    .map(|(port, make)| (port.clone(), &**make as QueueMaker))
                    .collect(),
                progress: &mut tell,
            })
        });
        match raised {
            Some(e) => Err(e),
            None => Results::new(py, results),
        }
    }
}

impl Plan {
    /// A discipline for a port that no scenario has would silently not be used.
    fn check_ports<'a>(&self, ports: impl Iterator<Item = &'a str>) -> PyResult<()> {
        for port in ports {
            let link = port.strip_suffix(".reverse").unwrap_or(port);
            if let Some(p) = self
                .points
                .iter()
                .find(|p| p.loaded.spec.links.iter().all(|l| l.name != link))
            {
                let names: Vec<&str> = p.loaded.spec.links.iter().map(|l| l.name.as_str()).collect();
                return Err(PyValueError::new_err(format!(
                    "there is no link \"{link}\" for a queue; links are {}",
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }
}

/// The state of a plan, for Python.
pub fn report<'py>(py: Python<'py>, r: &Report) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("total", r.total)?;
    d.set_item("reused", r.reused)?;
    d.set_item("done", r.done)?;
    d.set_item("failed", r.failed)?;
    d.set_item("share", r.share)?;
    d.set_item("elapsed_s", r.elapsed_s)?;
    d.set_item("remaining_s", r.remaining_s)?;
    Ok(d)
}

type Labelled = Vec<(String, String)>;

/// The combinations of some axes (label, paths, values): pairs of labels and the overrides they mean. `how` is `product`
/// (the last axis fastest) or `zip` (in step).
#[pyfunction]
pub fn combine(how: &str, axes: Vec<(String, Vec<String>, Vec<String>)>) -> PyResult<Vec<(Labelled, Vec<String>)>> {
    let axes: Vec<Axis> = axes
        .into_iter()
        .map(|(label, paths, values)| Axis { label, paths, values })
        .collect();
    let all: Vec<Combination> = match how {
        "zip" => engine::zip(&axes).map_err(PyValueError::new_err)?,
        _ => engine::product(&axes),
    };
    Ok(all.into_iter().map(|c| (c.labels, c.overrides)).collect())
}
