//! The simulator.

pub mod scenario;
pub mod spec;
