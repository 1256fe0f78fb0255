//! A queue for each weight: the flows with one weight form a class.
//!
//! With a scheduler that uses weights, a class is served like one flow with this weight. With strict priority, the
//! weight is the rank of the class. Queues are numbered in the order in which weights first reach this port.
//!
//! State: the weights of all flows so far. The weight of a packet is compared with each of these, so this mapper is
//! meant for a few classes.

use crate::pieces::classify::Classifier;
use crate::pieces::store::QueueId;
use tailback_base::{Packet, Time};

/// One queue for each weight.
#[derive(Clone, Debug, Default)]
pub struct ByWeight {
    /// The weight of each queue, as the bits of the number, because equal weights have equal bits.
    weights: Vec<u64>,
}

impl ByWeight {
    fn number(&mut self, weight: f64) -> QueueId {
        let bits = weight.to_bits();
        let place = self.weights.iter().position(|w| *w == bits);
        let at = place.unwrap_or_else(|| {
            self.weights.push(bits);
            self.weights.len() - 1
        });
        at as QueueId
    }
}

impl<P: Packet> Classifier<P> for ByWeight {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        self.number(p.weight())
    }

    fn queues(&self) -> Option<u32> {
        Some(self.weights.len() as u32)
    }

    fn flow_joined(&mut self, p: &P, _now: Time) {
        self.number(p.weight());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;

    #[test]
    fn flows_of_one_weight_share_a_queue() {
        let mut c = ByWeight::default();
        let of = [(1, 1.0), (2, 4.0), (3, 1.0), (4, 0.5), (5, 4.0)];
        let queues = of.map(|(flow, weight)| {
            let p = TestPacket {
                weight,
                ..TestPacket::new(0, flow, 500)
            };
            c.queue_of(&p, Time::ZERO)
        });
        assert_eq!(queues, [0, 1, 0, 2, 1]);
        assert_eq!(Classifier::<TestPacket>::queues(&c), Some(3));
    }
}
