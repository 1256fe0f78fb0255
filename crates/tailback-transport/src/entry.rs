//! An entry of the list of transports: the facts about a transport, and the functions that make its connections.

use crate::endpoint::Endpoint;
use crate::path::Path;
use crate::rtp::control::RateController;
use crate::tcp::congestion::Controller;
use std::fmt;
use std::sync::Arc;
use tailback_base::model::{self, Registered};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings, Stream};

/// A transport a scenario can name.
#[derive(Debug)]
pub struct Entry {
    pub model: &'static Model,
    pub carries: Carries,
    /// Whether data packets with these settings (profile applied) are ECN-capable, so that queues may mark them (RFC
    /// 3168). `controllers` are the congestion controls that the settings may name.
    pub capable: fn(&Settings, controllers: &[&'static Controller]) -> bool,
}

impl Registered for Entry {
    const FAMILY: &'static str = "transport";
    const WHAT: &'static str = "transport";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// The data that an application gives to a transport.
#[derive(Clone, Copy, Debug)]
pub enum Carries {
    /// A stream of bytes between two endpoints. This function also checks the settings against each other.
    /// `controllers` are the congestion controls that the settings may name.
    Stream(fn(&Settings, controllers: &[&'static Controller]) -> Result<Connection, Refusal>),
    /// Packets between two endpoints. Lost packets are not sent again.
    Lossy(fn(&Settings) -> Result<Connection, Refusal>),
    /// Packets as in `Lossy`, but the source also tells its application the rate at which to send.
    Adapting(fn(&Settings, controllers: &model::Registry<&'static RateController>) -> Result<Connection, Refusal>),
    /// Packets, without endpoints. The model has the parameters `header` and `ecn`.
    Datagrams,
}

/// The checked parameters of a connection, shared by all connections made with them.
#[derive(Clone)]
pub struct Connection(Arc<dyn Ends>);

/// Makes both ends of a connection.
pub trait Ends {
    /// Payload of a full segment, bytes.
    fn segment_bytes(&self) -> u32;
    /// Whether both ends may send. If so, the first of `ends` opens the connection.
    fn is_two_way(&self) -> bool {
        false
    }
    /// Whether the ends are code from outside tailback. If so, the second end is also called when the flow starts,
    /// because a server may send first. In addition, no end of the run is called ahead of time, because ends may share
    /// state.
    fn is_from_outside(&self) -> bool {
        false
    }
    /// Both ends of a new connection, source first. `path` is called only if the ends need it. Random choices that the
    /// parameters leave open are drawn from `rng`.
    fn ends(&self, path: &mut dyn FnMut() -> Path, rng: &mut Stream) -> [Box<dyn Endpoint>; 2];
}

impl Connection {
    pub fn new(ends: impl Ends + 'static) -> Connection {
        Connection(Arc::new(ends))
    }

    /// See [`Ends::segment_bytes`].
    pub fn segment_bytes(&self) -> u32 {
        self.0.segment_bytes()
    }

    /// See [`Ends::is_two_way`].
    pub fn is_two_way(&self) -> bool {
        self.0.is_two_way()
    }

    /// See [`Ends::is_from_outside`].
    pub fn is_from_outside(&self) -> bool {
        self.0.is_from_outside()
    }

    /// See [`Ends::ends`].
    pub fn ends(&self, mut path: impl FnMut() -> Path, rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        self.0.ends(&mut path, rng)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a connection with segments of {} B", self.segment_bytes())
    }
}
