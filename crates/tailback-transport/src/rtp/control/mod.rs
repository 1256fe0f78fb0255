//! The contract between a sender of media and its rate control.
//!
//! A rate control never sees a payload and sends nothing itself. It is called for each packet that leaves and for each
//! report, and returns five numbers ([`RateOutput`]). All rates are on the wire, bit/s. The sender converts these rates
//! for the encoder. After every call the sender reads [`RateControl::output`].

mod base;
pub mod gcc;
pub mod list;
pub mod nada;
pub mod scream;

use std::fmt;
use tailback_base::model::Registered;
use tailback_base::{Duration, Ecn, Model, Settings, Time};

/// The settings from the application and the transport: rates in bit/s on the wire, and the code point of data packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Terms {
    pub min: f64,
    pub start: f64,
    pub max: f64,
    pub ecn: Ecn,
}

impl Terms {
    pub fn clamp(&self, rate: f64) -> f64 {
        rate.clamp(self.min, self.max)
    }
}

/// When a receiver reports, and the accuracy of the arrival times in its reports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReportRule {
    /// A report is due at most this time after the report before.
    pub every: Duration,
    /// A report is due after this many packets; 0: never for this reason.
    pub packets: u32,
    /// A report is due after the last packet of each frame.
    pub frames: bool,
    /// The unit of arrival times.
    pub step: Duration,
}

impl ReportRule {
    /// A report every 100 ms, with arrival times in units of 1/1024 s (RFC 8888 section 3.1).
    pub const RFC8888: ReportRule = ReportRule {
        every: Duration::from_millis(100),
        packets: 0,
        frames: false,
        step: Duration(976_563),
    };
}

/// The application writes a frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WrittenFrame {
    pub now: Time,
    pub payload: u64,
    /// Payload that waits in the pacer, this frame included.
    pub waiting: u64,
    /// How long the oldest frame has waited in the pacer.
    pub waited: Duration,
}

/// A packet leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LeavingPacket {
    pub now: Time,
    pub number: u64,
    /// On the wire.
    pub bytes: u32,
    /// Bytes sent and not reported, this packet included.
    pub in_flight: u64,
    /// The packet carries no media.
    pub is_padding: bool,
}

/// Whether a packet arrived or was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Received { at: Time, marked: bool },
    Lost,
}

/// A packet that a report covers for the first time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReportedPacket {
    pub number: u64,
    /// On the wire.
    pub bytes: u32,
    pub sent: Time,
    pub fate: Fate,
}

/// A report has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    pub now: Time,
    /// In the order of numbers.
    pub packets: &'a [ReportedPacket],
    /// The round trip of the newest packet in the report, without the time for which the report waited.
    pub rtt: Duration,
    /// Bytes sent and not reported.
    pub in_flight: u64,
}

/// The outputs of a rate control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateOutput {
    /// The rate that the encoder should have, bit/s on the wire.
    pub target: f64,
    /// The rate at which packets leave while some wait, bit/s.
    pub pacing: f64,
    /// The bytes that take this long at the pacing rate may leave at once.
    pub burst: Duration,
    /// No packet leaves while this many bytes are in flight.
    pub window: u64,
    /// Payload of the packets of padding that leave at the pacing rate while no media wait; 0 for no padding.
    pub padding: u32,
}

/// A rate control.
pub trait RateControl: Send {
    fn on_frame(&mut self, _f: &WrittenFrame) {}
    fn on_sent(&mut self, _s: &LeavingPacket) {}
    fn on_feedback(&mut self, f: &Feedback);
    /// When [`RateControl::on_timer`] is to be called.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    /// The present outputs of the rate control. `waiting` is the payload in the pacer, without that of a write without
    /// end.
    fn output(&self, waiting: u64) -> RateOutput;
    /// The present value of the probe with this index.
    fn read(&self, _probe: usize) -> f64 {
        f64::NAN
    }
}

/// A rate control that a scenario can name.
pub struct RateController {
    pub model: &'static Model,
    pub rule: ReportRule,
    pub build: fn(&Settings, Terms) -> Box<dyn RateControl>,
}

impl fmt::Debug for RateController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateController({})", self.model.name)
    }
}

impl Registered for RateController {
    const FAMILY: &'static str = "rate-control";
    const WHAT: &'static str = "rate control";
    fn model(&self) -> &'static Model {
        self.model
    }
}
