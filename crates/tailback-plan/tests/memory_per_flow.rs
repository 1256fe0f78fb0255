//! What one more flow costs in memory: the reference topology with 1,000 and 2,000 flows, every allocation counted.
//!
//! 5 Mb/s and 10 packets of buffer a flow, round trip 100 ms, access links of 10 Mb/s, starts drawn from the first
//! second: some 50 packets and ACKs of each flow are in the network. From 5 s to 10 s the bytes held by the run are
//! taken every 100 ms; a flow costs the difference of the two means over 1,000. The bar is 6.5 kB with the TCP of the
//! reference case. The standards' TCP carries timestamps, which hang on every packet in flight; it has a looser bar of
//! its own.
//!
//! The window cap of 100 packets, twice what a flow needs, leaves out the start. Without it, flows that happen to lose
//! nothing fill the queues of their access links with up to a thousand packets, each for half a minute; after that the
//! numbers are the same.
//!
//! A counting allocator sees everything, so nothing else may run in this process: one test.

#[path = "../../tailback-sim/tests/counting/mod.rs"]
mod counting;
mod plans;

use plans::repository;
use tailback_base::{Duration, Time};
use tailback_scenario::load_file;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::prepare;

/// The bytes that a run of this many flows holds: the mean over its second half, and the most.
fn bytes(flows: u32, more: &[&str]) -> [f64; 2] {
    let mut set = vec![
        "duration=10s".to_string(),
        "flows.bulk.send_delay=0s".to_string(),
        format!("flows.bulk.count={flows}"),
        "flows.bulk.start.to=1s".to_string(),
        format!("link.bottleneck.rate={}Mbps", 5 * flows),
        format!("link.bottleneck.queue.buffer={} packets", 10 * flows),
    ];
    set.extend(more.iter().map(ToString::to_string));
    let loaded = load_file(repository("tests/reference/hundred-flows.toml"), &set).unwrap_or_else(|e| panic!("{e}"));
    let before = counting::from_here();
    let mut run = prepare(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut held = Vec::new();
    // As a run goes: some events at a time, with the end in view.
    let end = Time::ZERO + Duration::from_millis(10_000);
    while !run.built.sim.run_some(end, 1 << 14) {
        if run.built.sim.now() > Time::ZERO + Duration::from_millis(5_000) {
            held.push((counting::live() - before) as f64);
        }
    }
    [
        held.iter().sum::<f64>() / held.len() as f64,
        (counting::peak() - before) as f64,
    ]
}

#[test]
fn a_flow_more() {
    let cases: [(&str, f64, &[&str]); 2] = [
        ("ns2 reno", 4500.0, &["flows.bulk.tcp.window_cap=100 packets"]),
        (
            "rfc sack",
            6_500.0,
            &[r#"flows.bulk.tcp={ profile = "rfc", window_cap = "100 packets" }"#],
        ),
    ];
    for (name, bar, more) in cases {
        let (thousand, two) = (bytes(1000, more), bytes(2000, more));
        let [steady, peak] = [0, 1].map(|i| (two[i] - thousand[i]) / 1000.0);
        println!(
            "{name}: one flow more {steady:.0} bytes steady, {peak:.0} at the peak, bar {bar}; 1,000 flows {:.0}, \
             {:.0} at the peak, each",
            thousand[0] / 1000.0,
            thousand[1] / 1000.0
        );
        assert!(steady < bar, "{name}: {steady} B");
    }
}
