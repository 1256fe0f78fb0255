//! Warnings: what is not wrong in a scenario, but hardly what its author means.

pub mod ecn;
pub mod flows;
pub mod lines;
pub mod ports;
