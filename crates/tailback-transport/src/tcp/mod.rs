//! TCP, one way: a sender and a receiver, without clock or I/O.
//!
//! A connection is a [`Sender`] and a [`Receiver`] that share one [`Config`]. The sender is made of parts that do not
//! know each other's insides:
//!
//! * `core`: sequence space, retransmission timer, ECN window, writing of segments;
//! * `rto`: round-trip estimation and backoff;
//! * `recovery/`: what is lost and what goes next, one file an algorithm (Tahoe, Reno, NewReno, SACK twice);
//! * `scoreboard`: what SACK has reported;
//! * `rate`: delivery-rate samples, for controllers that ask;
//! * [`congestion`]: how much may be outstanding, behind the trait [`CongestionControl`];
//! * `params`, `config`, `profile`: every parameter once, as data, and named sets of their values.
//!
//! Not modelled: FIN (an application's `close` ends the connection when all is acknowledged), data from receiver to
//! sender, urgent data, checksums, a receive buffer that fills (the advertised window is constant, so there are no window
//! updates and no zero-window probes), Nagle's rule, F-RTO, PRR.

pub mod config;
pub mod congestion;
mod core;
pub mod params;
pub mod profile;
mod rate;
mod reassembly;
pub mod receiver;
mod recovery;
mod rto;
mod scoreboard;
pub mod sender;
#[cfg(test)]
mod testing;

pub use config::Config;
pub use congestion::CongestionControl;
pub use params::MODEL;
pub use profile::Profile;
pub use receiver::Receiver;
pub use sender::Sender;

use std::sync::Arc;

/// Both ends of a connection.
pub fn new_pair(cfg: &Arc<Config>) -> (Sender, Receiver) {
    (Sender::new(cfg.clone()), Receiver::new(cfg.clone()))
}
