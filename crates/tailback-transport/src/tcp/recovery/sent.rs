//! A record of each outstanding segment: when it was sent, whether it was reported, judged lost or sent again.
//!
//! Kept only where someone asks for it, such as a controller that [wants rates]. From the records come delivery-rate
//! samples (draft-cheng-iccrg-delivery-rate-estimation-00): each segment remembers, when it is sent, how much had been
//! delivered by then and when. The ACK or SACK that covers it gives a sample: what was delivered since, over the longer
//! of the time it took to send and the time it took to acknowledge. A sample taken while the application, not the
//! network, held the sender back says so.
//!
//! State: 72 bytes for each outstanding segment, in order of their ends. An ACK costs a step for each segment it covers
//! and for each in its SACK blocks.
//!
//! [wants rates]: crate::tcp::CongestionControl::wants_rate

use crate::tcp::congestion::RateSample;
use std::collections::VecDeque;
use tailback_base::Time;

#[derive(Clone, Copy, Debug)]
struct SentSegment {
    /// One past the segment's last byte.
    end: u64,
    /// Payload, bytes.
    len: u32,
    /// When it was sent last.
    sent: Time,
    /// More than once.
    again: bool,
    sacked: bool,
    /// Judged lost, and not sent again since.
    lost: bool,
    /// Bytes delivered and lost when it was sent, and when the last of those was delivered.
    delivered_before: u64,
    lost_before: u64,
    delivered_at: Time,
    /// When the first segment of the interval was sent.
    first_sent: Time,
    application_limited: bool,
}

#[derive(Clone, Debug, Default)]
pub struct SentList {
    /// In order of `end`.
    outstanding: VecDeque<SentSegment>,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    /// Sent, and neither delivered nor lost; bytes.
    in_flight: u64,
    first_sent: Time,
    /// Samples of segments sent before more than this was delivered are application limited.
    limited_until: u64,
}

impl SentList {
    /// A segment of `len` bytes that ends at `end` leaves.
    pub fn sent(&mut self, end: u64, len: u32, again: bool, now: Time) {
        if self.outstanding.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = SentSegment {
            end,
            len,
            sent: now,
            again,
            sacked: false,
            lost: false,
            delivered_before: self.delivered,
            lost_before: self.lost,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            application_limited: self.limited_until > self.delivered,
        };
        let i = self.outstanding.partition_point(|r| r.end < end);
        self.in_flight += u64::from(len);
        match self.outstanding.get_mut(i) {
            Some(r) if r.end == end => {
                if !r.sacked && !r.lost {
                    self.in_flight -= u64::from(r.len);
                }
                *r = record;
            }
            _ => self.outstanding.insert(i, record),
        }
    }

    /// There is nothing to send although the window has room.
    pub fn application_limited(&mut self) {
        self.limited_until = self.delivered + self.in_flight + 1;
    }

    /// Sent, and neither delivered nor lost; bytes.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// All that ends at or below `edge` and was not reported is lost.
    pub fn lose_below(&mut self, edge: u64) {
        for r in self.outstanding.iter_mut().take_while(|r| r.end <= edge) {
            if !r.sacked && !r.lost {
                r.lost = true;
                self.lost += u64::from(r.len);
                self.in_flight -= u64::from(r.len);
            }
        }
    }

