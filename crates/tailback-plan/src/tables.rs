//! The tables of a run, and the plan's tables made from them: the values that identify a run are in front of each
//! row.

use crate::plan::{Plan, Run};
use crate::report::Status;
use std::sync::OnceLock;
use tailback_scenario::key::Key;
use tailback_sim::results::outcome::Filled;
use tailback_sim::results::{Cell, ColumnDef, Outcome, Table};

/// The tables of one run, without plan columns, in the order in which they are shown.
#[derive(Clone, Debug)]
pub struct RunTables {
    pub status: Status,
    pub packet_hops: u64,
    pub events: u64,
    pub tables: Vec<Table>,
}

/// A table of each kind, with its columns and no rows: `runs`, and the tables of a run.
pub fn declared() -> &'static [Table] {
    static ALL: OnceLock<Vec<Table>> = OnceLock::new();
    ALL.get_or_init(|| {
        let runs = Table::new("runs", &RUNS);
        std::iter::once(runs).chain(Outcome::empty().tables).collect()
    })
}

/// The names of the tables.
pub fn names() -> impl Iterator<Item = &'static str> {
    declared().iter().map(|t| t.name.as_str())
}

pub static RUNS: [ColumnDef; 5] = [
    ColumnDef::text("key", "hash of scenario, seed, version and source"),
    ColumnDef::text("status", "done or failed"),
    ColumnDef::text("message", "reason for the failure"),
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

    /// Drops the columns of tables without rows, and spare capacity. A plan may keep the tables of thousands of runs.
    pub fn shrunk(mut self) -> RunTables {
        for t in &mut self.tables {
            t.shrink();
        }
        self
    }

    fn runs_row(&self, key: Key) -> [Cell; 5] {
        let (status, message) = match &self.status {
            Status::Done => ("done", ""),
            Status::Failed(why) => ("failed", why.as_str()),
        };
        [
            key.to_string().as_str().into(),
            status.into(),
            message.into(),
            self.packet_hops.into(),
            self.events.into(),
        ]
    }
}

/// Whether most scenarios have no rows for this table. A folder then has a file for it only if there are rows.
pub fn is_rare(name: &str) -> bool {
    static RARE: OnceLock<Vec<String>> = OnceLock::new();
    let seldom = || Outcome::declared().filter(|t| t.1 == Filled::Seldom);
    RARE.get_or_init(|| seldom().map(|t| t.0.name).collect())
        .iter()
        .any(|rare| rare == name)
}

/// The columns in front of a run's rows.
pub struct Frame<'a> {
    /// Position in the plan. Chunks do not have it, because a plan may grow.
    pub position: Option<u64>,
    pub run: &'a Run,
    /// Label columns and the run's values, in order.
    pub labels: Vec<(&'a str, &'a str)>,
}

impl Frame<'_> {
    /// The rows of a run in the table with index `n`; a failed run has rows only in the first table.
    pub fn rows(&self, n: usize, run: &RunTables) -> Option<Table> {
        let Some(n) = n.checked_sub(1) else {
            let mut own = Table::new("runs", &RUNS);
            own.row(run.runs_row(self.run.key));
            return Some(self.around(own));
        };
        Some(self.around(run.tables.get(n)?.clone()))
    }

    /// `runs` has the key in its own columns.
    pub fn around(&self, mut t: Table) -> Table {
        if t.name != "runs" {
            t.prefix("key", RUNS[0].doc, self.run.key.to_string().as_str().into());
        }
        for (name, value) in self.labels.iter().rev() {
            t.prefix((*name).to_string(), "value of the varied parameter", (*value).into());
        }
        t.prefix("seed", "seed of the run", self.run.seed.into());
        t.prefix(
            "replication",
            "number of the repetition of the point",
            self.run.replication.into(),
        );
        if let Some(i) = self.position {
            t.prefix("run", "position of the run in the plan", i.into());
        }
        t
    }
}

/// Tables of several runs, one after the other.
pub struct Assembly {
    tables: Vec<Table>,
}

impl Assembly {
    pub fn new() -> Assembly {
        let empty = |n: &str| Table {
            name: n.to_string(),
            columns: vec![],
        };
        Assembly {
            tables: names().map(empty).collect(),
        }
    }

    pub fn add(&mut self, frame: &Frame, run: &RunTables) {
        for (n, into) in self.tables.iter_mut().enumerate() {
            if let Some(rows) = frame.rows(n, run) {
                into.append(rows);
            }
        }
    }

    /// Add a run that is not needed afterwards, without a copy.
    pub fn take(&mut self, frame: &Frame, mut run: RunTables) {
        let run_tables = std::mem::take(&mut run.tables);
        let (runs, other_tables) = self.tables.split_at_mut(1);
        if let (Some(into), Some(row)) = (runs.first_mut(), frame.rows(0, &run)) {
            into.append(row);
        }
        for (into, rows) in other_tables.iter_mut().zip(run_tables).filter(|(_, t)| t.rows() > 0) {
            into.append(frame.around(rows));
        }
    }

    /// The tables; also those without rows have their columns.
    pub fn tables(mut self, frame: &Frame) -> Vec<Table> {
        for (t, empty) in self.tables.iter_mut().zip(declared()) {
            if t.columns.is_empty() {
                *t = frame.around(empty.clone());
            }
        }
        self.tables
    }
}

impl Default for Assembly {
    fn default() -> Assembly {
        Assembly::new()
    }
}

impl Plan {
    /// The columns in front of run `i` in the plan's tables.
    pub fn frame<'a>(&'a self, i: usize, labels: &'a [String]) -> Frame<'a> {
        let run = &self.runs[i];
        Frame {
            position: Some(i as u64),
            run,
            labels: labels.iter().map(|n| (n.as_str(), self.label(run.point, n))).collect(),
        }
    }

    /// The plan's tables, with rows in plan order, for the runs that are known.
    pub fn assemble(&self, known: &mut dyn FnMut(usize) -> Option<RunTables>) -> Vec<Table> {
        let labels = self.label_names();
        let mut assembly = Assembly::new();
        for i in 0..self.runs.len() {
            if let Some(run) = known(i) {
                assembly.take(&self.frame(i, &labels), run);
            }
        }
        self.tables_of(assembly, &labels)
    }

    /// The tables when all rows have been added. The tables of an empty plan have no columns.
    pub fn tables_of(&self, all: Assembly, labels: &[String]) -> Vec<Table> {
        match self.runs.is_empty() {
            true => all.tables,
            false => all.tables(&self.frame(0, labels)),
        }
    }
}

/// Rows `from` to `to` of a table, with the columns after its key.
pub fn own_rows(t: &Table, from: usize, to: usize) -> Table {
    let own = t.columns.iter().position(|c| c.name == "key").map_or(0, |k| k + 1);
    let mut rows = t.rows_between(from, to);
    rows.columns.drain(..own);
    rows
}
