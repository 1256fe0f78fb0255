//! The hot path: packets, the event list, ports and the stages before them. This module does not use flows.

pub mod event;
mod extras;
pub mod impair;
pub mod keys;
pub mod netem;
pub mod packet;
pub mod port;
pub mod tap;
