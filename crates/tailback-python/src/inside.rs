//! Ending Python code that does not end by itself.
//!
//! A run that is told to stop is heard between two calls of a discipline written in Python. One that loops for ever
//! inside a call never comes so far, and Ctrl-C reaches Python code in the main thread only, which waits for the runs.
//! So each call is noted with its thread, and while a stop waits, the threads that are still inside get a
//! `KeyboardInterrupt`, as Python's own threads can be sent one (`PyThreadState_SetAsyncExc`). The run it ends is
//! dropped anyway.
//!
//! Calls that are merely slow get half of the time that whoever presses a key wants to wait. The exception is sent
//! again for as long as the call goes on, since code may catch it. It arrives between two instructions of Python: a
//! call that waits in C, as `time.sleep` does, hears it afterwards.
//!
//! Cost: a set of numbers behind a lock, twice a call, where a call takes a microsecond.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::{PyTypeInfo, Python, ffi};
use std::collections::BTreeSet;
use std::os::raw::{c_long, c_ulong};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A call may go on for so long after a stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Which threads are inside of Python code of one plan.
#[derive(Default)]
pub struct Calls(Mutex<State>);

#[derive(Default)]
struct State {
    inside: BTreeSet<c_ulong>,
    /// When the plan was told to stop.
    stopped: Option<Instant>,
}

/// A call that goes on; it is over when this is dropped.
pub struct Inside<'a>(&'a Calls, c_ulong);

impl Calls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This thread begins a call. Whoever holds the interpreter lock knows that nobody begins or ends one meanwhile.
    pub fn enter(&self, _py: Python) -> Inside<'_> {
        // SAFETY: it answers the number of this thread and has no conditions.
        let thread = unsafe { ffi::PyThread_get_thread_ident() };
        self.state().inside.insert(thread);
        Inside(self, thread)
    }

    /// Whether the plan goes on; to be said several times a second.
    pub fn told(&self, goes_on: bool) {
        let mut state = self.state();
        let stopped = match (state.stopped, goes_on) {
            (None, true) => return,
            (None, false) => *state.stopped.insert(Instant::now()),
            (Some(at), _) => at,
        };
        // Not while the interpreter lock is waited for: whoever has it may wait for this one.
        drop(state);
        if stopped.elapsed() >= PATIENCE {
            Python::attach(|py| self.interrupt(py));
        }
    }

    fn interrupt(&self, py: Python) {
        let exception = PyKeyboardInterrupt::type_object_raw(py).cast();
        for thread in &self.state().inside {
            // SAFETY: the interpreter lock is held; of a thread that is not there nothing is done, and the type lives
            // for ever.
            unsafe { ffi::PyThreadState_SetAsyncExc(*thread as c_long, exception) };
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.state().inside.remove(&self.1);
    }
}
