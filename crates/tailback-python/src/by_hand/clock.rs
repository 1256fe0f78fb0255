//! Objects that Python drives by hand have an instant, which does not go back.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use tailback_base::Time;
use tailback_base::quantity::Refusal;

pub trait HasInstant {
    /// The instant of the last call.
    fn last(&mut self) -> &mut Time;
}

/// Turns the unwinding of a control written in Python into a message.
pub fn caught<T>(f: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|e| {
        PyRuntimeError::new_err(match e.downcast::<Refusal>() {
            Ok(r) => r.to_string(),
            Err(_) => "the control stopped; please report this".into(),
        })
    })
}

/// A call at an instant, which is not before the last one.
pub fn at<H: HasInstant + Send, T: Send>(
    hand: &Mutex<H>,
    py: Python,
    now: f64,
    f: impl FnOnce(&mut H) -> T + Send,
) -> PyResult<T> {
    let done = py.detach(|| {
        let mut hand = hand.lock().unwrap_or_else(PoisonError::into_inner);
        let t = Time::from_seconds(now);
        let last = hand.last();
        if !now.is_finite() || t < *last {
            return Err(last.seconds());
        }
        *last = t;
        Ok(caught(|| f(&mut hand)))
    });
    match done {
        Ok(answer) => answer,
        Err(last) => Err(PyValueError::new_err(format!(
            "time does not go back: the last call was at {last} s, this one is at {now} s"
        ))),
    }
}
