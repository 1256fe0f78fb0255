//! A congestion control written in Python, as a connection drives it.
//!
//! The class is called with the rules of the window (`ControlRules`) and its own parameters. The object has
//! `on_ack(ack)`, `on_congestion(sign)` and the attribute `cwnd`. It may have `ssthresh`, `pacing_rate` and
//! `send_quantum`, the methods `on_lost(lost)`, `on_sent(sent)`, `sending_begins(now, srtt)`, `window_reset(reset)`,
//! `take_over(before)`, `undo()` or `undo(why)`, and `seed(number)`, and the attributes `limits_itself`,
//! `own_reductions` and `ssthresh_left`. The class may have the attributes `marks`, `echo`, `codepoint`, `wants_rate`,
//! `spreads_reductions` and `ignores_losses`. These are the contract of the built-in controls
//! ([`CongestionControl`](tailback_transport::tcp::CongestionControl) and
//! [`Facts`](tailback_transport::tcp::congestion::Facts)), call for call. A method that is missing has the behaviour of
//! RFC 5681, like that of the built-in Reno.
//!
//! Window, threshold and pacing rate are read after every call and checked. The sender works with the values that were
//! read, so an attribute that another thread changes has no effect before the next call ends. An error ends only the
//! run in which it occurs: the wrapper unwinds with a [`Refusal`], which the plan turns into a failed row.
//!
//! Cost: an ACK takes about 0.3 us in addition to the Python code itself (`benches/own_control.py`).

mod counted;
mod events;
pub(crate) mod media;
mod object;
mod rate;
mod register;
mod slow_start;

pub use counted::CountedAck;
pub use events::{
    ControlAck, ControlDeparture, ControlLost, ControlRate, ControlReset, ControlRules, ControlSign, ControlTakeover,
    phase_name,
};
pub use object::{OwnObject, calls_of_thread, enter, fail, shown};
pub use register::{OwnClass, classes_in, control_facts, library, made, register_control};
pub use slow_start::ControlStart;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Ecn, Settings, Stream, Time};
use tailback_transport::tcp::congestion::{
    AckEvent, Asks, Congestion, CongestionControl, CongestionEvent, CongestionWindow, Departure, EchoRule, Facts,
    Handover, Lost, Marks, Mistaken, Reset, WindowRules, always, never,
};

/// The highest rate that a pacer accepts, bit/s.
const FASTEST: f64 = 1e15;
/// The largest window without pacing, segments; the same limit as for an initial window.
const MOST_SEGMENTS: f64 = 1e6;

/// The optional parts of the contract that the object has.
#[derive(Clone, Copy)]
struct ControlParts {
    ssthresh: bool,
    pacing: bool,
    begins: bool,
    reset: bool,
    takes_over: bool,
    undo: bool,
    /// Whether `undo` takes the kind of repair.
    undo_why: bool,
    quantum: bool,
    seed: bool,
    limits_itself: bool,
    own_reductions: bool,
    ssthresh_left: bool,
}

pub struct ScriptedControl {
    own: OwnObject,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    parts: ControlParts,
    /// Window and threshold after the last call, and the standard rules.
    window: CongestionWindow,
    pacing: Option<BitRate>,
    quantum: Option<f64>,
    now: Time,
}

impl ScriptedControl {
    /// An object of the class, for a connection with these rules.
    ///
    /// # Errors
    /// The class raises, or its object does not fulfil the contract.
    pub fn make(
        class: &Arc<OwnClass>,
        settings: &Settings,
        rules: &Arc<WindowRules>,
    ) -> Result<ScriptedControl, Refusal> {
        OwnObject::make(class, settings, &FIXED, ControlRules::of(rules), |py, own| {
            let mut control = ScriptedControl {
                on_ack: own.needed(py, "on_ack", "ack")?,
                on_congestion: own.needed(py, "on_congestion", "sign")?,
                parts: parts(py, &own)?,
                own,
                window: CongestionWindow::new(rules),
                pacing: None,
                quantum: None,
                now: Time::ZERO,
            };
            control.take(py, "__init__")?;
            Ok(control)
        })
    }

