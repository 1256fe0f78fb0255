//! The tables of one run.

use super::{
    Table, completions, datagrams, flows, frames, groups, intervals, link_intervals, links, log, losses, pages, series,
    transfers,
};
use crate::sim::flow::{Flow, Snapshot};
use crate::sim::names::PortNames;
use crate::sim::route::Router;
use crate::sim::transfers::TransferRow;
use crate::sim::{EngineCounters, Sim};
use crate::traffic::application::{Page, Transfer};
use crate::wire::port::Port;
use std::ops::Index;
use std::sync::Arc;
use tailback_base::Time;
use tailback_base::counters::Counter;
use tailback_base::rng::digits;
use tailback_base::work::counted_as;

/// Every table of a run, in the order they are shown: a new one is its file and a row here.
static TABLES: &[(fn(&Reading) -> Table, Filled)] = &[
    (flows::read, Filled::Usually),
    (groups::read, Filled::Usually),
    (links::read, Filled::Usually),
    (losses::read, Filled::Usually),
    (intervals::read, Filled::Usually),
    (link_intervals::read, Filled::Seldom),
    (series::read, Filled::Usually),
    (log::read, Filled::Usually),
    (transfers::read, Filled::Seldom),
    (pages::read, Filled::Seldom),
    (completions::read, Filled::Seldom),
    (datagrams::read, Filled::Seldom),
    (frames::read, Filled::Seldom),
];

/// Whether most scenarios have rows for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filled {
    Usually,
    /// A folder of results has a file of it only where it has rows.
    Seldom,
}

/// Everything a run gives back.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub tables: Vec<Table>,
    pub engine: EngineCounters,
}

/// A table by its name; panics on a name that no table has.
impl Index<&str> for Outcome {
    type Output = Table;

    fn index(&self, name: &str) -> &Table {
        let found = self.tables.iter().find(|t| t.name == name);
        found.unwrap_or_else(|| panic!("there is no table \"{name}\""))
    }
}

/// What the outcome needs to know beside the simulator's state.
pub struct Frame<'a> {
    pub port_names: &'a PortNames,
    /// Ports that are reported, in order.
    pub reported: &'a [u32],
    pub groups: &'a [String],
    /// Start of the measured time.
    pub from: Time,
    pub to: Time,
}

/// A simulator that has run to its end, as the tables read it.
pub struct Reading<'a> {
    pub(crate) sim: &'a Sim,
    pub(crate) frame: &'a Frame<'a>,
    groups: Vec<Arc<str>>,
    /// Of each row: the flow's name.
    ids: Vec<Arc<str>>,
    /// Of each row: what it counted in the measured time.
    counted: Vec<Snapshot>,
}

impl Reading<'_> {
    /// The measured time.
    pub fn seconds(&self) -> f64 {
        (self.frame.to - self.frame.from).seconds()
    }

    pub fn to(&self) -> Time {
        self.frame.to
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    pub fn group(&self, i: u32) -> Arc<str> {
        self.groups[i as usize].clone()
    }

    /// The flow's name: its group and number.
    pub fn id(&self, i: usize) -> Arc<str> {
        self.ids[i].clone()
    }

    /// The flows that the scenario made, with their numbers.
    pub fn declared(&self) -> impl ExactSizeIterator<Item = (usize, &Flow)> {
        counted_as(16, &self.sim.flows.all[..self.ids.len()]).enumerate()
    }

    /// What a flow counted in the measured time.
    pub fn counted(&self, i: usize) -> &Snapshot {
        &self.counted[i]
    }

    /// The transfers asked for in the measured time, with the row of the member each belongs to.
    pub fn transfers(&self) -> impl Iterator<Item = (&Flow, Transfer)> {
        let measured = |r: &&TransferRow| r.transfer.asked >= self.frame.from;
        let rows = self.sim.apps.transfers.iter().filter(measured);
        rows.map(|r| (&self.sim.flows.all[r.member as usize], r.transfer))
    }

    /// The pages asked for in the measured time, with the row of the member each belongs to.
    pub fn pages(&self) -> impl Iterator<Item = (&Flow, Page)> {
        let measured = self.sim.apps.pages.iter().filter(|r| r.page.asked >= self.frame.from);
        measured.map(|r| (&self.sim.flows.all[r.member as usize], r.page))
    }

    /// The ports that are reported, with their names.
    pub fn reported(&self) -> impl Iterator<Item = (Arc<str>, &Port)> {
        let named = |p: &u32| {
            let name: Arc<str> = self.frame.port_names.of(*p).into();
            (name, &self.sim.net.ports[*p as usize])
        };
        self.frame.reported.iter().map(named)
    }
}

/// Writes the names of flows, a flow's group and number, into one place before they are kept.
pub(super) struct FlowNames<'a> {
    groups: &'a [String],
    text: String,
}

impl<'a> FlowNames<'a> {
    pub fn of(groups: &'a [String]) -> FlowNames<'a> {
        let text = String::new();
        FlowNames { groups, text }
    }

    pub fn name(&mut self, f: &Flow) -> Arc<str> {
        self.text.clear();
        self.text.push_str(&self.groups[f.group as usize]);
        self.text.push('.');
        self.text.extend(digits(f.index).map(char::from));
        Arc::from(self.text.as_str())
    }
}

impl Outcome {
    /// Each table without rows, and whether most scenarios fill it.
    pub fn declared() -> impl Iterator<Item = (Table, Filled)> {
        Outcome::empty().tables.into_iter().zip(TABLES.iter().map(|t| t.1))
    }

    /// The tables of a run of nothing: their columns, without rows.
    pub fn empty() -> Outcome {
        let frame = Frame {
            port_names: &PortNames::default(),
            reported: &[],
            groups: &[],
            from: Time::ZERO,
            to: Time::ZERO,
        };
        Outcome::read(&Sim::new(Router::default()), &frame)
    }

    /// Read a simulator that has run to `frame.to`.
    pub fn read(sim: &Sim, frame: &Frame) -> Outcome {
        let groups = frame.groups.iter().map(|g| g.as_str().into()).collect();
        let mut counted = sim.snapshots(frame.to);
        for (total, before) in counted_as(32, &mut counted).zip(&sim.watch.baseline) {
            *total = total.since(before);
        }
        let mut names = FlowNames::of(frame.groups);
        let rows = counted_as(16, &sim.flows.all[..sim.declared()]);
        let reading = Reading {
            sim,
            frame,
            groups,
            ids: rows.map(|f| names.name(f)).collect(),
            counted,
        };
        Outcome {
            tables: TABLES.iter().map(|(read, _)| read(&reading)).collect(),
            engine: sim.counters(),
        }
    }
}
