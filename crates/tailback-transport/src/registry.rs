//! The transports and congestion controls that a scenario can name: one list for transports, one for congestion
//! controls, and the look-ups in both lists.
//!
//! A caller that has additional entries adds these entries to a copy of the lists.

use crate::entry::{Carries, Connection, Entry};
use crate::rtp::control::{RateController, list::RATE_CONTROLLERS};
use crate::tcp::congestion::{Controller, list};
use crate::{datagram, keshav, rtp, tcp, tfrc};
use tailback_base::model;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings};

/// The transports, in the order of the reference page.
pub static TRANSPORTS: &[&Entry] = &[
    &tcp::ENTRY,
    &keshav::GENERIC,
    &keshav::JACOBSON_KARELS,
    &keshav::DECBIT,
    &keshav::PACKET_PAIR,
    &tfrc::ENTRY,
    &rtp::ENTRY,
    &datagram::ENTRY,
];

/// Everything that can be named.
#[derive(Clone, Debug)]
pub struct Registry {
    pub transports: model::Registry<&'static Entry>,
    pub controllers: model::Registry<&'static Controller>,
    pub rate_controllers: model::Registry<&'static RateController>,
}

impl Registry {
    /// The transports of tailback.
    pub fn standard() -> Registry {
        Registry {
            transports: model::Registry::new(TRANSPORTS.iter().copied()),
            controllers: model::Registry::new(list::CONTROLLERS),
            rate_controllers: model::Registry::new(RATE_CONTROLLERS.iter().copied()),
        }
    }

    /// Whether data packets of a transport with these settings (profile applied) are ECN-capable.
    pub fn is_capable(&self, settings: &Settings) -> bool {
        self.find(settings.model)
            .is_some_and(|e| (e.capable)(settings, &self.controllers))
    }

    /// The parameters of connections with these settings (profile applied), if the transport is TCP and its settings
    /// fit each other.
    pub fn tcp(&self, settings: &Settings) -> Option<tcp::Config> {
        let is_tcp = std::ptr::eq(settings.model, &tcp::MODEL);
        is_tcp
            .then(|| tcp::Config::resolve_with(settings, &[], &self.controllers).ok())
            .flatten()
    }

    /// The entry of a model.
    pub fn find(&self, model: &Model) -> Option<&'static Entry> {
        self.transports.iter().copied().find(|e| std::ptr::eq(e.model, model))
    }

    /// Whether the transport of this model carries datagrams.
    pub fn carries_datagrams(&self, model: &Model) -> bool {
        self.find(model)
            .is_some_and(|e| matches!(e.carries, Carries::Datagrams))
    }

    /// Whether the transport of this model sends lost data again, so that all written data arrives.
    pub fn repeats_losses(&self, model: &Model) -> bool {
        self.find(model)
            .is_some_and(|e| matches!(e.carries, Carries::Stream(_)))
    }

    /// Whether the transport of this model tells its application the rate at which to send, and numbers packets.
    pub fn adapts(&self, model: &Model) -> bool {
        self.find(model)
            .is_some_and(|e| matches!(e.carries, Carries::Adapting(_)))
    }

    /// The connection that these settings describe; `None` for datagrams.
    ///
    /// # Errors
    /// Some parameters contradict each other, or the model is not in the list.
    pub fn connection(&self, settings: &Settings) -> Result<Option<Connection>, Refusal> {
        match self.transports.row(settings.model.name)?.carries {
            Carries::Stream(make) => make(settings, &self.controllers).map(Some),
            Carries::Lossy(make) => make(settings).map(Some),
            Carries::Adapting(make) => make(settings, &self.rate_controllers).map(Some),
            Carries::Datagrams => Ok(None),
        }
    }
}
