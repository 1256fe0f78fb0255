//! A congestion control driven by hand: Python makes the calls of a connection, one at a time.
//!
//! It drives built-in controls too, so that a user's own control can be compared with them ACK by ACK.

use super::clock::{HasInstant, at, caught};
use crate::control::{library, phase_name};
use crate::given;
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use tailback_base::{Duration, Stream, Time};
use tailback_transport::Limit;
use tailback_transport::tcp::Config;
use tailback_transport::tcp::congestion::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Departure, Lost, Mistaken, Phase, Reset, real,
};

struct Hand {
    control: Box<dyn CongestionControl>,
    now: Time,
    segment: f64,
}

/// A congestion control, and the instant of its last call. Times are seconds, amounts bytes.
#[pyclass(frozen, module = "tailback._core")]
pub struct DrivenControl(Mutex<Hand>);

impl HasInstant for Hand {
    fn last(&mut self) -> &mut Time {
        &mut self.now
    }
}

fn positive(what: &str, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        Some(s) if !(s.is_finite() && s > 0.0) => {
            Err(PyValueError::new_err(format!("{what} is a time in seconds, not {s}")))
        }
        other => Ok(other.map(Duration::from_seconds)),
    }
}

impl DrivenControl {
    /// A call at an instant, which is not before the last one.
    fn at<T>(&self, py: Python, now: f64, f: impl FnOnce(&mut Hand) -> T + Send) -> PyResult<T>
    where
        T: Send,
    {
        at(&self.0, py, now, f)
    }

