//! A hundred thousand short connections leave no trace: slots, packets' extras, event list and heap stay as they were
//! after the first few thousand, also when packets are lost, doubled and reordered at the end of a connection's life.
//!
//! And what one more that is open at once takes, at the peak: less than 4 kB, with the TCP of the standards (SACK,
//! timestamps). `TAILBACK_CONNECTIONS=1000000` opens so many there instead of 100,000.
//!
//! A counting allocator tells what is allocated, so nothing else may run in this process.

mod common;
mod counting;
use common::*;
use tailback_base::{Size, Time};
use tailback_sim::build::network::{Built, Network};
use tailback_sim::declare::impairments::{Harm, Impairment};
use tailback_sim::traffic::application::{AppInput, Application, Net, NodeId, Side, TransportId};
use tailback_transport::{Amount, AppEvent};

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

fn farm(impairments: Vec<Impairment>, at_once: u32, connections: u64) -> Built {
    let mut net = Network::new(1);
    let (a, m, b) = (net.node("a"), net.node("m"), net.node("b"));
    // As much for each, whatever their number, from fifty on.
    let scale = u64::from(at_once).div_ceil(50);
    let both = || {
        let mut d = drop_tail(mbps(200 * scale), ms(2), Size::Packets(40 * scale));
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
            left: connections,
        }),
        Time::ZERO,
    );
    build(net)
}

/// Run to the end; what was allocated after a tenth of the connections, and at most after each further tenth.
fn run(built: &mut Built, connections: u64) -> (isize, isize) {
    let (mut early, mut late, mut tenths) = (0, 0, 0);
    let mut t = Time::ZERO;
    while built.sim.retired(0).connections < connections {
        t += ms(20);
        built.sim.run_until(t);
        if built.sim.retired(0).connections >= (tenths + 1) * connections / 10 {
            tenths = built.sim.retired(0).connections * 10 / connections;
            let live = counting::live();
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
    let mut built = farm(vec![], 1, CONNECTIONS);
    let (early, late) = run(&mut built, CONNECTIONS);
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
    let mut built = farm(bad, 50, CONNECTIONS);
    let (early, late) = run(&mut built, CONNECTIONS);
    assert_eq!(built.sim.retired(0).connections, CONNECTIONS);
    let slots = built.sim.flow_slots();
    // A closed connection keeps its slot while a late duplicate of it is in flight.
    assert!(slots < 120, "{slots} slots for 50 connections");
    assert!(late - early < early / 10 + 20_000, "{early} B, then {late} B");
    assert!(built.sim.pending_events() < 2000, "{}", built.sim.pending_events());
    check_conservation(&built);
    drop(built);

    // What one more open at once takes, at the peak of the whole run.
    let connections = std::env::var("TAILBACK_CONNECTIONS").map_or(CONNECTIONS, |n| n.parse().expect("a number"));
    let peak = |at_once: u32| {
        let before = counting::from_here();
        let mut built = farm(vec![], at_once, connections);
        run(&mut built, connections);
        let slots = built.sim.flow_slots();
        println!(
            "{connections} connections, {at_once} at once: {} B at the peak, {slots} slots",
            counting::peak() - before
        );
        (counting::peak() - before) as f64
    };
    let (few, many) = (peak(1000), peak(4000));
    let each = (many - few) / 3000.0;
    println!("one more that is open at once: {each:.0} B");
    assert!(each < 4096.0, "{each} B");
    assert!(
        few - 1000.0 * each < 200_000.0,
        "a constant of {} B",
        few - 1000.0 * each
    );
}
