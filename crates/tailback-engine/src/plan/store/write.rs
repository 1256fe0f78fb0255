//! Writing chunks, and the finished tables; every step can be cut short.

use super::manifest::{self, Times};
use super::source::{Contents, LIST, Source};
use super::{Finish, Others, PUBLISH, STAGED, Store, part_folder};
use crate::plan::tables::{Assembly, Frame, RARE, RunTables, names};
use crate::plan::{Plan, RunReport, Status, chunks, hash};
use crate::results::Table;
use crate::results::file::{sync_folder, write_text};
use crate::results::parquet::ChunkWriter;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Bring a folder that a kill left into order: what was complete takes its place, what was not goes.
pub fn tidy(dir: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(dir.join(PUBLISH)).ok();
    if text.is_some_and(|t| serde_json::from_str::<serde_json::Value>(&t).is_ok()) {
        settle(dir)?;
    }
    let unfinished = |p: &Path| {
        let e = p.extension().and_then(|e| e.to_str());
        matches!(e, Some("partial" | "old" | "next"))
    };
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(dir)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            parts.push(path);
        } else if unfinished(&path) {
            std::fs::remove_file(path)?;
        }
    }
    for part in parts {
        for entry in std::fs::read_dir(&part)?.flatten() {
            let path = entry.path();
            if unfinished(&path) && path.is_dir() {
                std::fs::remove_dir_all(path)?;
            }
        }
        remove_if_empty(&part);
    }
    Ok(())
}

/// All staged files are complete: give each its place, the manifest last.
fn settle(dir: &Path) -> io::Result<()> {
    let manifest: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(dir.join(PUBLISH))?)?;
    let contents = manifest.get("store").and_then(Contents::from_json).unwrap_or_default();
    for name in names() {
        let (staged, place) = (
            dir.join(format!("{name}.parquet{STAGED}")),
            dir.join(format!("{name}.parquet")),
        );
        if staged.is_file() {
            std::fs::rename(staged, place)?;
        } else if RARE.contains(&name) && contents.layout(name).is_none() && place.is_file() {
            // Of a plan that had rows for it.
            std::fs::remove_file(place)?;
        }
    }
    sync_folder(dir)?;
    std::fs::rename(dir.join(PUBLISH), dir.join(manifest::FILE))?;
    sync_folder(dir)
}

fn remove_if_empty(dir: &Path) {
    // Fails where there is something in it.
    let _ = std::fs::remove_dir(dir);
}

/// Take a folder away: out of sight first, so that nothing half removed is ever taken for whole.
fn remove_chunk(dir: &Path) -> io::Result<()> {
    let old = dir.with_extension("old");
    std::fs::rename(dir, &old)?;
    std::fs::remove_dir_all(old)
}

impl Store {
    /// Say in the folder what is about to be done there.
    ///
    /// # Errors
    /// Of the file system.
    pub fn announce(&mut self, plan: &Plan) -> io::Result<()> {
        self.writable()?;
        let text = self.manifest.text(plan, "running", 0.0, &|_| None);
        self.manifest.write(&self.keep.dir, &text)
    }

    /// Store some runs in a folder of their own; `fresh` are the costs of those that were simulated now. `whole`: they
    /// are all that the plan's chunk `number` has.
    ///
    /// # Errors
    /// Of the file system; nothing stored before is lost.
    pub fn add_chunk(
        &mut self,
        plan: &Plan,
        number: usize,
        runs: &[(usize, RunTables)],
        fresh: &[(String, RunReport)],
        whole: bool,
    ) -> io::Result<()> {
        let Some((first, _)) = runs.first() else {
            return Ok(());
        };
        self.manifest.note(&self.keep.dir, fresh)?;
        let part = &plan.points[plan.runs[*first].point].part;
        let labels = plan.labels_of_part(part);
        let frames: Vec<Frame> = runs
            .iter()
            .map(|(i, _)| Frame {
                position: None,
                ..plan.frame(*i, &labels)
            })
            .collect();
        let mut all = Assembly::new();
        for (f, (_, tables)) in frames.iter().zip(runs) {
            all.add(f, tables);
        }
        let contents = Contents {
            build: self.keep.build.clone(),
            plan: self.plan.clone(),
            whole,
            keys: vec![frames.iter().map(|f| f.run.key.clone()).collect()],
            failed: failed(frames.iter().zip(runs).map(|(f, (_, t))| (&f.run.key, t))),
            files: Vec::new(),
        };
        let tables = all.tables(&frames[0]);
        self.write_chunk(&part_folder(&self.keep.dir, part), number, contents, &tables)
    }

