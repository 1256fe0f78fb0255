//! The list of conditioners that a scenario can name: an entry for each, and every meter of [`crate::meter::list`].

use crate::entry::Entry;
use crate::meter::MeterList;
use crate::{atbtc, code_point, edge, painter, policer};
use std::marker::PhantomData;
use tailback_base::Packet;
use tailback_base::model::Registry;

/// Every conditioner, in the order of the reference page.
pub fn entries<P: Packet + 'static>() -> Registry<Entry<P>> {
    let meters = MeterList::standard();
    let painters = meters.rows().iter().map(painter::entry);
    Registry::new(painters.chain(List::<P>::ROWS.iter().copied()))
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const ROWS: &'static [Entry<P>] = &[code_point::entry(), policer::entry(), atbtc::entry(), edge::entry()];
}
