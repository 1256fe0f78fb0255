//! A row of the list of conditioners: its declaration, how it is built, and the facts that others may ask for.

use crate::conditioner::{Conditioner, EdgeId};
use crate::meter::MeterList;
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Model, Settings, Stream};

/// Makes the conditioner that these settings describe; the refusal says which parameters contradict each other.
pub type Build<P> = fn(&Settings, BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal>;

/// A conditioner that a scenario can name.
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

/// Rows can be copied for any type of packet.
impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P> Copy for Entry<P> {}

/// The context in which a conditioner is built, in addition to its own settings.
pub struct BuildContext<'a> {
    /// The random stream it draws from, named after its edge.
    pub stream: Stream,
    /// The rate of the line after it.
    pub rate: BitRate,
    /// Its own number.
    pub edge: EdgeId,
    /// How many edges there are; 0 if that is not known yet.
    pub edge_count: u32,
    /// Finds another edge by its name.
    pub edges: &'a dyn Fn(&str) -> Result<EdgeId, Refusal>,
    /// Builds the meters inside it.
    pub meters: &'a MeterList,
}

/// Facts about a conditioner that the rest of the program may use without knowing its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub stands: Stands,
}

/// The places in which it makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stands {
    Anywhere,
    /// It uses the state of senders on its host, which no router knows.
    InHosts,
    /// It uses the state of senders: in a host, the state of that host's senders; on a link, that of all senders
    /// whose packets pass, as if they reported it.
    WithSenders,
}

impl<P> Entry<P> {
    /// Build the conditioner that these settings, of this entry's model, describe.
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
