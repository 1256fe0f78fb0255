//! AQM by delay.

pub mod cobalt;
pub mod codel;
pub mod dualpi2;
pub mod pie;