    fn write_chunk(&mut self, part: &Path, number: usize, mut contents: Contents, tables: &[Table]) -> io::Result<()> {
        let named = hash(contents.keys.iter().flatten().flat_map(|k| k.bytes()));
        let at = part.join(format!("{number:06}-{}", &named[..8]));
        let partial = at.with_extension("partial");
        std::fs::create_dir_all(&partial)?;
        let mut write = || -> io::Result<()> {
            for t in tables
                .iter()
                .filter(|t| t.rows() > 0 || !RARE.contains(&t.name.as_str()))
            {
                let mut w = ChunkWriter::create(partial.join(format!("{}.parquet", t.name)))?;
                w.chunk(t)?;
                contents.files.push((t.name.clone(), w.close()?));
            }
            write_text(&partial.join(LIST), &contents.to_json().to_string())?;
            sync_folder(&partial)?;
            if at.exists() {
                remove_chunk(&at)?;
            }
            std::fs::rename(&partial, &at)?;
            sync_folder(part)
        };
        if let Err(e) = write() {
            let _ = std::fs::remove_dir_all(&partial);
            remove_if_empty(part);
            return Err(e);
        }
        self.broken.retain(|b| *b != at);
        for s in &mut self.sources {
            if s.as_ref().is_some_and(|s| s.dir == at) {
                *s = None;
            }
        }
        self.add_source(Source {
            dir: at,
            usable: vec![true; contents.keys.len()],
            contents,
            suffix: "",
        });
        Ok(())
    }

    /// Write the plan's tables, put them in their places, and take away what they were made of. `fresh` are runs that
    /// stand in no chunk.
    ///
    /// # Errors
    /// Of the file system; what was stored then still is.
    pub fn publish(&mut self, plan: &Plan, fresh: &HashMap<String, RunTables>, elapsed_s: f64) -> io::Result<()> {
        self.save_others(plan)?;
        let staged = |name: &str| self.keep.dir.join(format!("{name}.parquet{STAGED}"));
        let paths: Vec<PathBuf> = names().map(staged).collect();
        let done = self.stage(plan, fresh, &paths).and_then(|contents| {
            self.manifest.store = contents.to_json();
            let failed = contents.failed;
            let status = if failed.is_empty() { "done" } else { "failed" };
            let text = self.manifest.text(plan, status, elapsed_s, &|key| {
                Some(match failed.contains(key) {
                    true => Status::Failed(String::new()),
                    false => Status::Done,
                })
            });
            write_text(&self.keep.dir.join(PUBLISH), &text)
        });
        if let Err(e) = done {
            paths.iter().for_each(|p| drop(std::fs::remove_file(p)));
            return Err(e);
        }
        settle(&self.keep.dir)
    }

    fn stage(&mut self, plan: &Plan, fresh: &HashMap<String, RunTables>, paths: &[PathBuf]) -> io::Result<Contents> {
        let mut writers: Vec<ChunkWriter> = paths
            .iter()
            .map(|p| ChunkWriter::create(p.clone()))
            .collect::<io::Result<_>>()?;
        let labels = plan.label_names();
        let mut contents = Contents {
            build: self.keep.build.clone(),
            plan: self.plan.clone(),
            whole: true,
            ..Contents::default()
        };
        for c in chunks::chunks(plan, &|_| true) {
            let mut all = Assembly::new();
            for i in &c.runs {
                let key = &plan.runs[*i].key;
                let stored;
                let run = match fresh.get(key) {
                    Some(run) => run,
                    None => {
                        stored = self.load(key)?;
                        &stored
                    }
                };
                all.add(&plan.frame(*i, &labels), run);
                contents.failed.extend(failed([(key, run)].into_iter()));
            }
            let tables = all.tables(&plan.frame(c.runs[0], &labels));
            for (w, t) in writers.iter_mut().zip(&tables) {
                w.chunk(t)?;
            }
            contents
                .keys
                .push(c.runs.iter().map(|i| plan.runs[*i].key.clone()).collect());
        }
        for ((name, w), path) in names().zip(writers).zip(paths) {
            let layout = w.close()?;
            if RARE.contains(&name) && layout.rows.iter().all(|n| *n == 0) {
                std::fs::remove_file(path)?;
            } else {
                contents.files.push((name.to_string(), layout));
            }
        }
        Ok(contents)
    }

