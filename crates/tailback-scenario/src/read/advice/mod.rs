//! Warnings on settings that are allowed, but hardly what the author means.

pub mod ecn;
pub mod flows;
pub mod lines;
pub mod ports;
