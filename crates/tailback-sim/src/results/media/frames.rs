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
    Column::text("id", "the flow: its group and number", |r| r.id.clone())
        .key()
        .is(&FLOW),
    Column::text("group", "the group it belongs to", |r| r.group.clone()),
    Column::count(
        "frames",
        "1",
        "frames made in the measured time whose deadline came before the run ended",
        |r| r.stats.frames,
    )
    .is(&FRAMES)
    .shown(),
    Column::real("bytes_mean", "bytes", "their mean payload", |r| {
        ratio(r.stats.bytes as f64, r.stats.frames as f64)
    })
    .of(&SIZE, Stat::Mean),
    Column::count(
        "failed",
        "1",
        "of these, not whole by the deadline: a packet was lost, or late",
        |r| r.stats.failed,
    ),
    Column::count(
        "skipped",
        "1",
        "of these, taken back by the sender at the deadline",
        |r| r.stats.skipped,
    ),
    Column::count("chained", "1", "of these, whole, but built on one that was not", |r| {
        r.stats.chained
    }),
    Column::real("failed_rate", "1", "failed, skipped and chained ones over all", |r| {
        ratio(r.stats.not_shown() as f64, r.stats.frames as f64)
    })
    .is(&FRAMES_NOT_SHOWN)
    .shown(),
    Column::count(
        "freezes",
        "1",
        "runs of frames that failed, were skipped or chained",
        |r| r.stats.freezes,
    )
    .is(&FREEZES)
    .shown(),
    Column::real("freeze_mean_frames", "1", "their mean length in frames", |r| {
        ratio(r.stats.not_shown() as f64, r.stats.freezes as f64)
    })
    .of(&FREEZE, Stat::Mean)
    .on_pages(),
    Column::count("freeze_longest_frames", "1", "the longest", |r| r.stats.longest)
        .of(&FREEZE, Stat::Longest)
        .shown(),
    Column::real(
        "delay_mean_s",
        "s",
        "from the time of a frame to the delivery of its last packet, of all that became whole",
        |r| r.delay.mean,
    )
    .of(&FRAME_DELAY, Stat::Mean)
    .shown(),
    Column::real("delay_p50_s", "s", "its median", |r| r.delay.p50).of(&FRAME_DELAY, Stat::P50),
    Column::real("delay_p95_s", "s", "its 95th percentile", |r| r.delay.p95).of(&FRAME_DELAY, Stat::P95),
    Column::real("delay_p99_s", "s", "its 99th percentile", |r| r.delay.p99)
        .of(&FRAME_DELAY, Stat::P99)
        .shown(),
    Column::real("delay_max_s", "s", "its maximum", |r| r.delay.max).of(&FRAME_DELAY, Stat::Max),
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
