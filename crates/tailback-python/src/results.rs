//! The results of a plan, and the contents of a folder of results.

use crate::os_error::os_error;
use crate::table::Table;
use pyo3::exceptions::{PyAttributeError, PyFileNotFoundError, PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tailback_plan::keeper::Kept;
use tailback_plan::store::{self, Stored};
use tailback_plan::{Report, RunReport, execute, tables};
use tailback_sim::results::{Outcome, Table as EngineTable};

/// The state of a plan, for Python.
pub fn report<'py>(py: Python<'py>, r: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("total", r.total)?;
    dict.set_item("reused", r.reused)?;
    dict.set_item("done", r.done)?;
    dict.set_item("failed", r.failed)?;
    dict.set_item("share", r.share)?;
    dict.set_item("elapsed_s", r.elapsed_s)?;
    dict.set_item("remaining_s", r.remaining_s)?;
    Ok(dict)
}

/// A plan's results. Tables are attributes: `runs` has one row per run (status, cost in packets and events). The tables
/// of a stored plan are read when they are requested.
///
/// >>> lab = tb.load_scenario(tb.dumbbell(flows=2, queue="codel"), ["duration=2s"])
/// >>> results = tb.Plan.product(lab, {"link.bottleneck.rate": ["5Mbps", "10Mbps"]}).execute()
/// >>> len(results.flows), results.runs["link.bottleneck.rate"].tolist()
/// (4, ['5Mbps', '10Mbps'])
#[pyclass(frozen, module = "tailback._core")]
pub struct Results {
    kept: Kept,
    tables: Mutex<HashMap<String, Py<Table>>>,
    /// The error of the first run that failed; None if no run failed.
    #[pyo3(get)]
    failure: Option<Py<PyDict>>,
    /// Whether `progress` stopped it before the end.
    #[pyo3(get)]
    interrupted: bool,
    /// The error of the file system that ended the storing; None if everything is stored.
    #[pyo3(get)]
    store_error: Option<Py<PyAny>>,
    costs: Vec<RunReport>,
    /// The reports as Python objects. They are made when first requested, because they are many times as large.
    reports: PyOnceLock<Py<PyList>>,
    /// The last state: total, done, reused, failed, elapsed_s.
    #[pyo3(get)]
    report: Py<PyDict>,
    /// Damaged files of the store; the runs in them were run again.
    #[pyo3(get)]
    damaged: Vec<PathBuf>,
    /// The number of stored runs of other plans that were removed.
    #[pyo3(get)]
    replaced: usize,
}

impl Results {
    pub fn new(py: Python, r: execute::Results) -> PyResult<Results> {
        let failure = match &r.failure {
            Some((run, why)) => {
                let dict = PyDict::new(py);
                dict.set_item("point", run.point)?;
                dict.set_item("replication", run.replication)?;
                dict.set_item("seed", run.seed)?;
                dict.set_item("message", why)?;
                Some(dict.unbind())
            }
            None => None,
        };
        let store_error = r.store_error.map(|e| os_error(py, e, None).into_value(py).into_any());
        Ok(Results {
            kept: r.kept,
            tables: Mutex::default(),
            failure,
            interrupted: r.interrupted,
            store_error,
            costs: r.reports,
            reports: PyOnceLock::new(),
            report: report(py, &r.report)?.unbind(),
            damaged: r.damaged,
            replaced: r.replaced,
        })
    }

    /// Results of runs that do not come from a plan.
    pub fn of_tables(py: Python, tables: Vec<tailback_sim::results::Table>, elapsed_s: f64) -> PyResult<Results> {
        let runs = tables.iter().find(|t| t.name == "runs").map_or(0, |t| t.rows());
        let report = PyDict::new(py);
        report.set_item("total", runs)?;
        report.set_item("done", runs)?;
        report.set_item("reused", 0)?;
        report.set_item("failed", 0)?;
        report.set_item("elapsed_s", elapsed_s)?;
        Ok(Results {
            kept: Kept::Tables(tables),
            tables: Mutex::default(),
            failure: None,
            interrupted: false,
            store_error: None,
            costs: Vec::new(),
            reports: PyOnceLock::new(),
            report: report.unbind(),
            damaged: Vec::new(),
            replaced: 0,
        })
    }

    fn read(&self, py: Python, name: &str) -> PyResult<Table> {
        match &self.kept {
            Kept::Tables(all) => match all.iter().find(|t| t.name == name) {
                Some(t) => Table::new(t.clone()),
                None => Err(PyAttributeError::new_err(format!("there is no table {name} here"))),
            },
            Kept::Stored(dir) => {
                let table = py.detach(|| store::read_table(dir, name)).map_err(|e| {
                    let path = dir.join(format!("{name}.parquet"));
                    let remedy = match e.kind() {
                        std::io::ErrorKind::NotFound => "; run again what made it, or copy it anew",
                        _ => "",
                    };
                    PyOSError::new_err(format!("{} cannot be read: {e}{remedy}", path.display()))
                })?;
                Table::new(table)
            }
        }
    }
}

