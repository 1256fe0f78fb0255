//! RTP with feedback on congestion: media over datagrams whose sender adapts (RFC 3550, RFC 8888).
//!
//! The application writes frames. A frame is cut into packets, which wait in a pacer. The receiver reports which
//! packets arrived, when, and which of them were marked. A rate control reads the reports and sets three things: the
//! rate that the encoder should have, the rate at which the pacer sends, and how many bytes may be in flight. Nothing
//! is sent again.
//!
//! ```text
//!   application --write--> backlog --pacing, window--> network --> receiver
//!        ^                    ^                                       |
//!        '------ target ------'------- rate control <---- report -----'
//! ```
//!
//! * `control`: the contract of rate controls, and a file for each; `list`: what a scenario can name;
//! * `sender`: backlog, pacer, and which packets are in flight; `receiver`: when it reports;
//! * `report`: what the two ends send each other; `params`: the declaration.

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

/// Its row in the list of transports.
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
    /// Those of the rate control.
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
