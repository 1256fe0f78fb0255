//! Captures and traces, from Python: one run of a scenario that writes the events of its packets to a file.

use crate::control::library;
use crate::os_error::os_error;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use tailback_base::Time;
use tailback_base::model::with_nearest;
use tailback_base::quantity::Refusal;
use tailback_capture::pcapng::{Capture, Frame, write_frames};
use tailback_capture::trace::{PacketTrace, Traced};
use tailback_path::DatagramBytes;
use tailback_scenario::Loaded;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use tailback_sim::wire::tap::TapMaker;

/// Called a few times a second with the share of the run that is over; a false answer stops the run.
type Tell = Option<Py<PyAny>>;

/// Run once with this tap.
fn watch(loaded: &Loaded, make: TapMaker<'_>, tell: &Tell) -> PyResult<()> {
    // The reason for the stop: a signal, or the answer of the function.
    let stopped = Cell::new(None);
    let progress = |share: f64| {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            let Some(tell) = tell else { return Ok(true) };
            let answer = tell.call1(py, (share,))?;
            Ok(answer.is_none(py) || answer.is_truthy(py)?)
        });
        let why = match answer {
            Ok(true) => return true,
            Ok(false) => PyKeyboardInterrupt::new_err(()),
            Err(e) => e,
        };
        stopped.set(Some(why));
        false
    };
    let library_of_process = library(true);
    let hooks = Hooks {
        tap: Some(make),
        library: Some(&library_of_process),
        progress: Some(&progress),
        ..Hooks::default()
    };
    // A congestion control written in Python may unwind with its message.
    let ran = catch_unwind(AssertUnwindSafe(|| run(&loaded.spec, loaded.spec.seed, &hooks)));
    match ran.unwrap_or_else(|e| match e.downcast::<Refusal>() {
        Ok(refusal) => Err(*refusal),
        Err(bug) => resume_unwind(bug),
    }) {
        Ok(_) => Ok(()),
        Err(e) => Err(stopped.take().unwrap_or_else(|| PyRuntimeError::new_err(e.to_string()))),
    }
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> PyErr {
    let list: Vec<&str> = known.clone().take(20).collect();
    let remedy = with_nearest(name, known, &format!("one of {}", list.join(", ")));
    PyValueError::new_err(format!("the scenario has no {what} \"{name}\": {remedy}"))
}

/// Write the packets that arrive at the queue of a link, in both directions, as pcapng. Returns the number of packets.
#[pyfunction]
#[pyo3(signature = (scenario, link, path, tell=None))]
pub fn capture(py: Python, scenario: &Scenario, link: &str, path: PathBuf, tell: Tell) -> PyResult<u64> {
    let loaded = &*scenario.loaded;
    let links = loaded.spec.links.iter().map(|l| l.name.as_str());
    if !links.clone().any(|name| name == link) {
        return Err(unknown("link", link, links));
    }
    let failed = |e: io::Error| os_error(py, e, Some(path.clone()));
    let file = File::create(&path).map_err(failed)?;
    let written = py.detach(|| {
        let capture = Capture::new(link, file)?;
        let contents = Rc::new(DatagramBytes::keep());
        let tap = |names: &_| {
            let contents = contents.clone();
            capture.tap_with(names, Box::new(move |sequence| contents.of(sequence)))
        };
        let ran = watch(loaded, &tap, &tell);
        Ok(capture.finish().map(|packets| ran.map(|()| packets)))
    });
    written.and_then(|w| w).map_err(failed)?
}

/// Write the events of the packets of a flow, such as `bulk.0`, as lines of text; without a path, to standard output.
/// Returns the number of lines below the heading.
#[pyfunction]
#[pyo3(signature = (scenario, flow, path=None, tell=None))]
pub fn trace(py: Python, scenario: &Scenario, flow: &str, path: Option<PathBuf>, tell: Tell) -> PyResult<u64> {
    let loaded = &*scenario.loaded;
    let traced = traced(loaded, flow)?;
    let failed = |e: io::Error| os_error(py, e, path.clone());
    let out: Box<dyn Write + Send> = match &path {
        Some(path) => Box::new(File::create(path).map_err(failed)?),
        None => Box::new(io::stdout()),
    };
    let written = py.detach(|| {
        let trace = PacketTrace::new(traced.clone(), BufWriter::new(out))?;
        let ran = watch(loaded, &|names| trace.tap(names), &tell);
        let opened = trace.opened();
        Ok(trace
            .finish()
            .map(|lines| ran.and_then(|()| begun(&traced, opened).map(|()| lines))))
    });
    written.and_then(|w| w).map_err(failed)?
}

/// Whether the flow of a workload has begun.
fn begun(traced: &Traced, opened: u64) -> PyResult<()> {
    match traced {
        Traced::Opened { member, number } if *number >= opened => {
            let workload = member.trim_end_matches(".0");
            let text = format!("{workload}.{number} has not begun: {opened} flows of workload.{workload} have");
            Err(PyValueError::new_err(text))
        }
        _ => Ok(()),
    }
}

/// A flow that the scenario declares, or one of a workload by its number.
fn traced(loaded: &Loaded, name: &str) -> PyResult<Traced> {
    let groups = || loaded.spec.flows.iter();
    let workloads = || loaded.spec.workloads.iter().map(|w| w.name.as_str());
    let (group, index) = name.rsplit_once('.').unwrap_or((name, "0"));
    if let (true, Ok(number)) = (workloads().any(|w| w == group), index.parse()) {
        let member = format!("{group}.0");
        return Ok(Traced::Opened { member, number });
    }
    let Some(g) = groups().find(|g| g.name == group) else {
        let names: Vec<&str> = groups().map(|g| g.name.as_str()).chain(workloads()).collect();
        return Err(unknown("group of flows", group, names.iter().copied()));
    };
    match index.parse::<u32>() {
        Ok(i) if i < g.count => Ok(Traced::Declared(format!("{group}.{i}"))),
        _ => Err(PyValueError::new_err(format!(
            "group \"{group}\" has no flow \"{index}\": give {group}.0 to {group}.{}",
            g.count.saturating_sub(1)
        ))),
    }
}

/// Write packets to a pcapng file. Each packet has its time in nanoseconds, its bytes from the IP header on, and a
/// comment.
#[pyfunction]
pub fn write_pcapng(py: Python, path: PathBuf, interface: &str, packets: Vec<(u64, Vec<u8>, String)>) -> PyResult<()> {
    let frames = packets.into_iter().map(|(at, bytes, comment)| Frame {
        at: Time(at),
        bytes,
        comment,
    });
    let frames: Vec<Frame> = frames.collect();
    let written = File::create(&path).and_then(|file| write_frames(file, interface, &frames));
    written.map_err(|e| os_error(py, e, Some(path)))
}
