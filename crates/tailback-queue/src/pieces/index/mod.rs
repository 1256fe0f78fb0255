//! Data structures that find the longest, the shortest or the fastest of many queues without a search; estimates of the
//! rates of queues; lists of queues; counters that find flows that send much.

pub mod bit_tree;
pub mod fattest;
pub mod heavy_flows;
pub mod length_index;
pub mod queue_list;
pub mod rate_estimate;
pub mod rate_heap;
pub mod tag_heap;
