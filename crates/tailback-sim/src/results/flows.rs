//! The table `flows`: one row per flow.

use super::column::{self, Called, called_of, table};
use super::quantity::{
    BURST_GOODPUT_WIRE, BURST_TIME, DROPPED, FLOW, GOODPUT, GOODPUT_WIRE, LIMITED_APPLICATION, LIMITED_NETWORK,
    LIMITED_WINDOW_CAP, MARKED, ONE_WAY_DELAY, RECEIVED, RETRANSMITTED, REVERSE_DELAY, REVERSE_GOODPUT, ROUND_TRIP,
    SENT, Stat, THROUGHPUT, TIMEOUTS,
};
use super::summary::{Spread, goodput, ratio, rtt_mean, wire_ratio};
use super::{Reading, Table};
use crate::sim::flow::{Flow, Snapshot};
use crate::traffic::bursts::BurstStats;
use std::sync::Arc;
use tailback_base::Duration;

/// The counts of a flow in the measured time.
struct FlowRow {
    id: Arc<str>,
    group: Arc<str>,
    start_s: f64,
    seconds: f64,
    counted: Snapshot,
    delay: Spread,
    bursts: BurstStats,
    connections: u64,
}

/// The reasons that limit a sender.
const LIMITS: [&str; 3] = ["network", "window cap", "application"];

/// A column of this table.
type Column = column::Column<FlowRow>;

static COLUMNS: &[Column] = &[
    Column::text("id", "group and number of the flow", |r| r.id.clone())
        .key()
        .is(&FLOW),
    Column::text("group", "group of the flow", |r| r.group.clone()),
    Column::real("start_s", "s", "time at which the flow started", |r| r.start_s),
    Column::real(
        "goodput_bps",
        "bit/s",
        "payload that arrived in the measured time, with each byte counted once",
        |r| r.goodput(),
    )
    .is(&GOODPUT),
    Column::real(
        "goodput_wire_bps",
        "bit/s",
        "goodput counted in whole packets, headers included",
        |r| r.goodput_wire(),
    )
    .is(&GOODPUT_WIRE),
    Column::real(
        "throughput_bps",
        "bit/s",
        "all packets that reached the destination, headers and repeated data included",
        |r| r.counted.data.received_wire_bytes as f64 * 8.0 / r.seconds,
    )
    .is(&THROUGHPUT),
    Column::count(
        "sent_packets",
        "packets",
        "data packets sent, retransmissions included",
        |r| r.sent_packets(),
    )
    .is(&SENT),
    Column::count(
        "received_packets",
        "packets",
        "data packets that reached the destination",
        |r| r.counted.data.received_packets,
    )
    .is(&RECEIVED),
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
        "mean one-way delay from the first link to the destination",
        |r| r.delay.mean,
    )
    .of(&ONE_WAY_DELAY, Stat::Mean),
    Column::real("delay_p50_s", "s", "median of the one-way delay", |r| r.delay.p50).of(&ONE_WAY_DELAY, Stat::P50),
    Column::real("delay_p95_s", "s", "95th percentile of the one-way delay", |r| {
        r.delay.p95
    })
    .of(&ONE_WAY_DELAY, Stat::P95),
    Column::real("delay_p99_s", "s", "99th percentile of the one-way delay", |r| {
        r.delay.p99
    })
    .of(&ONE_WAY_DELAY, Stat::P99),
    Column::real("delay_max_s", "s", "maximum of the one-way delay", |r| r.delay.max).of(&ONE_WAY_DELAY, Stat::Max),
    Column::real(
        "rtt_mean_s",
        "s",
        "mean of the round-trip times that the sender measured",
        |r| rtt_mean(&r.counted.sender),
    )
    .of(&ROUND_TRIP, Stat::Mean),
    Column::real(
        "rtt_min_s",
        "s",
        "smallest round-trip time over the life of the flow",
        |r| r.sampled(r.counted.sender.rtt.least),
    )
    .of(&ROUND_TRIP, Stat::Min),
    Column::real(
        "rtt_max_s",
        "s",
        "largest round-trip time over the life of the flow",
        |r| r.sampled(r.counted.sender.rtt.greatest),
    )
    .of(&ROUND_TRIP, Stat::Max),
    Column::word(
        "limited_by",
        "what limited the sender for the longest time: network, window cap or application",
        FlowRow::limited_by,
    ),
    Column::real(
        "limited_network",
        "1",
        "share of the sender's time in which the congestion window limited the sender",
        |r| r.limited(0),
    )
    .is(&LIMITED_NETWORK),
    Column::real(
        "limited_window_cap",
        "1",
        "share of the sender's time in which the window cap or the advertised window limited the sender",
        |r| r.limited(1),
    )
    .is(&LIMITED_WINDOW_CAP),
    Column::real(
        "limited_application",
        "1",
        "share of the sender's time in which the sender had nothing to send",
        |r| r.limited(2),
    )
    .is(&LIMITED_APPLICATION),
    Column::count(
        "ecn_reductions",
        "1",
        "window reductions in response to an ECN echo",
        |r| r.counted.sender.ecn_reductions,
    ),
    Column::count(
        "fresh_packets",
        "packets",
        "data packets that reached the destination and were not retransmissions",
        |r| r.counted.data.received_packets - r.counted.data.repeats,
    ),
    Column::count("rtt_samples", "1", "number of round-trip samples in rtt_mean_s", |r| {
        r.counted.sender.rtt_samples
    }),
    Column::count(
        "bursts",
        "1",
        "bursts that ended in the measured time, for traffic that comes in bursts",
        |r| r.bursts.count,
    ),
    Column::real(
        "burst_time_mean_s",
        "s",
        "mean time of a burst, from the handover of its first byte to its last acknowledgement",
        |r| r.bursts.mean_seconds(),
    )
    .of(&BURST_TIME, Stat::Mean),
    Column::real("burst_time_max_s", "s", "longest time of a burst", |r| {
        r.bursts.longest_seconds()
    })
    .of(&BURST_TIME, Stat::Max),
    Column::real(
        "burst_goodput_wire_bps",
        "bit/s",
        "goodput during bursts: the data of the ended bursts, in whole packets, divided by the total time of these \
         bursts",
        |r| r.active(),
    )
    .is(&BURST_GOODPUT_WIRE),
    Column::real(
        "reverse_goodput_bps",
        "bit/s",
        "payload from the destination that arrived at the source, with each byte counted once, if the destination \
         sends data",
        |r| r.reverse().map_or(f64::NAN, |b| goodput(b, r.seconds)),
    )
    .is(&REVERSE_GOODPUT),
    Column::real(
        "reverse_delay_mean_s",
        "s",
        "mean one-way delay of data from the destination to the source",
        |r| {
            r.reverse()
                .map_or(f64::NAN, |b| ratio(b.delay_sum, b.delay_count as f64))
        },
    )
    .of(&REVERSE_DELAY, Stat::Mean),
    Column::count(
        "reverse_sent_packets",
        "packets",
        "data packets that the destination sent to the source, retransmissions included",
        |r| r.reverse().map_or(0, |b| b.sender.sent_packets),
    ),
    Column::count(
        "reverse_received_packets",
        "packets",
        "data packets of the destination that reached the source",
        |r| r.reverse().map_or(0, |b| b.data.received_packets),
    ),
    Column::count(
        "reverse_dropped_packets",
        "packets",
        "data packets of the destination that were lost on the way to the source",
        |r| r.reverse().map_or(0, |b| b.data.dropped),
    ),
    Column::count(
        "reverse_marked_packets",
        "packets",
        "CE marks set on data packets of the destination on the way to the source",
        |r| r.reverse().map_or(0, |b| b.data.marked),
    ),
    Column::count(
        "connections",
        "1",
        "connections that were opened and closed, if the application of this row opens connections",
        |r| r.connections,
    ),
];

