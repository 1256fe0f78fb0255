//! The table `link_intervals`: one row per direction of a declared link and interval, if the scenario asks for
//! intervals.

use super::column::{self, Called, called_of, table};
use super::quantity::{DROPPED, LINK, MARKED, QUEUE, SOJOURN, Stat, THROUGHPUT, UTILISATION};
use super::summary::ratio;
use super::{Reading, Table};
use crate::wire::port::snapshot::PortSnapshot;
use std::sync::Arc;
use tailback_base::Time;
use tailback_base::counters::Counter;

/// The counts of a port in one interval.
struct LinkIntervalRow {
    name: Arc<str>,
    from: Time,
    to: Time,
    counted: PortSnapshot,
}

/// A column of this table.
type Column = column::Column<LinkIntervalRow>;

static COLUMNS: &[Column] = &[
    Column::text(
        "name",
        "name of the link; the name of the other direction ends in .reverse",
        |r| r.name.clone(),
    )
    .key()
    .is(&LINK),
    Column::real("from_s", "s", "start of the interval", |r| r.from.seconds()).key(),
    Column::real("to_s", "s", "end of the interval", |r| r.to.seconds()),
    Column::real(
        "utilisation",
        "1",
        "used share of the capacity of the line in the interval",
        |r| r.counted.utilisation(r.seconds()),
    )
    .is(&UTILISATION),
    Column::real(
        "throughput_bps",
        "bit/s",
        "data delivered by the link, in whole packets",
        |r| r.counted.delivered_bytes as f64 * 8.0 / r.seconds(),
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
        |r| r.counted.dropped,
    )
    .is(&DROPPED),
    Column::real("early_drop_ratio", "1", "early drops divided by all drops", |r| {
        ratio(r.counted.dropped_early as f64, r.counted.dropped as f64)
    }),
    Column::count(
        "marked_packets",
        "packets",
        "CE marks set at the link, for all reasons",
        |r| r.counted.marked,
    )
    .is(&MARKED),
    Column::real(
        "mean_queue_packets",
        "packets",
        "mean number of waiting packets over the interval",
        |r| r.counted.queue / r.seconds(),
    )
    .of(&QUEUE, Stat::Mean),
    Column::real(
        "sojourn_mean_s",
        "s",
        "mean time from arrival to start of transmission, over the transmissions that start in the interval",
        |r| ratio(r.counted.waited, r.counted.started as f64),
    )
    .of(&SOJOURN, Stat::Mean),
];

impl LinkIntervalRow {
    fn seconds(&self) -> f64 {
        (self.to - self.from).seconds()
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let sim = reading.sim;
    let mut rows = vec![];
    for (times, ports) in sim.watch.intervals.windows(2).zip(sim.watch.port_intervals.windows(2)) {
        for (i, (name, _)) in reading.reported().enumerate() {
            let (Some(a), Some(b)) = (ports[1].get(i), ports[0].get(i)) else {
                continue;
            };
            rows.push(LinkIntervalRow {
                name,
                from: times[0].0,
                to: times[1].0,
                counted: a.since(b),
            });
        }
    }
    table("link_intervals", COLUMNS, rows)
}
