//! Active queue management: disciplines that signal before the buffer is full. One file for each algorithm.

pub mod aaqm;
pub mod ared;
pub mod average;
pub mod avq;
pub mod blue;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod dred;
pub mod dualpi2;
pub mod feng_red;
pub mod fred;
pub mod green;
pub mod green_tcp;
pub mod mred;
pub mod nlred;
pub mod pi;
pub mod pie;
pub mod populations;
pub mod precedence;
#[cfg(test)]
pub(crate) mod race;
pub mod red;
pub mod red_pb;
pub mod red_pd;
pub mod redn;
pub mod rem;
pub mod rio;
pub mod sfb;
pub mod sred;
pub mod ticks;
pub mod wred;
