//! A rate control of media driven by hand: Python makes the calls of a sender, one at a time.

use super::clock::{HasInstant, at, caught};
use crate::control::library;
use crate::given;
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, PoisonError};
use tailback_base::{Duration, Time};
use tailback_transport::rtp::control::{
    Fate, Feedback, LeavingPacket, RateControl, RateController, RateOutput, ReportedPacket, WrittenFrame,
};
use tailback_transport::rtp::params::config;

struct Hand {
    control: Box<dyn RateControl>,
    controller: &'static RateController,
    now: Time,
    /// Payload that waits in the pacer.
    waiting: u64,
}

impl HasInstant for Hand {
    fn last(&mut self) -> &mut Time {
        &mut self.now
    }
}

impl Hand {
    fn output(&self) -> RateOutput {
        self.control.output(self.waiting)
    }
}

/// A rate control, and the instant of its last call. Times are seconds, sizes bytes, rates bit/s on the wire.
#[pyclass(frozen, module = "tailback._core")]
pub struct DrivenRateControl(Mutex<Hand>);

fn span(what: &str, seconds: f64) -> PyResult<Duration> {
    match seconds.is_finite() && seconds >= 0.0 {
        true => Ok(Duration::from_seconds(seconds)),
        false => Err(PyValueError::new_err(format!(
            "{what} is a time in seconds, not {seconds}"
        ))),
    }
}

/// `(number, bytes, sent, received)` or `(number, bytes, sent, received, marked)`; a lost packet has None for
/// `received`.
fn packet(given: &Bound<PyAny>) -> PyResult<ReportedPacket> {
    let wrong = |problem: &str| {
        PyValueError::new_err(format!(
            "a packet is (number, bytes, sent, received) or (number, bytes, sent, received, marked); a lost one \
             has None for received: {problem}"
        ))
    };
    let t = given.cast::<PyTuple>().map_err(|_| wrong("this is no tuple"))?;
    if !(4..=5).contains(&t.len()) {
        return Err(wrong(&format!("this has {} numbers", t.len())));
    }
    let sent = span("sent", given::number(&t.get_item(2)?)?)?;
    let received = given::number_or_none(&t.get_item(3)?)?.map(|s| span("received", s));
    let fate = match received.transpose()? {
        Some(at) if at < sent => return Err(wrong("this arrived before it was sent")),
        Some(at) => Fate::Received {
            at: Time::ZERO + at,
            marked: t.len() == 5 && given::switch(&t.get_item(4)?)?,
        },
        None => Fate::Lost,
    };
    Ok(ReportedPacket {
        number: given::count(&t.get_item(0)?)?,
        bytes: given::word(&t.get_item(1)?)?,
        sent: Time::ZERO + sent,
        fate,
    })
}

