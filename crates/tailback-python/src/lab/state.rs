//! A state of the lab, its runs and their picture.

use crate::control;
use crate::results::RunTables;
use crate::scenario::{self, Scenario, transports, unlocked};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use std::sync::Arc;
use tailback_lab::controls::controls;
use tailback_lab::copies::Copies;
use tailback_lab::digests::of_tables;
use tailback_lab::frames::message;
use tailback_lab::picture::{DoneRun, PictureExtras, PictureOrder, picture};
use tailback_lab::screen_runs::{RunMode, ScreenRun, asked};
use tailback_lab::state::{LabRefusal, ScenarioReader, ScenarioTable, State, explicit, watched};
use tailback_sim::spec::Spec;

create_exception!(
    tailback._core,
    LabError,
    PyValueError,
    "What a page of the lab asks for cannot be done. The text says why, and what to do instead."
);

/// Call the lab's code without the interpreter lock.
pub fn answered<T: Send>(py: Python, ask: impl FnOnce(&ScenarioReader) -> Result<T, LabRefusal> + Send) -> PyResult<T> {
    let library = control::library(false);
    let reader = ScenarioReader {
        library: &library,
        unfit: in_python,
    };
    unlocked(py, || ask(&reader))?.map_err(|e| raised(py, e))
}

fn raised(py: Python, e: LabRefusal) -> PyErr {
    match e {
        LabRefusal::Scenario(e) => scenario::error(py, e),
        LabRefusal::Page(text) => LabError::new_err(text),
    }
}

/// Why the lab does not run a scenario whose congestion or rate control is a Python class.
fn in_python(spec: &Spec) -> Option<String> {
    let classes = control::classes_in(transports(spec));
    let name = classes.first()?.name();
    Some(format!(
        "the control {name} is written in Python, which the lab does not run; use `tailback run`, or name a \
         built-in control"
    ))
}

fn json(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|e| LabError::new_err(format!("the state is no JSON: {e}")))
}

/// A scenario, and the discipline that is compared with its own.
#[pyclass(frozen, module = "tailback._core")]
pub struct LabState {
    pub state: State,
}

#[pymethods]
impl LabState {
    /// A state as a page sends it, as JSON. Raises LabError for anything else.
    #[new]
    fn new(py: Python, text: &str) -> PyResult<LabState> {
        let state = State::of(&json(text)?).map_err(|e| raised(py, e))?;
        Ok(LabState { state })
    }

    /// The scenarios of the runs, as JSON.
    fn documents(&self, py: Python) -> PyResult<Vec<String>> {
        let documents = answered(py, |reader| self.state.documents(reader))?;
        Ok(documents.into_iter().map(|d| Value::Object(d).to_string()).collect())
    }

    /// The runs. Raises ScenarioError with the message that a file gets.
    fn asked(&self, py: Python, mode: &str) -> PyResult<Vec<LabRun>> {
        let runs = answered(py, |reader| asked(&self.state, RunMode::of(mode), reader))?;
        Ok(runs.into_iter().map(|run| LabRun { run }).collect())
    }

    /// Groups of controls, as JSON.
    fn controls(&self, py: Python) -> PyResult<String> {
        Ok(Value::Array(answered(py, |reader| controls(&self.state, reader))?).to_string())
    }

    /// The state as `toml`, `python` and `command`, as JSON.
    fn copies(&self, py: Python) -> PyResult<String> {
        Ok(answered(py, |reader| Copies::of(&self.state, reader))?
            .as_json()
            .to_string())
    }

    /// The frame of runs that are over. With `took_ms` the frame has this time.
    #[pyo3(signature = (input, mode, columns, runs, tables, took_ms = None, with_controls = false))]
    #[expect(clippy::too_many_arguments)]
    fn picture<'py>(
        &self,
        py: Python<'py>,
        input: u64,
        mode: &str,
        columns: usize,
        runs: Vec<PyRef<LabRun>>,
        tables: Vec<PyRef<RunTables>>,
        took_ms: Option<f64>,
        with_controls: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let order = PictureOrder {
            input: input.into(),
            mode: RunMode::of(mode),
            columns,
        };
        let extras = PictureExtras {
            took_ms,
            controls: with_controls,
        };
        let done = runs.iter().zip(&tables).map(|(r, t)| DoneRun {
            asked: &r.run,
            tables: t.engine_tables(),
        });
        let done: Vec<DoneRun> = done.collect();
        let frame = answered(py, |reader| picture(&order, &self.state, &done, extras, reader))?;
        Ok(PyBytes::new(py, &frame))
    }
}

/// A run that a page requests.
#[pyclass(frozen, module = "tailback._core")]
pub struct LabRun {
    run: ScreenRun,
}

#[pymethods]
impl LabRun {
    #[getter]
    fn scenario(&self) -> Scenario {
        Scenario {
            loaded: self.run.loaded.clone(),
        }
    }

    #[getter]
    fn link(&self) -> &str {
        &self.run.link
    }

    #[getter]
    fn queue(&self) -> &str {
        self.run.queue
    }

    /// Simulated seconds.
    #[getter]
    fn seconds(&self) -> f64 {
        self.run.seconds
    }
}

/// The document with the queue of the watched link as a table at the link itself, as JSON.
#[pyfunction]
pub fn lab_explicit(py: Python, document: &str, name: &str) -> PyResult<String> {
    let Value::Object(document) = json(document)? else {
        return Err(LabError::new_err("a scenario is a JSON object"));
    };
    let table: ScenarioTable = answered(py, |reader| explicit(&document, name, reader))?;
    Ok(Value::Object(table).to_string())
}

/// The name of the link whose queue is shown.
#[pyfunction]
pub fn lab_watched(scenario: &Scenario) -> String {
    let loaded: &Arc<_> = &scenario.loaded;
    watched(&loaded.spec).name.clone()
}

/// The number of rows and a digest of each table of a run, as JSON. They are equal in every browser.
#[pyfunction]
pub fn lab_digests(run: &RunTables) -> String {
    Value::Object(of_tables(run.engine_tables())).to_string()
}

/// A frame that has only a JSON header and no numbers.
#[pyfunction]
pub fn lab_message<'py>(py: Python<'py>, header: &str) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &message(&json(header)?)))
}
