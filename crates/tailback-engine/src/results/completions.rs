//! The table `completions`: completion times of transfers and of pages, one row per group and class of sizes.
//!
//! Quantiles are exact, over everything that was completed: between two of the sorted times they are interpolated
//! (type 7 of Hyndman and Fan 1996, as in most software). What was not completed is counted separately: quantiles of
//! a run that ends early say little about long transfers.

use super::column::{Column, table};
use super::summary::ratio;
use super::{Reading, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_base::Time;

/// The largest sizes of the classes, bytes, and their names; the last class has no limit.
const CLASSES: [(u64, &str); 6] = [
    (1_000, "to 1 kB"),
    (10_000, "to 10 kB"),
    (100_000, "to 100 kB"),
    (1_000_000, "to 1 MB"),
    (10_000_000, "to 10 MB"),
    (u64::MAX, "over 10 MB"),
];
const ALL: &str = "all";

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
    group: Arc<str>,
    what: &'static str,
    sizes: &'static str,
    over: f64,
    to: f64,
    class: RequestClass,
}

static COLUMNS: &[Column<ClassRow>] = &[
    Column::text("group", "the sessions or flows", |r| r.group.clone()),
    Column::text("what", "transfers, or pages", |r| r.what.into()),
    Column::text("sizes", "the class of sizes: up to a number of bytes; or all", |r| {
        r.sizes.into()
    }),
    Column::real("bytes_over", "bytes", "sizes of the class are larger than this", |r| {
        r.over
    }),
    Column::real(
        "bytes_to",
        "bytes",
        "and no larger than this; no value where there is no largest",
        |r| r.to,
    ),
    Column::count("count", "1", "how many were asked for in the measured time", |r| {
        r.class.count
    }),
    Column::count("unfinished", "1", "of these, not completed before the run ended", |r| {
        r.class.count - r.class.completion.len() as u64
    }),
    Column::real("bytes_mean", "bytes", "their mean payload", |r| {
        ratio(r.class.bytes as f64, r.class.count as f64)
    }),
    Column::real(
        "completion_mean_s",
        "s",
        "from asked to done, mean of the completed",
        |r| mean(&r.class.completion),
    ),
    Column::real("completion_p50_s", "s", "its median", |r| {
        quantile(&r.class.completion, 0.5)
    }),
    Column::real("completion_p95_s", "s", "its 95th percentile", |r| {
        quantile(&r.class.completion, 0.95)
    }),
    Column::real("completion_p99_s", "s", "its 99th percentile", |r| {
        quantile(&r.class.completion, 0.99)
    }),
    Column::real("completion_max_s", "s", "its maximum", |r| {
        quantile(&r.class.completion, 1.0)
    }),
    Column::real(
        "acked_completion_mean_s",
        "s",
        "from asked to the last acknowledgement, mean of the acknowledged",
        |r| mean(&r.class.acked),
    ),
    Column::real(
        "slowdown_mean",
        "1",
        "completion over the least time it could take, mean of the completed",
        |r| mean(&r.class.slowdown),
    ),
    Column::real("slowdown_p50", "1", "its median", |r| quantile(&r.class.slowdown, 0.5)),
    Column::real("slowdown_p99", "1", "its 99th percentile", |r| {
        quantile(&r.class.slowdown, 0.99)
    }),
];

impl RequestClass {
    fn add(&mut self, bytes: u64, completion: Option<f64>, acked: Option<f64>, least: f64) {
        self.count += 1;
        self.bytes += bytes;
        self.completion.extend(completion);
        self.acked.extend(acked);
        self.slowdown
            .extend(completion.filter(|_| least > 0.0).map(|c| c / least));
    }

    fn sorted(mut self) -> RequestClass {
        for values in [&mut self.completion, &mut self.acked, &mut self.slowdown] {
            values.sort_unstable_by(f64::total_cmp);
        }
        self
    }
}

fn mean(values: &[f64]) -> f64 {
    ratio(values.iter().sum(), values.len() as f64)
}

/// The q-quantile of sorted values; NaN without values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let rank = q * last as f64;
    let below = rank as usize;
    let above = (below + 1).min(last);
    sorted[below] + (rank - below as f64) * (sorted[above] - sorted[below])
}

pub(super) fn read(reading: &Reading) -> Table {
    // By group, kind, and class; the class of all sizes comes before the others.
    let mut classes: BTreeMap<(u32, &'static str, usize), RequestClass> = BTreeMap::new();
    let mut add = |group: u32, what, bytes: u64, completion, acked, least| {
        let class = 1 + CLASSES.iter().position(|c| bytes <= c.0).unwrap_or(CLASSES.len() - 1);
        for class in [0, class] {
            let into = classes.entry((group, what, class)).or_default();
            into.add(bytes, completion, acked, least);
        }
    };
    let after = |asked: Time| move |t: Time| (t - asked).seconds();
    for (member, t) in reading.transfers() {
        let (done, acked) = (t.done.map(after(t.asked)), t.acked.map(after(t.asked)));
        add(member.group, "transfers", t.bytes, done, acked, t.least.seconds());
    }
    for (member, p) in reading.pages() {
        add(member.group, "pages", p.bytes, p.done.map(after(p.asked)), None, 0.0);
    }
    let largest = |class: usize| {
        let of = CLASSES[..CLASSES.len() - 1].get(class.checked_sub(1)?)?;
        Some(of.0 as f64)
    };
    let rows = classes.into_iter().map(|((group, what, class), of)| ClassRow {
        group: reading.group(group),
        what,
        sizes: class.checked_sub(1).map_or(ALL, |i| CLASSES[i].1),
        over: class.checked_sub(1).and_then(largest).unwrap_or(0.0),
        to: largest(class).unwrap_or(f64::NAN),
        class: of.sorted(),
    });
    table("completions", COLUMNS, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_sorted_values() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        for (q, expected) in [(0.0, 1.0), (0.5, 5.5), (0.95, 9.55), (0.99, 9.91), (1.0, 10.0)] {
            assert!((quantile(&ten, q) - expected).abs() < 1e-12, "{q}");
        }
        assert_eq!(quantile(&[3.0], 0.99), 3.0);
        assert!(quantile(&[], 0.5).is_nan() && mean(&[]).is_nan());
    }
}
