//! What a capture taps: every packet that arrives at a queue, is marked or dropped, or reaches the far end.
//!
//! Shows: `Tap`, handed in with a run; a packet found again by its identity.

use crate::common::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tailback_base::{DropReason, Ecn, MarkReason, Place};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use tailback_sim::wire::packet::PacketId;
use tailback_sim::wire::tap::{Names, Sight, Tap};

/// By port: arrived, marked, dropped before the queue, dropped at it, delivered.
#[derive(Default)]
struct Counts {
    ports: BTreeMap<u32, [u64; 5]>,
    /// Packets inside the ports, by identity; one that is marked is marked at its far end.
    inside: BTreeMap<(u32, PacketId), bool>,
    sack_blocks_lost: usize,
}

struct Counting(Rc<RefCell<Counts>>);

impl Counting {
    fn add(&self, at: &Sight<'_>, what: usize) {
        self.0.borrow_mut().ports.entry(at.port).or_default()[what] += 1;
    }
}

impl Tap for Counting {
    fn arrived(&mut self, at: &Sight<'_>) {
        self.add(at, 0);
        self.0.borrow_mut().inside.insert((at.port, at.id()), false);
    }
    fn marked(&mut self, at: &Sight<'_>, _: MarkReason) {
        self.add(at, 1);
        if let Some(marked) = self.0.borrow_mut().inside.get_mut(&(at.port, at.id())) {
            *marked = true;
        }
    }
    fn dropped(&mut self, at: &Sight<'_>, _: Place, why: DropReason) {
        self.add(at, if why == DropReason::Impairment { 2 } else { 3 });
        // What a packet carries is still there when it is lost.
        self.0.borrow_mut().sack_blocks_lost += at.segment().sack.len();
        self.0.borrow_mut().inside.remove(&(at.port, at.id()));
    }
    fn delivered(&mut self, at: &Sight<'_>) {
        self.add(at, 4);
        let marked = self.0.borrow_mut().inside.remove(&(at.port, at.id()));
        if marked == Some(true) {
            assert_eq!(at.segment().ecn, Ecn::Ce, "{:?}", at.id());
        }
    }
}

#[test]
fn a_tap_sees_what_the_links_count() {
    let text = r#"
        duration = "20s"
        [topology]
        kind = "dumbbell"
        rate = "5Mbps"
        delay = "20ms"
        queue = { kind = "red", buffer = "40 packets", ecn = true }
        [link.bottleneck]
        impair = [{ kind = "random", probability = 0.01 }]
        reverse_impair = [{ kind = "random", probability = 0.05 }]
        [flows.some]
        count = 3
        rtt = "60ms"
        tcp = { profile = "rfc", ecn = "on" }
    "#;
    let loaded = load_text(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let (counts, names) = (Rc::new(RefCell::new(Counts::default())), Rc::new(RefCell::new(vec![])));
    let make = |of: &Names| -> Box<dyn Tap> {
        *names.borrow_mut() = of.ports.clone();
        Box::new(Counting(counts.clone()))
    };
    let hooks = Hooks {
        tap: Some(&make),
        ..Hooks::default()
    };
    let tapped = run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    let plain = run(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
    let counts = counts.borrow();
    for link in ["bottleneck", "bottleneck.reverse"] {
        let port = names.borrow().iter().position(|n| n == link).expect("a port") as u32;
        let [arrived, marked, before, at_queue, delivered] = counts.ports[&port].map(|n| n as f64);
        let count = |column| of(&tapped["links"], link, column);
        assert_eq!(arrived + before, count("arrived_packets"), "{link}");
        assert_eq!(marked, count("marked_packets"), "{link}");
        assert_eq!(before, lost(&tapped, link, "impairment"), "{link}");
        assert_eq!(before + at_queue, count("dropped_packets"), "{link}");
        assert_eq!(delivered, count("delivered_packets"), "{link}");
        assert_eq!(
            of(&plain["links"], link, "delivered_packets"),
            delivered,
            "a tap changes nothing"
        );
    }
    let marked: u64 = counts.ports.values().map(|c| c[1]).sum();
    assert!(
        marked > 10 && counts.sack_blocks_lost > 0,
        "{marked} {}",
        counts.sack_blocks_lost
    );
}
