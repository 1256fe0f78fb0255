//! What a packet-hop costs does not grow unseen: the reference of the benchmark with drop-tail, four AQMs and the
//! senders of Linux with three controls, counted by callgrind, is within 3 % of what is written here; so are people who
//! browse behind FQ-CoDel and CAKE, and datagrams. Counted are instructions with 100 flows, and with 1,000 flows the
//! cache lines that have to come from beyond a cache of 1 MB. So is what a flow costs that sends nothing: to be built,
//! read and given back. All are the same on every machine of a kind, whatever else it does; times are for
//! `benches/compare.py`.
//!
//! Where a change is meant to cost more or less, it writes the new count here and says why. Without valgrind nothing is
//! counted, and the test says so.

use std::process::Command;
use tailback_base::Model;
use tailback_queue::entry::Entry;
use tailback_queue::{contract, entry, fifo, params};
use tailback_scenario::load_file_with;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::run::run;

/// A discipline of the queue crate, compiled in this crate: a crate of one's own would have it so.
#[path = "../../tailback-queue/src/aqm/load/blue.rs"]
mod blue;

/// The same under another name.
static OUT_OF_TREE: Model = Model {
    name: "blue-out-of-tree",
    family: blue::MODEL.family,
    title: blue::MODEL.title,
    summary: blue::MODEL.summary,
    source: blue::MODEL.source,
    params: blue::MODEL.params,
    probes: blue::MODEL.probes,
};
/// What a discipline of a crate of one's own may cost, relative to the same one built in.
const OUT_OF_TREE_COSTS: f64 = 1.02;

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/reference.toml");
/// A thousand people who browse, and a queue of datagrams.
const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/web.toml");
const POISSON: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../python/tailback/examples/poisson-md1.toml"
);

