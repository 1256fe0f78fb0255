//! Congestion control: how much may be outstanding, and how fast it may leave.
//!
//! Loss recovery decides *what* to send and *that* something was lost; a controller decides the window. What happened
//! goes in (ACKs, losses, ECN echoes, timeouts, rate samples), window and pacing rate come out. A controller knows
//! neither sequence numbers nor timers, so that CUBIC or BBR is one new file here and one row in [`CONTROLLERS`].
//!
//! Windows are real numbers of bytes. The sender rounds down to whole segments by sending only what fits.

pub mod delivery_rate;
pub mod reno;

use super::config::Config;
use tailback_base::{Duration, Time};

/// An ACK of new data outside fast recovery.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    pub now: Time,
    /// Newly acknowledged, bytes.
    pub bytes: u64,
    /// Outstanding before this ACK, bytes.
    pub flight: u64,
    /// Whether the window was what held the sender back, so that growth means something (RFC 7661).
    pub window_limited: bool,
    /// Slow start after a timeout, where byte counting is held to one segment (RFC 3465 section 2.3).
    pub after_timeout: bool,
    /// Whether this ACK echoed congestion (DCTCP counts these; the classic controllers do not see them).
    pub ecn_echo: bool,
    pub srtt: Option<Duration>,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congested {
    pub now: Time,
    /// Outstanding, without what limited transmit sent, bytes (RFC 5681 section 3.2).
    pub flight: u64,
    /// A timeout of a segment that had timed out before: the threshold stays (RFC 5681 section 3.1).
    pub again: bool,
}

/// One delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation), for model-based controllers.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    pub now: Time,
    /// Delivered over the interval, bytes.
    pub delivered: u64,
    pub interval: Duration,
    pub rtt: Option<Duration>,
    pub application_limited: bool,
    /// Outstanding after the ACK, bytes.
    pub flight: u64,
}

/// A congestion controller of one connection.
pub trait CongestionControl: Send {
    /// Congestion window, bytes.
    fn cwnd(&self) -> f64;
    /// Slow-start threshold, bytes; infinite when there is none.
    fn ssthresh(&self) -> f64;
    /// Recovery or connection management says what the window is now: Tahoe's collapse, the end of recovery, idle
    /// restart. The threshold stays.
    fn set_cwnd(&mut self, bytes: f64);
    /// New data were acknowledged outside fast recovery.
    fn ack(&mut self, a: &Acked);
    /// A segment was found lost without a timeout: reduce once. Both window and threshold are set.
    fn loss(&mut self, e: &Congested);
    /// A congestion echo that may be acted on: at most once a window.
    fn ecn(&mut self, e: &Congested);
    /// The retransmission timer expired with data outstanding.
    fn timeout(&mut self, e: &Congested);
    /// Whether delivery-rate samples are worth taking.
    fn wants_rate(&self) -> bool {
        false
    }
    fn rate(&mut self, _s: &RateSample) {}
    /// Bytes per second to pace at; `None` sends as the window allows.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
}

/// One row of the table of controllers.
pub struct Controller {
    pub name: &'static str,
    pub build: fn(&Config) -> Box<dyn CongestionControl>,
}

/// Every controller a scenario can name.
pub static CONTROLLERS: &[Controller] = &[Controller {
    name: "reno",
    build: reno::build,
}];

/// The same names, for the declaration of the parameter `congestion`.
pub const NAMES: &[&str] = &["reno"];

#[cfg(test)]
mod tests {
    #[test]
    fn the_names_declared_are_the_controllers_there_are() {
        let rows: Vec<&str> = super::CONTROLLERS.iter().map(|c| c.name).collect();
        assert_eq!(rows, super::NAMES);
    }
}
