//! A shaper around another discipline, and the length of a packet on the link for which it shapes.

pub mod htb;
pub mod length;
