//! Stores the runs that a plan's workers finish: they are collected until their chunk is complete, and then written.

use super::{Finish, Keep, Store};
use crate::chunks::{Chunk, chunks};
use crate::keeper::{Ending, Keeper, Kept};
use crate::plan::Plan;
use crate::report::RunReport;
use crate::tables::RunTables;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use tailback_scenario::key::Key;

pub struct Filing<'a> {
    plan: &'a Plan,
    store: Store,
    chunks: Vec<Chunk>,
    /// The chunk of each run, by position in the plan; `None` for a run that is already stored in its final place.
    chunk_of: Vec<Option<u32>>,
    /// The number of unfinished runs of each chunk.
    missing: Vec<usize>,
    /// Finished runs of incomplete chunks.
    open: BTreeMap<usize, (RunTables, RunReport)>,
    /// The plan is one chunk and the folder was empty: its tables can be written at once without losing anything.
    at_once: bool,
    replaced: usize,
}

impl<'a> Filing<'a> {
    /// # Errors
    /// The errors are those of [`Store::open`].
    pub fn open(keep: Keep, plan: &'a Plan) -> io::Result<Filing<'a>> {
        let store = Store::open(keep, plan)?;
        let mut seen = HashSet::new();
        let first: Vec<bool> = plan.runs.iter().map(|r| seen.insert(r.key)).collect();
        let chunks = chunks(plan, &|i| first[i] && !store.settled(plan.runs[i].key));
        let mut chunk_of = vec![None; plan.runs.len()];
        for (n, c) in chunks.iter().enumerate() {
            c.runs.iter().for_each(|i| chunk_of[*i] = u32::try_from(n).ok());
        }
        Ok(Filing {
            plan,
            chunk_of,
            missing: vec![0; chunks.len()],
            at_once: store.keep.finish == Finish::Tables && store.is_empty() && chunks.len() <= 1,
            chunks,
            store,
            open: BTreeMap::new(),
            replaced: 0,
        })
    }

    /// Store the finished runs of a chunk; this is the whole chunk if no run is missing.
    fn close(&mut self, chunk: usize) -> io::Result<()> {
        let is_whole = self.missing[chunk] == 0;
        let mut runs = Vec::new();
        let mut fresh = Vec::new();
        for i in self.chunks[chunk].runs.clone() {
            let key = self.plan.runs[i].key;
            if let Some((tables, cost)) = self.open.remove(&i) {
                fresh.push((key, cost));
                runs.push((i, tables));
            } else if is_whole {
                runs.push((i, self.store.load(key)?));
            }
        }
        self.store.add_chunk(self.plan, chunk, &runs, &fresh, is_whole)
    }

    /// Join chunks that are stored in pieces and of which no run had to be simulated.
    fn gather(&mut self) -> io::Result<()> {
        for n in 0..self.chunks.len() {
            let keys = self.chunks[n].runs.iter().map(|i| self.plan.runs[*i].key);
            if !self.store.is_one_chunk(keys) {
                self.close(n)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, elapsed_s: f64) -> io::Result<()> {
        match self.store.keep.finish {
            Finish::Chunks => {
                self.gather()?;
                self.store.still_there(self.plan)?;
                self.store.conclude(self.plan, "done", elapsed_s)?;
            }
            Finish::Tables if self.store.is_published() => {
                self.store.still_there(self.plan)?;
                self.store.conclude(self.plan, "done", elapsed_s)?;
            }
            Finish::Tables => {
                let mut fresh = HashMap::new();
                let mut costs = Vec::new();
                for (i, (tables, cost)) in std::mem::take(&mut self.open) {
                    costs.push((self.plan.runs[i].key, cost));
                    fresh.insert(self.plan.runs[i].key, tables);
                }
                self.store.manifest.remember(&costs);
                let done = self.store.publish(self.plan, &fresh, elapsed_s);
                if done.is_err() {
                    // The computed results can still be shown.
                    let back = costs.into_iter().zip(self.positions(&fresh));
                    self.open = back
                        .filter_map(|((k, c), i)| Some((i, (fresh.remove(&k)?, c))))
                        .collect();
                }
                done?;
            }
        }
        self.replaced = self.store.sweep(self.plan)?;
        Ok(())
    }

    fn positions(&self, of: &HashMap<Key, RunTables>) -> Vec<usize> {
        let mut first = HashMap::new();
        for (i, r) in self.plan.runs.iter().enumerate() {
            first.entry(r.key).or_insert(i);
        }
        let mut all: Vec<usize> = of.keys().filter_map(|k| first.get(k).copied()).collect();
        all.sort_unstable();
        all
    }
}

impl Keeper for Filing<'_> {
    fn has(&self, key: Key) -> bool {
        self.store.has(key)
    }

    fn damaged(&self) -> Vec<PathBuf> {
        self.store.damaged().to_vec()
    }

    fn start(&mut self, todo: &[usize]) -> io::Result<()> {
        for i in todo {
            if let Some(c) = self.chunk_of[*i] {
                self.missing[c as usize] += 1;
            }
        }
        if todo.is_empty() {
            return Ok(());
        }
        self.store.announce(self.plan)
    }

    fn take(&mut self, run: usize, tables: RunTables, cost: RunReport) -> io::Result<()> {
        self.open.insert(run, (tables, cost));
        let Some(chunk) = self.chunk_of[run].map(|c| c as usize) else {
            return Ok(());
        };
        self.missing[chunk] -= 1;
        if self.missing[chunk] == 0 && !self.at_once {
            self.close(chunk)?;
        }
        Ok(())
    }

    fn end(&mut self, ending: Ending) -> (Kept, io::Result<()>) {
        let done = match ending {
            Ending::Complete { elapsed_s } => self.finish(elapsed_s),
            Ending::Stopped { elapsed_s } => {
                let open: Vec<usize> = (0..self.chunks.len()).filter(|c| self.missing[*c] > 0).collect();
                open.into_iter()
                    .try_for_each(|c| self.close(c))
                    .and_then(|()| self.store.conclude(self.plan, "interrupted", elapsed_s))
            }
            // The folder cannot be written; everything that could be stored is stored.
            Ending::Broken => Ok(()),
        };
        let complete = matches!(ending, Ending::Complete { .. }) && done.is_ok();
        let kept_tables = if complete && self.store.keep.finish == Finish::Tables && !self.plan.runs.is_empty() {
            Kept::Stored(self.store.keep.dir.clone())
        } else if complete {
            Kept::Tables(Vec::new())
        } else {
            let (plan, open, store) = (self.plan, &self.open, &mut self.store);
            Kept::Tables(plan.assemble(&mut |i| match open.get(&i) {
                Some((tables, _)) => Some(tables.clone()),
                None => store.load(plan.runs[i].key).ok(),
            }))
        };
        (kept_tables, done)
    }

    fn replaced(&self) -> usize {
        self.replaced
    }
}
