//! The values that a rate control of media written in Python gets: plain data, times in seconds, rates in bit/s.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The values that the application and the transport give; rates in bit/s on the wire. They are the first argument of a
/// class.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct MediaTerms {
    pub min: f64,
    pub start: f64,
    pub max: f64,
    /// "off", "ect0" or "ect1".
    pub ecn: &'static str,
}

/// A packet that a report covers for the first time.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct MediaPacket {
    pub number: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    pub sent: f64,
    /// The time at which it was received; None if it is lost.
    pub received: Option<f64>,
    pub marked: bool,
}

/// A report has arrived.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct MediaFeedback {
    pub now: f64,
    /// The packets in the order of their numbers.
    pub packets: Py<PyTuple>,
    /// The round trip of the newest packet that arrived, without the time for which its report waited.
    pub rtt: f64,
    /// Bytes sent and not reported yet.
    pub in_flight: u64,
}

/// The application writes a frame; amounts are payload.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct MediaFrame {
    pub now: f64,
    pub bytes: u64,
    /// Payload in the pacer, including this frame.
    pub waiting: u64,
    /// The time for which the oldest frame has waited in the pacer.
    pub waited: f64,
}

/// A packet leaves.
#[pyclass(frozen, get_all, module = "tailback._core")]
pub struct MediaDeparture {
    pub now: f64,
    pub number: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Bytes sent and not reported yet, including this packet.
    pub in_flight: u64,
    /// Whether it carries no media.
    pub padding: bool,
}
