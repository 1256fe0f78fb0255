//! AQMs that control the delay.

pub mod cobalt;
pub mod codel;
pub mod dualpi2;
pub mod pie;
