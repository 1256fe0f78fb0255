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
    Column::text(
        "group",
        "name of the sessions or flows that the transfer belongs to",
        |r| r.group.clone(),
    )
    .key(),
    Column::count("member", "1", "number of the client or flow within the group", |r| {
        u64::from(r.member)
    })
    .key(),
    Column::count("bytes", "bytes", "payload of the transfer", |r| r.transfer.bytes),
    Column::real("asked_s", "s", "time at which the transfer was requested", |r| {
        r.transfer.asked.seconds()
    }),
    Column::real("first_s", "s", "time at which the first byte was delivered", |r| {
        seconds(r.transfer.first)
    }),
    Column::real(
        "done_s",
        "s",
        "time at which the last byte was delivered; no value if the run ended before",
        |r| seconds(r.transfer.done),
    ),
    Column::real("response_s", "s", "time from asked_s to first_s", |r| {
        r.after(r.transfer.first)
    }),
    Column::real("completion_s", "s", "time from asked_s to done_s", |r| {
        r.after(r.transfer.done)
    })
    .is(&COMPLETION_TIME),
    Column::real(
        "acked_s",
        "s",
        "time at which the sender received the acknowledgement of the last byte; no value if the sender never \
         received it",
        |r| seconds(r.transfer.acked),
    ),
    Column::real("acked_completion_s", "s", "time from asked_s to acked_s", |r| {
        r.after(r.transfer.acked)
    })
    .is(&ACKED_COMPLETION_TIME),
    Column::count(
        "timeouts",
        "1",
        "expiries of the sender's retransmission timer until acked_s, with those for a SYN; 0 if the transfer was \
         never acknowledged",
        |r| u64::from(r.transfer.repairs.timeouts),
    )
    .is(&TIMEOUTS),
    Column::count(
        "resent_packets",
        "packets",
        "data packets that the sender sent again until acked_s; 0 if the transfer was never acknowledged",
        |r| u64::from(r.transfer.repairs.resent),
    ),
    Column::real(
        "least_s",
        "s",
        "time of the transfer on an empty path and without windows: a round trip for each connection that was opened \
         for the transfer, and the delay and the time on the slowest line for the request and for the data",
        |r| r.transfer.least.seconds(),
    ),
    Column::real("slowdown", "1", "completion_s divided by least_s", |r| r.slowdown()).is(&SLOWDOWN),
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
