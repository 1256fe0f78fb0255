//! A classic and a scalable sender at one DualPI2: equal rates, and a low delay for one of them.

mod common;
use common::*;

/// One Reno and one Prague flow, an ACK a segment; their rates, and the 99 % queueing delay of the scalable one, seconds.
fn pair(rate_mbps: u32, rtt_ms: u32, queue: &str, seed: u32) -> (f64, f64, f64) {
    let o = run_text(&format!(
        "duration = \"260s\"\nwarmup = \"60s\"\nseed = {seed}\n\
         topology = {{ kind = \"dumbbell\", rate = \"{rate_mbps}Mbps\", delay = \"1ms\", queue = {queue} }}\n\
         [flows.classic]\nrtt = \"{rtt_ms}ms\"\nstart = \"0.{seed}s\"\n\
         tcp = {{ congestion = \"reno\", ecn = \"on\", delayed_ack = 1 }}\n\
         [flows.scalable]\nrtt = \"{rtt_ms}ms\"\n\
         tcp = {{ congestion = \"prague\", ecn = \"on\", delayed_ack = 1 }}\n"
    ));
    let f = |name: &str, column: &str| number(&o["flows"], column, row(&o["flows"], "group", name));
    // What is not waiting: half a round trip, and a packet's time on the line.
    let alone = f64::from(rtt_ms) / 2e3 + 0.012 / f64::from(rate_mbps);
    let waits = f("scalable", "delay_p99_s") - alone;
    (f("classic", "goodput_bps"), f("scalable", "goodput_bps"), waits)
}

/// RFC 9332: the square on one side and k = 2 times on the other make the rates equal: 1.22 / (p' (R + 15 ms)) and
/// 1 / (p' (R + wait)). Over round trips of 30 to 200 ms that is within 20 %.
#[test]
fn a_classic_and_a_scalable_flow_get_equal_rates() {
    println!("Mb/s  round trip  classic / scalable: ours, by the formula; p99 wait of L");
    for (mbps, rtt) in [(20, 30), (20, 50), (20, 100), (10, 200), (40, 10)] {
        let runs: Vec<(f64, f64, f64)> = (1..=3).map(|seed| pair(mbps, rtt, "\"dualpi2\"", seed)).collect();
        let mean = |f: fn(&(f64, f64, f64)) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
        let (classic, scalable, wait) = (mean(|r| r.0), mean(|r| r.1), mean(|r| r.2));
        let ours = classic / scalable;
        let r = f64::from(rtt);
        let law = 1.22 * (r + 0.5) / (r + 15.0);
        println!("{mbps:<5} {rtt:<4} {ours:>6.2} {law:>6.2} {:>8.2} ms", wait * 1e3);
        let used = (classic + scalable) / f64::from(mbps) / 1e6;
        assert!(used > 0.85, "the line is used: {used}");
        if rtt >= 30 {
            assert!((0.8..=1.25).contains(&ours), "{ours} at {rtt} ms");
        }
    }
}
