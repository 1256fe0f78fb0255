//! Reports the contents of a folder of results, finished or interrupted, without changing it.

use super::manifest::SaidRun;
use super::read::Folder;
use super::{LOCK, folders, shards, source::Source};
use crate::lock;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;

/// One run of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStatus {
    pub key: Key,
    /// Its results are intact and on disk.
    pub stored: bool,
    /// The run failed; executing the plan again runs it again.
    pub failed: bool,
    /// The last execution that wrote here took the run from the store.
    pub kept: bool,
    /// CPU seconds of its simulation; NaN while unknown.
    pub cpu_s: f64,
    /// The seed; unknown for runs that are not in the folder's plan.
    pub seed: Option<u64>,
    pub point: Option<usize>,
}

/// A shard of a plan that several processes share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStatus {
    pub name: String,
    /// The number of runs that it is to do, as far as it has recorded this number.
    pub planned: usize,
    pub stored: usize,
    pub in_use_by: Option<u32>,
}

/// A folder.
#[derive(Clone, Debug, Default)]
pub struct FolderStatus {
    /// `done`, `failed` (some runs failed), `interrupted`, `running`, `killed`, or `empty`.
    pub status: String,
    /// The runs in the plan's order, followed by the runs of other plans.
    pub runs: Vec<RunStatus>,
    /// Files that are missing or have changed.
    pub damaged: Vec<PathBuf>,
    /// The process that is writing here now.
    pub in_use_by: Option<u32>,
    /// The shards whose folders are here.
    pub shards: Vec<ShardStatus>,
    /// The contents of the manifest, except the runs.
    pub manifest: Map<String, Value>,
}

/// Read the status of a folder.
pub fn status(dir: &Path) -> FolderStatus {
    let in_use_by = lock::holder(dir, LOCK);
    let folder = Folder::look(dir);
    let mut has_failed: HashMap<Key, bool> = HashMap::new();
    let sources = || folder.chunks.iter().chain(&folder.published);
    for s in sources() {
        for (key, failed) in usable(s) {
            // A run that failed in one place may have succeeded in another.
            has_failed.entry(key).and_modify(|f| *f &= failed).or_insert(failed);
        }
    }
    let call = folder.manifest.call();
    let mut fresh: HashSet<Key> = HashSet::new();
    let mut costs: HashMap<Key, f64> = HashMap::new();
    let listed = &folder.manifest.runs;
    for r in listed {
        costs.insert(r.key, r.cost.as_ref().map_or(f64::NAN, |c| c.cpu_s));
        if r.fresh {
            fresh.insert(r.key);
        }
    }
    for (of, key, cost) in &folder.times.lines {
        costs.insert(*key, cost.cpu_s);
        if Some(*of) == call {
            fresh.insert(*key);
        }
    }
    let status_of = |key: Key, r: Option<&SaidRun>| {
        let failed = has_failed.get(&key).copied();
        RunStatus {
            key,
            stored: failed == Some(false),
            failed: failed == Some(true),
            kept: failed == Some(false) && !fresh.contains(&key),
            cpu_s: costs.get(&key).copied().unwrap_or(f64::NAN),
            seed: r.and_then(|r| r.seed),
            point: r.and_then(|r| r.point),
        }
    };
    let mut runs: Vec<RunStatus> = listed.iter().map(|r| status_of(r.key, Some(r))).collect();
    let planned: HashSet<Key> = listed.iter().map(|r| r.key).collect();
    let other_keys: BTreeSet<Key> = sources()
        .flat_map(usable)
        .map(|(k, _)| k)
        .filter(|k| !planned.contains(k))
        .collect();
    runs.extend(other_keys.iter().map(|k| status_of(*k, None)));
    let shards: Vec<ShardStatus> = folders::shards(dir).iter().map(|s| shard(s)).collect();
    let at_work = in_use_by.or(shards.iter().find_map(|s| s.in_use_by));
    FolderStatus {
        status: state(folder.manifest.status(), at_work, runs.is_empty()),
        runs,
        shards,
        damaged: folder.damaged,
        in_use_by,
        manifest: folder.manifest.head,
    }
}

fn shard(dir: &Path) -> ShardStatus {
    let folder = Folder::look(dir);
    let sources = folder.chunks.iter().chain(&folder.published);
    let stored: HashSet<Key> = sources.flat_map(usable).filter(|(_, f)| !f).map(|(k, _)| k).collect();
    ShardStatus {
        name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        planned: folder.manifest.runs.len(),
        stored: stored.len(),
        in_use_by: lock::holder(dir, LOCK),
    }
}

/// Runs that can be read, and whether they failed.
fn usable(s: &Source) -> impl Iterator<Item = (Key, bool)> {
    let chunks = s.contents.keys.iter().zip(&s.usable).filter(|(_, u)| **u);
    chunks.flat_map(|(keys, _)| keys.iter().map(|k| (*k, s.contents.failed.contains(k))))
}

fn state(said: Option<&str>, in_use_by: Option<u32>, empty: bool) -> String {
    match said {
        Some("running") if in_use_by.is_none() => "killed",
        Some(shards::SHARED) if in_use_by.is_some() => "running",
        Some(s) => s,
        None if empty => "empty",
        None => "unknown",
    }
    .to_string()
}