#[pymethods]
impl Results {
    /// The place where the tables are stored; None if they are in memory.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        match &self.kept {
            Kept::Tables(_) => None,
            Kept::Stored(dir) => Some(dir.clone()),
        }
    }

    /// The cost of each run: cpu_s, packet_hops, events; zero for runs that were already stored.
    #[getter]
    fn reports<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyList>> {
        let reports = self.reports.get_or_try_init(py, || {
            let all = PyList::empty(py);
            for c in &self.costs {
                let dict = PyDict::new(py);
                dict.set_item("cpu_s", c.cpu_s)?;
                dict.set_item("packet_hops", c.packet_hops)?;
                dict.set_item("events", c.events)?;
                all.append(dict)?;
            }
            PyResult::Ok(all.unbind())
        })?;
        Ok(reports.bind(py))
    }

    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "runs")
    }

    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "flows")
    }

    #[getter]
    fn groups(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "groups")
    }

    #[getter]
    fn links(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "links")
    }

    #[getter]
    fn losses(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "losses")
    }

    #[getter]
    fn intervals(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "intervals")
    }

    #[getter]
    fn group_intervals(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "group_intervals")
    }

    #[getter]
    fn link_intervals(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "link_intervals")
    }

    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "series")
    }

    #[getter]
    fn log(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "log")
    }

    #[getter]
    fn transfers(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "transfers")
    }

    /// Any other table.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        self.table(py, name)
    }

    fn __dir__(slf: Bound<Self>) -> PyResult<Vec<String>> {
        let own = slf.get_type().call_method0("mro")?.get_item(0)?.getattr("__dict__")?;
        let mut names: Vec<String> = own
            .call_method0("keys")?
            .try_iter()?
            .map(|k| k?.extract())
            .collect::<PyResult<_>>()?;
        names.extend(tables::names().map(str::to_string));
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn __repr__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("tailback.show.report.shown_table")?
            .getattr("results_text")?
            .call1((slf,))
    }

    fn _repr_html_<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("tailback.show.report.shown_table")?
            .getattr("results_html")?
            .call1((slf,))
    }

    /// Whether all tables are equal.
    fn __eq__(&self, py: Python, other: &Results) -> PyResult<bool> {
        for name in tables::names() {
            if !self.table(py, name)?.bind(py).eq(other.table(py, name)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Pickle the results with all tables, even if these are stored in files.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<Py<Table>>, Bound<'py, PyDict>))> {
        let make = py.import("tailback._core")?.getattr("make_results")?;
        let all = tables::names()
            .map(|n| self.table(py, n))
            .collect::<PyResult<Vec<_>>>()?;
        let details = PyDict::new(py);
        details.set_item("failure", &self.failure)?;
        details.set_item("interrupted", self.interrupted)?;
        details.set_item("store_error", &self.store_error)?;
        details.set_item("reports", self.reports(py)?)?;
        details.set_item("report", &self.report)?;
        details.set_item("damaged", &self.damaged)?;
        details.set_item("replaced", self.replaced)?;
        Ok((make, (all, details)))
    }

    /// Names of the tables.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        tables::names().collect()
    }
}

