//! A congestion control written in Python, as a connection drives it.
//!
//! The class is called with the rules of the window (`ControlRules`) and its own parameters. The object has
//! `on_ack(ack)`, `on_congestion(sign)` and the attribute `cwnd`. It may have `ssthresh`, `pacing_rate` and
//! `send_quantum`, the methods `on_lost(lost)`, `on_sent(sent)`, `sending_begins(now, srtt)`, `window_reset(reset)`,
//! `take_over(before)`, `undo()` or `undo(why)`, and `seed(number)`, and the attributes `limits_itself`,
//! `own_reductions` and `ssthresh_left`. The class may have the attributes `marks`, `echo`, `codepoint`, `wants_rate`,
//! `spreads_reductions` and `ignores_losses`. These are the contract of the built-in controls
//! ([`CongestionControl`](tailback_transport::tcp::CongestionControl) and
//! [`Facts`](tailback_transport::tcp::congestion::Facts)), call for call. A method that is missing does what RFC 5681
//! says, as the built-in Reno does.
//!
//! Window, threshold and pacing rate are read after every call and checked: the sender works with what was read, so an
//! attribute that another thread changes has no effect before the next call ends. An error ends only the run in which
//! it occurs: the wrapper unwinds with a [`Refusal`], which the plan turns into a failed row.
//!
//! Cost: an ACK takes about 0.3 us beside the Python code itself (`benches/own_control.py`).

mod counted;
mod events;
pub(crate) mod media;
mod rate;
mod register;
mod slow_start;

pub use counted::CountedAck;
pub use events::{
    ControlAck, ControlDeparture, ControlLost, ControlRate, ControlReset, ControlRules, ControlSign, ControlTakeover,
    phase_name,
};
pub use register::{ControlClass, class_of, classes_in, control_facts, library, register_control};
pub use slow_start::ControlStart;

use crate::discipline::describe;
use crate::inside::Calls;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tailback_base::model::{Choice, Value};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Ecn, Settings, Stream, Time, work};
use tailback_transport::tcp::congestion::{
    AckEvent, Asks, Congestion, CongestionControl, CongestionEvent, CongestionWindow, Departure, EchoRule, Facts,
    Handover, Lost, Marks, Mistaken, Reset, WindowRules, always, never,
};

thread_local! {
    /// Where calls on this thread are registered, so that a call that does not return can be ended.
    static CALLS: RefCell<Arc<Calls>> = RefCell::default();
}

/// Register the calls of controls on this thread here from now on.
pub fn calls_of_thread(calls: &Arc<Calls>) {
    CALLS.with(|c| *c.borrow_mut() = calls.clone());
}

/// Where calls on this thread are registered.
pub fn calls_here() -> Arc<Calls> {
    CALLS.with(|c| c.borrow().clone())
}

/// The addresses of the objects in use: an object serves one connection.
static IN_USE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The highest rate a pacer takes, bit/s.
const FASTEST: f64 = 1e15;
/// The largest window without pacing, segments; as that of an initial window.
const MOST_SEGMENTS: f64 = 1e6;

/// Which optional parts of the contract the object has.
#[derive(Clone, Copy)]
struct ControlParts {
    ssthresh: bool,
    pacing: bool,
    begins: bool,
    reset: bool,
    takes_over: bool,
    undo: bool,
    /// `undo` takes the kind of repair.
    undo_why: bool,
    quantum: bool,
    seed: bool,
    limits_itself: bool,
    own_reductions: bool,
    ssthresh_left: bool,
}

pub struct ScriptedControl {
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    class: Arc<ControlClass>,
    parts: ControlParts,
    /// Window and threshold after the last call, and the standard rules.
    window: CongestionWindow,
    pacing: Option<BitRate>,
    quantum: Option<f64>,
    calls: Arc<Calls>,
    now: Time,
}

