//! A packet and a listener for the unit tests.

use crate::conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut};
use crate::entry::BuildContext;
use crate::meter::MeterList;
use crate::registry;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, DropReason, Dscp, Ecn, FlowId, KeyField, Packet, Request, Settings, Stream, Time};

/// The conditioner of these settings.
pub fn built(settings: &Settings) -> Result<Box<dyn Conditioner<Plain>>, Refusal> {
    let context = BuildContext {
        stream: Stream::new(1, "edge"),
        rate: BitRate(1),
        edge: EdgeId(0),
        edge_count: 1,
        edges: &|_| Ok(EdgeId(0)),
        meters: &MeterList::standard(),
    };
    let rows = registry::entries();
    let row = rows.row(settings.model.name);
    row.copied().unwrap_or_else(|e| panic!("{e}")).build(settings, context)
}

/// A data packet with the fields that an edge uses.
#[derive(Clone, Copy)]
pub struct Plain {
    pub bytes: u32,
    pub colour: Dscp,
    pub flow: u32,
    pub aggregate: u64,
    pub retransmission: bool,
    pub sequence: u64,
    pub weight: f64,
}

impl Default for Plain {
    fn default() -> Plain {
        Plain {
            bytes: 0,
            colour: Dscp(0),
            flow: 0,
            aggregate: 0,
            retransmission: false,
            sequence: 0,
            weight: 1.0,
        }
    }
}

impl Plain {
    pub fn new(bytes: u32, colour: Dscp) -> Plain {
        Plain {
            bytes,
            colour,
            ..Plain::default()
        }
    }
}

impl Packet for Plain {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
    fn key(&self, field: KeyField) -> u64 {
        match field {
            KeyField::Aggregate => self.aggregate,
            _ => u64::from(self.flow),
        }
    }
    fn dscp(&self) -> Dscp {
        self.colour
    }
    fn set_dscp(&mut self, colour: Dscp) {
        self.colour = colour;
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
        self.retransmission
    }
    fn is_data(&self) -> bool {
        true
    }
    fn sequence(&self) -> u64 {
        self.sequence
    }
    fn weight(&self) -> f64 {
        self.weight
    }
}

/// The packets that an edge let through, and those that it dropped.
#[derive(Default)]
pub struct Seen {
    pub colours: Vec<Dscp>,
    pub dropped: Vec<DropReason>,
    pub requests: Vec<(FlowId, Request)>,
}

impl EdgeOut<Plain> for Seen {
    fn send(&mut self, p: Plain) {
        self.colours.push(p.colour);
    }
    fn dropped(&mut self, _: Plain, why: DropReason) {
        self.dropped.push(why);
    }
    fn message(&mut self, _: EdgeId, _: EdgeMessage) {}
    fn request(&mut self, about: &Plain, r: Request) {
        self.requests.push((about.flow(), r));
    }
}
