//! A capture's tap: the packets at each port, as events occur.
//!
//! The driver reports to a [`Tap`] every packet that arrives at a port's queue, is marked or dropped there, leaves it
//! for the line, or reaches the far end of the line. For each port the tap declares the events that it needs to see
//! ([`Looks`]). A run without a tap has no extra cost: the bits that say whether a port has a tap are tested together
//! with those for its conditioner and impairments.
//!
//! A port whose queue alone is observed may run ahead (`sim/ahead.rs`): its events are then reported before their
//! time. The events of one port always come in the order of time. An observer of several ports must sort them;
//! [`Sight::reached`] says which events can still come.

use crate::wire::packet::{Extras, PacketId, WirePacket};
use tailback_base::{DropReason, Dscp, FlowId, MarkReason, Place, Time};
use tailback_transport::Segment;

/// A packet at a port.
pub struct Sight<'a> {
    /// The time of the event.
    pub now: Time,
    /// The present time of the run: no event that is reported from here on, at any port, is earlier.
    pub reached: Time,
    /// Number of the port, as in the names with which the tap was made.
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

    /// Whether it is a router's request, not a segment or a datagram.
    pub fn is_request(&self) -> bool {
        self.packet.is_control()
    }

    /// The packet with everything it carries.
    pub fn segment(&self) -> Segment {
        self.packet.to_segment(self.extras)
    }
}

/// The events of a port that a tap sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    Nothing,
    /// The events up to its queue: all except [`Tap::delivered`].
    Queue,
    /// All events, in the order of time with those of all other ports observed in this way.
    Whole,
}

/// Receives the events of packets at ports.
pub trait Tap {
    /// The events of this port that the tap sees. This is called once, before the run.
    fn looks(&self, _port: u32) -> Looks {
        Looks::Whole
    }
    /// An application has opened a connection: `member` is its row in the table of flows. Packets of a connection that
    /// has ended may have had the same number.
    fn opened(&mut self, _flow: FlowId, _member: FlowId) {}
    /// A packet is offered to the queue, after conditioner and impairments.
    fn arrived(&mut self, at: &Sight<'_>);
    /// The packet is marked. An impairment marks it before it arrives at the queue.
    fn marked(&mut self, at: &Sight<'_>, why: MarkReason);
    /// The packet is dropped. If a conditioner or an impairment drops it, it has not arrived at the queue.
    fn dropped(&mut self, at: &Sight<'_>, place: Place, why: DropReason);
    /// Nothing more happens to the packet at the queue: the line takes it now, or will take it in its turn.
    fn sent(&mut self, _at: &Sight<'_>) {}
    /// The packet reaches the far end of the line.
    fn delivered(&mut self, at: &Sight<'_>);
}

/// The names for the numbers in a [`Sight`].
pub struct Names {
    /// The names of the ports by number: `bottleneck`, `bottleneck.reverse`, `flows.bulk.0.access`.
    pub ports: Vec<String>,
    /// The names of the flows by [`FlowId`], as in the table of flows: `bulk.0`. Connections that an application opens
    /// during the run have numbers after these, and no name.
    pub flows: Vec<String>,
}

/// Makes the tap of a run.
pub type TapMaker<'a> = &'a dyn Fn(&Names) -> Box<dyn Tap>;
