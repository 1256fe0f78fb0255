//! A row of a list of parts: its declaration, and how it is built. For AQMs, schedulers and drop policies; the row of
//! a whole discipline is an [`Entry`](crate::entry::Entry).

use crate::admission::Admission;
use crate::build_context::BuildContext;
use crate::pieces::drop::DropPolicy;
use crate::pieces::schedule::Scheduler;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings, Size};

/// Makes an admission from the settings of a model that is one.
pub type BuildAdmission<P> = fn(&Settings, BuildContext) -> Result<Box<dyn Admission<P>>, Refusal>;

/// Makes a scheduler.
pub type BuildScheduler<P> = fn(&Settings, BuildContext) -> Result<Box<dyn Scheduler<P>>, Refusal>;

/// Makes a drop policy for a buffer of this size.
pub type BuildPolicy<P> = fn(&Settings, Size, BuildContext) -> Result<Box<dyn DropPolicy<P>>, Refusal>;

/// A row: the declaration of a part, and the function that builds it.
#[derive(Clone, Copy)]
pub struct Row<B> {
    pub model: &'static Model,
    pub build: B,
}

/// An AQM that a scenario can use before a discipline (`before`) or on each of its queues (`aqm`).
pub type AqmEntry<P> = Row<BuildAdmission<P>>;

/// A scheduler that a scenario can use below a drop policy (`scheduler`).
pub type SchedulerEntry<P> = Row<BuildScheduler<P>>;

/// A drop policy that a scenario can use above a scheduler (`policy`).
pub type PolicyEntry<P> = Row<BuildPolicy<P>>;
