//! A queue discipline written in Python, as the engine drives it.
//!
//! The object has `enqueue(packet, line, out)` and `dequeue(line, out)`, which returns a packet, `tailback.Wait(t)` or
//! None. It may have `next_timer()`, `on_timer(line, out)` and `backlog()`. If it draws random numbers, it has
//! `seed(number)`, which is called once before anything else. The number depends only on the run and the port, so a
//! repeated run gives the same result whatever other threads do. The attributes that its `probes` names, with their
//! units, can be recorded. After every call the books of [`Out`] are checked: each packet must be at the place that the
//! discipline reports. An error ends only the run in which it occurs: the wrapper unwinds with a [`Refusal`], which the
//! plan turns into a failed row.

use crate::inside::Calls;
use crate::outlet::{Action, Line, Out, Wait, instant};
use crate::packet::{Held, Packet};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, ProbeDef, Stream, Time, work};
use tailback_queue::{Backlog, Line as EngineLine, Out as EngineOut, ProbeId, QueueDiscipline, Service};

pub struct PyQueue<P> {
    object: Py<PyAny>,
    out: Py<Out>,
    /// The port it serves, for messages.
    port: String,
    /// Whether the network of the port marks.
    marking: bool,
    /// The place where its calls are registered, so that a call that does not return can be ended.
    calls: Arc<Calls>,
    /// The attributes that can be recorded.
    probes: Vec<ProbeDef>,
    serial: u64,
    has_timer: bool,
    has_backlog: bool,
    /// Timer and backlog after the last call.
    timer: Option<Time>,
    backlog: Backlog,
    packets: PhantomData<fn() -> P>,
}

/// End the run with this message. This is not a panic, so the hook that prints panics is not called.
fn fail(port: &str, e: PyErr) -> ! {
    let problem = Python::attach(|py| format!("the Python queue at {port} failed: {}", describe(py, &e)));
    std::panic::resume_unwind(Box::new(Refusal::new(problem, "correct the discipline and run again")))
}

/// The exception, and the innermost line of Python code that raised it.
pub fn describe(py: Python, e: &PyErr) -> String {
    let name = e
        .get_type(py)
        .name()
        .map_or_else(|_| "an exception".to_string(), |n| n.to_string());
    let text = e.value(py).str().map_or_else(|_| String::new(), |s| s.to_string());
    let mut place = String::new();
    let mut traceback = e.traceback(py).map(Bound::into_any);
    while let Some(t) = traceback {
        let place_here = || -> PyResult<String> {
            let code = t.getattr("tb_frame")?.getattr("f_code")?;
            let (file, line) = (code.getattr("co_filename")?, t.getattr("tb_lineno")?);
            Ok(format!(" ({file}:{line}, in {})", code.getattr("co_name")?))
        };
        place = place_here().unwrap_or_default();
        traceback = t.getattr("tb_next").ok().filter(|n| !n.is_none());
    }
    if text.is_empty() {
        format!("{name}{place}")
    } else {
        format!("{name}: {text}{place}")
    }
}

/// The attributes that an object names in `probes`, with their units.
fn probes_of(object: &Bound<PyAny>) -> PyResult<Vec<ProbeDef>> {
    let Ok(probes) = object.getattr("probes") else {
        return Ok(vec![]);
    };
    let Ok(named) = probes.extract::<BTreeMap<String, String>>() else {
        let kind = probes.get_type().name()?.to_string();
        let rule = "probes is a dict of the attributes that can be recorded and their units";
        return Err(PyTypeError::new_err(format!("{rule}, not {kind}")));
    };
    let probe = |(name, unit): (String, String)| ProbeDef {
        name: lasting(name),
        unit: lasting(unit),
        doc: "an attribute of a discipline written in Python",
        per: "",
    };
    Ok(named.into_iter().map(probe).collect())
}

/// The text for as long as the process lasts; each text is stored once.
fn lasting(text: String) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept_errors = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match kept_errors.get(text.as_str()) {
        Some(text_kept) => text_kept,
        None => {
            let new: &'static str = Box::leak(text.into_boxed_str());
            kept_errors.insert(new);
            new
        }
    }
}

