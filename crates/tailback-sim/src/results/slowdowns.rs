//! The table `slowdowns`: how much longer the flows of workloads took than on an empty path. It has a row for each
//! workload and class of sizes. If there are several workloads, the rows over all workloads come first.
//!
//! There are two comparisons (`sim/ideal.rs`): with the ideal that papers use, and with the same sender alone on the
//! same path. Percentiles are exact, over all flows that were done. Flows that the end of the run cut off are counted
//! separately.

use super::column::{self, Called, called_of, table};
use super::outcome::Compared;
use super::quantity::{ASKED_FOR, GOODPUT, RATE, SIZE, SLOWDOWN_ALONE, SLOWDOWN_IDEAL, Stat, UNFINISHED};
use super::size_classes::{self, Classed, Measure, OfClass, SizeClass, SizeEdges};
use super::summary::{mean, quantile, ratio};
use super::{Reading, Table};

/// The flows of one class.
#[derive(Default)]
struct Class {
    count: u64,
    bytes: u64,
    /// Values of the finished flows.
    done_bytes: u64,
    /// Sorted, like the two lists after it.
    ideal: Vec<f64>,
    alone: Vec<f64>,
    /// Rates of single flows, bit/s.
    rates: Vec<f64>,
}

struct ClassRow {
    of: SizeClass,
    seconds: f64,
    class: Class,
}

impl OfClass for ClassRow {
    fn of(&self) -> &SizeClass {
        &self.of
    }
}

type Column = column::Column<ClassRow>;

static COLUMNS: &[Column] = &[
    Column::text(
        "group",
        "name of the workload; the name is all for all workloads together, if there are several and no group is \
         called all",
        |r| r.of.group.clone(),
    )
    .key(),
    size_classes::sizes(),
    size_classes::over(),
    size_classes::to(),
    Column::count("count", "1", "number of flows that arrived in the measured time", |r| {
        r.class.count
    })
    .is(&ASKED_FOR)
    .shown(),
    Column::count(
        "unfinished",
        "1",
        "flows that were not completed before the run ended",
        |r| r.class.count - r.class.ideal.len() as u64,
    )
    .is(&UNFINISHED)
    .shown(),
    Column::real("bytes_mean", "bytes", "mean payload of a flow", |r| {
        ratio(r.class.bytes as f64, r.class.count as f64)
    })
    .of(&SIZE, Stat::Mean),
    Column::real(
        "slowdown_ideal_mean",
        "1",
        "time of a flow divided by its ideal time, mean over completed flows; the ideal time consists of the delays \
         of the path and the time for all packets back to back from the first byte on, with store and forward at each \
         link",
        |r| mean(&r.class.ideal),
    )
    .of(&SLOWDOWN_IDEAL, Stat::Mean),
    Column::real(
        "slowdown_ideal_p50",
        "1",
        "median of the slowdown compared with the ideal",
        |r| quantile(&r.class.ideal, 0.5),
    )
    .of(&SLOWDOWN_IDEAL, Stat::P50)
    .shown(),
    Column::real(
        "slowdown_ideal_p95",
        "1",
        "95th percentile of the slowdown compared with the ideal",
        |r| quantile(&r.class.ideal, 0.95),
    )
    .of(&SLOWDOWN_IDEAL, Stat::P95),
    Column::real(
        "slowdown_ideal_p99",
        "1",
        "99th percentile of the slowdown compared with the ideal",
        |r| quantile(&r.class.ideal, 0.99),
    )
    .of(&SLOWDOWN_IDEAL, Stat::P99)
    .shown(),
    Column::real(
        "slowdown_ideal_p999",
        "1",
        "99.9th percentile of the slowdown compared with the ideal",
        |r| quantile(&r.class.ideal, 0.999),
    )
    .of(&SLOWDOWN_IDEAL, Stat::P999),
    Column::real(
        "slowdown_ideal_max",
        "1",
        "maximum of the slowdown compared with the ideal",
        |r| quantile(&r.class.ideal, 1.0),
    )
    .of(&SLOWDOWN_IDEAL, Stat::Max),
    Column::real(
        "slowdown_alone_mean",
        "1",
        "time of a flow divided by the time of the same sender alone on the same path, mean over completed flows",
        |r| mean(&r.class.alone),
    )
    .of(&SLOWDOWN_ALONE, Stat::Mean),
    Column::real(
        "slowdown_alone_p50",
        "1",
        "median of the slowdown compared with the sender alone",
        |r| quantile(&r.class.alone, 0.5),
    )
    .of(&SLOWDOWN_ALONE, Stat::P50)
    .shown(),
    Column::real(
        "slowdown_alone_p95",
        "1",
        "95th percentile of the slowdown compared with the sender alone",
        |r| quantile(&r.class.alone, 0.95),
    )
    .of(&SLOWDOWN_ALONE, Stat::P95),
    Column::real(
        "slowdown_alone_p99",
        "1",
        "99th percentile of the slowdown compared with the sender alone",
        |r| quantile(&r.class.alone, 0.99),
    )
    .of(&SLOWDOWN_ALONE, Stat::P99)
    .shown(),
    Column::real(
        "slowdown_alone_p999",
        "1",
        "99.9th percentile of the slowdown compared with the sender alone",
        |r| quantile(&r.class.alone, 0.999),
    )
    .of(&SLOWDOWN_ALONE, Stat::P999),
    Column::real(
        "slowdown_alone_max",
        "1",
        "maximum of the slowdown compared with the sender alone",
        |r| quantile(&r.class.alone, 1.0),
    )
    .of(&SLOWDOWN_ALONE, Stat::Max),
    Column::real(
        "goodput_bps",
        "bit/s",
        "payload of the completed flows, divided by the measured time",
        |r| ratio(r.class.done_bytes as f64 * 8.0, r.seconds),
    )
    .is(&GOODPUT),
    Column::real(
        "rate_p50_bps",
        "bit/s",
        "payload of a flow divided by the time of the flow, median",
        |r| quantile(&r.class.rates, 0.5),
    )
    .of(&RATE, Stat::P50),
];

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

impl Classed for Compared {
    fn group(&self) -> u32 {
        self.group
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn count(class: &mut Class, flow: &Compared) {
    class.count += 1;
    class.bytes += flow.bytes;
    if flow.took.is_some() {
        class.done_bytes += flow.bytes;
    }
}

const MEASURES: [Measure<Compared, Class>; 3] = [
    (|f| Some(f.took? / f.ideal), |c| &mut c.ideal),
    (|f| Some(f.took? / f.alone?), |c| &mut c.alone),
    (|f| Some(f.bytes as f64 * 8.0 / f.took?), |c| &mut c.rates),
];

pub(super) fn read(reading: &Reading) -> Table {
    let flows: Vec<Compared> = reading.compared().collect();
    let edges = SizeEdges::of(reading.frame.size_classes, flows.iter().map(|f| f.bytes));
    let all = size_classes::over_all(reading, flows.iter().map(|f| f.group).collect());
    let classes = edges.classes(&flows, all, count, &MEASURES);
    let rows = classes.into_iter().map(|(group, number, class)| ClassRow {
        of: edges.class(group.map(|g| reading.group(g)), number),
        seconds: reading.seconds(),
        class,
    });
    table("slowdowns", COLUMNS, rows)
}
