//! A transport written in Python, as both ends of connections: a class, whose objects are the ends.
//!
//! The class is called with the connection (`StackPair`) and its own parameters. The object has `receive(data, ecn,
//! now)` and `transmit(now)`, which gives the bytes of a datagram, a pair of bytes and ECN codepoint, or None. It may
//! have the methods `start(now)`, `on_timeout(now)`, `write(amount, now)` and `close(now)`, and the attributes
//! `timeout`, `delivered`, `acknowledged`, `connected`, `closed_by_peer`, `closed` and `speaks_first`. It is the
//! contract of [`tailback_path::Endpoint`], call for call. Times are seconds. The class may have the attribute
//! `header`: bytes on the wire in addition to the data, 28 for IPv4 and UDP.
//!
//! An error ends only the run in which it occurs: the wrapper unwinds with a [`Refusal`], which the plan turns into a
//! failed row.
//!
//! Cost: a call takes about a microsecond beside the Python code itself; a datagram takes some six.

use crate::control::{ControlClass, calls_here, class_of};
use crate::discipline::describe;
use crate::inside::Calls;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tailback_base::model::Value;
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, ProbeDef, Settings, Time, work};
use tailback_path::{Amount, Datagram, Endpoint, Pair, connection};
use tailback_transport::Connection;

/// The largest datagram with its header: IPv4's.
const LARGEST: usize = 65_535;
/// So often may an end be called at one instant without sending: then it stands still.
const PATIENCE: u32 = 10_000;

/// The connection that an object is an end of.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct StackPair {
    /// Whether it is the end that opens the connection.
    first: bool,
    /// Counts the connections of its group, or of its sessions, in the order in which they are made, from 0.
    number: u32,
    /// Depends on the run's seed, the connection and the end: what a generator of random numbers begins with.
    seed: u64,
}

/// Which optional methods the object has.
#[derive(Clone, Copy)]
struct StackMethods {
    start: bool,
    on_timeout: bool,
    write: bool,
    close: bool,
}

/// One end.
pub struct ScriptedEnd {
    object: Py<PyAny>,
    class: Arc<ControlClass>,
    has: StackMethods,
    header: u32,
    calls: Arc<Calls>,
    now: Time,
    /// Calls at this instant since it has sent something.
    idle: u32,
}

fn failed(class: &str, method: &str, now: Time, what: &str) -> Refusal {
    let problem = format!("{class}.{method} failed ({} s into the run): {what}", now.seconds());
    Refusal::new(problem, "correct the stack and run again")
}

/// The instant of so many seconds, never earlier.
fn instant(seconds: f64) -> Time {
    if seconds.is_nan() || seconds >= 1e9 {
        return Time::NEVER;
    }
    let ns = (seconds.max(0.0) * 1e9).ceil() as u64;
    Time(ns + u64::from((ns as f64 / 1e9) < seconds))
}

impl ScriptedEnd {
    /// An object of the class.
    ///
    /// # Errors
    /// The class raises, or its object does not fulfil the contract.
    fn make(class: &Arc<ControlClass>, settings: &Settings, pair: Pair, first: bool) -> Result<ScriptedEnd, Refusal> {
        let name = class.name();
        let Some(factory) = &class.class else {
            return Err(Refusal::new(
                format!("the transport is the Python class {name}, and the run is not given it"),
                "run it where the class is: transport=tb.stack(CLASS), or \"FILE.py:CLASS\"",
            ));
        };
        let calls = calls_here();
        Python::attach(|py| {
            let _inside = calls.enter(py);
            let raised = |e: PyErr| failed(name, "__init__", Time::ZERO, &describe(py, &e));
            let of = StackPair {
                first,
                number: pair.number,
                seed: pair.seed ^ u64::from(first),
            };
            let own = own_parameters(py, settings).map_err(raised)?;
            let object = factory.bind(py).call((of,), Some(&own)).map_err(raised)?;
            let header = match object.getattr_opt(intern!(py, "header")).map_err(raised)? {
                None => 28,
                Some(value) => value.extract::<u32>().ok().filter(|b| *b <= 1000).ok_or_else(|| {
                    let problem = format!("{name} has header = {value}");
                    Refusal::new(problem, "give the bytes of the headers around its data, 0 to 1000")
                })?,
            };
            let has = |method: &str| object.getattr(method).is_ok_and(|m| m.is_callable());
            Ok(ScriptedEnd {
                has: StackMethods {
                    start: has("start"),
                    on_timeout: has("on_timeout"),
                    write: has("write"),
                    close: has("close"),
                },
                object: object.clone().unbind(),
                class: class.clone(),
                header,
                calls: calls.clone(),
                now: Time::ZERO,
                idle: 0,
            })
        })
    }

