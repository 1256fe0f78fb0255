//! A plan that several processes run at once. Each process writes into its own folder, `shards/NAME`, which is a folder
//! of results with its own lock. Nothing is shared during the runs, so any file system can be used.
//!
//! A process that opens the whole folder sees the runs that the shards have stored, and makes the tables from these
//! runs. The shards' folders are removed when the plan is finished.

use super::folders::file_of;
use super::manifest::{About, Manifest, ReadManifest, Said, Telling};
use super::source::{LIST, Source};
use super::times::Times;
use super::{Keep, LOCK, folders, manifest};
use crate::file::{sync_folder, write_whole};
use crate::lock::{self, Lock};
use crate::plan::Plan;
use crate::report::RunReport;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;

/// The status in the manifest of a plan that is left to its shards.
pub const SHARED: &str = "in shards";

/// Take the locks of all shards, so that no shard writes while the results are collected; then tidy their folders.
///
/// # Errors
/// A shard is at work, and the message names it.
pub fn claim(dir: &Path) -> io::Result<Vec<Lock>> {
    folders::shards(dir)
        .iter()
        .map(|s| {
            let lock = Lock::take(s, LOCK)?;
            folders::tidy(s)?;
            Ok(lock)
        })
        .collect()
}

/// Write into a folder the plan to which its shards belong, unless the plan is already there; `by` is the shard that
/// writes it.
///
/// # Errors
/// An error of the file system, or a process is at work on the whole folder.
pub fn announce(dir: &Path, by: &str, plan: &Plan, about: About) -> io::Result<()> {
    alone(dir)?;
    std::fs::create_dir_all(folders::shard(dir, by))?;
    let place = dir.join(manifest::FILE);
    let earlier = match Said::read(&place) {
        ReadManifest::Said(said) => said,
        ReadManifest::Nothing | ReadManifest::Damaged => Said::default(),
    };
    let keys = earlier.runs.iter().map(|r| r.key);
    if !earlier.runs.is_empty() && keys.eq(plan.runs.iter().map(|r| r.key)) {
        return Ok(());
    }
    let keep = Keep { about, ..Keep::at(dir) };
    let telling = Telling {
        plan,
        status: SHARED,
        elapsed_s: 0.0,
        tables: &earlier.tables_here(),
        run: &|_| None,
    };
    // Two shards may begin at once: each writes its own file, and both files have the same contents, whichever is
    // moved last.
    let own = folders::shard(dir, by).join("whole.json");
    Manifest::new(&keep, &earlier, &Times::read(dir)).write(&own, &telling)?;
    std::fs::rename(own, place)?;
    sync_folder(dir)
}

/// Remove the folders of shards that no longer contain results.
///
/// # Errors
/// An error of the file system.
pub fn sweep(dir: &Path) -> io::Result<()> {
    for s in folders::shards(dir) {
        if folders::chunks(&s).is_empty() {
            folders::remove_chunk(&s)?;
        }
    }
    folders::remove_if_empty(&dir.join(folders::SHARDS));
    Ok(())
}

/// The folder of a shard whose runs are simulated elsewhere and are returned as finished chunks.
pub struct Inbox {
    dir: PathBuf,
    _lock: Lock,
}

impl Inbox {
    /// # Errors
    /// The shard or the whole folder is in use, or cannot be written.
    pub fn open(whole: &Path, name: &str) -> io::Result<Inbox> {
        let dir = folders::shard(whole, name);
        std::fs::create_dir_all(&dir)?;
        let lock = Lock::take(&dir, LOCK)?;
        alone(whole)?;
        folders::tidy(&dir)?;
        Ok(Inbox { dir, _lock: lock })
    }

    /// Store a chunk under its name: its files, and the costs of its runs.
    ///
    /// # Errors
    /// An error of the file system, or files that differ from those written elsewhere.
    pub fn add(&self, name: &str, files: &[(String, Vec<u8>)], costs: &[(Key, RunReport)]) -> io::Result<()> {
        let is_plain = |n: &str| !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !files.iter().all(|(n, _)| is_plain(n)) || !is_plain(name) || name.contains('.') {
            return Err(io::Error::other(format!("{name} is no chunk of results")));
        }
        Times::add(&self.dir, 1, costs)?;
        let part = self.dir.join(folders::CHUNKS);
        let (chunk_folder, partial) = (part.join(name), part.join(format!("{name}.partial")));
        std::fs::create_dir_all(&partial)?;
        for (n, bytes) in files {
            write_whole(&partial.join(n), |f| f.write_all(bytes))?;
        }
        sync_folder(&partial)?;
        let mut damaged = Vec::new();
        let found = Source::chunk(&partial, &mut damaged);
        if found.is_none() || !damaged.is_empty() {
            std::fs::remove_dir_all(&partial)?;
            let list = file_of(Path::new(name), LIST, "");
            return Err(io::Error::other(format!("{} came back damaged", list.display())));
        }
        if chunk_folder.exists() {
            folders::remove_chunk(&chunk_folder)?;
        }
        std::fs::rename(&partial, &chunk_folder)?;
        sync_folder(&part)
    }
}

/// A shard and the whole folder exclude each other: the process that comes second sees the lock of the first.
///
/// # Errors
/// A process is at work on the whole folder.
pub fn alone(whole: &Path) -> io::Result<()> {
    match lock::holder(whole, LOCK) {
        Some(id) => Err(io::Error::other(format!(
            "{} is in use by process {id}, which runs the whole plan or gathers its shards; wait until it has ended",
            whole.display()
        ))),
        None => Ok(()),
    }
}
