//! A place where results stand: the tables of a finished plan, or a chunk of them in a folder of its own.
//!
//! Both are Parquet files of the same names, and a list of what is in them with checksums. A chunk's list is its
//! `chunk.json`; that of the finished tables is part of the folder's `manifest.json`.

use crate::plan::tables::{RARE, declared};
use crate::results::Table;
use crate::results::file::{sealed, unsealed};
use crate::results::parquet::{Condition, Layout, read_chunk};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The file in a chunk's folder that says what is in it.
pub const LIST: &str = "chunk.json";

/// What stands in the tables of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The source of the program that made it.
    pub build: String,
    /// The plan it was cut for, and whether it is all of a piece that the plan was cut into.
    pub plan: String,
    pub whole: bool,
    /// Keys of the runs, by chunk.
    pub keys: Vec<Vec<String>>,
    /// Those that failed: their rows say why, and they are run again.
    pub failed: BTreeSet<String>,
    /// What is remembered of each file, by table.
    pub files: Vec<(String, Layout)>,
}

impl Contents {
    pub fn to_json(&self) -> Value {
        let files: serde_json::Map<String, Value> = self
            .files
            .iter()
            .map(|(n, l)| (n.clone(), json!({ "rows": l.rows, "ends": l.ends, "sums": l.sums })))
            .collect();
        sealed(
            "contents",
            &json!({
                "format": 1,
                "build": self.build,
                "plan": self.plan,
                "whole": self.whole,
                "keys": self.keys,
                "failed": self.failed,
                "files": files,
            }),
        )
    }

    /// Nothing when it is damaged, or of another format.
    pub fn from_json(envelope: &Value) -> Option<Contents> {
        let v = unsealed("contents", envelope)?;
        if v.get("format")?.as_u64()? != 1 {
            return None;
        }
        let text = |k: &str| Some(v.get(k)?.as_str()?.to_string());
        let keys = |v: &Value| -> Option<Vec<String>> {
            v.as_array()?.iter().map(|k| Some(k.as_str()?.to_string())).collect()
        };
        let numbers = |v: &Value| -> Option<Vec<u64>> { v.as_array()?.iter().map(Value::as_u64).collect() };
        let layout = |(name, f): (&String, &Value)| -> Option<(String, Layout)> {
            let sums = numbers(f.get("sums")?)?;
            let layout = Layout {
                rows: numbers(f.get("rows")?)?,
                ends: numbers(f.get("ends")?)?,
                sums: sums.into_iter().map(|s| u32::try_from(s).ok()).collect::<Option<_>>()?,
            };
            Some((name.clone(), layout))
        };
        let found = Contents {
            build: text("build")?,
            plan: text("plan")?,
            whole: v.get("whole")?.as_bool()?,
            keys: v.get("keys")?.as_array()?.iter().map(keys).collect::<Option<_>>()?,
            failed: keys(v.get("failed")?)?.into_iter().collect(),
            files: v.get("files")?.as_object()?.iter().map(layout).collect::<Option<_>>()?,
        };
        let fits = |(_, l): &(String, Layout)| {
            let n = found.keys.len();
            l.rows.len() == n && l.ends.len() == n + 1 && l.sums.len() == n + 1
        };
        found.files.iter().all(fits).then_some(found)
    }

    pub fn layout(&self, name: &str) -> Option<&Layout> {
        self.files.iter().find(|(n, _)| n == name).map(|(_, l)| l)
    }
}

/// A place, and what of it is whole.
#[derive(Clone, Debug)]
pub struct Source {
    pub dir: PathBuf,
    pub contents: Contents,
    /// By chunk.
    pub usable: Vec<bool>,
    /// A suffix that some of its files may still have, from a finish that was cut short.
    pub suffix: &'static str,
}

impl Source {
    /// Hold every file against its checksums; `damaged` is told the files that do not fit.
    pub fn check(dir: &Path, contents: Contents, suffix: &'static str, damaged: &mut Vec<PathBuf>) -> Source {
        let mut source = Source {
            dir: dir.to_path_buf(),
            usable: vec![true; contents.keys.len()],
            contents,
            suffix,
        };
        for (name, layout) in &source.contents.files {
            let path = source.path(name);
            match layout.check(&path) {
                Condition::Whole => {}
                Condition::Damaged(chunks) => {
                    chunks.into_iter().for_each(|c| source.usable[c] = false);
                    damaged.push(path);
                }
                Condition::Lost => {
                    source.usable.fill(false);
                    damaged.push(path);
                }
            }
        }
        source
    }

    /// A chunk's folder; nothing when it has no list, or a damaged one.
    pub fn chunk(dir: &Path, damaged: &mut Vec<PathBuf>) -> Option<Source> {
        let list = dir.join(LIST);
        let contents = std::fs::read_to_string(&list)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .and_then(|v| Contents::from_json(&v));
        if contents.is_none() {
            damaged.push(list);
        }
        Some(Source::check(dir, contents?, "", damaged))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        let staged = self.dir.join(format!("{name}.parquet{}", self.suffix));
        if !self.suffix.is_empty() && staged.is_file() {
            return staged;
        }
        self.dir.join(format!("{name}.parquet"))
    }

    /// A chunk's rows of a table.
    ///
    /// # Errors
    /// A table that is not here, or cannot be read.
    pub fn read(&self, name: &str, chunk: usize) -> io::Result<Table> {
        match self.contents.layout(name) {
            Some(layout) => read_chunk(&self.path(name), name, layout, chunk),
            None if RARE.contains(&name) => Ok(without_rows(&self.read("runs", chunk)?, name)),
            None => Err(io::Error::other(format!("{} has no table {name}", self.dir.display()))),
        }
    }

    /// Every run in it, damaged or not.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.contents.keys.iter().flatten()
    }
}

/// A table without rows, with what stands in front of the rows of `runs`.
pub fn without_rows(runs: &Table, name: &str) -> Table {
    let mut t = runs.rows_between(0, 0);
    t.name = name.to_string();
    let key = t.columns.iter().position(|c| c.name == "key").map_or(0, |k| k + 1);
    t.columns.truncate(key);
    let own = declared().iter().find(|d| d.name == name);
    t.columns.extend(own.iter().flat_map(|d| d.columns.clone()));
    t
}
