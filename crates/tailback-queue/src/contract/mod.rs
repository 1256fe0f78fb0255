//! The contract between a discipline and its driver, and the drivers. This module depends on no discipline.
//!
//! | file | contents |
//! |---|---|
//! | [`discipline`] | a queue discipline, as its driver sees it |
//! | [`admission`] | the decision about an arriving packet, for one queue or in front of a discipline |
//! | [`admitted`] | an admission in front of a discipline |
//! | [`view`] | the packets of a discipline, as an admission sees them |
//! | [`queue_aqms`] | an admission for each queue of a discipline |
//! | [`line`](mod@line), [`capacity`] | the line behind a queue, and the arithmetic of buffer limits |
//! | [`report`] | the reports of a discipline |
//! | [`server`] | a discipline and its line, with the rules of service |
//! | [`witness`] | stores the answers of a discipline, for the check of its line |
//! | [`build_context`], [`row`] | the context in which a model is built; the registry entry of a model |
//! | [`testing`] | a test packet, and a test bench for a discipline |

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