    /// Call into Python, and read window and pacing rate afterwards.
    fn call(&mut self, method: &'static str, f: impl FnOnce(&mut Self, Python) -> PyResult<()>) {
        let calls = self.own.calls();
        enter(&calls, |py| {
            f(self, py).map_err(|e| self.own.failed(py, method, self.now, &e))?;
            self.take(py, method)
        });
    }

    /// Read a value from Python without changing anything.
    fn ask<T>(&self, what: &'static str, read: impl FnOnce(&Bound<PyAny>) -> PyResult<T>) -> T {
        enter(&self.own.calls(), |py| {
            let value = self.own.left(py, "__init__", what, self.now, "")?;
            let unfit = |_| {
                self.own
                    .unfit(what, what, &value, self.now, "give a value of the right type")
            };
            read(&value).map_err(unfit)
        })
    }

    /// Read the values that the sender uses.
    fn take(&mut self, py: Python, method: &'static str) -> Result<(), Refusal> {
        let left_by = |what: &str, hint: &str| self.own.left(py, method, what, self.now, hint);
        let unfit =
            |what: &str, value: &Bound<PyAny>, remedy: &str| Err(self.own.unfit(method, what, value, self.now, remedy));
        let cwnd = left_by("cwnd", "; rules.initial_window is where the built-in controls begin")?;
        let rules = &self.window.rules;
        let least_window = rules.least;
        match cwnd.extract::<f64>() {
            Ok(bytes) if bytes.is_finite() && bytes >= least_window => self.window.cwnd = bytes,
            _ => {
                let remedy = format!(
                    "give a number of bytes of at least {least_window}; a segment has {}",
                    rules.segment
                );
                return unfit("cwnd", &cwnd, &remedy);
            }
        }
        if self.parts.ssthresh {
            let ssthresh = left_by("ssthresh", "")?;
            match ssthresh.extract::<f64>() {
                Ok(bytes) if bytes > 0.0 => self.window.ssthresh = bytes,
                _ => {
                    let remedy = "give a number of bytes, float(\"inf\") without a threshold";
                    return unfit("ssthresh", &ssthresh, remedy);
                }
            }
        }
        if self.parts.pacing {
            let pacing_rate = left_by("pacing_rate", "")?;
            self.pacing = match pacing_rate.extract::<Option<f64>>() {
                Ok(None) => None,
                Ok(Some(bps)) if (1.0..=FASTEST).contains(&bps) => Some(BitRate(bps as u64)),
                _ => {
                    let remedy = "give bit/s from 1 to 1e15, or None to send as soon as the window allows";
                    return unfit("pacing_rate", &pacing_rate, remedy);
                }
            };
        }
        if self.parts.quantum {
            let send_quantum = left_by("send_quantum", "")?;
            self.quantum = match send_quantum.extract::<Option<f64>>() {
                Ok(bytes) if bytes.is_none_or(|b| b.is_finite() && b > 0.0) => bytes,
                _ => {
                    let remedy = "give a number of bytes, or None for what the rate gives in a millisecond";
                    return unfit("send_quantum", &send_quantum, remedy);
                }
            };
        }
        let rules = &self.window.rules;
        if self.pacing.is_none() && self.window.cwnd.min(rules.cap) > MOST_SEGMENTS * rules.segment {
            let remedy = format!(
                "without pacing, all of this is sent at once; give at most {MOST_SEGMENTS} segments, or set a \
                 pacing_rate"
            );
            return unfit("cwnd", &cwnd, &remedy);
        }
        Ok(())
    }

    /// Set window and threshold of an object whose class leaves this to the standard rules.
    fn put(&self, py: Python) -> PyResult<()> {
        let object = self.own.bind(py);
        object.setattr(intern!(py, "cwnd"), self.window.cwnd)?;
        if self.parts.ssthresh {
            object.setattr(intern!(py, "ssthresh"), self.window.ssthresh)?;
        }
        Ok(())
    }
}

