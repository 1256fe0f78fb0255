//! What an edge has done, by stage, and what it remembers: the values of its probes.

use super::flow_table::FlowTable;
use std::collections::BTreeMap;
use tailback_base::{Colour, ProbeDef, Time};

/// The stages that may change a packet. The number of a stage is its index in the probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Stage {
    Syn,
    SmallWindow,
    Cwr,
    Spacing,
    Feedback,
    Policer,
    Adaptive,
}

pub const STAGES: usize = 7;

/// What a table of flows contains and has contained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    pub most: usize,
    pub refused: u64,
    pub entry_bytes: usize,
}

impl Held {
    pub fn of<T>(table: &FlowTable<T>) -> Held {
        Held {
            most: table.most(),
            refused: table.refused(),
            entry_bytes: FlowTable::<T>::entry_bytes(),
        }
    }
}

/// Packets of one aggregate since the start.
#[derive(Clone, Copy, Default)]
struct Tally {
    asked: [u64; 3],
    /// Packets let through, by the colour after all stages.
    marked: [u64; 3],
    changed: [u64; STAGES],
}

/// Packets since the start.
#[derive(Clone, Default)]
pub struct Counts {
    /// By the colour that the marker asked for.
    pub asked: [u64; 3],
    /// Packets that got another colour or were dropped, by stage.
    pub changed: [u64; STAGES],
    /// Packets to which a stage could not be applied.
    pub not_applicable: [u64; STAGES],
    by_aggregate: BTreeMap<u64, Tally>,
}

impl Counts {
    fn tally(&mut self, aggregate: u64) -> &mut Tally {
        self.by_aggregate.entry(aggregate).or_default()
    }

    pub fn ask(&mut self, aggregate: u64, colour: Colour) {
        self.asked[colour as usize] += 1;
        self.tally(aggregate).asked[colour as usize] += 1;
    }

    pub fn mark(&mut self, aggregate: u64, colour: Colour) {
        self.tally(aggregate).marked[colour as usize] += 1;
    }

    pub fn change(&mut self, aggregate: u64, stage: Stage) {
        self.changed[stage as usize] += 1;
        self.tally(aggregate).changed[stage as usize] += 1;
    }

    /// The values of all aggregates, one aggregate after the other; NaN after the last.
    pub fn of_aggregate(&self, probe: Probe, index: usize) -> f64 {
        let of = |t: &Tally, i: usize| match probe {
            Probe::AggregateAsked => t.asked[i],
            Probe::AggregateMarked => t.marked[i],
            Probe::AggregateChanged => t.changed[i],
            _ => unreachable!("{probe:?} does not count an aggregate's packets"),
        };
        let each = match probe {
            Probe::AggregateChanged => STAGES,
            _ => Colour::ALL.len(),
        };
        let tally = self.by_aggregate.values().nth(index / each);
        tally.map_or(f64::NAN, |t| of(t, index % each) as f64)
    }

    pub fn skip(&mut self, stage: Stage) {
        self.not_applicable[stage as usize] += 1;
    }
}

/// A probe of the edge itself; the probes of its marker follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    Asked,
    Changed,
    NotApplicable,
    Flows,
    MostFlows,
    RefusedFlows,
    EntryBytes,
    PerFlowMode,
    ActiveFlows,
    Rate,
    RoundTrip,
    LeastRoundTrip,
    Weight,
    Drop,
    Shaped,
    Window,
    AggregateAsked,
    AggregateMarked,
    AggregateChanged,
}

const BY_STAGE: &str = "stage";

