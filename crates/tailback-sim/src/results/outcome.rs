//! The tables of one run.

use super::column::Called;
use super::media::{datagrams, frames, playout};
use super::{
    Table, completions, delays, flows, group_intervals, groups, intervals, layers, link_intervals, links, log, losses,
    pages, series, slowdowns, transfers,
};
use crate::sim::flow::{Flow, Snapshot};
use crate::sim::ideal::NO_PATH;
use crate::sim::names::PortNames;
use crate::sim::route::Router;
use crate::sim::transfers::TransferRow;
use crate::sim::{EngineCounters, Sim};
use crate::spec::SizeClasses;
use crate::traffic::application::{Page, Transfer};
use crate::wire::port::Port;
use std::ops::Index;
use std::sync::Arc;
use tailback_base::counters::Counter;
use tailback_base::rng::digits;
use tailback_base::work::counted_as;
use tailback_base::{Duration, Time};

/// A table of a run.
pub struct TableRow {
    pub name: &'static str,
    /// The title above it.
    pub title: &'static str,
    pub filled: Filled,
    pub called: fn() -> Vec<Called>,
    read: fn(&Reading) -> Table,
}

macro_rules! row {
    ($file:ident, $filled:ident, $title:literal) => {
        TableRow {
            name: stringify!($file),
            title: $title,
            filled: Filled::$filled,
            called: $file::called,
            read: $file::read,
        }
    };
}

/// Every table of a run, in the order in which they are shown. A new table needs a file and a row here.
pub static TABLES: &[TableRow] = &[
    row!(flows, Usually, "Flows"),
    row!(groups, Usually, "Groups of flows"),
    row!(links, Usually, "Links"),
    row!(layers, Seldom, "Layers of a topology"),
    row!(losses, Usually, "Drops and marks, by place and reason"),
    row!(intervals, Usually, "Flows over time"),
    row!(group_intervals, Seldom, "Groups of flows over time"),
    row!(link_intervals, Seldom, "Links over time"),
    row!(series, Usually, "Recorded series"),
    row!(log, Usually, "Drops and marks, one by one"),
    row!(transfers, Seldom, "Transfers"),
    row!(pages, Seldom, "Pages"),
    row!(completions, Seldom, "Completion times, by size"),
    row!(slowdowns, Seldom, "Slowdown, by size"),
    row!(datagrams, Seldom, "Datagrams"),
    row!(frames, Seldom, "Frames of video"),
    row!(playout, Seldom, "What is heard and seen"),
    row!(delays, Seldom, "How delays are distributed"),
];

/// Whether most scenarios have rows for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filled {
    Usually,
    /// A folder of results has a file for the table only if the table has rows; a folder of an earlier version may lack
    /// it.
    Seldom,
}

/// The complete result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub tables: Vec<Table>,
    pub engine: EngineCounters,
}

/// A table by its name; panics if there is no such table.
impl Index<&str> for Outcome {
    type Output = Table;

    fn index(&self, name: &str) -> &Table {
        let table = self.tables.iter().find(|t| t.name == name);
        table.unwrap_or_else(|| panic!("there is no table \"{name}\""))
    }
}

/// The data that the outcome needs in addition to the simulator's state.
pub struct Frame<'a> {
    pub port_names: &'a PortNames,
    /// The reported ports, in order.
    pub reported: &'a [u32],
    pub groups: &'a [String],
    pub layers: &'a [Layer],
    pub size_classes: &'a SizeClasses,
    /// Start of the measured time.
    pub from: Time,
    pub to: Time,
}

/// The ports of one direction of the links of a layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The name of the links without their numbers, such as `leaf-spine.reverse`.
    pub name: String,
    pub ports: Vec<u32>,
}

/// The time of a transfer and its times on an empty path, seconds.
pub struct Compared {
    pub group: u32,
    pub bytes: u64,
    pub took: Option<f64>,
    pub ideal: f64,
    /// The time with the same sender alone.
    pub alone: Option<f64>,
}

