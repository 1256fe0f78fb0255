//! Recording: reading probes, at a step or on change; snapshots for warm-up and intervals.

use super::{Broken, Sim, Tick};
use crate::sim::flow::{Carrier, Snapshot};
use crate::sim::recorder::{Arrival, Recorder, Source, is_written};
use crate::wire::event::{EventKind, EventList};
use crate::wire::port::Queue;
use tailback_base::work::{counted, counted_as};
use tailback_base::{Dscp, Time};
use tailback_queue::ProbeId;

/// The most values that a sample of an indexed probe has: more queues than any discipline may have, and as many flows
/// as a scenario may have.
const MOST_INDICES: u32 = 1 << 22;

impl Sim {
    pub(crate) fn read(&mut self, source: Source) -> f64 {
        let now = self.now;
        match source {
            Source::Queue(p) => self.net.ports[p as usize].waiting(now).0 as f64,
            Source::QueueBytes(p) => self.net.ports[p as usize].waiting(now).1 as f64,
            Source::PortDelivered(p) => self.net.ports[p as usize].stats.delivered_bytes as f64,
            Source::Sojourn { percent, .. } if percent > 100 => f64::NAN,
            Source::Sojourn { port, percent } => {
                let waits = self.net.ports[port as usize].sojourn(now);
                waits.map_or(f64::NAN, |h| h.quantile(f64::from(percent) / 100.0))
            }
            Source::Discipline { port, probe, index } => match &self.net.ports[port as usize].queue {
                Queue::Explicit(e) => e.server.queue.read(ProbeId(probe), index),
                Queue::Fused(_) => f64::NAN,
            },
            Source::Outside | Source::Arrival { .. } => f64::NAN,
            Source::Edge { edge, probe, index } => {
                let conditioner = &self.edges.all[edge as usize].conditioner;
                conditioner.read(usize::from(probe), index, now)
            }
            Source::EdgeSent { index, .. } if index >= 64 => f64::NAN,
            Source::EdgeSent { edge, index } => self.edges.all[edge as usize].sent(Dscp(index as u8)).packets as f64,
            Source::Endpoint { flow, side, probe } => match &self.flows.all[flow as usize].carrier {
                Carrier::Connection(ends) => ends[side as usize].read(usize::from(probe)),
                _ => f64::NAN,
            },
            Source::Payload { flow, by } => self.flows.all[flow as usize].delivered(by) as f64,
        }
    }

    pub(super) fn record_changes(&mut self, series: &[u32]) {
        for &i in counted_as(8, series) {
            let Some(r) = &self.watch.recorder else { return };
            let s = &r.series[i as usize];
            let source = s.source;
            if matches!(source, Source::Arrival { .. }) {
                continue;
            }
            if source.is_indexed() {
                if !s.told {
                    self.record_changes_at(i, source);
                }
                continue;
            }
            let value = self.read(source);
            let now = self.now;
            if let Some(r) = &mut self.watch.recorder {
                r.series[i as usize].change(now, value);
            }
        }
    }

    /// Read every index of an indexed source, up to the first index without a value.
    fn record_changes_at(&mut self, series: u32, source: Source) {
        let now = self.now;
        for index in counted(0..u32::MAX) {
            let value = self.read(source.at(index));
            if value.is_nan() {
                return;
            }
            if index == MOST_INDICES {
                return self.endless(series, source);
            }
            if let Some(r) = &mut self.watch.recorder {
                r.series[series as usize].change_at(now, index, value);
            }
        }
    }

    #[cold]
    pub(super) fn record_port(&mut self, port: u32) {
        self.check_service(port);
        let Some(r) = &mut self.watch.recorder else { return };
        let list = std::mem::take(&mut r.port_series[port as usize]);
        self.record_changes(&list);
        if let Some(r) = &mut self.watch.recorder {
            r.port_series[port as usize] = list;
        }
    }

    #[cold]
    pub(super) fn record_edge(&mut self, edge: u32) {
        let Some(r) = &mut self.watch.recorder else { return };
        let list = std::mem::take(&mut r.edge_series[edge as usize]);
        self.record_changes(&list);
        if let Some(r) = &mut self.watch.recorder {
            r.edge_series[edge as usize] = list;
        }
    }

    #[cold]
    pub(super) fn record_flow(&mut self, flow: u32) {
        let Some(r) = &mut self.watch.recorder else { return };
        let Some(slot) = r.flow_series.get_mut(flow as usize) else {
            return;
        };
        let list = std::mem::take(slot);
        self.record_changes(&list);
        if let Some(r) = &mut self.watch.recorder {
            r.flow_series[flow as usize] = list;
        }
    }

    /// A datagram or an answer of a flow has arrived: give its value to the series that record it.
    pub(super) fn record_arrival(&mut self, flow: u32, what: Arrival, value: f64) {
        let Some(r) = &mut self.watch.recorder else { return };
        let Recorder {
            series, flow_series, ..
        } = &mut **r;
        for &i in counted_as(8, flow_series.get(flow as usize).into_iter().flatten()) {
            let s = &mut series[i as usize];
            if s.source == (Source::Arrival { flow, what }) {
                s.arrival(self.now, value);
            }
        }
    }

