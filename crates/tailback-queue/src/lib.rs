//! Queue disciplines, packet schedulers and drop policies, without clocks or I/O.
//!
//! A discipline is a plain object behind [`QueueDiscipline`]: calls carry `now`, what it wants the world to know goes
//! through [`Out`]. The simulator drives it in virtual time, a gateway in real time, a test by hand.
//!
//! To add a discipline: write one file with its `MODEL` and its type, and name it in [`registry`]. If it only decides
//! about arriving packets, write an [`Admission`]: it then stands over a FIFO or before a scheduler. The tests in
//! `tests/` find the new model by themselves; [`testing`] has a packet and a bench for your own.

pub mod admission;
pub mod average;
pub mod blue;
pub mod capacity;
pub mod codel;
pub mod decbit;
pub mod discipline;
pub mod fifo;
pub mod front_drop;
pub mod multiqueue;
pub mod random_drop;
pub mod red;
pub mod registry;
pub mod testing;

pub use admission::{Admission, Admitted, Decision, QueueView, Waiting};
pub use discipline::{Backlog, DropReason, Line, MarkReason, OnWire, Out, Place, ProbeId, QueueDiscipline, Service};
