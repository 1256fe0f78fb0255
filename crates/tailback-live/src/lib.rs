//! Real packets: the network of a scenario, with its queues, between two Linux network namespaces.
//!
//! * [`wire`], [`stream`]: a packet's headers, and their numbers as the simulator counts them;
//! * [`conversations`]: which packets belong to which flow;
//! * [`crossing`]: the box in between, driven by hand: packets in, packets out;
//! * [`watch`], [`recording`]: what is observed of the packets, stored, and replayed in the simulator;
//! * [`ethernet`]: frames as a wire carries them;
//! * on Linux, `device` and `gateway`: the same box between two TUN devices or interfaces, in real time;
//! * on Linux, `inside`: namespaces and mounts for a program behind the box.

pub mod conversations;
pub mod crossing;
pub mod ethernet;
pub mod recording;
pub mod stream;
pub mod watch;
pub mod wire;

#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod gateway;
#[cfg(target_os = "linux")]
pub mod inside;
#[cfg(target_os = "linux")]
pub mod sys;
