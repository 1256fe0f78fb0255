//! What the rest of the engine has to know about a traffic source.

use super::application::Application;
use super::conflict::Conflict;
use super::sizes::Sizes;
use tailback_base::model::Registered;
use tailback_base::{Duration, Model, Named, Settings, Stream};

/// A source: what a scenario may say about it, and how it is made.
pub struct Entry {
    pub model: &'static Model,
    /// The source of one flow. The settings have been checked, by `check` too.
    pub build: fn(&Settings, Context) -> Box<dyn Application>,
    /// Values that contradict each other, or that this source cannot work with.
    pub check: fn(&Settings) -> Result<(), Conflict>,
    /// What it brings, for what is computed before a run; `packet` is the mean size of its packets in bytes.
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

/// What one flow of a source brings at most, by its parameters alone: its mean over the flows of a group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Offer {
    /// As much as its connection takes.
    Elastic,
    /// So many bytes at a time, again and again or once, each after a pause of so many seconds.
    Portions { bytes: f64, pause: f64, once: bool },
    /// At a rate of its own, whatever becomes of its packets.
    Paced {
        /// Bit/s on the wire, headers included.
        rate: f64,
        /// What may come at once beyond that, bytes: a train, a frame, a time on.
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

/// What distinguishes sources for those who read and build a scenario.
#[derive(Clone, Copy)]
pub struct Facts {
    pub output: Output,
    /// It acts on news from its connection, not only on its own wakes.
    pub listens: bool,
    /// Each flow begins with a random destination label and changes it later, which no connection can follow.
    pub own_address: bool,
}

/// What a source produces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Bytes, for a transport that decides when to send them and how to cut them: it needs a connection.
    Stream,
    /// Packets at a rate of its own (parameter `rate`, usually), with sizes of their own: datagrams, or writes to a
    /// connection.
    Packets,
    /// Packets whose sizes are its own too, and which only datagrams carry. Their delays are held against a deadline.
    Datagrams,
    /// The same, over datagrams or written to a connection.
    Media,
}

impl Output {
    /// Somebody listens or watches, so that delays are held against a deadline; sizes are the source's own.
    pub fn is_media(self) -> bool {
        matches!(self, Output::Datagrams | Output::Media)
    }
}

/// What a source is built with, beside its own settings.
pub struct Context<'a> {
    /// Number of the flow in its group.
    pub index: u32,
    /// Makes what packet sizes come from.
    pub sizes: &'a dyn Fn() -> Box<dyn Sizes>,
    /// Bytes of each datagram that are no payload.
    pub header: u32,
    /// The flow is a connection: bytes are written instead of datagrams sent.
    pub connection: bool,
    /// Payload of a full segment of that connection, bytes; 1 for datagrams.
    pub segment: u32,
    /// What arrives later is late.
    pub deadline: Duration,
    pub streams: Streams,
}

/// The random streams of one source, one a quantity. Holds the name of the flow.
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
