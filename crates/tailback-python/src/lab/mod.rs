//! What a page that shows runs while its values change needs: a run that another thread can stop at any time, its
//! series as a screen shows them, and the decisions of a queue around an instant.

use crate::results::RunTables;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailback_base::Time;
use tailback_capture::decisions::{DecidedWindow, DecisionEvent, Decisions, MOST_EVENTS};
use tailback_engine::build::hooks::Hooks;
use tailback_engine::results::Outcome;
use tailback_engine::results::screen::{Whole, lines, whole};
use tailback_engine::run::run;
use tailback_engine::spec::Spec;

/// Events between two looks at the flag: half a millisecond to two, so that a run ends long before 5 ms are over.
const ASK_AFTER: NonZeroU32 = NonZeroU32::new(1 << 11).expect("it is not 0");

/// Stops runs. It may be used from any thread, without waiting for the run.
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

    /// From here on, every run with it ends without a result.
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
    // Hooks hold what must not change threads; this thread alone calls it.
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
/// RuntimeError for what can only be known when the network is built.
#[pyfunction]
fn run_once(py: Python, scenario: &Scenario, stop: &Stop) -> PyResult<Option<RunTables>> {
    let loaded = scenario.loaded.clone();
    let outcome = once(py, &loaded.spec, stop, Hooks::default())?;
    Ok(outcome.map(RunTables::of))
}

/// A series as `screen` gives it: what, probe, index, and the bytes of times and values as 32-bit floats.
type Shown<'py> = (String, String, u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The recorded series of a run of these probes, at most four points in each of so many columns of a screen.
#[pyfunction]
fn screen<'py>(py: Python<'py>, run: &RunTables, columns: usize, probes: Vec<String>) -> PyResult<Vec<Shown<'py>>> {
    let table = run.engine_table("series")?;
    let wanted = |probe: &str| probes.iter().any(|p| p == probe);
    let shown = lines(table, columns, &wanted);
    let bytes = |all: &[f32]| {
        let flat: Vec<u8> = all.iter().flat_map(|x| x.to_le_bytes()).collect();
        PyBytes::new(py, &flat)
    };
    let shown = shown.iter().map(|l| {
        let (what, probe) = (l.what.to_string(), l.probe.to_string());
        (what, probe, l.index, bytes(&l.times), bytes(&l.values))
    });
    Ok(shown.collect())
}

/// What happened at a queue in a window of time; see `watch`.
#[pyclass(frozen, module = "tailback._core")]
pub struct Watched {
    window: DecidedWindow,
    /// The recorded probes of the port.
    probes: Vec<Whole>,
}

impl Watched {
    /// What each probe is at an instant; NaN before its first value.
    fn values(&self, now: f64) -> Vec<f64> {
        let value = |p: &Whole| match p.times.partition_point(|t| *t <= now) {
            0 => f64::NAN,
            seen => p.values[seen - 1],
        };
        self.probes.iter().map(value).collect()
    }
}

#[pymethods]
impl Watched {
    /// The names of the probes that were recorded.
    #[getter]
    fn probes(&self) -> Vec<String> {
        self.probes.iter().map(|p| p.probe.to_string()).collect()
    }

    /// The first and the last instant that it knows, seconds.
    #[getter]
    fn span(&self) -> (f64, f64) {
        let (from, to) = self.window.span();
        (from.seconds(), to.seconds())
    }

    /// What waits at an instant, as (flow, packets, bytes); the last events up to it, as (time, flow, sequence, bytes,
    /// what, place, reason, values of the probes), the oldest first; and the values of the probes at the instant.
    fn at<'py>(&self, py: Python<'py>, time_s: f64, last: usize) -> PyResult<AtInstant<'py>> {
        let (waiting, events) = self.window.at(instant(time_s)?, last);
        let flow = |(flow, (packets, bytes)): (&u32, &(u64, u64))| (self.window.name(*flow), *packets, *bytes);
        let waiting = waiting.iter().map(flow).collect();
        let row = |e: &DecisionEvent| {
            let [what, place, why] = e.what.words();
            let (name, now) = (self.window.name(e.flow), e.at.seconds());
            let values = self.values(now);
            (now, name, e.sequence, e.bytes, what, place, why, values).into_pyobject(py)
        };
        let events = events.iter().map(row).collect::<PyResult<_>>()?;
        Ok((waiting, events, self.values(time_s)))
    }
}

/// A flow with its waiting packets and bytes.
type WaitingFlow = (String, u64, u64);

/// What `Watched.at` gives back.
type AtInstant<'py> = (Vec<WaitingFlow>, Vec<Bound<'py, PyTuple>>, Vec<f64>);

fn instant(seconds: f64) -> PyResult<Time> {
    if seconds.is_finite() && (0.0..=1e9).contains(&seconds) {
        return Ok(Time((seconds * 1e9).round() as u64));
    }
    Err(PyValueError::new_err(format!(
        "{seconds} is no instant of a run; give seconds from its start"
    )))
}

/// Run a scenario up to `to_s`, and keep what happens at the queue of a port from `from_s` on, and what the scenario
/// records; None if `stop` was set meanwhile. If too much happens for all to be kept, what is `around` an instant is.
#[pyfunction]
#[pyo3(signature = (scenario, port, from_s, to_s, stop, around = None))]
fn watch(
    py: Python,
    scenario: &Scenario,
    port: &str,
    from_s: f64,
    to_s: f64,
    stop: &Stop,
    around: Option<f64>,
) -> PyResult<Option<Watched>> {
    let mut spec = scenario.loaded.spec.clone();
    spec.warmup = tailback_base::Duration(0);
    let (from, to) = (instant(from_s)?, instant(to_s)?);
    let around = around.map(instant).transpose()?.unwrap_or(from);
    let decisions = Decisions::new(port, (from, to), around, MOST_EVENTS);
    let make = |names: &tailback_engine::wire::tap::Names| decisions.tap(names);
    let hooks = Hooks {
        tap: Some(&make),
        until: Some(to),
        ..Hooks::default()
    };
    let Some(outcome) = once(py, &spec, stop, hooks)? else {
        return Ok(None);
    };
    Ok(Some(Watched {
        window: decisions.finish(),
        probes: whole(&outcome["series"], &|_| true),
    }))
}

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_class::<Stop>()?;
    m.add_class::<Watched>()?;
    m.add_function(wrap_pyfunction!(run_once, m)?)?;
    m.add_function(wrap_pyfunction!(screen, m)?)?;
    m.add_function(wrap_pyfunction!(watch, m)?)
}
