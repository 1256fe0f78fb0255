//! A registry entry of a conditioner: its declaration, its constructor, and facts about it for other code.

use crate::conditioner::{Conditioner, EdgeId};
use crate::meter::MeterList;
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Model, Settings, Stream};

/// Makes the conditioner that the settings describe. The error says which parameters contradict each other.
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

/// Entries can be copied for any type of packet.
impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P> Copy for Entry<P> {}

/// The context in which a conditioner is built, in addition to its own settings.
pub struct BuildContext<'a> {
    /// The random stream of the conditioner, named after its edge.
    pub stream: Stream,
    /// The rate of the line after the conditioner.
    pub rate: BitRate,
    /// The number of its own edge.
    pub edge: EdgeId,
    /// The number of edges; 0 if it is not known yet.
    pub edge_count: u32,
    /// Finds another edge by its name.
    pub edges: &'a dyn Fn(&str) -> Result<EdgeId, Refusal>,
    /// Builds the meters inside the conditioner.
    pub meters: &'a MeterList,
}

/// Facts about a conditioner that the rest of the program may use without knowing its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub stands: Stands,
}

/// The places in which a conditioner can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stands {
    Anywhere,
    /// Only in hosts: the conditioner uses the state of senders on its host, which routers do not have.
    InHosts,
    /// Where there are senders, because the conditioner uses their state. In a host these are the senders of that host.
    /// On a link these are all senders whose packets pass, as if they reported their state.
    WithSenders,
}

impl<P> Entry<P> {
    /// Build the conditioner that these settings describe. They are settings of this entry's model.
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
