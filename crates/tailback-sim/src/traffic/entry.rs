//! The facts about a traffic source that the engine needs.

use super::application::Application;
use super::conflict::Conflict;
use super::packet_sizes::Sizes;
use super::superposed;
use tailback_base::model::Registered;
use tailback_base::{Duration, Model, Named, Settings, Stream};

/// A source: its declaration, and how it is made.
pub struct Entry {
    pub model: &'static Model,
    /// The source of one flow. The settings have been checked, also by `check`.
    pub build: fn(&Settings, Context) -> Box<dyn Application>,
    /// Finds values that contradict each other, or with which this source cannot work.
    pub check: fn(&Settings) -> Result<(), Conflict>,
    /// The load of the source, for computations before a run; `packet` is the mean size of its packets in bytes.
    pub offer: fn(&Settings, packet: f64) -> Offer,
    pub facts: Facts,
}

impl Registered for Entry {
    const FAMILY: &'static str = "traffic";
    const WHAT: &'static str = "traffic source";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// An upper bound for the load of one flow of a source, from its parameters alone: the mean over the flows of a
/// group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Offer {
    /// As much as its connection can carry.
    Elastic,
    /// This many bytes at a time, once or repeatedly, each after a pause of this many seconds.
    Portions { bytes: f64, pause: f64, once: bool },
    /// Packets at its own rate, whatever happens to them.
    Paced {
        /// Bit/s on the wire, headers included.
        rate: f64,
        /// Bytes that may be sent at once beyond that rate: a train, a frame, an on-time.
        at_once: f64,
        /// Mean bytes of a packet on the wire.
        packet: f64,
    },
}

impl Offer {
    /// Packets that come one by one.
    pub fn paced(rate: Option<f64>, packet: f64) -> Offer {
        let rate = rate.unwrap_or(f64::INFINITY);
        Offer::Paced {
            rate,
            at_once: 0.0,
            packet,
        }
    }
}

/// Properties by which the code that reads and builds a scenario distinguishes sources.
#[derive(Clone, Copy)]
pub struct Facts {
    pub output: Output,
    /// Whether it reacts to events of its connection, and not only to its own wakes.
    pub listens: bool,
    /// Each flow begins with a random destination label and changes it later, which is impossible for a connection.
    pub own_address: bool,
}

/// The output of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Bytes, for a transport that decides when to send them and how to segment them: the source needs a connection.
    Stream,
    /// Packets at its own rate (usually the parameter `rate`) and with its own sizes: datagrams, or writes to a
    /// connection.
    Packets,
    /// Packets whose sizes the source decides, and which only datagrams carry. Their delays are compared with a
    /// deadline.
    Datagrams,
    /// The same as datagrams, or written to a connection.
    Media,
}

impl Output {
    /// Whether there is a listener or a viewer: delays are compared with a deadline, and the source decides the sizes.
    pub fn is_media(self) -> bool {
        matches!(self, Output::Datagrams | Output::Media)
    }
}

/// The context in which a source is built, in addition to its own settings.
pub struct Context<'a> {
    /// Number of the flow in its group.
    pub index: u32,
    /// Makes the distribution of packet sizes.
    pub sizes: &'a dyn Fn() -> Box<dyn Sizes>,
    /// Bytes of each datagram that are not payload.
    pub header: u32,
    /// The flow is a connection: bytes are written instead of datagrams sent.
    pub connection: bool,
    /// Payload of a full segment of that connection, bytes; 1 for datagrams.
    pub segment: u32,
    /// The delay above which data are late.
    pub deadline: Duration,
    pub streams: Streams,
    /// The data that the flows of its group share.
    pub group: &'a superposed::Shared,
}

/// The random streams of one source, one for each quantity. It contains the name of the flow.
pub struct Streams(pub Named);

impl Streams {
    pub fn of(&self, quantity: &str) -> Stream {
        self.0.text(".").text(quantity).stream()
    }
}

/// For sources whose parameters cannot contradict each other.
pub fn anything(_: &Settings) -> Result<(), Conflict> {
    Ok(())
}
