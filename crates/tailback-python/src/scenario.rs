//! Scenarios: reading them from a file, text, JSON or a dict, and their errors.

use crate::control;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use tailback_base::Settings;
use tailback_base::quantity::Refusal;
use tailback_queue::marking;
use tailback_queue::shaped::innermost;
use tailback_scenario::document::Document;
use tailback_scenario::memory;
use tailback_scenario::{self as engine, Loaded};
use tailback_sim::change::Values;
use tailback_sim::spec::{MarkingBecause, Spec};
use tailback_transport::tcp::ControlChange;

create_exception!(
    tailback._core,
    ScenarioError,
    PyValueError,
    "A scenario cannot be run. The text says where and what to write instead; `problems` has the same as data.\n\n\
     >>> try:\n\
     ...     tb.load_scenario(tb.dumbbell(queue='codle'), ['duration=2s'])\n\
     ... except tb.ScenarioError as e:\n\
     ...     e.problems[0]['key'], e.problems[0]['nearest']\n\
     ('topology.queue.kind', 'codel')"
);

/// The engine's error as a Python exception.
pub fn error(py: Python, e: engine::ScenarioError) -> PyErr {
    let err = ScenarioError::new_err(e.to_string());
    let problems = PyList::empty(py);
    let fill = || -> PyResult<()> {
        for p in &e.problems {
            let dict = PyDict::new(py);
            dict.set_item("code", p.code)?;
            dict.set_item("key", &p.key)?;
            dict.set_item("value", &p.value)?;
            dict.set_item("problem", &p.problem)?;
            dict.set_item("allowed", &p.allowed)?;
            dict.set_item("nearest", &p.nearest)?;
            dict.set_item("remedy", &p.remedy)?;
            dict.set_item("line", p.place.line)?;
            dict.set_item("column", p.place.column)?;
            problems.append(dict)?;
        }
        err.value(py).setattr("file", &e.file)?;
        err.value(py).setattr("problems", &problems)
    };
    match fill() {
        Ok(()) => err,
        Err(other) => other,
    }
}

/// The line of a key in TOML text, for messages about files that are not scenarios.
#[pyfunction]
pub fn toml_line(text: &str, path: &str) -> Option<usize> {
    Document::from_toml(text, "").ok()?.line_of(path)
}

/// A scenario that has been read and checked.
///
/// >>> lab = tb.load_scenario(tb.dumbbell(flows=2, queue="codel"), ["duration=2s"])
/// >>> lab.duration_s, lab.seed
/// (2.0, 1)
#[pyclass(frozen, module = "tailback._core")]
pub struct Scenario {
    pub loaded: Arc<Loaded>,
}

/// Read scenarios without the interpreter lock. A scenario may change to a congestion control written in Python. Then
/// the code point of its segments is read from the class, and an exception of the class unwinds from there.
pub fn unlocked<T: Send>(py: Python, read: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(read)));
    done.or_else(|unwound| match unwound.downcast::<Refusal>() {
        Ok(refusal) => Err(ScenarioError::new_err(format!("error: {refusal}"))),
        Err(other) => resume_unwind(other),
    })
}

/// Read a scenario. `kind` says what `source` is: `path`, `toml` or `json` text. With `classes` the scenario may name
/// Python classes as queues; the caller passes them to the run, or does not need them.
#[pyfunction]
#[pyo3(signature = (source, kind, name = "scenario", overrides = vec![], classes = false))]
pub fn load(
    py: Python,
    source: &Bound<PyAny>,
    kind: &str,
    name: &str,
    overrides: Vec<String>,
    classes: bool,
) -> PyResult<Scenario> {
    let library = control::library(classes);
    // A path may contain bytes that are not UTF-8.
    let (path, text): (PathBuf, String) = match kind {
        "path" => (source.extract()?, String::new()),
        _ => (PathBuf::new(), source.extract()?),
    };
    let read = || match kind {
        "path" => engine::load_file_with(&library, &path, &overrides),
        "json" => engine::load_json_with(&library, &text, name, &overrides),
        _ => engine::load_text_with(&library, &text, name, &overrides),
    };
    unlocked(py, read)?
        .map(|l| Scenario { loaded: Arc::new(l) })
        .map_err(|e| error(py, e))
}

