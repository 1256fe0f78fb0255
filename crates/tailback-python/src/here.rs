//! Work on this thread without the interpreter lock, of things that may not change threads.

use pyo3::prelude::*;

/// Do this without the interpreter lock. `detach` asks for what may change threads, though its argument does not.
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
