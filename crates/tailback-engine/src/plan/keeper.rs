//! Where finished runs go: they are kept in memory, or stored in a folder.

use crate::plan::tables::RunTables;
use crate::plan::{Key, Plan, RunReport};
use crate::results::Table;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// Every run of the plan is done, now or in an earlier execution.
    Complete { elapsed_s: f64 },
    /// The caller stopped it.
    Stopped { elapsed_s: f64 },
    /// Storing failed.
    Broken,
}

/// Where the plan's tables are.
#[derive(Clone, Debug)]
pub enum Kept {
    Tables(Vec<Table>),
    /// In this folder, one Parquet file each.
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
    /// A folder that cannot be written.
    fn start(&mut self, todo: &[usize]) -> io::Result<()>;
    /// A run is done.
    ///
    /// # Errors
    /// A folder that cannot be written.
    fn take(&mut self, run: usize, tables: RunTables, cost: RunReport) -> io::Result<()>;
    /// No more runs will come.
    fn end(&mut self, ending: Ending) -> (Kept, io::Result<()>);
    /// How many stored runs of other plans were removed.
    fn replaced(&self) -> usize;
}

/// Keeps everything in memory.
pub struct Memory<'a> {
    plan: &'a Plan,
    runs: HashMap<Key, RunTables>,
}

impl<'a> Memory<'a> {
    pub fn new(plan: &'a Plan) -> Memory<'a> {
        Memory {
            plan,
            runs: HashMap::new(),
        }
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
        self.runs.insert(self.plan.runs[run].key, tables);
        Ok(())
    }

    fn end(&mut self, _: Ending) -> (Kept, io::Result<()>) {
        let (plan, runs) = (self.plan, &mut self.runs);
        // A run that occurs several times in the plan is copied, except the last time.
        let mut times: HashMap<Key, usize> = HashMap::new();
        for r in &plan.runs {
            *times.entry(r.key).or_default() += 1;
        }
        let tables = plan.assemble(&mut |i| {
            let key = plan.runs[i].key;
            let left = times.get_mut(&key)?;
            *left -= 1;
            match *left {
                0 => runs.remove(&key),
                _ => runs.get(&key).cloned(),
            }
        });
        (Kept::Tables(tables), Ok(()))
    }

    fn replaced(&self) -> usize {
        0
    }
}
