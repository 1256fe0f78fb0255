//! The objects that Python drives by hand, call by call: a queue, a congestion control, a rate control, the sender of a
//! connection.

mod clock;
mod control;
mod queue;
mod rate;
mod sender;

pub use control::DrivenControl;
pub use queue::DrivenQueue;
pub use rate::DrivenRateControl;
pub use sender::{SegmentByHand, SenderByHand};