impl<P: Held> PyQueue<P> {
    /// Make the discipline with `factory`. Ends the run if that fails.
    pub fn make(factory: &Py<PyAny>, port: &str, marking: bool, stream: &mut Stream, calls: &Arc<Calls>) -> PyQueue<P> {
        match PyQueue::try_make(factory, port, marking, stream, calls) {
            Ok(q) => q,
            Err(e) => fail(port, e),
        }
    }

    pub fn try_make(
        factory: &Py<PyAny>,
        port: &str,
        marking: bool,
        stream: &mut Stream,
        calls: &Arc<Calls>,
    ) -> PyResult<PyQueue<P>> {
        Python::attach(|py| {
            let _inside = calls.enter(py);
            let object = factory.bind(py).call0()?;
            let has = |name: &str| object.getattr(name).is_ok_and(|f| f.is_callable());
            for name in ["enqueue", "dequeue"] {
                if !has(name) {
                    let kind = object.get_type().name()?.to_string();
                    return Err(PyTypeError::new_err(format!(
                        "{kind} is not a queue: it has no method {name}"
                    )));
                }
            }
            if has("seed") {
                object.call_method1("seed", (stream.bits(),))?;
            }
            Ok(PyQueue {
                probes: probes_of(&object)?,
                has_timer: has("next_timer"),
                has_backlog: has("backlog"),
                object: object.unbind(),
                out: Py::new(py, Out::new())?,
                port: port.to_string(),
                marking,
                calls: calls.clone(),
                serial: 0,
                timer: None,
                backlog: Backlog::default(),
                packets: PhantomData,
            })
        })
    }

    /// Call a method with the books open, check the books, and report its actions to the engine.
    fn call<T>(
        &mut self,
        line: &EngineLine,
        out: &mut dyn EngineOut<P>,
        method: impl FnOnce(&mut Self, Python, Bound<Line>) -> PyResult<T>,
    ) -> T {
        let began = Instant::now();
        let calls = self.calls.clone();
        let done = Python::attach(|py| -> PyResult<(T, Vec<Action>)> {
            let _inside = calls.enter(py);
            let view = Bound::new(py, Line::new(*line, self.marking))?;
            self.out.borrow_mut(py).open = true;
            let answer = method(self, py, view);
            let mut books = self.out.borrow_mut(py);
            books.open = false;
            let actions = std::mem::take(&mut books.actions);
            self.backlog = Backlog {
                packets: books.packets(),
                bytes: books.bytes(),
            };
            drop(books);
            let answer = answer?;
            if self.has_backlog {
                self.check_backlog(py)?;
            }
            if self.has_timer {
                self.timer = self
                    .object
                    .call_method0(py, "next_timer")?
                    .extract::<Option<f64>>(py)?
                    .map(instant);
            }
            Ok((answer, actions))
        });
        // The amount of work in a Python call is unknown, so the call is timed: a unit of work is about 10 ns.
        work::done(began.elapsed().as_nanos() as usize / 10);
        let (answer, actions) = match done {
            Ok(d) => d,
            Err(e) => fail(&self.port, e),
        };
        for a in actions {
            match a {
                Action::Dropped(c, place, why) => P::unwrap(c).into_iter().for_each(|p| out.dropped(p, place, why)),
                Action::Marked(c, why) => P::unwrap(c).into_iter().for_each(|p| out.marked(&p, why)),
                Action::Request(c, r) => P::unwrap(c).into_iter().for_each(|p| out.request(&p, r)),
                Action::Note(probe, index, value) => out.note(probe, index, value),
            }
        }
        answer
    }

