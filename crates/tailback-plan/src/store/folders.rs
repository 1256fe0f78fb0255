//! The folders inside a folder of results (those of chunks and of shards), and how they are tidied after a kill.

use super::manifest::{self, ReadManifest, Said};
use super::times::Times;
use super::{PUBLISH, STAGED};
use crate::file::sync_folder;
use crate::report::RunReport;
use crate::tables::{is_rare, names};
use std::io;
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;

/// The folder of the shards in a folder of results.
pub const SHARDS: &str = "shards";
/// The folder of the chunks of a plan without parts.
pub const CHUNKS: &str = "chunks";
/// A table's file in a place; during a finish it may still have a suffix.
pub fn file_of(dir: &Path, name: &str, suffix: &str) -> PathBuf {
    let staged = dir.join(format!("{name}.parquet{suffix}"));
    if !suffix.is_empty() && staged.is_file() {
        return staged;
    }
    dir.join(format!("{name}.parquet"))
}

/// The folder of a shard.
pub fn shard(dir: &Path, name: &str) -> PathBuf {
    dir.join(SHARDS).join(name)
}

/// The folders of the existing shards, in the order of their names.
pub fn shards(dir: &Path) -> Vec<PathBuf> {
    finished(&dir.join(SHARDS))
}

/// The folders of complete chunks, in the order of their names.
pub fn chunks(dir: &Path) -> Vec<PathBuf> {
    finished(dir)
        .iter()
        .flat_map(|part| finished(part))
        .filter(|c| is_chunk(c))
        .filter(|c| names().any(|n| file_of(c, n, "").exists()))
        .collect()
}

/// The name of a chunk's folder: its number, and the first digits of the digest of its keys.
pub fn chunk_name(number: usize, keys: &str) -> String {
    format!("{number:06}-{}", &keys[..8])
}

/// Whether a folder has the name of a chunk; another folder may be a separate folder of results.
fn is_chunk(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|n| n.to_str()).and_then(|n| n.split_once('-'));
    name.is_some_and(|(number, keys)| {
        number.len() >= 6
            && number.bytes().all(|b| b.is_ascii_digit())
            && keys.len() == 8
            && keys.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The folders inside that are neither half made nor half removed, in the order of their names.
fn finished(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|e| e.path())
        .filter(|p| p.extension().is_none() && p.is_dir())
        .collect();
    folders.sort();
    folders
}

/// The costs of the runs of all shards, as lines that do not belong to any execution of the whole folder.
pub fn times_of_shards(dir: &Path) -> Vec<(u64, Key, RunReport)> {
    let mut costs = Vec::new();
    for s in shards(dir) {
        if let ReadManifest::Said(said) = Said::read(&s.join(manifest::FILE)) {
            costs.extend(said.runs.into_iter().filter_map(|r| Some((0, r.key, r.cost?))));
        }
        costs.extend(Times::read(&s).lines.into_iter().map(|(_, key, cost)| (0, key, cost)));
    }
    costs
}

/// Whether this is the name of a file that was being written here: a table, a manifest or a page, next to its place.
fn is_unfinished(file: &Path) -> bool {
    let extension = |p: &Path| p.extension().and_then(|e| e.to_str()).map(str::to_string);
    let written = ["parquet", "json", "jsonl", "toml", "html"];
    matches!(extension(file).as_deref(), Some("partial" | "next"))
        && extension(&file.with_extension("")).is_some_and(|e| written.contains(&e.as_str()))
}

/// Whether this is a chunk that was being written or removed.
fn is_unfinished_chunk(dir: &Path) -> bool {
    let e = dir.extension().and_then(|e| e.to_str());
    matches!(e, Some("partial" | "old")) && is_chunk(&dir.with_extension(""))
}

/// Tidy a folder after a kill: complete files are moved to their places, and incomplete files are removed. The user may
/// work in this folder, so only files with names that are given here are touched.
pub fn tidy(dir: &Path) -> io::Result<()> {
    if let ReadManifest::Said(said) = Said::read(&dir.join(PUBLISH)) {
        settle(dir, &said.tables())?;
    }
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(dir)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            parts.push(path);
        } else if is_unfinished(&path) {
            std::fs::remove_file(path)?;
        }
    }
    for part in parts {
        let name = part.file_name().and_then(|n| n.to_str());
        let mut ours = name == Some(SHARDS) || name == Some(CHUNKS);
        for entry in std::fs::read_dir(&part)?.flatten() {
            let path = entry.path();
            if is_unfinished_chunk(&path) && path.is_dir() {
                std::fs::remove_dir_all(path)?;
                ours = true;
            }
        }
        if ours {
            remove_if_empty(&part);
        }
    }
    Ok(())
}

/// All staged files are complete: move each to its place, the manifest last. `tables` are all tables of the result.
pub fn settle(dir: &Path, tables: &[&str]) -> io::Result<()> {
    for name in names() {
        let (staged, place) = (
            dir.join(format!("{name}.parquet{STAGED}")),
            dir.join(format!("{name}.parquet")),
        );
        if staged.is_file() {
            std::fs::rename(staged, place)?;
        } else if is_rare(name) && !tables.contains(&name) && place.is_file() {
            // The file belongs to an earlier plan, which had rows for this table.
            std::fs::remove_file(place)?;
        }
    }
    sync_folder(dir)?;
    std::fs::rename(dir.join(PUBLISH), dir.join(manifest::FILE))?;
    sync_folder(dir)
}

/// The error if a file that was written here no longer exists, because somebody removed it during the runs.
pub fn gone(path: &Path) -> io::Error {
    let why = "it has been removed while the runs went on; run the same command again";
    io::Error::new(io::ErrorKind::NotFound, format!("{} is gone: {why}", path.display()))
}

pub fn remove_if_empty(dir: &Path) {
    // This fails if the folder is not empty.
    let _ = std::fs::remove_dir(dir);
}

/// Remove a folder. The folder is renamed first, so that a half removed folder is never taken for a complete one.
pub fn remove_chunk(dir: &Path) -> io::Result<()> {
    let old = dir.with_extension("old");
    std::fs::rename(dir, &old)?;
    std::fs::remove_dir_all(old)
}
