//! A folder of results. It stays valid if the process that fills it is killed.
//!
//! ```text
//! manifest.json         what this is: the plan (scenarios, points, seeds, keys), and what each run cost
//! runs.parquet, ...     the tables of the finished plan, one row group for each chunk of runs; the footer of
//!                       runs.parquet has the checksums of all
//! chunks/N-HASH/        while the plan is not finished: the tables of the chunks that are
//! times.jsonl           as long as there are chunks: what their runs cost
//! shards/NAME/          while several processes share the plan: a folder of this kind for each
//! lock                  while a process writes
//! ```
//!
//! A chunk is written under a name that ends in `.partial`, and is renamed when all of it is on disk. Finished tables
//! are staged as `.next`. Then `publish.json` states that they are complete. Then they are moved to their places. After
//! each step all stored runs can still be found, so a kill loses no more than the incomplete chunks. Memory contains
//! keys and the places of the runs' rows, but not the rows.

mod filing;
mod folders;
mod manifest;
mod read;
pub mod shards;
mod source;
mod status;
mod times;
mod write;

pub use filing::Filing;
pub use manifest::About;
pub use read::{Stored, read_table};
pub use shards::Inbox;
pub use status::{FolderStatus, RunStatus, ShardStatus, status};

use crate::lock::Lock;
use crate::plan::Plan;
use crate::tables::{Frame, RunTables};
use manifest::Manifest;
use read::Cache;
use source::Source;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;
use tailback_sim::results::Table;

/// The name of the lock of a folder without shards.
pub const LOCK: &str = "lock";
/// The suffix of files that are complete and wait to be moved to their places.
const STAGED: &str = ".next";
/// The file that states that all staged files are complete; it is the manifest that belongs to them.
const PUBLISH: &str = "publish.json";

/// The treatment of stored runs that are not in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They are kept, in chunks next to the plan's tables.
    #[default]
    Beside,
    /// They are removed when the plan is finished; the caller must have told the user.
    Replace,
}

/// The form of a finished plan on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// One Parquet file per table.
    #[default]
    Tables,
    /// The chunks themselves, in the folders of their parts: for plans of which single parts are read, and for plans
    /// that grow.
    Chunks,
}

/// The place and form of a plan's results.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    pub dir: PathBuf,
    /// The fingerprint of the program that made the results; part of every key.
    pub build: String,
    pub others: Others,
    pub finish: Finish,
    /// Further contents of the manifest.
    pub about: About,
    /// The folder of the whole plan, if `dir` is the folder of a shard.
    pub within: Option<PathBuf>,
}

impl Keep {
    pub fn at(dir: impl Into<PathBuf>) -> Keep {
        Keep {
            dir: dir.into(),
            ..Keep::default()
        }
    }
}

/// The place of a run's rows.
#[derive(Clone, Copy, Debug)]
struct ChunkPlace {
    source: usize,
    chunk: usize,
    failed: bool,
}

/// A folder of results that this process writes into.
pub struct Store {
    keep: Keep,
    /// Identifies the plan.
    plan: String,
    sources: Vec<Option<Source>>,
    /// The source that consists of the finished tables.
    published: Option<usize>,
    index: HashMap<Key, ChunkPlace>,
    /// Damaged files, and folders from which nothing can be read.
    damaged: Vec<PathBuf>,
    broken: Vec<PathBuf>,
    manifest: Manifest,
    cache: Cache,
    /// Why nothing can be written, if that is the case.
    read_only: Option<io::Error>,
    _of_shards: Vec<Lock>,
    /// The last field, so that the lock is released last.
    _lock: Option<Lock>,
}

impl Store {
    /// Open a folder for a plan: make it, lock it, tidy it after a kill, and list the stored runs.
    ///
    /// # Errors
    /// Another process has the lock, or the folder cannot be written and contains no results.
    pub fn open(keep: Keep, plan: &Plan) -> io::Result<Store> {
        manifest::of_this_version(&keep.dir.join(manifest::FILE))?;
        let (lock, read_only) = match std::fs::create_dir_all(&keep.dir).and_then(|()| Lock::take(&keep.dir, LOCK)) {
            Ok(lock) => (Some(lock), None),
            Err(e) if e.kind() == io::ErrorKind::Other || !keep.dir.join(manifest::FILE).is_file() => return Err(e),
            Err(e) => (None, Some(e)),
        };
        let mut of_shards = Vec::new();
        if lock.is_some() {
            keep.within.as_deref().map_or(Ok(()), shards::alone)?;
            of_shards = shards::claim(&keep.dir)?;
            folders::tidy(&keep.dir)?;
        }
        let folder = read::Folder::look(&keep.dir);
        let manifest = Manifest::new(&keep, &folder.manifest, &folder.times);
        // Both have a line per run, and are as large as everything else that is kept.
        drop((folder.manifest, folder.times));
        let mut store = Store {
            plan: plan.name(),
            manifest,
            keep,
            sources: Vec::new(),
            published: None,
            index: HashMap::new(),
            damaged: folder.damaged,
            broken: folder.broken,
            cache: Cache::default(),
            read_only,
            _of_shards: of_shards,
            _lock: lock,
        };
        for c in folder.chunks {
            store.add_source(c);
        }
        if let Some(p) = folder.published {
            store.published = Some(store.add_source(p));
        }
        Ok(store)
    }

