//! The table `delays`: how delays are distributed, one row per bin of a histogram that has counts.
//!
//! For a link they are the times in its queue. For a group of flows they are the one-way delays of its data packets
//! and, with echo, the round trips of its datagrams. A bin is at most a 32nd of its lower edge wide, so a quantile read
//! from these rows is within 3 %. All runs have the same edges.

use super::column::{self, Called, called_of, table};
use super::{Reading, Table};
use crate::measure::histogram::Histogram;
use std::sync::Arc;
use tailback_base::work::done;

struct DelayBin {
    what: Arc<str>,
    quantity: &'static str,
    from_s: f64,
    to_s: f64,
    packets: u64,
}

/// A column of this table.
type Column = column::Column<DelayBin>;

static COLUMNS: &[Column] = &[
    Column::text(
        "what",
        "link or group of flows, written as link.NAME or flows.GROUP",
        |r| r.what.clone(),
    )
    .key(),
    Column::word(
        "quantity",
        "sojourn (time in the queue of a link), delay (one-way delay), or round_trip (round trip of answered \
         datagrams)",
        |r| r.quantity,
    )
    .key(),
    Column::real("from_s", "s", "lower edge of the bin", |r| r.from_s).key(),
    Column::real(
        "to_s",
        "s",
        "upper edge of the bin, which does not belong to the bin",
        |r| r.to_s,
    ),
    Column::count("packets", "packets", "number of packets in the bin", |r| r.packets),
];

/// The histograms of a group of flows, each over all its flows.
#[derive(Default)]
struct OfGroup {
    delay: Histogram,
    round_trip: Histogram,
}

fn of_groups(reading: &Reading) -> Vec<OfGroup> {
    let mut groups: Vec<OfGroup> = (0..reading.groups()).map(|_| OfGroup::default()).collect();
    for (_, f) in reading.declared() {
        let delay = &f.stats.forward.delay;
        if delay.count() == 0 {
            continue;
        }
        done(64);
        let group = &mut groups[f.group as usize];
        group.delay.merge(delay);
        let quality = f.stats.media.as_ref().and_then(|m| m.quality.as_ref());
        if let Some(times) = quality.and_then(|q| q.round_trip()) {
            group.round_trip.merge(times);
        }
    }
    groups
}

pub(super) fn called() -> Vec<Called> {
    called_of(COLUMNS)
}

pub(super) fn read(reading: &Reading) -> Table {
    let mut histograms: Vec<(Arc<str>, &'static str, Histogram)> = Vec::new();
    for (name, port) in reading.reported() {
        if let Some(times) = port.sojourn(reading.to()) {
            histograms.push((format!("link.{name}").into(), "sojourn", times));
        }
    }
    for (i, group) in of_groups(reading).into_iter().enumerate() {
        let group_name: Arc<str> = format!("flows.{}", reading.group(i as u32)).into();
        histograms.push((group_name.clone(), "delay", group.delay));
        histograms.push((group_name, "round_trip", group.round_trip));
    }
    let rows = histograms.iter().flat_map(|(what, quantity, times)| {
        times.filled().map(|(from_s, to_s, packets)| DelayBin {
            what: what.clone(),
            quantity,
            from_s,
            to_s,
            packets,
        })
    });
    table("delays", COLUMNS, rows)
}
