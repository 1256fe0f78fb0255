//! The built-in rules that end slow start, for a control in Python: `rules.slow_start("search")` makes one.
//!
//! The control calls the rule at each ACK of slow start, and reports to it the segments that leave. It is the same part
//! that the built-in controls use ([`SlowStart`]), so a class in Python with the same three methods can take its place.

use super::events::{ControlAck, ControlDeparture};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use tailback_base::Duration;
use tailback_base::model::Choice;
use tailback_transport::tcp::congestion::slow_start::{SlowStart, SlowStartAdvice, SlowStartRule, StartView};
use tailback_transport::tcp::congestion::{ControlForm, real};

#[pyclass(frozen, module = "tailback._core")]
pub struct ControlStart {
    rule: Mutex<Box<dyn SlowStart>>,
    segment: f64,
    wire: f64,
}

impl ControlStart {
    pub fn named(name: &str, form: ControlForm, segment: f64, wire: f64) -> PyResult<ControlStart> {
        let position = SlowStartRule::WORDS.iter().position(|w| *w == name);
        let Some(position) = position else {
            let words: Vec<String> = SlowStartRule::WORDS.iter().map(|w| format!("\"{w}\"")).collect();
            let problem = format!("there is no rule of slow start {name:?}; give {}", words.join(" or "));
            return Err(PyValueError::new_err(problem));
        };
        Ok(ControlStart {
            rule: Mutex::new(SlowStartRule::MEANINGS[position].make(form)),
            segment,
            wire,
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut dyn SlowStart) -> T) -> T {
        f(self.rule.lock().unwrap_or_else(PoisonError::into_inner).as_mut())
    }
}

#[pymethods]
impl ControlStart {
    /// The decision on an ACK of slow start: whether slow start ends with this ACK, so that the threshold becomes the
    /// window, and by how many bytes the window grows. None means the same as without the rule. `least` is the least
    /// round trip so far, seconds.
    #[pyo3(signature = (ack, *, cwnd, ssthresh, least = None))]
    fn judge(
        &self,
        ack: &Bound<ControlAck>,
        cwnd: f64,
        ssthresh: f64,
        least: Option<f64>,
    ) -> PyResult<(bool, Option<f64>)> {
        let least = match least {
            Some(s) if !(s.is_finite() && s > 0.0) => {
                return Err(PyValueError::new_err(format!("least is a time in seconds, not {s}")));
            }
            given => given.map(Duration::from_seconds),
        };
        let start_view = StartView {
            cwnd,
            first: ssthresh.is_infinite(),
            least,
            segment: self.segment,
            wire: self.wire,
        };
        let ack = ack.get();
        let advice = ack.with_event(|a| self.with(|rule| rule.judge(a, &start_view)));
        Ok(match advice {
            SlowStartAdvice::Usual => (false, None),
            SlowStartAdvice::Grow { share, most } => (false, Some(real(ack.acked).min(most * self.segment) * share)),
            SlowStartAdvice::End { spent } => (true, spent.then_some(0.0)),
        })
    }

    /// A segment leaves in slow start.
    fn on_sent(&self, sent: &Bound<ControlDeparture>) {
        self.with(|rule| rule.sends(&sent.get().0));
    }

    /// A timeout, after which a new slow start begins.
    fn restart(&self) {
        self.with(|rule| rule.restart());
    }
}
