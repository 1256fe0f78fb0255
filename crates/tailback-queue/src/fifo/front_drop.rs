//! Drop front on full: when the buffer is full, the oldest packet is dropped to make room for the newest.
//!
//! When the buffer is full, the packet at the head is dropped and the arriving packet is stored. The number of losses
//! is that of drop-tail. But the lost packet is the one that would have left next, so the receiver sees the gap earlier
//! than with drop-tail, by the time that the buffer takes to drain. So TCP reacts a full queueing delay sooner.
//! Measure: the backlog. Function: whether the buffer is full. Action: the head is dropped (overflow); packets are
//! never marked.
//!
//! From: Lakshman, Neidhardt, Ott 1996, "The drop from front strategy in TCP and in TCP over ATM"; RFC 2309 section 2.
//!
//! State: the packets. The packet on the wire is never dropped, because it has left the buffer. If the buffer is in
//! bytes, several heads may be dropped for one arriving packet. A packet larger than the whole buffer is refused and
//! does not change the queue.
//!
//! Cost of an overflow: one additional pop.

use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, Out, QueueDiscipline};
use crate::entry::{Build, Entry, Facts, Unlimited};
use crate::fifo::host::Fifo;
use crate::linux::{self, Linux, Unsaid, Value, Word};
use crate::params::{BEFORE, BUFFER};
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, params};

pub static MODEL: Model = Model {
    name: "front-drop",
    family: "queue",
    title: "Drop front on full",
    summary: "A FIFO that, when full, drops its head to make room for the arriving packet. Senders therefore detect \
              the loss earlier, by the time that a full buffer takes to drain. Measure: the backlog. Function: whether \
              the buffer is full. Action: the head is dropped (overflow); it never marks.",
    source: "Lakshman, Neidhardt, Ott 1996; RFC 2309 section 2",
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
        admission: None,
        facts: Facts {
            also: const { &[Alias::linux("pfifo_head_drop")] },
            unlimited: Some(Unlimited::leaves("droptail")),
            linux: Some(&LINUX),
            ..Facts::ONE_QUEUE
        },
    }
}

static LINUX: Linux = Linux {
    note: linux::OF_THE_DEVICE,
    ..Linux::new(
        "pfifo_head_drop",
        &[Word::new("buffer", "limit", Value::Packets, "").unsaid(Unsaid::Device)],
    )
};

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Fifo::from_settings(s, FrontDrop)))
}

/// The admission that drops the oldest packets until the arriving packet fits.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrontDrop;

impl<P: Packet> Admission<P> for FrontDrop {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        if !capacity::fits_alone(queue.limit(), p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        while !capacity::fits(queue.limit(), queue.backlog(), p.bytes()) {
            match queue.oldest() {
                Some(head) if queue.evict(head, DropReason::Overflow) => {}
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
    use crate::fifo::{DropTail, Fifo};
    use tailback_base::{Duration, Size};

    #[test]
    fn the_head_makes_room_and_the_packet_in_service_is_safe() {
        let mut b = Bench::new(Fifo::new(Size::Packets(2), FrontDrop));
        b.arrive(TestPacket::new(0, 0, 500));
        assert_eq!(b.serve(), Some(0));
        for id in 1..5 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [1, 2]);
        assert!(b.log.dropped.iter().all(|d| d.1 == Place::Queued));
        assert_eq!(b.drain(), [3, 4]);
    }

    #[test]
    fn in_bytes_several_heads_go_but_not_for_what_never_fits() {
        let mut b = Bench::new(Fifo::new(Size::Bytes(1000), FrontDrop));
        for id in 0..10 {
            b.arrive(TestPacket::new(id, 0, 100));
        }
        b.arrive(TestPacket::new(10, 0, 250));
        assert_eq!(b.log.drops(DropReason::Overflow), [0, 1, 2]);
        b.arrive(TestPacket::new(11, 0, 1001));
        assert_eq!(b.log.drops(DropReason::Overflow), [0, 1, 2, 11]);
        assert_eq!(b.backlog().packets, 8);
    }

    /// The time slot in which the receiver first misses a packet, if two packets arrive for each one served.
    fn gap_seen(serve: &mut dyn FnMut(u64, Vec<TestPacket>) -> Option<u64>) -> u64 {
        let (mut id, mut expect) = (0, 0);
        for slot in 0.. {
            let arrivals = (0..2).map(|_| {
                id += 1;
                TestPacket::new(id - 1, 0, 500)
            });
            if serve(slot, arrivals.collect()) != Some(expect) {
                return slot;
            }
            expect += 1;
        }
        unreachable!()
    }

    #[test]
    fn the_gap_is_seen_one_full_buffer_earlier_than_with_drop_tail() {
        fn run<A: Admission<TestPacket>>(a: A) -> u64 {
            let mut b = Bench::new(Fifo::new(Size::Packets(20), a));
            gap_seen(&mut |_, arrivals| {
                arrivals.into_iter().for_each(|p| b.arrive(p));
                b.pass(Duration::from_millis(4));
                b.serve()
            })
        }
        let (tail, front) = (run(DropTail), run(FrontDrop));
        assert!((19..=20).contains(&(tail - front)), "tail {tail}, front {front}");
    }
}
