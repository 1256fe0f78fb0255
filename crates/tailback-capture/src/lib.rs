//! Captures: what passes a link, for the tools that people read real networks with.
//!
//! * [`pcapng`]: a file for Wireshark and its kin, with whole headers, times in nanoseconds, and the fate of each
//!   packet that was dropped or marked as its comment;
//! * [`trace`]: lines of text that follow one flow through the network;
//! * `headers`: a simulated segment as the bytes of IPv4 and TCP; `fates`: what became of a packet that was seen
//!   arriving; `order`: records of both directions of a link in the order of time.
//!
//! Both see the packets through the engine's [`Tap`](tailback_engine::wire::tap::Tap). A run without a capture
//! pays nothing.

mod fates;
mod headers;
mod order;
pub mod pcapng;
pub mod trace;