    fn see<T: Send>(&self, py: Python, f: impl FnOnce(&Hand) -> T + Send) -> T {
        py.detach(|| f(&self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl DrivenControl {
    /// The control of the scenario's first group of flows.
    #[new]
    #[pyo3(signature = (scenario, seed = 1))]
    fn new(
        py: Python,
        scenario: &Bound<Scenario>,
        #[pyo3(from_py_with = given::count)] seed: u64,
    ) -> PyResult<DrivenControl> {
        let loaded = scenario.get().loaded.clone();
        let built = py.detach(|| {
            let group = loaded.spec.flows.first().ok_or_else(|| {
                PyValueError::new_err("the scenario has no flows whose congestion control could be driven")
            })?;
            let controllers = &library(true).transports.controllers;
            let cfg = Config::resolve_with(&group.transport, &[], controllers)
                .map_err(|e| PyValueError::new_err(e.to_string()))?;
            caught(|| {
                let mut control = cfg.build_controller();
                control.draw(&mut Stream::new(seed, "control"));
                (control, cfg.segment())
            })
        });
        let (control, segment) = built?;
        Ok(DrivenControl(Mutex::new(Hand {
            control,
            now: Time::ZERO,
            segment,
        })))
    }

    /// An ACK arrives. Values that are not given are those of an ACK of a full window.
    #[pyo3(signature = (
        now, acked, *, rtt = None, srtt = None, sacked = 0, lost = 0, flight = None, pipe = None, ecn_echo = false,
        marked = None, phase = "open", window_limited = true, una = 0, nxt = 0
    ))]
    #[allow(clippy::too_many_arguments)] // The arguments are named in Python.
    fn ack(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::count)] acked: u64,
        #[pyo3(from_py_with = given::number_or_none)] rtt: Option<f64>,
        #[pyo3(from_py_with = given::number_or_none)] srtt: Option<f64>,
        #[pyo3(from_py_with = given::count)] sacked: u64,
        #[pyo3(from_py_with = given::count)] lost: u64,
        #[pyo3(from_py_with = given::count_or_none)] flight: Option<u64>,
        #[pyo3(from_py_with = given::count_or_none)] pipe: Option<u64>,
        #[pyo3(from_py_with = given::switch)] ecn_echo: bool,
        #[pyo3(from_py_with = given::count_or_none)] marked: Option<u64>,
        #[pyo3(from_py_with = given::text)] phase: &str,
        #[pyo3(from_py_with = given::switch)] window_limited: bool,
        #[pyo3(from_py_with = given::count)] una: u64,
        #[pyo3(from_py_with = given::count)] nxt: u64,
    ) -> PyResult<f64> {
        let (rtt, srtt) = (positive("rtt", rtt)?, positive("srtt", srtt)?);
        let all = [Phase::Open, Phase::Recovery, Phase::Loss];
        let Some(phase) = all.into_iter().find(|p| phase_name(*p) == phase) else {
            let problem = format!("phase is \"open\", \"recovery\" or \"loss\", not {phase:?}");
            return Err(PyValueError::new_err(problem));
        };
        let marked = marked.unwrap_or(if ecn_echo { acked } else { 0 });
        self.at(py, now, move |h| {
            let flight = flight.unwrap_or(h.control.cwnd() as u64);
            h.control.on_ack(&AckEvent {
                now: h.now,
                acked,
                sacked,
                lost,
                lost_by_timer: 0,
                flight,
                pipe: pipe.unwrap_or(flight.saturating_sub(acked)),
                rtt,
                srtt: srtt.or(rtt),
                ecn_echo,
                marked,
                marked_packets: if marked > 0 {
                    (marked as f64 / h.segment).ceil() as u32
                } else {
                    0
                },
                phase,
                window_limited,
                reports_open: false,
                limit: Limit::Network,
                una,
                nxt,
                rate: None,
            });
            h.control.cwnd()
        })
    }

    /// A sign of congestion: "loss", "mark", "timeout" or "lost-syn".
    #[pyo3(signature = (now, what, *, flight = None, again = false))]
    fn congestion(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::text)] what: &str,
        #[pyo3(from_py_with = given::count_or_none)] flight: Option<u64>,
        #[pyo3(from_py_with = given::switch)] again: bool,
    ) -> PyResult<f64> {
        let sign = match what {
            "loss" => Congestion::Loss,
            "mark" => Congestion::Ecn,
            "timeout" => Congestion::Timeout { again },
            "lost-syn" => Congestion::LostSyn,
            other => {
                let problem = format!("a sign is \"loss\", \"mark\", \"timeout\" or \"lost-syn\", not {other:?}");
                return Err(PyValueError::new_err(problem));
            }
        };
        self.at(py, now, move |h| {
            let flight = flight.unwrap_or(h.control.cwnd() as u64);
            let now = h.now;
            h.control.on_congestion(&CongestionEvent {
                now,
                flight,
                in_flight: flight,
                what: sign,
            });
            h.control.cwnd()
        })
    }

    /// A segment is judged lost. Amounts that are not given are those of a segment that was sent alone.
    #[pyo3(signature = (
        now, *, seq = 0, bytes = None, in_flight_at_send = None, lost_since_send = None, delivered = 0,
        application_limited = false, new_range = true, by_probe = false
    ))]
    #[allow(clippy::too_many_arguments)] // The arguments are named in Python.
    fn lost(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::count)] seq: u64,
        #[pyo3(from_py_with = given::count_or_none)] bytes: Option<u64>,
        #[pyo3(from_py_with = given::count_or_none)] in_flight_at_send: Option<u64>,
        #[pyo3(from_py_with = given::count_or_none)] lost_since_send: Option<u64>,
        #[pyo3(from_py_with = given::count)] delivered: u64,
        #[pyo3(from_py_with = given::switch)] application_limited: bool,
        #[pyo3(from_py_with = given::switch)] new_range: bool,
        #[pyo3(from_py_with = given::switch)] by_probe: bool,
    ) -> PyResult<f64> {
        self.at(py, now, move |h| {
            let bytes = bytes.unwrap_or(h.segment as u64);
            h.control.on_lost(&Lost {
                now: h.now,
                seq,
                bytes,
                in_flight_at_send: in_flight_at_send.unwrap_or(bytes),
                lost_since_send: lost_since_send.unwrap_or(bytes),
                delivered,
                application_limited,
                new_range,
                by_probe,
            });
            h.control.cwnd()
        })
    }

    /// A segment leaves. `again` says that it was sent before.
    #[pyo3(signature = (now, seq, bytes = None, *, again = false))]
    fn sent(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::count)] seq: u64,
        #[pyo3(from_py_with = given::count_or_none)] bytes: Option<u64>,
        #[pyo3(from_py_with = given::switch)] again: bool,
    ) -> PyResult<f64> {
        self.at(py, now, move |h| {
            h.control.sends(&Departure {
                now: h.now,
                seq,
                end: seq + bytes.unwrap_or(h.segment as u64),
                again,
            });
            h.control.cwnd()
        })
    }

    /// The window is set for another reason: "one-segment", "recovery-end", "idle", "restart", "lost-syn", or "at-most"
    /// this number of bytes.
    #[pyo3(signature = (now, what, bytes = None))]
    fn reset(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::text)] what: &str,
        #[pyo3(from_py_with = given::number_or_none)] bytes: Option<f64>,
    ) -> PyResult<f64> {
        let why = match (what, bytes) {
            ("one-segment", None) => Reset::OneSegment,
            ("recovery-end", at_most) => Reset::RecoveryEnd { at_most },
            ("idle", None) => Reset::Idle,
            ("restart", None) => Reset::Restart,
            ("lost-syn", None) => Reset::LostSyn,
            ("at-most", Some(bytes)) => Reset::AtMost { bytes },
            ("shift", Some(bytes)) => Reset::Shift { bytes },
            _ => {
                return Err(PyValueError::new_err(format!(
                    "there is no reset {what:?} {} bytes; see help(tailback._core.DrivenControl.reset)",
                    if bytes.is_some() { "with" } else { "without" }
                )));
            }
        };
        self.at(py, now, move |h| {
            h.control.window_reset(why);
            h.control.cwnd()
        })
    }

    /// Sending begins, for the first time or after a rest.
    #[pyo3(signature = (now, srtt = None))]
    fn sending_begins(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::number_or_none)] srtt: Option<f64>,
    ) -> PyResult<()> {
        let srtt = positive("srtt", srtt)?;
        self.at(py, now, move |h| {
            let now = h.now;
            h.control.sending_begins(now, srtt);
        })
    }

    /// The last reduction was a mistake: the one of a "recovery" or of a "timeout".
    #[pyo3(signature = (now, why = "recovery"))]
    fn undo(
        &self,
        py: Python,
        #[pyo3(from_py_with = given::number)] now: f64,
        #[pyo3(from_py_with = given::text)] why: &str,
    ) -> PyResult<f64> {
        let why = match why {
            "recovery" => Mistaken::Recovery,
            "timeout" => Mistaken::Timeout,
            other => {
                let problem = format!("a repair is \"recovery\" or \"timeout\", not {other:?}");
                return Err(PyValueError::new_err(problem));
            }
        };
        self.at(py, now, move |h| {
            h.control.undo(why);
            h.control.cwnd()
        })
    }

    /// Congestion window, bytes.
    #[getter]
    fn cwnd(&self, py: Python) -> f64 {
        self.see(py, |h| h.control.cwnd())
    }

    /// Slow-start threshold, bytes; infinite without a threshold.
    #[getter]
    fn ssthresh(&self, py: Python) -> f64 {
        self.see(py, |h| h.control.ssthresh())
    }

    /// The most that leaves at once if segments leave in trains, bytes; None: what the rate sends in a millisecond.
    #[getter]
    fn send_quantum(&self, py: Python) -> Option<f64> {
        self.see(py, |h| h.control.send_quantum())
    }

    /// Pacing rate, bit/s; None sends as soon as the window allows.
    #[getter]
    fn pacing_rate(&self, py: Python) -> Option<f64> {
        self.see(py, |h| h.control.pacing().map(|r| real(r.0)))
    }

    /// Payload of a full segment, bytes.
    #[getter]
    fn segment(&self, py: Python) -> f64 {
        self.see(py, |h| h.segment)
    }

    /// The instant of the last call.
    #[getter]
    fn now(&self, py: Python) -> f64 {
        self.see(py, |h| h.now.seconds())
    }
}
