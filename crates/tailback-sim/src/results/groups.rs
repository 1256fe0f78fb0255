//! The table `groups`: one row per group of flows.

use super::column::{self, Called, called_of, table};
use super::quantity::{
    BURST_GOODPUT_WIRE, BURST_TIME, DROPPED, FLOWS, GOODPUT, GOODPUT_WIRE, JAIN, ONE_WAY_DELAY, RETRANSMITTED, SENT,
    Stat, TIMEOUTS,
};
use super::summary::{goodput, jain, mean_sd, ratio, wire_ratio};
use super::{Reading, Table};
use crate::sim::flow::{Flow, Snapshot};
use crate::traffic::bursts::BurstStats;
use std::sync::Arc;
use tailback_base::work::done;

/// The flows of a group together, and the connections that its applications opened and closed.
struct GroupRow {
    group: Arc<str>,
    connections: u64,
    goodput: Vec<f64>,
    wire: Vec<f64>,
    delay_sum: f64,
    delay_count: u64,
    sent: u64,
    retransmitted: u64,
    timeouts: u64,
    dropped: u64,
    bursts: BurstStats,
    /// Goodput while a burst is being sent, for each flow that has completed one.
    active: Vec<f64>,
}

/// A column of this table.
type Column = column::Column<GroupRow>;

static COLUMNS: &[Column] = &[
    Column::text("group", "the group of flows", |r| r.group.clone()).key(),
    Column::count("flows", "1", "number of flows in the group", |r| r.goodput.len() as u64)
        .is(&FLOWS)
        .shown(),
    Column::count(
        "connections",
        "1",
        "connections that the applications of the group opened and closed",
        |r| r.connections,
    ),
    Column::real(
        "goodput_bps_mean",
        "bit/s",
        "mean goodput over the flows of the group",
        |r| mean_sd(&r.goodput).0,
    )
    .of(&GOODPUT, Stat::Mean)
    .shown()
    .drawn(),
    Column::real(
        "goodput_bps_sd",
        "bit/s",
        "standard deviation of the goodput over the flows of the group",
        |r| mean_sd(&r.goodput).1,
    )
    .of(&GOODPUT, Stat::Sd)
    .on_pages(),
    Column::real(
        "goodput_wire_bps_mean",
        "bit/s",
        "mean goodput over the flows of the group, counted in whole packets",
        |r| mean_sd(&r.wire).0,
    )
    .of(&GOODPUT_WIRE, Stat::Mean),
    Column::real(
        "goodput_wire_bps_sd",
        "bit/s",
        "standard deviation of the goodput over the flows of the group, counted in whole packets",
        |r| mean_sd(&r.wire).1,
    )
    .of(&GOODPUT_WIRE, Stat::Sd),
    Column::real(
        "goodput_bps_sum",
        "bit/s",
        "total goodput of the flows of the group",
        |r| r.goodput.iter().sum::<f64>(),
    )
    .of(&GOODPUT, Stat::Sum)
    .shown(),
    Column::real(
        "jain_index",
        "1",
        "Jain's fairness index of the goodputs, which is 1 if all goodputs are equal",
        |r| jain(&r.goodput),
    )
    .is(&JAIN)
    .shown(),
    Column::real(
        "delay_mean_s",
        "s",
        "mean one-way delay over the packets of the group",
        |r| ratio(r.delay_sum, r.delay_count as f64),
    )
    .of(&ONE_WAY_DELAY, Stat::Mean)
    .shown(),
    Column::count("sent_packets", "packets", "data packets sent", |r| r.sent).is(&SENT),
    Column::count("retransmitted_packets", "packets", "data packets sent again", |r| {
        r.retransmitted
    })
    .is(&RETRANSMITTED)
    .on_pages(),
    Column::count("timeouts", "1", "retransmission timeouts", |r| r.timeouts)
        .is(&TIMEOUTS)
        .shown(),
    Column::count("dropped_packets", "packets", "data packets lost on the way", |r| {
        r.dropped
    })
    .is(&DROPPED)
    .shown(),
    Column::count("bursts", "1", "bursts that ended in the measured time", |r| {
        r.bursts.count
    }),
    Column::real(
        "burst_time_mean_s",
        "s",
        "mean time of a burst, over all bursts of the group",
        |r| r.bursts.mean_seconds(),
    )
    .of(&BURST_TIME, Stat::Mean),
    Column::real("burst_time_max_s", "s", "longest time of a burst", |r| {
        r.bursts.longest_seconds()
    })
    .of(&BURST_TIME, Stat::Max),
    Column::real(
        "burst_goodput_wire_bps_mean",
        "bit/s",
        "goodput during bursts, in whole packets: the mean over the flows that ended a burst",
        |r| mean_sd(&r.active).0,
    )
    .of(&BURST_GOODPUT_WIRE, Stat::Mean),
];

impl GroupRow {
    /// Add a flow with its counts in the measured time.
    fn add(&mut self, f: &Flow, counted: &Snapshot, seconds: f64) {
        let (goodput, ratio) = (goodput(counted, seconds), wire_ratio(counted));
        self.goodput.push(goodput);
        self.wire.push(goodput * ratio);
        let delay = &f.stats.forward.delay;
        // Flows without samples are skipped: their mean is NaN, and NaN times 0 is NaN.
        if delay.count() > 0 {
            self.delay_sum += delay.mean() * delay.count() as f64;
            self.delay_count += delay.count();
        }
        self.sent += counted.sent_packets();
        self.retransmitted += counted.sender.retransmitted_packets;
        self.timeouts += counted.sender.timeouts;
        self.dropped += counted.data.dropped;
        self.connections += f.closed().map_or(0, |c| c.connections);
        if let Some(bursts) = &f.stats.bursts {
            self.bursts.merge(bursts);
            let active = bursts.active_bps() * ratio;
            if active.is_finite() {
                self.active.push(active);
            }
        }
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let empty = |i: usize| GroupRow {
        group: reading.group(i as u32),
        connections: 0,
        goodput: vec![],
        wire: vec![],
        delay_sum: 0.0,
        delay_count: 0,
        sent: 0,
        retransmitted: 0,
        timeouts: 0,
        dropped: 0,
        bursts: BurstStats::default(),
        active: vec![],
    };
    let mut rows: Vec<GroupRow> = (0..reading.groups()).map(empty).collect();
    for (i, f) in reading.declared() {
        done(64);
        rows[f.group as usize].add(f, reading.counted(i), reading.seconds());
    }
    table("groups", COLUMNS, rows)
}
