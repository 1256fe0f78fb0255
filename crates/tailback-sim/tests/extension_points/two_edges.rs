//! A marker at the edge where traffic enters a network, and a meter at the edge where it leaves that tells the marker
//! what it saw.
//!
//! Shows: `Conditioner::forward` re-colours, drops and sends; `reverse` sees what comes back over the same link;
//! `EdgeOut::message` reaches another edge after the propagation delay of the path between them.

use crate::common::*;
use tailback_base::{DropReason, Dscp, Packet, Time};
use tailback_conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut, Header};
use tailback_sim::build::network::{Network, Transport};
use tailback_sim::wire::packet::SimPacket;
use tailback_transport::Amount;

const GREEN: Dscp = Dscp(10);
const RED: Dscp = Dscp(14);

/// Colours every third data packet red; after `limit` red ones were reported to it, drops one packet.
struct Ingress {
    data: u64,
    /// (ACKs seen on the way back, the highest).
    back: (u64, u64),
    drops_due: u32,
    heard: Log<(Time, EdgeId, EdgeMessage)>,
    ledger: Log<(u64, u64, u64)>,
}

impl Conditioner<SimPacket> for Ingress {
    fn forward(&mut self, mut p: SimPacket, _seen: &Header, _now: Time, out: &mut dyn EdgeOut<SimPacket>) {
        if self.drops_due > 0 && p.is_data() {
            self.drops_due -= 1;
            return out.dropped(p, DropReason::Profile);
        }
        self.data += u64::from(p.is_data());
        p.set_dscp(if p.is_data() && self.data.is_multiple_of(3) {
            RED
        } else {
            GREEN
        });
        out.send(p);
        self.ledger.borrow_mut().push((self.data, self.back.0, self.back.1));
    }
    fn reverse(&mut self, p: &SimPacket, _seen: &Header, _now: Time) {
        self.back = (self.back.0 + 1, self.back.1.max(p.sequence()));
    }
    fn message(&mut self, from: EdgeId, m: EdgeMessage, now: Time) {
        self.heard.borrow_mut().push((now, from, m));
        self.drops_due += u32::from(m.value as u64 == 20);
    }
}

/// Counts red packets and tells the other edge after every tenth.
struct Egress {
    tell: EdgeId,
    red: u64,
    told: Log<Time>,
}

impl Conditioner<SimPacket> for Egress {
    fn forward(&mut self, p: SimPacket, _seen: &Header, now: Time, out: &mut dyn EdgeOut<SimPacket>) {
        if p.dscp() == RED {
            self.red += 1;
            if self.red.is_multiple_of(10) {
                self.told.borrow_mut().push(now);
                out.message(
                    self.tell,
                    EdgeMessage {
                        kind: 1,
                        about: 0,
                        value: self.red as f64,
                    },
                );
            }
        }
        out.send(p);
    }
}

#[test]
fn edges_colour_count_and_tell() {
    let mut net = Network::new(1);
    let [a, r, s, b] = ["a", "r", "s", "b"].map(|n| net.node(n));
    net.link("ar", a, r, wire(ms(2)), wire(ms(2)));
    let core = net.link("rs", r, s, wire(ms(10)), wire(ms(13)));
    let exit = net.link("sb", s, b, wire(ms(1)), wire(ms(1)));
    let (heard, ledger, told) = (log(), log(), log());
    let ingress = Ingress {
        data: 0,
        back: (0, 0),
        drops_due: 0,
        heard: heard.clone(),
        ledger: ledger.clone(),
    };
    let entry = net.edge(core, false, Box::new(ingress));
    let meter = net.edge(
        exit,
        false,
        Box::new(Egress {
            tell: EdgeId(entry),
            red: 0,
            told: told.clone(),
        }),
    );
    let group = net.group("bulk");
    let ends = tcp_ends(&[("payload", "1000B"), ("delayed_ack", "1"), ("window_cap", "20 packets")]);
    let flow = net.flow(group, 0, a, b, Transport::Connection(ends));
    net.feed(
        flow,
        Box::new(Transfer(Amount::Bytes(100_000))),
        Time::ZERO,
        None,
        false,
    );
    let mut built = build(net);
    built.sim.run_until(at(20_000));

    // 100 packets and the one sent again; the dropped one is not coloured.
    assert_eq!(told.borrow().len(), 3, "30 of 100 packets and a few are red");
    let expected: Vec<_> = told
        .borrow()
        .iter()
        .enumerate()
        .map(|(i, t)| {
            (
                *t + ms(13),
                EdgeId(meter),
                EdgeMessage {
                    kind: 1,
                    about: 0,
                    value: 10.0 * (i + 1) as f64,
                },
            )
        })
        .collect();
    assert_eq!(*heard.borrow(), expected, "13 ms from s back to r");
    let result = outcome(&built, at(20_000));
    assert_eq!(of(&result["flows"], "bulk.0", "retransmitted_packets"), 1.0);
    assert_eq!(lost(&result, "rs", "profile"), 1.0);
    let last = ledger.borrow().last().copied().unwrap_or_default();
    assert_eq!(last.0, 100);
    // The SYN-ACK and an ACK for each packet that reached b; those of the last window come after the last packet left.
    let back = built.sim.conservation(built.port(core, true));
    assert_eq!(back.arrived, 101);
    assert!(last.1 < 101 && last.1 > 75 && last.2 <= 100_001, "{last:?}");
    assert_eq!(
        built.sim.conservation(built.port(core, false)).arrived,
        1 + 100 + 1,
        "SYN, packets, and the dropped one"
    );
    check_conservation(&built);
}
