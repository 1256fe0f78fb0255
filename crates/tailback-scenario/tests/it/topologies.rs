//! Networks of more than one link: where packets go, what they meet, and how long it takes.

use crate::common::*;
use tailback_base::{Size, Time};
use tailback_sim::build::network::{Direction, Network, Transport};
use tailback_sim::traffic::application::AppInput;
use tailback_transport::Amount;

/// Two groups with access links of their own: rates and round trips are taken in turn, and found again in the results.
#[test]
fn a_dumbbell_gives_each_flow_its_rate_and_its_round_trip() {
    let o = run_text(
        r#"
duration = "20s"
topology = { kind = "dumbbell", rate = "1Gbps", delay = "5ms", queue = { kind = "droptail", buffer = "unlimited" } }
[flows.f]
count = 4
rtt = ["40ms", "80ms"]
access_rate = ["1Mbps", "2Mbps", "3Mbps", "4Mbps"]
[flows.f.tcp]
window_cap = "8 packets"
delayed_ack = 1
"#,
    );
    for i in 0..4 {
        let f = |c| of(&o["flows"], &format!("f.{i}"), c);
        // Eight packets of 1500 B: a rate of 1 to 4 Mb/s holds them up for 96 to 24 ms; the rest of the trip takes 40
        // or 80 ms and what the SYN or packet and its ACK spend on lines. Whichever is slower sets the pace.
        let rate = (i + 1) as f64 * 1e6;
        let rtt = if i % 2 == 0 { 0.040 } else { 0.080 };
        let own = 1500.0 * 8.0 / rate + 40.0 * 8.0 / rate + 1540.0 * 8.0 / 1e9;
        let expected = rate.min(8.0 * 1500.0 * 8.0 / (rtt + own));
        assert!(
            (f("goodput_wire_bps") / expected - 1.0).abs() < 0.02,
            "flow {i}: {} {expected}",
            f("goodput_wire_bps")
        );
        // The SYN alone: 40 B there and back.
        let least = rtt + 2.0 * (40.0 * 8.0 / rate + 40.0 * 8.0 / 1e9);
        assert!(
            (f("rtt_min_s") - least).abs() < 1e-8,
            "flow {i}: {} {least}",
            f("rtt_min_s")
        );
    }
    assert!(o["links"].rows() == 2, "private links are not reported");
}

/// Three hops of 10 Mb/s with 3, 4 and 5 Mb/s of cross traffic each, and a long flow of 2 Mb/s over all.
#[test]
fn a_parking_lot_carries_cross_traffic_hop_by_hop() {
    let cross = |i: u32, rate: u32| {
        format!(
            "[flows.cross{i}]\nfrom = \"r{}\"\nto = \"r{i}\"\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", rate \
             = \"{rate}Mbps\" }}\npacket_size = \"1000B\"\n",
            i - 1
        )
    };
    let text = r#"
duration = "10s"
[topology]
kind = "parking-lot"
hops = 3
rate = "10Mbps"
delay = "5ms"
queue = { kind = "droptail", buffer = "50 packets" }
[flows.long]
transport = "udp"
traffic = { kind = "cbr", rate = "2Mbps" }
packet_size = "1000B"
"#
    .to_string()
        + &cross(1, 3)
        + &cross(2, 4)
        + &cross(3, 5);
    let o = run_text(&text);
    // Packets of 1000 B: 250 a second for 2 Mb/s, one at the start, none lost.
    let sent = [2500.0, 3750.0, 5000.0, 6250.0];
    for (name, n) in ["long.0", "cross1.0", "cross2.0", "cross3.0"].iter().zip(sent) {
        let f = |c| of(&o["flows"], name, c);
        assert!((f("sent_packets") - n).abs() <= 1.0, "{name}");
        // At the end a few are on their way.
        assert!(f("sent_packets") - f("received_packets") <= 6.0, "{name}");
        assert_eq!(f("dropped_packets"), 0.0);
    }
    for (i, both) in [(1, 5e6), (2, 6e6), (3, 7e6)] {
        let l = |c| of(&o["links"], &format!("hop{i}"), c);
        assert!((l("throughput_bps") / both - 1.0).abs() < 0.003, "hop {i}");
        assert!((l("utilisation") - both / 1e7).abs() < 0.002, "hop {i}");
    }
    // Three times 5 ms and 0.8 ms, and at most one packet of the other flow at each hop.
    let delay = of(&o["flows"], "long.0", "delay_mean_s");
    assert!((0.0174..0.0198).contains(&delay), "{delay}");
    // With 9 Mb/s on the middle hop, it alone loses: 11 Mb/s do not fit into 10.
    let o = run_text(&text.replace("rate = \"4Mbps\"", "rate = \"9Mbps\""));
    let lost = |hop| of(&o["links"], hop, "dropped_packets");
    assert_eq!((lost("hop1"), lost("hop3")), (0.0, 0.0));
    assert!(
        (lost("hop2") - (1.0e6 * 10.0 / 8000.0 - 51.0)).abs() < 20.0,
        "{}",
        lost("hop2")
    );
}

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

/// Data of one direction share the line with the ACKs of the other: 40 B for every second packet of 1500 B.
#[test]
fn two_way_traffic_shares_the_line_with_acknowledgements() {
    let text = |back: &str| {
        format!(
            "duration = \"30s\"\nwarmup = \"5s\"\ntopology = {{ kind = \"dumbbell\", rate = \"8Mbps\", delay = \
             \"10ms\", queue = {{ kind = \"droptail\", buffer = \"100 packets\" }} }}\n[flows.there]\n{back}"
        )
    };
    let alone = run_text(&text(""));
    let both = run_text(&text("[flows.back]\nfrom = \"right\"\nto = \"left\"\n"));
    let back = |o: &tailback_sim::results::outcome::Outcome, c| of(&o["links"], "bottleneck.reverse", c);
    let packets = of(&alone["flows"], "there.0", "received_packets");
    let acks = back(&alone, "delivered_packets");
    assert!((acks / packets - 0.5).abs() < 0.02, "{acks} ACKs for {packets}");
    assert!((back(&alone, "throughput_bps") - acks * 320.0 / 25.0).abs() < 1.0);
    // Both directions full, data of one in front of the ACKs of the other.
    assert!(of(&both["links"], "bottleneck", "utilisation") > 0.9 && back(&both, "utilisation") > 0.8);
    for (flow, link) in [("there.0", "bottleneck"), ("back.0", "bottleneck.reverse")] {
        let data = of(&both["flows"], flow, "throughput_bps");
        let all = of(&both["links"], link, "throughput_bps");
        assert!(data < all && data > 0.95 * all, "{flow}: {data} of {all}");
    }
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
