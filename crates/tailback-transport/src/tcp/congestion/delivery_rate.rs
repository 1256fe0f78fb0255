//! Delivery-rate samples for model-based controllers (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! Each segment remembers, when it is sent, how much had been delivered by then and when. The ACK that covers it gives a
//! sample: what was delivered since, over the longer of the time it took to send and the time it took to acknowledge. A
//! sample taken while the application, not the network, held the sender back says so.
//!
//! Kept only for a controller that asks ([`CongestionControl::wants_rate`](super::CongestionControl::wants_rate)): 48
//! bytes for each outstanding segment. Departure: delivery is counted by the cumulative ACK, not by SACK, so that a
//! filled gap is delivered at once, over an interval that is longer by as much.

use super::RateSample;
use std::collections::VecDeque;
use tailback_base::Time;

#[derive(Clone, Copy, Debug)]
struct Record {
    /// One past the segment's last byte.
    end: u64,
    sent: Time,
    /// Bytes delivered when it was sent, and when the last of them was.
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of the interval was sent.
    first_sent: Time,
    application_limited: bool,
    again: bool,
}

#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// In order of `end`.
    outstanding: VecDeque<Record>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples are application limited until so much is delivered.
    limited_until: u64,
}

impl RateSampler {
    /// A segment that ends at `end` leaves.
    pub fn sent(&mut self, end: u64, again: bool, now: Time) {
        if self.outstanding.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            end,
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            application_limited: self.limited_until > self.delivered,
            again,
        };
        let i = self.outstanding.partition_point(|r| r.end < end);
        match self.outstanding.get_mut(i) {
            Some(r) if r.end == end => *r = record,
            _ => self.outstanding.insert(i, record),
        }
    }

    /// There is nothing to send although the window has room.
    pub fn application_limited(&mut self, flight: u64) {
        self.limited_until = self.delivered + flight.max(1);
    }

    /// `bytes` more are acknowledged, up to `una`.
    pub fn acked(&mut self, una: u64, bytes: u64, flight: u64, now: Time) -> Option<RateSample> {
        self.delivered += bytes;
        self.delivered_at = now;
        let mut newest: Option<Record> = None;
        while let Some(r) = self.outstanding.front().copied().filter(|r| r.end <= una) {
            self.outstanding.pop_front();
            if newest.is_none_or(|n| r.delivered >= n.delivered) {
                newest = Some(r);
            }
        }
        let r = newest?;
        self.first_sent = r.sent;
        let interval = r.sent.since(r.first_sent).max(now.since(r.delivered_at));
        Some(RateSample {
            now,
            delivered: self.delivered - r.delivered,
            interval,
            rtt: (!r.again).then(|| now.since(r.sent)),
            application_limited: r.application_limited,
            flight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Duration;

    /// A line of 1000 B/ms, 10 ms away, kept busy by a window of 20 segments.
    #[test]
    fn a_busy_line_is_measured_exactly() {
        let mut s = RateSampler::default();
        let at = |ms: u64| Time(ms * 1_000_000);
        for n in 1..=20 {
            s.sent(n * 1000, false, at(n));
        }
        for n in 1..=40 {
            let sample = s.acked(n * 1000, 1000, 20_000, at(n + 20)).unwrap();
            if n > 20 {
                assert_eq!((sample.delivered, sample.interval), (20_000, Duration::from_millis(20)));
                assert_eq!(sample.rtt, Some(Duration::from_millis(20)));
                assert!(!sample.application_limited);
            }
            s.sent((n + 20) * 1000, false, at(n + 20));
        }
    }

    #[test]
    fn repeats_give_no_round_trip_and_a_silent_application_is_noted() {
        let mut s = RateSampler::default();
        s.sent(1000, false, Time(0));
        s.sent(1000, true, Time(5));
        s.application_limited(1000);
        s.sent(2000, false, Time(6));
        let sample = s.acked(1000, 1000, 0, Time(10)).unwrap();
        assert!(sample.rtt.is_none() && !sample.application_limited);
        assert!(s.acked(2000, 1000, 0, Time(16)).unwrap().application_limited);
        assert!(s.acked(3000, 1000, 0, Time(17)).is_none());
    }
}
