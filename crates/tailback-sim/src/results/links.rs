//! The table `links`: one row per direction of a declared link.

use super::column::{self, Called, called_of, table};
use super::quantity::{DROPPED, LINK, LOSS, MARKED, QUEUE, RATE, SOJOURN, Stat, THROUGHPUT, UTILISATION, WASTED};
use super::summary::{Spread, ratio};
use super::{Reading, Table};
use crate::wire::port::PortStats;
use std::sync::Arc;

/// The counts of a port in the measured time.
struct LinkRow {
    name: Arc<str>,
    rate_bps: f64,
    utilisation: f64,
    queue_seconds: f64,
    seconds: f64,
    counted: PortStats,
    sojourn: Spread,
}

/// A column of this table.
type Column = column::Column<LinkRow>;

static COLUMNS: &[Column] = &[
    Column::text(
        "name",
        "name of the link; the name of the other direction ends in .reverse",
        |r| r.name.clone(),
    )
    .key()
    .is(&LINK),
    Column::real("rate_bps", "bit/s", "rate of the link at the end of the run", |r| {
        r.rate_bps
    })
    .is(&RATE),
    Column::real(
        "utilisation",
        "1",
        "used share of the capacity of the line in the measured time",
        |r| r.utilisation,
    )
    .is(&UTILISATION)
    .shown()
    .drawn(),
    Column::real(
        "throughput_bps",
        "bit/s",
        "data delivered by the link, in whole packets",
        |r| r.counted.delivered_bytes as f64 * 8.0 / r.seconds,
    )
    .is(&THROUGHPUT),
    Column::count("arrived_packets", "packets", "packets that arrived at the link", |r| {
        r.counted.arrived_packets
    }),
    Column::count(
        "delivered_packets",
        "packets",
        "packets that reached the far end of the link",
        |r| r.counted.delivered_packets,
    ),
    Column::count(
        "dropped_packets",
        "packets",
        "packets lost at the link, for all reasons",
        |r| r.counted.dropped(),
    )
    .is(&DROPPED)
    .shown(),
    Column::count(
        "marked_packets",
        "packets",
        "CE marks set at the link, for all reasons",
        |r| r.counted.marked(),
    )
    .is(&MARKED)
    .shown(),
    Column::real("loss_rate", "1", "dropped packets divided by arrived packets", |r| {
        ratio(r.counted.dropped() as f64, r.counted.arrived_packets as f64)
    })
    .is(&LOSS)
    .shown()
    .drawn(),
    Column::real(
        "mean_queue_packets",
        "packets",
        "mean number of waiting packets over time",
        |r| r.queue_seconds / r.seconds,
    )
    .of(&QUEUE, Stat::Mean)
    .shown()
    .drawn(),
    Column::count(
        "max_queue_packets",
        "packets",
        "largest number of waiting packets",
        |r| r.counted.max_queue,
    )
    .of(&QUEUE, Stat::Max)
    .on_pages(),
    Column::real(
        "sojourn_mean_s",
        "s",
        "mean time from the arrival of a packet to the start of its transmission",
        |r| r.sojourn.mean,
    )
    .of(&SOJOURN, Stat::Mean)
    .shown(),
    Column::real(
        "sojourn_p50_s",
        "s",
        "median of the time from arrival to start of transmission",
        |r| r.sojourn.p50,
    )
    .of(&SOJOURN, Stat::P50)
    .on_pages(),
    Column::real(
        "sojourn_p95_s",
        "s",
        "95th percentile of the time from arrival to start of transmission",
        |r| r.sojourn.p95,
    )
    .of(&SOJOURN, Stat::P95),
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
    Column::count("arrived_bytes", "bytes", "bytes that arrived at the link", |r| {
        r.counted.arrived_bytes
    }),
    Column::real(
        "wasted",
        "1",
        "bytes dropped after they were stored, divided by all stored bytes",
        |r| r.counted.wasted(),
    )
    .is(&WASTED),
];

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let rows = reading.reported().map(|(name, port)| LinkRow {
        name,
        rate_bps: port.rate().bits_per_second(),
        utilisation: port.snapshot(reading.to()).utilisation(reading.seconds()),
        queue_seconds: port.queue_seconds(reading.to()),
        seconds: reading.seconds(),
        sojourn: Spread::of(port.sojourn(reading.to()).as_ref()),
        counted: port.stats.clone(),
    });
    table("links", COLUMNS, rows)
}
