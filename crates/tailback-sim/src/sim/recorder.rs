//! Recording: time series of probes, and the log of drops and marks.
//!
//! A run that records nothing does not use this file. A series is sampled at a fixed step, or takes a point after an
//! event if the value may have changed and differs from the last one; several changes inside one event give one
//! point.

use crate::traffic::application::Side;
use tailback_base::Time;
use tailback_base::work::counted;
use tailback_queue::{DropReason, MarkReason, Place};

/// The quantity that a series reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// Packets waiting at a port.
    Queue(u32),
    QueueBytes(u32),
    /// Bytes the port has delivered since the start of statistics.
    PortDelivered(u32),
    /// The time in the queue of a port that this percentage of packets did not exceed, since the start of statistics.
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
    /// Packets that an edge has let through in a colour, which is the index.
    EdgeSent {
        edge: u32,
        index: u32,
    },
    /// New payload from one side of a flow that the other has got in order, bytes.
    Payload {
        flow: u32,
        by: Side,
    },
    /// A time that belongs to the last arrival of a flow of datagrams. It is not read from the simulator; each arrival
    /// reports it.
    Arrival {
        flow: u32,
        what: Arrival,
    },
    /// Not read from the simulator: the points came from outside.
    Outside,
}

/// The values that the arrival of a datagram shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The delay of a datagram.
    There,
    /// The delay of an answer.
    Back,
    /// The time from sending a datagram to the arrival of its answer.
    RoundTrip,
}

/// A sample of an indexed series has a value for each index. The values at indices below this are written even if they
/// are 0, except those of [`Source::EdgeSent`]. Of the other values only those that are not 0 are written,
/// and changes to 0 if the series is recorded on change. The number of rows therefore depends on what a million queues
/// contain, not on what they may contain.
pub const ALWAYS: u32 = 4096;

/// Whether a value at an index has its own row.
pub fn is_written(index: u32, value: f64) -> bool {
    index < ALWAYS || value != 0.0
}

/// The index of a source that is read at all indices.
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

    /// The source at one index, if it has several.
    #[must_use]
    pub fn at(self, at: u32) -> Source {
        let mut source = self;
        match &mut source {
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
        source
    }
}

/// One time series.
#[derive(Clone, Debug)]
pub struct Series {
    /// The owner of the series, such as `link.bottleneck` or `flows.bulk.3`.
    pub what: String,
    pub probe: String,
    pub unit: &'static str,
    pub source: Source,
    pub on_change: bool,
    pub times: Vec<Time>,
    pub values: Vec<f64>,
    /// The index among several values (queue, colour), for indexed probes.
    pub indices: Vec<u32>,
    /// The discipline reports every change, so the value need not be polled.
    pub told: bool,
    /// The value of the last arrival; NaN before the first.
    pub last: f64,
    /// The last value seen at each index, and the time of the first look.
    seen: Vec<f64>,
    first: Time,
}

impl Series {
    /// A series without points.
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
            last: f64::NAN,
            seen: vec![],
            first: Time::ZERO,
        }
    }

    pub fn point(&mut self, now: Time, index: u32, value: f64) {
        self.times.push(now);
        self.indices.push(index);
        self.values.push(value);
    }

    /// An arrival has this value. If the series is recorded on change, each arrival makes a point, also with an equal
    /// value.
    pub fn arrival(&mut self, now: Time, value: f64) {
        self.last = value;
        if self.on_change {
            self.point(now, 0, value);
        }
    }

    /// Take a point if the value differs from the last one.
    pub fn change(&mut self, now: Time, value: f64) {
        if self.values.last().is_none_or(|v| v.to_bits() != value.to_bits()) {
            self.point(now, 0, value);
        }
    }

    /// Take a point for one of several indices if its value differs from the last one. The first value is written
    /// together with the first change, because until then a discipline may begin to report changes itself.
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
            let first_values = std::mem::take(&mut self.seen);
            for (i, v) in counted(&first_values).enumerate() {
                let then = if i == index as usize { before } else { *v };
                // Most of the 64 colours never pass an edge.
                if !matches!(self.source, Source::EdgeSent { .. }) && is_written(i as u32, then) {
                    self.point(self.first, i as u32, then);
                }
            }
            self.seen = first_values;
        }
        self.point(now, index, value);
    }
}

/// An event of a packet, and its place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PacketFate {
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
    pub fate: PacketFate,
}

/// Everything a run records.
#[derive(Default)]
pub struct Recorder {
    pub series: Vec<Series>,
    pub log: Option<Vec<LogRow>>,
    /// The series of each port, flow and edge that is checked after every event.
    pub port_series: Vec<Vec<u32>>,
    pub flow_series: Vec<Vec<u32>>,
    pub edge_series: Vec<Vec<u32>>,
}
