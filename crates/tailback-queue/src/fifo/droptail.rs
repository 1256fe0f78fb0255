//! Drop-tail: a packet that fits is stored, and a packet that does not fit is refused.
//!
//! This is the common queue, as RFC 2309 describes it. Packets leave in the order of arrival. Drop-tail measures the
//! backlog, and its only action is to refuse the arriving packet. With greedy TCP flows the queue stays full. Drop-tail
//! refuses several packets of a burst, so flows lose packets together and synchronise. It may also exclude a late flow
//! (lock-out). All other disciplines are compared with drop-tail. If the buffer is in bytes, a small packet may fit
//! after a large one was refused.
//!
//! State: the packets. For plain `droptail` the simulator computes the result by arithmetic and does not use this code
//! at all (the fact `fused` of its entry).

use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, Out, QueueDiscipline};
use crate::entry::{Arithmetic, Build, Entry, Facts};
use crate::fifo::host::Fifo;
use crate::linux::{self, Linux, Unsaid, Value, Word};
use crate::params::{self, BEFORE, COUNT_IN_SERVICE};
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size, params};

pub static MODEL: Model = Model {
    name: "droptail",
    family: "queue",
    title: "Drop-tail",
    summary: "A FIFO that refuses packets that do not fit. Measure: the backlog. Function: whether the buffer is full. \
              Action: the arriving packet is dropped (overflow); it never marks.",
    source: "Folklore; RFC 2309 section 2; default buffer of ns-2's DropTail",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    BUFFER: Size = params::BUFFER.with_default("50 packets", "ns-2 default");
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            also: const {
                &[
                    Alias::linux("pfifo"),
                    Alias::linux("bfifo"),
                    Alias::ns2("DropTail"),
                    Alias::ns3("FifoQueueDisc"),
                ]
            },
            fused: Some(arithmetic),
            linux: Some(&LINUX),
            ..Facts::ONE_QUEUE
        },
    }
}

static LINUX: Linux = Linux {
    in_bytes: "bfifo",
    note: linux::OF_THE_DEVICE,
    ..Linux::new(
        "pfifo",
        &[Word::new("buffer", "limit", Value::Size, "").unsaid(Unsaid::Device)],
    )
};

fn arithmetic(settings: &Settings) -> Option<Arithmetic> {
    let plain = !settings.get(&COUNT_IN_SERVICE) && settings.nested_list(BEFORE.name).next().is_none();
    plain.then(|| Arithmetic {
        limit: settings.get(&BUFFER),
        step: None,
    })
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Fifo::from_settings(s, DropTail)))
}

/// The admission that admits packets that fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl<P: Packet> Admission<P> for DropTail {
    #[inline]
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        if queue.fits(p.bytes()) {
            Decision::Store
        } else {
            Decision::Drop(DropReason::Overflow)
        }
    }

    fn reconfigure(&mut self, _settings: &Settings) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::{Backlog, OnWire, Place};
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::ring::KEEP;
    use tailback_base::{FlowId, Time};

    fn droptail(buffer: Size) -> Bench<Fifo<TestPacket, DropTail>> {
        Bench::new(Fifo::new(buffer, DropTail))
    }

    #[test]
    fn a_burst_fills_line_and_buffer_and_loses_its_tail() {
        let mut b = droptail(Size::Packets(5));
        b.arrive(TestPacket::new(0, 0, 1000));
        assert_eq!(b.serve(), Some(0), "the first goes into service");
        for id in 1..12 {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert_eq!(
            b.log.drops(DropReason::Overflow),
            (6..12).collect::<Vec<_>>(),
            "consecutive"
        );
        assert_eq!(b.drain(), [1, 2, 3, 4, 5]);
        assert!(b.log.dropped.iter().all(|d| d.1 == Place::Arriving));
    }

    #[test]
    fn in_bytes_a_small_packet_fits_after_a_large_one_was_refused() {
        let mut b = droptail(Size::Bytes(2500));
        for (id, bytes) in [(0, 1500), (1, 1500), (2, 1000), (3, 1)] {
            b.arrive(TestPacket::new(id, 0, bytes));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [1, 3]);
        assert_eq!(
            b.backlog(),
            Backlog {
                packets: 2,
                bytes: 2500
            }
        );
        assert_eq!(b.drain(), [0, 2]);
        assert_eq!(b.backlog(), Backlog::default());
    }

    #[test]
    fn unlimited_takes_everything_and_gives_its_memory_back() {
        let mut b = droptail(Size::Unlimited);
        for id in 0..100_000 {
            b.arrive(TestPacket::new(id, 0, 1000));
        }
        assert!(b.log.dropped.is_empty());
        assert_eq!(b.drain().len(), 100_000);
        assert!(
            b.queue.ring.packets.capacity() <= 2 * KEEP,
            "{}",
            b.queue.ring.packets.capacity()
        );
    }

    #[test]
    fn the_packet_on_the_wire_counts_only_when_asked() {
        let wire = OnWire {
            until: Time(8_000_000),
            flow: FlowId(0),
            pair: 0,
            bytes: 1000,
        };
        for (count, held_packets) in [(false, 2), (true, 1)] {
            let mut b = Bench::new(Fifo::new(Size::Packets(2), DropTail).counting_in_service(count));
            b.busy = Some(wire);
            for id in 0..3 {
                b.arrive(TestPacket::new(id, 0, 1000));
            }
            assert_eq!(b.backlog().packets, held_packets);
        }
    }
}
