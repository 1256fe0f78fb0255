//! Conditioners: meters, markers and shapers at the edge of a network, or inside a sending host.
//!
//! A conditioner is driven like a queue discipline: calls carry `now`, effects go through [`EdgeOut`]. It stands in
//! front of a port's queue and sees what is about to enter it; it may also watch the opposite direction, talk to other
//! edges, and follow the senders on its own host. The words are those of RFC 2475 section 2.3.
//!
//! To add one: a file with its `MODEL`, its type and its `entry`, and a row in [`registry`]; a [`meter`] has a list of
//! its own.

pub mod atbtc;
pub mod code_point;
pub mod conditioner;
pub mod edge;
pub mod entry;
#[cfg(test)]
mod mean_rates;
pub mod meter;
pub mod painter;
pub mod registry;
#[cfg(test)]
mod testing;

pub use conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut, Header, PathDelay, SenderState, Stamps};
pub use entry::{BuildContext, Entry, Facts, Stands};
pub use meter::{Meter, MeterList, MeterRow, Meters};
