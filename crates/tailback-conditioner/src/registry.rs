//! The list of conditioners a scenario can name: a row each.

use crate::entry::Entry;
use crate::{token_bucket, trtcm};
use std::marker::PhantomData;
use tailback_base::Packet;

/// Every conditioner, in the order the reference shows them.
pub fn entries<P: Packet + 'static>() -> &'static [Entry<P>] {
    List::<P>::ROWS
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const ROWS: &'static [Entry<P>] = &[token_bucket::entry(), trtcm::entry()];
}