/// A Python value in a message.
fn shown(value: &Bound<PyAny>) -> String {
    let text = value
        .repr()
        .map_or_else(|_| "a value without repr".into(), |r| r.to_string());
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

impl ScriptedControl {
    /// An object of the class, for a connection with these rules.
    ///
    /// # Errors
    /// The class raises, or its object does not fulfil the contract.
    pub fn make(
        class: &Arc<ControlClass>,
        settings: &Settings,
        rules: &Arc<WindowRules>,
    ) -> Result<ScriptedControl, Refusal> {
        let name = class.name();
        let Some(factory) = &class.class else {
            return Err(Refusal::new(
                format!("the congestion control is the Python class {name}, and the run is not given it"),
                "run it where the class is: tcp={\"congestion\": tb.congestion(CLASS)}, or \"FILE.py:CLASS\"",
            ));
        };
        let calls = calls_here();
        Python::attach(|py| {
            let _inside = calls.enter(py);
            let raised = |e: PyErr| failed(name, "__init__", Time::ZERO, &describe(py, &e));
            let rules_object = || Bound::new(py, ControlRules::of(rules)).map(Bound::into_any);
            let object = rules_object().and_then(|first| new_object(factory.bind(py), settings, first));
            let object = object.map_err(raised)?;
            same_as_class(name, factory.bind(py), &object, &FIXED)?;
            let method = |what: &str| object.getattr(what).ok().filter(Bound::is_callable);
            let needed = |what: &str| {
                method(what).map(Bound::unbind).ok_or_else(|| {
                    let problem = format!("{name} is not a congestion control: it has no method {what}");
                    Refusal::new(problem, format!("give it `def {what}(self, {})`", argument(what)))
                })
            };
            let mut control = ScriptedControl {
                on_ack: needed("on_ack")?,
                on_congestion: needed("on_congestion")?,
                parts: parts(name, &object)?,
                object: object.clone().unbind(),
                class: class.clone(),
                window: CongestionWindow::new(rules),
                pacing: None,
                quantum: None,
                calls: calls.clone(),
                now: Time::ZERO,
            };
            control.take(py, "__init__")?;
            claim(name, &object).inspect_err(|_| {
                // It is not this one's to give back.
                control.object = py.None();
            })?;
            Ok(control)
        })
    }

    /// Call into Python, and read window and pacing rate afterwards.
    fn call(&mut self, method: &'static str, f: impl FnOnce(&mut Self, Python) -> PyResult<()>) {
        let began = Instant::now();
        let calls = self.calls.clone();
        let done = Python::attach(|py| {
            let _inside = calls.enter(py);
            f(self, py).map_err(|e| failed(self.class.name(), method, self.now, &describe(py, &e)))?;
            self.take(py, method)
        });
        // The amount of work in a Python call is unknown, so it is timed: a unit of work is about 10 ns.
        work::done(began.elapsed().as_nanos() as usize / 10);
        if let Err(refusal) = done {
            fail(refusal);
        }
    }

    /// Ask Python for a value that changes nothing.
    fn ask<T>(&self, what: &'static str, read: impl FnOnce(&Bound<PyAny>) -> PyResult<T>) -> T {
        let done = Python::attach(|py| {
            let _inside = self.calls.enter(py);
            let value = self.object.bind(py).getattr(what);
            let raised = |e: PyErr| failed(self.class.name(), what, self.now, &describe(py, &e));
            let value = value.map_err(raised)?;
            read(&value).map_err(|_| self.unfit(what, what, &value, "give a value of the right type"))
        });
        done.unwrap_or_else(|refusal| fail(refusal))
    }

    /// Read what the sender uses.
    fn take(&mut self, py: Python, method: &'static str) -> Result<(), Refusal> {
        let object = self.object.bind(py);
        let raised = |e: PyErr, what| match e.is_instance_of::<pyo3::exceptions::PyAttributeError>(py) {
            true => Refusal::new(
                format!("{} has no attribute {what} after {method}", self.class.name()),
                format!("set self.{what} there; rules.initial_window is where the built-in controls begin"),
            ),
            false => failed(self.class.name(), what, self.now, &describe(py, &e)),
        };
        let name = intern!(py, "cwnd");
        let cwnd = object.getattr(name).map_err(|e| raised(e, "cwnd"))?;
        let rules = &self.window.rules;
        let least = rules.least;
        match cwnd.extract::<f64>() {
            Ok(bytes) if bytes.is_finite() && bytes >= least => self.window.cwnd = bytes,
            _ => {
                let remedy = format!(
                    "give a number of bytes of at least {least}, a segment being {}",
                    rules.segment
                );
                return Err(self.unfit(method, "cwnd", &cwnd, &remedy));
            }
        }
        if self.parts.ssthresh {
            let value = object
                .getattr(intern!(py, "ssthresh"))
                .map_err(|e| raised(e, "ssthresh"))?;
            match value.extract::<f64>() {
                Ok(bytes) if bytes > 0.0 => self.window.ssthresh = bytes,
                _ => {
                    let remedy = "give a number of bytes, float(\"inf\") without a threshold";
                    return Err(self.unfit(method, "ssthresh", &value, remedy));
                }
            }
        }
        if self.parts.pacing {
            let value = object
                .getattr(intern!(py, "pacing_rate"))
                .map_err(|e| raised(e, "pacing_rate"))?;
            self.pacing = match value.extract::<Option<f64>>() {
                Ok(None) => None,
                Ok(Some(bps)) if (1.0..=FASTEST).contains(&bps) => Some(BitRate(bps as u64)),
                _ => {
                    let remedy = "give bit/s from 1 to 1e15, or None to send as soon as the window allows";
                    return Err(self.unfit(method, "pacing_rate", &value, remedy));
                }
            };
        }
        if self.parts.quantum {
            let value = object
                .getattr(intern!(py, "send_quantum"))
                .map_err(|e| raised(e, "send_quantum"))?;
            self.quantum = match value.extract::<Option<f64>>() {
                Ok(bytes) if bytes.is_none_or(|b| b.is_finite() && b > 0.0) => bytes,
                _ => {
                    let remedy = "give a number of bytes, or None for what the rate gives in a millisecond";
                    return Err(self.unfit(method, "send_quantum", &value, remedy));
                }
            };
        }
        let rules = &self.window.rules;
        if self.pacing.is_none() && self.window.cwnd.min(rules.cap) > MOST_SEGMENTS * rules.segment {
            let remedy = format!(
                "unpaced, so much is sent at once; give at most {MOST_SEGMENTS} segments, or set a pacing_rate"
            );
            return Err(self.unfit(method, "cwnd", &cwnd, &remedy));
        }
        Ok(())
    }

    /// A value that the contract does not allow.
    fn unfit(&self, method: &str, what: &str, value: &Bound<PyAny>, remedy: &str) -> Refusal {
        let (name, now) = (self.class.name(), self.now.seconds());
        let left = if method == what { "has" } else { "leaves" };
        let place = if method == what {
            name.to_string()
        } else {
            format!("{name}.{method}")
        };
        Refusal::new(
            format!("{place} {left} {what} = {} ({now} s into the run)", shown(value)),
            remedy,
        )
    }

    /// Set window and threshold of an object whose class leaves this to the standard rules.
    fn put(&self, py: Python) -> PyResult<()> {
        let object = self.object.bind(py);
        object.setattr(intern!(py, "cwnd"), self.window.cwnd)?;
        if self.parts.ssthresh {
            object.setattr(intern!(py, "ssthresh"), self.window.ssthresh)?;
        }
        Ok(())
    }
}

impl Drop for ScriptedControl {
    fn drop(&mut self) {
        release(&self.object);
    }
}

/// An object serves one connection at a time.
fn claim(name: &str, object: &Bound<PyAny>) -> Result<(), Refusal> {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    if in_use.insert(object.as_ptr() as usize) {
        return Ok(());
    }
    let problem = format!("{name} gave the same object for two connections");
    Err(Refusal::new(problem, "have each call of the class make a new object"))
}

fn release(object: &Py<PyAny>) {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.remove(&(object.as_ptr() as usize));
}

/// End the run with this message.
fn fail(refusal: Refusal) -> ! {
    std::panic::resume_unwind(Box::new(refusal))
}

/// Something in Python raised.
fn failed(class: &str, method: &str, now: Time, what: &str) -> Refusal {
    failed_as("congestion control", class, method, now, what)
}

fn failed_as(kind: &str, class: &str, method: &str, now: Time, what: &str) -> Refusal {
    let problem = format!("{class}.{method} failed ({} s into the run): {what}", now.seconds());
    Refusal::new(problem, format!("correct the {kind} and run again"))
}

/// The name of the argument of a method that every control has.
fn argument(method: &str) -> &'static str {
    if method == "on_ack" { "ack" } else { "sign" }
}