    /// Runs of other plans that only the finished tables hold move into a chunk before those tables are replaced.
    fn save_others(&mut self, plan: &Plan) -> io::Result<()> {
        let Some(at) = self.published.filter(|_| self.keep.others == Others::Beside) else {
            return Ok(());
        };
        let own: HashSet<&str> = plan.runs.iter().map(|r| r.key.as_str()).collect();
        let Some(source) = self.sources[at].clone() else {
            return Ok(());
        };
        for (number, keys) in source.contents.keys.iter().enumerate() {
            let others = |k: &&String| {
                let here = self.index.get(*k).is_some_and(|p| p.source == at);
                here && !own.contains(k.as_str())
            };
            let keys: Vec<String> = keys.iter().filter(others).cloned().collect();
            if keys.is_empty() {
                continue;
            }
            let tables = super::read::rows_of(&source, number, &keys)?;
            let contents = Contents {
                build: source.contents.build.clone(),
                plan: source.contents.plan.clone(),
                whole: true,
                failed: keys
                    .iter()
                    .filter(|k| source.contents.failed.contains(*k))
                    .cloned()
                    .collect(),
                keys: vec![keys],
                files: Vec::new(),
            };
            self.write_chunk(&part_folder(&self.keep.dir, ""), number, contents, &tables)?;
        }
        Ok(())
    }

    /// Say that the plan is done, where its chunks are its last state.
    ///
    /// # Errors
    /// Of the file system.
    pub fn conclude(&mut self, plan: &Plan, status: &str, elapsed_s: f64) -> io::Result<()> {
        self.writable()?;
        let text = self.manifest.text(plan, status, elapsed_s, &|key| {
            let p = self.index.get(key)?;
            Some(if p.failed {
                Status::Failed(String::new())
            } else {
                Status::Done
            })
        });
        self.manifest.write(&self.keep.dir, &text)
    }

    /// Take away the chunks that a finished plan has no more use for; how many runs of other plans went with them.
    ///
    /// # Errors
    /// Of the file system.
    pub fn sweep(&mut self, plan: &Plan) -> io::Result<usize> {
        let own: HashSet<&str> = plan.runs.iter().map(|r| r.key.as_str()).collect();
        let mut gone = BTreeSet::new();
        let mut folders = std::mem::take(&mut self.broken);
        for (at, s) in self.sources.iter().enumerate() {
            let Some(s) = s.as_ref().filter(|_| self.published != Some(at)) else {
                continue;
            };
            let others = || s.keys().filter(|k| !own.contains(k.as_str()));
            let stale = self.keep.finish == Finish::Chunks && s.contents.build != self.keep.build;
            let holds_others = others().next().is_some() && self.keep.others == Others::Beside && !stale;
            let in_use = self.keep.finish == Finish::Chunks
                && s.keys()
                    .any(|k| own.contains(k.as_str()) && self.index.get(k).is_some_and(|p| p.source == at));
            if !holds_others && !in_use {
                gone.extend(others().cloned());
                folders.push(s.dir.clone());
            }
        }
        for f in folders {
            remove_chunk(&f)?;
            if let Some(part) = f.parent() {
                remove_if_empty(part);
            }
        }
        Times::remove(&self.keep.dir)?;
        Ok(gone.len())
    }
}

fn failed<'a>(runs: impl Iterator<Item = (&'a String, &'a RunTables)>) -> BTreeSet<String> {
    runs.filter(|(_, t)| t.status != Status::Done)
        .map(|(k, _)| k.clone())
        .collect()
}
