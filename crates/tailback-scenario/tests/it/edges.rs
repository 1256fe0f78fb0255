//! Conditioners in a network: buckets that follow the round trip of a TCP sender, in its host and at its first router.

use crate::common::*;
use tailback_sim::results::Outcome;

/// A flow held to 150 packets of 1000 bytes in 200 ms: 6 Mb/s in bursts, with these conditioners in its host and on its
/// link.
fn run(host: &str, link: &str, count: u32) -> Outcome {
    run_of(host, link, count, "")
}

fn run_with_tcp(tcp: &str, link: &str) -> Outcome {
    run_of("", link, 1, tcp)
}

fn run_of(host: &str, link: &str, count: u32, tcp: &str) -> Outcome {
    let mut text = format!(
        r#"
        duration = "20s"
        [link.bottleneck]
        from = "G"
        to = "E"
        rate = "100Mbps"
        delay = "1ms"
        queue = {{ kind = "droptail", buffer = "1000 packets" }}
        {link}
        [flows.a]
        count = {count}
        weight = 3
        rtt = "200ms"
        access_rate = "100Mbps"
        {host}
        tcp = {{ payload = "960B", window_cap = "150 packets", {tcp} }}
        [record.link]
        edge = "bottleneck"
        probes = ["packets"]
        on_change = false
        every = "1s"
        "#
    );
    if !host.is_empty() {
        text += r#"
        [record.host]
        edge = "flows.a"
        probes = ["packets"]
        on_change = false
        every = "1s"
        "#;
    }
    run_with(tailback_sim::library::Library::standard(), &text)
}

/// Packets that an edge let through between 10 and 20 s in green, yellow and red.
fn colours(o: &Outcome, edge: &str) -> [f64; 3] {
    let t = &o["series"];
    [10.0, 12.0, 14.0].map(|code| {
        let here = |i: &usize| text(t, "what", *i) == edge && number(t, "index", *i) == code;
        let until = |second: f64| {
            let before = |i: &usize| here(i) && number(t, "time_s", *i) <= second;
            (0..t.rows()).rfind(before).map_or(0.0, |i| number(t, "value", i))
        };
        until(20.0) - until(10.0)
    })
}

const ATBTC: &str = r#"conditioner = { kind = "atbtc", committed_rate = "3Mbps" }"#;
const OTHER: &str = r#"conditioner = { kind = "token-bucket", rate = "1Gbps", depth = "1MB" }"#;

/// 3 Mb/s of 6 are green for 10 s, the rest yellow. Buckets of five packets are empty for most of each burst.
#[test]
fn buckets_follow_the_round_trip_of_the_sender_on_the_host() {
    let [green, yellow, red] = colours(&run(ATBTC, OTHER, 1), "edge.flows.a.0.access");
    near(green, 3750.0, 20.0);
    near(yellow, 3750.0, 60.0);
    near(red, 0.0, 20.0);
    let fixed = r#"
        conditioner.kind = "trtcm"
        conditioner.committed_rate = "3Mbps"
        conditioner.committed_burst = "5KB"
        conditioner.peak_rate = "6Mbps"
        conditioner.peak_burst = "5KB"
    "#;
    let [green, ..] = colours(&run(fixed, OTHER, 1), "edge.flows.a.0.access");
    assert!(green < 0.8 * 3750.0, "{green}");
}

/// A router that hears of the senders colours as their hosts do, by flow or all together; one that hears late hardly
/// differs.
#[test]
fn a_router_can_hear_of_senders() {
    for (per, delay) in [("flow", "0s"), ("flow", "200ms"), ("aggregate", "0s")] {
        let link = format!(
            r#"
            conditioner.kind = "atbtc"
            conditioner.committed_rate = "1Mbps"
            conditioner.by_weight = true
            conditioner.per = "{per}"
            conditioner.report_delay = "{delay}"
            "#
        );
        let [green, yellow, red] = colours(&run("", &link, 2), "edge.bottleneck");
        near(green, 7500.0, 75.0);
        near(yellow + red, 7500.0, 75.0);
        assert!(red < 150.0, "{per} {delay}: {red}");
    }
}

/// A router that reads round trips off time stamps colours as one that is told; without time stamps it knows nothing.
#[test]
fn a_router_can_read_round_trips_in_passing() {
    let link = r#"
        conditioner.kind = "atbtc"
        conditioner.committed_rate = "1Mbps"
        conditioner.by_weight = true
        conditioner.per = "flow"
        conditioner.srtt_source = "snoop"
    "#;
    let [green, yellow, red] = colours(&run_with_tcp("timestamps = true", link), "edge.bottleneck");
    near(green, 3750.0, 40.0);
    near(yellow, 3750.0, 80.0);
    assert!(red < 80.0, "{red}");
    let [green, ..] = colours(&run_with_tcp("timestamps = false", link), "edge.bottleneck");
    assert!(green < 0.8 * 3750.0, "{green}");
}

/// Behind a conditioner of the same rates and depths a colour-aware meter changes nothing.
#[test]
fn a_border_that_agrees_changes_no_colour() {
    let border = |mode: &str| {
        format!(
            r#"
            conditioner.kind = "trtcm"
            conditioner.mode = "{mode}"
            conditioner.committed_rate = "3.01Mbps"
            conditioner.committed_burst = "85KB"
            conditioner.peak_rate = "6.02Mbps"
            conditioner.peak_burst = "170KB"
            "#
        )
    };
    let o = run(ATBTC, &border("aware"), 1);
    let (host, link) = (colours(&o, "edge.flows.a.0.access"), colours(&o, "edge.bottleneck"));
    for (a, b) in host.into_iter().zip(link) {
        // What is on the access link at the end of an interval.
        near(a, b, 80.0);
    }
    let honest = link[0];
    let cheat = r#"
        conditioner.kind = "trtcm"
        conditioner.committed_rate = "1Gbps"
        conditioner.committed_burst = "1MB"
        conditioner.peak_rate = "1Gbps"
        conditioner.peak_burst = "1MB"
    "#;
    let [green, ..] = colours(&run(cheat, &border("aware"), 1), "edge.bottleneck");
    near(green, honest, 0.02 * honest);
}