    fn fail(refusal: Refusal) -> ! {
        std::panic::resume_unwind(Box::new(refusal))
    }

    /// Call into Python.
    fn call<T>(&mut self, method: &'static str, now: Time, f: impl FnOnce(&Bound<PyAny>) -> PyResult<T>) -> T {
        let began = Instant::now();
        self.idle = if now > self.now { 0 } else { self.idle + 1 };
        self.now = now;
        if self.idle > PATIENCE {
            let problem = format!("{} stands still {} s into the run", self.class.name(), now.seconds());
            let remedy = "its timeout is not later than now, and on_timeout and transmit change nothing; let \
                          on_timeout move the timeout";
            ScriptedEnd::fail(Refusal::new(problem, remedy));
        }
        let calls = self.calls.clone();
        let done = Python::attach(|py| {
            let _inside = calls.enter(py);
            f(self.object.bind(py)).map_err(|e| failed(self.class.name(), method, now, &describe(py, &e)))
        });
        // The amount of work in a Python call is unknown, so it is timed: a unit of work is about 10 ns.
        work::done(began.elapsed().as_nanos() as usize / 10);
        done.unwrap_or_else(|refusal| ScriptedEnd::fail(refusal))
    }

    /// An attribute that may be missing; `None` stands for a missing one, too.
    fn ask<T: for<'a, 'py> FromPyObject<'a, 'py>>(&self, what: &'static str) -> Option<T> {
        let answer = Python::attach(|py| {
            let _inside = self.calls.enter(py);
            let raised = |e: PyErr| failed(self.class.name(), what, self.now, &describe(py, &e));
            let value = self.object.bind(py).getattr_opt(what).map_err(raised)?;
            let Some(value) = value.filter(|v| !v.is_none()) else {
                return Ok(None);
            };
            let read = value.extract::<T>();
            read.map(Some).map_err(|_| {
                let problem = format!(
                    "{} has {what} = {value} ({} s into the run)",
                    self.class.name(),
                    self.now.seconds()
                );
                Refusal::new(problem, "give a value of the type that the contract asks for, or None")
            })
        });
        answer.unwrap_or_else(|refusal| ScriptedEnd::fail(refusal))
    }

    /// A datagram that `transmit` gave.
    fn datagram(&self, given: &Bound<PyAny>) -> Result<Datagram<Rc<Py<PyBytes>>>, Refusal> {
        let unfit = || {
            let name = self.class.name();
            let kind = given
                .get_type()
                .qualname()
                .map_or_else(|_| "a value".into(), |n| n.to_string());
            let problem = format!("{name}.transmit gives {kind} ({} s into the run)", self.now.seconds());
            let remedy = "give bytes, a pair of bytes and ECN codepoint (0 to 3), or None";
            Refusal::new(problem, remedy)
        };
        let (data, ecn) = match given.cast::<PyTuple>() {
            Ok(pair) => pair.extract::<(Bound<PyBytes>, u8)>().map_err(|_| unfit())?,
            Err(_) => (given.cast::<PyBytes>().map_err(|_| unfit())?.clone(), 0),
        };
        let bytes = data.as_bytes().len() + self.header as usize;
        if ecn > 3 || bytes == 0 {
            return Err(unfit());
        }
        if bytes > LARGEST {
            let problem = format!("{}.transmit gives a datagram of {bytes} B", self.class.name());
            return Err(Refusal::new(problem, "give at most 65535 B, headers included"));
        }
        Ok(Datagram {
            data: Rc::new(data.unbind()),
            bytes: bytes as u32,
            ecn: Ecn::from_bits(ecn),
        })
    }
}

/// The parameters of the class that the scenario gives.
fn own_parameters<'py>(py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let own = PyDict::new(py);
    for p in settings.model.params {
        match settings.value(p.name) {
            Value::Flag(b) => own.set_item(p.name, *b)?,
            Value::Count(n) => own.set_item(p.name, *n)?,
            Value::Real(x) => own.set_item(p.name, *x)?,
            Value::Text(t) => own.set_item(p.name, t)?,
            // The class has its own default.
            _ => {}
        }
    }
    Ok(own)
}

