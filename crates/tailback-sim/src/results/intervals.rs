//! The table `intervals`: one row per flow and interval, if the scenario asks for intervals.

use super::column::{self, Called, called_of, table};
use super::quantity::{
    DROPPED, FLOW, GOODPUT, GOODPUT_WIRE, MARKED, ONE_WAY_DELAY, RECEIVED, RETRANSMITTED, ROUND_TRIP, SENT, Stat,
    TIMEOUTS,
};
use super::summary::{goodput, ratio, rtt_mean, wire_ratio};
use super::{Reading, Table};
use crate::sim::flow::Snapshot;
use std::sync::Arc;
use tailback_base::Time;
use tailback_base::counters::Counter;

/// The counts of a flow in one interval.
struct IntervalRow {
    id: Arc<str>,
    group: Arc<str>,
    from: Time,
    to: Time,
    counted: Snapshot,
}

/// A column of this table.
type Column = column::Column<IntervalRow>;

static COLUMNS: &[Column] = &[
    Column::text("id", "group and number of the flow", |r| r.id.clone())
        .key()
        .is(&FLOW),
    Column::text("group", "group of the flow", |r| r.group.clone()),
    Column::real("from_s", "s", "start of the interval", |r| r.from.seconds()).key(),
    Column::real("to_s", "s", "end of the interval", |r| r.to.seconds()),
    Column::real(
        "goodput_bps",
        "bit/s",
        "payload that arrived in the interval, with each byte counted once",
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
    Column::real("delay_mean_s", "s", "mean one-way delay", |r| {
        ratio(r.counted.delay_sum, r.counted.delay_count as f64)
    })
    .of(&ONE_WAY_DELAY, Stat::Mean),
    Column::count(
        "received_packets",
        "packets",
        "data packets that reached the destination",
        |r| r.counted.data.received_packets,
    )
    .is(&RECEIVED),
    Column::count(
        "fresh_packets",
        "packets",
        "data packets that reached the destination and were not retransmissions",
        |r| r.counted.data.received_packets - r.counted.data.repeats,
    ),
    Column::count("retransmitted_packets", "packets", "data packets sent again", |r| {
        r.counted.sender.retransmitted_packets
    })
    .is(&RETRANSMITTED),
    Column::count("timeouts", "1", "retransmission timeouts", |r| {
        r.counted.sender.timeouts
    })
    .is(&TIMEOUTS),
    Column::count(
        "fast_retransmits",
        "1",
        "loss recoveries that began with duplicate ACKs or SACK",
        |r| r.counted.sender.fast_retransmits,
    ),
    Column::real(
        "rtt_mean_s",
        "s",
        "mean of the round-trip samples of this interval",
        |r| rtt_mean(&r.counted.sender),
    )
    .of(&ROUND_TRIP, Stat::Mean),
    Column::count(
        "rtt_samples",
        "1",
        "number of round-trip samples of this interval",
        |r| r.counted.sender.rtt_samples,
    ),
    Column::real(
        "settled_s",
        "s",
        "time until the rate of the flow stayed at its reserved rate, for flows with a settling meter",
        |r| r.counted.convergence.every,
    ),
    Column::real(
        "settled_without_first_s",
        "s",
        "settled_s without the first delivery",
        |r| r.counted.convergence.without_first,
    ),
    Column::real(
        "settled_sliding_s",
        "s",
        "settled_s with the rate over the sliding window",
        |r| r.counted.convergence.sliding,
    ),
];

impl IntervalRow {
    fn goodput(&self) -> f64 {
        goodput(&self.counted, (self.to - self.from).seconds())
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let rows = reading.sim.watch.intervals.windows(2).flat_map(|pair| {
        let ((from, begin_snapshots), (to, end_snapshots)) = (&pair[0], &pair[1]);
        reading.declared().filter_map(move |(i, f)| {
            Some(IntervalRow {
                id: reading.id(i),
                group: reading.group(f.group),
                from: *from,
                to: *to,
                counted: end_snapshots.get(i)?.since(begin_snapshots.get(i)?),
            })
        })
    });
    table("intervals", COLUMNS, rows)
}
