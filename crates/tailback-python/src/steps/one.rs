//! One environment, in the thread that made it.
//!
//! A run may not change threads, but Python may use and release an object in any thread. The run therefore stays in a
//! table of the thread that made it, like a driven queue (`by_hand/queue.rs`).

use super::stepper::{StepTold, Stepper, Task, Weights, steered_library};
use crate::here::detached;
use crate::packet::next_identity;
use crate::scenario::{self, Scenario};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use tailback_base::quantity::parse_size;
use tailback_base::{Duration, Size};
use tailback_scenario as engine;

thread_local! {
    /// The runs of this thread.
    static RUNS: RefCell<HashMap<u64, Rc<RefCell<Stepper>>>> = RefCell::default();
}

/// Read a scenario of an environment: its congestion control may be `agent`.
#[pyfunction]
pub fn load_steered(py: Python, text: String, kind: &str, name: &str) -> PyResult<Scenario> {
    let library = steered_library();
    let loaded = py.detach(|| match kind {
        "path" => engine::load_file_with(&library, &text, &[]),
        "json" => engine::load_json_with(&library, &text, name, &[]),
        _ => engine::load_text_with(&library, &text, name, &[]),
    });
    let loaded = loaded.map_err(|e| scenario::error(py, e))?;
    Ok(Scenario {
        loaded: Arc::new(loaded),
    })
}

/// The task of an agent. It controls the queue at a port, if one is given; otherwise it controls its window or its
/// pacing rate, after each `interval_s` or, without an interval, after each ACK.
pub fn task(interval_s: Option<f64>, port: Option<String>, buffer: &str, by_rate: bool) -> PyResult<Task> {
    let interval = match interval_s {
        Some(s) if !(1e-6..=1e4).contains(&s) => {
            return Err(PyValueError::new_err(format!(
                "an interval is 1us to 10000s, not {s} s"
            )));
        }
        other => other.map(Duration::from_seconds),
    };
    match port {
        None => Ok(Task::Window { interval, by_rate }),
        Some(port) => Ok(Task::Queue {
            port,
            buffer: buffer_of(buffer)?,
            interval: interval
                .ok_or_else(|| PyValueError::new_err("an agent of a queue acts by interval; give one"))?,
        }),
    }
}

fn buffer_of(text: &str) -> PyResult<Size> {
    parse_size(text).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Numbers as bytes that numpy can read.
pub fn packed<'py>(py: Python<'py>, numbers: impl Iterator<Item = f32>) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.flat_map(f32::to_ne_bytes).collect();
    PyBytes::new(py, &bytes)
}

/// The observations, the reward, whether the scenario is over, and the facts.
type Reply<'py> = (Bound<'py, PyBytes>, f64, bool, [f64; 5]);

fn reply<'py>(py: Python<'py>, told: &StepTold) -> Reply<'py> {
    (
        packed(py, told.seen.iter().copied()),
        told.reward,
        told.over,
        told.facts,
    )
}

/// A run under an agent.
#[pyclass(frozen, module = "tailback._core")]
pub struct StepEnv {
    key: u64,
}

impl Drop for StepEnv {
    fn drop(&mut self) {
        // A thread that is ending no longer has a table.
        let taken = RUNS.try_with(|all| all.borrow_mut().remove(&self.key));
        drop(taken);
    }
}

impl StepEnv {
    /// `f` gets the run and a function that checks for Ctrl-C.
    fn with(
        &self,
        py: Python,
        f: impl FnOnce(&mut Stepper, &mut dyn FnMut() -> bool) -> Result<StepTold, String>,
    ) -> PyResult<StepTold> {
        let run = RUNS.with(|all| all.borrow().get(&self.key).cloned()).ok_or_else(|| {
            PyRuntimeError::new_err(
                "an environment belongs to the thread that made it; make it in the thread that uses it",
            )
        })?;
        let mut raised = None;
        let mut stop = || {
            raised = Python::attach(|py| py.check_signals().err());
            raised.is_some()
        };
        let reply = detached(py, || match run.try_borrow_mut() {
            Ok(mut run) => f(&mut run, &mut stop),
            Err(_) => Err("the environment is in the middle of a step".into()),
        });
        match raised {
            Some(e) => Err(e),
            None => reply.map_err(PyRuntimeError::new_err),
        }
    }
}

#[pymethods]
impl StepEnv {
    #[new]
    #[pyo3(signature = (scenarios, interval_s, weights, port = None, buffer = "1000 packets", by_rate = false))]
    fn new(
        scenarios: Vec<Bound<Scenario>>,
        interval_s: Option<f64>,
        weights: (f64, f64),
        port: Option<String>,
        buffer: &str,
        by_rate: bool,
    ) -> PyResult<StepEnv> {
        let loaded = scenarios.iter().map(|s| s.get().loaded.clone()).collect();
        let (delay, loss) = weights;
        let task = task(interval_s, port, buffer, by_rate)?;
        let stepper = Stepper::new(loaded, task, Weights { delay, loss }, steered_library());
        let key = next_identity();
        RUNS.with(|all| all.borrow_mut().insert(key, Rc::new(RefCell::new(stepper))));
        Ok(StepEnv { key })
    }

    /// Begin the scenario of this number with this seed.
    fn reset<'py>(&self, py: Python<'py>, which: usize, seed: u64) -> PyResult<Reply<'py>> {
        self.with(py, |s, _| s.reset(which, seed)).map(|t| reply(py, &t))
    }

    /// Act, and go on to the next instant at which the agent acts.
    fn step<'py>(&self, py: Python<'py>, action: Vec<f64>) -> PyResult<Reply<'py>> {
        self.with(py, move |s, stop| s.step(&action, stop))
            .map(|t| reply(py, &t))
    }
}
