//! The tables of what arrives as it was sent: datagrams, frames of video, and what is played of both.

pub(super) mod datagrams;
pub(super) mod frames;
pub(super) mod playout;
