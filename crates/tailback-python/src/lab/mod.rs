//! The functions for a page that shows runs while its values change: a run that another thread can stop at any time,
//! the runs of a state and their picture, and packets one by one.

mod packets;
mod state;

use crate::results::RunTables;
use crate::scenario::Scenario;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::Outcome;
use tailback_sim::run::run;
use tailback_sim::spec::Spec;

/// The number of events between two checks of the flag: half a millisecond to two, so that a run ends long before 5 ms
/// are over.
const ASK_AFTER: NonZeroU32 = NonZeroU32::new(1 << 11).expect("it is not 0");

/// Stops runs. Such an object may be used from any thread, without waiting for the run.
#[pyclass(frozen, module = "tailback._core")]
#[derive(Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// From here on, every run with this flag ends without a result.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Run once, without the interpreter lock; `None` if it was stopped.
fn once(py: Python, spec: &Spec, stop: &Stop, hooks: Hooks) -> PyResult<Option<Outcome>> {
    // Hooks contain objects that must not change threads; only this thread calls them.
    struct Here<T>(T);
    // SAFETY: `detach` calls its argument on this thread, before it returns.
    unsafe impl<T> Send for Here<T> {}
    let flag = stop.flag.clone();
    let job = Here((hooks, spec));
    let ran = py.detach(move || {
        let job = job;
        let Here((hooks, spec)) = job;
        let goes_on = |_: f64| !flag.load(Ordering::Relaxed);
        let hooks = Hooks {
            progress: Some(&goes_on),
            ask_after: Some(ASK_AFTER),
            ..hooks
        };
        Here(catch_unwind(AssertUnwindSafe(|| run(spec, spec.seed, &hooks))))
    });
    match ran.0 {
        _ if stop.flag.load(Ordering::Relaxed) => Ok(None),
        Ok(Ok(outcome)) => Ok(Some(outcome)),
        Ok(Err(why)) => Err(PyRuntimeError::new_err(why.to_string())),
        Err(_) => Err(PyRuntimeError::new_err(
            "the engine stopped; please report this scenario",
        )),
    }
}

/// Run a scenario once on this thread, without the interpreter lock; None if `stop` was set meanwhile. Raises
/// RuntimeError for errors that appear only when the network is built.
#[pyfunction]
fn run_once(py: Python, scenario: &Scenario, stop: &Stop) -> PyResult<Option<RunTables>> {
    let loaded = scenario.loaded.clone();
    let outcome = once(py, &loaded.spec, stop, Hooks::default())?;
    Ok(outcome.map(RunTables::of))
}

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_class::<Stop>()?;
    m.add("LabError", m.py().get_type::<state::LabError>())?;
    m.add_class::<state::LabState>()?;
    m.add_class::<state::LabRun>()?;
    m.add_class::<packets::LabPackets>()?;
    m.add_class::<packets::LabQuestion>()?;
    m.add_function(wrap_pyfunction!(state::lab_digests, m)?)?;
    m.add_function(wrap_pyfunction!(state::lab_explicit, m)?)?;
    m.add_function(wrap_pyfunction!(state::lab_message, m)?)?;
    m.add_function(wrap_pyfunction!(state::lab_watched, m)?)?;
    m.add_function(wrap_pyfunction!(run_once, m)?)
}