/// A method that returns a value has misunderstood how the window is given.
fn silent(method: &Bound<PyAny>, answer: &Bound<PyAny>) -> PyResult<()> {
    object::silent("the window is what self.cwnd is set to", method, answer)
}

/// One of several words, from an attribute that may be missing.
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

fn parts(py: Python, own: &OwnObject) -> Result<ControlParts, Refusal> {
    let object = own.bind(py);
    let has = |what: &str| object.hasattr(what).unwrap_or(false);
    let method = |what: &str| own.has_method(py, what);
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

/// The words for the ways in which a receiver echoes marks, and for the code point of packets.
const ECHOES: [&str; 2] = ["rfc3168", "every-ack"];
const CODEPOINTS: [&str; 2] = ["ect0", "ect1"];

fn asks(so: bool) -> Asks {
    if so { always } else { never }
}

/// The facts about its connections in the attributes of a class, or of an object of the class.
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
        // A repeated timeout of the same segment has no further effect.
        if e.what != (Congestion::Timeout { again: true }) {
            self.window.remember();
        }
        self.call("on_congestion", |control, py| {
            let method = control.on_congestion.bind(py);
            silent(method, &method.call1((ControlSign::of(e),))?)?;
            control.parts.ssthresh = control.parts.ssthresh || control.own.bind(py).hasattr(intern!(py, "ssthresh"))?;
            Ok(())
        });
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.now = lost.now;
        self.call("on_lost", |c, py| {
            c.own.bind(py).call_method1("on_lost", (ControlLost(*lost),)).map(drop)
        });
    }

    fn sends(&mut self, sent: &Departure) {
        self.now = sent.now;
        self.call("on_sent", |control, py| {
            control
                .own
                .bind(py)
                .call_method1("on_sent", (ControlDeparture(*sent),))
                .map(drop)
        });
    }

    fn send_quantum(&self) -> Option<f64> {
        self.quantum
    }

    fn sending_begins(&mut self, now: Time, srtt: Option<Duration>) {
        self.now = now;
        if self.parts.begins {
            self.call("sending_begins", |control, py| {
                let srtt = srtt.map(Duration::seconds);
                control
                    .own
                    .bind(py)
                    .call_method1("sending_begins", (now.seconds(), srtt))
                    .map(drop)
            });
        }
    }

    fn draw(&mut self, rng: &mut Stream) {
        if self.parts.seed {
            let number = rng.bits();
            self.call("seed", |c, py| c.own.bind(py).call_method1("seed", (number,)).map(drop));
        }
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(match why {
            // A control without a threshold keeps its window, as far as the outstanding data allow.
            Reset::RecoveryEnd { at_most: Some(bytes) } if !self.parts.ssthresh => Reset::AtMost { bytes },
            other => other,
        });
        self.call("window_reset", |control, py| match control.parts.reset {
            true => {
                let reset = ControlReset::of(why, control.window.cwnd, control.window.ssthresh);
                control.own.bind(py).call_method1("window_reset", (reset,)).map(drop)
            }
            false => control.put(py),
        });
    }

    fn take_over(&mut self, from: &Handover) {
        self.now = from.now;
        self.window.take_over(from);
        self.call("take_over", |control, py| match control.parts.takes_over {
            true => control
                .own
                .bind(py)
                .call_method1("take_over", (ControlTakeover(*from),))
                .map(drop),
            false => control.put(py),
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
            (true, true) => c.own.bind(py).call_method1("undo", (why,)).map(drop),
            (true, false) => c.own.bind(py).call_method0("undo").map(drop),
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
        match self.own.class().model.probes.get(probe) {
            // A flag is 0 or 1; a value that is not known yet is not recorded.
            Some(p) => self.ask(p.name, |v| Ok(v.extract::<Option<f64>>()?.unwrap_or(f64::NAN))),
            None => f64::NAN,
        }
    }
}
