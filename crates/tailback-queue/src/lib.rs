//! Queue disciplines, packet schedulers and drop policies, without clocks or I/O.
//!
//! A discipline is an object with the trait [`QueueDiscipline`]. Calls carry the time `now`, and its reports go through
//! [`Out`]. The simulator calls it in virtual time, a gateway in real time, and a test by hand.
//!
//! A discipline is in the file with its scenario name, or has an entry in `ports`. Each module uses only those above
//! it in this table:
//!
//! | module | contents |
//! |---|---|
//! | [`contract`] | the contract of a discipline, and its drivers |
//! | [`params`] | parameters that disciplines of several modules declare |
//! | [`pieces`] | the parts of a port of several queues: classifiers, schedulers, drop policies |
//! | [`linux`] | the form of a discipline in Linux: the words of `tc` for its parameters |
//! | [`entry`] | the registry entry of a discipline: its constructor, and facts about it |
//! | [`fifo`] | one queue, first in, first out: drop-tail, random drop, front drop |
//! | [`aqm`] | active queue management, such as RED, Blue and CoDel; the filtered average that they share |
//! | [`feedback`] | queues whose signal gives senders more information than a loss |
//! | [`shape`] | a shaper around another discipline; the length of a packet on a link |
//! | [`fair`] | disciplines that share the line fairly by other algorithms: CAKE, classes of DiffServ, hashed buckets |
//! | [`ports`] | round robins and fair queueing: combinations of pieces, with an entry each |
//! | [`shared`] | one memory for the packets of several ports |
//! | [`registry`] | the list of all disciplines |
//! | [`marking`] | the rule for all disciplines that decides whether queues mark |
//! | [`shaped`] | disciplines behind shapers |
//!
//! To add a discipline, write one file with its `MODEL`, its type and its `entry`, and add the entry to [`registry`]. A
//! discipline that only combines existing pieces needs an entry in [`ports`] instead of a file. If the discipline only
//! decides about packets, write an [`Admission`]; it can then be used with a FIFO or before a scheduler. The tests in
//! `tests/` run for every entry of the registry. [`testing`] has a packet and a bench for your own tests.

#![forbid(unsafe_code)]

pub mod aqm;
pub mod contract;
pub mod entry;
pub mod fair;
pub mod feedback;
pub mod fifo;
pub mod linux;
pub mod marking;
pub mod params;
pub mod pieces;
pub mod ports;
pub mod registry;
pub mod shape;
pub mod shaped;
pub mod shared;

pub use contract::admission::{self, Admission, Decision, Waiting};
pub use contract::admitted::Admitted;
pub use contract::build_context::BuildContext;
pub use contract::discipline::{
    Backlog, DropReason, Line, MarkReason, OnWire, Out, Place, ProbeId, QueueDiscipline, Service,
};
pub use contract::server::{self, Server};
pub use contract::view::{Congestion, Exit, PacketSource, QueueView};
pub use contract::{capacity, rate_trace, row, testing, witness};
pub use registry::Registry;
