//! What is measured, in addition to the counters of ports and flows: time series, captures, quality, and the
//! conservation of packets.

pub mod capture;
pub mod conservation;
pub mod convergence;
pub mod frames;
pub mod histogram;
pub mod quality;
pub mod recorder;
