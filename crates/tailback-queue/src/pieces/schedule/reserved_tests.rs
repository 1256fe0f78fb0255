//! Schedulers by reserved rates, packet by packet: what tells VirtualClock from frame-based fair queueing.

use crate::contract::testing::{Bench, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::longest::Longest;
use crate::pieces::index::length_index::Tie;
use crate::pieces::port::Port;
use crate::pieces::schedule::Scheduler;
use crate::pieces::schedule::frame_based::{FrameBased, MODEL as FRAMES_MODEL};
use crate::pieces::schedule::scfq::Scfq;
use crate::pieces::schedule::virtual_clock::VirtualClock;
use crate::pieces::schedule::wf2q::Wf2q;
use crate::pieces::store::Unit;
use tailback_base::{Duration, Settings, Size, Stream};

type Reserved = Bench<Port<TestPacket, PerFlow, Box<dyn Scheduler<TestPacket>>, Longest>>;

/// A line of 1 Mb/s: a packet of 1000 B takes 8 ms.
const PACKET: Duration = Duration::from_millis(8);

/// With longest-queue drop, and frames of 4000 B.
fn bench(scheduler: &str, buffer: u64) -> Reserved {
    let scheduler: Box<dyn Scheduler<TestPacket>> = match scheduler {
        "virtual-clock" => Box::new(VirtualClock::default()),
        "frame-based" => {
            let s = Settings::defaults(&FRAMES_MODEL).with("frame", "4000B");
            Box::new(FrameBased::from_settings(&s))
        }
        "scfq" => Box::new(Scfq::new()),
        _ => Box::new(Wf2q::new()),
    };
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
    Bench::new(Port::new(Size::Packets(buffer), PerFlow::new(), scheduler, policy))
}

fn fill(b: &mut Reserved, flow: u32, weight: f64, packets: u64) {
    for id in 0..packets {
        b.arrive(TestPacket {
            weight,
            ..TestPacket::new(id, flow, 1000)
        });
    }
}

fn send(b: &mut Reserved, packets: usize) -> Vec<u32> {
    let served_flow = |_| {
        let p = b.take();
        b.pass(PACKET);
        p.map(|p| p.flow)
    };
    (0..packets).filter_map(served_flow).collect()
}

/// Flow 2 sends a packet, and flow 1 has the line for fifty. Its clock is then at 102,000 B of the line's work for its
/// next packet, and real time at 51,000 B. Flow 2, with stamps 53,000, 55,000 and so on, sends 25 packets before it.
/// With frames of 4000 B the clock has been set to the begin of the frame of flow 1's packet: flow 2 sends two.
#[test]
fn only_virtual_clock_makes_a_flow_pay_for_idle_capacity() {
    for (scheduler, before) in [("virtual-clock", 25), ("frame-based", 2), ("scfq", 1), ("wf2q", 1)] {
        let mut b = bench(scheduler, 1000);
        fill(&mut b, 2, 1.0, 1);
        fill(&mut b, 1, 1.0, 100);
        assert_eq!(send(&mut b, 51)[1..], [1; 50], "{scheduler}");
        fill(&mut b, 2, 1.0, 60);
        let order = send(&mut b, 40);
        let first = order.iter().position(|f| *f == 1);
        assert_eq!(first, Some(before), "{scheduler}: {order:?}");
        assert!(
            order[before..].chunks_exact(2).all(|two| two[0] != two[1]),
            "{scheduler}: {order:?}"
        );
    }
}

/// Stamps by hand: weights 3 and 1, so 4/3 and 4 bytes of the line's work for a byte. Flow 1 gets 1333, 2667, 4000 and
/// 5333 (its first packet came when it was alone: 1000, 2333, ...), flow 2 gets 4000 and 8000.
#[test]
fn stamps_grow_by_the_inverse_of_the_share() {
    for scheduler in ["virtual-clock", "frame-based"] {
        let mut b = bench(scheduler, 100);
        fill(&mut b, 1, 3.0, 1);
        fill(&mut b, 2, 1.0, 2);
        fill(&mut b, 1, 3.0, 6);
        // 1000 | 2333, 3667 | 4000 | 5000, 6333, 7667 | 8000 | 9000
        assert_eq!(send(&mut b, 9), [1, 1, 1, 2, 1, 1, 1, 2, 1], "{scheduler}");
    }
}

/// An evicted packet was never served: the flow's stamps move up, and it is not charged.
#[test]
fn a_flow_is_not_charged_for_what_it_loses() {
    for scheduler in ["virtual-clock", "frame-based"] {
        let mut b = bench(scheduler, 20);
        // The longest queue loses: of these 200 packets 180.
        fill(&mut b, 2, 1.0, 1);
        fill(&mut b, 1, 1.0, 200);
        fill(&mut b, 2, 1.0, 9);
        assert_eq!(b.log.dropped.len(), 190, "{scheduler}");
        let order = send(&mut b, 20);
        assert_eq!(order.iter().filter(|f| **f == 1).count(), 10, "{scheduler}");
        assert!(order[..6].contains(&1), "{scheduler}: {order:?}");
        assert!(b.take().is_none());
    }
}

/// After an idle line VirtualClock still holds what a flow has used, and frame-based fair queueing begins anew.
#[test]
fn a_busy_period_begins_anew_only_with_frames() {
    for (scheduler, before) in [("virtual-clock", 5), ("frame-based", 1)] {
        let mut b = bench(scheduler, 1000);
        fill(&mut b, 2, 1.0, 1);
        fill(&mut b, 1, 1.0, 50);
        send(&mut b, 51);
        assert!(b.take().is_none());
        fill(&mut b, 1, 1.0, 5);
        fill(&mut b, 2, 1.0, 5);
        assert_eq!(
            send(&mut b, 10).iter().position(|f| *f == 1),
            Some(before),
            "{scheduler}"
        );
    }
}

/// A clock that has come far is set back, and the order stays.
#[test]
fn a_clock_that_has_come_far_changes_nothing() {
    let order = |wait: f64, scheduler: &str| {
        let mut b = bench(scheduler, 1000);
        fill(&mut b, 2, 1.0, 1);
        fill(&mut b, 1, 2.0, 30);
        send(&mut b, 31);
        b.pass(Duration::from_seconds(wait));
        fill(&mut b, 1, 2.0, 20);
        fill(&mut b, 2, 1.0, 20);
        send(&mut b, 40)
    };
    for scheduler in ["virtual-clock", "frame-based"] {
        // 2^37 bytes at 1 Mb/s are 1.1 million seconds.
        assert_eq!(order(10.0, scheduler), order(1.3e6, scheduler), "{scheduler}");
    }
}
