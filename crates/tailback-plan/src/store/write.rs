//! Writes chunks, and the finished tables; every step may be interrupted.

use super::manifest::{self, Telling};
use super::source::{Contents, LIST, Source};
use super::times::Times;
use super::{Finish, Others, PUBLISH, STAGED, Store, folders, part_folder, shards};
use crate::chunks;
use crate::file::sync_folder;
use crate::parquet::ChunkWriter;
use crate::plan::{Plan, Run};
use crate::report::{RunReport, Status};
use crate::tables::{Assembly, Frame, RunTables, declared, is_rare, names};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use tailback_scenario::key::Key;
use tailback_sim::results::Table;

impl Store {
    /// Write the plan of the next changes into the folder.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn announce(&mut self, plan: &Plan) -> io::Result<()> {
        self.writable()?;
        self.tell(plan, "running", 0.0, &|_| None)
    }

    fn tell(&self, plan: &Plan, status: &str, elapsed_s: f64, run: &dyn Fn(Key) -> Option<Status>) -> io::Result<()> {
        let published = self.published.and_then(|at| self.sources[at].as_ref());
        let tables = published.map(|s| s.contents.tables()).unwrap_or_default();
        let telling = Telling {
            plan,
            status,
            elapsed_s,
            tables: &tables,
            run,
        };
        self.manifest.write(&self.keep.dir.join(manifest::FILE), &telling)
    }

    /// Store some runs in their own folder; `fresh` are the costs of those that were simulated now. `whole` says that
    /// the given runs are all runs of the plan's chunk `number`.
    ///
    /// # Errors
    /// An error of the file system; nothing stored before is lost.
    pub fn add_chunk(
        &mut self,
        plan: &Plan,
        number: usize,
        runs: &[(usize, RunTables)],
        fresh: &[(Key, RunReport)],
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
        let mut assembly = Assembly::new();
        for (f, (_, tables)) in frames.iter().zip(runs) {
            assembly.add(f, tables);
        }
        let contents = Contents {
            build: self.keep.build.clone(),
            plan: self.plan.clone(),
            whole,
            keys: vec![frames.iter().map(|f| f.run.key).collect()],
            failed: failed(frames.iter().zip(runs).map(|(f, (_, t))| (f.run.key, t))),
            files: Vec::new(),
        };
        let tables = assembly.tables(&frames[0]);
        self.write_chunk(&part_folder(&self.keep.dir, part), number, contents, &tables)
    }

    fn write_chunk(&mut self, part: &Path, number: usize, mut contents: Contents, tables: &[Table]) -> io::Result<()> {
        let named = Key::of_all(contents.keys.iter().flatten()).to_string();
        let chunk_path = part.join(folders::chunk_name(number, &named));
        let partial = chunk_path.with_extension("partial");
        std::fs::create_dir_all(&partial)?;
        let mut write = || -> io::Result<()> {
            let mut files = Vec::new();
            // The list comes last, because it lists the other files.
            let filled = |t: &&Table| t.rows() > 0 || !is_rare(&t.name);
            let (list, others): (Vec<&Table>, Vec<&Table>) = tables.iter().filter(filled).partition(|t| t.name == LIST);
            for t in others.into_iter().chain(list) {
                let mut w = ChunkWriter::create(&partial.join(format!("{}.parquet", t.name)))?;
                w.chunk(t)?;
                files.push((t.name.clone(), w));
            }
            contents.close(files)?;
            sync_folder(&partial)?;
            if chunk_path.exists() {
                folders::remove_chunk(&chunk_path)?;
            }
            std::fs::rename(&partial, &chunk_path)?;
            sync_folder(part)
        };
        if let Err(e) = write() {
            let _ = std::fs::remove_dir_all(&partial);
            folders::remove_if_empty(part);
            return Err(e);
        }
        self.broken.retain(|b| *b != chunk_path);
        for s in &mut self.sources {
            if s.as_ref().is_some_and(|s| s.dir == chunk_path) {
                *s = None;
            }
        }
        self.add_source(Source {
            dir: chunk_path,
            usable: vec![true; contents.keys.len()],
            contents,
            suffix: "",
        });
        Ok(())
    }

    /// Write the plan's tables, move them to their places, and remove the files from which they were made. `fresh` are
    /// runs that are in no chunk.
    ///
    /// # Errors
    /// An error of the file system; stored runs stay stored.
    pub fn publish(&mut self, plan: &Plan, fresh: &HashMap<Key, RunTables>, elapsed_s: f64) -> io::Result<()> {
        self.save_others(plan)?;
        let dir = self.keep.dir.clone();
        let staged = |name: &str| dir.join(format!("{name}.parquet{STAGED}"));
        let paths: Vec<PathBuf> = names().map(staged).collect();
        let done = self.stage(plan, fresh, &paths).and_then(|contents| {
            let tables = contents.tables();
            let failed = &contents.failed;
            let telling = Telling {
                plan,
                status: if failed.is_empty() { "done" } else { "failed" },
                elapsed_s,
                tables: &tables,
                run: &|key| {
                    Some(match failed.contains(&key) {
                        true => Status::Failed(String::new()),
                        false => Status::Done,
                    })
                },
            };
            // Each table has been staged, so a file already in its place is an older one.
            if let Some(lost) = tables.iter().map(|n| staged(n)).find(|p| !p.is_file()) {
                return Err(folders::gone(&lost));
            }
            self.manifest.write(&self.keep.dir.join(PUBLISH), &telling)?;
            Ok(contents)
        });
        match done {
            Ok(contents) => {
                folders::settle(&self.keep.dir, &contents.tables())?;
                let source = Source {
                    dir: self.keep.dir.clone(),
                    usable: vec![],
                    contents,
                    suffix: "",
                };
                source.still_there()
            }
            Err(e) => {
                paths.iter().for_each(|p| drop(std::fs::remove_file(p)));
                Err(e)
            }
        }
    }

    /// Write one table after the other, because the metadata of each chunk's columns stays in memory until a file is
    /// complete.
    fn stage(&mut self, plan: &Plan, fresh: &HashMap<Key, RunTables>, paths: &[PathBuf]) -> io::Result<Contents> {
        let labels = plan.label_names();
        let cut = chunks::chunks(plan, &|_| true);
        let mut contents = Contents {
            build: self.keep.build.clone(),
            plan: self.plan.clone(),
            whole: true,
            failed: self.failed_of(plan, fresh),
            ..Contents::default()
        };
        // The list comes last, because it lists the other files.
        let mut tables: Vec<_> = names().zip(paths).enumerate().collect();
        tables.sort_by_key(|(_, (name, _))| *name == LIST);
        for (n, (name, path)) in tables {
            let mut w = ChunkWriter::create(path)?;
            for c in &cut {
                let mut table = plan.frame(c.runs[0], &labels).around(declared()[n].clone());
                for i in &c.runs {
                    let (key, frame) = (plan.runs[*i].key, plan.frame(*i, &labels));
                    let rows = match fresh.get(&key) {
                        Some(run) => frame.rows(n, run),
                        None => Some(self.load_rows(key, n, &frame)?),
                    };
                    if let Some(rows) = rows {
                        table.append(rows);
                    }
                }
                w.chunk(&table)?;
            }
            if is_rare(name) && w.rows() == 0 {
                std::fs::remove_file(path)?;
            } else {
                contents.close(vec![(name.to_string(), w)])?;
            }
        }
        Ok(contents)
    }

    fn failed_of(&self, plan: &Plan, fresh: &HashMap<Key, RunTables>) -> BTreeSet<Key> {
        let failed = |key: &Key| match fresh.get(key) {
            Some(run) => run.status != Status::Done,
            None => self.index.get(key).is_some_and(|p| p.failed),
        };
        plan.runs.iter().map(|r| r.key).filter(failed).collect()
    }

    /// Move runs of other plans that are only in the finished tables into a chunk before those tables are replaced.
    fn save_others(&mut self, plan: &Plan) -> io::Result<()> {
        let Some(at) = self.published.filter(|_| self.keep.others == Others::Beside) else {
            return Ok(());
        };
        let own_keys: HashSet<Key> = plan.runs.iter().map(|r| r.key).collect();
        let Some(source) = self.sources[at].clone() else {
            return Ok(());
        };
        for (chunk_number, keys) in source.contents.keys.iter().enumerate() {
            let other_here = |k: &Key| {
                let here = self.index.get(k).is_some_and(|p| p.source == at);
                here && !own_keys.contains(k)
            };
            let keys: Vec<Key> = keys.iter().copied().filter(other_here).collect();
            if keys.is_empty() {
                continue;
            }
            let tables = super::read::rows_of(&source, chunk_number, &keys)?;
            let contents = Contents {
                build: source.contents.build.clone(),
                plan: source.contents.plan.clone(),
                whole: true,
                failed: keys
                    .iter()
                    .copied()
                    .filter(|k| source.contents.failed.contains(k))
                    .collect(),
                keys: vec![keys],
                files: Vec::new(),
            };
            self.write_chunk(&part_folder(&self.keep.dir, ""), chunk_number, contents, &tables)?;
        }
        Ok(())
    }

    /// Whether the chunks with the runs of a plan still exist.
    ///
    /// # Errors
    /// Names the missing file.
    pub fn still_there(&self, plan: &Plan) -> io::Result<()> {
        let of = |r: &Run| self.index.get(&r.key).map(|p| p.source);
        let used: BTreeSet<usize> = plan.runs.iter().filter_map(of).collect();
        used.into_iter()
            .filter_map(|at| self.sources[at].as_ref())
            .try_for_each(Source::still_there)
    }

    /// Record that the plan is done, if its chunks are its final form.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn conclude(&mut self, plan: &Plan, status: &str, elapsed_s: f64) -> io::Result<()> {
        self.writable()?;
        self.tell(plan, status, elapsed_s, &|key| {
            let p = self.index.get(&key)?;
            Some(if p.failed {
                Status::Failed(String::new())
            } else {
                Status::Done
            })
        })
    }

    /// Remove the chunks that a finished plan no longer needs; returns how many runs of other plans were removed with
    /// them.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn sweep(&mut self, plan: &Plan) -> io::Result<usize> {
        let own_keys: HashSet<Key> = plan.runs.iter().map(|r| r.key).collect();
        let mut removed_keys = BTreeSet::new();
        let mut folders = std::mem::take(&mut self.broken);
        for (source_number, s) in self.sources.iter().enumerate() {
            let Some(s) = s.as_ref().filter(|_| self.published != Some(source_number)) else {
                continue;
            };
            let other_keys = || s.keys().filter(|k| !own_keys.contains(k));
            let stale = self.keep.finish == Finish::Chunks && s.contents.build != self.keep.build;
            let holds_others = other_keys().next().is_some() && self.keep.others == Others::Beside && !stale;
            let in_use = self.keep.finish == Finish::Chunks
                && s.keys()
                    .any(|k| own_keys.contains(k) && self.index.get(k).is_some_and(|p| p.source == source_number));
            if !holds_others && !in_use {
                removed_keys.extend(other_keys().copied());
                folders.push(s.dir.clone());
            }
        }
        for f in folders {
            folders::remove_chunk(&f)?;
            if let Some(part) = f.parent() {
                folders::remove_if_empty(part);
            }
        }
        Times::remove(&self.keep.dir)?;
        shards::sweep(&self.keep.dir)?;
        Ok(removed_keys.len())
    }
}

fn failed<'a>(runs: impl Iterator<Item = (Key, &'a RunTables)>) -> BTreeSet<Key> {
    runs.filter(|(_, t)| t.status != Status::Done).map(|(k, _)| k).collect()
}
