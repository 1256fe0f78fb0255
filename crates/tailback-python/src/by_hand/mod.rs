//! What Python drives by hand, call by call: a queue, a congestion control, the sender of a connection.

mod control;
mod queue;
mod sender;

pub use control::DrivenControl;
pub use queue::DrivenQueue;
pub use sender::{SegmentByHand, SenderByHand};
