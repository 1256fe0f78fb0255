//! Queue disciplines, packet schedulers and drop policies, without clocks or I/O.
//!
//! A discipline is a plain object behind [`QueueDiscipline`]: calls carry `now`, and its reports go through [`Out`].
//! The simulator drives it in virtual time, a gateway in real time, a test by hand.
//!
//! A discipline is found in the file of its scenario name, or in its row of `ports.rs`. Each room knows those above it:
//!
//! | room | what is in it |
//! |---|---|
//! | [`contract`] | what a discipline promises, and what drives one |
//! | [`params`] | parameters that disciplines of several rooms declare |
//! | [`pieces`] | what a port of several queues is made of: classifiers, schedulers, drop policies |
//! | [`linux`] | what Linux has of a discipline: which word of `tc` says which parameter |
//! | [`entry`] | a row of the list of disciplines: how it is built, and what is known of it |
//! | [`fifo`] | one queue, first in, first out: drop-tail, random drop, front drop |
//! | [`aqm`] | active queue management: RED, Blue, CoDel; the filtered average they share |
//! | [`feedback`] | queues that tell senders more than a loss does |
//! | [`shape`] | a shaper around another discipline; the length of a packet on a link |
//! | [`fair`] | fair shares of the line by other algorithms: CAKE, classes of DiffServ, hashed buckets |
//! | [`ports`] | round robins and fair queueing: pieces put together, a row each |
//! | [`shared`] | one memory for the packets of several ports |
//! | [`registry`] | the list of them all |
//! | [`marking`] | one rule for all of them: whether queues mark |
//! | [`shaped`] | disciplines behind shapers |
//!
//! To add a discipline: write one file with its `MODEL`, its type and its `entry`, and give it a row in [`registry`].
//! One that is made of pieces which are there needs a row in [`ports`] instead of a file. If it only decides about
//! packets, write an [`Admission`]: it then stands over a FIFO or before a scheduler. The tests in `tests/` find the
//! new row by themselves; [`testing`] has a packet and a bench for your own.

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
