//! Several queues behind one line and in one buffer.
//!
//! A port consists of three independent pieces: a classifier (which packets share a queue), a scheduler (which queue
//! has the turn) and a drop policy (which queue loses when the buffer is full). [`port::Port`] is the frame that
//! calls them. `Port<P, PerFlow, Drr, Sticky>` is QSDRR; any other combination also works.
//!
//! | file | what |
//! |---|---|
//! | [`port`] | the frame |
//! | [`store`], [`arena`] | the queues and their packets, which all pieces may look at |
//! | [`classify`] | a queue a flow, a queue a conversation, hashing, Bloom-filter groups |
//! | [`schedule`] | deficit round robin, fair queueing and similar schedulers |
//! | [`mod@drop`] | policies that evict, policies that refuse, and fair queueing's mark |
//! | [`index`] | the longest, the shortest, the fastest of many queues at once |
//! | [`catalogue`] | the pieces a scenario can name, a row each |
//! | [`assembly`] | how a scenario's settings become a port |
//! | [`params`] | parameters and probes that several disciplines declare |
//!
//! To add a piece: one file, and a row in [`catalogue`].

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
