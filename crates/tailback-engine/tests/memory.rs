//! A hundred thousand short connections leave no trace: slots, packets' extras, event list and heap stay as they were
//! after the first few thousand, also when packets are lost, doubled and reordered at the end of a connection's life.
//!
//! A counting allocator tells what is allocated, so nothing else may run in this process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

mod common;
use common::*;
use tailback_base::{BitRate, Size, Time};
use tailback_engine::build::network::{Built, Network};
use tailback_engine::spec::{Harm, Impairment};
use tailback_engine::traffic::application::{AppInput, Application, Net, NodeId, Side, TransportId};
use tailback_transport::{Amount, AppEvent};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise is ours.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Keeps some connections open, each for a transfer of a few packets; ends after `left`.
struct Farm {
    from: NodeId,
    to: NodeId,
    tcp: TransportId,
    at_once: u32,
    left: u64,
}

impl Application for Farm {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let n = match e {
            AppInput::Start => self.at_once,
            AppInput::Transport {
                event: AppEvent::Closed,
                ..
            } => 1,
            _ => 0,
        };
        for _ in 0..n {
            if self.left > 0 {
                self.left -= 1;
                let flow = net.open(self.from, self.to, self.tcp);
                let bytes = 1 + net.rng().below(4000);
                net.write(flow, Side::Source, Amount::Bytes(bytes));
                net.close(flow, Side::Source);
            }
        }
    }
}

const CONNECTIONS: u64 = 100_000;

fn farm(impairments: Vec<Impairment>, at_once: u32) -> Built {
    let mut net = Network::new(1);
    let (a, m, b) = (net.node("a"), net.node("m"), net.node("b"));
    let both = || {
        let mut d = drop_tail(BitRate(200_000_000), ms(2), Size::Packets(40));
        d.impairments.clone_from(&impairments);
        d
    };
    // Two links: what was doubled on the first may be lost on the second when its connection is over.
    net.link("am", a, m, both(), both());
    net.link("mb", m, b, both(), both());
    let cfg = tcp_config(&[
        ("delayed_ack", "1"),
        ("min_rto", "20ms"),
        ("initial_rto", "20ms"),
        ("syn_retries", "0"),
    ]);
    let tcp = net.transport(move || pair_of(&cfg));
    net.application(
        "farm",
        Box::new(Farm {
            from: a,
            to: b,
            tcp,
            at_once,
            left: CONNECTIONS,
        }),
        Time::ZERO,
    );
    build(net)
}

/// Run to the end; what was allocated after a tenth of the connections, and at most after each further tenth.
fn run(built: &mut Built) -> (isize, isize) {
    let (mut early, mut late, mut tenths) = (0, 0, 0);
    let mut t = Time::ZERO;
    while built.sim.retired(0).connections < CONNECTIONS {
        t += ms(20);
        built.sim.run_until(t);
        if built.sim.retired(0).connections >= (tenths + 1) * CONNECTIONS / 10 {
            tenths = built.sim.retired(0).connections * 10 / CONNECTIONS;
            let live = LIVE.load(Ordering::Relaxed);
            if early == 0 {
                early = live;
            }
            late = late.max(live);
        }
        assert!(t < at(3_000_000), "the farm stands still: {:?}", built.sim.retired(0));
    }
    (early, late)
}

#[test]
fn memory_is_flat() {
    // One after another, on a good link.
    let mut built = farm(vec![], 1);
    let (early, late) = run(&mut built);
    // The next is opened while the last one says that it is over.
    assert_eq!(built.sim.flow_slots(), 2);
    assert!(late - early < 4096, "{early} B, then {late} B");
    assert!(built.sim.pending_events() < 50, "{}", built.sim.pending_events());
    check_conservation(&built);
    drop(built);

    // Fifty at once, on a bad one.
    let bad = vec![
        Impairment::Random {
            probability: 0.02,
            action: Harm::Drop,
        },
        Impairment::Duplicate { probability: 0.1 },
        Impairment::Reorder {
            probability: 0.1,
            delay: ms(5),
        },
    ];
    let mut built = farm(bad, 50);
    let (early, late) = run(&mut built);
    assert_eq!(built.sim.retired(0).connections, CONNECTIONS);
    let slots = built.sim.flow_slots();
    // A closed connection keeps its slot while a late duplicate of it is in flight.
    assert!(slots < 120, "{slots} slots for 50 connections");
    assert!(late - early < early / 10 + 20_000, "{early} B, then {late} B");
    assert!(built.sim.pending_events() < 2000, "{}", built.sim.pending_events());
    check_conservation(&built);
}
