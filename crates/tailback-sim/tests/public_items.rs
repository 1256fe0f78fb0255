//! `public-items.txt` lists the items that a crate of one's own uses for its rows, so that a change is visible in the
//! diff. `TAILBACK_PUBLIC=write` writes it again.

use std::fs;
use std::path::Path;

/// The files with the contracts that rows fulfil and with the rows themselves, from the folder of all crates.
const FILES: [&str; 16] = [
    "tailback-base/src/model/key.rs",
    "tailback-base/src/model/registry.rs",
    "tailback-queue/src/contract/admission.rs",
    "tailback-queue/src/contract/build_context.rs",
    "tailback-queue/src/contract/discipline.rs",
    "tailback-queue/src/contract/row.rs",
    "tailback-queue/src/entry.rs",
    "tailback-queue/src/linux.rs",
    "tailback-conditioner/src/conditioner.rs",
    "tailback-conditioner/src/entry.rs",
    "tailback-transport/src/tcp/congestion/mod.rs",
    "tailback-sim/src/traffic/application.rs",
    "tailback-sim/src/traffic/entry.rs",
    "tailback-sim/src/library/mod.rs",
    "tailback-sim/src/library/own.rs",
    "tailback-source/src/lib.rs",
];
/// The binding is no dependency of the engine; its items that other crates use stand in one file.
const BINDING: &str = "tailback-python/src/lib.rs";

/// First lines of items that are public, by file.
fn items(crates: &Path) -> String {
    let mut found = String::new();
    for file in FILES.into_iter().chain([BINDING]) {
        let text = fs::read_to_string(crates.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let mut in_trait = false;
        for line in text.lines().take_while(|l| *l != "#[cfg(test)]") {
            in_trait = (in_trait && line != "}") || line.starts_with("pub trait");
            let code = line.trim();
            if code.starts_with("pub ") || code.starts_with("macro_rules!") || (in_trait && code.starts_with("fn ")) {
                found.push_str(&format!("{file}: {}\n", code.trim_end_matches(['{', ';', ',', ' '])));
            }
        }
    }
    found
}

#[test]
fn the_public_items_are_those_that_are_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (now, file) = (items(&root.join("..")), root.join("public-items.txt"));
    if std::env::var("TAILBACK_PUBLIC").is_ok_and(|v| v == "write") {
        fs::write(&file, &now).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        now, written,
        "if this is meant: TAILBACK_PUBLIC=write cargo test -p tailback-sim --test public_items"
    );
}
