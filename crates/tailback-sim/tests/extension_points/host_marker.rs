//! A marker inside a sending host that follows the smoothed round-trip time of a flow: once it exceeds a limit, it
//! colours the host's packets as out of profile.
//!
//! Shows: `Conditioner::sender` and `Network::follow`; a conditioner in front of a host's access link.

use crate::common::*;
use tailback_base::{BitRate, Dscp, Duration, FlowId, Packet, Size, Time};
use tailback_conditioner::{Conditioner, EdgeOut, Header, SenderState};
use tailback_sim::build::network::{Network, Transport};
use tailback_sim::traffic::application::Side;
use tailback_sim::wire::packet::SimPacket;
use tailback_transport::Amount;

/// Colours by the latest smoothed round-trip time.
struct Patience {
    limit: Duration,
    srtt: Option<Duration>,
    changes: Log<(Time, FlowId, Duration)>,
    colours: Log<(Time, Dscp)>,
}

impl Conditioner<SimPacket> for Patience {
    fn forward(&mut self, mut p: SimPacket, _seen: &Header, now: Time, out: &mut dyn EdgeOut<SimPacket>) {
        let late = self.srtt.is_some_and(|t| t > self.limit);
        p.set_dscp(Dscp(if late { 12 } else { 10 }));
        self.colours.borrow_mut().push((now, p.dscp()));
        out.send(p);
    }
    fn sender(&mut self, flow: FlowId, SenderState { srtt, .. }: SenderState, now: Time) {
        if self.srtt != Some(srtt) {
            self.srtt = Some(srtt);
            self.changes.borrow_mut().push((now, flow, srtt));
        }
    }
}

#[test]
fn the_marker_sees_what_the_sender_sees() {
    let mut net = Network::new(1);
    let [host, r, d] = ["host", "r", "d"].map(|n| net.node(n));
    let access = net.link("access", host, r, wire(ms(5)), wire(ms(5)));
    net.link(
        "slow",
        r,
        d,
        drop_tail(BitRate(1_000_000), ms(15), Size::Unlimited),
        wire(ms(15)),
    );
    let (changes, colours) = (log(), log());
    let marker = Patience {
        limit: ms(100),
        srtt: None,
        changes: changes.clone(),
        colours: colours.clone(),
    };
    let edge = net.edge(access, false, Box::new(marker));
    let group = net.group("bulk");
    let ends = tcp_ends(&[("payload", "960B"), ("delayed_ack", "1"), ("window_cap", "50 packets")]);
    let flow = net.flow(group, 0, host, d, Transport::Connection(ends));
    net.feed(flow, Box::new(Transfer(Amount::Unlimited)), at(1000), None, false);
    net.follow(flow, Side::Source, edge);
    let mut built = build(net);
    built.sim.run_until(at(30_000));

    let (changes, colours) = (changes.borrow(), colours.borrow());
    // The SYN has 40 B: 320 us at 1 Mb/s, and 40 ms of wires there and back.
    let handshake = Duration(40_320_000);
    assert_eq!(changes[0], (at(1000) + handshake, built.flow(flow), handshake));
    let late_from = changes
        .iter()
        .find(|c| c.2 > ms(100))
        .expect("a window of 50 packets fills the queue")
        .0;
    for (t, colour) in colours.iter() {
        // What an ACK lets out is coloured by what that ACK has told the sender.
        assert_eq!(colour.0 == 12, *t >= late_from, "{t:?} {colour:?}");
    }
    // In the end 50 packets of 8 ms go round: the round trip is 400 ms.
    let last = changes[changes.len() - 1].2;
    assert!((last.seconds() - 0.4).abs() < 0.001, "{last:?}");
    check_conservation(&built);
}
