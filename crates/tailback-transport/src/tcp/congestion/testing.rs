//! Helpers of the controllers' tests: ACKs and signs of congestion without a connection.

use super::{AckEvent, Congestion, CongestionControl, CongestionEvent, Phase};
use crate::limit::Limit;
use tailback_base::{Duration, Time};

/// An ACK of this many new bytes, to a sender that the window limits.
pub fn acked(bytes: u64) -> AckEvent<'static> {
    AckEvent {
        now: Time::ZERO,
        acked: bytes,
        sacked: 0,
        lost: 0,
        lost_by_timer: 0,
        flight: 0,
        pipe: 0,
        rtt: None,
        srtt: None,
        ecn_echo: false,
        marked: 0,
        marked_packets: 0,
        phase: Phase::Open,
        window_limited: true,
        reports_open: false,
        limit: Limit::Network,
        una: 0,
        nxt: 0,
        rate: None,
    }
}

/// A sign of congestion while this many bytes are outstanding.
pub fn sign(what: Congestion, flight: u64) -> CongestionEvent {
    CongestionEvent {
        now: Time::ZERO,
        flight,
        in_flight: flight,
        what,
    }
}

/// Segments of 1000 B under a window that is always full. There is an ACK for each segment, and the ACKs are spread
/// evenly over the round trip.
pub struct AckClock {
    pub now: f64,
    pub una: u64,
}

impl AckClock {
    pub fn new() -> AckClock {
        AckClock { now: 0.0, una: 1 }
    }

    /// The next ACK, with a round trip of `rtt` seconds. The function `with` sets the other fields of the ACK.
    pub fn ack_with(&mut self, c: &mut dyn CongestionControl, rtt: f64, with: impl FnOnce(&mut AckEvent<'static>)) {
        let window = libm::floor(c.cwnd() / 1000.0).max(1.0);
        self.now += rtt / window;
        self.una += 1000;
        let round_trip = Some(Duration::from_seconds(rtt));
        let mut ack = AckEvent {
            now: Time::from_seconds(self.now),
            una: self.una,
            nxt: self.una + 1000 * (window as u64 - 1),
            rtt: round_trip,
            srtt: round_trip,
            ..acked(1000)
        };
        with(&mut ack);
        if ack.ecn_echo {
            (ack.marked, ack.marked_packets) = (ack.acked, 1);
        }
        c.on_ack(&ack);
    }

    pub fn ack(&mut self, c: &mut dyn CongestionControl, rtt: f64) {
        self.ack_with(c, rtt, |_| {});
    }

    /// A sign of congestion now, with the whole window outstanding.
    pub fn sign(&self, c: &mut dyn CongestionControl, what: Congestion) {
        let now = Time::from_seconds(self.now);
        let flight = c.cwnd() as u64;
        c.on_congestion(&CongestionEvent {
            now,
            flight,
            in_flight: flight,
            what,
        });
    }
}
