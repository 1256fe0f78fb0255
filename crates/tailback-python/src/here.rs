//! Work on this thread without the interpreter lock, with objects that may not change threads.

use pyo3::prelude::*;

/// Do this work without the interpreter lock. `detach` requires an argument that may change threads, although it does
/// not move it to another one.
pub fn detached<T>(py: Python, work: impl FnOnce() -> T) -> T {
    struct OfThisThread<T>(T);
    // SAFETY: `detach` calls its argument on this thread, before it returns.
    unsafe impl<T> Send for OfThisThread<T> {}
    let job = OfThisThread(work);
    let done = py.detach(move || {
        let job = job;
        let OfThisThread(work) = job;
        OfThisThread(work())
    });
    done.0
}
