//! Calls code that may panic instead of returning an error, without output on standard error.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result, or the payload of a panic. Nothing is printed about the panic; panics of other threads are printed as
/// usual.
pub fn quietly<T>(f: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let answer = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(outer);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        assert_eq!(quietly(|| 5).unwrap(), 5);
        let said = quietly(|| panic!("nothing of this is printed")).unwrap_err();
        assert_eq!(*said.downcast_ref::<&str>().unwrap(), "nothing of this is printed");
        assert!(!QUIET.get());
    }
}
