//! The table `playout`: the playout of calls and of video, one row per flow with a playout delay.

use crate::measure::e_model;
use crate::measure::playout::{PacketPlayout, PicturePlayout};
use crate::measure::quality::Losses;
use crate::results::column::{self, Called, called_of, table};
use crate::results::quantity::{
    FLOW, FROZEN, MISSING, OPINION, PLAYOUT_DELAY, RATING, SHOWN_RATE, Stat, W3C_FREEZE, W3C_FREEZES,
};
use crate::results::summary::{Spread, ratio};
use crate::results::{Reading, Table};
use crate::sim::flow::Media;
use std::sync::Arc;
use tailback_base::Duration;

/// The playout of a flow; NaN for values that it does not have.
struct PlayoutRow {
    id: Arc<str>,
    group: Arc<str>,
    played: u64,
    missing: u64,
    delay: Spread,
    rating: f64,
    shown_bps: f64,
    /// The number of freezes, their seconds in all, the longest, and the number of pauses.
    freezes: [f64; 4],
    seconds: f64,
}

/// A column of this table.
type Column = column::Column<PlayoutRow>;

static COLUMNS: &[Column] = &[
    Column::text("id", "group and number of the flow", |r| r.id.clone())
        .key()
        .is(&FLOW),
    Column::text("group", "group of the flow", |r| r.group.clone()),
    Column::count(
        "played",
        "1",
        "datagrams that were played, or frames that were shown",
        |r| r.played,
    ),
    Column::count(
        "missing",
        "1",
        "datagrams or frames that were lost or too late at their playout time, and frames that came after a later \
         frame",
        |r| r.missing,
    ),
    Column::real(
        "missing_rate",
        "1",
        "missing items divided by missing and played items",
        |r| ratio(r.missing as f64, (r.missing + r.played) as f64),
    )
    .is(&MISSING)
    .shown(),
    Column::real(
        "delay_mean_s",
        "s",
        "mean time from the creation of a datagram or frame to its playout; for a call, the time from mouth to ear, \
         with the time to fill a packet",
        |r| r.delay.mean,
    )
    .of(&PLAYOUT_DELAY, Stat::Mean)
    .shown(),
    Column::real(
        "delay_p95_s",
        "s",
        "95th percentile of the time from creation to playout",
        |r| r.delay.p95,
    )
    .of(&PLAYOUT_DELAY, Stat::P95)
    .shown(),
    Column::real(
        "delay_max_s",
        "s",
        "maximum of the time from creation to playout",
        |r| r.delay.max,
    )
    .of(&PLAYOUT_DELAY, Stat::Max),
    Column::real(
        "rating",
        "1",
        "for a call: R of the E-model, from the mean delay, the missing datagrams and their runs",
        |r| r.rating,
    )
    .is(&RATING)
    .shown(),
    Column::real("opinion", "1", "for a call: the mean opinion score of this R", |r| {
        e_model::opinion(r.rating)
    })
    .is(&OPINION),
    Column::real(
        "shown_bps",
        "bit/s",
        "for video: payload of the frames that were shown",
        |r| r.shown_bps,
    )
    .is(&SHOWN_RATE)
    .shown(),
    Column::real(
        "w3c_freezes",
        "1",
        "for video: freezeCount of webrtc-stats, frames that are shown max(3 m, m + 150 ms) or more after the \
         previous frame; m is the mean of the last 30 such times",
        |r| r.freezes[0],
    )
    .is(&W3C_FREEZES)
    .shown(),
    Column::real(
        "w3c_freeze_total_s",
        "s",
        "totalFreezesDuration of webrtc-stats: the total time of the freezes",
        |r| r.freezes[1],
    )
    .of(&W3C_FREEZE, Stat::Sum),
    Column::real("w3c_freeze_longest_s", "s", "time of the longest freeze", |r| {
        r.freezes[2]
    })
    .of(&W3C_FREEZE, Stat::Longest),
    Column::real(
        "w3c_frozen",
        "1",
        "total time of the freezes as a share of the measured time",
        |r| r.freezes[1] / r.seconds,
    )
    .is(&FROZEN)
    .shown(),
    Column::real(
        "w3c_pauses",
        "1",
        "pauseCount of webrtc-stats: freezes of more than 5 s",
        |r| r.freezes[3],
    ),
];

impl PlayoutRow {
    fn of_call(mut self, playout: &PacketPlayout, missing: Losses) -> PlayoutRow {
        let filling = playout.filling();
        let later = filling.map_or(0.0, Duration::seconds);
        self.missing = missing.lost;
        self.played = playout.played().count();
        self.delay = Spread::of(Some(playout.played()));
        for part in [&mut self.delay.mean, &mut self.delay.p95, &mut self.delay.max] {
            *part += later;
        }
        let share = ratio(self.missing as f64, (self.missing + self.played) as f64);
        let burst = match missing.runs {
            0 => 1.0,
            runs => e_model::burst_ratio(self.missing as f64 / runs as f64, share),
        };
        if filling.is_some() {
            self.rating = match self.played {
                0 => 0.0,
                _ => e_model::rating(self.delay.mean, share, burst),
            };
        }
        self
    }

    fn of_video(mut self, playout: &PicturePlayout) -> PlayoutRow {
        self.missing = playout.missing();
        self.played = playout.shown;
        self.delay = Spread::of(Some(&playout.latency));
        self.shown_bps = 8.0 * playout.shown_bytes as f64 / self.seconds;
        self.freezes = [
            playout.freezes as f64,
            playout.frozen,
            playout.longest,
            playout.pauses as f64,
        ];
        self
    }

    fn read(self, media: &Media, next: u64, reading: &Reading) -> Option<PlayoutRow> {
        if let Some(playout) = media.frames.as_ref().and_then(|f| f.playout.as_ref()) {
            let mut playout = playout.clone();
            playout.show_until(reading.to());
            return Some(self.of_video(&playout));
        }
        let quality = media.quality.as_ref()?;
        Some(self.of_call(quality.playout()?, quality.missing(next)?))
    }
}

pub(in crate::results) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(in crate::results) fn read(reading: &Reading) -> Table {
    let rows = reading.declared().filter_map(|(i, f)| {
        let media = f.stats.media.as_ref()?;
        let row = PlayoutRow {
            id: reading.id(i),
            group: reading.group(f.group),
            played: 0,
            missing: 0,
            delay: Spread::of(None),
            rating: f64::NAN,
            shown_bps: f64::NAN,
            freezes: [f64::NAN; 4],
            seconds: reading.seconds(),
        };
        row.read(media, f.stats.datagrams, reading)
    });
    table("playout", COLUMNS, rows)
}
