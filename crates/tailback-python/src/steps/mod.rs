//! Environments for agents that learn: runs that go on step by step, one in the calling thread or many on all cores.
//!
//! `tailback.gym` makes environments of Gymnasium from them; this module does not depend on that library.

mod agent;
mod features;
mod many;
mod one;
mod stepper;

pub use features::PathFeatures;
pub use many::StepEnvs;
pub use one::{StepEnv, load_steered};
