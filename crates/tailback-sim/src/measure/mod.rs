//! Measurements in addition to the counters of ports and flows: histograms, convergence times, the quality of datagrams
//! and frames.

pub mod convergence;
pub mod e_model;
pub mod frames;
pub mod histogram;
mod numbers;
pub mod playout;
pub mod quality;
