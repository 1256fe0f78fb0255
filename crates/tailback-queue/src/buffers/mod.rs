//! Deficit round robin with other rules about which queue loses when the shared buffer is full. One file for each
//! discipline.

pub mod dsdrr;
pub mod dtdrr;
pub mod qsdrr;
pub mod tdrr;
