//! The tables of data that arrive in the units in which they were sent: datagrams, frames of video, and the playout of
//! both.

pub(super) mod datagrams;
pub(super) mod frames;
pub(super) mod playout;