/// A method that answers has misunderstood how the window is given.
fn silent(method: &Bound<PyAny>, answer: &Bound<PyAny>) -> PyResult<()> {
    silent_but("the window is what self.cwnd is set to", method, answer)
}

fn silent_but(what: &str, method: &Bound<PyAny>, answer: &Bound<PyAny>) -> PyResult<()> {
    if answer.is_none() {
        return Ok(());
    }
    let name = method
        .getattr("__name__")
        .map_or_else(|_| "the method".into(), |n| n.to_string());
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "{name} returns {}, but {what}; return nothing",
        shown(answer)
    )))
}

/// Call the class with its first argument and its own parameters.
fn new_object<'py>(
    factory: &Bound<'py, PyAny>,
    settings: &Settings,
    first: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = factory.py();
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
    factory.call((first,), Some(&own))
}

/// Which of several words, from an attribute that may be missing.
fn choice(name: &str, object: &Bound<PyAny>, what: &str, words: &[&str]) -> Result<Option<usize>, Refusal> {
    let Ok(value) = object.getattr(what) else {
        return Ok(None);
    };
    let word = value.cast::<PyString>().map(|s| s.to_string()).ok();
    match words.iter().position(|w| word.as_deref() == Some(*w)) {
        Some(at) => Ok(Some(at)),
        None => {
            let problem = format!("{name} has {what} = {}", shown(&value));
            let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
            Err(Refusal::new(problem, format!("give {}", quoted.join(" or "))))
        }
    }
}

