//! Files that tables of a scenario name, other than scenarios: their places, their contents, and their digests.
//!
//! A stored run names its files: the scenario contains the place of each file and the digest of its bytes. A file that
//! has changed since is refused. A file at another place is the same file if its bytes are the same.

use crate::document::{Document, Node, Tree};
use crate::key::Key;
use crate::read::trace_file;
use std::path::{Path, PathBuf};
use tailback_base::model::Raw;
use tailback_base::quantity::Refusal;
use tailback_sim::declare::tables::top;
use tailback_sim::declare::{changes, workload};
use tailback_sim::library::Library;

/// The tables that name files: the family, the keys of files (a table has at most one of them), and the key of the
/// digest.
pub const NAMING: [(&str, [&str; 2], &str); 2] = [
    (
        top::CHANGES.name,
        [changes::TRACE.param.name, changes::MAHIMAHI.param.name],
        changes::DIGEST.param.name,
    ),
    (
        top::WORKLOADS.name,
        [workload::SIZES_FILE.param.name, workload::LIST.param.name],
        workload::DIGEST.param.name,
    ),
];

/// Write the place and the digest of each file into the document. Problems of a file are reported when its table is
/// read. Returns whether there was a file.
pub fn seal(document: &mut Document, library: &Library) -> bool {
    let file = document.file.clone();
    let mut sealed = false;
    for (family, keys, digest_key) in NAMING {
        let Some(tables) = document.root.get_mut(family) else {
            continue;
        };
        for table in tables.entries_mut() {
            for key in keys {
                let Some(value) = table.node.get_mut(key) else { continue };
                let Tree::Scalar(Raw::Text(name)) = &value.tree else {
                    continue;
                };
                let place = match library.files.contains_key(name) {
                    true => PathBuf::from(name),
                    false => trace_file::place(&file, name),
                };
                let (Ok(bytes), Some(text)) = (bytes_of(&place, library), place.to_str()) else {
                    continue;
                };
                value.tree = Tree::Scalar(Raw::Text(text.to_string()));
                sealed = true;
                let at = value.at.clone();
                if table.node.get(digest_key).is_none() {
                    let digest = Key::of(bytes).to_string();
                    table.node.insert(digest_key, Node::text(&digest, at));
                }
            }
        }
    }
    sealed
}

/// The bytes of a file, or of the text that replaces it.
fn bytes_of(place: &Path, library: &Library) -> Result<Vec<u8>, Refusal> {
    match place.to_str().and_then(|name| library.files.get(name)) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => trace_file::bytes(place),
    }
}

/// The text of a file. If a digest was stored, the file must have it.
pub fn text(name: &str, digest: Option<String>, library: &Library) -> Result<String, Refusal> {
    let bytes = bytes_of(Path::new(name), library)?;
    let present = Key::of(bytes.iter().copied()).to_string();
    if digest.is_some_and(|stored| stored != present) {
        return Err(Refusal::new(
            format!("{name} has changed since the scenario was stored"),
            "bring the old file back, or leave `digest` out for the new one",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
