//! Traffic: the contract of applications, and the sources a scenario can name.

pub mod application;
pub mod bursts;
pub mod source;