impl Endpoint for ScriptedEnd {
    type Data = Rc<Py<PyBytes>>;

    fn start(&mut self, now: Time) {
        if self.has.start {
            self.call("start", now, |o| o.call_method1("start", (now.seconds(),)).map(drop));
        }
    }

    fn speaks_first(&self) -> bool {
        self.ask("speaks_first").unwrap_or(false)
    }

    fn receive(&mut self, data: Rc<Py<PyBytes>>, ecn: Ecn, now: Time) {
        self.call("receive", now, |o| {
            let data = data.bind(o.py());
            o.call_method1(intern!(o.py(), "receive"), (data, ecn as u8, now.seconds()))
                .map(drop)
        });
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<Rc<Py<PyBytes>>>> {
        let given = self.call("transmit", now, |o| {
            let given = o.call_method1(intern!(o.py(), "transmit"), (now.seconds(),))?;
            Ok((!given.is_none()).then(|| given.unbind()))
        })?;
        self.idle = 0;
        let datagram = Python::attach(|py| self.datagram(given.bind(py)));
        Some(datagram.unwrap_or_else(|refusal| ScriptedEnd::fail(refusal)))
    }

    fn timeout(&self) -> Option<Time> {
        self.ask("timeout").map(instant).filter(|t| *t != Time::NEVER)
    }

    fn on_timeout(&mut self, now: Time) {
        if self.has.on_timeout {
            self.call("on_timeout", now, |o| {
                o.call_method1(intern!(o.py(), "on_timeout"), (now.seconds(),))
                    .map(drop)
            });
        }
    }

    fn delivered(&self) -> u64 {
        self.ask("delivered").unwrap_or(0)
    }

    fn write(&mut self, amount: Amount, now: Time) {
        if self.has.write {
            let bytes = match amount {
                Amount::Bytes(n) => Some(n),
                Amount::Unlimited => None,
            };
            self.call("write", now, |o| {
                o.call_method1("write", (bytes, now.seconds())).map(drop)
            });
        }
    }

    fn close(&mut self, now: Time) {
        if self.has.close {
            self.call("close", now, |o| o.call_method1("close", (now.seconds(),)).map(drop));
        }
    }

    fn is_connected(&self) -> bool {
        self.ask("connected").unwrap_or(true)
    }

    fn acknowledged(&self) -> Option<u64> {
        self.ask("acknowledged")
    }

    fn is_closed_by_peer(&self) -> bool {
        self.ask("closed_by_peer").unwrap_or(false)
    }

    fn is_closed(&self) -> bool {
        self.ask("closed").unwrap_or(true)
    }

    fn probes(&self) -> &'static [ProbeDef] {
        self.class.model.probes
    }

    fn read(&self, probe: usize) -> f64 {
        let probe = self.class.model.probes.get(probe);
        probe.and_then(|p| self.ask(p.name)).unwrap_or(f64::NAN)
    }
}

/// Connections whose ends are objects of the class of these settings.
///
/// # Errors
/// It is no class of this process.
pub fn connections(settings: &Settings) -> Result<Connection, Refusal> {
    let class = class_of(settings.model).ok_or_else(|| {
        Refusal::new(
            format!("{} is no class of this process", settings.model.name),
            "read the scenario again",
        )
    })?;
    let settings = settings.clone();
    Ok(connection(move |pair| {
        let end = |first| match ScriptedEnd::make(&class, &settings, pair, first) {
            Ok(end) => Rc::new(RefCell::new(end)),
            // Not a panic: the hook that prints panics is not called. Who drives the run makes a message of it.
            Err(refusal) => std::panic::resume_unwind(Box::new(refusal)),
        };
        (end(true), end(false))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `now` in seconds is never before the timeout that was asked for.
    #[test]
    fn a_timeout_is_never_early() {
        for k in 0..100_000u64 {
            let seconds = k as f64 * 0.123_456_789 + 1.0 / (k + 3) as f64;
            let at = instant(seconds);
            assert!(at.seconds() >= seconds && at.seconds() - seconds < 3e-9, "{seconds}");
        }
        assert_eq!([instant(-1.0), instant(f64::INFINITY)], [Time::ZERO, Time::NEVER]);
    }
}
