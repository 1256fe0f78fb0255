//! A capture's tap: what passes each port, as it happens.
//!
//! The driver tells a [`Tap`] of every packet that arrives at a port's queue, is marked or dropped there, leaves it for
//! the line, or reaches the far end of that. A tap says of each port how much it looks at ([`Looks`]). A run without a
//! tap pays nothing: the bits that say whether a port has one are tested together with those for its conditioner and
//! impairments.
//!
//! A port of which the queue alone is looked at may run ahead (`sim/ahead.rs`): what happens there is then shown before
//! its time. Of one port everything comes in the order of time all the same; who looks at several puts them in order
//! himself, and [`Sight::reached`] says what can still come.

use crate::wire::packet::{Extras, PacketId, WirePacket};
use tailback_base::{DropReason, Dscp, MarkReason, Place, Time};
use tailback_transport::Segment;

/// A packet at a port.
pub struct Sight<'a> {
    /// When it happens.
    pub now: Time,
    /// The run has come so far: what is shown from here on, at whatever port, does not happen earlier.
    pub reached: Time,
    /// Number of the port, as in the names that the tap was made with.
    pub port: u32,
    pub(crate) packet: &'a WirePacket,
    pub(crate) extras: &'a Extras,
}

impl Sight<'_> {
    pub fn id(&self) -> PacketId {
        self.packet.id()
    }

    /// Bytes on the wire.
    pub fn bytes(&self) -> u32 {
        self.packet.size()
    }

    /// The DiffServ code point.
    pub fn dscp(&self) -> Dscp {
        self.packet.colour()
    }

    /// A router's request, not a segment or a datagram.
    pub fn is_request(&self) -> bool {
        self.packet.is_control()
    }

    /// The packet with everything it carries.
    pub fn segment(&self) -> Segment {
        self.packet.to_segment(self.extras)
    }
}

/// How much a tap sees of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    Nothing,
    /// What happens up to its queue: all but [`Tap::delivered`].
    Queue,
    /// All, in the order of time with everything else that is looked at so.
    Whole,
}

/// Sees packets at ports.
pub trait Tap {
    /// What it sees of a port: asked once, before the run.
    fn looks(&self, _port: u32) -> Looks {
        Looks::Whole
    }
    /// A packet is offered to the queue, behind conditioner and impairments.
    fn arrived(&mut self, at: &Sight<'_>);
    /// It is marked; by an impairment before it arrives at the queue.
    fn marked(&mut self, at: &Sight<'_>, why: MarkReason);
    /// It leaves, unsent; dropped by a conditioner or an impairment it has not arrived at the queue.
    fn dropped(&mut self, at: &Sight<'_>, place: Place, why: DropReason);
    /// Nothing more becomes of it at the queue: the line takes it, or will when it is its turn.
    fn sent(&mut self, _at: &Sight<'_>) {}
    /// It reaches the far end of the line.
    fn delivered(&mut self, at: &Sight<'_>);
}

/// What the numbers in a [`Sight`] are called.
pub struct Names {
    /// By the number of the port: `bottleneck`, `bottleneck.reverse`, `flows.bulk.0.access`.
    pub ports: Vec<String>,
    /// By [`FlowId`](tailback_base::FlowId), as in the table of flows: `bulk.0`. Connections that an application opens
    /// while the run goes on have numbers behind these, and no name.
    pub flows: Vec<String>,
}

/// Makes the tap of a run.
pub type TapMaker<'a> = &'a dyn Fn(&Names) -> Box<dyn Tap>;