fn flag(name: &str, object: &Bound<PyAny>, what: &str, default: bool) -> Result<bool, Refusal> {
    let Ok(value) = object.getattr(what) else {
        return Ok(default);
    };
    value
        .extract::<bool>()
        .map_err(|_| Refusal::new(format!("{name} has {what} = {}", shown(&value)), "give True or False"))
}

/// Whether a method can be called with an argument.
fn takes_argument(object: &Bound<PyAny>, what: &str) -> bool {
    let count = || -> PyResult<usize> {
        let inspect = object.py().import("inspect")?;
        let signature = inspect.call_method1("signature", (object.getattr(what)?,))?;
        signature.getattr("parameters")?.len()
    };
    count().is_ok_and(|n| n > 0)
}

/// Whether an object has an optional method.
fn method_or_none(name: &str, object: &Bound<PyAny>, what: &str) -> Result<bool, Refusal> {
    match object.getattr(what) {
        Err(_) => Ok(false),
        Ok(f) if f.is_callable() => Ok(true),
        Ok(value) => {
            let problem = format!("{name} has {what} = {}", shown(&value));
            Err(Refusal::new(problem, "give a method, or leave it out"))
        }
    }
}

fn parts(name: &str, object: &Bound<PyAny>) -> Result<ControlParts, Refusal> {
    let has = |what: &str| object.hasattr(what).unwrap_or(false);
    let method = |what: &str| method_or_none(name, object, what);
    Ok(ControlParts {
        ssthresh: has("ssthresh"),
        pacing: has("pacing_rate"),
        begins: method("sending_begins")?,
        reset: method("window_reset")?,
        takes_over: method("take_over")?,
        undo: method("undo")?,
        undo_why: takes_argument(object, "undo"),
        quantum: has("send_quantum"),
        seed: method("seed")?,
        limits_itself: has("limits_itself"),
        own_reductions: has("own_reductions"),
        ssthresh_left: has("ssthresh_left"),
    })
}

/// The words for how a receiver echoes marks, and for the code point of packets.
const ECHOES: [&str; 2] = ["rfc3168", "every-ack"];
const CODEPOINTS: [&str; 2] = ["ect0", "ect1"];

fn asks(so: bool) -> Asks {
    if so { always } else { never }
}

/// What the attributes of a class, or of an object of it, say of its connections.
fn class_facts(name: &str, object: &Bound<PyAny>) -> Result<Facts, Refusal> {
    let marks = choice(name, object, "marks", Marks::WORDS)?;
    let every_ack = choice(name, object, "echo", &ECHOES)? == Some(1);
    let ect1 = choice(name, object, "codepoint", &CODEPOINTS)? == Some(1);
    Ok(Facts {
        marks: marks.map_or(Marks::Answers, |at| Marks::MEANINGS[at]),
        echo: if every_ack {
            EchoRule::EveryAck
        } else {
            EchoRule::Rfc3168
        },
        codepoint: if ect1 { Ecn::Ect1 } else { Ecn::Ect0 },
        records: asks(flag(name, object, "wants_rate", false)?),
        hears_losses: asks(object.hasattr("on_lost").unwrap_or(false)),
        hears_departures: asks(object.hasattr("on_sent").unwrap_or(false)),
        spreads: flag(name, object, "spreads_reductions", true)?,
        colours: false,
        ignores_losses: flag(name, object, "ignores_losses", false)?,
        linux: None,
    })
}

/// The attributes that hold for all connections are those of the class: an object must not have others.
fn same_as_class(name: &str, factory: &Bound<PyAny>, object: &Bound<PyAny>, fixed: &[&str]) -> Result<(), Refusal> {
    for &what in fixed {
        if let (Ok(own), of_class) = (object.getattr(what), factory.getattr(what).ok()) {
            let same = of_class.is_some_and(|c| c.eq(&own).unwrap_or(false));
            if !same {
                return Err(Refusal::new(
                    format!("{name} sets {what} = {} for one connection", shown(&own)),
                    format!("set {what} in the class: it holds for all connections"),
                ));
            }
        }
    }
    Ok(())
}

