//! The contract between a discipline and its driver, and the drivers. This module knows no discipline.
//!
//! | file | what |
//! |---|---|
//! | [`discipline`] | a queue discipline, as its driver sees it |
//! | [`admission`] | the decision about an arriving packet, which stands over a queue or in front of a discipline |
//! | [`admitted`] | an admission in front of a discipline |
//! | [`view`] | the packets of a discipline, as an admission sees them |
//! | [`queue_aqms`] | an admission for each queue of a discipline |
//! | [`line`](mod@line), [`capacity`] | the line behind a queue, and what a buffer holds |
//! | [`report`] | what a discipline reports |
//! | [`server`] | a discipline and its line: the law of service |
//! | [`witness`] | remembers a discipline's answers, for the check of its line |
//! | [`build_context`], [`row`] | what a model may know when it is built; its row of a list |
//! | [`testing`] | a packet, and a bench for packet dialogues |

pub mod admission;
pub mod admitted;
pub mod build_context;
pub mod capacity;
pub mod discipline;
pub mod line;
pub mod queue_aqms;
pub mod rate_trace;
pub mod report;
pub mod row;
pub mod server;
pub mod testing;
pub mod view;
pub mod witness;
