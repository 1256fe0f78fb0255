//! A place with results: the tables of a finished plan, or a chunk of them in its own folder.
//!
//! Both are Parquet files with the same names. The footer of `runs.parquet` lists these files with their checksums, and
//! has its own checksum. The keys of the runs are a column of `runs.parquet`. A place therefore describes itself,
//! whatever happens to other files.

use super::folders::{self, file_of};
use crate::parquet::footer::{self, FooterText};
use crate::parquet::{ChunkWriter, Condition, Layout, OWN, read_chunk, read_columns};
use crate::tables::{declared, is_rare, names};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;
use tailback_sim::results::{Data, Table};

/// The table whose footer has the list.
pub const LIST: &str = "runs";

/// The contents of the tables of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The fingerprint of the program that made the tables.
    pub build: String,
    /// The plan for which the piece was cut, and whether the piece is one complete piece of that plan.
    pub plan: String,
    pub whole: bool,
    /// Keys of the runs, by chunk; empty for a damaged chunk.
    pub keys: Vec<Vec<Key>>,
    /// The runs that failed. Their rows give the reasons, and these runs are run again.
    pub failed: BTreeSet<Key>,
    /// The facts about each file, by table.
    pub files: Vec<(String, Layout)>,
}

/// The list of a place.
pub enum Listed {
    Contents(Contents),
    /// There is no such file, or another program has made it.
    Nothing,
    Damaged,
}

impl Contents {
    /// The list as text, with the layout of the file that will contain it.
    pub fn text(&self, own: &Layout) -> String {
        let own = (LIST.to_string(), own.clone());
        let files: serde_json::Map<String, Value> = std::iter::once(&own)
            .chain(&self.files)
            .map(|(n, l)| (n.clone(), l.to_json()))
            .collect();
        json!({ "format": 1, "build": self.build, "plan": self.plan, "whole": self.whole, "files": files }).to_string()
    }

    /// Close the files of a place, the one with the list last, and record their layouts.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn close(&mut self, files: Vec<(String, ChunkWriter)>) -> io::Result<()> {
        for (name, w) in files {
            let layout = match name == LIST {
                true => w.close_saying(&|own| self.text(own))?,
                false => w.close()?,
            };
            self.files.push((name, layout));
        }
        Ok(())
    }

    /// The list in a file, without the keys.
    pub fn read(path: &Path) -> Listed {
        match footer::read(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Listed::Nothing,
            Ok(FooterText::Nothing) => Listed::Nothing,
            // A separate file, whose footer lists no other files.
            Ok(FooterText::Text { text, .. }) if is_own(&text) => Listed::Nothing,
            Ok(FooterText::Text { text, end, sum }) => match Contents::from_text(&text, end, sum) {
                Some(c) => Listed::Contents(c),
                None => Listed::Damaged,
            },
            Ok(FooterText::Damaged) | Err(_) => Listed::Damaged,
        }
    }

    /// `end` and `sum` are the values that the file's own layout could not contain.
    fn from_text(text: &str, end: u64, sum: u32) -> Option<Contents> {
        let manifest: Value = serde_json::from_str(text).ok()?;
        if manifest.get("format")?.as_u64()? != 1 {
            return None;
        }
        let text = |k: &str| Some(manifest.get(k)?.as_str()?.to_string());
        let layout = |(name, f): (&String, &Value)| -> Option<(String, Layout)> {
            let mut layout = Layout::from_json(f)?;
            if name == LIST {
                layout.ends.push(end);
                layout.sums.push(sum);
            }
            Some((name.clone(), layout))
        };
        let files: Vec<_> = manifest
            .get("files")?
            .as_object()?
            .iter()
            .map(layout)
            .collect::<Option<_>>()?;
        let chunks = files.first()?.1.rows.len();
        let fits = |(_, l): &(String, Layout)| {
            l.rows.len() == chunks && l.ends.len() == chunks + 1 && l.sums.len() == chunks + 1
        };
        files.iter().all(fits).then_some(())?;
        Some(Contents {
            build: text("build")?,
            plan: text("plan")?,
            whole: manifest.get("whole")?.as_bool()?,
            keys: vec![Vec::new(); chunks],
            failed: BTreeSet::new(),
            files,
        })
    }

    /// Names of its tables, in the order in which they are shown.
    pub fn tables(&self) -> Vec<&'static str> {
        names().filter(|n| self.layout(n).is_some()).collect()
    }

    pub fn layout(&self, name: &str) -> Option<&Layout> {
        self.files.iter().find(|(n, _)| n == name).map(|(_, l)| l)
    }
}