/// What differs from the reference; a packet-hop's instructions with 100 flows and its cache lines with 1,000.
const CASES: [(&str, f64, f64); 5] = [
    ("name=drop-tail", 673.0, 4.54),
    (FQ_CODEL, 1144.0, 5.92),
    (r#"flows.bulk.tcp={ profile = "linux" }"#, 1393.0, 13.63),
    (
        r#"flows.bulk.tcp={ profile = "linux", congestion = "bbr" }"#,
        2152.0,
        12.01,
    ),
    (
        r#"flows.bulk.tcp={ profile = "linux", congestion = "prague" }"#,
        1871.0,
        13.63,
    ),
];
const FQ_CODEL: &str = r#"link.bottleneck.queue={ kind = "fq-codel" }"#;
const CAKE: &str = r#"link.bottleneck.queue={ kind = "cake" }"#;
/// File, what differs from it, the times between which is counted, and a packet-hop's instructions.
const OTHERS: [(&str, &str, [&str; 2], f64); 6] = [
    (REFERENCE, CAKE, SECOND, 1381.0),
    (REFERENCE, r#"link.bottleneck.queue={ kind = "codel" }"#, SECOND, 882.0),
    (REFERENCE, r#"link.bottleneck.queue={ kind = "red" }"#, SECOND, 1000.0),
    (WEB, "name=web", ["15s", "25s"], 1612.0),
    (WEB, CAKE, ["15s", "25s"], 1650.0),
    (POISSON, "warmup=0s", ["5s", "60s"], 1196.0),
];
const SECOND: [&str; 2] = ["200ms", "1200ms"];
/// As the reference, ten times as large.
const LARGE: [&str; 3] = [
    "flows.bulk.count=1000",
    "link.bottleneck.rate=5Gbps",
    "link.bottleneck.queue.buffer=10000 packets",
];
/// The last level of the cache that is counted for, and the first.
const CACHE: [&str; 3] = ["--cache-sim=yes", "--D1=49152,12,64", "--LL=1048576,16,64"];

/// Among the changes: the run checks its laws.
const LAWS: &str = "name=laws";
/// What a packet-hop may cost with all laws checked, relative to one without.
const LAWS_COST: f64 = 1.3;

/// Instructions of a flow whose first packet comes after the end of the run.
const FLOW: f64 = 8717.0;

/// What callgrind counts: this binary is started again, to run this alone.
#[test]
#[ignore = "started by the test below, under callgrind"]
fn reference() {
    let set = std::env::var("SET").expect("it is started by the test below");
    let set: Vec<String> = set.lines().map(str::to_owned).collect();
    let mut library = Library::standard().clone();
    library.add(Entry {
        model: &OUT_OF_TREE,
        ..blue::entry()
    });
    let file = std::env::var("FILE").expect("it is started by the test below");
    let loaded = load_file_with(&library, &file, &set).unwrap_or_else(|e| panic!("{e}"));
    let hooks = Hooks {
        library: Some(&library),
        laws: std::env::var("LAWS").is_ok(),
        ..Hooks::default()
    };
    let outcome = run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    println!("hops {}", outcome.engine.packet_hops);
}

/// The number behind a word, which may have commas.
fn behind(text: &str, word: &str) -> f64 {
    let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("no {word} in {text}"));
    let number = rest.split_whitespace().next().unwrap_or_default();
    number
        .replace(',', "")
        .parse()
        .unwrap_or_else(|e| panic!("{number} behind {word}: {e}"))
}

/// Whether it can be counted.
fn has_valgrind() -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if !found {
        println!("there is no valgrind here: nothing was counted");
    }
    if cfg!(debug_assertions) {
        println!("this build has checks: nothing was counted");
    }
    found && !cfg!(debug_assertions)
}

/// What callgrind counts of a run, behind this word of what it prints, and its packet-hops.
fn count(what: &str, options: &[&str], file: &str, set: &[&str]) -> (f64, f64) {
    let this = std::env::current_exe().expect("this test's binary");
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(options)
        .arg(this)
        .args(["reference", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("SET", set.join("\n"))
        .env("FILE", file)
        .envs(set.contains(&LAWS).then_some(("LAWS", "on")))
        .output()
        .expect("valgrind");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    (behind(&text, what), behind(&text, "hops "))
}

/// What a packet-hop costs between two instants of a run. What setting up costs is in both.
fn cost(what: &str, options: &[&str], times: [&str; 2], set: &[&str]) -> f64 {
    cost_of(what, options, REFERENCE, times, set)
}

fn cost_of(what: &str, options: &[&str], file: &str, times: [&str; 2], set: &[&str]) -> f64 {
    let until = |t: &str| {
        let duration = format!("duration={t}");
        count(what, options, file, &[set, &[duration.as_str()]].concat())
    };
    // Side by side: a count is the same whatever else the machine does.
    let (long, short) = std::thread::scope(|s| {
        let short = s.spawn(|| until(times[0]));
        (until(times[1]), short.join().expect("a count"))
    });
    (long.0 - short.0) / (long.1 - short.1)
}

#[test]
fn a_packet_hop_costs_what_it_did() {
    if !has_valgrind() {
        return;
    }
    let mut outside = Vec::new();
    for (change, instructions, lines) in CASES {
        let large = [&[change], &LARGE[..]].concat();
        let counted = [
            (
                "instructions",
                instructions,
                cost("Collected :", &[], ["200ms", "1200ms"], &[change]),
            ),
            (
                "cache lines",
                lines,
                cost("LL misses:", &CACHE, ["300ms", "500ms"], &large),
            ),
        ];
        for (what, stored, cost) in counted {
            println!("{cost:.2} {what} a packet-hop, {stored} stored: {change}");
            if (cost / stored - 1.0).abs() > 0.03 {
                outside.push(format!("{cost:.2} {what} instead of {stored}: {change}"));
            }
        }
    }
    for (file, change, times, stored) in OTHERS {
        let cost = cost_of("Collected :", &[], file, times, &[change]);
        println!("{cost:.2} instructions a packet-hop, {stored} stored: {change}");
        if (cost / stored - 1.0).abs() > 0.03 {
            outside.push(format!("{cost:.2} instructions instead of {stored}: {change}"));
        }
    }
    assert!(outside.is_empty(), "what a packet-hop costs changed: {outside:?}");
}

#[test]
fn laws_cost_little() {
    if !has_valgrind() {
        return;
    }
    for (change, ..) in CASES {
        let of = |set: &[&str]| cost("Collected :", &[], ["200ms", "700ms"], set);
        let (without, with) = (of(&[change]), of(&[change, LAWS]));
        println!("{with:.2} instructions a packet-hop with laws, {without:.2} without: {change}");
        assert!(with / without <= LAWS_COST, "{change}: {with:.2} for {without:.2}");
    }
}

/// Version 3 of BBR may cost so much of version 1.
const OF_BBR: f64 = 1.3;

#[test]
fn version_3_of_bbr_costs_little_more_than_version_1() {
    if !has_valgrind() {
        return;
    }
    let of = |name: &str| {
        let flows = format!(r#"flows.bulk.tcp={{ profile = "linux", congestion = "{name}" }}"#);
        cost("Collected :", &[], ["200ms", "700ms"], &[&flows])
    };
    let (one, three) = (of("bbr"), of("bbr3"));
    println!("{three:.2} instructions a packet-hop for version 3, {one:.2} for version 1");
    assert!(three / one <= OF_BBR, "{three:.2} for {one:.2}");
}

#[test]
fn a_discipline_out_of_tree_costs_what_it_does_built_in() {
    if !has_valgrind() {
        return;
    }
    let of = |name: &str| {
        let queue = format!(r#"link.bottleneck.queue={{ kind = "{name}" }}"#);
        cost("Collected :", &[], ["200ms", "700ms"], &[&queue])
    };
    let (built_in, out_of_tree) = (of(blue::MODEL.name), of(OUT_OF_TREE.name));
    println!("{out_of_tree:.2} instructions a packet-hop out of tree, {built_in:.2} built in");
    assert!(
        out_of_tree / built_in <= OUT_OF_TREE_COSTS,
        "{out_of_tree:.2} instead of {built_in:.2}"
    );
}

#[test]
fn setting_up_a_flow_costs_what_it_did() {
    if !has_valgrind() {
        return;
    }
    // One in ten thousand starts in the first microsecond.
    let run = |flows: u32| {
        let count_of = format!("flows.bulk.count={flows}");
        count("Collected :", &[], REFERENCE, &["duration=1us", &count_of]).0
    };
    let (few, many) = (run(1000), run(5000));
    let cost = (many - few) / 4000.0;
    println!("{cost:.0} instructions a flow, {FLOW} stored");
    assert!((cost / FLOW - 1.0).abs() < 0.03, "{cost:.0} instead of {FLOW}");
}
