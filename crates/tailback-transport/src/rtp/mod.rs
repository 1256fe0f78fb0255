//! RTP with feedback on congestion: media over datagrams, with a sender that adapts its rate (RFC 3550, RFC 8888).
//!
//! The application writes frames. A frame is cut into packets, which wait in a pacer. The receiver reports which
//! packets arrived, when, and which of them were marked. A rate control reads the reports and sets the rate that the
//! encoder should have, the rate at which the pacer sends, and the number of bytes that may be in flight. Nothing is
//! sent again.
//!
//! ```text
//!   application --write--> backlog --pacing, window--> network --> receiver
//!        ^                    ^                                       |
//!        '------ target ------'------- rate control <---- report -----'
//! ```
//!
//! * `control`: the contract of rate controls, and a file for each rate control; `list`: the rate controls that a
//!   scenario can name;
//! * `sender`: the backlog, the pacer, and the packets in flight; `receiver`: when the receiver reports;
//! * `report`: what the two ends send to each other; `params`: the declaration.

pub mod control;
pub mod params;
mod receiver;
pub mod report;
mod sender;

pub use params::MODEL;
pub use receiver::MediaReceiver;
pub use sender::MediaSender;

use crate::endpoint::Endpoint;
use crate::entry::{Carries, Ends, Entry};
use crate::path::Path;
use control::{RateController, ReportRule, Terms};
use std::sync::Arc;
use tailback_base::{Ecn, Settings, Stream};

/// The entry of RTP in the list of transports.
pub static ENTRY: Entry = Entry {
    model: &MODEL,
    carries: Carries::Adapting(params::connection),
    capable: |settings, _| settings.get(&params::ECN).code_point() != Ecn::NotEct,
};

/// The fields are explained in `params.rs`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes.
    pub payload: u32,
    pub header: u32,
    pub ecn: Ecn,
    pub terms: Terms,
    pub rule: ReportRule,
    pub controller: &'static RateController,
    /// The settings of the rate control.
    pub settings: Settings,
}

impl Config {
    /// The share of a rate on the wire that is payload, if all packets are full.
    pub fn payload_share(&self) -> f64 {
        f64::from(self.payload) / f64::from(self.payload + self.header)
    }
}

impl Ends for Arc<Config> {
    fn segment_bytes(&self) -> u32 {
        self.payload
    }

    fn ends(&self, _path: &mut dyn FnMut() -> Path, _rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        [
            Box::new(MediaSender::new(self.clone())),
            Box::new(MediaReceiver::new(self.clone())),
        ]
    }
}
