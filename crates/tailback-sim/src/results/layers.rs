//! The table `layers`: the ports of each layer of a topology together, a row for each direction of a layer's links.
//!
//! A layer has the name of its links without their numbers. `host` is the ports of switches towards hosts,
//! `host.reverse` the hosts' own ports, `leaf-spine` the leaves' ports towards spines, `leaf-spine.reverse` the ports
//! in the opposite direction. Waits are those of all packets of the layer. Counts are sums over ports, unless the
//! column says that it is a mean or a maximum.

use super::column::{self, Called, called_of, table};
use super::outcome::Layer;
use super::quantity::{DROPPED, LAYER, LOSS, MARK_RATE, MARKED, PORTS, QUEUE, SOJOURN, Stat, UTILISATION};
use super::summary::{Spread, mean_sd, ratio};
use super::{Reading, Table};
use crate::measure::histogram::Histogram;
use std::sync::Arc;

/// The ports of one direction of a layer.
struct LayerRow {
    name: Arc<str>,
    ports: u64,
    utilisation_mean: f64,
    utilisation_max: f64,
    arrived_packets: u64,
    dropped_packets: u64,
    marked_packets: u64,
    queue_mean: f64,
    queue_max: u64,
    sojourn: Spread,
}

/// A column of this table.
type Column = column::Column<LayerRow>;

static COLUMNS: &[Column] = &[
    Column::text(
        "layer",
        "links of the topology without their numbers; the name of the other direction ends in .reverse",
        |r| r.name.clone(),
    )
    .key()
    .is(&LAYER),
    Column::count("ports", "1", "number of ports of the layer", |r| r.ports).is(&PORTS),
    Column::real(
        "utilisation_mean",
        "1",
        "used share of the capacity of a line, mean over ports",
        |r| r.utilisation_mean,
    )
    .of(&UTILISATION, Stat::Mean)
    .shown(),
    Column::real(
        "utilisation_max",
        "1",
        "utilisation of the port with the highest utilisation",
        |r| r.utilisation_max,
    )
    .of(&UTILISATION, Stat::Max),
    Column::count("arrived_packets", "packets", "packets that arrived at the ports", |r| {
        r.arrived_packets
    }),
    Column::count(
        "dropped_packets",
        "packets",
        "packets lost at the ports, for all reasons",
        |r| r.dropped_packets,
    )
    .is(&DROPPED)
    .shown(),
    Column::count(
        "marked_packets",
        "packets",
        "CE marks set at the ports, for all reasons",
        |r| r.marked_packets,
    )
    .is(&MARKED),
    Column::real("loss_rate", "1", "dropped packets divided by arrived packets", |r| {
        ratio(r.dropped_packets as f64, r.arrived_packets as f64)
    })
    .is(&LOSS),
    Column::real("mark_rate", "1", "marked packets divided by arrived packets", |r| {
        ratio(r.marked_packets as f64, r.arrived_packets as f64)
    })
    .is(&MARK_RATE)
    .shown(),
    Column::real(
        "mean_queue_packets",
        "packets",
        "number of waiting packets of a port, mean over time and over ports",
        |r| r.queue_mean,
    )
    .of(&QUEUE, Stat::Mean)
    .shown(),
    Column::count(
        "max_queue_packets",
        "packets",
        "largest number of waiting packets of a port",
        |r| r.queue_max,
    )
    .of(&QUEUE, Stat::Max),
    Column::real(
        "sojourn_mean_s",
        "s",
        "mean time from the arrival of a packet to the start of its transmission",
        |r| r.sojourn.mean,
    )
    .of(&SOJOURN, Stat::Mean),
    Column::real(
        "sojourn_p50_s",
        "s",
        "median of the time from arrival to start of transmission",
        |r| r.sojourn.p50,
    )
    .of(&SOJOURN, Stat::P50),
    Column::real(
        "sojourn_p99_s",
        "s",
        "99th percentile of the time from arrival to start of transmission",
        |r| r.sojourn.p99,
    )
    .of(&SOJOURN, Stat::P99)
    .shown(),
    Column::real(
        "sojourn_max_s",
        "s",
        "maximum of the time from arrival to start of transmission",
        |r| r.sojourn.max,
    )
    .of(&SOJOURN, Stat::Max),
];

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let (to, seconds) = (reading.to(), reading.seconds());
    let row = |layer: &Layer| {
        let ports: Vec<_> = layer.ports.iter().map(|p| reading.port(*p)).collect();
        let used: Vec<f64> = ports.iter().map(|p| p.snapshot(to).utilisation(seconds)).collect();
        let queued: Vec<f64> = ports.iter().map(|p| p.queue_seconds(to) / seconds).collect();
        let mut waits = Histogram::default();
        for port in &ports {
            if let Some(own) = port.sojourn(to) {
                waits.merge(&own);
            }
        }
        LayerRow {
            name: layer.name.as_str().into(),
            ports: ports.len() as u64,
            utilisation_mean: mean_sd(&used).0,
            utilisation_max: used.iter().copied().fold(0.0, f64::max),
            arrived_packets: ports.iter().map(|p| p.stats.arrived_packets).sum(),
            dropped_packets: ports.iter().map(|p| p.stats.dropped()).sum(),
            marked_packets: ports.iter().map(|p| p.stats.marked()).sum(),
            queue_mean: mean_sd(&queued).0,
            queue_max: ports.iter().map(|p| p.stats.max_queue).max().unwrap_or(0),
            sojourn: Spread::of((waits.count() > 0).then_some(&waits)),
        }
    };
    table("layers", COLUMNS, reading.frame.layers.iter().map(row))
}
