//! All tests of this crate that use it from outside: one program, so that it is linked once.

#[path = "../plans/mod.rs"]
mod plans;

mod closed_forms;
mod determinism;
mod endings;
mod reference_case;
mod store;
