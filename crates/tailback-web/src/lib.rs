//! The engine in a web page: raw exports for `wasm32-unknown-unknown`, without generated glue.
//!
//! A page writes a message into the memory that [`alloc`] returns and calls [`take`]. Long work is then done in parts
//! by [`advance`], so that a newer message can be taken between two parts. The answer is at the address that [`answer`]
//! returns and is [`length`] bytes long, until the next call. `static/engine.js` of the Python package is the other
//! half.
//!
//! [`page`] has the messages and their answers.

pub mod page;
#[cfg(test)]
mod tests;

use page::EnginePage;
use std::cell::RefCell;

thread_local! {
    static PAGE: RefCell<EnginePage> = RefCell::default();
    /// The last result of [`answer`].
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The reason why the engine stopped.
    static FAULT: RefCell<String> = const { RefCell::new(String::new()) };
}

fn lies(bytes: Vec<u8>) -> *const u8 {
    ANSWER.with_borrow_mut(|answer| {
        *answer = bytes;
        answer.as_ptr()
    })
}

/// Memory for a message of this number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|stopped| {
        FAULT.with_borrow_mut(|fault| *fault = stopped.to_string())
    }));
    Box::into_raw(vec![0u8; length].into_boxed_slice()).cast()
}

/// Take the message at the address `at`, and release its memory. Returns 1 if there is an answer, 0 if there is work
/// for [`advance`].
///
/// # Safety
/// `at` is from [`alloc`] with this length, and was not given to this function before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn take(at: *mut u8, length: usize) -> u32 {
    // SAFETY: as the caller promises.
    let text = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
    PAGE.with_borrow_mut(|page| u32::from(page.take(&text)))
}

/// Go on for this number of events. Returns 1 if there is an answer, 0 if there is more to do, 2 if there is nothing to
/// do.
#[unsafe(no_mangle)]
pub extern "C" fn advance(events: u32) -> u32 {
    PAGE.with_borrow_mut(|page| page.advance(events) as u32)
}

/// The address of the answer. `took_ms` is the time that the work took.
#[unsafe(no_mangle)]
pub extern "C" fn answer(took_ms: f64) -> *const u8 {
    lies(PAGE.with_borrow_mut(|page| page.answer(took_ms)))
}

/// The address of the text with the reason why the engine stopped. After this call only [`length`] may be called.
#[unsafe(no_mangle)]
pub extern "C" fn fault() -> *const u8 {
    lies(FAULT.with_borrow(|fault| fault.clone().into_bytes()))
}

/// The length of the answer, or of the text about the stop, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    ANSWER.with_borrow(Vec::len)
}
