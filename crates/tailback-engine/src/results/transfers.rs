//! The table `transfers`: one row a transfer that a session asked for in the measured time.
//!
//! A transfer that was asked for during the warm-up has no row, even if it ended later. One that is still under way when
//! the run ends has a row without `done_s`.

use super::column::{Column, table};
use super::{Reading, Table};
use crate::traffic::application::Transfer;
use std::sync::Arc;
use tailback_base::Time;

struct TransferLine {
    group: Arc<str>,
    member: u32,
    transfer: Transfer,
}

fn seconds(t: Option<Time>) -> f64 {
    t.map_or(f64::NAN, Time::seconds)
}

static COLUMNS: &[Column<TransferLine>] = &[
    Column::text("group", "the sessions it belongs to", |r| r.group.clone()),
    Column::count("member", "1", "which of them", |r| u64::from(r.member)),
    Column::count("bytes", "bytes", "its payload", |r| r.transfer.bytes),
    Column::real("asked_s", "s", "when it was asked for", |r| r.transfer.asked.seconds()),
    Column::real("first_s", "s", "when its first byte was delivered", |r| {
        seconds(r.transfer.first)
    }),
    Column::real(
        "done_s",
        "s",
        "when its last byte was delivered; no value if the run ended before",
        |r| seconds(r.transfer.done),
    ),
    Column::real("response_s", "s", "from asked to the first byte", |r| {
        r.transfer.first.map_or(f64::NAN, |t| (t - r.transfer.asked).seconds())
    }),
    Column::real("completion_s", "s", "from asked to done", |r| {
        r.transfer.done.map_or(f64::NAN, |t| (t - r.transfer.asked).seconds())
    }),
];

pub(super) fn read(reading: &Reading) -> Table {
    let rows = reading.transfers().map(|(member, transfer)| TransferLine {
        group: reading.group(member.group),
        member: member.index,
        transfer,
    });
    table("transfers", COLUMNS, rows)
}
