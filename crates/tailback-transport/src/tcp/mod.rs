//! TCP without clock or I/O.
//!
//! A one-way connection is a [`Sender`] and a [`Receiver`] that share one [`Config`]. A two-way connection has a sender
//! and a receiver at both ends, and in addition the states of RFC 9293. The sender consists of parts that do not depend
//! on each other's internals:
//!
//! * [`sender`], [`receiver`], [`reassembly`]: the two ends, and the data that the receiver holds out of order;
//! * [`connection`]: one end of a two-way connection, with its opening and closing;
//! * [`accurate`]: the counts of congestion marks at both ends (RFC 9768), and how these counts are read;
//! * `state/`: the transmission control block, with sequence space, window, retransmission timer and ECN;
//! * `recovery/`: which segments are lost and which segment leaves next, with one file for each algorithm (Tahoe, Reno,
//!   NewReno, SACK by reports and by time), and the parts that algorithms share: scoreboard, records of sent segments,
//!   spread and undone reductions, probes;
//! * [`congestion`]: how much may be outstanding, with one file for each controller behind the trait
//!   [`CongestionControl`]; `change`: another controller for an open connection;
//! * [`info`]: the values that a connection shows, as `tcp_info` does;
//! * `params`, `config`, `profiles`, `resolve`: the declarations of all parameters, and named sets of their values.
//!
//! Urgent data, PSH and checksums are not modelled. One-way connections also have no FIN (an application's `close` ends
//! the connection when everything is acknowledged), no data from receiver to sender, no receive buffer that fills, and
//! no Nagle's rule.

pub mod accurate;
mod change;
pub mod choices;
pub mod config;
pub mod congestion;
pub mod connection;
mod handshake;
pub mod info;
pub mod params;
pub mod probes;
pub mod profiles;
mod state;

pub mod reassembly;
pub mod receiver;
mod recovery;
mod resolve;

pub mod sender;
#[cfg(test)]
mod testing;

pub use change::ControlChange;
pub use config::Config;
pub use congestion::CongestionControl;
pub use connection::{ConnectionEnd, Opening};
pub use params::MODEL;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::endpoint::Endpoint;
use crate::entry::{Carries, Connection, Ends, Entry};
use crate::path::Path;
use std::sync::Arc;
use tailback_base::{Duration, Stream};

/// The entry of TCP in the list of transports.
pub static ENTRY: Entry = Entry {
    model: &MODEL,
    carries: Carries::Stream(|settings, controllers| {
        let config = Config::resolve_with(settings, &[], controllers)?;
        Ok(Connection::new(Arc::new(config)))
    }),
    capable: |settings, controllers| {
        Config::resolve_with(settings, &[], controllers).is_ok_and(|c| c.ecn != config::EcnMode::Off)
    },
};

impl Ends for Arc<Config> {
    fn segment_bytes(&self) -> u32 {
        self.payload
    }

    fn is_two_way(&self) -> bool {
        self.two_way
    }

    fn ends(&self, _path: &mut dyn FnMut() -> Path, rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        if self.two_way {
            return [Opening::Active, Opening::Passive].map(|opening| {
                let mut end = Box::new(ConnectionEnd::new(self.clone(), draw_controller(self, rng), opening));
                if let Some(phase) = draw_phase(self, rng) {
                    end.set_clock_phase(phase);
                }
                end as Box<dyn Endpoint>
            });
        }
        // Ends are large, so each end is made at its final place in memory.
        let mut sender = Box::new(Sender::new(self.clone(), draw_controller(self, rng)));
        if let Some(phase) = draw_phase(self, rng) {
            sender.set_clock_phase(phase);
        }
        [sender, Box::new(Receiver::new(self.clone()))]
    }
}

/// Both ends of a connection. A clock phase that is not given is 0, because there are no random draws here.
pub fn new_pair(cfg: &Arc<Config>) -> (Sender, Receiver) {
    (
        Sender::new(cfg.clone(), cfg.build_controller()),
        Receiver::new(cfg.clone()),
    )
}

/// A controller with its random values drawn.
fn draw_controller(cfg: &Config, rng: &mut Stream) -> Box<dyn CongestionControl> {
    let mut control = cfg.build_controller();
    control.draw(rng);
    control
}

/// The phase of a clock with ticks, if the configuration does not give it.
fn draw_phase(cfg: &Config, rng: &mut Stream) -> Option<Duration> {
    let drawn = cfg.clock_phase.is_none() && cfg.rto_form == config::RtoForm::Ticks;
    drawn.then(|| Duration((rng.uniform() * cfg.clock_granularity.0 as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::config;

    #[test]
    fn only_a_ticking_clock_without_a_phase_draws_one() {
        let draws = |values: &[(&str, &str)]| {
            let (mut rng, untouched) = (Stream::new(1, "x"), Stream::new(1, "x").bits());
            Arc::new(config(values)).ends(&mut Path::default, &mut rng);
            rng.bits() != untouched
        };
        assert!(draws(&[("profile", "ns2")]));
        assert!(!draws(&[("profile", "ns2"), ("clock_phase", "0s")]));
        assert!(!draws(&[]));
    }
}
