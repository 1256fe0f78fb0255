//! A packet and a listener for the unit tests.

use crate::conditioner::{EdgeId, EdgeMessage, EdgeOut};
use tailback_base::{DropReason, Dscp, Ecn, FlowId, KeyField, Packet, Time};

/// A packet of so many bytes and a colour.
#[derive(Clone, Copy)]
pub struct Plain(pub u32, pub Dscp);

impl Packet for Plain {
    fn bytes(&self) -> u32 {
        self.0
    }
    fn flow(&self) -> FlowId {
        FlowId(0)
    }
    fn key(&self, _: KeyField) -> u64 {
        0
    }
    fn dscp(&self) -> Dscp {
        self.1
    }
    fn set_dscp(&mut self, colour: Dscp) {
        self.1 = colour;
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn stamp(&self) -> Time {
        Time::ZERO
    }
    fn set_stamp(&mut self, _: Time) {}
    fn is_retransmission(&self) -> bool {
        false
    }
    fn is_data(&self) -> bool {
        true
    }
    fn sequence(&self) -> u64 {
        0
    }
}

/// What an edge let through and dropped.
#[derive(Default)]
pub struct Seen {
    pub colours: Vec<Dscp>,
    pub dropped: Vec<DropReason>,
}

impl EdgeOut<Plain> for Seen {
    fn send(&mut self, p: Plain) {
        self.colours.push(p.1);
    }
    fn dropped(&mut self, _: Plain, why: DropReason) {
        self.dropped.push(why);
    }
    fn message(&mut self, _: EdgeId, _: EdgeMessage) {}
}
