//! Storing a plan's results so that an interruption loses at most the open chunk.
//!
//! Finished runs are written in chunks: a folder of Parquet files under `chunks/`, filled beside its place and renamed.
//! Each row carries the key of its run. When the plan is complete, the tables are written in plan order, without keys of
//! chunks or anything that depends on how the work was cut, and the chunks go away. Reopening reads keys from what is
//! there, so extending a plan redoes nothing.

use crate::plan::{Plan, Run, Status};
use crate::results::{Cell, Column, ColumnDef, Data, Outcome, Table, parquet};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tables of one run, without plan columns, in the order of [`NAMES`].
#[derive(Clone, Debug)]
pub struct RunTables {
    pub status: Status,
    pub packet_hops: u64,
    pub events: u64,
    pub tables: Vec<Table>,
}

/// The tables of a run.
pub const NAMES: [&str; 7] = ["flows", "groups", "links", "losses", "intervals", "series", "log"];

static RUNS: [ColumnDef; 5] = [
    ColumnDef::text("key", "hash of scenario, seed, version and build"),
    ColumnDef::text("status", "done or failed"),
    ColumnDef::text("message", "why it failed"),
    ColumnDef::count("packet_hops", "packets", "packets received at the far ends of links"),
    ColumnDef::count("events", "1", "events processed"),
];

impl RunTables {
    pub fn new(status: Status, outcome: Option<Outcome>) -> RunTables {
        match outcome {
            Some(o) => {
                let (packet_hops, events) = (o.engine.packet_hops, o.engine.events);
                RunTables {
                    status,
                    packet_hops,
                    events,
                    tables: o.tables,
                }
            }
            None => RunTables {
                status,
                packet_hops: 0,
                events: 0,
                tables: Vec::new(),
            },
        }
    }

    fn runs_row(&self, key: &str) -> [Cell; 5] {
        let (status, message) = match &self.status {
            Status::Done => ("done", ""),
            Status::Failed(why) => ("failed", why.as_str()),
        };
        [
            key.into(),
            status.into(),
            message.into(),
            self.packet_hops.into(),
            self.events.into(),
        ]
    }
}

/// A folder of results.
pub struct Store {
    dir: PathBuf,
    known: HashMap<String, RunTables>,
    chunks: usize,
}

impl Store {
    /// Open a folder, and read what is in it.
    ///
    /// # Errors
    /// A folder that cannot be made or read.
    pub fn open(dir: PathBuf) -> io::Result<Store> {
        std::fs::create_dir_all(&dir)?;
        let mut store = Store {
            dir,
            known: HashMap::new(),
            chunks: 0,
        };
        let mut places = vec![store.dir.clone()];
        let chunks = store.dir.join("chunks");
        if chunks.is_dir() {
            let mut inside: Vec<PathBuf> = std::fs::read_dir(&chunks)?
                .filter_map(|e| Some(e.ok()?.path()))
                .collect();
            inside.sort();
            for p in inside {
                if p.extension().is_some_and(|e| e == "partial") {
                    std::fs::remove_dir_all(&p)?;
                    continue;
                }
                let number = p
                    .file_name()
                    .and_then(|n| n.to_str())
                    .and_then(|n| n.parse::<usize>().ok());
                store.chunks = store.chunks.max(number.map_or(0, |n| n + 1));
                places.push(p);
            }
        }
        for p in places {
            // A folder that cannot be read as results is not trusted: its runs are run again.
            let _ = store.read_folder(&p);
        }
        Ok(store)
    }

    fn read_folder(&mut self, dir: &Path) -> io::Result<()> {
        let path = dir.join("runs.parquet");
        if !path.is_file() {
            return Ok(());
        }
        let runs = parquet::read(&path)?;
        let text = |t: &Table, name: &str| match t.column(name).map(|c| &c.data) {
            Some(Data::Text(v)) => v.clone(),
            _ => Vec::new(),
        };
        let count = |t: &Table, name: &str| match t.column(name).map(|c| &c.data) {
            Some(Data::Count(v)) => v.clone(),
            _ => Vec::new(),
        };
        let (keys, status, message) = (text(&runs, "key"), text(&runs, "status"), text(&runs, "message"));
        let (hops, events) = (count(&runs, "packet_hops"), count(&runs, "events"));
        let mut found: HashMap<Arc<str>, RunTables> = HashMap::new();
        for (i, k) in keys.iter().enumerate() {
            // Failed runs are tried again.
            if status.get(i).is_some_and(|s| &**s == "done") {
                let tables = NAMES
                    .iter()
                    .map(|n| Table {
                        name: n.to_string(),
                        columns: vec![],
                    })
                    .collect();
                let (packet_hops, events) = (hops.get(i).copied().unwrap_or(0), events.get(i).copied().unwrap_or(0));
                found.insert(
                    k.clone(),
                    RunTables {
                        status: Status::Done,
                        packet_hops,
                        events,
                        tables,
                    },
                );
            }
        }
        let _ = message;
        for (n, name) in NAMES.iter().enumerate() {
            let path = dir.join(format!("{name}.parquet"));
            if !path.is_file() {
                continue;
            }
            let table = parquet::read(&path)?;
            let keys = text(&table, "key");
            let own: Vec<Column> = table
                .columns
                .iter()
                .skip_while(|c| c.name != "key")
                .skip(1)
                .cloned()
                .collect();
            let mut from = 0;
            while from < keys.len() {
                let mut to = from;
                while to < keys.len() && keys[to] == keys[from] {
                    to += 1;
                }
                if let Some(r) = found.get_mut(&keys[from]) {
                    let columns = own
                        .iter()
                        .map(|c| Column {
                            data: slice(&c.data, from, to),
                            ..c.clone()
                        })
                        .collect();
                    r.tables[n].append(Table {
                        name: name.to_string(),
                        columns,
                    });
                }
                from = to;
            }
            // Runs without rows in this table still need its columns.
            for r in found.values_mut() {
                if r.tables[n].columns.is_empty() {
                    r.tables[n].columns = own
                        .iter()
                        .map(|c| Column {
                            data: slice(&c.data, 0, 0),
                            ..c.clone()
                        })
                        .collect();
                }
            }
        }
        self.known.extend(found.into_iter().map(|(k, v)| (k.to_string(), v)));
        Ok(())
    }

