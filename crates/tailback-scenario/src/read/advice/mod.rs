//! What a scenario says without being wrong, and its author hardly means. Each is a warning.

pub mod ecn;
pub mod flows;
pub mod lines;
pub mod ports;
