//! What active queues promise of a loop of TCP flows, and no queue alone can show.
//!
//! Ten flows with round trips from 60 to 140 ms share 10 Mb/s in packets of 1000 B; figures are over 20 to 100 s.

mod common;

use common::*;
use tailback_engine::results::outcome::Outcome;

/// The ten flows before this queue, with a profile of TCP and more flows beside.
fn ten_flows(queue: &str, tcp: &str, more: &str, seed: u64) -> Outcome {
    let rtts: Vec<String> = (0..10)
        .map(|i| format!("\"{:.3}ms\"", 60.0 + 80.0 * f64::from(i) / 9.0))
        .collect();
    let text = format!(
        "duration = \"100s\"\nwarmup = \"20s\"\nseed = {seed}\n\
         topology = {{ kind = \"dumbbell\", rate = \"10Mbps\", delay = \"10ms\", queue = {queue} }}\n\
         [flows.tcp]\ncount = 10\nrtt = [{}]\nstart = {{ kind = \"uniform\", to = \"1s\" }}\n\
         tcp = {{ profile = \"ns2\", variant = \"sack\", payload = \"960B\", window_cap = \"10000 packets\", {tcp} }}\n{more}",
        rtts.join(", ")
    );
    run_text(&text)
}

/// Kunniyur and Srikant 2001: the line is used to gamma, whatever the flows do. Public ns-2 measures 97.94 % with marks.
#[test]
fn avq_uses_the_line_to_the_aimed_share() {
    for (ecn, aim) in [(true, 0.98), (false, 0.98), (true, 0.9), (false, 0.9)] {
        let queue = format!("{{ kind = \"avq\", ecn = {ecn}, utilisation = {aim}, buffer = \"200kB\" }}");
        let tcp = if ecn { "ecn = \"on\"" } else { "ecn = \"off\"" };
        let o = ten_flows(&queue, tcp, "", 1);
        let used = of(&o["links"], "bottleneck", "utilisation");
        println!("ecn {ecn} aim {aim}: utilisation {used:.4}");
        near(used, aim, 0.003);
    }
}
