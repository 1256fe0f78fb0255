//! The table `log`: one row per drop or mark, if the scenario asks for the log.

use super::column::{self, Called, called_of, table};
use super::outcome::FlowNames;
use super::{Reading, Table};
use crate::sim::recorder::{LogRow, PacketFate};
use std::sync::Arc;
use tailback_base::work::counted_as;

struct Logged {
    link: Arc<str>,
    flow: Arc<str>,
    row: LogRow,
}

/// A column of this table.
type Column = column::Column<Logged>;

static COLUMNS: &[Column] = &[
    Column::real("time_s", "s", "time of the drop or mark", |r| r.row.time.seconds()).key(),
    Column::text("link", "link at which the packet was dropped or marked", |r| {
        r.link.clone()
    })
    .key(),
    Column::text("flow", "flow of the packet", |r| r.flow.clone()),
    Column::count(
        "sequence",
        "1",
        "first byte of the segment, or number of the datagram",
        |r| r.row.sequence,
    ),
    Column::count("bytes", "bytes", "size of the packet on the wire", |r| {
        u64::from(r.row.bytes)
    }),
    Column::word("event", "drop or mark", Logged::event),
    Column::word(
        "place",
        "state of the dropped packet: arriving, queued or dequeued; empty for marks",
        Logged::place,
    ),
    Column::word("reason", "reason for the drop or mark", Logged::reason),
];

impl Logged {
    fn event(&self) -> &'static str {
        match self.row.fate {
            PacketFate::Dropped(..) => "drop",
            PacketFate::Marked(_) => "mark",
        }
    }

    fn place(&self) -> &'static str {
        match self.row.fate {
            PacketFate::Dropped(place, _) => place.name(),
            PacketFate::Marked(_) => "",
        }
    }

    fn reason(&self) -> &'static str {
        match self.row.fate {
            PacketFate::Dropped(_, why) => why.name(),
            PacketFate::Marked(why) => why.name(),
        }
    }
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let log = reading.sim.watch.recorder.as_ref().and_then(|r| r.log.as_ref());
    let (mut links, mut flows): (Vec<Arc<str>>, Vec<Arc<str>>) = (vec![], vec![]);
    if log.is_some() {
        links.extend(reading.frame.port_names.all().map(Arc::from));
        let mut names = FlowNames::of(reading.frame.groups);
        flows.extend(counted_as(64, &reading.sim.flows.all).map(|f| names.name(f)));
    }
    let rows = log.into_iter().flatten().map(|row| Logged {
        link: links[row.port as usize].clone(),
        flow: flows[row.flow as usize].clone(),
        row: *row,
    });
    table("log", COLUMNS, rows)
}