impl FlowRow {
    fn of(i: usize, f: &Flow, reading: &Reading) -> FlowRow {
        FlowRow {
            id: reading.id(i),
            group: reading.group(f.group),
            start_s: f.opened.seconds(),
            seconds: reading.seconds(),
            counted: reading.counted(i).clone(),
            delay: Spread::of(Some(&f.stats.forward.delay)),
            bursts: f.stats.bursts.as_deref().cloned().unwrap_or_default(),
            connections: f.closed().map_or(0, |c| c.connections),
        }
    }

    fn goodput(&self) -> f64 {
        goodput(&self.counted, self.seconds)
    }

    fn goodput_wire(&self) -> f64 {
        self.goodput() * wire_ratio(&self.counted)
    }

    fn sent_packets(&self) -> u64 {
        self.counted.sent_packets()
    }

    /// Goodput while a burst is being sent, counting whole packets; NaN for a flow that has completed no burst.
    fn active(&self) -> f64 {
        self.bursts.active_bps() * wire_ratio(&self.counted)
    }

    /// The counts of the data from the destination to the source, if there are any.
    fn reverse(&self) -> Option<&Snapshot> {
        self.counted.reverse.as_deref()
    }

    fn sampled(&self, value: f64) -> f64 {
        if self.counted.sender.rtt_samples > 0 {
            value
        } else {
            f64::NAN
        }
    }

    fn limits(&self) -> [Duration; 3] {
        let r = &self.counted.sender;
        [r.limited_by_network, r.limited_by_window_cap, r.limited_by_application]
    }

    /// Share of the sender's time; NaN for a flow without a sender.
    fn limited(&self, by: usize) -> f64 {
        let all: u64 = self.limits().iter().map(|d| d.0).sum();
        if all > 0 {
            self.limits()[by].0 as f64 / all as f64
        } else {
            f64::NAN
        }
    }

    fn limited_by(&self) -> &'static str {
        let limits = self.limits();
        let most = (0..3).max_by_key(|i| (limits[*i], std::cmp::Reverse(*i)));
        most.filter(|i| limits[*i].0 > 0).map_or("", |i| LIMITS[i])
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let rows = reading.declared().map(|(i, f)| FlowRow::of(i, f, reading));
    table("flows", COLUMNS, rows)
}
