//! Plans: lists of runs, executed without the interpreter lock.

use crate::control::{OwnClass, calls_of_thread, classes_in, library};
use crate::discipline::PyQueue;
use crate::here::detached;
use crate::inside::Calls;
use crate::os_error::os_error;
use crate::results::{Results, RunTables, report};
use crate::scenario::{self, Scenario, parts};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tailback_plan::store::{Finish, Others, shards};
use tailback_plan::{self as engine, Axis, Combination, Execution, Keep, Point, Report, tables};
use tailback_queue::QueueDiscipline;
use tailback_scenario::load_text_with;
use tailback_scenario::memory;
use tailback_sim::build::hooks::{PortContext, QueueMaker};
use tailback_sim::library::outside::{self, all_handed};
use tailback_sim::wire::packet::SimPacket;

/// Makes a discipline written in Python.
type Maker = Box<dyn Fn(PortContext) -> Box<dyn QueueDiscipline<SimPacket>> + Sync>;

/// The points of a plan (a scenario and the values that distinguish it) times its replications (seeds).
#[pyclass(frozen, module = "tailback._core")]
pub struct Plan {
    points: Vec<Point>,
    /// Point and replication of each run, in order.
    runs: Vec<(usize, u64)>,
}

/// A point in the form for another process: labels, part, scenario as TOML, seed.
type Packed = (Labelled, String, String, u64);

/// The arguments that rebuild a pickled plan: its points, and its runs as point and seed.
type Arguments = (Vec<Packed>, Vec<(usize, u64)>);

#[pymethods]
impl Plan {
    /// `points` are pairs of labels (a dict of texts) and a scenario. With `seed`, replication r of every point runs
    /// with seed + r. The default is the seed of the point's scenario plus r. A plan of several parts names the part of
    /// each point. `replications` may be a list with one number per point.
    #[new]
    #[pyo3(signature = (points, replications = None, seed = None, parts = None))]
    fn new(
        points: Vec<(Bound<PyDict>, Bound<Scenario>)>,
        replications: Option<&Bound<PyAny>>,
        seed: Option<u64>,
        parts: Option<Vec<String>>,
    ) -> PyResult<Plan> {
        let n = points.len();
        let replications: Vec<u64> = match replications {
            None => vec![1; n],
            Some(all) => match all.extract::<u64>() {
                Ok(each) => vec![each; n],
                Err(_) => all.extract()?,
            },
        };
        if replications.contains(&0) {
            return Err(PyValueError::new_err("a plan needs at least one replication"));
        }
        if replications.len() != n || parts.as_ref().is_some_and(|p| p.len() != n) {
            return Err(PyValueError::new_err(
                "a plan needs replications and a part for each point",
            ));
        }
        let taken: HashSet<String> = columns().into_iter().collect();
        let mut list = Vec::new();
        for (i, (labels, scenario)) in points.into_iter().enumerate() {
            let mut named_labels = Vec::new();
            for (k, v) in labels {
                let label = k.extract::<String>()?;
                if taken.contains(&label) {
                    return Err(is_a_column(&label));
                }
                named_labels.push((label, v.str()?.extract::<String>()?));
            }
            let mut loaded = scenario.get().loaded.clone();
            if let Some(s) = seed.filter(|s| *s != loaded.spec.seed) {
                Arc::make_mut(&mut loaded).spec.seed = s;
            }
            let part = parts.as_ref().map(|p| p[i].clone()).unwrap_or_default();
            list.push(Point {
                labels: named_labels,
                part,
                loaded,
            });
        }
        let each = (0..n).zip(replications);
        let runs = each.flat_map(|(i, n)| (0..n).map(move |r| (i, r))).collect();
        Ok(Plan { points: list, runs })
    }

