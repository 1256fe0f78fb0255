//! A mapper with a queue for each flow, and the even mapper, which is made from it.
//!
//! [`PerFlow`] gives every flow its own queue, numbered in the order in which flows first reach this port. The numbers
//! have no gaps, even if there are large gaps between the flow ids. So a port that sees ten of ten thousand flows has
//! ten queues, and vectors with an entry for each queue stay short. A flow id keeps its queue permanently, so the
//! number of queues does not grow when the network reuses an id. The state that a discipline stores for a queue (such
//! as TDRR's rate) then comes from the previous flow with this id.
//!
//! [`Even`] assigns the flows to K queues in turn: flow number i goes to queue i mod K. Flows are numbered at this
//! port. If they were numbered over the whole network, all flows of a multi-hop path could share the same queues.
//!
//! State: the queue of each flow id, in pages of 1024 ids, and the flow of each queue. This takes 8 bytes for each flow
//! and 4 KB for each page in use. A packet costs one lookup in two vectors.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5; the even mapper uses the flow number at this port
//! mod K.

use crate::pieces::arena::NONE;
use crate::pieces::classify::Classifier;
use crate::pieces::store::QueueId;
use tailback_base::{FlowId, Packet, ProbeDef, Time};

/// The flow that owns the queue.
pub const QUEUE_FLOW: ProbeDef = ProbeDef {
    name: "queue_flow",
    unit: "1",
    doc: "The flow that uses this queue.",
    per: "queue",
};

const PAGE: usize = 1024;

/// One queue for each flow.
#[derive(Clone, Debug, Default)]
pub struct PerFlow {
    /// The queue of each flow id, `NONE` if the flow was never seen. The ids are stored in pages, because a driver may
    /// use ids with large gaps.
    pages: Vec<Option<Box<[QueueId; PAGE]>>>,
    /// The flow of each queue.
    owner: Vec<FlowId>,
    /// The number of announced flows.
    present: u32,
}

impl PerFlow {
    pub fn new() -> PerFlow {
        PerFlow::default()
    }

    /// The number of this flow at this port; a new number if the flow is new.
    pub fn number(&mut self, flow: FlowId) -> QueueId {
        let (page, i) = (flow.0 as usize / PAGE, flow.0 as usize % PAGE);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let q = &mut self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]))[i];
        if *q == NONE {
            *q = self.owner.len() as QueueId;
            self.owner.push(flow);
        }
        *q
    }
}

impl<P: Packet> Classifier<P> for PerFlow {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        self.number(p.flow())
    }

    /// The number of flows that were announced or seen, which is the number of queues.
    fn queues(&self) -> Option<u32> {
        Some(self.present.max(self.owner.len() as u32))
    }

    fn flow_joined(&mut self, _p: &P, _now: Time) {
        self.present += 1;
    }

    fn flow_left(&mut self, _p: &P, _now: Time) {
        self.present = self.present.saturating_sub(1);
    }

    fn probes(&self) -> &'static [ProbeDef] {
        const { &[QUEUE_FLOW] }
    }

    fn read(&self, _probe: usize, index: u32) -> f64 {
        self.owner.get(index as usize).map_or(f64::NAN, |f| f64::from(f.0))
    }
}

/// A mapper that assigns flows to a fixed number of queues in turn. This is the ideal that hashing only approximates.
#[derive(Clone, Debug)]
pub struct Even {
    flows: PerFlow,
    queues: u32,
}

impl Even {
    /// The even mapper to `queues` queues, which is K; 0 counts as 1.
    pub fn new(queues: u32) -> Even {
        Even {
            flows: PerFlow::new(),
            queues: queues.max(1),
        }
    }
}

impl<P: Packet> Classifier<P> for Even {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        self.flows.number(p.flow()) % self.queues
    }

    fn queues(&self) -> Option<u32> {
        Some(self.queues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;

    fn queue(c: &mut dyn Classifier<TestPacket>, flow: u32) -> QueueId {
        c.queue_of(&TestPacket::new(0, flow, 1000), Time::ZERO)
    }

    #[test]
    fn queues_are_dense_in_order_of_appearance() {
        let mut c = PerFlow::new();
        assert_eq!([7, 900_000, 7, 3, 900_000].map(|f| queue(&mut c, f)), [0, 1, 0, 2, 1]);
        assert_eq!(Classifier::<TestPacket>::read(&c, 0, 1), 900_000.0);
        assert!(Classifier::<TestPacket>::read(&c, 0, 3).is_nan());
    }

    #[test]
    fn recycled_ids_make_nothing_grow() {
        let mut c = PerFlow::new();
        for connection in 0..100_000 {
            assert!(queue(&mut c, connection % 16) < 16);
        }
        assert_eq!((c.owner.len(), c.pages.len()), (16, 1));
    }

    #[test]
    fn the_largest_id_is_an_id() {
        let mut c = PerFlow::new();
        assert_eq!(queue(&mut c, u32::MAX), 0);
        assert_eq!(queue(&mut c, 0), 1);
    }

    #[test]
    fn even_counts_the_flows_of_this_port() {
        // The flows of a multi-hop path spread over the queues even if their ids are all multiples of K.
        let mut c = Even::new(4);
        let queues: Vec<u32> = (0..8).map(|i| queue(&mut c, i * 100)).collect();
        assert_eq!(queues, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(queue(&mut Even::new(0), 5), 0);
    }
}
