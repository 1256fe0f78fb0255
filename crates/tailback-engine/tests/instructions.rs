//! What a packet-hop costs, in instructions, does not grow unseen: the reference of the benchmark with drop-tail, FQ-CoDel and
//! the senders of Linux, counted by callgrind, is within 3 % of what is written here. So is what a flow costs that sends
//! nothing: to be built, read and given back. Instructions are the same on every
//! machine of a kind, whatever else it does; times are for `benches/compare.py`.
//!
//! Where a change is meant to cost more or less, it writes the new count here and says why. Without valgrind nothing is counted,
//! and the test says so.

use std::process::Command;
use tailback_engine::run::{Hooks, run};
use tailback_engine::scenario::load_file;

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/reference.toml");
/// What differs from the reference, and instructions a packet-hop.
const CASES: [(&str, f64); 3] = [
    ("name=drop-tail", 679.0),
    (r#"link.bottleneck.queue={ kind = "fq-codel" }"#, 1142.0),
    (r#"flows.bulk.tcp={ profile = "linux" }"#, 1520.0),
];

/// Instructions of a flow whose first packet comes after the end of the run.
const FLOW: f64 = 8135.0;

/// What callgrind counts: this binary is started again, to run this alone.
#[test]
#[ignore = "started by the test below, under callgrind"]
fn reference() {
    let set: Vec<String> = ["DURATION", "CHANGE"]
        .iter()
        .map(|name| std::env::var(name).expect("it is started by the test below"))
        .collect();
    let loaded = load_file(REFERENCE, &set).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
    println!("hops {}", outcome.engine.packet_hops);
}

/// The number behind a word.
fn behind(text: &str, word: &str) -> f64 {
    let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("no {word} in {text}"));
    let digits: String = rest
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(|c| c.is_ascii_digit())
        .collect();
    digits.parse().expect("digits")
}

/// Whether it can be counted.
fn has_valgrind() -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if !found {
        println!("there is no valgrind here: nothing was counted");
    }
    found
}

/// Instructions and packet-hops of a run.
fn count(duration: &str, change: &str) -> (f64, f64) {
    let this = std::env::current_exe().expect("this test's binary");
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(["reference", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("DURATION", format!("duration={duration}"))
        .env("CHANGE", change)
        .output()
        .expect("valgrind");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    (behind(&text, "Collected :"), behind(&text, "hops "))
}

#[test]
fn a_packet_hop_costs_what_it_did() {
    if !has_valgrind() {
        return;
    }
    let mut outside = Vec::new();
    for (change, stored) in CASES {
        // What setting up costs is in both.
        let (short, long) = (count("200ms", change), count("1200ms", change));
        let cost = (long.0 - short.0) / (long.1 - short.1);
        println!("{cost:.1} instructions a packet-hop, {stored} stored: {change}");
        if (cost / stored - 1.0).abs() > 0.03 {
            outside.push(format!("{cost:.1} instead of {stored}: {change}"));
        }
    }
    assert!(outside.is_empty(), "instructions a packet-hop changed: {outside:?}");
}

#[test]
fn setting_up_a_flow_costs_what_it_did() {
    if !has_valgrind() {
        return;
    }
    // One in ten thousand starts in the first microsecond.
    let run = |flows: u32| count("1us", &format!("flows.bulk.count={flows}")).0;
    let (few, many) = (run(1000), run(5000));
    let cost = (many - few) / 4000.0;
    println!("{cost:.0} instructions a flow, {FLOW} stored");
    assert!((cost / FLOW - 1.0).abs() < 0.03, "{cost:.0} instead of {FLOW}");
}
