//! The table `completions`: completion times of transfers and of pages, one row per group and class of sizes. If
//! several groups have requested something, the rows over all groups come first.
//!
//! Quantiles are exact, over everything that was completed. Requests that were not completed are counted separately,
//! because quantiles of a run that ends early say little about long transfers.

use super::column::{self, Called, called_of, table};
use super::quantity::{ACKED_COMPLETION_TIME, ASKED_FOR, COMPLETION_TIME, SIZE, SLOWDOWN, Stat, UNFINISHED, WHAT};
use super::size_classes::{self, ALL, Classed, Measure, OfClass, SizeClass, SizeEdges};
use super::summary::{mean, quantile, ratio};
use super::{Reading, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_base::Time;

/// The requests in one class.
#[derive(Default)]
struct RequestClass {
    count: u64,
    bytes: u64,
    /// Completion times, seconds.
    completion: Vec<f64>,
    acked: Vec<f64>,
    slowdown: Vec<f64>,
}

struct ClassRow {
    of: SizeClass,
    what: &'static str,
    class: RequestClass,
}

impl OfClass for ClassRow {
    fn of(&self) -> &SizeClass {
        &self.of
    }
}

/// A column of this table.
type Column = column::Column<ClassRow>;

static COLUMNS: &[Column] = &[
    Column::text(
        "group",
        "name of the sessions or flows; the name is all for all groups together, if there are several groups and none \
         is called all",
        |r| r.of.group.clone(),
    )
    .key(),
    Column::text("what", "transfers or pages", |r| r.what.into())
        .key()
        .is(&WHAT),
    size_classes::sizes(),
    size_classes::over(),
    size_classes::to(),
    Column::count(
        "count",
        "1",
        "number of transfers or pages requested in the measured time",
        |r| r.class.count,
    )
    .is(&ASKED_FOR)
    .shown(),
    Column::count(
        "unfinished",
        "1",
        "requested transfers or pages that were not completed before the run ended",
        |r| r.class.count - r.class.completion.len() as u64,
    )
    .is(&UNFINISHED)
    .shown(),
    Column::real("bytes_mean", "bytes", "mean payload of a transfer or page", |r| {
        ratio(r.class.bytes as f64, r.class.count as f64)
    })
    .of(&SIZE, Stat::Mean),
    Column::real(
        "completion_mean_s",
        "s",
        "mean time from the request to the completion, over completed requests",
        |r| mean(&r.class.completion),
    )
    .of(&COMPLETION_TIME, Stat::Mean)
    .shown(),
    Column::real(
        "completion_p50_s",
        "s",
        "median of the time from the request to the completion",
        |r| quantile(&r.class.completion, 0.5),
    )
    .of(&COMPLETION_TIME, Stat::P50)
    .shown(),
    Column::real(
        "completion_p95_s",
        "s",
        "95th percentile of the time from the request to the completion",
        |r| quantile(&r.class.completion, 0.95),
    )
    .of(&COMPLETION_TIME, Stat::P95)
    .shown(),
    Column::real(
        "completion_p99_s",
        "s",
        "99th percentile of the time from the request to the completion",
        |r| quantile(&r.class.completion, 0.99),
    )
    .of(&COMPLETION_TIME, Stat::P99)
    .shown(),
    Column::real(
        "completion_max_s",
        "s",
        "maximum of the time from the request to the completion",
        |r| quantile(&r.class.completion, 1.0),
    )
    .of(&COMPLETION_TIME, Stat::Max),
    Column::real(
        "acked_completion_mean_s",
        "s",
        "mean time from the request to the last acknowledgement, over acknowledged requests",
        |r| mean(&r.class.acked),
    )
    .of(&ACKED_COMPLETION_TIME, Stat::Mean),
    Column::real(
        "slowdown_mean",
        "1",
        "completion time divided by the least possible time, mean over completed requests",
        |r| mean(&r.class.slowdown),
    )
    .of(&SLOWDOWN, Stat::Mean),
    Column::real("slowdown_p50", "1", "median of the slowdown", |r| {
        quantile(&r.class.slowdown, 0.5)
    })
    .of(&SLOWDOWN, Stat::P50)
    .on_pages(),
    Column::real("slowdown_p95", "1", "95th percentile of the slowdown", |r| {
        quantile(&r.class.slowdown, 0.95)
    })
    .of(&SLOWDOWN, Stat::P95)
    .on_pages(),
    Column::real("slowdown_p99", "1", "99th percentile of the slowdown", |r| {
        quantile(&r.class.slowdown, 0.99)
    })
    .of(&SLOWDOWN, Stat::P99),
];

fn count(class: &mut RequestClass, asked: &Asked) {
    class.count += 1;
    class.bytes += asked.bytes;
}

const MEASURES: [Measure<Asked, RequestClass>; 3] = [
    (|a| a.completion, |c| &mut c.completion),
    (|a| a.acked, |c| &mut c.acked),
    (Asked::slowdown, |c| &mut c.slowdown),
];

/// One request.
struct Asked {
    group: u32,
    what: &'static str,
    bytes: u64,
    completion: Option<f64>,
    acked: Option<f64>,
    least: f64,
}

impl Classed for Asked {
    fn group(&self) -> u32 {
        self.group
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Asked {
    fn slowdown(&self) -> Option<f64> {
        Some(self.completion.filter(|_| self.least > 0.0)? / self.least)
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let seconds_after = |asked: Time| move |t: Time| (t - asked).seconds();
    let transfers = reading.transfers().map(|(member, t)| Asked {
        group: member.group,
        what: "transfers",
        bytes: t.bytes,
        completion: t.done.map(seconds_after(t.asked)),
        acked: t.acked.map(seconds_after(t.asked)),
        least: t.least.seconds(),
    });
    let pages = reading.pages().map(|(member, p)| Asked {
        group: member.group,
        what: "pages",
        bytes: p.bytes,
        completion: p.done.map(seconds_after(p.asked)),
        acked: None,
        least: 0.0,
    });
    let mut rows: Vec<ClassRow> = Vec::new();
    let kinds: [Vec<Asked>; 2] = [transfers.collect(), pages.collect()];
    let groups: Vec<u32> = kinds.iter().flatten().map(|a| a.group).collect();
    let all = size_classes::over_all(reading, groups);
    // The rows are sorted by group and class. The rows over all groups, and the class of all sizes, come before the
    // others.
    for requests in kinds {
        let edges = SizeEdges::of(reading.frame.size_classes, requests.iter().map(|a| a.bytes));
        let what = requests.first().map_or("", |a| a.what);
        rows.extend(
            edges
                .classes(&requests, all, count, &MEASURES)
                .into_iter()
                .map(|(group, number, class)| ClassRow {
                    of: edges.class(group.map(|g| reading.group(g)), number),
                    what,
                    class,
                }),
        );
    }
    // Transfers and pages of a group are next to each other.
    let mut order: Vec<Arc<str>> = Vec::new();
    order.extend(all.then(|| ALL.into()));
    order.extend((0..reading.groups()).map(|g| reading.group(g as u32)));
    let place: BTreeMap<Arc<str>, usize> = order.into_iter().enumerate().map(|(i, g)| (g, i)).collect();
    rows.sort_by_key(|r| (place[&r.of.group], r.what));
    table("completions", COLUMNS, rows)
}
