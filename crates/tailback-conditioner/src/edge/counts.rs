//! The values of an edge's probes: counts of its actions by stage, and the sizes of its tables.

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

/// The present and past number of flows in a table.
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

/// The counts of packets of one aggregate since the start.
#[derive(Clone, Copy, Default)]
struct Tally {
    asked: [u64; 3],
    /// Packets let through, by the colour after all stages.
    marked: [u64; 3],
    changed: [u64; STAGES],
}

/// The counts of packets since the start.
#[derive(Clone, Default)]
pub struct Counts {
    /// All packets, by the colour that the marker chose.
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

    /// One of the values of all aggregates, which are listed one aggregate after the other; NaN after the last value.
    pub fn of_aggregate(&self, what: Counted, index: usize) -> f64 {
        let per_aggregate = match what {
            Counted::Changed => STAGES,
            Counted::Asked | Counted::Marked => Colour::ALL.len(),
        };
        let i = index % per_aggregate;
        let tally = self.by_aggregate.values().nth(index / per_aggregate);
        tally.map_or(f64::NAN, |t| match what {
            Counted::Asked => t.asked[i] as f64,
            Counted::Marked => t.marked[i] as f64,
            Counted::Changed => t.changed[i] as f64,
        })
    }

    pub fn skip(&mut self, stage: Stage) {
        self.not_applicable[stage as usize] += 1;
    }
}

/// A probe of the edge itself. The probes of its marker follow these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeProbe {
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
    /// The counts of packets of each aggregate.
    Aggregate(Counted),
}

/// The counts of an aggregate's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Packets by the colour that the marker chose.
    Asked,
    /// Packets by the colour with which they leave.
    Marked,
    /// Packets by the stage that gave them another colour or dropped them.
    Changed,
}

const BY_STAGE: &str = "stage";

/// Each probe and its declaration.
pub const PROBES: [(EdgeProbe, ProbeDef); 19] = [
    (
        EdgeProbe::Asked,
        probe(
            "asked",
            "packets",
            "Packets by the colour that the marker requested: green, yellow, red.",
            "colour",
        ),
    ),
    (
        EdgeProbe::Changed,
        probe(
            "changed",
            "packets",
            "Packets that a stage dropped or gave another colour. The stages are syn, small-window, cwr, spacing, \
             feedback, policer, adaptive.",
            BY_STAGE,
        ),
    ),
    (
        EdgeProbe::NotApplicable,
        probe(
            "not_applicable",
            "packets",
            "Packets to which a stage could not be applied, because there are no ACKs here or the stage has no free \
             entry for the flow.",
            BY_STAGE,
        ),
    ),
    (
        EdgeProbe::Flows,
        probe("flows", "flows", "Flows for which a stage has an entry.", BY_STAGE),
    ),
    (
        EdgeProbe::MostFlows,
        probe(
            "most_flows",
            "flows",
            "The largest number of flow entries that a stage has had.",
            BY_STAGE,
        ),
    ),
    (
        EdgeProbe::RefusedFlows,
        probe(
            "refused_flows",
            "packets",
            "How often a stage had no free entry for a flow.",
            BY_STAGE,
        ),
    ),
    (
        EdgeProbe::EntryBytes,
        probe(
            "entry_bytes",
            "bytes",
            "Memory that a stage uses for one flow; 0 if the stage has no entries for flows.",
            BY_STAGE,
        ),
    ),
    (
        EdgeProbe::PerFlowMode,
        probe(
            "per_flow_mode",
            "1",
            "1 while the stages with entries for flows are in use, else 0.",
            "",
        ),
    ),
    (
        EdgeProbe::ActiveFlows,
        probe(
            "active_flows",
            "flows",
            "Number of flows in the last count of the adaptive stage.",
            "",
        ),
    ),
    (
        EdgeProbe::Rate,
        probe(
            "excess_rate",
            "bit/s",
            "The rate of an aggregate as computed by rtt-aware or target-aware.",
            "aggregate",
        ),
    ),
    (
        EdgeProbe::RoundTrip,
        probe(
            "round_trip",
            "s",
            "The round trip of an aggregate; 0 while it is unknown.",
            "aggregate",
        ),
    ),
    (
        EdgeProbe::LeastRoundTrip,
        probe(
            "least_round_trip",
            "s",
            "The least round trip of the aggregates of all edges; 0 while it is unknown.",
            "",
        ),
    ),
    (
        EdgeProbe::Weight,
        probe(
            "weight",
            "1",
            "The weight q of an aggregate in rtt-aware or target-aware.",
            "aggregate",
        ),
    ),
    (
        EdgeProbe::Drop,
        probe(
            "feedback_drop",
            "1",
            "The drop probability of red packets of an aggregate at this edge.",
            "aggregate",
        ),
    ),
    (
        EdgeProbe::Shaped,
        probe("shaped", "packets", "Packets that wait in the shaper.", ""),
    ),
    (
        EdgeProbe::Window,
        probe(
            "window",
            "segments",
            "The window of a flow as estimated at its last packet; 0 without an estimate. The index is the number of \
             the flow.",
            "flow",
        ),
    ),
    (
        EdgeProbe::Aggregate(Counted::Asked),
        probe(
            "aggregate_asked",
            "packets",
            "Packets of an aggregate by the colour that the marker requested. The index is 3 a plus 0 for green, 1 \
             for yellow or 2 for red. Aggregates a are in the order of the names of their edges.",
            "aggregate and colour",
        ),
    ),
    (
        EdgeProbe::Aggregate(Counted::Marked),
        probe(
            "aggregate_marked",
            "packets",
            "Packets of an aggregate that are let through, by their colour after all stages. The index is that of \
             aggregate_asked.",
            "aggregate and colour",
        ),
    ),
    (
        EdgeProbe::Aggregate(Counted::Changed),
        probe(
            "aggregate_changed",
            "packets",
            "Packets of an aggregate that a stage dropped or gave another colour. The index is 7 a plus the number of \
             the stage.",
            "aggregate and stage",
        ),
    ),
];

const fn probe(name: &'static str, unit: &'static str, doc: &'static str, per: &'static str) -> ProbeDef {
    ProbeDef { name, unit, doc, per }
}

/// The declarations, in the form that a model needs.
pub const PROBE_DEFS: [ProbeDef; PROBES.len()] = {
    let mut defs = [PROBES[0].1; PROBES.len()];
    let mut i = 0;
    while i < PROBES.len() {
        defs[i] = PROBES[i].1;
        i += 1;
    }
    defs
};

/// A stage with a table of flows.
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

/// The value of a probe for a stage with a table of flows.
pub fn remembered(table: &dyn Remembers, probe: EdgeProbe, now: Time) -> f64 {
    let table_counts = table.held();
    match probe {
        EdgeProbe::Flows => table.live(now) as f64,
        EdgeProbe::MostFlows => table_counts.most as f64,
        EdgeProbe::RefusedFlows => table_counts.refused as f64,
        EdgeProbe::EntryBytes => table_counts.entry_bytes as f64,
        _ => f64::NAN,
    }
}
