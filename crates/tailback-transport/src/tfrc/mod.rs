//! TFRC: TCP-friendly rate control over datagrams (RFC 5348).
//!
//! The receiver counts the packets between loss events and reports their mean once per round trip. The sender
//! computes the rate that TCP would have at this loss event rate, and spaces its packets evenly. Nothing is sent
//! again, and packets are not acknowledged.
//!
//! * `equation`: TCP's rate at a loss event rate;
//! * `history`: the loss event rate from the intervals between loss events; `receiver`: finds loss events, and sends
//!   reports;
//! * `rate`: the allowed rate, computed from reports and from their absence; `sender`: spaces packets;
//! * `report`: what the two ends send to each other; `params`: the declaration.

mod equation;
pub(crate) mod history;
pub mod params;
mod rate;
mod receiver;
mod report;
mod sender;

pub use params::MODEL;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::endpoint::Endpoint;
use crate::entry::{Carries, Ends, Entry};
use crate::path::Path;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Stream};

/// The entry of TFRC in the list of transports.
pub static ENTRY: Entry = Entry {
    model: &MODEL,
    carries: Carries::Lossy(params::connection),
    capable: |settings, _| settings.get(&params::ECN),
};

/// The fields are explained in `params.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Bytes.
    pub payload: u32,
    pub header: u32,
    pub report: u32,
    pub ecn: Ecn,
    pub discount: bool,
    pub damping: bool,
    pub least_rto: Duration,
}

impl Ends for Arc<Config> {
    fn segment_bytes(&self) -> u32 {
        self.payload
    }

    fn ends(&self, _path: &mut dyn FnMut() -> Path, _rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        [
            Box::new(Sender::new(self.clone())),
            Box::new(Receiver::new(self.clone())),
        ]
    }
}
