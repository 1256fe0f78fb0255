//! The intervals that the other side has reported by SACK, disjoint and above `una`, and the progress of repairs.
//!
//! RFC 6675 section 4 defines `IsLost` and `pipe` segment by segment. Here both are computed from the intervals. A
//! segment is lost when three intervals, or the bytes of more than two segments, are reported above it. There is
//! therefore one edge. All unreported data below this edge are lost, and no data above it are lost. The last few
//! intervals determine the edge. The bytes reported below the repair mark (`HighRxt`) are counted as intervals arrive.
//! An ACK costs a binary search.
//!
//! While nothing is reported, no memory is used outside the struct.

use crate::tcp::reassembly::insert;
use tailback_base::work::done_if_long;

/// The memory of an emptied vector larger than this is freed.
const KEEP: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// The reported intervals, which are half-open, sorted, disjoint, and all above `una`.
    sacked: Vec<(u64, u64)>,
    /// Bytes in `sacked`.
    total: u64,
    /// RFC 6675 `HighRxt`: data up to here has been repaired.
    mark: u64,
    /// Bytes of `sacked` below `mark`.
    below_mark: u64,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// The reported intervals, which are half-open, sorted and disjoint.
    pub fn reported(&self) -> &[(u64, u64)] {
        &self.sacked
    }

    /// Bytes reported above `una`.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Take an ACK's blocks. Returns the number of bytes not reported before.
    pub fn update(&mut self, una: u64, max_sent: u64, blocks: &[(u64, u64)]) -> u64 {
        self.advance(una);
        let total_before = self.total;
        for &(from, to) in blocks {
            // A block below `una` reports a duplicate (RFC 2883). A block above the data that were sent is invalid.
            let (from, to) = (from.max(una), to.min(max_sent));
            if from >= to {
                continue;
            }
            let covered_below = if from < self.mark {
                self.covered(from, to.min(self.mark))
            } else {
                0
            };
            self.total += insert(&mut self.sacked, from, to);
            if from < self.mark {
                self.below_mark += to.min(self.mark) - from - covered_below;
            }
        }
        self.total - total_before
    }

    /// Bytes of `[from, to)` that are reported.
    fn covered(&self, from: u64, to: u64) -> u64 {
        let first_touched = self.sacked.partition_point(|(_, hi)| *hi <= from);
        let mut touching = 0;
        let mut sum = 0;
        for (lo, hi) in self.sacked[first_touched..].iter().take_while(|(lo, _)| *lo < to) {
            touching += 1;
            sum += hi.min(&to) - lo.max(&from);
        }
        done_if_long(touching);
        sum
    }

    /// Bytes of `[from, to)` that are not reported.
    pub fn unreported(&self, from: u64, to: u64) -> u64 {
        to.saturating_sub(from) - if to > from { self.covered(from, to) } else { 0 }
    }

    fn advance(&mut self, una: u64) {
        let covered = self.sacked.iter().take_while(|(_, hi)| *hi <= una).count();
        let cut = self.sacked.get(covered).is_some_and(|(lo, _)| *lo < una);
        if covered == 0 && !cut {
            return;
        }
        let below = self.covered(0, una.min(self.mark));
        self.total -= self.covered(0, una);
        self.below_mark -= below;
        self.sacked.drain(..covered);
        if let Some(first) = self.sacked.first_mut() {
            first.0 = first.0.max(una);
        } else if self.sacked.capacity() > KEEP {
            self.sacked = Vec::new();
        }
    }

    pub fn clear(&mut self) {
        self.total = 0;
        self.below_mark = 0;
        self.mark = 0;
        if self.sacked.capacity() > KEEP {
            self.sacked = Vec::new()
        } else {
            self.sacked.clear()
        }
    }

    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// Repairs start again from `una`. The intervals below `una` are removed first, while the counts still refer to the
    /// old mark.
    pub fn reset_mark(&mut self, una: u64) {
        self.advance(una);
        self.mark = una;
        self.below_mark = 0;
    }

    /// Data up to `to` has been repaired.
    pub fn set_mark(&mut self, to: u64) {
        if to > self.mark {
            self.below_mark += self.covered(self.mark, to);
            self.mark = to;
        }
    }

    /// RFC 6675 `IsLost`: unreported bytes below this unit are lost, and no bytes above it are lost. The unit is 0 if
    /// nothing is lost.
    pub fn lost_below(&self, threshold: u32, segment: u32) -> u64 {
        let most_bytes = u64::from(threshold - 1) * u64::from(segment);
        let mut bytes = 0;
        for (n, (lo, hi)) in self.sacked.iter().rev().enumerate() {
            bytes += hi - lo;
            // "(DupThresh) discontiguous SACKed sequences [...] or more than (DupThresh - 1) * SMSS bytes".
            if n + 1 >= threshold as usize || bytes > most_bytes {
                return *lo;
            }
        }
        0
    }

    /// RFC 6675 `pipe`: unreported bytes that are not lost, plus the bytes sent again.
    pub fn pipe(&self, una: u64, max_sent: u64, lost_below: u64) -> u64 {
        let edge = lost_below.clamp(una, max_sent);
        let (mut bytes_above, mut steps) = (0, 0);
        for (lo, hi) in self.sacked.iter().rev().take_while(|(_, hi)| *hi > edge) {
            bytes_above += hi - (*lo).max(edge);
            steps += 1;
        }
        done_if_long(steps);
        let not_lost = max_sent - edge - bytes_above;
        let repaired = self.mark.max(una) - una - self.below_mark;
        not_lost + repaired
    }

    /// The first unreported stretch at or above `from` and below the highest report.
    pub fn hole(&self, from: u64) -> Option<(u64, u64)> {
        let i = self.sacked.partition_point(|(_, hi)| *hi <= from);
        let (lo, hi) = *self.sacked.get(i)?;
        if from < lo {
            return Some((from, lo));
        }
        let (next, _) = *self.sacked.get(i + 1)?;
        Some((hi, next))
    }

    /// The end of the reported stretch around `p`; `p` itself if it is unreported.
    pub fn skip(&self, p: u64) -> u64 {
        let i = self.sacked.partition_point(|(_, hi)| *hi <= p);
        match self.sacked.get(i) {
            Some((lo, hi)) if *lo <= p => *hi,
            _ => p,
        }
    }

    /// The start of the last unreported segment below `max_sent`.
    pub fn last_unreported(&self, una: u64, max_sent: u64, segment: u32) -> Option<(u64, u64)> {
        let mut end = max_sent;
        let mut floor = una;
        for (lo, hi) in self.sacked.iter().rev() {
            if *hi < end {
                floor = *hi;
                break;
            }
            end = *lo;
        }
        (end > floor).then(|| (floor.max(end.saturating_sub(u64::from(segment))), end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 6675's definitions, segment by segment (segments of 10 bytes).
    fn by_the_rfc(sacked: &[bool], una: usize, mark: usize) -> (usize, u64) {
        let lost = |s: usize| {
            let segments_above = &sacked[s + 1..];
            let sequences = segments_above
                .iter()
                .enumerate()
                .filter(|(i, x)| **x && (*i == 0 || !segments_above[i - 1]))
                .count();
            !sacked[s] && (sequences >= 3 || segments_above.iter().filter(|x| **x).count() > 2)
        };
        let mut pipe = 0;
        for (s, arrived) in sacked.iter().enumerate().skip(una) {
            if !arrived {
                pipe += u64::from(!lost(s)) * 10 + u64::from(s < mark) * 10;
            }
        }
        ((una..sacked.len()).filter(|s| lost(*s)).count(), pipe)
    }

    proptest! {
        #[test]
        fn lost_and_pipe_follow_the_rfc(
            reports in prop::collection::vec((0usize..24, 1usize..4), 0..12), una in 0usize..6, mark in 0usize..30,
        ) {
            let n = 24;
            let mut plain = vec![false; n];
            let mut board = Scoreboard::default();
            board.reset_mark(0);
            for (i, (from, len)) in reports.iter().enumerate() {
                let to = (from + len).min(n);
                plain[*from..to].fill(true);
                board.update(0, n as u64 * 10, &[(*from as u64 * 10, to as u64 * 10)]);
                if i == reports.len() / 2 {
                    board.set_mark((mark.min(n) / 2 * 10) as u64);
                }
            }
            board.set_mark(mark.min(n) as u64 * 10);
            // The segment at `una` is never reported.
            plain[..una].fill(true);
            plain[una] = false;
            if board.skip(una as u64 * 10) != una as u64 * 10 {
                return Ok(());
            }
            board.update(una as u64 * 10, n as u64 * 10, &[]);
            let edge = board.lost_below(3, 10);
            let lost = (una..n).filter(|s| !plain[*s] && (*s as u64) * 10 < edge).count();
            let (expected_lost, expected_pipe) = by_the_rfc(&plain, una, mark);
            prop_assert_eq!(lost, expected_lost);
            prop_assert_eq!(board.pipe(una as u64 * 10, n as u64 * 10, edge), expected_pipe);
        }
    }

    /// An undone reduction resets the mark before the board has seen the ACK that undoes it.
    #[test]
    fn a_mark_that_is_reset_above_reports_forgets_them() {
        let mut b = Scoreboard::default();
        b.update(0, 100, &[(10, 20), (50, 60)]);
        b.set_mark(40);
        b.reset_mark(30);
        b.update(30, 100, &[]);
        let mut fresh = Scoreboard::default();
        fresh.reset_mark(30);
        fresh.update(30, 100, &[(50, 60)]);
        for b in [&mut b, &mut fresh] {
            b.set_mark(70);
        }
        assert_eq!((b.total(), b.pipe(30, 100, 0)), (10, fresh.pipe(30, 100, 0)));
        assert_eq!(fresh.pipe(30, 100, 0), 90);
    }

    #[test]
    fn holes_are_found_from_below() {
        let mut b = Scoreboard::default();
        b.update(10, 100, &[(20, 30), (50, 60)]);
        assert_eq!(b.hole(10), Some((10, 20)));
        assert_eq!(b.hole(15), Some((15, 20)));
        assert_eq!(b.hole(20), Some((30, 50)));
        assert_eq!(b.hole(55), None);
        assert_eq!(b.skip(25), 30);
        assert_eq!(b.skip(30), 30);
        assert_eq!(b.last_unreported(10, 100, 10), Some((90, 100)));
        assert_eq!(b.last_unreported(10, 60, 10), Some((40, 50)));
        b.clear();
        assert!(b.is_empty());
    }
}
