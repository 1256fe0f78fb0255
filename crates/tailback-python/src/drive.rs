//! A discipline driven by hand: what the simulator does to a queue, one call at a time, from Python.

use crate::discipline::PyQueue;
use crate::outlet::{Wait, instant};
use crate::packet::{Content, Packet};
use crate::scenario::Scenario;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailback_base::quantity::Refusal;
use tailback_base::{Stream, Time};
use tailback_queue::server::ByHand;
use tailback_queue::testing::{Log, TestPacket};
use tailback_queue::{BuildContext, Line, ProbeId, QueueDiscipline, Service, registry};

/// A discipline with a clock and a line around it. Times are seconds; without one, a call happens at the present instant.
#[pyclass(module = "tailback._core", unsendable)]
pub struct DrivenQueue {
    by_hand: ByHand<Box<dyn QueueDiscipline<TestPacket>>>,
    /// The objects of the packets inside, by their identity.
    inside: HashMap<u64, Py<Packet>>,
    drops: Vec<(Py<Packet>, &'static str, &'static str)>,
    marks: Vec<(Py<Packet>, &'static str)>,
}

impl DrivenQueue {
    /// Call the discipline, and put what it reported on the packets' objects.
    fn call<T>(
        &mut self,
        py: Python,
        f: impl FnOnce(&mut dyn QueueDiscipline<TestPacket>, &Line, &mut Log<TestPacket>) -> T,
    ) -> PyResult<T> {
        let line = self.by_hand.line();
        let mut log = Log::default();
        // A discipline written in Python unwinds with its message.
        let answer =
            catch_unwind(AssertUnwindSafe(|| f(&mut *self.by_hand.queue, &line, &mut log))).map_err(|e| match e
                .downcast::<Refusal>()
            {
                Ok(r) => PyRuntimeError::new_err(r.problem),
                Err(_) => PyRuntimeError::new_err("the discipline stopped; please report this"),
            })?;
        for (p, why) in log.marked {
            if let Some(o) = self.inside.get(&p.id) {
                o.borrow_mut(py).content = Content::Hand(p);
                self.marks.push((o.clone_ref(py), why.name()));
            }
        }
        for (p, place, why) in log.dropped {
            if let Some(o) = self.inside.remove(&p.id) {
                o.borrow_mut(py).content = Content::Hand(p);
                self.drops.push((o, place.name(), why.name()));
            }
        }
        Ok(answer)
    }

    /// Go on to an instant, running timers that fall due, each at its own.
    fn go_to(&mut self, py: Python, t: Option<f64>) -> PyResult<()> {
        let Some(t) = t else { return Ok(()) };
        if t.is_nan() || instant(t) < self.by_hand.now {
            return Err(PyValueError::new_err(format!(
                "time does not go back: it is {} s, not {t} s",
                self.by_hand.now.seconds()
            )));
        }
        let t = instant(t);
        while self.by_hand.to_next_timer(t) {
            self.call(py, |q, line, log| q.on_timer(line, log))?;
        }
        Ok(())
    }
}

#[pymethods]
impl DrivenQueue {
    /// The queue of the scenario's first link, or the one `factory` makes.
    #[new]
    #[pyo3(signature = (scenario, seed = 1, factory = None))]
    fn new(scenario: &Bound<Scenario>, seed: u64, factory: Option<Py<PyAny>>) -> PyResult<DrivenQueue> {
        let spec = &scenario.get().loaded.spec;
        let link = spec
            .links
            .first()
            .ok_or_else(|| PyValueError::new_err("the scenario has no link"))?;
        let (rate, delay) = (link.forward.rate, link.forward.delay);
        let mut stream = Stream::new(seed, &format!("link.{}.queue", link.name));
        let queue: Box<dyn QueueDiscipline<TestPacket>> = match factory {
            Some(f) => Box::new(PyQueue::try_make(&f, "hand", &mut stream)?),
            None => registry::build(&link.forward.queue, BuildContext { stream, rate, delay })
                .map_err(|e| PyValueError::new_err(e.to_string()))?,
        };
        Ok(DrivenQueue {
            by_hand: ByHand::new(queue, rate),
            inside: HashMap::new(),
            drops: vec![],
            marks: vec![],
        })
    }

    /// A packet arrives.
    #[pyo3(signature = (packet, now = None))]
    fn enqueue(&mut self, py: Python, packet: Bound<Packet>, now: Option<f64>) -> PyResult<()> {
        self.go_to(py, now)?;
        let Content::Hand(p) = packet.borrow().content else {
            return Err(PyValueError::new_err(
                "a packet of a simulation stays there; make one with tailback.packet()",
            ));
        };
        if self.inside.contains_key(&p.id) {
            return Err(PyValueError::new_err("this packet is in the queue already"));
        }
        self.inside.insert(p.id, packet.unbind());
        self.call(py, |q, line, log| q.enqueue(p, line, log))
    }

    /// The line is free: the next packet, `Wait(t)` when none may leave yet, or None when there is none.
    #[pyo3(signature = (now = None))]
    fn dequeue(&mut self, py: Python, now: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        self.go_to(py, now)?;
        Ok(match self.call(py, |q, line, log| q.dequeue(line, log))? {
            Service::Empty => None,
            Service::Wait(t) => Some(Py::new(py, Wait { until: t.seconds() })?.into_any()),
            Service::Send(p) => self.inside.remove(&p.id).map(|o| {
                o.borrow_mut(py).content = Content::Hand(p);
                o.into_any()
            }),
        })
    }

    /// Let time pass until an instant.
    fn advance(&mut self, py: Python, now: f64) -> PyResult<()> {
        self.go_to(py, Some(now))
    }

    /// Time since the start, seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.by_hand.now.seconds()
    }

    /// What is stored: packets and bytes.
    fn backlog(&self) -> (u64, u64) {
        let b = self.by_hand.queue.backlog();
        (b.packets, b.bytes)
    }

    /// When the discipline next acts by itself; None for never.
    #[getter]
    fn next_timer(&self) -> Option<f64> {
        self.by_hand.queue.next_timer().map(Time::seconds)
    }

    /// The units of its probes, by name.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = PyDict::new(py);
        for p in self.by_hand.queue.probes() {
            d.set_item(p.name, p.unit)?;
        }
        Ok(d)
    }

    /// The present value of a probe; NaN where it has none.
    #[pyo3(signature = (name, index = 0))]
    fn probe(&self, name: &str, index: u32) -> PyResult<f64> {
        let probes = self.by_hand.queue.probes();
        let i = probes.iter().position(|p| p.name == name).ok_or_else(|| {
            let names: Vec<&str> = probes.iter().map(|p| p.name).collect();
            PyKeyError::new_err(format!("there is no probe {name:?}; there are: {}", names.join(", ")))
        })?;
        Ok(self.by_hand.queue.read(ProbeId(i as u16), index))
    }

    /// Everything dropped so far: packet, place, reason.
    #[getter]
    fn drops(&self, py: Python) -> Vec<(Py<Packet>, &'static str, &'static str)> {
        self.drops
            .iter()
            .map(|(p, place, why)| (p.clone_ref(py), *place, *why))
            .collect()
    }

    /// Everything marked so far: packet, reason.
    #[getter]
    fn marks(&self, py: Python) -> Vec<(Py<Packet>, &'static str)> {
        self.marks.iter().map(|(p, why)| (p.clone_ref(py), *why)).collect()
    }

    fn __len__(&self) -> usize {
        self.by_hand.queue.backlog().packets as usize
    }
}
