//! The connections a scenario can name, and how both ends of each are made.
//!
//! Datagrams are no connection: the simulator carries them without endpoints.

use crate::endpoint::Endpoint;
use crate::path::Path;
use crate::{keshav, tcp};
use std::sync::Arc;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings, Stream};

/// Every connection model, in the order the reference shows them.
pub static MODELS: &[&Model] = &[
    &tcp::MODEL,
    &keshav::params::GENERIC,
    &keshav::params::JACOBSON_KARELS,
    &keshav::params::DECBIT,
    &keshav::params::PACKET_PAIR,
];

/// Whether a transport of this name is a connection.
pub fn is_connection(name: &str) -> bool {
    MODELS.iter().any(|m| m.name == name)
}

/// The checked parameters of a connection, shared by all that are made with them.
#[derive(Clone, Debug)]
pub enum Connection {
    Tcp(Arc<tcp::Config>),
    Keshav(Arc<keshav::Config>),
}

impl Connection {
    /// # Errors
    /// Parameters that contradict each other.
    pub fn resolve(settings: &Settings) -> Result<Connection, Refusal> {
        Ok(if settings.model.name == tcp::MODEL.name {
            Connection::Tcp(Arc::new(tcp::Config::resolve(settings, &[])?))
        } else {
            Connection::Keshav(Arc::new(keshav::Config::resolve(settings)?))
        })
    }

    /// Payload of a full segment, bytes.
    pub fn segment_bytes(&self) -> u32 {
        match self {
            Connection::Tcp(c) => c.payload,
            Connection::Keshav(c) => c.packet.saturating_sub(c.header).max(1),
        }
    }

    /// Both ends of a new connection, source first. `path` is asked for only if they need it; what the parameters leave
    /// to chance is drawn from `rng`.
    pub fn ends(&self, path: impl FnOnce() -> Path, rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        match self {
            Connection::Tcp(c) => {
                let (sender, receiver) = tcp::draw_pair(c, rng);
                [Box::new(sender), Box::new(receiver)]
            }
            Connection::Keshav(c) => keshav::new_pair(c, &path()),
        }
    }
}
