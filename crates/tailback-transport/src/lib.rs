//! Transport endpoints, without clocks or I/O.
//!
//! An endpoint is one end of a connection, behind the trait [`Endpoint`]. Segments go in through `on_segment` and come
//! out of `poll_transmit`. The function `next_timeout` says when the endpoint has to be called again.

#![forbid(unsafe_code)]

mod backlog;
pub mod datagram;
pub mod dialogues;
pub mod endpoint;
pub mod entry;
pub mod keshav;
mod limit;
pub mod path;

pub mod registry;
pub mod rtp;
pub mod segment;
pub mod tcp;
pub mod tfrc;

pub use endpoint::{Amount, AppEvent, AppEvents, Endpoint, Progress, SenderReport, Transmit, Wake};
pub use entry::{Carries, Connection, Ends, Entry};
pub use limit::Limit;
pub use registry::Registry;
pub use segment::{EcnCounts, Flags, Plain, SackBlocks, Segment};
