//! The longest, the shortest or the fastest of many queues, found without a search; the rates that order them; lists
//! of queues.

pub mod bit_tree;
pub mod fattest;
pub mod length_index;
pub mod queue_list;
pub mod rate_estimate;
pub mod rate_heap;
pub mod tag_heap;
