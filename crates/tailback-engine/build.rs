//! Names the source this build is made of: `TAILBACK_SOURCE`, a hash of everything that can decide a run's results.
//!
//! Stored runs are taken again only when they were made by the same source. The hash is over the files' contents and
//! their paths inside the workspace, so that the same source gives the same name in any folder and on any machine.

use std::path::{Path, PathBuf};

/// The crates a simulation is made of; others read results or show them.
const CRATES: [&str; 5] = ["base", "queue", "conditioner", "transport", "engine"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        let folder = root.join(format!("tailback-{name}")).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
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
        let inside = f.strip_prefix(&root).unwrap_or(&f).to_string_lossy().replace('\\', "/");
        eat(inside.as_bytes());
        eat(&std::fs::read(&f).unwrap_or_default());
    }
    println!("cargo::rustc-env=TAILBACK_SOURCE={hash:032x}");
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
