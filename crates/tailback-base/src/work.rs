//! Lets a long computation be stopped from inside.
//!
//! A run may be stopped at any time. The loop over events checks for this after each batch, but a single call may take
//! long: a search through a million queues, or a window of a million packets. Every loop whose length depends on the
//! scenario (over flows, queues, buckets, probes or packets of a window) therefore counts its work here: with
//! [`counted`] around an iterator, or with [`done`]. A caller that may be stopped runs the work inside [`listening`].
//! Each time [`SLICE`] units are done, [`listening`] calls the caller's question.
//!
//! If the answer is no, the stack unwinds to [`listening`], which returns [`Stopped`]; the panic hook is not called.
//! The stop is not a value that each loop returns, because the contracts of disciplines, conditioners and endpoints
//! are between the loop and the driver. A stop means nothing to them, and a stopped run is dropped as a whole.
//!
//! No result depends on the count, so the models need no clock. Outside of [`listening`] no question is asked. Cost: an
//! addition per step, and one read of a thread-local variable every 1024 steps; nothing per packet.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The number of units between two questions. A unit is a step of a short loop, 1 to 20 ns, so this is about 20 ms.
pub const SLICE: usize = 1 << 21;

/// The number of steps of a loop that are counted together.
const TOGETHER: usize = 1 << 10;

/// The answer was to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

type Question = *const (dyn Fn() -> bool + 'static);

thread_local! {
    /// The question to call, inside [`listening`].
    static ASK: Cell<Option<Question>> = const { Cell::new(None) };
    /// Units done since the last question.
    static DONE: Cell<usize> = const { Cell::new(0) };
}

/// Run `f`, and call `goes_on` from time to time during it.
///
/// # Errors
/// `goes_on` returned false, and `f` was abandoned.
///
/// ```
/// use tailback_base::work::{Stopped, counted, listening};
///
/// let sum = || counted(0..10_000_000_u64).sum::<u64>();
/// assert_eq!(listening(&|| true, sum), Ok(49_999_995_000_000));
/// // The answer is asked for every few million steps.
/// assert_eq!(listening(&|| false, sum), Err(Stopped));
/// ```
pub fn listening<R>(goes_on: &dyn Fn() -> bool, f: impl FnOnce() -> R) -> Result<R, Stopped> {
    /// Restores the previous question, however this call ends.
    struct Previous(Option<Question>);
    impl Drop for Previous {
        fn drop(&mut self) {
            ASK.set(self.0);
        }
    }
    // SAFETY: only the lifetime is changed. The pointer is taken out of `ASK` before this function returns or unwinds.
    let question = unsafe { std::mem::transmute::<*const (dyn Fn() -> bool + '_), Question>(goes_on) };
    let _before = Previous(ASK.replace(Some(question)));
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Ok(result),
        Err(why) if why.is::<Stopped>() => Err(Stopped),
        Err(why) => resume_unwind(why),
    }
}

/// Count this many units of work.
#[inline]
pub fn done(units: usize) {
    let sum = DONE.get().saturating_add(units);
    DONE.set(sum);
    if sum >= SLICE {
        ask();
    }
}

/// Like [`done`], for a step that is usually short and on the path of every packet: fewer than 64 units are not
/// counted.
#[inline]
pub fn done_if_long(units: usize) {
    if units >= 64 {
        done(units);
    }
}

#[cold]
fn ask() {
    DONE.set(0);
    // No question is asked while the question itself runs, or while the stack unwinds.
    let Some(question) = ASK.take() else { return };
    // SAFETY: the question in `ASK` is borrowed by a call of `listening` further up this stack.
    if unsafe { (*question)() } {
        ASK.set(Some(question));
    } else {
        resume_unwind(Box::new(Stopped));
    }
}

/// The same items, each counted as one unit.
pub fn counted<I: IntoIterator>(items: I) -> Counted<I::IntoIter> {
    counted_as(1, items)
}

/// The same items, each counted as this many units: for steps of a tenth of a microsecond and more.
pub fn counted_as<I: IntoIterator>(units: usize, items: I) -> Counted<I::IntoIter> {
    // Short loops only add to the count; the question is then asked at the start of the next loop.
    done(0);
    Counted {
        items: items.into_iter(),
        units,
        sum: 0,
    }
}

/// An iterator that counts its steps.
pub struct Counted<I> {
    items: I,
    units: usize,
    sum: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.sum += self.units;
        if self.sum >= TOGETHER {
            done(std::mem::take(&mut self.sum));
        }
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Counted<I> {}

impl<I> Drop for Counted<I> {
    /// Many short loops take as long as one long loop. No question is asked here, because the stack may be unwinding.
    fn drop(&mut self) {
        DONE.set(DONE.get().saturating_add(self.sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_to(n: usize) -> usize {
        counted(0..n).sum()
    }

    #[test]
    fn a_long_loop_asks_and_is_left() {
        let calls = Cell::new(0);
        let three_times = || {
            calls.set(calls.get() + 1);
            calls.get() < 3
        };
        assert_eq!(listening(&three_times, || sum_to(100 * SLICE)), Err(Stopped));
        assert_eq!(calls.get(), 3);
    }

    #[test]
    fn many_short_loops_ask_as_one_long_does() {
        let calls = Cell::new(0);
        let count = || {
            calls.set(calls.get() + 1);
            true
        };
        let all = || (0..SLICE / 10).map(|_| sum_to(100)).sum::<usize>();
        assert_eq!(listening(&count, all), Ok(SLICE / 10 * 4950));
        assert!((9..=11).contains(&calls.get()), "{}", calls.get());
    }

    #[test]
    fn nobody_is_asked_outside_and_panics_pass() {
        assert_eq!(sum_to(2 * SLICE), SLICE * (2 * SLICE - 1));
        let panics = || listening(&|| true, || panic!("a panic"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(sum_to(2 * SLICE), SLICE * (2 * SLICE - 1));
    }

    #[test]
    fn a_listener_inside_another_hands_back() {
        let inner = || listening(&|| false, || sum_to(2 * SLICE));
        let nested = || {
            assert_eq!(inner(), Err(Stopped));
            sum_to(2 * SLICE)
        };
        assert_eq!(listening(&|| false, nested), Err(Stopped));
        assert!(listening(&|| true, nested).is_ok());
    }
}
