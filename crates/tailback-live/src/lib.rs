//! Real packets: the network of a scenario, with its queues, between two Linux network namespaces.
//!
//! * [`wire`], [`stream`]: a packet's headers, and their sequence numbers as the simulator counts them;
//! * [`conversations`]: the flow of each packet;
//! * [`crossing`]: the box between them, which a program drives by hand: it hands packets in and takes packets out;
//! * [`watch`], [`recording`]: observations of the packets, which are stored and replayed in the simulator;
//! * [`ethernet`]: frames as a wire carries them;
//! * on Linux, `device` and `gateway`: the box between two TUN devices or interfaces, in real time;
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
