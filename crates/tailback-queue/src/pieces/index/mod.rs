//! The longest, the shortest or the fastest of many queues, found without a search; the rates that order them; lists
//! of queues; flows that send much, found with few counters.

pub mod bit_tree;
pub mod fattest;
pub mod heavy_flows;
pub mod length_index;
pub mod queue_list;
pub mod rate_estimate;
pub mod rate_heap;
pub mod tag_heap;
