//! The true number of flows of each queue. A router cannot measure this number, but the simulator has it.
//!
//! A driver announces the flows that send through a discipline
//! ([`QueueDiscipline::flow_joined`](crate::QueueDiscipline::flow_joined)). Mappers that spread flows over a fixed
//! number of queues count these flows here, for the measure "fullest divided by emptiest queue". No decision uses these
//! counts, except the start of the Bloom mapper.
//!
//! State: a count for each queue, and the ratio of the present counts. The ratio is stored because a recording on
//! change reads it after each packet. A change of a count costs O(1), and the next read of the ratio O(K).

use crate::pieces::store::QueueId;
use std::cell::Cell;
use tailback_base::ProbeDef;
use tailback_base::work::{counted, done_if_long};

/// The measure of evenness.
pub const FLOW_RATIO: ProbeDef = ProbeDef {
    name: "flow_ratio",
    unit: "1",
    doc: "Flows of the queue with the most flows, divided by flows of the queue with the fewest. These are the true \
          numbers, not those that the mapper counts.",
    per: "",
};
/// The number of flows of each queue.
pub const QUEUE_FLOWS: ProbeDef = ProbeDef {
    name: "queue_flows",
    unit: "flows",
    doc: "Flows that belong to a queue. This is the true number, not the one that the mapper counts.",
    per: "queue",
};

/// The number of flows of each queue.
#[derive(Clone, Debug)]
pub struct Occupancy {
    flows: Vec<u32>,
    /// The ratio of the present counts; `None` after a count has changed.
    ratio: Cell<Option<f64>>,
}

impl Occupancy {
    pub fn new(queues: u32) -> Occupancy {
        Occupancy {
            flows: vec![0; queues.max(1) as usize],
            ratio: Cell::new(None),
        }
    }

    /// The number of flows of a queue; `None` if the queue does not exist.
    pub fn flows(&self, q: QueueId) -> Option<u32> {
        self.flows.get(q as usize).copied()
    }

    /// The flows of the fullest queue divided by those of the emptiest one. It is infinite if one queue has no flows,
    /// and NaN if all have none.
    pub fn ratio(&self) -> f64 {
        let ratio = self.ratio.get().unwrap_or_else(|| self.counted_ratio());
        self.ratio.set(Some(ratio));
        ratio
    }

    fn counted_ratio(&self) -> f64 {
        // One machine instruction compares several counts.
        done_if_long(self.flows.len() / 8);
        let (mut least_flows, mut most_flows) = (u32::MAX, 0);
        for n in &self.flows {
            least_flows = least_flows.min(*n);
            most_flows = most_flows.max(*n);
        }
        f64::from(most_flows) / f64::from(least_flows)
    }

    pub fn join(&mut self, q: QueueId, n: u32) {
        self.ratio.set(None);
        self.flows[q as usize] += n;
    }

    pub fn leave(&mut self, q: QueueId, n: u32) {
        self.ratio.set(None);
        self.flows[q as usize] = self.flows[q as usize].saturating_sub(n);
    }

    pub fn transfer(&mut self, from: QueueId, to: QueueId, n: u32) {
        if n > 0 {
            self.flows[from as usize] = self.flows[from as usize].saturating_sub(n);
            self.join(to, n);
        }
    }

    /// Replace all counts by sums over groups. Each item is the queue of a group and its number of flows.
    pub fn recount(&mut self, groups: impl Iterator<Item = (QueueId, u32)>) {
        self.ratio.set(None);
        self.flows.fill(0);
        for (q, n) in counted(groups) {
            self.flows[q as usize] += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_the_fullest_to_the_emptiest() {
        let mut occupancy = Occupancy::new(3);
        assert!(occupancy.ratio().is_nan());
        occupancy.join(0, 4);
        assert_eq!(occupancy.ratio(), f64::INFINITY);
        occupancy.join(1, 1);
        occupancy.join(2, 2);
        assert_eq!(occupancy.ratio(), 4.0);
        occupancy.transfer(0, 1, 2);
        assert_eq!(
            (occupancy.ratio(), occupancy.flows(1), occupancy.flows(3)),
            (1.5, Some(3), None)
        );
        occupancy.leave(1, 1);
        assert_eq!(occupancy.ratio(), 1.0);
        occupancy.recount([(0, 5), (1, 1), (0, 1), (2, 1)].into_iter());
        assert_eq!(occupancy.ratio(), 6.0);
    }
}
