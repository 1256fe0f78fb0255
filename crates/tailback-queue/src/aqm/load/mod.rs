//! AQMs that act on the load, on losses or on the queue length.

pub mod aaqm;
pub mod avq;
pub mod blue;
pub mod green;
pub mod green_tcp;
pub mod pi;
pub mod rem;
