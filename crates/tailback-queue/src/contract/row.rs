//! A registry entry of an AQM, a scheduler or a drop policy: its declaration and its constructor. The registry entry of
//! a whole discipline is an [`Entry`](crate::entry::Entry).

use crate::contract::admission::Admission;
use crate::contract::build_context::BuildContext;
use crate::params::BUFFER;
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings};

/// Makes an admission from the settings of a model that has one.
pub type BuildAdmission<P> = fn(&Settings, BuildContext) -> Result<Box<dyn Admission<P>>, Refusal>;

/// These settings, with the values of their profile for parameters that are not given.
///
/// # Errors
/// The model does not have the profile.
pub fn laid(settings: &Settings) -> Result<Settings, Refusal> {
    settings.with_profile(&[]).map_err(|e| e.within("profile"))
}

/// The settings of an AQM inside the discipline `of`. The buffer of the AQM is that of the discipline.
///
/// # Errors
/// The settings give the AQM a buffer of its own; and the errors of [`laid`].
pub fn settings_within(aqm: &Settings, of: &Settings) -> Result<Settings, Refusal> {
    let mut own_settings = laid(aqm)?;
    if own_settings.model.param(BUFFER.name).is_some() {
        if own_settings.gives(&BUFFER) {
            let (name, of) = (aqm.model.name, of.model.name);
            let e = Refusal::new(
                format!("{name} has a buffer of its own here, but inside {of} it uses the buffer of {of}"),
                format!("leave it out, and set the buffer of {of}"),
            );
            return Err(e.within(BUFFER.name));
        }
        own_settings.lay_value_of(of, BUFFER.name);
    }
    Ok(own_settings)
}

/// A registry entry: the parameters that a scenario may set, and the constructor.
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

/// An AQM that a scenario can put before a discipline (`before`) or on each of its queues (`aqm`).
pub type AqmEntry<P> = Row<BuildAdmission<P>>;
