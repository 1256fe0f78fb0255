//! A shaper around another discipline, and the length of a packet on the link that it stands for.

pub mod htb;
pub mod length;