/// A simulator that has run to its end, in the form that the tables read.
pub struct Reading<'a> {
    pub(crate) sim: &'a Sim,
    pub(crate) frame: &'a Frame<'a>,
    groups: Vec<Arc<str>>,
    /// The flow's name, for each row.
    ids: Vec<Arc<str>>,
    /// The counts in the measured time, for each row.
    counted: Vec<Snapshot>,
}

impl Reading<'_> {
    /// The length of the measured time.
    pub fn seconds(&self) -> f64 {
        (self.frame.to - self.frame.from).seconds()
    }

    pub fn to(&self) -> Time {
        self.frame.to
    }

    /// The number of groups.
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

    /// The flows declared in the scenario, with their numbers.
    pub fn declared(&self) -> impl ExactSizeIterator<Item = (usize, &Flow)> {
        counted_as(16, &self.sim.flows.all[..self.ids.len()]).enumerate()
    }

    /// The counts of a flow in the measured time.
    pub fn counted(&self, i: usize) -> &Snapshot {
        &self.counted[i]
    }

    /// The transfers requested in the measured time, each with the row of its member.
    pub fn transfers(&self) -> impl Iterator<Item = (&Flow, Transfer)> {
        let measured = |r: &&TransferRow| r.transfer.asked >= self.frame.from;
        let rows = self.sim.apps.transfers.iter().filter(measured);
        rows.map(|r| (&self.sim.flows.all[r.member as usize], r.transfer))
    }

    /// The transfers of workloads that arrived in the measured time.
    pub fn compared(&self) -> impl Iterator<Item = Compared> {
        let alone = &self.sim.apps.alone.all;
        let measured = |r: &&TransferRow| r.transfer.asked >= self.frame.from && r.path != NO_PATH;
        let rows = self.sim.apps.transfers.iter().filter(measured);
        rows.map(|r| Compared {
            group: self.sim.flows.all[r.member as usize].group,
            bytes: r.transfer.bytes,
            took: r.transfer.done.map(|done| (done - r.transfer.asked).seconds()),
            ideal: r.ideal.seconds(),
            alone: alone
                .get(r.path as usize)
                .and_then(|a| a.time(r.transfer.bytes))
                .map(Duration::seconds),
        })
    }

    /// The pages requested in the measured time, each with the row of its member.
    pub fn pages(&self) -> impl Iterator<Item = (&Flow, Page)> {
        let measured = self.sim.apps.pages.iter().filter(|r| r.page.asked >= self.frame.from);
        measured.map(|r| (&self.sim.flows.all[r.member as usize], r.page))
    }

    pub(super) fn port(&self, number: u32) -> &Port {
        &self.sim.net.ports[number as usize]
    }

    /// The reported ports, with their names.
    pub fn reported(&self) -> impl Iterator<Item = (Arc<str>, &Port)> {
        let named = |p: &u32| {
            let name: Arc<str> = self.frame.port_names.of(*p).into();
            (name, &self.sim.net.ports[*p as usize])
        };
        self.frame.reported.iter().map(named)
    }
}

/// Builds the names of flows (group and number) in one buffer before they are stored.
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
        Outcome::empty().tables.into_iter().zip(TABLES.iter().map(|t| t.filled))
    }

    /// The tables of an empty run: their columns, without rows.
    pub fn empty() -> Outcome {
        let frame = Frame {
            port_names: &PortNames::default(),
            reported: &[],
            groups: &[],
            layers: &[],
            size_classes: &SizeClasses::Deciles,
            from: Time::ZERO,
            to: Time::ZERO,
        };
        Outcome::read(&Sim::new(Router::default()), &frame)
    }

    /// Read the results of a simulator that has run to `frame.to`.
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
            tables: TABLES.iter().map(|t| (t.read)(&reading)).collect(),
            engine: sim.counters(),
        }
    }
}
