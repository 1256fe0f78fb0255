//! Networks of more than one link: where packets go, what they meet, and how long it takes.

use crate::common::*;
use tailback_base::{Size, Time};
use tailback_sim::build::network::{Direction, Network, Transport};
use tailback_sim::traffic::application::AppInput;
use tailback_transport::Amount;

/// Hosts that hang on links without delay and of any rate add their transmission times and nothing else.
#[test]
fn links_without_delay_are_links() {
    let mut net = Network::new(1);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
    let free = || wire(ms(0));
    net.link("ab", a, b, free(), free());
    net.link("bc", b, c, drop_tail(mbps(8), ms(0), Size::Unlimited), free());
    net.link("cd", c, d, free(), free());
    let group = net.group("f");
    let mut heard = Vec::new();
    for i in 0..3 {
        let flow = net.flow(group, i, a, d, DATAGRAMS);
        let script = Script::new(vec![(at(1), 1000); 2]);
        heard.push(script.heard.clone());
        net.feed(flow, Box::new(script), Time::ZERO, None, true);
    }
    let tcp = net.flow(group, 3, a, d, Transport::Connection(tcp_ends(&[("delayed_ack", "1")])));
    net.feed(tcp, Box::new(Transfer(Amount::Bytes(14_600))), at(100), None, false);
    let mut built = build(net);
    built.sim.run_until(at(1000));
    let mut arrivals: Vec<Time> = heard
        .iter()
        .flat_map(|h| h.borrow().iter().map(|x| x.0).collect::<Vec<_>>())
        .collect();
    arrivals.sort();
    // 1000 B at 100 Tb/s take 80 ps: the sum of the rests makes whole nanoseconds now and then.
    for (i, t) in arrivals.iter().enumerate() {
        let due = at(1 + 1 + i as u64);
        assert!(*t >= due && (*t - due).0 <= 2, "{t:?}");
    }
    let o = outcome(&built, at(1000));
    assert_eq!(of(&o["flows"], "f.3", "received_packets"), 10.0);
    assert_eq!(of(&o["flows"], "f.3", "retransmitted_packets"), 0.0);
    check_conservation(&built);
}

#[test]
fn the_way_has_the_fewest_hops_then_the_least_delay() {
    let mut net = Network::new(1);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
    let delay = |t| (wire(ms(t)), wire(ms(t)));
    // From a to d: over b in 20 ms, over c in 16 ms, over b and c in 3 ms.
    for (name, from, to, t) in [
        ("ab", a, b, 1),
        ("bd", b, d, 19),
        ("ac", a, c, 15),
        ("cd", c, d, 1),
        ("bc", b, c, 1),
    ] {
        let (there, back) = delay(t);
        net.link(name, from, to, there, back);
    }
    let group = net.group("f");
    let flow = net.flow(group, 0, a, d, DATAGRAMS);
    let script = Script::new(vec![(at(1), 100)]);
    let heard = script.heard.clone();
    net.feed(flow, Box::new(script), Time::ZERO, None, true);
    let mut built = build(net);
    built.sim.run_until(at(100));
    assert_eq!(heard.borrow().len(), 1);
    assert!(matches!(heard.borrow()[0], (t, AppInput::Datagram { bytes: 100, .. }) if t == at(17)));
    check_conservation(&built);
}

#[test]
fn what_cannot_be_reached_is_refused_by_name() {
    let mut net = Network::new(1);
    let [a, b, c, d] = ["a", "b", "island", "d"].map(|n| net.node(n));
    net.link("ab", a, b, wire(ms(1)), wire(ms(1)));
    net.link("cd", c, d, wire(ms(1)), Direction::new(mbps(1), ms(1)));
    let group = net.group("f");
    net.flow(group, 0, a, c, DATAGRAMS);
    let e = net.build().err().expect("no way to the island");
    assert!(e.problem.contains("\"a\"") && e.problem.contains("\"island\""), "{e}");
    assert!(!e.remedy.is_empty());

    let mut net = Network::new(1);
    let (a, b) = (net.node("a"), net.node("b"));
    net.link("ab", a, b, wire(ms(1)), wire(ms(1)));
    net.link("ab", b, a, wire(ms(1)), wire(ms(1)));
    assert!(
        net.build()
            .err()
            .expect("two links of one name")
            .problem
            .contains("\"ab\"")
    );
}
