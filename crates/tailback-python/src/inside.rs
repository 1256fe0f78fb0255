//! Ends Python code that does not end by itself.
//!
//! A run that is to be stopped checks for this between two calls of a discipline written in Python. A call that loops
//! for ever never reaches such a check, and Ctrl-C only interrupts Python code in the main thread, which waits for the
//! runs. Each call is therefore registered with its thread. During a stop a `KeyboardInterrupt` is sent to the threads
//! that are still inside a call (`PyThreadState_SetAsyncExc`). The run that this exception ends is dropped anyway.
//!
//! Calls that are merely slow get half of the time that a user who presses Ctrl-C will wait. The exception is sent
//! again as long as the call continues, because the code may catch it. It is raised between two instructions of Python.
//! A call that waits in C, such as `time.sleep`, gets it only afterwards.
//!
//! Cost: two updates of a locked set of numbers per call; a call takes about a microsecond.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::{PyTypeInfo, Python, ffi};
use std::collections::BTreeSet;
use std::os::raw::{c_long, c_ulong};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a call may continue after a stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// The threads that are inside Python code of one plan.
#[derive(Default)]
pub struct Calls(Mutex<Running>);

#[derive(Default)]
struct Running {
    inside: BTreeSet<c_ulong>,
    /// The time at which the plan was stopped.
    stopped: Option<Instant>,
}

/// A call in progress; it ends when this is dropped.
pub struct Inside<'a>(&'a Calls, c_ulong);

impl Calls {
    fn state(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This thread begins a call. Because this thread has the interpreter lock, no other thread begins or ends a call
    /// meanwhile.
    pub fn enter(&self, _py: Python) -> Inside<'_> {
        // SAFETY: it returns the number of this thread and has no preconditions.
        let thread = unsafe { ffi::PyThread_get_thread_ident() };
        self.state().inside.insert(thread);
        Inside(self, thread)
    }

    /// Report whether the plan continues. This must be called several times a second.
    pub fn told(&self, goes_on: bool) {
        let mut state = self.state();
        let stopped = match (state.stopped, goes_on) {
            (None, true) => return,
            (None, false) => *state.stopped.insert(Instant::now()),
            (Some(at), _) => at,
        };
        // Do not keep this lock while waiting for the interpreter lock, because the thread with the interpreter lock
        // may wait for this lock.
        drop(state);
        if stopped.elapsed() >= PATIENCE {
            Python::attach(|py| self.interrupt(py));
        }
    }

    fn interrupt(&self, py: Python) {
        let exception = PyKeyboardInterrupt::type_object_raw(py).cast();
        for thread in &self.state().inside {
            // SAFETY: the interpreter lock is held; for a thread that does not exist nothing happens, and the type
            // lives forever.
            unsafe { ffi::PyThreadState_SetAsyncExc(*thread as c_long, exception) };
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.state().inside.remove(&self.1);
    }
}
