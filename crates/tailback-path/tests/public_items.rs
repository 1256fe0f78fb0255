//! `public-items.txt` lists the items that a user can name, so that a change is visible in the diff.
//! `TAILBACK_PUBLIC=write` writes it again.

use std::fs;
use std::path::Path;

/// First lines of items that are public, by file.
fn items(source: &Path) -> String {
    let mut found = String::new();
    for file in [
        "carried.rs",
        "contents.rs",
        "endpoint.rs",
        "lib.rs",
        "path.rs",
        "problem.rs",
        "finished.rs",
        "run.rs",
        "scenario.rs",
    ] {
        let text = fs::read_to_string(source.join(file)).unwrap();
        let mut in_trait = false;
        for line in text.lines() {
            in_trait = (in_trait && line != "}") || line.starts_with("pub trait");
            let code = line.trim();
            if (code.starts_with("pub ") && !line.contains("pub(crate)")) || (in_trait && code.starts_with("fn ")) {
                found.push_str(&format!("{file}: {}\n", code.trim_end_matches(['{', ';', ',', ' '])));
            }
        }
    }
    found
}

#[test]
fn the_public_items_are_those_that_are_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (now, file) = (items(&root.join("src")), root.join("public-items.txt"));
    if std::env::var("TAILBACK_PUBLIC").is_ok_and(|v| v == "write") {
        fs::write(&file, &now).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(
        now, written,
        "if this is meant: TAILBACK_PUBLIC=write cargo test -p tailback-path --test public_items"
    );
}
