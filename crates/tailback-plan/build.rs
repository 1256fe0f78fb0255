//! Names the source this build is made of: `TAILBACK_SOURCE`, a hash of everything that can decide a run's results.

use std::path::Path;

/// The crates a simulation is made of; others read results or show them.
const CRATES: [&str; 7] = ["base", "queue", "conditioner", "transport", "sim", "scenario", "plan"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources = CRATES.map(|name| root.join(format!("tailback-{name}")).join("src"));
    println!(
        "cargo::rustc-env=TAILBACK_SOURCE={}",
        tailback_source::name(&root, &sources)
    );
}
