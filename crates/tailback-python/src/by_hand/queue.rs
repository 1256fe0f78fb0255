//! A discipline driven by hand: Python makes the simulator's calls to a queue, one at a time.
//!
//! A discipline may not be able to change threads, but Python may use and release an object in any thread. The
//! discipline therefore stays in a table of the thread that made it, and the Python object stores its number in that
//! table. A call from another thread is refused. An object that is released in another thread leaves its discipline in
//! the table until the thread that made it ends.

use crate::discipline::PyQueue;
use crate::given;
use crate::outlet::{Wait, instant};
use crate::packet::{Content, Packet, given_packet, next_identity};
use crate::scenario::Scenario;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use tailback_base::quantity::Refusal;
use tailback_base::{Settings, Stream, Time};
use tailback_queue::server::ByHand;
use tailback_queue::testing::{Log, TestPacket};
use tailback_queue::{BuildContext, Line, ProbeId, QueueDiscipline, Registry, Service};
use tailback_sim::library::outside::is_outside;

thread_local! {
    /// The disciplines of this thread.
    static DRIVEN: RefCell<HashMap<u64, Rc<RefCell<Driven>>>> = RefCell::default();
}

/// A discipline with a clock and a line around it. Times are seconds; a call without a time happens at the present
/// instant.
#[pyclass(module = "tailback._core", frozen)]
pub struct DrivenQueue {
    /// The key in the table of the thread that made the object; no other thread has this number.
    key: u64,
}

impl Drop for DrivenQueue {
    fn drop(&mut self) {
        // A thread that is ending no longer has a table. The discipline is dropped only after the table is released.
        let taken = DRIVEN.try_with(|all| all.borrow_mut().remove(&self.key));
        drop(taken);
    }
}

impl DrivenQueue {
    /// Use the discipline, in its own thread.
    fn with<T>(&self, f: impl FnOnce(&mut Driven) -> PyResult<T>) -> PyResult<T> {
        let driven = DRIVEN.with(|all| all.borrow().get(&self.key).cloned()).ok_or_else(|| {
            PyRuntimeError::new_err(
                "a driven queue belongs to the thread that made it; call tailback.drive() in the thread that uses it",
            )
        })?;
        let mut driven = driven.try_borrow_mut().map_err(|_| {
            PyRuntimeError::new_err("the queue is in the middle of a call; its discipline cannot call it from inside")
        })?;
        f(&mut driven)
    }
}

struct Driven {
    by_hand: ByHand<Box<dyn QueueDiscipline<TestPacket>>>,
    /// The objects of the packets inside, by their identity.
    inside: HashMap<u64, Py<Packet>>,
    drops: Vec<(Py<Packet>, &'static str, &'static str)>,
    marks: Vec<(Py<Packet>, &'static str)>,
}

impl Driven {
    /// Call the discipline, and apply its reports to the packets' objects.
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

    /// Advance to an instant, running the timers that fall due, each at its own time.
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

    fn probe(&self, name: &str, index: u32) -> PyResult<f64> {
        let probes = self.by_hand.queue.probes();
        let i = probes.iter().position(|p| p.name == name).ok_or_else(|| {
            let names: Vec<&str> = probes.iter().map(|p| p.name).collect();
            PyKeyError::new_err(format!("there is no probe {name:?}; there are: {}", names.join(", ")))
        })?;
        Ok(self.by_hand.queue.read(ProbeId(i as u16), index))
    }
}

#[pymethods]
impl DrivenQueue {
    /// The queue of the scenario's first link, or the one `factory` makes.
    #[new]
    #[pyo3(signature = (scenario, seed = 1, factory = None))]
    fn new(
        scenario: &Bound<Scenario>,
        #[pyo3(from_py_with = given::count)] seed: u64,
        factory: Option<Py<PyAny>>,
    ) -> PyResult<DrivenQueue> {
        let spec = &scenario.get().loaded.spec;
        let link = spec
            .links
            .first()
            .ok_or_else(|| PyValueError::new_err("the scenario has no link"))?;
        let (rate, delay) = (link.forward.rate, link.forward.delay);
        let stream = Stream::new(seed, &format!("link.{}.queue", link.name));
        let raised = RefCell::new(None);
        // The class is the queue itself, or inside of a shaper.
        let handed = |queue: &Settings, at: &BuildContext| -> Option<Box<dyn QueueDiscipline<TestPacket>>> {
            let factory = factory.as_ref().filter(|_| is_outside(queue))?;
            let queue = PyQueue::try_make(
                factory,
                "hand",
                spec.marking.on,
                &mut at.stream.clone(),
                &Arc::default(),
            );
            queue
                .map_err(|e| raised.replace(Some(e)))
                .ok()
                .map(|queue| Box::new(queue) as _)
        };
        let context = BuildContext { stream, rate, delay };
        let queue = Registry::standard().build_with(&link.forward.queue, context, &handed);
        if let Some(e) = raised.take() {
            return Err(e);
        }
        let queue = queue.map_err(|e| PyValueError::new_err(e.to_string()))?;
        let driven = Driven {
            by_hand: ByHand::new(queue, rate),
            inside: HashMap::new(),
            drops: vec![],
            marks: vec![],
        };
        let key = next_identity();
        DRIVEN.with(|all| all.borrow_mut().insert(key, Rc::new(RefCell::new(driven))));
        Ok(DrivenQueue { key })
    }

