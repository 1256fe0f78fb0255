//! The table `pages`: one row for each page that a client of web pages requested in the measured time.

use super::column::{self, Called, called_of, table};
use super::quantity::COMPLETION_TIME;
use super::{Reading, Table};
use crate::traffic::application::Page;
use std::sync::Arc;
use tailback_base::Time;

struct PageLine {
    group: Arc<str>,
    member: u32,
    page: Page,
}

/// A column of this table.
type Column = column::Column<PageLine>;

static COLUMNS: &[Column] = &[
    Column::text("group", "name of the sessions that the page belongs to", |r| {
        r.group.clone()
    })
    .key(),
    Column::count("member", "1", "number of the client within the sessions", |r| {
        u64::from(r.member)
    })
    .key(),
    Column::count(
        "objects",
        "1",
        "number of objects of the page, with the main object",
        |r| r.page.objects,
    ),
    Column::count("bytes", "bytes", "payload of all objects", |r| r.page.bytes),
    Column::real("asked_s", "s", "time at which the main object was requested", |r| {
        r.page.asked.seconds()
    }),
    Column::real(
        "done_s",
        "s",
        "time at which the last object was delivered; no value if the run ended before, or if an object was given up",
        |r| r.page.done.map_or(f64::NAN, Time::seconds),
    ),
    Column::real("completion_s", "s", "time from asked_s to done_s", |r| {
        r.page.done.map_or(f64::NAN, |t| (t - r.page.asked).seconds())
    })
    .is(&COMPLETION_TIME),
];

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let rows = reading.pages().map(|(member, page)| PageLine {
        group: reading.group(member.group),
        member: member.index,
        page,
    });
    table("pages", COLUMNS, rows)
}