/// The attributes that hold for all connections.
const FIXED: [&str; 6] = [
    "marks",
    "echo",
    "codepoint",
    "wants_rate",
    "spreads_reductions",
    "ignores_losses",
];

impl CongestionControl for ScriptedControl {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        self.now = a.now;
        self.call("on_ack", |c, py| {
            let method = c.on_ack.bind(py);
            silent(method, &method.call1((ControlAck::of(a),))?)
        });
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        self.now = e.now;
        // The same loss again has no further effect.
        if e.what != (Congestion::Timeout { again: true }) {
            self.window.remember();
        }
        self.call("on_congestion", |c, py| {
            let method = c.on_congestion.bind(py);
            silent(method, &method.call1((ControlSign::of(e),))?)?;
            c.parts.ssthresh = c.parts.ssthresh || c.object.bind(py).hasattr(intern!(py, "ssthresh"))?;
            Ok(())
        });
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.now = lost.now;
        self.call("on_lost", |c, py| {
            c.object.call_method1(py, "on_lost", (ControlLost(*lost),)).map(drop)
        });
    }

    fn sends(&mut self, sent: &Departure) {
        self.now = sent.now;
        self.call("on_sent", |c, py| {
            c.object
                .call_method1(py, "on_sent", (ControlDeparture(*sent),))
                .map(drop)
        });
    }

    fn send_quantum(&self) -> Option<f64> {
        self.quantum
    }

    fn sending_begins(&mut self, now: Time, srtt: Option<Duration>) {
        self.now = now;
        if self.parts.begins {
            self.call("sending_begins", |c, py| {
                let srtt = srtt.map(Duration::seconds);
                c.object
                    .call_method1(py, "sending_begins", (now.seconds(), srtt))
                    .map(drop)
            });
        }
    }

    fn draw(&mut self, rng: &mut Stream) {
        if self.parts.seed {
            let number = rng.bits();
            self.call("seed", |c, py| c.object.call_method1(py, "seed", (number,)).map(drop));
        }
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(match why {
            // A control without a threshold keeps its window, as far as what is outstanding allows.
            Reset::RecoveryEnd { at_most: Some(bytes) } if !self.parts.ssthresh => Reset::AtMost { bytes },
            other => other,
        });
        self.call("window_reset", |c, py| match c.parts.reset {
            true => {
                let reset = ControlReset::of(why, c.window.cwnd, c.window.ssthresh);
                c.object.call_method1(py, "window_reset", (reset,)).map(drop)
            }
            false => c.put(py),
        });
    }

    fn take_over(&mut self, from: &Handover) {
        self.now = from.now;
        self.window.take_over(from);
        self.call("take_over", |c, py| match c.parts.takes_over {
            true => c
                .object
                .call_method1(py, "take_over", (ControlTakeover(*from),))
                .map(drop),
            false => c.put(py),
        });
    }

    fn ssthresh_left(&self) -> f64 {
        match self.parts.ssthresh_left {
            true => self.ask("ssthresh_left", |v| v.extract()),
            false => self.window.ssthresh,
        }
    }

    fn undo(&mut self, why: Mistaken) {
        self.window.undo();
        let why = match why {
            Mistaken::Recovery => "recovery",
            Mistaken::Timeout => "timeout",
        };
        self.call("undo", |c, py| match (c.parts.undo, c.parts.undo_why) {
            (true, true) => c.object.call_method1(py, "undo", (why,)).map(drop),
            (true, false) => c.object.call_method0(py, "undo").map(drop),
            (false, _) => c.put(py),
        });
    }

    fn own_reductions(&self) -> u64 {
        match self.parts.own_reductions {
            true => self.ask("own_reductions", |v| v.extract()),
            false => 0,
        }
    }

    fn limits_itself(&self) -> bool {
        self.parts.limits_itself && self.ask("limits_itself", |v| v.extract())
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn pacing(&self) -> Option<BitRate> {
        self.pacing
    }

    fn read(&self, probe: usize) -> f64 {
        match self.class.model.probes.get(probe) {
            // A flag is 0 or 1; a value that is not known yet is not recorded.
            Some(p) => self.ask(p.name, |v| Ok(v.extract::<Option<f64>>()?.unwrap_or(f64::NAN))),
            None => f64::NAN,
        }
    }
}
