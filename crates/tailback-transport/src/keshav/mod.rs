//! The sources of Keshav's REAL simulator, and their sink.
//!
//! The four flow controls are from the time before TCP settled: a fixed window with a timer for each packet
//! (`generic`), Jacobson and Karels' window of 1988 (`jacobson-karels`), a window controlled by a congestion bit
//! (`decbit`), and a rate controlled by pairs of packets (`packet-pair`). The sources send packets of fixed size,
//! numbered consecutively from 0, without handshake or options. A write becomes packets of at most `packet` bytes, so a
//! keystroke becomes a separate packet.
//!
//! A source is a [`Sender`], which implements [`Endpoint`]. It contains a [`state`] (numbers, outstanding packets,
//! waiting data, counters) and a flow control behind [`FlowControl`]:
//!
//! * `outstanding`: packets sent and not acknowledged. Data that was written and not yet sent is in `backlog`, outside
//!   this folder;
//! * `timers`: a timer for each packet, with backoff, for all sources except `jacobson-karels`; `oldest_timer`: one
//!   timer for the oldest packet, which is an option of `generic`;
//! * `generic`, `decbit`, `jacobson_karels`, `packet_pair`: the flow controls, one file each; `fuzzy`: the estimator of
//!   `packet_pair`;
//! * `sink`: acknowledges each data packet at once with the next number expected, the number of that packet and its
//!   congestion bit;
//! * `params`, `config`: the declarations of all parameters, and the checked values.
//!
//! An acknowledgement is a [`Segment`](crate::Segment). Its `ack` is the next packet expected, and its `seq` is the
//! number of the packet that is answered (the source stores when this packet was first sent).
//! [`Flags::ECE`](crate::Flags) is the congestion bit of that packet, and [`Flags::RETRANSMISSION`](crate::Flags) says
//! that the packet was a repeat.

pub mod config;
mod decbit;
mod fuzzy;
mod generic;
mod jacobson_karels;
mod oldest_timer;
mod outstanding;
mod packet_pair;
pub mod params;
mod sender;
mod sink;
pub mod state;
mod timers;

pub use config::Config;
pub use sender::{FlowControl, Sender};
pub use sink::Sink;

use crate::endpoint::Endpoint;
use crate::entry::{Carries, Connection, Ends, Entry};
use crate::path::Path;
use config::{DecBitConfig, JacobsonKarelsConfig, PacketPairConfig, SourceKind};
use std::sync::Arc;
use tailback_base::quantity::Refusal;
use tailback_base::{Settings, Stream};

/// Entries of the list of transports, one for each flow control.
pub static GENERIC: Entry = Entry {
    model: &params::GENERIC,
    carries: Carries::Stream(|s, _| connection(s, SourceKind::Generic)),
    capable: |_, _| false,
};
pub static JACOBSON_KARELS: Entry = Entry {
    model: &params::JACOBSON_KARELS,
    carries: Carries::Stream(|s, _| connection(s, SourceKind::JacobsonKarels(JacobsonKarelsConfig::read(s)))),
    capable: |_, _| false,
};
pub static DECBIT: Entry = Entry {
    model: &params::DECBIT,
    carries: Carries::Stream(|s, _| connection(s, SourceKind::DecBit(DecBitConfig::read(s)))),
    capable: |_, _| true,
};
pub static PACKET_PAIR: Entry = Entry {
    model: &params::PACKET_PAIR,
    carries: Carries::Stream(|s, _| connection(s, SourceKind::PacketPair(PacketPairConfig::read(s)?))),
    capable: |_, _| false,
};

fn connection(settings: &Settings, kind: SourceKind) -> Result<Connection, Refusal> {
    Ok(Connection::new(Arc::new(Config::resolve(settings, kind)?)))
}

impl Ends for Arc<Config> {
    fn segment_bytes(&self) -> u32 {
        self.packet.saturating_sub(self.header).max(1)
    }

    fn ends(&self, path: &mut dyn FnMut() -> Path, _rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        new_pair(self, &path())
    }
}

/// Both ends of a connection over `path`, source first.
pub fn new_pair(cfg: &Arc<Config>, path: &Path) -> [Box<dyn Endpoint>; 2] {
    let base = path.round_trip(cfg.packet + cfg.header, cfg.ack);
    let state = || state::SenderState::new(cfg.clone());
    let source: Box<dyn Endpoint> = match &cfg.kind {
        SourceKind::Generic => Box::new(Sender::new(state(), generic::Generic::new(cfg, base))),
        SourceKind::DecBit(own) => Box::new(Sender::new(state(), decbit::DecBit::new(cfg, own, base))),
        SourceKind::PacketPair(own) => {
            Box::new(Sender::new(state(), packet_pair::PacketPair::new(cfg, own, path, base)))
        }
        SourceKind::JacobsonKarels(own) => Box::new(Sender::new(
            state(),
            jacobson_karels::JacobsonKarels::new(cfg, own, base),
        )),
    };
    [source, Box::new(Sink::new(cfg.ack))]
}
