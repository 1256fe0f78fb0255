//! Deficit round robin with other answers to the question who loses when the shared buffer is full. One file a
//! discipline.

pub mod dsdrr;
pub mod dtdrr;
pub mod qsdrr;
pub mod tdrr;
