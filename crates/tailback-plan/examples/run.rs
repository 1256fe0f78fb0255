//! Run one scenario file and print the results: the engine without Python, for profilers and for users of the crate.
//!
//! `cargo run --release -p tailback-plan --example run -- FILE.toml [--one-by-one] [path=value ...]`
//!
//! With `--one-by-one` nothing runs ahead: every packet-hop is an event.

use tailback_plan::execute::{peak_rss_bytes, thread_cpu_seconds};
use tailback_scenario::load_file;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("give a scenario file");
        std::process::exit(2);
    };
    let (options, values): (Vec<String>, Vec<String>) = args.partition(|a| a == "--one-by-one");
    let loaded = load_file(&file, &values).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(2);
    });
    let hooks = Hooks {
        one_by_one: !options.is_empty(),
        ..Hooks::default()
    };
    let before = thread_cpu_seconds();
    let outcome = run(&loaded.spec, loaded.spec.seed, &hooks).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(1);
    });
    let cpu = thread_cpu_seconds() - before;
    for t in [&outcome["groups"], &outcome["links"], &outcome["losses"]] {
        for i in 0..t.rows() {
            println!("{} {}", t.name, serde_json::Value::Object(t.row_json(i)));
        }
    }
    let hops = outcome.engine.packet_hops;
    println!(
        "hops {hops} events {} ahead {} cpu {cpu:.3} s, {:.2} M hops/s, {:.1} ns/hop, peak {} MB",
        outcome.engine.events,
        outcome.engine.handed_ahead,
        hops as f64 / cpu / 1e6,
        cpu * 1e9 / hops as f64,
        peak_rss_bytes() / 1_000_000
    );
}
