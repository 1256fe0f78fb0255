//! A transport written in Python, as both ends of connections: a class, whose objects are the ends.
//!
//! The class is called with the connection (`StackPair`) and its own parameters. The object has
//! `receive(data, ecn, now)` and `transmit(now)`. The latter returns the bytes of a datagram, a pair of bytes and ECN
//! codepoint, or None. It may have the methods `start(now)`, `on_timeout(now)`, `write(amount, now)` and `close(now)`,
//! and the attributes `timeout`, `delivered`, `acknowledged`, `connected`, `closed_by_peer`, `closed` and
//! `speaks_first`. It is the contract of [`tailback_path::Endpoint`], call for call. Times are seconds. The class may
//! have the attribute `header`: bytes on the wire in addition to the data, 28 for IPv4 and UDP.
//!
//! An error ends only the run in which it occurs: the wrapper unwinds with a [`Refusal`], which the plan turns into a
//! failed row.
//!
//! Cost: a call takes about a microsecond in addition to the Python code itself; a datagram takes about six
//! microseconds.

use crate::control::{OwnClass, OwnObject, enter, fail, made, shown};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, ProbeDef, Settings, Time};
use tailback_path::{Amount, Datagram, Endpoint, Pair, connection};
use tailback_sim::library::outside::STACK_HEADER;
use tailback_transport::Connection;

/// The connection of which an object is an end.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct StackPair {
    /// Whether it is the end that opens the connection.
    first: bool,
    /// The number of the connection in its group, or in its sessions, in the order in which connections are made, from
    /// 0.
    number: u32,
    /// A seed for generators of random numbers, which depends on the run's seed, the connection and the end.
    seed: u64,
}

/// The optional methods that the object has.
#[derive(Clone, Copy)]
struct StackMethods {
    start: bool,
    on_timeout: bool,
    write: bool,
    close: bool,
}

/// One end.
pub struct ScriptedEnd {
    own: OwnObject,
    has: StackMethods,
    header: u32,
    now: Time,
}

/// The instant after this number of seconds, never earlier.
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
    fn make(class: &Arc<OwnClass>, settings: &Settings, pair: Pair, first: bool) -> Result<ScriptedEnd, Refusal> {
        let stack_pair = StackPair {
            first,
            number: pair.number,
            seed: pair.seed ^ u64::from(first),
        };
        OwnObject::make(class, settings, &["header"], stack_pair, |py, own| {
            let header = match own.bind(py).getattr("header") {
                Err(_) => STACK_HEADER,
                Ok(value) => value.extract::<u32>().ok().filter(|b| *b <= 1000).ok_or_else(|| {
                    let problem = format!("{} has header = {}", own.class().name(), shown(&value));
                    Refusal::new(problem, "give the bytes of the headers around its data, 0 to 1000")
                })?,
            };
            Ok(ScriptedEnd {
                has: StackMethods {
                    start: own.has_method(py, "start")?,
                    on_timeout: own.has_method(py, "on_timeout")?,
                    write: own.has_method(py, "write")?,
                    close: own.has_method(py, "close")?,
                },
                own,
                header,
                now: Time::ZERO,
            })
        })
    }

    /// Call into Python.
    fn call<T>(&mut self, method: &'static str, now: Time, f: impl FnOnce(&Bound<PyAny>) -> PyResult<T>) -> T {
        self.now = now;
        enter(&self.own.calls(), |py| {
            f(self.own.bind(py)).map_err(|e| self.own.failed(py, method, now, &e))
        })
    }

    /// An attribute that may be missing; the result is `None` for a missing attribute, too.
    fn ask<T: for<'a, 'py> FromPyObject<'a, 'py>>(&self, what: &'static str) -> Option<T> {
        self.own.ask(what, self.now)
    }

    /// A datagram that `transmit` gave.
    fn datagram(&self, given: &Bound<PyAny>) -> Result<Datagram<Rc<Py<PyBytes>>>, Refusal> {
        let unfit = || {
            let name = self.own.class().name();
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
        if ecn > 3 {
            return Err(unfit());
        }
        Ok(Datagram {
            data: Rc::new(data.unbind()),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            ecn: Ecn::from_bits(ecn),
        })
    }
}

impl Endpoint for ScriptedEnd {
    type Data = Rc<Py<PyBytes>>;

    fn captured(data: &Rc<Py<PyBytes>>) -> Option<Vec<u8>> {
        Some(Python::attach(|py| data.bind(py).as_bytes().to_vec()))
    }

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
        let transmitted = self.call("transmit", now, |o| {
            let given = o.call_method1(intern!(o.py(), "transmit"), (now.seconds(),))?;
            Ok((!given.is_none()).then(|| given.unbind()))
        })?;
        let datagram = Python::attach(|py| self.datagram(transmitted.bind(py)));
        Some(datagram.unwrap_or_else(|refusal| fail(refusal)))
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
        self.own.class().model.probes
    }

    fn read(&self, probe: usize) -> f64 {
        let probe = self.own.class().model.probes.get(probe);
        probe.and_then(|p| self.ask(p.name)).unwrap_or(f64::NAN)
    }
}

/// Connections whose ends are objects of the class of these settings.
pub fn connections(settings: &Settings) -> Connection {
    let settings = settings.clone();
    connection(settings.model.name, move |pair| {
        let end = |first| made(&settings, |class| ScriptedEnd::make(class, &settings, pair, first));
        [true, false].map(|first| Rc::new(RefCell::new(end(first)))).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `now` in seconds is never before the timeout that was requested.
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