    fn add_source(&mut self, s: Source) -> usize {
        let index = self.sources.len();
        for (chunk, keys) in s.contents.keys.iter().enumerate().filter(|(c, _)| s.usable[*c]) {
            for key in keys {
                let failed = s.contents.failed.contains(key);
                let place = ChunkPlace {
                    source: index,
                    chunk,
                    failed,
                };
                // A run that succeeded replaces a failed one.
                if !failed || self.index.get(key).is_none_or(|p| p.failed) {
                    self.index.insert(*key, place);
                }
            }
        }
        self.sources.push(Some(s));
        index
    }

    /// Whether a run's results are stored and need not be made again.
    pub fn has(&self, key: Key) -> bool {
        self.index.get(&key).is_some_and(|p| !p.failed)
    }

    /// Whether anything is stored, from this plan or another.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty() && self.sources.is_empty()
    }

    /// Files that were found damaged; the store does not have their runs.
    pub fn damaged(&self) -> &[PathBuf] {
        &self.damaged
    }

    /// Whether a run is in its final place: in the finished tables, or in a complete chunk of another plan. Finished
    /// tables and such chunks are not rewritten.
    pub fn settled(&self, key: Key) -> bool {
        let Some(p) = self.index.get(&key).filter(|p| !p.failed) else {
            return false;
        };
        self.published == Some(p.source)
            || self.sources[p.source]
                .as_ref()
                .is_some_and(|s| s.contents.whole && s.contents.plan != self.plan)
    }

    /// The tables of a stored run.
    ///
    /// # Errors
    /// The run is not stored, or a file no longer exists.
    pub fn load(&mut self, key: Key) -> io::Result<RunTables> {
        let (at, cache) = self.find(key)?;
        cache.run(at, key)
    }

    /// The rows of a run in the table with index `n`, with a plan's columns.
    fn load_rows(&mut self, key: Key, n: usize, frame: &Frame) -> io::Result<Table> {
        let (at, cache) = self.find(key)?;
        match n {
            0 => frame.rows(0, &cache.ending(at, key)?).ok_or_else(|| missing(key)),
            _ => Ok(frame.around(cache.rows(at, n, key)?)),
        }
    }

    fn find(&mut self, key: Key) -> io::Result<(read::At<'_>, &mut Cache)> {
        let p = self.index.get(&key).ok_or_else(|| missing(key))?;
        let place = read::At {
            number: p.source,
            source: self.sources[p.source].as_ref().ok_or_else(|| missing(key))?,
            chunk: p.chunk,
        };
        Ok((place, &mut self.cache))
    }

    /// Whether these runs, in this order, are one whole chunk, and whether their rows are read from this chunk.
    fn is_one_chunk(&self, keys: impl Iterator<Item = Key> + Clone) -> bool {
        let mut all = keys.clone();
        let place = all.next().and_then(|k| self.index.get(&k));
        let Some((p, s)) = place.and_then(|p| Some((p, self.sources[p.source].as_ref()?))) else {
            return false;
        };
        let same = s.contents.keys[p.chunk].iter().copied().eq(keys.clone());
        same && s.contents.whole && all.all(|k| self.index.get(&k).is_some_and(|o| o.source == p.source))
    }

    /// Whether the finished tables are complete and belong to this plan.
    fn is_published(&self) -> bool {
        let source = self.published.and_then(|at| self.sources[at].as_ref());
        source.is_some_and(|s| {
            s.contents.plan == self.plan && s.contents.failed.is_empty() && s.usable.iter().all(|u| *u)
        })
    }

    fn writable(&mut self) -> io::Result<()> {
        match self.read_only.take() {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }
}

fn missing(key: Key) -> io::Error {
    io::Error::other(format!("the run {key} is not stored"))
}

/// Names of the folders in which chunks are: one for each part of a plan.
///
/// The author of a study may choose any name for a part; the folder name is always a single name inside the folder of
/// results.
fn part_folder(dir: &Path, part: &str) -> PathBuf {
    let plain = |c: char| c.is_alphanumeric() || "=,.-+_".contains(c);
    let name: String = part.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    match name.trim_start_matches('.') {
        "" => dir.join(folders::CHUNKS),
        name => dir.join(name),
    }
}
