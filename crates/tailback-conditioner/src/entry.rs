//! A row of the list of conditioners: what is declared, how it is built, and the facts others may ask for.

use crate::conditioner::{Conditioner, EdgeId};
use crate::meter::MeterList;
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Model, Settings, Stream};

/// Makes the conditioner these settings describe; the refusal says which parameters contradict each other.
pub type Build<P> = fn(&Settings, BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal>;

/// One conditioner a scenario can name.
pub struct Entry<P> {
    pub model: &'static Model,
    pub build: Build<P>,
    pub facts: Facts,
}

impl<P> Registered for Entry<P> {
    const FAMILY: &'static str = "conditioner";
    const WHAT: &'static str = "conditioner";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// Rows are handed about, whatever the packet.
impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P> Copy for Entry<P> {}

/// What a conditioner may know when it is built, beside its own settings.
pub struct BuildContext<'a> {
    /// The stream it draws from, named after its edge.
    pub stream: Stream,
    /// The rate of the line behind it.
    pub rate: BitRate,
    /// Its own number.
    pub edge: EdgeId,
    /// How many edges there are; 0 where that is not known yet.
    pub edge_count: u32,
    /// Finds another edge by its name.
    pub edges: &'a dyn Fn(&str) -> Result<EdgeId, Refusal>,
    /// What builds the meters in it.
    pub meters: &'a MeterList,
}

/// What the rest of the program may know of a conditioner without knowing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub stands: Stands,
}

/// Where it makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stands {
    Anywhere,
    /// It goes by the state of senders on its host, which no router knows.
    InHosts,
    /// It goes by the state of senders: in a host of that one, on a link of all whose packets pass, as if they reported
    /// it.
    WithSenders,
}

impl<P> Entry<P> {
    /// Build the conditioner these settings, of this entry's model, describe.
    ///
    /// # Errors
    /// A parameter without a value, or parameters that contradict each other.
    pub fn build(&self, settings: &Settings, context: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
        if let Some(missing) = settings.missing() {
            let name = self.model.name;
            let remedy = format!("give {}", missing.kind.allowed());
            return Err(Refusal::new(format!("{name} needs {}", missing.name), remedy));
        }
        (self.build)(settings, context)
    }
}