    /// For each point: the most memory that a run of it takes, as in `Scenario.memory`, and the number of its runs.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyList>, usize)>> {
        let mut runs = vec![0; self.points.len()];
        for r in &self.runs {
            runs[r.0] += 1;
        }
        let of = |p: &Point| parts(py, &memory::bound(&p.loaded.spec, &library(true)));
        let points = self.points.iter().zip(runs);
        points.map(|(p, n)| Ok((of(p)?, n))).collect()
    }

    /// A plan of some of its runs, chosen by position.
    fn only(&self, runs: Vec<usize>) -> PyResult<Plan> {
        if let Some(i) = runs.iter().find(|i| **i >= self.runs.len()) {
            return Err(PyValueError::new_err(format!(
                "there is no run {i} of {}",
                self.runs.len()
            )));
        }
        let runs: Vec<(usize, u64)> = runs.into_iter().map(|i| self.runs[i]).collect();
        let mut used: Vec<usize> = runs.iter().map(|r| r.0).collect();
        used.sort_unstable();
        used.dedup();
        let place: HashMap<usize, usize> = used.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        Ok(Plan {
            points: used.iter().map(|p| self.points[*p].clone()).collect(),
            runs: runs.iter().map(|(p, r)| (place[p], *r)).collect(),
        })
    }

    /// The positions of the runs in each chunk, if the plan is cut into chunks that are stored together.
    fn chunks(&self, py: Python) -> Vec<Vec<usize>> {
        let plan = self.engine("");
        py.detach(|| {
            engine::chunks::chunks(&plan, &|_| true)
                .into_iter()
                .map(|c| c.runs)
                .collect()
        })
    }

    /// For each point, the approximate number of packets that links carry in a run.
    fn work(&self) -> Vec<f64> {
        let work_of = |p: &Point| engine::chunks::work(&p.loaded.spec);
        self.points.iter().map(work_of).collect()
    }

    /// Write into a folder the plan to which its shards belong, unless the plan is already there; `by` is the shard
    /// that writes it.
    fn announce(&self, py: Python, dir: PathBuf, by: &str, build: &str, about: &str) -> PyResult<()> {
        let plan = self.engine(build);
        let about = serde_json::from_str(about).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let done = py.detach(|| shards::announce(&dir, by, &plan, about));
        done.map_err(|e| os_error(py, e, Some(dir)))
    }

    /// Pickle the plan with its scenarios as TOML.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Arguments)> {
        let make = py.import("tailback._core")?.getattr("make_plan")?;
        let pack = |p: &Point| {
            let (l, seed) = (&p.loaded, p.loaded.spec.seed);
            (p.labels.clone(), p.part.clone(), l.toml.clone(), seed)
        };
        Ok((make, (self.points.iter().map(pack).collect(), self.runs.clone())))
    }

    /// The names of the congestion controls written in Python that its scenarios name.
    fn controls(&self) -> Vec<&'static str> {
        self.classes().iter().map(|c| c.name()).collect()
    }

    /// The number of its runs.
    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// The runs in order, each a dict with point, replication, seed and key.
    #[pyo3(signature = (build = ""))]
    fn runs<'py>(&self, py: Python<'py>, build: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let plan = self.engine(build);
        let row = |r: &engine::Run| {
            let dict = PyDict::new(py);
            dict.set_item("point", r.point)?;
            dict.set_item("replication", r.replication)?;
            dict.set_item("seed", r.seed)?;
            dict.set_item("key", r.key.to_string())?;
            Ok(dict)
        };
        plan.runs.iter().map(row).collect()
    }

    /// Run the runs that are not yet stored in `dir`. `progress` is called a few times a second with a dict, on the
    /// calling thread, and stops the plan by returning False. Ctrl-C stops it too; finished runs are kept. `each` is
    /// called with the position and the tables of each run that is simulated. With `replace` stored runs that are not
    /// in the plan are removed; otherwise they stay. With `chunks` the tables stay in chunks, by part. `about` is JSON
    /// for the manifest. With `within`, `dir` is the folder of a shard inside that folder. With `laws` a run that
    /// breaks a law has failed. `classes` are makers of disciplines by the class that scenarios name.
    #[pyo3(signature = (
        dir = None, jobs = 0, progress = None, queues = None, build = "", *,
        each = None, replace = false, chunks = false, about = None, within = None, laws = false,
        classes = None
    ))]
    #[allow(clippy::too_many_arguments)] // The arguments are named in Python.
    fn execute(
        &self,
        py: Python,
        dir: Option<PathBuf>,
        jobs: usize,
        progress: Option<Py<PyAny>>,
        queues: Option<HashMap<String, Py<PyAny>>>,
        build: &str,
        each: Option<Py<PyAny>>,
        replace: bool,
        chunks: bool,
        about: Option<&str>,
        within: Option<PathBuf>,
        laws: bool,
        classes: Option<HashMap<String, Py<PyAny>>>,
    ) -> PyResult<Results> {
        let plan = self.engine(build);
        let calls = Arc::new(Calls::default());
        let makers = makers(queues.unwrap_or_default(), &calls);
        self.check_ports(makers.iter().map(|(port, _)| port.as_str()))?;
        let classes = self::makers(classes.unwrap_or_default(), &calls);
        self.all_at_hand(&makers, &classes)?;
        let about = match about {
            Some(text) => serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))?,
            None => serde_json::Map::new(),
        };
        let keep = dir.map(|dir| Keep {
            dir,
            build: build.to_string(),
            others: if replace { Others::Replace } else { Others::Beside },
            finish: if chunks { Finish::Chunks } else { Finish::Tables },
            about,
            within,
        });
        let raised: Mutex<Option<PyErr>> = Mutex::new(None);
        // False stops the plan, and so does an exception, which is raised again when the plan has stopped.
        let answer_of = |ask: &dyn Fn(Python) -> PyResult<bool>| -> bool {
            Python::attach(|py| {
                ask(py).unwrap_or_else(|e| {
                    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                    false
                })
            })
        };
        let library_of_process = library(true);
        let python = !makers.is_empty() || !classes.is_empty() || !self.classes().is_empty();
        let around = |work: &mut dyn FnMut()| {
            calls_of_thread(&calls);
            match python {
                true => attached_once(work),
                false => work(),
            }
        };
        let results = py.detach(|| {
            let mut last_shown: Option<Instant> = None;
            let mut tell = |r: &Report| {
                // Signals are checked every time, so that Ctrl-C acts quickly.
                let due = r.done == r.total || last_shown.is_none_or(|t| t.elapsed() >= SHOW_EVERY);
                if due {
                    last_shown = Some(Instant::now());
                }
                let goes_on = answer_of(&|py| {
                    py.check_signals()?;
                    match progress.as_ref().filter(|_| due) {
                        Some(f) => goes_on(f.call1(py, (report(py, r)?,))?.bind(py)),
                        None => Ok(true),
                    }
                });
                calls.told(goes_on);
                goes_on
            };
            let mut hand = |i: usize, run: &tables::RunTables| {
                answer_of(&|py| match &each {
                    Some(f) => goes_on(f.call1(py, (i, RunTables::new(run)))?.bind(py)),
                    None => Ok(true),
                })
            };
            plan.execute(Execution {
                keep,
                jobs,
                queues: makers
                    .iter()
                    .map(|(port, make)| (port.clone(), &**make as QueueMaker))
                    .collect(),
                classes: classes
                    .iter()
                    .map(|(class, make)| (class.clone(), &**make as QueueMaker))
                    .collect(),
                library: Some(&library_of_process),
                laws,
                around: Some(&around),
                each: each.is_some().then_some(&mut hand as _),
                ..Execution::new(&mut tell)
            })
        });
        match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(e) => Err(e),
            None => Results::new(py, results),
        }
    }
}

