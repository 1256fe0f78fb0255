//! Segments that are counted without being identified: those that duplicates without SACK stand for, and those that
//! arrive twice.

use super::{Counts, SentList, SentSegment};
use crate::tcp::congestion::RateSample;
use crate::tcp::recovery::duplicate_report;
use tailback_base::{Duration, Time};

impl SentList {
    /// The number of segments in each state. This costs a step for each segment.
    pub fn counts(&self) -> Counts {
        let number_of = |which: fn(&SentSegment) -> bool| self.outstanding.iter().filter(|r| which(r)).count() as u64;
        Counts {
            outstanding: number_of(|_| true),
            sacked: number_of(|r| r.sacked),
            lost: number_of(|r| r.lost),
            again: number_of(|r| r.again && r.is_in_flight()),
        }
    }

    /// The time at which the segment whose round trip the last ACK measures was sent.
    pub fn measured(&self) -> Option<Time> {
        self.first_acked.or(self.first_reported)
    }

    /// Segments that the number of the last ACK covered.
    pub fn acked_segments(&self) -> u32 {
        self.acked_segments
    }

    /// The number of segments for which duplicates stand.
    pub fn counted(&self) -> u32 {
        self.counted.0
    }

    pub fn counted_bytes(&self) -> u64 {
        self.counted.1
    }

    /// A duplicate stands for one more segment of this many bytes.
    pub fn count(&mut self, bytes: u64) {
        self.counted = (self.counted.0 + 1, self.counted.1 + bytes);
    }

    pub fn count_none(&mut self) {
        self.counted = (0, 0);
    }

    /// These segments, for which duplicates stand, are delivered.
    pub fn deliver_counted(&mut self, segments: u32, bytes: u64) {
        let delivered = u64::from(segments) * bytes;
        self.delivered += delivered;
        self.newly += delivered;
    }

    /// At least the first segment, and each lost one, has not arrived. If more segments are counted than the others,
    /// the count is limited, and the number of outstanding segments is returned.
    pub fn limit_counted(&mut self) -> Option<u32> {
        let outstanding = self.outstanding.len() as u32;
        let holes = (self.waiting.len() as u32).max(1).min(outstanding);
        let most_counted = outstanding - holes;
        if self.counted.0 <= most_counted {
            return None;
        }
        self.set_counted(most_counted);
        Some(outstanding)
    }

    fn set_counted(&mut self, segments: u32) {
        let each = self.counted.1 / u64::from(self.counted.0).max(1);
        self.counted = (segments, u64::from(segments) * each);
    }

    /// An ACK covers one hole. Its other segments had been counted, and were delivered at that time. Segments differ in
    /// length, so more bytes may have been counted than the ACK delivers. `before` is the amount delivered before the
    /// ACK.
    pub(super) fn take_back_counted(&mut self, before: u64) {
        let back = self.counted.0.min(self.acked_segments - 1);
        let counted = self.counted.1;
        self.set_counted(self.counted.0 - back);
        self.delivered = (self.delivered - (counted - self.counted.1)).max(before);
    }

    /// The first segment is lost. Returns the newly lost bytes.
    pub fn lose_first(&mut self) -> u64 {
        if self.outstanding.is_empty() { 0 } else { self.lose(0) }
    }

    /// The sample of an ACK that shows that some unknown segment was delivered. It has no rate.
    pub fn counted_sample(&self) -> Option<RateSample> {
        (self.newly > 0).then(|| RateSample {
            delivered: 0,
            total: self.delivered,
            newly: self.newly,
            in_flight: self.in_flight(),
            lost: 0,
            marked: 0,
            in_flight_at_send: 0,
            interval: Duration::ZERO,
            until_next: Duration::ZERO,
            rtt: None,
            application_limited: false,
        })
    }

    /// The bytes that the last ACK delivered.
    pub fn newly(&self) -> u64 {
        self.newly
    }

    /// A range that the blocks of an ACK up to `una` report as a duplicate is delivered once more.
    pub(super) fn count_duplicate(&mut self, una: u64, blocks: &[(u64, u64)]) {
        let Some(d) = &mut self.duplicates else { return };
        if let Some((from, to)) = duplicate_report(una, blocks) {
            d.reported += 1;
            if d.reported <= d.sent {
                self.delivered += to - from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Duplicates without SACK stood for whole segments, and the ACK covers shorter segments. Nothing is newly
    /// delivered.
    #[test]
    fn an_ack_of_less_than_was_counted_delivers_nothing() {
        let mut s = SentList::default();
        for n in 1..=3 {
            s.sent((n - 1) * 100, n * 100, false, Time(n));
        }
        s.acked(0, &[], Time(10));
        s.count(1000);
        s.deliver_counted(1, 1000);
        let sample = s.acked(200, &[], Time(20)).unwrap();
        assert_eq!((sample.newly, sample.total, s.counted()), (0, 1000, 0));
    }
}