    pub fn take_known(&mut self) -> HashMap<String, RunTables> {
        std::mem::take(&mut self.known)
    }

    /// Store some finished runs.
    ///
    /// # Errors
    /// Of the file system; nothing stored before is lost.
    pub fn add_chunk(&mut self, runs: &[(String, RunTables)]) -> io::Result<()> {
        let dir = self.dir.join("chunks");
        std::fs::create_dir_all(&dir)?;
        let (partial, whole) = (
            dir.join(format!("{:06}.partial", self.chunks)),
            dir.join(format!("{:06}", self.chunks)),
        );
        std::fs::create_dir_all(&partial)?;
        let write = || -> io::Result<()> {
            let mut list = Table::new("runs", &RUNS);
            for (key, r) in runs {
                list.row(r.runs_row(key));
            }
            for (n, name) in NAMES.iter().enumerate() {
                let keyed = runs.iter().filter(|(_, r)| !r.tables.is_empty()).map(|(key, r)| {
                    let mut t = r.tables[n].clone();
                    t.prefix("key", "hash of scenario, seed, version and build", key.as_str().into());
                    Ok(t)
                });
                parquet::write(&partial.join(format!("{name}.parquet")), &mut { keyed })?;
            }
            parquet::write(&partial.join("runs.parquet"), &mut [Ok(list)].into_iter())?;
            std::fs::rename(&partial, &whole)
        };
        let done = write();
        if done.is_err() {
            let _ = std::fs::remove_dir_all(&partial);
        }
        self.chunks += 1;
        done
    }

    /// Write the complete tables, and remove the chunks they were made of.
    ///
    /// # Errors
    /// Of the file system; the chunks then stay.
    pub fn finish(self, tables: &[Table]) -> io::Result<()> {
        for t in tables {
            parquet::write(
                &self.dir.join(format!("{}.parquet", t.name)),
                &mut [Ok(t.clone())].into_iter(),
            )?;
        }
        let chunks = self.dir.join("chunks");
        if chunks.is_dir() {
            std::fs::remove_dir_all(chunks)?;
        }
        Ok(())
    }
}

fn slice(d: &Data, from: usize, to: usize) -> Data {
    match d {
        Data::Count(v) => Data::Count(v[from..to].to_vec()),
        Data::Real(v) => Data::Real(v[from..to].to_vec()),
        Data::Text(v) => Data::Text(v[from..to].to_vec()),
    }
}

/// The plan's tables, rows in plan order: `runs` first, then [`NAMES`]. Every row starts with its run, replication, seed,
/// labels and key.
pub fn assemble(plan: &Plan, known: &HashMap<String, RunTables>) -> Vec<Table> {
    let labels = plan.label_names();
    let mut all: Vec<Table> = std::iter::once("runs")
        .chain(NAMES)
        .map(|n| Table {
            name: n.to_string(),
            columns: vec![],
        })
        .collect();
    // Put what distinguishes a run in front of its table.
    let framed = |n: usize, table: &Table, i: usize, r: &Run| {
        let mut t = table.clone();
        if n > 0 {
            t.prefix(
                "key",
                "hash of scenario, seed, version and build",
                r.key.as_str().into(),
            );
        }
        for name in labels.iter().rev() {
            t.prefix(name, "what is varied", plan.label(r.point, name).into());
        }
        t.prefix("seed", "the run's seed", r.seed.into());
        t.prefix("replication", "which repetition of the point", r.replication.into());
        t.prefix("run", "position in the plan", (i as u64).into());
        t
    };
    for (i, r) in plan.runs.iter().enumerate() {
        let Some(result) = known.get(&r.key) else { continue };
        let mut own = Table::new("runs", &RUNS);
        own.row(result.runs_row(&r.key));
        for (n, table) in std::iter::once(&own).chain(&result.tables).enumerate() {
            all[n].append(framed(n, table, i, r));
        }
    }
    // Where no run has been done, the tables are empty but have their columns.
    let declared = std::iter::once(Table::new("runs", &RUNS)).chain(Outcome::empty().tables);
    if let Some(r) = plan.runs.first() {
        for (n, (t, empty)) in all.iter_mut().zip(declared).enumerate() {
            if t.columns.is_empty() {
                *t = framed(n, &empty, 0, r);
            }
        }
    }
    all
}
