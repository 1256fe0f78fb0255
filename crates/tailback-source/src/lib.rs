//! The name of the source that a program is built from: a hash that a build script hands to the compiler.
//!
//! Stored runs are used again only by a program of the same source. The hash is over the contents of files and their
//! paths inside a folder, so that the same source has the same name in any folder and on any machine.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

/// In `build.rs` of a crate with rows of its own: hand the name of its source to the macro `own_crate!`. The source is
/// `src`, `Cargo.toml`, and `Cargo.lock` if it is there. `others` are more files and folders, from the folder of the
/// crate; name those of other crates of your own that decide what a run gives.
pub fn name_this_crate(others: &[&str]) {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let parts = ["src", "Cargo.toml", "Cargo.lock"]
        .into_iter()
        .chain(others.iter().copied());
    // A path that is not there would start the build script each time.
    let parts: Vec<PathBuf> = parts.map(|p| root.join(p)).filter(|p| p.exists()).collect();
    println!("cargo::rustc-env=TAILBACK_OWN_SOURCE={}", name(&root, &parts));
}

/// The name of these files and of what is in these folders, 32 hexadecimal digits. Cargo builds again when one changes.
pub fn name(root: &Path, parts: &[PathBuf]) -> String {
    let mut files = Vec::new();
    for part in parts {
        println!("cargo::rerun-if-changed={}", part.display());
        match part.is_dir() {
            true => collect(part, &mut files),
            false => files.push(part.clone()),
        }
    }
    files.sort();
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut eat = |bytes: &[u8]| {
        // Carriage returns are left out: a checkout may have them or not.
        for b in bytes.iter().filter(|b| **b != b'\r') {
            hash = (hash ^ u128::from(*b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    };
    for f in files {
        let inside = f.strip_prefix(root).unwrap_or(&f).to_string_lossy().replace('\\', "/");
        eat(inside.as_bytes());
        eat(&std::fs::read(&f).unwrap_or_default());
    }
    format!("{hash:032x}")
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_depends_on_contents_and_not_on_the_folder() {
        let base = std::env::temp_dir().join(format!("tailback-source-{}", std::process::id()));
        let name_of = |folder: &str, text: &str| {
            let root = base.join(folder);
            std::fs::create_dir_all(root.join("src/deep")).unwrap();
            std::fs::write(root.join("src/deep/a.rs"), text).unwrap();
            name(&root, &[root.join("src")])
        };
        let first_name = name_of("one", "fn a() {}\n");
        assert_eq!(first_name, name_of("two", "fn a() {}\r\n"));
        assert_ne!(first_name, name_of("one", "fn b() {}\n"));
        std::fs::remove_dir_all(&base).unwrap();
    }
}
