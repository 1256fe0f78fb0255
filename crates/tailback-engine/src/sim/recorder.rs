//! Recording: time series of probes, and the log of drops and marks.
//!
//! Nothing here is touched in a run that records nothing. A series is sampled at a step, or takes a point whenever the
//! value differs from the last one after an event that may have changed it; several changes inside one event show as
//! one.

use crate::traffic::application::Side;
use tailback_base::Time;
use tailback_base::work::counted;
use tailback_queue::{DropReason, MarkReason, Place};

/// What a series reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// Packets waiting at a port.
    Queue(u32),
    QueueBytes(u32),
    /// Bytes the port has delivered since the start of statistics.
    PortDelivered(u32),
    /// What so many percent of packets have not waited longer than at a port, since the start of statistics.
    Sojourn {
        port: u32,
        percent: u32,
    },
    /// A probe of the port's discipline.
    Discipline {
        port: u32,
        probe: u16,
        index: u32,
    },
    /// A probe of the endpoint at one side of a flow.
    Endpoint {
        flow: u32,
        side: Side,
        probe: u16,
    },
    /// A probe of an edge's conditioner.
    Edge {
        edge: u32,
        probe: u16,
        index: u32,
    },
    /// Packets an edge has let through in a colour, the index.
    EdgeSent {
        edge: u32,
        index: u32,
    },
    /// New payload that one side of a flow has got across, bytes.
    Delivered {
        flow: u32,
        by: Side,
    },
    /// Nothing of the simulator: the points came from outside.
    Outside,
}

/// So many values of a sample are always written; beyond them those that are not 0, so that what a million queues may
/// hold does not count, but what they do.
pub const ALWAYS: u32 = 4096;

/// Whether a value at an index has a row of its own.
pub fn is_written(index: u32, value: f64) -> bool {
    index < ALWAYS || value != 0.0
}

/// The index of a source that is read at every index.
pub const ALL: u32 = u32::MAX;

impl Source {
    /// Whether a sample has a value for each index.
    pub fn is_indexed(self) -> bool {
        matches!(
            self,
            Source::Discipline { index: ALL, .. }
                | Source::Edge { index: ALL, .. }
                | Source::EdgeSent { index: ALL, .. }
                | Source::Sojourn { percent: ALL, .. }
        )
    }

    /// The source at one index, where it has several.
    #[must_use]
    pub fn at(self, at: u32) -> Source {
        let mut one = self;
        match &mut one {
            Source::Discipline { index, .. }
            | Source::Edge { index, .. }
            | Source::EdgeSent { index, .. }
            | Source::Sojourn { percent: index, .. }
                if *index == ALL =>
            {
                *index = at;
            }
            _ => {}
        }
        one
    }
}

/// One time series.
#[derive(Clone, Debug)]
pub struct Series {
    /// `link.bottleneck` or `flows.bulk.3`.
    pub what: String,
    pub probe: String,
    pub unit: &'static str,
    pub source: Source,
    pub on_change: bool,
    pub times: Vec<Time>,
    pub values: Vec<f64>,
    /// Which of several (queue, colour), for indexed probes.
    pub indices: Vec<u32>,
    /// The discipline tells every change of it, so that nobody has to look.
    pub told: bool,
    /// What the last look found at each index, and when the first was.
    seen: Vec<f64>,
    first: Time,
}

impl Series {
    /// Without points yet.
    pub fn new(what: String, probe: String, unit: &'static str, source: Source, on_change: bool) -> Series {
        Series {
            what,
            probe,
            unit,
            source,
            on_change,
            times: vec![],
            values: vec![],
            indices: vec![],
            told: false,
            seen: vec![],
            first: Time::ZERO,
        }
    }

    pub fn point(&mut self, now: Time, index: u32, value: f64) {
        self.times.push(now);
        self.indices.push(index);
        self.values.push(value);
    }

    /// Take a point if the value is another than the last one.
    pub fn change(&mut self, now: Time, value: f64) {
        if self.values.last().is_none_or(|v| v.to_bits() != value.to_bits()) {
            self.point(now, 0, value);
        }
    }

    /// The same at one of several indices. What was found first is written with the first change: until then a
    /// discipline may still begin to tell changes itself.
    pub fn change_at(&mut self, now: Time, index: u32, value: f64) {
        let Some(seen) = self.seen.get_mut(index as usize) else {
            match self.times.is_empty() {
                true => self.first = now,
                false if is_written(index, value) => self.point(now, index, value),
                false => {}
            }
            self.seen.push(value);
            return;
        };
        if seen.to_bits() == value.to_bits() {
            return;
        }
        let before = std::mem::replace(seen, value);
        if self.times.is_empty() {
            let first = std::mem::take(&mut self.seen);
            for (i, v) in counted(&first).enumerate() {
                let then = if i == index as usize { before } else { *v };
                // Most of the 64 colours never pass an edge.
                if !matches!(self.source, Source::EdgeSent { .. }) && is_written(i as u32, then) {
                    self.point(self.first, i as u32, then);
                }
            }
            self.seen = first;
        }
        self.point(now, index, value);
    }
}

/// What became of a packet, and where.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    Dropped(Place, DropReason),
    Marked(MarkReason),
}

/// One row of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogRow {
    pub time: Time,
    pub port: u32,
    pub flow: u32,
    /// First byte of the segment, or number of the datagram.
    pub sequence: u64,
    pub bytes: u32,
    pub fate: Fate,
}

/// Everything a run records.
#[derive(Default)]
pub struct Recorder {
    pub series: Vec<Series>,
    pub log: Option<Vec<LogRow>>,
    /// For each port, flow and edge that is watched at every change: its series.
    pub port_series: Vec<Vec<u32>>,
    pub flow_series: Vec<Vec<u32>>,
    pub edge_series: Vec<Vec<u32>>,
}