    /// An ACK up to `una` with these SACK blocks: the sample of the segment sent last among those it delivers.
    pub fn acked(&mut self, una: u64, blocks: &[(u64, u64)], now: Time) -> Option<RateSample> {
        let mut newest: Option<SentSegment> = None;
        let before = self.delivered;
        let mut deliver = |r: &SentSegment, delivered: &mut u64, in_flight: &mut u64| {
            *delivered += u64::from(r.len);
            if !r.lost {
                *in_flight -= u64::from(r.len);
            }
            if newest.is_none_or(|n| (r.delivered_before, r.sent) >= (n.delivered_before, n.sent)) {
                newest = Some(*r);
            }
        };
        while let Some(r) = self.outstanding.front().copied().filter(|r| r.end <= una) {
            self.outstanding.pop_front();
            if !r.sacked {
                deliver(&r, &mut self.delivered, &mut self.in_flight);
            }
        }
        for &(from, to) in blocks {
            let first = self.outstanding.partition_point(|r| r.end <= from);
            for r in self.outstanding.range_mut(first..).take_while(|r| r.end <= to) {
                if !r.sacked {
                    r.sacked = true;
                    deliver(r, &mut self.delivered, &mut self.in_flight);
                }
            }
        }
        let r = newest?;
        self.delivered_at = now;
        self.first_sent = r.sent;
        let interval = r.sent.since(r.first_sent).max(now.since(r.delivered_at));
        Some(RateSample {
            delivered: self.delivered - r.delivered_before,
            total: self.delivered,
            newly: self.delivered - before,
            in_flight: self.in_flight,
            lost: self.lost - r.lost_before,
            interval,
            rtt: (!r.again).then(|| now.since(r.sent)),
            application_limited: r.application_limited,
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
        let mut s = SentList::default();
        let at = |ms: u64| Time(ms * 1_000_000);
        for n in 1..=20 {
            s.sent(n * 1000, 1000, false, at(n));
        }
        for n in 1..=40 {
            let sample = s.acked(n * 1000, &[], at(n + 20)).unwrap();
            if n > 20 {
                assert_eq!((sample.delivered, sample.interval), (20_000, Duration::from_millis(20)));
                assert_eq!(sample.rtt, Some(Duration::from_millis(20)));
                assert!(!sample.application_limited);
            }
            s.sent((n + 20) * 1000, 1000, false, at(n + 20));
        }
    }

    #[test]
    fn repeats_give_no_round_trip_and_a_silent_application_is_noted() {
        let mut s = SentList::default();
        s.sent(1000, 1000, false, Time(0));
        s.sent(1000, 1000, true, Time(5));
        s.application_limited();
        s.sent(2000, 1000, false, Time(6));
        let sample = s.acked(1000, &[], Time(10)).unwrap();
        assert!(sample.rtt.is_none() && !sample.application_limited);
        assert!(s.acked(2000, &[], Time(16)).unwrap().application_limited);
        assert!(s.acked(3000, &[], Time(17)).is_none());
    }

    /// A steady segment a millisecond, 40 ms away, whose ACKs come twenty at once: the time it took to send them bounds the
    /// rate, so that no sample is above a segment a millisecond.
    #[test]
    fn acks_that_come_at_once_do_not_look_fast() {
        let mut s = SentList::default();
        let at = |ms: u64| Time(ms * 1_000_000);
        let mut fastest: f64 = 0.0;
        for n in 1..=400 {
            s.sent(n * 1000, 1000, false, at(n));
            if n > 40 && n % 20 == 0 {
                let held = (n - 59).max(1)..=n - 40;
                for una in held {
                    let sample = s.acked(una * 1000, &[], at(n)).unwrap();
                    fastest = fastest.max(sample.delivered as f64 / sample.interval.seconds());
                }
            }
        }
        assert!((fastest - 1e6).abs() < 1.0, "{fastest} B/s");
    }

    /// In the network is what was sent and neither arrived nor was lost, through losses and repairs.
    #[test]
    fn what_is_in_flight_is_counted() {
        let mut s = SentList::default();
        for n in 1..=4 {
            s.sent(n * 1000, 1000, false, Time(n));
        }
        assert_eq!(s.in_flight(), 4000);
        let sample = s.acked(0, &[(1000, 3000)], Time(10)).unwrap();
        assert_eq!((sample.in_flight, sample.newly, sample.total), (2000, 2000, 2000));
        s.lose_below(1000);
        assert_eq!(s.in_flight(), 1000);
        s.sent(1000, 1000, true, Time(12));
        s.sent(1000, 1000, true, Time(13));
        assert_eq!(s.in_flight(), 2000);
        let sample = s.acked(4000, &[], Time(20)).unwrap();
        assert_eq!((sample.in_flight, sample.newly, sample.total), (0, 2000, 4000));
    }

    #[test]
    fn a_reported_segment_is_delivered_once_and_a_lost_one_counted_once() {
        let mut s = SentList::default();
        for n in 1..=4 {
            s.sent(n * 1000, 1000, false, Time(n));
        }
        assert_eq!(s.acked(0, &[(1000, 3000)], Time(10)).unwrap().delivered, 2000);
        assert!(s.acked(0, &[(1000, 3000)], Time(11)).is_none(), "nothing new");
        s.lose_below(1000);
        s.lose_below(2000);
        let sample = s.acked(0, &[(1000, 4000)], Time(12)).unwrap();
        assert_eq!((sample.delivered, sample.lost), (3000, 1000));
        s.sent(1000, 1000, true, Time(13));
        assert_eq!(s.acked(4000, &[], Time(20)).unwrap().delivered, 1000);
    }
}
