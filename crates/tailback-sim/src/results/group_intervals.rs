//! The table `group_intervals`: one row per group and interval, if the scenario asks for intervals.

use super::column::{self, Called, called_of, table};
use super::quantity::{DROPPED, GOODPUT, GOODPUT_WIRE, MARKED, ONE_WAY_DELAY, RETRANSMITTED, SENT, Stat};
use super::summary::{goodput, ratio, wire_ratio};
use super::{Reading, Table};
use crate::sim::flow::Snapshot;
use std::sync::Arc;
use tailback_base::Time;
use tailback_base::counters::Counter;
use tailback_base::work::done;

/// The counts of a group in one interval.
struct GroupIntervalRow {
    group: Arc<str>,
    from: Time,
    to: Time,
    counted: Snapshot,
}

/// A column of this table.
type Column = column::Column<GroupIntervalRow>;

static COLUMNS: &[Column] = &[
    Column::text("group", "the group of flows", |r| r.group.clone()).key(),
    Column::real("from_s", "s", "start of the interval", |r| r.from.seconds()).key(),
    Column::real("to_s", "s", "end of the interval", |r| r.to.seconds()),
    Column::real(
        "goodput_bps",
        "bit/s",
        "payload of all flows of the group that arrived, with each byte counted once",
        |r| r.goodput(),
    )
    .is(&GOODPUT),
    Column::real(
        "goodput_wire_bps",
        "bit/s",
        "goodput counted in whole packets, headers included",
        |r| r.goodput() * wire_ratio(&r.counted),
    )
    .is(&GOODPUT_WIRE),
    Column::count("sent_packets", "packets", "data packets sent", |r| {
        r.counted.sent_packets()
    })
    .is(&SENT),
    Column::count("retransmitted_packets", "packets", "data packets sent again", |r| {
        r.counted.sender.retransmitted_packets
    })
    .is(&RETRANSMITTED),
    Column::count("dropped_packets", "packets", "data packets lost on the way", |r| {
        r.counted.data.dropped
    })
    .is(&DROPPED),
    Column::count(
        "marked_packets",
        "packets",
        "CE marks set on data packets on the way",
        |r| r.counted.data.marked,
    )
    .is(&MARKED),
    Column::real(
        "delay_mean_s",
        "s",
        "mean one-way delay over the packets of the group",
        |r| ratio(r.counted.delay_sum, r.counted.delay_count as f64),
    )
    .of(&ONE_WAY_DELAY, Stat::Mean),
];

impl GroupIntervalRow {
    fn goodput(&self) -> f64 {
        goodput(&self.counted, (self.to - self.from).seconds())
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let mut rows = Vec::new();
    for pair in reading.sim.watch.intervals.windows(2) {
        let ((from, begin_snapshots), (to, end_snapshots)) = (&pair[0], &pair[1]);
        let mut sums = vec![Snapshot::default(); reading.groups()];
        for (i, f) in reading.declared() {
            done(32);
            sums[f.group as usize].add(&end_snapshots[i].since(&begin_snapshots[i]));
        }
        rows.extend(sums.into_iter().zip(0..).map(|(counted, group)| GroupIntervalRow {
            group: reading.group(group),
            from: *from,
            to: *to,
            counted,
        }));
    }
    table("group_intervals", COLUMNS, rows)
}