impl Results {
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        if !tables::names().any(|n| n == name) {
            let names: Vec<&str> = tables::names().collect();
            return Err(PyAttributeError::new_err(format!(
                "results have no attribute '{name}'; their tables are {}",
                names.join(", ")
            )));
        }
        if let Some(t) = self.held().get(name) {
            return Ok(t.clone_ref(py));
        }
        let table = Py::new(py, self.read(py, name)?)?;
        let mut held = self.held();
        let t = held.entry(name.to_string()).or_insert(table);
        Ok(t.clone_ref(py))
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<String, Py<Table>>> {
        self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Results from their tables, as in pickles.
#[pyfunction]
pub fn make_results(py: Python, all: Vec<Py<Table>>, about: &Bound<PyDict>) -> PyResult<Results> {
    let field = |name: &str| {
        about
            .get_item(name)?
            .ok_or_else(|| PyKeyError::new_err(name.to_string()))
    };
    let reports = PyOnceLock::new();
    let _ = reports.set(py, field("reports")?.extract()?);
    Ok(Results {
        kept: Kept::Tables(all.iter().map(|t| t.bind(py).get().to_engine()).collect()),
        tables: Mutex::default(),
        failure: field("failure")?.extract()?,
        interrupted: field("interrupted")?.extract()?,
        store_error: field("store_error")?.extract()?,
        costs: Vec::new(),
        reports,
        report: field("report")?.extract()?,
        damaged: field("damaged")?.extract()?,
        replaced: field("replaced")?.extract()?,
    })
}

/// The tables of one run, as the plan returns them.
#[pyclass(frozen, module = "tailback._core")]
pub struct RunTables {
    run: tables::RunTables,
}

impl RunTables {
    pub fn new(run: &tables::RunTables) -> RunTables {
        RunTables { run: run.clone() }
    }

    /// The tables of one run that is done.
    pub fn of(outcome: Outcome) -> RunTables {
        RunTables {
            run: tables::RunTables::new(tailback_plan::Status::Done, Some(outcome)),
        }
    }

    /// All tables, as the engine has them.
    pub fn engine_tables(&self) -> &[EngineTable] {
        &self.run.tables
    }

    /// A table by name, as the engine has it.
    pub fn engine_table(&self, name: &str) -> PyResult<&EngineTable> {
        let table = self.run.tables.iter().find(|t| t.name == name);
        table.ok_or_else(|| PyKeyError::new_err(format!("there is no table {name}")))
    }
}

#[pymethods]
impl RunTables {
    /// The reason why the run failed; None if it did not fail.
    #[getter]
    fn failure(&self) -> Option<&str> {
        match &self.run.status {
            tailback_plan::Status::Failed(why) => Some(why),
            tailback_plan::Status::Done => None,
        }
    }

    /// A table by name, without the columns of the plan.
    fn table(&self, name: &str) -> PyResult<Table> {
        Table::new(self.engine_table(name)?.clone())
    }
}

/// The results in a folder, read run by run, in any order.
#[pyclass(frozen, module = "tailback._core")]
pub struct StoredRuns {
    inner: Mutex<Stored>,
}

#[pymethods]
impl StoredRuns {
    #[new]
    fn new(py: Python, dir: PathBuf) -> StoredRuns {
        StoredRuns {
            inner: Mutex::new(py.detach(|| Stored::open(&dir))),
        }
    }

    fn __contains__(&self, key: &str) -> bool {
        self.lock().has(key)
    }

    /// A run's rows of one table, without the columns of the plan.
    fn table(&self, py: Python, key: &str, name: &str) -> PyResult<Table> {
        let table = py.detach(|| self.lock().table(key, name));
        Table::new(table.map_err(|e| os_error(py, e, None))?)
    }
}

impl StoredRuns {
    fn lock(&self) -> std::sync::MutexGuard<'_, Stored> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The contents of a folder of results, finished or interrupted. The folder is not changed. They are `status`, `runs`
/// (a dict each: key, stored, failed, kept, cpu_s, seed, point), `damaged`, `in_use_by`, `shards` (name, planned,
/// stored, in_use_by), and the manifest as JSON, without its runs.
#[pyfunction]
pub fn status<'py>(py: Python<'py>, dir: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let state = py.detach(|| store::status(&dir));
    let runs = PyList::empty(py);
    for r in &state.runs {
        let dict = PyDict::new(py);
        dict.set_item("key", r.key.to_string())?;
        dict.set_item("stored", r.stored)?;
        dict.set_item("failed", r.failed)?;
        dict.set_item("kept", r.kept)?;
        dict.set_item("cpu_s", r.cpu_s.is_finite().then_some(r.cpu_s))?;
        dict.set_item("seed", r.seed)?;
        dict.set_item("point", r.point)?;
        runs.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("status", &state.status)?;
    dict.set_item("runs", runs)?;
    dict.set_item("damaged", &state.damaged)?;
    dict.set_item("in_use_by", state.in_use_by)?;
    let shards = PyList::empty(py);
    for s in &state.shards {
        let shard = PyDict::new(py);
        shard.set_item("name", &s.name)?;
        shard.set_item("planned", s.planned)?;
        shard.set_item("stored", s.stored)?;
        shard.set_item("in_use_by", s.in_use_by)?;
        shards.append(shard)?;
    }
    dict.set_item("shards", shards)?;
    dict.set_item("manifest", serde_json::Value::Object(state.manifest).to_string())?;
    Ok(dict)
}

/// Read the stored tables of a finished plan.
///
/// >>> lab = tb.load_scenario(tb.dumbbell(flows=2, queue="codel"), ["duration=2s"])
/// >>> done = tb.Plan.product(lab, {"link.bottleneck.rate": ["5Mbps", "10Mbps"]}).execute("out/rates")
/// >>> len(tb.read_results("out/rates").runs)
/// 2
#[pyfunction]
pub fn read_results(py: Python, dir: PathBuf) -> PyResult<Results> {
    if !dir.join("runs.parquet").is_file() {
        return Err(PyFileNotFoundError::new_err(format!(
            "{} holds no results; {}",
            dir.display(),
            if holds_chunks(&dir) {
                "its plan was interrupted: run it again to finish it"
            } else {
                "`tailback run --out DIR` makes one"
            }
        )));
    }
    let results = Results {
        kept: Kept::Stored(dir),
        tables: Mutex::default(),
        failure: None,
        interrupted: false,
        store_error: None,
        costs: Vec::new(),
        reports: PyOnceLock::new(),
        report: PyDict::new(py).unbind(),
        damaged: Vec::new(),
        replaced: 0,
    };
    let total = results.table(py, "runs")?.get().rows_count();
    let report = results.report.bind(py);
    report.set_item("total", total)?;
    report.set_item("done", total)?;
    report.set_item("reused", total)?;
    Ok(results)
}

fn holds_chunks(dir: &Path) -> bool {
    dir.join("chunks").is_dir()
}

/// Cores that this process may use, by its affinity and the quota of its control group.
#[pyfunction]
pub fn cores() -> usize {
    execute::cores()
}

/// The most memory that the process has used, bytes.
#[pyfunction]
pub fn peak_rss_bytes() -> u64 {
    execute::peak_rss_bytes()
}
