//! What is measured: counters beside those of ports and flows, time series, and the check that no packet is lost.

pub mod capture;
pub mod conservation;
pub mod convergence;
pub mod frames;
pub mod histogram;
pub mod quality;
pub mod recorder;