/// The parts of a bound of memory as dicts.
pub fn parts<'py>(py: Python<'py>, bound: &[memory::MemoryPart]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for p in bound {
        let row = PyDict::new(py);
        row.set_item("key", &p.key)?;
        row.set_item("bytes", p.bytes)?;
        row.set_item("kept", p.kept)?;
        list.append(row)?;
    }
    Ok(list)
}

/// The transports of flows and sessions, and the controls that they change to.
pub fn transports(s: &Spec) -> Vec<&Settings> {
    let changes = s.flows.iter().flat_map(|g| &g.changes).filter_map(|c| match &c.to {
        Values::Congestion(to) => Some(to),
        _ => None,
    });
    let own = s.flows.iter().map(|g| &g.transport);
    let of_sessions = s.sessions.iter().map(|g| &g.transport);
    let of_workloads = s.workloads.iter().map(|w| &w.transport);
    own.chain(of_sessions)
        .chain(of_workloads)
        .chain(changes.flatten().map(ControlChange::control))
        .collect()
}

#[pymethods]
impl Scenario {
    /// The scenario's own name; empty if it has none.
    #[getter]
    fn name(&self) -> &str {
        &self.loaded.spec.name
    }

    /// The scenario as TOML: as given, or written anew after overrides.
    #[getter]
    fn toml(&self) -> &str {
        &self.loaded.toml
    }

    /// The scenario as JSON text with sorted keys, after overrides.
    #[getter]
    fn json(&self) -> String {
        self.loaded.document.to_string()
    }

    /// 32 hexadecimal digits that depend on everything except the seed.
    #[getter]
    fn digest(&self) -> &str {
        &self.loaded.digest
    }

