//! Additions of a caller to a scenario: disciplines, transports, a library, a tap, and the progress of a run.

use crate::library::{Library, outside};
use crate::wire::packet::SimPacket;
use crate::wire::tap::TapMaker;
use std::collections::HashMap;
use std::num::NonZeroU32;
use tailback_base::quantity::Refusal;
use tailback_base::{Settings, Time};
use tailback_queue::{BuildContext, QueueDiscipline};
use tailback_transport::Connection;

/// The port of a discipline from outside, and the context that a discipline of the registry would get there.
pub struct PortContext<'a> {
    /// `bottleneck`, `bottleneck.reverse`.
    pub port: &'a str,
    /// Whether the network marks packets, as the scenario sets it with `marking`.
    pub marking: bool,
    pub context: BuildContext,
}

/// Makes a discipline for one run at this port.
pub type QueueMaker<'a> = &'a (dyn Fn(PortContext) -> Box<dyn QueueDiscipline<SimPacket>> + Sync);

/// The additions of a caller to a scenario.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Disciplines that no scenario can name (written in Python, or in a test), by port: `bottleneck`,
    /// `bottleneck.reverse`.
    pub queues: HashMap<String, QueueMaker<'a>>,
    /// Transports that no scenario can name, by the group of flows, the sessions or the workload that use them instead
    /// of the scenario's transport.
    pub connections: HashMap<String, Connection>,
    /// The library with which the scenario was read, if it is not the standard library.
    pub library: Option<&'a Library>,
    /// Makes the tap that sees every packet of a run at every port.
    pub tap: Option<TapMaker<'a>>,
    /// The origin of the packets of the flows.
    pub ends: FlowEnds,
    /// Every packet-hop is an event, nothing runs ahead, no port is lazy and no segment is predicted. The results are
    /// the same, but the run takes longer. This is for tests that compare both ways.
    pub one_by_one: bool,
    /// Check the laws that hold in every run; a broken law ends the run with a message.
    pub laws: bool,
    /// Called with the share of the run that is done, each time some hundredths of a second of work are done, also
    /// inside one event (see [`tailback_base::work`]). The run stops when it returns false.
    pub progress: Option<&'a dyn Fn(f64) -> bool>,
    /// Call `progress` each time this many events are done; by default it is called after some hundredths of a second.
    pub ask_after: Option<NonZeroU32>,
    /// End the run at this instant, if it is before the end of the scenario.
    pub until: Option<Time>,
}

/// The senders and receivers of the packets of a scenario's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlowEnds {
    /// The endpoints and sources that the scenario names.
    #[default]
    Simulated,
    /// The program that drives the simulator: it hands packets in with [`Sim::inject`](crate::sim::Sim::inject).
    Injected,
}

impl<'a> Hooks<'a> {
    /// Report how far the run is.
    ///
    /// # Errors
    /// The run is to stop.
    pub fn go_on(&self, share: f64) -> Result<(), Refusal> {
        match self.progress.is_some_and(|p| !p(share)) {
            true => Err(interrupted()),
            false => Ok(()),
        }
    }

    /// The connections with these settings for a group, sessions or a workload of this name; `None` for datagrams.
    ///
    /// # Errors
    /// The settings contradict each other, or name a stack that was not handed over.
    pub(super) fn connection(&self, name: &str, settings: &Settings) -> Result<Option<Connection>, Refusal> {
        match self.connections.get(name) {
            Some(own) => Ok(Some(own.clone())),
            None if outside::is_stack(settings) => Err(outside::no_stack(name)),
            None => self.library().transports.connection(settings),
        }
    }

    pub fn library(&self) -> &'a Library {
        match self.library {
            Some(library) => library,
            None => Library::standard(),
        }
    }
}

pub(crate) fn interrupted() -> Refusal {
    Refusal::new("the run was interrupted", "run it again; finished runs are kept")
}