/// Do the work of a thread that calls into Python many times. The interpreter registers the thread once, and not for
/// each call. The interpreter lock is free meanwhile.
fn attached_once(work: &mut dyn FnMut()) {
    Python::attach(|py| detached(py, work));
}

/// The least time between two reports of progress.
const SHOW_EVERY: Duration = Duration::from_millis(200);

fn goes_on(answer: &Bound<PyAny>) -> PyResult<bool> {
    Ok(!answer.is(pyo3::types::PyBool::new(answer.py(), false)))
}

/// Makers of disciplines written in Python, by port.
fn makers(queues: HashMap<String, Py<PyAny>>, calls: &Arc<Calls>) -> Vec<(String, Maker)> {
    let maker = |(port, factory): (String, Py<PyAny>)| {
        let calls = calls.clone();
        let make = move |mut port_context: PortContext| {
            let stream = &mut port_context.context.stream;
            Box::new(PyQueue::<SimPacket>::make(
                &factory,
                port_context.port,
                port_context.marking,
                stream,
                &calls,
            )) as Box<dyn QueueDiscipline<SimPacket>>
        };
        (port, Box::new(make) as Maker)
    };
    queues.into_iter().map(maker).collect()
}

impl Plan {
    /// The classes of congestion controls that its scenarios name.
    fn classes(&self) -> Vec<Arc<OwnClass>> {
        classes_in(self.points.iter().flat_map(|p| scenario::transports(&p.loaded.spec)))
    }

    /// Check that every class that its scenarios name is available for the run: queues by port or by class, and
    /// controls.
    fn all_at_hand(&self, ports: &[(String, Maker)], classes: &[(String, Maker)]) -> PyResult<()> {
        for p in &self.points {
            let named = outside::named(&p.loaded.spec).filter(|(_, class)| classes.iter().any(|(c, _)| c == class));
            let named: HashSet<String> = named.map(|(port, _)| port).collect();
            let handed = |port: &str| named.contains(port) || ports.iter().any(|(at, _)| at == port);
            all_handed(&p.loaded.spec, handed).map_err(|e| PyValueError::new_err(e.to_string()))?;
        }
        if let Some(gone) = self.classes().iter().find(|c| c.class.is_none()) {
            return Err(PyValueError::new_err(gone.missing().to_string()));
        }
        Ok(())
    }

    fn engine(&self, build: &str) -> engine::Plan {
        engine::Plan::of_runs(self.points.clone(), &self.runs, build)
    }

