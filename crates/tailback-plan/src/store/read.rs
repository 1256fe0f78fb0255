//! Lists the contents of a folder, and reads runs from it.

use super::folders::file_of;
use super::manifest::{self, ReadManifest, Said};
use super::source::{Contents, LIST, Listed, Source, without_rows};
use super::times::Times;
use super::{PUBLISH, STAGED, folders};
use crate::parquet;
use crate::report::Status;
use crate::tables::{RunTables, declared, is_rare, names, own_rows};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;
use tailback_sim::results::{Data, Table};

/// Everything in a folder, as it was found; nothing is changed.
pub struct Folder {
    /// Empty if there is no manifest.
    pub manifest: Said,
    pub times: Times,
    pub published: Option<Source>,
    pub chunks: Vec<Source>,
    pub damaged: Vec<PathBuf>,
    /// Chunks whose list cannot be read.
    pub broken: Vec<PathBuf>,
}

impl Folder {
    pub fn look(dir: &Path) -> Folder {
        let mut damaged = Vec::new();
        // If a finish was interrupted after everything was staged, the manifest of that finish is the valid one.
        let (manifest_read, suffix) = match Said::read(&dir.join(PUBLISH)) {
            ReadManifest::Said(said) => (ReadManifest::Said(said), STAGED),
            ReadManifest::Nothing | ReadManifest::Damaged => (Said::read(&dir.join(manifest::FILE)), ""),
        };
        let (mut chunks, mut broken) = (Vec::new(), Vec::new());
        let places = std::iter::once(dir.to_path_buf()).chain(folders::shards(dir));
        for at in places.flat_map(|d| folders::chunks(&d)) {
            match Source::chunk(&at, &mut damaged) {
                Some(c) => chunks.push(c),
                None => broken.push(at),
            }
        }
        let published = match Contents::read(&file_of(dir, LIST, suffix)) {
            Listed::Contents(contents) => Some(Source::check(dir, contents, suffix, &mut damaged)),
            listed => {
                let lists_tables = matches!(&manifest_read, ReadManifest::Said(m) if !m.tables().is_empty());
                // Without a list no file can be checked, unless another program has made the files.
                let others = names().any(|n| n != LIST && file_of(dir, n, suffix).is_file());
                let own = file_of(dir, LIST, suffix);
                if lists_tables || matches!(listed, Listed::Damaged) || (others && !own.is_file()) {
                    damaged.push(own);
                }
                None
            }
        };
        let manifest = match manifest_read {
            ReadManifest::Said(said) => said,
            ReadManifest::Nothing if published.is_none() && chunks.is_empty() => Said::default(),
            ReadManifest::Nothing | ReadManifest::Damaged => {
                damaged.push(dir.join(manifest::FILE));
                Said::default()
            }
        };
        let mut times = Times::read(dir);
        times.lines.extend(folders::times_of_shards(dir));
        Folder {
            manifest,
            times,
            published,
            chunks,
            damaged,
            broken,
        }
    }
}

/// The tables of the chunk that was read last, because neighbouring runs are usually read one after the other.
#[derive(Default)]
pub struct Cache {
    of: Option<(usize, usize)>,
    /// The tables read so far, in the order in which they are shown.
    tables: Vec<Option<Keyed>>,
}

/// A table, and for each key its first row and the row after its last.
struct Keyed {
    table: Table,
    rows: HashMap<Key, (usize, usize)>,
}

/// A chunk of a numbered source.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub number: usize,
    pub source: &'a Source,
    pub chunk: usize,
}

impl Cache {
    fn table(&mut self, at: At, n: usize) -> io::Result<&Keyed> {
        if self.of != Some((at.number, at.chunk)) {
            self.of = Some((at.number, at.chunk));
            self.tables.clear();
            self.tables.resize_with(declared().len(), || None);
        }
        let place = &mut self.tables[n];
        if place.is_none() {
            let name = names().nth(n).unwrap_or_default();
            let table = at.source.read(name, at.chunk)?;
            let rows = rows_by_key(&table);
            *place = Some(Keyed { table, rows });
        }
        place.as_ref().ok_or_else(|| io::Error::other("no table"))
    }

    /// The rows of one run in table `n`.
    pub fn rows(&mut self, at: At, n: usize, key: Key) -> io::Result<Table> {
        let t = self.table(at, n)?;
        let (from, to) = t.rows.get(&key).copied().unwrap_or((0, 0));
        Ok(own_rows(&t.table, from, to))
    }

    /// A run with all its tables.
    pub fn run(&mut self, at: At, key: Key) -> io::Result<RunTables> {
        let mut run = self.ending(at, key)?;
        if run.status == Status::Done {
            run.tables = (1..declared().len())
                .map(|n| self.rows(at, n, key))
                .collect::<io::Result<_>>()?;
        }
        Ok(run)
    }

