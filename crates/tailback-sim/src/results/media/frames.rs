//! The table `frames`: the quality of the frames of video sources, one row per flow.

use crate::measure::frames::FrameStats;
use crate::results::column::{self, Called, called_of, table};
use crate::results::quantity::{FLOW, FRAME_DELAY, FRAMES, FRAMES_NOT_SHOWN, FREEZE, FREEZES, SIZE, Stat};
use crate::results::summary::{Spread, ratio};
use crate::results::{Reading, Table};
use std::sync::Arc;

struct FrameRow {
    id: Arc<str>,
    group: Arc<str>,
    stats: FrameStats,
    delay: Spread,
}

/// A column of this table.
type Column = column::Column<FrameRow>;

static COLUMNS: &[Column] = &[
    Column::text("id", "group and number of the flow", |r| r.id.clone())
        .key()
        .is(&FLOW),
    Column::text("group", "group of the flow", |r| r.group.clone()),
    Column::count(
        "frames",
        "1",
        "frames made in the measured time whose deadline came before the end of the run",
        |r| r.stats.frames,
    )
    .is(&FRAMES)
    .shown(),
    Column::real("bytes_mean", "bytes", "mean payload of a frame", |r| {
        ratio(r.stats.bytes as f64, r.stats.frames as f64)
    })
    .of(&SIZE, Stat::Mean),
    Column::count(
        "failed",
        "1",
        "frames that were not complete at the deadline because a packet was lost or late",
        |r| r.stats.failed,
    ),
    Column::count("skipped", "1", "frames that the sender gave up at the deadline", |r| {
        r.stats.skipped
    }),
    Column::count(
        "chained",
        "1",
        "complete frames that build on a frame that was not complete",
        |r| r.stats.chained,
    ),
    Column::real(
        "failed_rate",
        "1",
        "failed, skipped and chained frames divided by all frames",
        |r| ratio(r.stats.not_shown() as f64, r.stats.frames as f64),
    )
    .is(&FRAMES_NOT_SHOWN)
    .shown(),
    Column::count(
        "freezes",
        "1",
        "number of freezes, which are runs of frames that failed, were skipped or were chained",
        |r| r.stats.freezes,
    )
    .is(&FREEZES)
    .shown(),
    Column::real("freeze_mean_frames", "1", "mean length of a freeze, in frames", |r| {
        ratio(r.stats.not_shown() as f64, r.stats.freezes as f64)
    })
    .of(&FREEZE, Stat::Mean)
    .on_pages(),
    Column::count(
        "freeze_longest_frames",
        "1",
        "length of the longest freeze, in frames",
        |r| r.stats.longest,
    )
    .of(&FREEZE, Stat::Longest)
    .shown(),
    Column::real(
        "delay_mean_s",
        "s",
        "mean time from the creation of a frame to the delivery of its last packet, over all frames that became \
         complete",
        |r| r.delay.mean,
    )
    .of(&FRAME_DELAY, Stat::Mean)
    .shown(),
    Column::real(
        "delay_p50_s",
        "s",
        "median of the time from creation to delivery",
        |r| r.delay.p50,
    )
    .of(&FRAME_DELAY, Stat::P50),
    Column::real(
        "delay_p95_s",
        "s",
        "95th percentile of the time from creation to delivery",
        |r| r.delay.p95,
    )
    .of(&FRAME_DELAY, Stat::P95),
    Column::real(
        "delay_p99_s",
        "s",
        "99th percentile of the time from creation to delivery",
        |r| r.delay.p99,
    )
    .of(&FRAME_DELAY, Stat::P99)
    .shown(),
    Column::real(
        "delay_max_s",
        "s",
        "maximum of the time from creation to delivery",
        |r| r.delay.max,
    )
    .of(&FRAME_DELAY, Stat::Max),
];

pub(in crate::results) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(in crate::results) fn read(reading: &Reading) -> Table {
    let rows = reading.declared().filter_map(|(i, f)| {
        let stats = f.stats.media.as_ref()?.frames.as_ref()?;
        Some(FrameRow {
            id: reading.id(i),
            group: reading.group(f.group),
            stats: stats.clone(),
            delay: Spread::of(Some(&stats.delay)),
        })
    });
    table("frames", COLUMNS, rows)
}
