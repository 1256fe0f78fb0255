//! Keeps finished runs in memory, or stores them in a folder.

use crate::plan::Plan;
use crate::report::RunReport;
use crate::tables::{Assembly, RunTables};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use tailback_scenario::key::Key;
use tailback_sim::results::Table;

/// The way in which an execution ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// Every run of the plan is done, now or in an earlier execution.
    Complete { elapsed_s: f64 },
    /// The caller stopped it.
    Stopped { elapsed_s: f64 },
    /// Storing failed.
    Broken,
}

/// The place of the plan's tables.
#[derive(Clone, Debug)]
pub enum Kept {
    Tables(Vec<Table>),
    /// The tables are in this folder, one Parquet file each.
    Stored(PathBuf),
}

/// Takes finished runs, in any order.
pub trait Keeper {
    /// Whether this run has already been done.
    fn has(&self, key: Key) -> bool;
    /// Files that should hold results but are damaged.
    fn damaged(&self) -> Vec<PathBuf>;
    /// These runs, by position in the plan, will be done.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn start(&mut self, todo: &[usize]) -> io::Result<()>;
    /// A run is done.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn take(&mut self, run: usize, tables: RunTables, cost: RunReport) -> io::Result<()>;
    /// No more runs will come.
    fn end(&mut self, ending: Ending) -> (Kept, io::Result<()>);
    /// The number of stored runs of other plans that were removed.
    fn replaced(&self) -> usize;
}

/// Keeps everything in memory. A run is moved into the plan's tables when this run and all runs before it are done.
pub struct Memory<'a> {
    plan: &'a Plan,
    labels: Vec<String>,
    all: Assembly,
    /// The run that comes next in the tables, by position.
    next: usize,
    /// Runs that wait for an earlier run, and runs that occur again in the plan.
    waiting: HashMap<Key, RunTables>,
    /// The number of times that each run still occurs.
    times: HashMap<Key, usize>,
}

impl<'a> Memory<'a> {
    pub fn new(plan: &'a Plan) -> Memory<'a> {
        let mut times = HashMap::new();
        for r in &plan.runs {
            *times.entry(r.key).or_default() += 1;
        }
        Memory {
            plan,
            labels: plan.label_names(),
            all: Assembly::new(),
            next: 0,
            waiting: HashMap::new(),
            times,
        }
    }

    /// Move the next run into the tables; false if the next run has not come.
    fn advance(&mut self) -> bool {
        let plan = self.plan;
        let Some(key) = plan.runs.get(self.next).map(|r| r.key) else {
            return false;
        };
        let last = self.times.get(&key) == Some(&1);
        let run = match last {
            true => self.waiting.remove(&key),
            // A run that occurs several times is copied, except the last time.
            false => self.waiting.get(&key).cloned(),
        };
        let Some(run) = run else { return false };
        self.all.take(&plan.frame(self.next, &self.labels), run);
        self.skip();
        true
    }

    fn skip(&mut self) {
        if let Some(left) = self.times.get_mut(&self.plan.runs[self.next].key) {
            *left -= 1;
        }
        self.next += 1;
    }
}

impl Keeper for Memory<'_> {
    fn has(&self, _: Key) -> bool {
        false
    }

    fn damaged(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn start(&mut self, _: &[usize]) -> io::Result<()> {
        Ok(())
    }

    fn take(&mut self, run: usize, tables: RunTables, _: RunReport) -> io::Result<()> {
        self.waiting.insert(self.plan.runs[run].key, tables.shrunk());
        while self.advance() {}
        Ok(())
    }

    fn end(&mut self, _: Ending) -> (Kept, io::Result<()>) {
        // Runs that never came have no rows.
        while self.next < self.plan.runs.len() {
            if !self.advance() {
                self.skip();
            }
        }
        let tables = self.plan.tables_of(std::mem::take(&mut self.all), &self.labels);
        (Kept::Tables(tables), Ok(()))
    }

    fn replaced(&self) -> usize {
        0
    }
}
