//! Packets one by one: the kept runs of earlier questions, and the runs of new questions.

use super::state::{LabState, answered};
use super::{Stop, once};
use crate::scenario::parts;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::sync::Mutex;
use tailback_lab::frames::message;
use tailback_lab::packets::{PacketWatch, Packets, Question};
use tailback_scenario::memory;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::wire::tap::Names;

/// A question about a run of a state.
#[pyclass(frozen, module = "tailback._core")]
pub struct LabQuestion {
    question: Question,
}

#[pymethods]
impl LabQuestion {
    /// A question about an instant of the run of one discipline. Raises LabError if there is no such run or instant.
    #[staticmethod]
    fn about(py: Python, state: &LabState, side: usize, at: f64) -> PyResult<LabQuestion> {
        let question = answered(py, |reader| Question::about(&state.state, side, at, reader))?;
        Ok(LabQuestion { question })
    }

    /// A question about every instant of a run; None if the run is too long to be kept whole.
    #[staticmethod]
    fn about_all(py: Python, state: &LabState, side: usize) -> PyResult<Option<LabQuestion>> {
        let question = answered(py, |reader| Question::about_all(&state.state, side, reader))?;
        Ok(question.map(|question| LabQuestion { question }))
    }

    /// The most memory that its run takes, as parts like those of `Scenario.memory`.
    #[getter]
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        parts(py, &memory::bound(&self.question.until_its_end(), Library::standard()))
    }
}

/// The last runs.
#[pyclass(frozen, module = "tailback._core")]
#[derive(Default)]
pub struct LabPackets {
    packets: Mutex<Packets>,
}

impl LabPackets {
    fn held<T>(&self, use_it: impl FnOnce(&mut Packets) -> T) -> T {
        use_it(&mut self.packets.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[pymethods]
impl LabPackets {
    #[new]
    fn new() -> LabPackets {
        LabPackets::default()
    }

    /// Whether no run is needed for a question.
    fn has(&self, question: &LabQuestion) -> bool {
        self.held(|p| p.has(&question.question))
    }

    /// The frame of the answer; None if a run is needed for it.
    fn answer<'py>(&self, py: Python<'py>, question: &LabQuestion) -> Option<Bound<'py, PyBytes>> {
        let mut answer = self.held(|p| p.answer(&question.question))?;
        answer["do"] = "packets".into();
        Some(PyBytes::new(py, &message(&answer)))
    }

    /// Run the scenario of a question, and keep the observed events. Returns False if `stop` was set during the run.
    fn run(&self, py: Python, question: &LabQuestion, stop: &Stop) -> PyResult<bool> {
        let watch = PacketWatch::of(&question.question);
        let tap = |names: &Names| watch.tap(names);
        let hooks = Hooks {
            tap: Some(&tap),
            until: Some(watch.until),
            ..Hooks::default()
        };
        let Some(outcome) = once(py, &question.question.spec, stop, hooks)? else {
            return Ok(false);
        };
        let watched = watch.finish(&outcome);
        self.held(|p| p.keep(&question.question, watched));
        Ok(true)
    }
}