fn is_own(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|v| v.get(OWN).is_some())
}

/// A place, and which parts of it are intact.
#[derive(Clone, Debug)]
pub struct Source {
    pub dir: PathBuf,
    pub contents: Contents,
    /// For each chunk, whether it is intact.
    pub usable: Vec<bool>,
    /// A suffix that some of its files may still have, from an interrupted finish.
    pub suffix: &'static str,
}

impl Source {
    /// Compare every file with its checksums; files that do not match are added to `damaged`.
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
        if source.read_keys().is_err() {
            source.usable.fill(false);
            damaged.push(source.path(LIST));
        }
        source
    }

    /// Read the keys of the intact chunks, and which of these runs failed.
    fn read_keys(&mut self) -> io::Result<()> {
        let path = self.path(LIST);
        let Contents {
            keys, failed, files, ..
        } = &mut self.contents;
        let Some((_, layout)) = files.iter().find(|(n, _)| n == LIST) else {
            return Ok(());
        };
        let mut odd = false;
        let take = &mut |chunk: usize, t: Table| {
            let column_texts = |name: &str| match t.column(name).map(|c| &c.data) {
                Some(Data::Text(v)) => v.as_slice(),
                _ => &[],
            };
            for (key, status) in column_texts("key").iter().zip(column_texts("status")) {
                let Some(key) = Key::parse(key) else {
                    odd = true;
                    continue;
                };
                keys[chunk].push(key);
                if **status != *"done" {
                    failed.insert(key);
                }
            }
        };
        read_columns(&path, &["key", "status"], layout, &self.usable, take)?;
        let all = keys.iter().zip(&layout.rows).zip(&self.usable);
        odd |= all.into_iter().any(|((k, n), usable)| *usable && k.len() as u64 != *n);
        if odd {
            return Err(io::Error::other(format!("{} has no keys", path.display())));
        }
        Ok(())
    }

    /// A chunk's folder; `None` if its list is missing or damaged.
    pub fn chunk(dir: &Path, damaged: &mut Vec<PathBuf>) -> Option<Source> {
        let list = file_of(dir, LIST, "");
        match Contents::read(&list) {
            Listed::Contents(contents) => Some(Source::check(dir, contents, "", damaged)),
            Listed::Nothing | Listed::Damaged => {
                damaged.push(list);
                None
            }
        }
    }

    /// Check whether all its files still exist with their original lengths.
    ///
    /// # Errors
    /// Names the first file that does not.
    pub fn still_there(&self) -> io::Result<()> {
        for (name, layout) in &self.contents.files {
            let path = self.path(name);
            if std::fs::metadata(&path).ok().map(|m| m.len()) != layout.ends.last().copied() {
                return Err(folders::gone(&path));
            }
        }
        Ok(())
    }

    /// The path of a table: its final name, or its temporary name as long as it has one.
    pub fn path(&self, name: &str) -> PathBuf {
        file_of(&self.dir, name, self.suffix)
    }

    /// The rows of a chunk in a table.
    ///
    /// # Errors
    /// A table that is missing or cannot be read.
    pub fn read(&self, name: &str, chunk: usize) -> io::Result<Table> {
        match self.contents.layout(name) {
            Some(layout) => read_chunk(&self.path(name), name, layout, chunk),
            None if is_rare(name) => Ok(without_rows(&self.read(LIST, chunk)?, name)),
            None => Err(io::Error::other(format!("{} has no table {name}", self.dir.display()))),
        }
    }

    /// Every run in it that can be read.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.contents.keys.iter().flatten()
    }
}

/// A table without rows, with the columns in front of the rows of `runs`.
pub fn without_rows(runs: &Table, name: &str) -> Table {
    let mut t = runs.rows_between(0, 0);
    t.name = name.to_string();
    let key = t.columns.iter().position(|c| c.name == "key").map_or(0, |k| k + 1);
    t.columns.truncate(key);
    let own = declared().iter().find(|d| d.name == name);
    t.columns.extend(own.iter().flat_map(|d| d.columns.clone()));
    t
}
