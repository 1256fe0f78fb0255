//! Clients that fetch pages: a request on a connection of its own, the answer on a connection back, the next page when
//! the answer is there. Connections are opened and closed while the simulation runs.
//!
//! TCP here carries data one way, so that a dialogue is two connections; the application that opens a connection hears
//! of both its ends, so that one object plays client and server.
//!
//! Shows: `Net::open`, `write`, `close`; news of both ends; that slots of closed connections are used again.

use crate::common::*;
use std::collections::HashMap;
use tailback_base::{FlowId, Time};
use tailback_sim::build::network::{Built, Network};
use tailback_sim::traffic::application::{AppInput, Application, Net, NodeId, Side, TransportId};
use tailback_transport::{Amount, AppEvent};

const REQUEST: u64 = 300;

/// `clients` users who fetch `left` pages of `page` bytes together, one at a time each.
struct Browsers {
    ends: [NodeId; 2],
    tcp: TransportId,
    clients: u32,
    left: u64,
    page: u64,
    /// What is still to arrive on each open connection, and whether it is a request.
    open: HashMap<FlowId, (u64, bool)>,
    pages: Log<Time>,
}

impl Browsers {
    fn send(&mut self, bytes: u64, request: bool, net: &mut dyn Net) {
        let [client, server] = self.ends;
        let (from, to) = if request { (client, server) } else { (server, client) };
        let flow = net.open(from, to, self.tcp);
        self.open.insert(flow, (bytes, request));
        net.write(flow, Side::Source, Amount::Bytes(bytes));
        net.close(flow, Side::Source);
    }
    fn next_page(&mut self, net: &mut dyn Net) {
        if self.left > 0 {
            self.left -= 1;
            self.send(REQUEST, true, net);
        }
    }
}

impl Application for Browsers {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let AppInput::Transport { flow, event, .. } = e else {
            return (0..self.clients).for_each(|_| self.next_page(net));
        };
        match (event, self.open.get_mut(&flow)) {
            (AppEvent::Delivered(n), Some((missing, _))) if *missing > n => *missing -= n,
            (AppEvent::Delivered(_), Some((_, true))) => self.send(self.page, false, net),
            (AppEvent::Delivered(_), Some((_, false))) => {
                self.pages.borrow_mut().push(net.now());
                self.next_page(net);
            }
            (AppEvent::Closed, _) => drop(self.open.remove(&flow)),
            _ => {}
        }
    }
}

fn run(clients: u32, pages: u64, page: u64) -> (Built, Vec<Time>) {
    let mut net = Network::new(1);
    let (client, server) = (net.node("client"), net.node("server"));
    net.link("way", client, server, wire(ms(10)), wire(ms(10)));
    let tcp = net.transport(|| tcp_ends(&[("payload", "1000B"), ("delayed_ack", "1")]));
    let done = log();
    let app = Browsers {
        ends: [client, server],
        tcp,
        clients,
        left: pages,
        page,
        open: HashMap::new(),
        pages: done.clone(),
    };
    net.application("web", Box::new(app), at(1000));
    let mut built = build(net);
    built.sim.run_until(at(100_000));
    check_conservation(&built);
    let done = done.borrow().clone();
    (built, done)
}

/// A one-packet page takes six trips of 10 ms: SYN, SYN-ACK, request; SYN, SYN-ACK, page.
#[test]
fn a_page_takes_six_trips() {
    let (built, pages) = run(1, 500, 1000);
    let expected: Vec<Time> = (1..=500).map(|k| at(1000 + 60 * k)).collect();
    assert_eq!(pages, expected);
    let web = built.sim.retired(0);
    assert_eq!((web.connections, web.arrived), (1000, 500 * (REQUEST + 1000)));
    assert_eq!((web.retransmitted_packets, web.timeouts), (0, 0));
    // From its opening to its last ACK a connection lives for four trips.
    assert!((web.lifetime - 1000.0 * 0.040).abs() < 1e-6, "{}", web.lifetime);
    assert_eq!(built.sim.flow_slots(), 2, "one request, one answer");
}

#[test]
fn several_at_once_need_as_many_slots() {
    let (built, pages) = run(7, 700, 1000);
    assert_eq!(pages.len(), 700);
    assert_eq!(pages[699], at(1000 + 60 * 100));
    assert_eq!(built.sim.flow_slots(), 14);
}

/// A connection that is closed before anything was written to it is over as well.
#[test]
fn a_connection_that_was_never_used_gives_its_slot_back() {
    struct Hesitant(NodeId, NodeId, TransportId, u32);
    impl Application for Hesitant {
        fn on(&mut self, e: AppInput, net: &mut dyn Net) {
            if matches!(
                e,
                AppInput::Start
                    | AppInput::Transport {
                        event: AppEvent::Closed,
                        ..
                    }
            ) && self.3 > 0
            {
                self.3 -= 1;
                let flow = net.open(self.0, self.1, self.2);
                net.close(flow, Side::Source);
            }
        }
    }
    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, wire(ms(10)), wire(ms(10)));
    let tcp = net.transport(|| tcp_ends(&[]));
    net.application("hesitant", Box::new(Hesitant(a, b, tcp, 100)), Time::ZERO);
    let mut built = build(net);
    built.sim.run_until(at(1000));
    assert_eq!(built.sim.retired(0).connections, 100);
    assert!(built.sim.flow_slots() <= 2, "{}", built.sim.flow_slots());
}