/// Each probe and its declaration.
pub const PROBES: [(Probe, ProbeDef); 19] = [
    (
        Probe::Asked,
        probe(
            "asked",
            "packets",
            "Packets by the colour the marker asked for: green, yellow, red.",
            "colour",
        ),
    ),
    (
        Probe::Changed,
        probe(
            "changed",
            "packets",
            "Packets that a stage gave another colour or dropped: syn, small-window, cwr, spacing, feedback, policer, \
             adaptive.",
            BY_STAGE,
        ),
    ),
    (
        Probe::NotApplicable,
        probe(
            "not_applicable",
            "packets",
            "Packets to which a stage could not apply: no ACKs here, or no room for the flow.",
            BY_STAGE,
        ),
    ),
    (
        Probe::Flows,
        probe("flows", "flows", "Flows that a stage remembers.", BY_STAGE),
    ),
    (
        Probe::MostFlows,
        probe(
            "most_flows",
            "flows",
            "The most entries of flows a stage has had.",
            BY_STAGE,
        ),
    ),
    (
        Probe::RefusedFlows,
        probe(
            "refused_flows",
            "packets",
            "How often a stage had no room for a flow.",
            BY_STAGE,
        ),
    ),
    (
        Probe::EntryBytes,
        probe(
            "entry_bytes",
            "bytes",
            "Memory of a stage for one flow; 0 if it remembers no flows.",
            BY_STAGE,
        ),
    ),
    (
        Probe::PerFlowMode,
        probe(
            "per_flow_mode",
            "1",
            "1 while the stages that remember flows are in use, else 0.",
            "",
        ),
    ),
    (
        Probe::ActiveFlows,
        probe(
            "active_flows",
            "flows",
            "Flows, as the adaptive stage counted them last.",
            "",
        ),
    ),
    (
        Probe::Rate,
        probe(
            "excess_rate",
            "bit/s",
            "The rate of an aggregate, by rtt-aware or target-aware.",
            "aggregate",
        ),
    ),
    (
        Probe::RoundTrip,
        probe(
            "round_trip",
            "s",
            "The round trip of an aggregate; 0 while not known.",
            "aggregate",
        ),
    ),
    (
        Probe::LeastRoundTrip,
        probe(
            "least_round_trip",
            "s",
            "The least round trip of the aggregates of all edges; 0 while not known.",
            "",
        ),
    ),
    (
        Probe::Weight,
        probe(
            "weight",
            "1",
            "The weight q of an aggregate by rtt-aware or target-aware.",
            "aggregate",
        ),
    ),
    (
        Probe::Drop,
        probe(
            "feedback_drop",
            "1",
            "The probability with which red packets of an aggregate are dropped here.",
            "aggregate",
        ),
    ),
    (
        Probe::Shaped,
        probe("shaped", "packets", "Packets that wait in the shaper.", ""),
    ),
    (
        Probe::Window,
        probe(
            "window",
            "segments",
            "The window of a flow as estimated at its last packet; 0 where there is none. The index is the flow's \
             number.",
            "flow",
        ),
    ),
    (
        Probe::AggregateAsked,
        probe(
            "aggregate_asked",
            "packets",
            "Packets of an aggregate by the colour the marker asked for; index 3 a + 0 green, 1 yellow, 2 red, \
             aggregates a in the \
             order of the names of their edges.",
            "aggregate and colour",
        ),
    ),
    (
        Probe::AggregateMarked,
        probe(
            "aggregate_marked",
            "packets",
            "Packets of an aggregate that are let through, by their colour after all stages; the same index.",
            "aggregate and colour",
        ),
    ),
    (
        Probe::AggregateChanged,
        probe(
            "aggregate_changed",
            "packets",
            "Packets of an aggregate that a stage gave another colour or dropped; index 7 a + the number of the stage.",
            "aggregate and stage",
        ),
    ),
];

const fn probe(name: &'static str, unit: &'static str, doc: &'static str, per: &'static str) -> ProbeDef {
    ProbeDef { name, unit, doc, per }
}

/// The declarations, as a model has them.
pub const PROBE_DEFS: [ProbeDef; PROBES.len()] = {
    let mut defs = [PROBES[0].1; PROBES.len()];
    let mut i = 0;
    while i < PROBES.len() {
        defs[i] = PROBES[i].1;
        i += 1;
    }
    defs
};

/// A stage that remembers flows.
pub trait Remembers {
    fn held(&self) -> Held;
    fn live(&self, now: Time) -> usize;
}

impl<T> Remembers for FlowTable<T> {
    fn held(&self) -> Held {
        Held::of(self)
    }
    fn live(&self, now: Time) -> usize {
        self.len(now)
    }
}

/// The value of a probe for a stage that remembers flows.
pub fn remembered(table: &dyn Remembers, probe: Probe, now: Time) -> f64 {
    let held = table.held();
    match probe {
        Probe::Flows => table.live(now) as f64,
        Probe::MostFlows => held.most as f64,
        Probe::RefusedFlows => held.refused as f64,
        Probe::EntryBytes => held.entry_bytes as f64,
        _ => f64::NAN,
    }
}
