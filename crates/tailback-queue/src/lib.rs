//! Queue disciplines, packet schedulers and drop policies, without clocks or I/O.
//!
//! A discipline is a plain object behind [`QueueDiscipline`]: calls carry `now`, and its reports go through [`Out`].
//! The simulator drives it in virtual time, a gateway in real time, a test by hand.
//!
//! A discipline is found in the file of its scenario name:
//!
//! | room | what is in it |
//! |---|---|
//! | [`fifo`] | one queue, first in, first out: drop-tail, random drop, front drop |
//! | [`aqm`] | active queue management: RED, Blue, CoDel; the filtered average they share |
//! | [`fair`] | fair shares of the line: round robins and fair queueing |
//! | [`buffers`] | round robins that differ in who loses when the shared buffer is full |
//! | [`feedback`] | queues that tell senders more than a loss does |
//! | [`pieces`] | what a port of several queues is made of: classifiers, schedulers, drop policies |
//!
//! To add a discipline: write one file with its `MODEL`, its type and its `entry`, and add a row in [`registry`]. If
//! it only decides about packets, write an [`Admission`], which is then used over a FIFO or before a scheduler. The
//! tests in `tests/` find the new row automatically; [`testing`] has a packet and a bench for your own tests.

pub mod admission;
pub mod admitted;
pub mod aqm;
pub mod buffers;
pub mod build_context;
pub mod capacity;
pub mod discipline;
pub mod entry;
pub mod fair;
pub mod feedback;
pub mod fifo;
pub mod line;
pub mod marking;
pub mod params;
pub mod pieces;
pub mod registry;
pub mod report;
pub mod row;
pub mod server;
pub mod testing;
pub mod view;

pub use admission::{Admission, Decision, Waiting};
pub use admitted::Admitted;
pub use build_context::BuildContext;
pub use discipline::{Backlog, DropReason, Line, MarkReason, OnWire, Out, Place, ProbeId, QueueDiscipline, Service};
pub use registry::Registry;
pub use server::Server;
pub use view::{Congestion, Exit, PacketSource, QueueView};