    /// Refuse a discipline for a port that no scenario has, because it would be ignored without notice.
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

/// The refusal of a label that is the name of a column: a label is a column of every table, and no table may have two
/// columns of one name.
fn is_a_column(label: &str) -> PyErr {
    PyValueError::new_err(format!(
        "the label '{label}' is the name of a column of the results; give the axis another name: \
         {{'varied_{label}': ('PATH', [VALUES])}}"
    ))
}

/// The names of the columns in a plan's tables; no label may be one of them.
#[pyfunction]
pub fn columns() -> Vec<String> {
    let own = ["key", "seed", "replication", "run"].map(String::from);
    let all = tables::declared().iter().flat_map(|t| &t.columns);
    own.into_iter().chain(all.map(|c| c.name.to_string())).collect()
}

type Labelled = Vec<(String, String)>;

/// An axis: pairs of labels and the overrides that they stand for.
type Pairs = Vec<(Labelled, Vec<String>)>;

fn axis_of(pairs: Pairs) -> Axis {
    let combination = |(labels, overrides)| Combination { labels, overrides };
    Axis(pairs.into_iter().map(combination).collect())
}

fn pairs_of(axis: Axis) -> Pairs {
    axis.0.into_iter().map(|c| (c.labels, c.overrides)).collect()
}

/// The combinations of several axes, which form an axis again. `how` is `product` (the last axis varies fastest) or
/// `zip` (all in step).
#[pyfunction]
pub fn combine(how: &str, axes: Vec<Pairs>) -> PyResult<Pairs> {
    let axes: Vec<Axis> = axes.into_iter().map(axis_of).collect();
    let combined = match how {
        "product" => engine::product(&axes),
        "zip" => engine::zip(&axes).map_err(PyValueError::new_err)?,
        _ => {
            return Err(PyValueError::new_err(format!(
                "axes are combined by product or zip, not by {how}"
            )));
        }
    };
    Ok(pairs_of(combined))
}

/// Every combination of an axis with the values that its label `by` has in `values`. These values vary fastest.
#[pyfunction]
pub fn combine_by(all: Pairs, by: &str, values: Vec<(String, Pairs)>) -> PyResult<Pairs> {
    let values: Vec<(String, Axis)> = values.into_iter().map(|(label, axis)| (label, axis_of(axis))).collect();
    let combined = engine::dependent(&axis_of(all), by, &values).map_err(PyValueError::new_err)?;
    Ok(pairs_of(combined))
}

/// A plan, from its pickle.
#[pyfunction]
pub fn make_plan(py: Python, points: Vec<Packed>, runs: Vec<(usize, u64)>) -> PyResult<Plan> {
    let read = |(labels, part, toml, seed): Packed| {
        let mut loaded = load_text_with(&library(true), &toml, "scenario", &[]).map_err(|e| scenario::error(py, e))?;
        loaded.spec.seed = seed;
        let loaded = Arc::new(loaded);
        PyResult::Ok(Point { labels, part, loaded })
    };
    let points: Vec<Point> = points.into_iter().map(read).collect::<PyResult<_>>()?;
    if runs.iter().any(|(p, _)| *p >= points.len()) {
        return Err(PyValueError::new_err("a run of a point that is not there"));
    }
    Ok(Plan { points, runs })
}

/// A shard whose runs are simulated elsewhere. Their chunks are stored here as they come back.
#[pyclass(frozen, module = "tailback._core")]
pub struct Inbox {
    inner: Mutex<Option<shards::Inbox>>,
}

#[pymethods]
impl Inbox {
    #[new]
    fn new(py: Python, dir: PathBuf, name: &str) -> PyResult<Inbox> {
        let inbox = py.detach(|| shards::Inbox::open(&dir, name));
        Ok(Inbox {
            inner: Mutex::new(Some(inbox.map_err(|e| os_error(py, e, Some(dir)))?)),
        })
    }

    /// Store a chunk: its files, and for each of its runs the key, the CPU seconds, the packets and the events.
    fn add(
        &self,
        py: Python,
        name: &str,
        files: Vec<(String, Vec<u8>)>,
        costs: Vec<(String, f64, u64, u64)>,
    ) -> PyResult<()> {
        let cost = |(key, cpu_s, packet_hops, events): (String, f64, u64, u64)| {
            let report = engine::RunReport {
                cpu_s,
                packet_hops,
                events,
            };
            Some((engine::Key::parse(&key)?, report))
        };
        let costs: Vec<_> = costs.into_iter().filter_map(cost).collect();
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(inbox) = &*inner else {
            return Err(PyValueError::new_err("the inbox is closed"));
        };
        inbox.add(name, &files, &costs).map_err(|e| os_error(py, e, None))
    }

    /// Release the folder.
    fn close(&self) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
