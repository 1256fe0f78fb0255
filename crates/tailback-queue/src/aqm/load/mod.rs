//! AQM by load, losses or queue.

pub mod aaqm;
pub mod avq;
pub mod blue;
pub mod green;
pub mod green_tcp;
pub mod pi;
pub mod rem;
