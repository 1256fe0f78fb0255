//! The table `transfers`: one row for each transfer that a session, or a flow with `traffic = "transfer"`, requested
//! in the measured time.
//!
//! A transfer that was requested during the warm-up has no row, even if it ended later. A transfer that is not finished
//! when the run ends has a row without `done_s`.

use super::column::{self, Called, called_of, table};
use super::quantity::{ACKED_COMPLETION_TIME, COMPLETION_TIME, SLOWDOWN, TIMEOUTS};
use super::summary::ratio;
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

/// A column of this table.
type Column = column::Column<TransferLine>;

static COLUMNS: &[Column] = &[
    Column::text("group", "the sessions or flows it belongs to", |r| r.group.clone()).key(),
    Column::count("member", "1", "which of them", |r| u64::from(r.member)).key(),
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
        r.after(r.transfer.first)
    }),
    Column::real("completion_s", "s", "from asked to done", |r| r.after(r.transfer.done)).is(&COMPLETION_TIME),
    Column::real(
        "acked_s",
        "s",
        "when its sender had the acknowledgement of its last byte; no value if it never had",
        |r| seconds(r.transfer.acked),
    ),
    Column::real("acked_completion_s", "s", "from asked to acked", |r| {
        r.after(r.transfer.acked)
    })
    .is(&ACKED_COMPLETION_TIME),
    Column::count(
        "timeouts",
        "1",
        "expiries of its sender's retransmission timer until acked, those for a SYN too; 0 if it never was",
        |r| u64::from(r.transfer.repairs.timeouts),
    )
    .is(&TIMEOUTS),
    Column::count(
        "resent_packets",
        "packets",
        "data packets its sender sent again until acked; 0 if it never was",
        |r| u64::from(r.transfer.repairs.resent),
    ),
    Column::real(
        "least_s",
        "s",
        "what it would take on an empty path and without windows: a round trip for each connection opened for it, and \
         for \
         its request and its data the delay and the time on the slowest line",
        |r| r.transfer.least.seconds(),
    ),
    Column::real("slowdown", "1", "completion_s over least_s", |r| r.slowdown()).is(&SLOWDOWN),
];

impl TransferLine {
    /// The time from the request to an instant.
    fn after(&self, t: Option<Time>) -> f64 {
        t.map_or(f64::NAN, |t| (t - self.transfer.asked).seconds())
    }

    fn slowdown(&self) -> f64 {
        ratio(self.after(self.transfer.done), self.transfer.least.seconds())
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let rows = reading.transfers().map(|(member, transfer)| TransferLine {
        group: reading.group(member.group),
        member: member.index,
        transfer,
    });
    table("transfers", COLUMNS, rows)
}
