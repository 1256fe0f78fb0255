//! Several queues behind one line and in one buffer.
//!
//! A port consists of three independent pieces. A classifier decides which packets share a queue, a scheduler decides
//! which queue has the turn, and a drop policy decides which queue loses packets when the buffer is full.
//! [`port::Port`] is the frame that calls these pieces. `Port<P, PerFlow, Drr, Sticky>` is QSDRR; any other combination
//! also works.
//!
//! | file | contents |
//! |---|---|
//! | [`port`] | the frame |
//! | [`store`], [`arena`] | the queues and their packets, which all pieces may read |
//! | [`classify`] | a queue for each flow, a queue for each conversation, hashing, Bloom-filter groups |
//! | [`schedule`] | deficit round robin, fair queueing and similar schedulers |
//! | [`mod@drop`] | policies that evict, policies that refuse, and fair queueing's mark |
//! | [`index`] | data structures that find the longest, the shortest or the fastest of many queues |
//! | [`catalogue`] | the pieces that a scenario can name, with an entry each |
//! | [`assembly`] | the construction of a port from the settings of a scenario |
//! | [`params`] | parameters and probes that several disciplines declare |
//!
//! To add a piece, write one file and add an entry to [`catalogue`].

pub mod arena;
pub mod assembly;
pub mod catalogue;
pub mod classify;
pub mod drop;
pub mod index;
pub mod params;
pub mod port;
pub mod schedule;
pub mod store;
