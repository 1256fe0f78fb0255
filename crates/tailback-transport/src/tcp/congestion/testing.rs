//! Helpers of the controllers' tests: ACKs and signs of congestion by hand.

use super::{AckEvent, Congestion, CongestionEvent, Phase};
use crate::limit::Limit;
use tailback_base::Time;

/// An ACK of so many new bytes, of a sender whom the window holds back.
pub fn acked(bytes: u64) -> AckEvent<'static> {
    AckEvent {
        now: Time::ZERO,
        acked: bytes,
        sacked: 0,
        lost: 0,
        flight: 0,
        pipe: 0,
        rtt: None,
        srtt: None,
        ecn_echo: false,
        phase: Phase::Open,
        window_limited: true,
        limit: Limit::Network,
        una: 0,
        nxt: 0,
        rate: None,
    }
}

/// A sign of congestion while so many bytes are outstanding.
pub fn sign(what: Congestion, flight: u64) -> CongestionEvent {
    CongestionEvent {
        now: Time::ZERO,
        flight,
        what,
    }
}