    /// The result of a run, without its tables.
    pub fn ending(&mut self, at: At, key: Key) -> io::Result<RunTables> {
        let runs = self.table(at, 0)?;
        let missing = || io::Error::other(format!("{} has no entry for the run {key}", at.source.dir.display()));
        let (row, _) = *runs.rows.get(&key).ok_or_else(missing)?;
        let status = match text(&runs.table, "status", row) {
            Some("done") => Status::Done,
            _ => Status::Failed(text(&runs.table, "message", row).unwrap_or_default().to_string()),
        };
        let (packet_hops, events) = (
            count(&runs.table, "packet_hops", row),
            count(&runs.table, "events", row),
        );
        Ok(RunTables {
            status,
            packet_hops,
            events,
            tables: Vec::new(),
        })
    }
}

/// The rows of some runs of a chunk, with all columns in front except the position in the plan.
pub fn rows_of(source: &Source, chunk: usize, keys: &[Key]) -> io::Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (name, _) in &source.contents.files {
        let mut t = source.read(name, chunk)?;
        t.columns.retain(|c| c.name != "run");
        let rows = rows_by_key(&t);
        let mut chosen = t.rows_between(0, 0);
        for key in keys {
            if let Some((from, to)) = rows.get(key) {
                chosen.append(t.rows_between(*from, *to));
            }
        }
        tables.push(chosen);
    }
    Ok(tables)
}

fn text<'a>(t: &'a Table, column: &str, row: usize) -> Option<&'a str> {
    match &t.column(column)?.data {
        Data::Text(v) => v.get(row).map(|s| &**s),
        _ => None,
    }
}

fn count(t: &Table, column: &str, row: usize) -> u64 {
    match t.column(column).map(|c| &c.data) {
        Some(Data::Count(v)) => v.get(row).copied().unwrap_or(0),
        _ => 0,
    }
}

fn rows_by_key(t: &Table) -> HashMap<Key, (usize, usize)> {
    let mut rows = HashMap::new();
    if let Some(Data::Text(keys)) = t.column("key").map(|c| &c.data) {
        let mut from = 0;
        for to in 1..=keys.len() {
            if to == keys.len() || keys[to] != keys[from] {
                if let Some(key) = Key::parse(&keys[from]) {
                    rows.insert(key, (from, to));
                }
                from = to;
            }
        }
    }
    rows
}

/// A table of a finished folder.
///
/// # Errors
/// The file is missing or damaged.
pub fn read_table(dir: &Path, name: &str) -> io::Result<Table> {
    let path = file_of(dir, name, "");
    let list = file_of(dir, LIST, "");
    let contents = match Contents::read(&list) {
        Listed::Contents(c) => Some(c),
        // A folder that another program has made has no checksums; its files are read unchecked.
        Listed::Nothing => None,
        Listed::Damaged => {
            return Err(io::Error::other(format!(
                "{}, which has the checksums, is damaged; run the plan again to repair it",
                list.display()
            )));
        }
    };
    if let Some(layout) = contents.as_ref().and_then(|c| c.layout(name))
        && path.is_file()
        && layout.check(&path) != parquet::Condition::Whole
    {
        return Err(io::Error::other("the file is damaged; run the plan again to repair it"));
    }
    if is_rare(name) && !path.is_file() && contents.is_some() {
        return Ok(without_rows(&read_table(dir, LIST)?, name));
    }
    parquet::read(&path)
}

/// The results in a folder, read run by run, in any order.
pub struct Stored {
    sources: Vec<Source>,
    places: HashMap<Key, (usize, usize)>,
    cache: Cache,
}

impl Stored {
    /// Open the intact files of a folder.
    pub fn open(dir: &Path) -> Stored {
        let folder = Folder::look(dir);
        let mut places = HashMap::new();
        let sources: Vec<Source> = folder.chunks.into_iter().chain(folder.published).collect();
        for (source_number, s) in sources.iter().enumerate() {
            for (chunk, keys) in s.contents.keys.iter().enumerate().filter(|(c, _)| s.usable[*c]) {
                for key in keys.iter().filter(|k| !s.contents.failed.contains(*k)) {
                    places.insert(*key, (source_number, chunk));
                }
            }
        }
        Stored {
            sources,
            places,
            cache: Cache::default(),
        }
    }

    pub fn has(&self, key: &str) -> bool {
        Key::parse(key).is_some_and(|k| self.places.contains_key(&k))
    }

    /// A run's rows of one table.
    ///
    /// # Errors
    /// The run or the table does not exist.
    pub fn table(&mut self, key: &str, name: &str) -> io::Result<Table> {
        let table_index = names().position(|x| x == name);
        let place = Key::parse(key).and_then(|k| Some((k, self.places.get(&k)?)));
        match (place, table_index) {
            (Some((key, (number, chunk))), Some(table_index)) => {
                let at = At {
                    number: *number,
                    source: &self.sources[*number],
                    chunk: *chunk,
                };
                self.cache.rows(at, table_index, key)
            }
            (None, _) => Err(io::Error::other(format!("the run {key} is not stored"))),
            (_, None) => Err(io::Error::other(format!("there is no table {name}"))),
        }
    }
}
