//! The line after a queue, as a discipline sees it.

use tailback_base::{BitRate, Duration, FlowId, Time};

/// The state of the line after the queue at the time of a call.
///
/// ```
/// use tailback_base::{BitRate, Duration, Time};
/// use tailback_queue::Line;
///
/// let line = Line::idle(Time::ZERO, BitRate(12_000_000));
/// assert_eq!(line.time_of(1500), Duration::from_millis(1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub now: Time,
    pub rate: BitRate,
    /// The packet being sent, if any.
    pub busy: Option<OnWire>,
}

/// The packet on the wire.
#[derive(Clone, Copy, Debug)]
pub struct OnWire {
    pub until: Time,
    pub flow: FlowId,
    /// The [`tailback_base::KeyField::Pair`] key of the packet.
    pub pair: u64,
    pub bytes: u32,
}

impl Line {
    /// The time that this number of bytes takes on the line.
    pub fn time_of(&self, bytes: u32) -> Duration {
        self.rate.time_of(u64::from(bytes))
    }

    /// An idle line, for tests and simple drivers.
    pub fn idle(now: Time, rate: BitRate) -> Line {
        Line { now, rate, busy: None }
    }
}
