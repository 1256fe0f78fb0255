//! A row of a list of parts: what is declared, and how it is built. For AQMs, schedulers and drop policies; the row of
//! a whole discipline is an [`Entry`](crate::entry::Entry).

use crate::contract::admission::Admission;
use crate::contract::build_context::BuildContext;
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings};

/// Makes an admission from the settings of a model that has one.
pub type BuildAdmission<P> = fn(&Settings, BuildContext) -> Result<Box<dyn Admission<P>>, Refusal>;

/// A row: what a scenario may say of a thing, and what builds it.
#[derive(Clone, Copy)]
pub struct Row<B> {
    pub model: &'static Model,
    pub build: B,
}

impl<P> Registered for AqmEntry<P> {
    const FAMILY: &'static str = "aqm";
    const WHAT: &'static str = "AQM";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// One AQM that a scenario can put before a discipline (`before`) or on each of its queues (`aqm`).
pub type AqmEntry<P> = Row<BuildAdmission<P>>;
