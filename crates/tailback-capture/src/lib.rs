//! Captures: the packets on a link, for the tools that are used to examine real networks.
//!
//! * [`pcapng`]: a file for Wireshark and similar tools, with complete headers, times in nanoseconds, and a comment
//!   with the fate of each packet that was dropped or marked;
//! * [`trace`]: lines of text that follow one flow through the network;
//! * [`decisions`]: the events at one port in a window of time, and the packets that wait there at an instant;
//! * `headers`: a simulated segment as the bytes of IPv4 and TCP; `fates`: the fates of packets that were seen
//!   arriving; `order`: records of both directions of a link in the order of time.
//!
//! All of them get the packets through the engine's [`Tap`](tailback_sim::wire::tap::Tap). A run without a capture pays
//! nothing for it.

#![forbid(unsafe_code)]

pub mod decisions;
mod fates;
mod headers;
mod order;
pub mod pcapng;
pub mod trace;