    /// Settings that are allowed but are probably mistakes.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.loaded.warnings.clone()
    }

    /// The loads of workloads at each layer of the topology, as dicts: the `workload`, the `layer`, and the `load`,
    /// which is payload divided by what the layer's links carry in one direction.
    #[getter]
    fn loads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for l in &self.loaded.loads {
            let row = PyDict::new(py);
            row.set_item("workload", &l.workload)?;
            row.set_item("layer", &l.layer)?;
            row.set_item("load", l.load)?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// Values that depend on the path, such as `"0.5 bdp"`, as dicts: the `key`, the text `written` there, its `value`,
    /// and the numbers from which the value was computed (`because`).
    #[getter]
    fn settled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for s in &self.loaded.settled {
            let row = PyDict::new(py);
            row.set_item("key", &s.key)?;
            row.set_item("written", &s.written)?;
            row.set_item("value", &s.value)?;
            row.set_item("because", &s.because)?;
            list.append(row)?;
        }
        Ok(list)
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.loaded.spec.duration.seconds()
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        self.loaded.spec.warmup.seconds()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.loaded.spec.seed
    }

    /// A summary as a dict: links with rates, delays and queues, groups of flows with counts.
    #[getter]
    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let s = &self.loaded.spec;
        let links = PyList::empty(py);
        for l in &s.links {
            for (direction, suffix, from, to) in [
                (&l.forward, "", &l.from, &l.to),
                (&l.reverse, ".reverse", &l.to, &l.from),
            ] {
                let row = PyDict::new(py);
                row.set_item("name", format!("{}{suffix}", l.name))?;
                row.set_item("from", from)?;
                row.set_item("to", to)?;
                row.set_item("rate_bps", direction.rate.bits_per_second())?;
                row.set_item("delay_s", direction.delay.seconds())?;
                row.set_item("queue", direction.queue.model.name)?;
                let queue = innermost(&direction.queue);
                let buffer = queue.model.param("buffer").map(|p| queue.size(p.name).to_string());
                row.set_item("buffer", buffer.unwrap_or_default())?;
                links.append(row)?;
            }
        }
        let flows = PyList::empty(py);
        for g in &s.flows {
            let row = PyDict::new(py);
            row.set_item("name", &g.name)?;
            row.set_item("count", g.count)?;
            row.set_item("from", &g.from)?;
            row.set_item("to", &g.to)?;
            row.set_item("transport", g.transport.model.name)?;
            let payload = &tailback_transport::tcp::params::PAYLOAD;
            let of_tcp = std::ptr::eq(g.transport.model, &tailback_transport::tcp::MODEL);
            row.set_item("segment_bytes", of_tcp.then(|| g.transport.get(payload)))?;
            row.set_item("traffic", g.traffic.model.name)?;
            flows.append(row)?;
        }
        let dict = PyDict::new(py);
        dict.set_item("name", &s.name)?;
        dict.set_item("duration_s", s.duration.seconds())?;
        dict.set_item("warmup_s", s.warmup.seconds())?;
        dict.set_item("seed", s.seed)?;
        dict.set_item("links", links)?;
        dict.set_item("flows", flows)?;
        Ok(dict)
    }

    /// The most memory that a run takes: parts as dicts, the largest first. Each part has the `key` that causes it, its
    /// `bytes`, and how many of these are `kept` with its tables.
    #[getter]
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        parts(py, &memory::bound(&self.loaded.spec, &control::library(true)))
    }

    /// The congestion controls and stacks written in Python that it names, and their classes; None if the class is not
    /// available.
    #[getter]
    fn controls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for class in control::classes_in(transports(&self.loaded.spec)) {
            dict.set_item(class.name(), class.class.as_ref().map(|c| c.clone_ref(py)))?;
        }
        Ok(dict)
    }

    /// The classes of disciplines written in Python that it names.
    #[getter]
    fn queue_classes(&self) -> Vec<String> {
        let mut names: Vec<String> = tailback_sim::library::outside::named(&self.loaded.spec)
            .map(|(_, class)| class)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether queues mark ECN-capable packets instead of dropping them. The dict has `on` and `because` for the
    /// network, `given` if the scenario itself says so, and for each port whether its queue `marks` and the value of
    /// its own `ecn`.
    #[getter]
    fn marking<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let s = &self.loaded.spec;
        let ports = PyList::empty(py);
        for l in &s.links {
            for (direction, suffix) in [(&l.forward, ""), (&l.reverse, ".reverse")] {
                let row = PyDict::new(py);
                row.set_item("name", format!("{}{suffix}", l.name))?;
                row.set_item("queue", direction.queue.model.name)?;
                row.set_item("marks", marking::marks(&direction.queue))?;
                let own: Vec<String> = marking::own(&direction.queue).into_iter().map(|(_, ecn)| ecn).collect();
                row.set_item("own", own)?;
                ports.append(row)?;
            }
        }
        let dict = PyDict::new(py);
        dict.set_item("on", s.marking.on)?;
        dict.set_item("given", s.marking.because == MarkingBecause::Given)?;
        dict.set_item("because", s.marking.to_string())?;
        dict.set_item("ports", ports)?;
        Ok(dict)
    }

    fn __eq__(&self, other: &Scenario) -> bool {
        self.digest() == other.digest() && self.seed() == other.seed() && self.name() == other.name()
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.digest()[..16], 16).unwrap_or_default()
    }

    /// Pickle the scenario as its text. Classes in it need not be available where it is read again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str, &str))> {
        let read_again = py.import("tailback.core.scenario.read")?.getattr("again")?;
        let name = if self.name().is_empty() {
            "scenario"
        } else {
            self.name()
        };
        Ok((read_again, (self.toml(), name)))
    }

    fn __repr__(&self) -> String {
        let s = &self.loaded.spec;
        let flows: u64 = s.flows.iter().map(|g| u64::from(g.count)).sum();
        let name = if s.name.is_empty() { "unnamed" } else { &s.name };
        format!(
            "<Scenario {name}: {} links, {flows} flows, {} s, seed {}>",
            s.links.len(),
            s.duration.seconds(),
            s.seed
        )
    }
}
