//! Conditioners: meters, markers and shapers at the edge of a network, or inside a sending host.
//!
//! A conditioner is called like a queue discipline: calls carry `now`, and effects go through [`EdgeOut`]. It is before
//! the queue of a port and gets the packets that are about to enter the queue. It may also observe packets in the
//! opposite direction, exchange messages with other edges, and receive the state of the senders on its own host. The
//! terms are those of RFC 2475 section 2.3.
//!
//! To add a conditioner, write a file with its `MODEL`, its type and its `entry`, and add the entry to [`registry`].
//! Meters ([`meter`]) have a separate list.

#![forbid(unsafe_code)]

pub mod atbtc;
pub mod code_point;
pub mod conditioner;
pub mod edge;
pub mod entry;
#[cfg(test)]
mod mean_rates;
pub mod meter;
pub mod painter;
pub mod policer;
pub mod registry;
#[cfg(test)]
mod testing;

pub use conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut, Header, PathDelay, SenderState, Stamps};
pub use entry::{BuildContext, Entry, Facts, Stands};
pub use meter::{Meter, MeterList, MeterRow, Meters};
