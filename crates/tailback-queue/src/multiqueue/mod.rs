//! Several queues behind one line and in one buffer.
//!
//! A port is put together from three pieces that know nothing of each other: a classifier (which packets share a queue), a
//! scheduler (whose turn it is) and a drop policy (who loses when the buffer is full). [`port::Port`] is the frame that
//! calls them, [`pieces`] their traits. `Port<P, PerFlow, Drr, Sticky>` is QSDRR; any other combination runs as well.
//!
//! | file | what |
//! |---|---|
//! | [`port`], [`pieces`] | the frame, and the hooks of the pieces |
//! | [`store`], [`arena`] | the queues and their packets, which all pieces may look at |
//! | [`per_flow`], [`hash`], [`bloom`] | classifiers: a queue a flow, flows dealt out evenly, hashing, Bloom-filter groups |
//! | [`conversations`] | classifier: a queue a conversation |
//! | [`occupancy`] | the flows each queue really has, for measures |
//! | [`drr`] | schedulers: deficit round robin, plain and weighted (`wdrr`) |
//! | [`scfq`], [`wf2q_plus`], [`wf2q`] | schedulers by weight and tags |
//! | [`fair`], [`virtual_time`], [`tag_heap`] | scheduler: fair queueing (`fq`, `fqbit`); its clock and arithmetic; its heap |
//! | [`most_held`], [`share_mark`] | fair queueing's drop rule, and its congestion bit |
//! | [`longest`], [`throughput`], [`sticky`] | drop policies that evict: LQD (`drr`), TDRR (`tdrr`), QSDRR (`qsdrr`) |
//! | [`threshold`], [`discard`] | drop policies that only refuse: DTDRR (`dtdrr`), DSDRR (`dsdrr`) |
//! | [`length_index`], [`bit_tree`], [`rate_heap`], [`rate_estimate`] | the longest, the shortest, the fastest queue at once |
//! | [`models`] | shared parameters, and how a scenario's settings become a port |
//!
//! To add a discipline: one file with a new piece and its `MODEL`, and a line in [`models`].

pub mod arena;
pub mod bit_tree;
pub mod bloom;
pub mod conversations;
pub mod discard;
pub mod drr;
pub mod fair;
pub mod hash;
pub mod length_index;
pub mod longest;
pub mod models;
pub mod most_held;
pub mod occupancy;
pub mod per_flow;
pub mod pieces;
pub mod port;
pub mod rate_estimate;
pub mod rate_heap;
pub mod scfq;
pub mod share_mark;
pub mod sticky;
pub mod store;
pub mod tag_heap;
pub mod threshold;
pub mod throughput;
pub mod virtual_time;
pub mod wf2q;
pub mod wf2q_plus;

pub use pieces::{Classifier, DropPolicy, Scene, Scheduler, ServiceOrder};
pub use port::Port;
pub use store::{QueueId, Store};
