//! Run one scenario file and capture a link, without Python; shows what a capture costs.
//!
//! `cargo run --release -p tailback-capture --example capture -- FILE.toml LINK OUT.pcapng [--one-by-one] [path=value
//! ...]`
//!
//! With `--one-by-one` nothing runs ahead: the file is the same.

use std::error::Error;
use std::fs::File;
use tailback_capture::pcapng::Capture;
use tailback_scenario::load_file;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use tailback_sim::wire::tap::Names;

fn main() -> Result<(), Box<dyn Error>> {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a == "--one-by-one");
    let [file, link, out, values @ ..] = &words[..] else {
        return Err("give a scenario file, a link, and the file to be written".into());
    };
    let loaded = load_file(file, values)?;
    let capture = Capture::new(link, File::create(out)?)?;
    let tap = |names: &Names| capture.tap(names);
    let hooks = Hooks {
        tap: Some(&tap),
        one_by_one: !options.is_empty(),
        ..Hooks::default()
    };
    let outcome = run(&loaded.spec, loaded.spec.seed, &hooks).map_err(|e| e.to_string())?;
    let packets = capture.finish()?;
    println!(
        "hops {} events {} packets {packets}",
        outcome.engine.packet_hops, outcome.engine.events
    );
    Ok(())
}
