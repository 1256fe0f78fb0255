//! TCP, one way: a sender and a receiver, without clock or I/O.
//!
//! A connection is a [`Sender`] and a [`Receiver`] that share one [`Config`]. The sender is made of parts that do not
//! know each other's insides:
//!
//! * [`sender`], [`receiver`], `reassembly`: the two ends, and what the second holds out of order;
//! * `state/`: the transmission control block: sequence space, window, retransmission timer, ECN;
//! * `recovery/`: what is lost and what goes next, one file an algorithm (Tahoe, Reno, NewReno, SACK twice), and the
//!   scoreboard of what SACK has reported;
//! * [`congestion`]: how much may be outstanding, one file a controller behind the trait [`CongestionControl`];
//! * `params`, `config`, `profiles`, `resolve`: every parameter once, as data, and named sets of their values.
//!
//! Not modelled: FIN (an application's `close` ends the connection when all is acknowledged), data from receiver to
//! sender, urgent data, checksums, a receive buffer that fills (the advertised window is constant, so there are no
//! window updates and no zero-window probes), Nagle's rule, F-RTO, PRR.

pub mod config;
pub mod congestion;
mod handshake;
pub mod params;
pub mod profiles;
mod state;

mod reassembly;
pub mod receiver;
mod recovery;
mod resolve;

pub mod sender;
#[cfg(test)]
mod testing;

pub use config::Config;
pub use congestion::CongestionControl;
pub use params::MODEL;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::endpoint::Endpoint;
use crate::entry::{Carries, Connection, Ends, Entry};
use crate::path::Path;
use std::sync::Arc;
use tailback_base::{Duration, Stream};

/// Its row in the list of transports.
pub static ENTRY: Entry = Entry {
    model: &MODEL,
    carries: Carries::Stream(|settings, controllers| {
        let config = Config::resolve_with(settings, &[], controllers)?;
        Ok(Connection::new(Arc::new(config)))
    }),
};

impl Ends for Arc<Config> {
    fn segment_bytes(&self) -> u32 {
        self.payload
    }

    fn ends(&self, _path: &mut dyn FnMut() -> Path, rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        let (sender, receiver) = draw_pair(self, rng);
        [Box::new(sender), Box::new(receiver)]
    }
}

/// Both ends of a connection. A clock phase that is not given is 0: nothing here is random.
pub fn new_pair(cfg: &Arc<Config>) -> (Sender, Receiver) {
    let sender = Sender::new(cfg.clone(), cfg.build_controller());
    let receiver = Receiver::new(cfg.clone(), sender.echo());
    (sender, receiver)
}

/// Both ends of a connection, what the configuration leaves to chance drawn from `rng`: what the controller draws, and
/// the phase of a ticking clock.
pub fn draw_pair(cfg: &Arc<Config>, rng: &mut Stream) -> (Sender, Receiver) {
    let mut control = cfg.build_controller();
    control.draw(rng);
    let sender = Sender::new(cfg.clone(), control);
    let receiver = Receiver::new(cfg.clone(), sender.echo());
    if cfg.clock_phase.is_some() || cfg.rto_form != config::RtoForm::Ticks {
        return (sender, receiver);
    }
    let phase = Duration((rng.uniform() * cfg.clock_granularity.0 as f64) as u64);
    (sender.with_clock_phase(phase), receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::config;

    #[test]
    fn only_a_ticking_clock_without_a_phase_draws_one() {
        let drawn = |values: &[(&str, &str)]| {
            let (mut rng, untouched) = (Stream::new(1, "x"), Stream::new(1, "x").bits());
            draw_pair(&Arc::new(config(values)), &mut rng);
            rng.bits() != untouched
        };
        assert!(drawn(&[("profile", "ns2")]));
        assert!(!drawn(&[("profile", "ns2"), ("clock_phase", "0s")]));
        assert!(!drawn(&[]));
    }
}
