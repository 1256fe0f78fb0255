//! The list of traffic sources a scenario can name.
//!
//! To add a source, write a file with its `MODEL` and its [`Entry`], and add a row here.

use super::entry::Entry;
use super::{bulk, bursts, cbr, churn, instants, on_off, poisson, telnet, trains, transfer, video, voice};

/// Every source, in the order of the reference page.
pub static SOURCES: &[&Entry] = &[
    &bulk::ENTRY,
    &transfer::ENTRY,
    &bursts::ENTRY,
    &cbr::ENTRY,
    &poisson::ENTRY,
    &trains::ENTRY,
    &churn::ENTRY,
    &instants::ENTRY,
    &on_off::ENTRY,
    &telnet::ENTRY,
    &voice::ENTRY,
    &video::ENTRY,
];
