//! The segments judged lost, for a controller that is called for each of them.
//!
//! The state is the losses since the last call of the controller, and the end of the last range. A loss costs a few
//! words.

use super::{SentList, SentSegment};
use crate::tcp::congestion::Lost;
use tailback_base::Time;

/// This number of bytes, or the largest number that fits in a record if this is less.
pub(super) fn short(bytes: u64) -> u32 {
    bytes.min(u64::from(u32::MAX)) as u32
}

/// The low half of a count of bytes, as a record keeps it.
pub(super) fn low(bytes: u64) -> u32 {
    bytes as u32
}

/// The bytes counted since a record stored the low half of the count. Less than 4 GB are outstanding.
pub(super) fn since(bytes: u64, kept: u32) -> u64 {
    u64::from(low(bytes).wrapping_sub(kept))
}

#[derive(Clone, Debug, Default)]
pub(super) struct LossesBySegment {
    found: Vec<Lost>,
    /// One past the last unit of the last lost segment.
    end: u64,
}

impl LossesBySegment {
    /// Take a lost segment. `lost` is the bytes judged lost so far, including this segment.
    pub fn note(&mut self, r: &SentSegment, lost: u64) {
        self.found.push(Lost {
            now: Time::ZERO,
            seq: r.seq,
            bytes: r.len(),
            in_flight_at_send: u64::from(r.in_flight),
            lost_since_send: since(lost, r.lost_before),
            delivered: 0,
            application_limited: r.application_limited,
            new_range: r.seq != self.end,
            by_probe: false,
        });
        self.end = r.end;
    }
}

impl SentList {
    /// The last ACK counts this many bytes as marked.
    pub fn count_marked(&mut self, bytes: u64) {
        self.marked += bytes;
    }

    /// Set whether a controller is called for each lost segment.
    pub fn telling_losses(mut self, so: bool) -> SentList {
        self.tell_losses(so);
        self
    }

    pub fn tell_losses(&mut self, so: bool) {
        match (so, &self.losses) {
            (true, None) => self.losses = Some(Box::default()),
            (true, Some(_)) => {}
            (false, _) => self.losses = None,
        }
    }

    /// Report the segments that were judged lost since the last call.
    #[inline]
    pub fn take_losses(&mut self, now: Time, tell: impl FnMut(&Lost)) {
        if self.losses.as_ref().is_some_and(|l| !l.found.is_empty()) {
            self.take(now, tell);
        }
    }

    #[cold]
    fn take(&mut self, now: Time, mut tell: impl FnMut(&Lost)) {
        let delivered = self.delivered;
        if let Some(losses) = &mut self.losses {
            for lost in losses.found.drain(..) {
                tell(&Lost { now, delivered, ..lost });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::recovery::sent::Keep;

    /// Counts continue beyond 4 GB, and records do not become longer.
    #[test]
    fn counts_of_four_gigabytes_go_on() {
        let before = (1_u64 << 33) - 500;
        assert_eq!(since(before + 1500, low(before)), 1500);
        assert_eq!(size_of::<SentSegment>(), 64);
    }

    /// A sample has the bytes counted as marked since its segment was sent.
    #[test]
    fn a_sample_counts_marks_since_its_segment() {
        let mut s = SentList::default();
        s.sent(0, 1000, false, Time(1));
        s.count_marked(500);
        s.sent(1000, 2000, false, Time(2));
        s.count_marked(700);
        assert_eq!(s.acked(1000, &[], Time(8)).map(|r| r.marked), Some(1200));
        assert_eq!(s.acked(2000, &[], Time(9)).map(|r| r.marked), Some(700));
    }

    /// Six segments of 1000 B. The second and third are one range, and the fifth is another. Each lost segment is
    /// reported once, with the amount in flight when it was sent and the amount lost since. A segment that is sent
    /// again and lost again is a separate range.
    #[test]
    fn each_lost_segment_is_told_once_with_what_was_in_flight() {
        for keep in [Keep::Records, Keep::Order] {
            let mut s = SentList::keeping(keep).telling_losses(true);
            for n in 1..=6_u64 {
                s.sent((n - 1) * 1000, n * 1000, false, Time(n));
            }
            let taken_losses = |s: &mut SentList| {
                let mut losses = Vec::new();
                s.take_losses(Time(9), |l| {
                    losses.push((l.seq, l.in_flight_at_send, l.lost_since_send, l.new_range, l.delivered));
                });
                losses
            };
            assert!(taken_losses(&mut s).is_empty());
            s.acked(1000, &[(3000, 4000), (5000, 6000)], Time(8));
            s.lose_below(5000);
            let lost = [
                (1000, 2000, 1000, true, 3000),
                (2000, 3000, 2000, false, 3000),
                (4000, 5000, 3000, true, 3000),
            ];
            assert_eq!(taken_losses(&mut s), lost);
            assert!(taken_losses(&mut s).is_empty());
            s.sent(1000, 2000, true, Time(10));
            s.lose_below(2000);
            assert_eq!(taken_losses(&mut s), [(1000, 1000, 1000, true, 3000)]);
        }
        let mut silent = SentList::default();
        silent.sent(0, 1000, false, Time(1));
        silent.lose_below(1000);
        silent.take_losses(Time(2), |l| panic!("{l:?}"));
    }
}