    /// A packet arrives.
    #[pyo3(signature = (packet, now = None))]
    fn enqueue(
        &self,
        py: Python,
        #[pyo3(from_py_with = given_packet)] packet: Bound<Packet>,
        #[pyo3(from_py_with = given::number_or_none)] now: Option<f64>,
    ) -> PyResult<()> {
        self.with(|q| q.enqueue(py, packet, now))
    }

    /// The line is free: the next packet, `Wait(t)` if none may leave yet, or None if there is no packet.
    #[pyo3(signature = (now = None))]
    fn dequeue(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number_or_none)] now: Option<f64>,
    ) -> PyResult<Option<Py<PyAny>>> {
        self.with(|q| q.dequeue(py, now))
    }

    /// Let time pass until an instant.
    fn advance(&self, py: Python, #[pyo3(from_py_with = given::number)] now: f64) -> PyResult<()> {
        self.with(|q| q.go_to(py, Some(now)))
    }

    /// Time since the start, seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.with(|q| Ok(q.by_hand.now.seconds()))
    }

    /// The stored packets, as their number and their bytes.
    fn backlog(&self) -> PyResult<(u64, u64)> {
        self.with(|q| {
            let b = q.by_hand.queue.backlog();
            Ok((b.packets, b.bytes))
        })
    }

    /// The time at which the discipline next acts by itself; None for never.
    #[getter]
    fn next_timer(&self) -> PyResult<Option<f64>> {
        self.with(|q| Ok(q.by_hand.queue.next_timer().map(Time::seconds)))
    }

    /// The units of its probes, by name.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|q| {
            let dict = PyDict::new(py);
            for p in q.by_hand.queue.probes() {
                dict.set_item(p.name, p.unit)?;
            }
            Ok(dict)
        })
    }

    /// The present value of a probe; NaN if it has no value at this index.
    #[pyo3(signature = (name, index = 0))]
    fn probe(
        &self,
        #[pyo3(from_py_with = given::text)] name: &str,
        #[pyo3(from_py_with = given::word)] index: u32,
    ) -> PyResult<f64> {
        self.with(|q| q.probe(name, index))
    }

    /// Everything dropped so far: packet, place, reason.
    #[getter]
    fn drops(&self, py: Python) -> PyResult<Vec<(Py<Packet>, &'static str, &'static str)>> {
        self.with(|q| {
            let drops = q.drops.iter();
            Ok(drops.map(|(p, place, why)| (p.clone_ref(py), *place, *why)).collect())
        })
    }

    /// Everything marked so far: packet, reason.
    #[getter]
    fn marks(&self, py: Python) -> PyResult<Vec<(Py<Packet>, &'static str)>> {
        self.with(|q| Ok(q.marks.iter().map(|(p, why)| (p.clone_ref(py), *why)).collect()))
    }

    fn __len__(&self) -> PyResult<usize> {
        self.with(|q| Ok(q.by_hand.queue.backlog().packets as usize))
    }
}