impl DrivenRateControl {
    fn see<T: Send>(&self, py: Python, f: impl FnOnce(&Hand) -> T + Send) -> T {
        py.detach(|| f(&self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A call, and the target after it.
    fn call(&self, py: Python, now: f64, f: impl FnOnce(&mut Hand) + Send) -> PyResult<f64> {
        at(&self.0, py, now, |h| {
            f(h);
            h.output().target
        })
    }
}

#[pymethods]
impl DrivenRateControl {
    /// The rate control of the scenario's first group of flows.
    #[new]
    fn new(py: Python, scenario: &Bound<Scenario>) -> PyResult<DrivenRateControl> {
        let loaded = scenario.get().loaded.clone();
        let hand = py.detach(|| {
            let group =
                loaded.spec.flows.first().ok_or_else(|| {
                    PyValueError::new_err("the scenario has no flows whose rate control could be driven")
                })?;
            let cfg = config(&group.transport, &library(true).transports.rate_controllers)
                .map_err(|e| PyValueError::new_err(e.to_string()))?;
            caught(|| Hand {
                control: (cfg.controller.build)(&cfg.settings, cfg.terms),
                controller: cfg.controller,
                now: Time::ZERO,
                waiting: 0,
            })
        });
        Ok(DrivenRateControl(Mutex::new(hand?)))
    }

    /// A report arrives. `packets` are in the order of their numbers.
    #[pyo3(signature = (now, packets, *, rtt, in_flight = 0))]
    fn feedback(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        packets: &Bound<PyAny>,
        #[pyo3(from_py_with = given::number)] rtt: f64,
        #[pyo3(from_py_with = given::count)] in_flight: u64,
    ) -> PyResult<f64> {
        let packets = packets.try_iter()?.map(|p| packet(&p?)).collect::<PyResult<Vec<_>>>()?;
        if packets.windows(2).any(|two| two[0].number >= two[1].number) {
            return Err(PyValueError::new_err("packets are in the order of numbers, each once"));
        }
        let rtt = span("rtt", rtt)?.max(Duration(1));
        self.call(py, now, |h| {
            let now = h.now;
            h.control.on_feedback(&Feedback {
                now,
                packets: &packets,
                rtt,
                in_flight,
            });
        })
    }

    /// The application writes a frame of this number of bytes of payload. `waiting` is the payload in the pacer then,
    /// by default that of the frame alone.
    #[pyo3(signature = (now, bytes, *, waiting = None, waited = 0.0))]
    fn frame(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::count)] bytes: u64,
        #[pyo3(from_py_with = given::count_or_none)] waiting: Option<u64>,
        #[pyo3(from_py_with = given::number)] waited: f64,
    ) -> PyResult<f64> {
        let waited = span("waited", waited)?;
        self.call(py, now, |h| {
            h.waiting = waiting.unwrap_or(bytes);
            h.control.on_frame(&WrittenFrame {
                now: h.now,
                payload: bytes,
                waiting: h.waiting,
                waited,
            });
        })
    }

    /// A packet leaves. `in_flight` includes this packet; by default it is this packet alone. `waiting` is the payload
    /// in the pacer then.
    #[pyo3(signature = (now, number, bytes, *, in_flight = None, waiting = 0, padding = false))]
    #[allow(clippy::too_many_arguments)] // The arguments are named in Python.
    fn sent(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::count)] number: u64,
        #[pyo3(from_py_with = given::word)] bytes: u32,
        #[pyo3(from_py_with = given::count_or_none)] in_flight: Option<u64>,
        #[pyo3(from_py_with = given::count)] waiting: u64,
        #[pyo3(from_py_with = given::switch)] padding: bool,
    ) -> PyResult<f64> {
        self.call(py, now, |h| {
            h.waiting = waiting;
            h.control.on_sent(&LeavingPacket {
                now: h.now,
                number,
                bytes,
                in_flight: in_flight.unwrap_or(u64::from(bytes)),
                is_padding: padding,
            });
        })
    }

    /// The instant that the control requested has come.
    fn timer(&self, py: Python, #[pyo3(from_py_with = given::number)] now: f64) -> PyResult<f64> {
        self.call(py, now, |h| {
            let now = h.now;
            h.control.on_timer(now);
        })
    }

    /// The instant at which `timer` is to be called, or None.
    #[getter]
    fn next_timer(&self, py: Python) -> Option<f64> {
        self.see(py, |h| h.control.next_timer().map(Time::seconds))
    }

    /// The rate that the encoder should produce, bit/s.
    #[getter]
    fn target(&self, py: Python) -> f64 {
        self.see(py, |h| h.output().target)
    }

    /// The rate at which packets leave while some wait, bit/s.
    #[getter]
    fn pacing(&self, py: Python) -> f64 {
        self.see(py, |h| h.output().pacing)
    }

    /// Packets that take this time at that rate may leave at once, s.
    #[getter]
    fn burst(&self, py: Python) -> f64 {
        self.see(py, |h| h.output().burst.seconds())
    }

    /// No packet leaves while this number of bytes is in flight; None is no limit.
    #[getter]
    fn window(&self, py: Python) -> Option<u64> {
        self.see(py, |h| Some(h.output().window).filter(|w| *w != u64::MAX))
    }

    /// Payload of the padding packets that leave while no frame waits; 0 for no padding.
    #[getter]
    fn padding(&self, py: Python) -> u32 {
        self.see(py, |h| h.output().padding)
    }

    /// The present value of one of its probes.
    fn probe(&self, py: Python, #[pyo3(from_py_with = given::text)] name: &str) -> PyResult<f64> {
        let value = self.see(py, |h| {
            let mut probes = h.controller.model.probes.iter();
            let found = probes.position(|p| p.name == name);
            found.map(|i| caught(|| h.control.read(i)))
        });
        value.ok_or_else(|| {
            let names = self.see(py, |h| {
                h.controller.model.probes.iter().map(|p| p.name).collect::<Vec<_>>()
            });
            PyValueError::new_err(format!("there is no probe {name:?}; there are {}", names.join(", ")))
        })?
    }

    /// The instant of the last call.
    #[getter]
    fn now(&self, py: Python) -> f64 {
        self.see(py, |h| h.now.seconds())
    }
}
