//! The table `datagrams`: the quality of the datagrams of flows with a deadline or an echo, one row per flow.

use crate::measure::quality::Losses;
use crate::results::column::{self, Called, called_of, table};
use crate::results::quantity::{
    ANSWERED, FLOW, JITTER, LATE, LATE_PACKETS, LOSS, LOSS_RUN, LOST, LOST_ANSWERS, ONE_WAY_DELAY, RECEIVED,
    ROUND_TRIP, SENT, Stat,
};
use crate::results::summary::{Spread, ratio};
use crate::results::{Reading, Table};
use std::sync::Arc;

struct DatagramRow {
    id: Arc<str>,
    group: Arc<str>,
    sent: u64,
    received: u64,
    losses: Losses,
    late: u64,
    copies: u64,
    delay: Spread,
    /// The value at the end, the mean, and the maximum.
    jitter: [f64; 3],
    /// Whether a datagram can be late.
    has_deadline: bool,
    /// The number of answered datagrams, and the number of lost answers.
    answers: [f64; 2],
    round_trip: Spread,
}

/// A column of this table.
type Column = column::Column<DatagramRow>;

static COLUMNS: &[Column] = &[
    Column::text("id", "group and number of the flow", |r| r.id.clone())
        .key()
        .is(&FLOW),
    Column::text("group", "group of the flow", |r| r.group.clone()),
    Column::count("sent_packets", "packets", "datagrams sent in the measured time", |r| {
        r.sent
    })
    .is(&SENT)
    .shown(),
    Column::count(
        "received_packets",
        "packets",
        "sent datagrams that arrived, without copies",
        |r| r.received,
    )
    .is(&RECEIVED),
    Column::count(
        "lost_packets",
        "packets",
        "sent datagrams that were lost; datagrams under way at the end are neither received nor lost",
        |r| r.losses.lost,
    )
    .is(&LOST),
    Column::real(
        "loss_rate",
        "1",
        "lost datagrams divided by lost and arrived datagrams",
        |r| ratio(r.losses.lost as f64, r.resolved()),
    )
    .is(&LOSS)
    .shown(),
    Column::count("loss_runs", "1", "number of runs of consecutive lost datagrams", |r| {
        r.losses.runs
    }),
    Column::real(
        "loss_run_mean_packets",
        "packets",
        "mean length of a run of lost datagrams",
        |r| ratio(r.losses.lost as f64, r.losses.runs as f64),
    )
    .of(&LOSS_RUN, Stat::Mean)
    .shown(),
    Column::count(
        "loss_run_longest_packets",
        "packets",
        "length of the longest run of lost datagrams",
        |r| r.losses.longest,
    )
    .of(&LOSS_RUN, Stat::Longest)
    .on_pages(),
    Column::count(
        "late_packets",
        "packets",
        "datagrams that arrived later than the deadline; 0 without a deadline",
        |r| r.late,
    )
    .is(&LATE_PACKETS),
    Column::real(
        "late_rate",
        "1",
        "late datagrams divided by lost and arrived datagrams",
        |r| match r.has_deadline {
            true => ratio(r.late as f64, r.resolved()),
            false => f64::NAN,
        },
    )
    .is(&LATE)
    .shown(),
    Column::count(
        "copies",
        "packets",
        "arrivals of datagrams that had already arrived",
        |r| r.copies,
    ),
    Column::real("delay_mean_s", "s", "mean one-way delay", |r| r.delay.mean)
        .of(&ONE_WAY_DELAY, Stat::Mean)
        .shown(),
    Column::real("delay_p50_s", "s", "median of the one-way delay", |r| r.delay.p50).of(&ONE_WAY_DELAY, Stat::P50),
    Column::real("delay_p95_s", "s", "95th percentile of the one-way delay", |r| {
        r.delay.p95
    })
    .of(&ONE_WAY_DELAY, Stat::P95),
    Column::real("delay_p99_s", "s", "99th percentile of the one-way delay", |r| {
        r.delay.p99
    })
    .of(&ONE_WAY_DELAY, Stat::P99)
    .shown(),
    Column::real("delay_max_s", "s", "maximum of the one-way delay", |r| r.delay.max).of(&ONE_WAY_DELAY, Stat::Max),
    Column::real(
        "jitter_s",
        "s",
        "interarrival jitter of RFC 3550 at the last arrival",
        |r| r.jitter[0],
    )
    .is(&JITTER),
    Column::real(
        "jitter_mean_s",
        "s",
        "mean of the interarrival jitter over arrivals",
        |r| r.jitter[1],
    )
    .of(&JITTER, Stat::Mean)
    .shown(),
    Column::real("jitter_max_s", "s", "maximum of the interarrival jitter", |r| {
        r.jitter[2]
    })
    .of(&JITTER, Stat::Max),
    Column::real(
        "answered_packets",
        "packets",
        "with echo: sent datagrams whose answer has arrived, without copies",
        |r| r.answers[0],
    )
    .is(&ANSWERED),
    Column::real(
        "lost_answers_packets",
        "packets",
        "with echo: arrived datagrams whose answer was lost on the way back; answers under way at the end are neither \
         arrived nor lost",
        |r| r.answers[1],
    )
    .is(&LOST_ANSWERS)
    .shown(),
    Column::real(
        "rtt_mean_s",
        "s",
        "with echo: mean time from sending a datagram to the arrival of its answer",
        |r| r.round_trip.mean,
    )
    .of(&ROUND_TRIP, Stat::Mean)
    .shown(),
    Column::real("rtt_p50_s", "s", "median of the round-trip time with echo", |r| {
        r.round_trip.p50
    })
    .of(&ROUND_TRIP, Stat::P50),
    Column::real(
        "rtt_p95_s",
        "s",
        "95th percentile of the round-trip time with echo",
        |r| r.round_trip.p95,
    )
    .of(&ROUND_TRIP, Stat::P95),
    Column::real(
        "rtt_p99_s",
        "s",
        "99th percentile of the round-trip time with echo",
        |r| r.round_trip.p99,
    )
    .of(&ROUND_TRIP, Stat::P99)
    .shown(),
    Column::real("rtt_max_s", "s", "maximum of the round-trip time with echo", |r| {
        r.round_trip.max
    })
    .of(&ROUND_TRIP, Stat::Max)
    .shown(),
];

impl DatagramRow {
    /// Datagrams whose fate is known.
    fn resolved(&self) -> f64 {
        (self.losses.lost + self.received) as f64
    }
}

pub(in crate::results) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(in crate::results) fn read(reading: &Reading) -> Table {
    let rows = reading.declared().filter_map(|(i, f)| {
        let quality = f.stats.media.as_ref()?.quality.as_ref()?;
        let datagrams = f.stats.datagrams;
        Some(DatagramRow {
            id: reading.id(i),
            group: reading.group(f.group),
            sent: quality.sent(datagrams),
            received: quality.received,
            losses: quality.losses(datagrams),
            late: quality.late,
            copies: quality.copies,
            delay: Spread::of(Some(&quality.delay)),
            jitter: quality.jitter(),
            has_deadline: quality.has_deadline(),
            answers: quality
                .answers(datagrams)
                .map_or([f64::NAN; 2], |n| n.map(|n| n as f64)),
            round_trip: Spread::of(quality.round_trip()),
        })
    });
    table("datagrams", COLUMNS, rows)
}