    /// Compare the discipline's own count with the books.
    fn check_backlog(&self, py: Python) -> PyResult<()> {
        let answer = self.object.call_method0(py, "backlog")?;
        let answer = answer.bind(py);
        let (packets, bytes) = match answer.cast::<PyTuple>() {
            Ok(pair) => pair.extract::<(u64, u64)>().map(|(p, b)| (p, Some(b)))?,
            Err(_) => (answer.extract::<u64>()?, None),
        };
        let Backlog {
            packets: held,
            bytes: held_bytes,
        } = self.backlog;
        if packets == held && bytes.is_none_or(|b| b == held_bytes) {
            return Ok(());
        }
        let eldest = self
            .out
            .borrow(py)
            .eldest()
            .map_or(String::new(), |n| format!(", the eldest being number {n}"));
        Err(PyRuntimeError::new_err(match packets.cmp(&held) {
            std::cmp::Ordering::Less => format!(
                "backlog() says {packets} packets, but {held} were given to the queue and have not left{eldest}: a \
                 packet was \
                 lost (a packet leaves through dequeue or out.dropped)"
            ),
            std::cmp::Ordering::Greater => {
                format!(
                    "backlog() says {packets} packets, but the queue holds {held}: a packet that has left is still \
                     counted"
                )
            }
            std::cmp::Ordering::Equal => {
                format!(
                    "backlog() says {} bytes, but the {held} packets in the queue have {held_bytes}",
                    bytes.unwrap_or(0)
                )
            }
        }))
    }
}

impl<P: Held + 'static> QueueDiscipline<P> for PyQueue<P> {
    fn enqueue(&mut self, mut p: P, line: &EngineLine, out: &mut dyn EngineOut<P>) {
        p.set_stamp(line.now);
        self.call(line, out, |q, py, view| {
            q.serial += 1;
            let packet = q.out.borrow_mut(py).give(p.wrap(), q.serial, p.bytes());
            q.object.call_method1(py, "enqueue", (packet, view, &q.out)).map(|_| ())
        });
    }

    fn dequeue(&mut self, line: &EngineLine, out: &mut dyn EngineOut<P>) -> Service<P> {
        self.call(line, out, |q, py, view| {
            let answer = q.object.call_method1(py, "dequeue", (view, &q.out))?;
            let answer = answer.bind(py);
            if answer.is_none() {
                let books = q.out.borrow(py);
                if let Some(n) = books.eldest() {
                    return Err(PyRuntimeError::new_err(format!(
                        "dequeue() returned None, but {} packets that were given to the queue have not left, the \
                         eldest being \
                         number {n}: they are lost, or it should have returned tailback.Wait(t)",
                        books.packets()
                    )));
                }
                return Ok(Service::Empty);
            }
            if let Ok(w) = answer.cast::<Wait>() {
                let (until, now) = (w.get().until, line.now);
                // A time in seconds may be after now and yet round to this nanosecond. Then the next nanosecond is
                // used.
                return Ok(Service::Wait(match instant(until) {
                    t if t <= now && until > now.seconds() => now + Duration(1),
                    t => t,
                }));
            }
            let Ok(packet) = answer.cast::<Packet>() else {
                let kind = answer.get_type().name()?.to_string();
                return Err(PyTypeError::new_err(format!(
                    "dequeue() returns a packet, tailback.Wait(t) or None, not \
                                                         {kind}"
                )));
            };
            let content = q.out.borrow_mut(py).take(&packet.borrow())?;
            P::unwrap(content)
                .map(Service::Send)
                .ok_or_else(|| PyRuntimeError::new_err("a packet of another world"))
        })
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, line: &EngineLine, out: &mut dyn EngineOut<P>) {
        let due = self.timer;
        self.call(line, out, |q, py, view| {
            q.object.call_method1(py, "on_timer", (view, &q.out)).map(|_| ())
        });
        if due.is_some() && self.timer.is_some_and(|t| t <= line.now) {
            let t = self.timer.map_or(0.0, Time::seconds);
            let problem = format!(
                "after on_timer at {} s, next_timer() still says {t} s: time would stand still",
                line.now.seconds()
            );
            fail(&self.port, PyRuntimeError::new_err(problem));
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    /// The value of an attribute; a flag is 0 or 1, and None is no value.
    fn read(&self, probe: ProbeId, _index: u32) -> f64 {
        let Some(p) = self.probes.get(usize::from(probe.0)) else {
            return f64::NAN;
        };
        let read = Python::attach(|py| {
            let _inside = self.calls.enter(py);
            self.object.getattr(py, p.name)?.extract::<Option<f64>>(py)
        });
        match read {
            Ok(value) => value.unwrap_or(f64::NAN),
            Err(e) => fail(&self.port, e),
        }
    }

    fn sends_requests(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }
}
