//! The hot path: packets, the event list, ports and what stands before them. It knows no flow.

pub mod event;
mod extras;
pub mod impair;
pub mod keys;
pub mod netem;
pub mod packet;
pub mod port;
pub mod tap;
