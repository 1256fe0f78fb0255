//! The table `losses`: drops and marks of each direction of a declared link, by place, reason and colour.

use super::column::{self, Called, called_of, table};
use super::quantity::PACKETS;
use super::{Reading, Table};
use crate::wire::port::Tally;
use std::sync::Arc;
use tailback_queue::{DropReason, MarkReason, Place};

struct LossRow {
    link: Arc<str>,
    event: &'static str,
    place: &'static str,
    reason: &'static str,
    count: Tally,
    colour: Arc<str>,
}

/// A column of this table.
type Column = column::Column<LossRow>;

static COLUMNS: &[Column] = &[
    Column::text("link", "the link", |r| r.link.clone()).key(),
    Column::text("event", "drop or mark", |r| r.event.into()).key(),
    Column::text(
        "place",
        "state of the dropped packet: arriving, queued or dequeued; empty for marks",
        |r| r.place.into(),
    )
    .key(),
    Column::text("reason", "reason for the drop or mark", |r| r.reason.into()).key(),
    Column::count("packets", "packets", "number of packets", |r| r.count.packets)
        .is(&PACKETS)
        .on_pages(),
    Column::count("bytes", "bytes", "bytes of the packets on the wire", |r| r.count.bytes),
    Column::text(
        "colour",
        "DiffServ code point of the packets, such as AF12; empty for best effort",
        |r| r.colour.clone(),
    )
    .key(),
];

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let mut rows = vec![];
    for (name, port) in reading.reported() {
        let mut colours: Vec<_> = port.stats.losses.iter().flat_map(|l| &l.colours).collect();
        colours.sort_by_key(|c| c.0.0);
        for (colour, losses) in colours {
            let colour: Arc<str> = colour.name().into();
            let mut add = |event, place, reason, count: Tally| {
                if count.packets > 0 {
                    let (link, colour) = (name.clone(), colour.clone());
                    rows.push(LossRow {
                        link,
                        event,
                        place,
                        reason,
                        count,
                        colour,
                    });
                }
            };
            for place in Place::ALL {
                for why in DropReason::ALL {
                    add(
                        "drop",
                        place.name(),
                        why.name(),
                        losses.drops[place as usize][why as usize],
                    );
                }
            }
            for why in MarkReason::ALL {
                add("mark", "", why.name(), losses.marks[why as usize]);
            }
        }
    }
    table("losses", COLUMNS, rows)
}
