//! Real packets: the network of a scenario, with its queues, between two Linux network namespaces.
//!
//! * [`wire`], [`stream`]: a packet's headers, and as the simulator counts them;
//! * [`crossing`]: the box in between, driven by hand: packets in, packets out;
//! * [`watch`], [`recording`]: what is seen of them, kept, and given to the simulator again;
//! * on Linux, `gateway`: the same box between two TUN devices in real time, and the senders and receivers around it.

pub mod crossing;
pub mod recording;
pub mod stream;
pub mod watch;
pub mod wire;

#[cfg(target_os = "linux")]
pub mod gateway;
#[cfg(target_os = "linux")]
pub mod sys;
