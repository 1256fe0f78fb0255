//! What a plan gives back.

use crate::plan::report;
use crate::table::Table;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use tailback_engine::plan::{execute, store};
use tailback_engine::results::{self, parquet};

#[pyclass(frozen, module = "tailback._core", get_all)]
pub struct Results {
    /// One row a run: status, cost in packets and events.
    runs: Py<Table>,
    flows: Py<Table>,
    groups: Py<Table>,
    links: Py<Table>,
    losses: Py<Table>,
    intervals: Py<Table>,
    series: Py<Table>,
    log: Py<Table>,
    /// Why the first run that failed did; None when none did.
    failure: Option<Py<PyDict>>,
    /// Stopped before the end by `progress`.
    interrupted: bool,
    /// The error of the file system that stopped storing; None when all is stored.
    store_error: Option<Py<PyAny>>,
    /// What each run cost: cpu_s, packet_hops, events; zero for runs that were stored before.
    reports: Py<PyList>,
    /// The last state: total, done, reused, failed, elapsed_s.
    report: Py<PyDict>,
}

impl Results {
    pub fn new(py: Python, r: execute::Results) -> PyResult<Results> {
        let reports = PyList::empty(py);
        for c in &r.reports {
            let d = PyDict::new(py);
            d.set_item("cpu_s", c.cpu_s)?;
            d.set_item("packet_hops", c.packet_hops)?;
            d.set_item("events", c.events)?;
            reports.append(d)?;
        }
        let failure = match &r.failure {
            Some((run, why)) => {
                let d = PyDict::new(py);
                d.set_item("point", run.point)?;
                d.set_item("replication", run.replication)?;
                d.set_item("seed", run.seed)?;
                d.set_item("message", why)?;
                Some(d.unbind())
            }
            None => None,
        };
        let store_error = r.store_error.map(|e| os_error(py, e, None).into_value(py).into_any());
        let last = report(py, &r.report)?;
        Results::from_tables(py, r.tables, failure, r.interrupted, store_error, reports, last)
    }

    fn from_tables(
        py: Python,
        tables: Vec<results::Table>,
        failure: Option<Py<PyDict>>,
        interrupted: bool,
        store_error: Option<Py<PyAny>>,
        reports: Bound<PyList>,
        report: Bound<PyDict>,
    ) -> PyResult<Results> {
        let mut tables = tables.into_iter().map(|t| Py::new(py, Table::new(t)?));
        let mut next = || {
            tables.next().unwrap_or_else(|| {
                Py::new(
                    py,
                    Table::new(results::Table {
                        name: String::new(),
                        columns: vec![],
                    })?,
                )
            })
        };
        Ok(Results {
            runs: next()?,
            flows: next()?,
            groups: next()?,
            links: next()?,
            losses: next()?,
            intervals: next()?,
            series: next()?,
            log: next()?,
            failure,
            interrupted,
            store_error,
            reports: reports.unbind(),
            report: report.unbind(),
        })
    }
}

/// An error of the file system as the exception Python would raise for it.
pub fn os_error(py: Python, e: std::io::Error, path: Option<PathBuf>) -> PyErr {
    let e = system_error(e);
    let Some(code) = e.raw_os_error() else {
        return PyErr::from(e);
    };
    let text = py
        .import("os")
        .and_then(|os| os.getattr("strerror")?.call1((code,))?.extract::<String>());
    // OSError chooses its subclass, such as PermissionError, by the number.
    PyOSError::new_err((code, text.unwrap_or_else(|_| e.to_string()), path))
}

/// The error of the system inside an error of Arrow or Parquet, so that its number is not lost.
fn system_error(e: std::io::Error) -> std::io::Error {
    if e.raw_os_error().is_some() {
        return e;
    }
    let mut inner: Option<&(dyn std::error::Error + 'static)> = e.get_ref().map(|x| x as _);
    while let Some(x) = inner {
        if let Some(code) = x
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::raw_os_error)
        {
            return std::io::Error::from_raw_os_error(code);
        }
        inner = x.source();
    }
    e
}

/// Read the tables of a finished plan back.
#[pyfunction]
pub fn read_results(py: Python, dir: PathBuf) -> PyResult<Results> {
    let names = || std::iter::once("runs").chain(store::NAMES);
    if !dir.join("runs.parquet").is_file() {
        let chunks = dir.join("chunks").is_dir();
        let hint = if chunks {
            "its plan was interrupted: run it again to finish it"
        } else {
            "`tailback run --out DIR` makes one"
        };
        return Err(PyFileNotFoundError::new_err(format!(
            "{} holds no results; {hint}",
            dir.display()
        )));
    }
    let tables: Vec<results::Table> = py
        .detach(|| {
            names()
                .map(|n| {
                    let path = dir.join(format!("{n}.parquet"));
                    parquet::read(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))
                })
                .collect::<Result<_, _>>()
        })
        .map_err(PyOSError::new_err)?;
    let report = PyDict::new(py);
    let total = tables.first().map_or(0, results::Table::rows);
    report.set_item("total", total)?;
    report.set_item("done", total)?;
    report.set_item("reused", total)?;
    Results::from_tables(py, tables, None, false, None, PyList::empty(py), report)
}

/// The largest memory the process has held, bytes.
#[pyfunction]
pub fn peak_rss_bytes() -> u64 {
    execute::peak_rss_bytes()
}
