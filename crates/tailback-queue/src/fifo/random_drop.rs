//! Random drop on full: at an overflow a random packet is dropped, instead of the arriving one.
//!
//! Drop-tail drops the packet that arrives at a full buffer, which may lock a flow out. Random drop stores the arriving
//! packet. Then it evicts packets that are drawn uniformly from all waiting packets, including the new one, until the
//! buffer is within its limit. So a flow loses packets in proportion to its share of the buffer, independent of the
//! timing of its arrivals. Measure: the backlog. Function: whether the buffer is full. Action: a random packet is
//! dropped (overflow); packets are never marked.
//!
//! From: Hashem 1989 (MIT/LCS/TR-465), Mankin 1990; described in Braden et al., RFC 2309 section 2.
//!
//! State: the packets and a random stream. The order of the remaining packets does not change. If the buffer is in
//! bytes, several evictions may be needed. Departure: a packet larger than the whole buffer is not stored first, but
//! refused at once, because no eviction could make room for it.
//!
//! Cost of an overflow: one random draw, and a move of up to half the backlog, because the ring closes the gap.

use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, Out, QueueDiscipline};
use crate::entry::{Build, Entry, Facts, Unlimited};
use crate::fifo::host::Fifo;
use crate::params::{BEFORE, BUFFER};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Stream, params};

pub static MODEL: Model = Model {
    name: "random-drop",
    family: "queue",
    title: "Random drop on full",
    summary: "A FIFO that, when full, drops a packet that is drawn from all waiting packets and the arriving one. \
              Measure: the backlog. Function: whether the buffer is full. Action: the drawn packet is dropped \
              (overflow); it never marks.",
    source: "Mankin 1990; RFC 2309 section 2",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    BUFFER;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: Some(|_, context| Ok(Box::new(RandomDrop::new(context.stream)))),
        facts: Facts {
            unlimited: Some(Unlimited::leaves("droptail")),
            ..Facts::ONE_QUEUE
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Fifo::from_settings(s, RandomDrop::new(context.stream))))
}

/// The admission that evicts random packets until the arriving packet fits, or is itself drawn.
#[derive(Clone, Debug)]
pub struct RandomDrop {
    stream: Stream,
}

impl RandomDrop {
    pub fn new(stream: Stream) -> RandomDrop {
        RandomDrop { stream }
    }
}

impl<P: Packet> Admission<P> for RandomDrop {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        if !capacity::fits_alone(queue.limit(), p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        while !capacity::fits(queue.limit(), queue.backlog(), p.bytes()) {
            // The arriving packet is one of the candidates. The queue draws the other candidates, because the admission
            // cannot access them.
            let candidates = queue.backlog().packets + 1;
            if self.stream.below(candidates) == 0 {
                return Decision::Drop(DropReason::Overflow);
            }
            match queue.draw(&mut self.stream) {
                Some(victim) if queue.evict(victim, DropReason::Overflow) => {}
                _ => return Decision::Drop(DropReason::Overflow),
            }
        }
        Decision::Store
    }

    fn reconfigure(&mut self, _settings: &Settings) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::Place;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::Size;

    fn random_drop(buffer: Size) -> Bench<Fifo<TestPacket, RandomDrop>> {
        Bench::new(Fifo::new(buffer, RandomDrop::new(Stream::new(1, "test"))))
    }

    #[test]
    fn flows_lose_in_proportion_to_their_shares_of_the_buffer() {
        // 30 packets of flow 0 and 70 of flow 1 wait, and one packet of flow 2 arrives. This is repeated with a new
        // buffer each time.
        let runs = 20_000;
        let mut lost = [0.0_f64; 3];
        let mut b = random_drop(Size::Packets(100));
        for _ in 0..runs {
            for id in 0..101 {
                b.arrive(TestPacket::new(
                    id,
                    if id < 30 {
                        0
                    } else if id < 100 {
                        1
                    } else {
                        2
                    },
                    500,
                ));
            }
            b.drain();
        }
        for (p, _, _) in &b.log.dropped {
            lost[p.flow as usize] += 1.0;
        }
        let n = f64::from(runs);
        let expected = [n * 30.0 / 101.0, n * 70.0 / 101.0, n / 101.0];
        let chi2: f64 = lost.iter().zip(expected).map(|(o, e)| (o - e) * (o - e) / e).sum();
        assert!(
            chi2 < 9.21,
            "chi-square {chi2} is beyond the 1 % point of 2 degrees of freedom: {lost:?}"
        );
    }

    #[test]
    fn survivors_keep_their_order() {
        let mut b = random_drop(Size::Packets(10));
        for id in 0..1000 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        let packets = b.drain();
        assert_eq!(packets.len(), 10);
        assert!(packets.is_sorted());
        assert_eq!(b.log.drops(DropReason::Overflow).len(), 990);
    }

    #[test]
    fn in_bytes_a_large_newcomer_may_need_several_victims() {
        let mut b = random_drop(Size::Bytes(1000));
        for id in 0..10 {
            b.arrive(TestPacket::new(id, 0, 100));
        }
        b.arrive(TestPacket::new(10, 0, 500));
        let evicted = b.log.dropped.iter().filter(|d| d.1 == Place::Queued).count();
        let refused = b.log.dropped.iter().any(|d| d.1 == Place::Arriving);
        assert!(evicted == 5 || (refused && evicted < 5), "{:?}", b.log.dropped);
        assert!(b.backlog().bytes <= 1000);
    }

    #[test]
    fn what_never_fits_hurts_nobody() {
        let mut b = random_drop(Size::Bytes(1000));
        b.arrive(TestPacket::new(0, 0, 1000));
        b.arrive(TestPacket::new(1, 0, 1001));
        assert_eq!((b.log.drops(DropReason::Overflow), b.drain()), (vec![1], vec![0]));
    }
}
