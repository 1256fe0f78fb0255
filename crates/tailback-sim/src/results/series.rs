//! The table `series`: recorded probes.

use super::column::{self, Called, called_of, table};
use super::{Reading, Table};
use std::sync::Arc;
use tailback_base::Time;

struct SeriesRow {
    what: Arc<str>,
    probe: Arc<str>,
    index: u32,
    time: Time,
    value: f64,
}

/// A column of this table.
type Column = column::Column<SeriesRow>;

static COLUMNS: &[Column] = &[
    Column::text("what", "the recorded link or flow", |r| r.what.clone()).key(),
    Column::text(
        "probe",
        "name of the recorded quantity; the reference of its model has the unit",
        |r| r.probe.clone(),
    )
    .key(),
    Column::count(
        "index",
        "1",
        "number of the value if the probe has several values, as for queues or colours; otherwise 0",
        |r| u64::from(r.index),
    )
    .key(),
    Column::real("time_s", "s", "time of the value", |r| r.time.seconds()).key(),
    Column::real("value", "", "value of the probe", |r| r.value),
];

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let series = reading.sim.watch.recorder.iter().flat_map(|r| &r.series);
    let points = series.flat_map(|s| {
        let (what, probe): (Arc<str>, Arc<str>) = (s.what.as_str().into(), s.probe.as_str().into());
        let points = s.times.iter().zip(&s.values).zip(&s.indices);
        points.map(move |((time, value), index)| SeriesRow {
            what: what.clone(),
            probe: probe.clone(),
            index: *index,
            time: *time,
            value: *value,
        })
    });
    table("series", COLUMNS, points)
}