    /// The value every on-change series starts with.
    pub(crate) fn record_start(&mut self) {
        let all: Vec<u32> = self
            .watch
            .recorder
            .iter()
            .flat_map(|r| counted(0..r.series.len() as u32).filter(|i| r.series[*i as usize].on_change))
            .collect();
        self.record_changes(&all);
    }

    pub(super) fn on_tick(&mut self, tick: u32) {
        let now = self.now;
        self.ahead.ticks[tick as usize] = Time::NEVER;
        match &mut self.watch.ticks[tick as usize] {
            Tick::Warmup => {
                self.note_inside();
                for p in counted_as(16, &mut self.net.ports) {
                    p.restart_statistics(now);
                }
                let totals = counted_as(32, self.snapshots(now));
                self.watch.baseline = totals.map(Snapshot::without_delays).collect();
                for f in counted_as(16, &mut self.flows.all) {
                    f.stats.restart(now);
                }
                for e in counted(&mut self.edges.all) {
                    e.sent.clear();
                }
                self.watch.intervals.clear();
                self.watch
                    .intervals
                    .push((now, counted_as(32, &self.watch.baseline).cloned().collect()));
                self.watch.port_intervals.clear();
                self.snapshot_ports();
            }
            Tick::End => {
                self.events = EventList::new();
                self.ended = Some(now);
            }
            Tick::Interval(period) => {
                let next = now + *period;
                self.end_interval();
                self.events.push(next, EventKind::Tick, tick);
                self.ahead.ticks[tick as usize] = next;
            }
            Tick::Sample { period, series } => {
                let next_tick = now + *period;
                let list = std::mem::take(series);
                for &i in counted_as(16, &list) {
                    let Some(source) = self.watch.recorder.as_ref().map(|r| r.series[i as usize].source) else {
                        continue;
                    };
                    self.sample(i, source);
                }
                if let Tick::Sample { series, .. } = &mut self.watch.ticks[tick as usize] {
                    *series = list;
                }
                self.events.push(next_tick, EventKind::Tick, tick);
            }
        }
    }

    /// Take a point of a series. An indexed series gets a point for each index up to the first index without a value.
    fn sample(&mut self, series: u32, source: Source) {
        let now = self.now;
        if let (Source::Arrival { .. }, Some(r)) = (source, &mut self.watch.recorder) {
            let s = &mut r.series[series as usize];
            return s.point(now, 0, s.last);
        }
        let indices = if source.is_indexed() { 0..u32::MAX } else { 0..1 };
        for index in counted(indices) {
            let value = self.read(source.at(index));
            if source.is_indexed() && value.is_nan() {
                break;
            }
            if index == MOST_INDICES {
                return self.endless(series, source);
            }
            // Most of the 64 colours never pass.
            if matches!(source, Source::EdgeSent { .. }) && value == 0.0 || !is_written(index, value) {
                continue;
            }
            if let Some(r) = &mut self.watch.recorder {
                r.series[series as usize].point(now, index, value);
            }
        }
    }

    #[cold]
    fn endless(&mut self, series: u32, source: Source) {
        let name = self
            .watch
            .recorder
            .as_ref()
            .map(|r| r.series[series as usize].probe.clone());
        let port = match source {
            Source::Discipline { port, .. } => port,
            Source::Edge { edge, .. } | Source::EdgeSent { edge, .. } => self.edges.all[edge as usize].port,
            _ => 0,
        };
        self.give_up(Broken {
            port,
            does: format!(
                "has a value of the probe \"{}\" at every index",
                name.unwrap_or_default()
            ),
            remedy: "let the probe read NaN from the first index on that it has no value for".into(),
        });
    }

    /// Close the interval that ends now, if it is not empty.
    fn end_interval(&mut self) {
        let now = self.now;
        if self.watch.intervals.last().is_none_or(|(t, _)| *t < now) {
            let mut rows = self.snapshots(now);
            for (f, row) in counted(&mut self.flows.all).zip(&mut rows) {
                if let Some(meter) = &mut f.stats.meter {
                    row.convergence = meter.close(now);
                    meter.restart(now);
                }
            }
            self.watch.intervals.push((now, rows));
            self.snapshot_ports();
        }
    }

    /// The totals of the ports that have rows by interval.
    pub(crate) fn snapshot_ports(&mut self) {
        let ports = counted_as(16, &self.watch.interval_ports);
        let rows = ports.map(|p| self.net.ports[*p as usize].snapshot(self.now)).collect();
        self.watch.port_intervals.push(rows);
    }

    /// The run is over: close the last interval, which may be shorter than the others.
    pub(crate) fn finish(&mut self) {
        if self.watch.ticks.iter().any(|t| matches!(t, Tick::Interval(_))) {
            self.end_interval();
        }
        self.fold_open();
    }
}
