//! The list of disciplines a scenario can name, and how each is built.

use crate::discipline::QueueDiscipline;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Model, Packet, Settings, Stream};

/// What a discipline may know when it is built, beside its own settings.
#[derive(Clone, Debug)]
pub struct Place {
    /// The stream the discipline draws from, named after its link.
    pub stream: Stream,
    /// The rate of the line behind it.
    pub rate: BitRate,
}

/// Every discipline, in the order the reference shows them.
pub static MODELS: &[&Model] = &[];

/// Build the discipline these settings describe.
pub fn build<P: Packet + 'static>(settings: &Settings, _place: Place) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let name = settings.model.name;
    match name {
        _ => Err(Refusal::new(format!("there is no queue discipline \"{name}\""), "see `tailback describe`")),
    }
}

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|m| m.name == name)
}
