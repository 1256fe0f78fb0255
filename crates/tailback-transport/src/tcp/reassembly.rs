//! The data that a receiver holds beyond the next byte that it expects: disjoint intervals, and the intervals to
//! report.
//!
//! Intervals are kept sorted in a plain vector. Usually the last interval grows, and a search takes a few steps. While
//! nothing is missing, the vector owns no memory. A SACK option lists the intervals that changed last (RFC 2018 section
//! 4). One byte of each interval is stored, newest first. The interval around this byte is looked up when an ACK is
//! written, so the order stays right when intervals merge.

use crate::segment::SackBlocks;
use smallvec::SmallVec;
use tailback_base::work::done_if_long;

/// The number of points that are stored for SACK. An option has room for four blocks. With twice as many points enough
/// are left when some intervals merge.
const POINTS: usize = 8;
/// The memory of an emptied vector larger than this is freed.
const KEEP: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// The intervals, which are half-open, sorted, disjoint and not touching.
    held: Vec<(u64, u64)>,
    /// One byte of each interval that changed last, newest first.
    points: SmallVec<[u64; POINTS]>,
}

impl Reassembly {
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Bytes held below this one.
    pub fn bytes_below(&self, end: u64) -> u64 {
        done_if_long(self.held.len() / 32);
        self.held.iter().map(|(lo, hi)| hi.min(&end) - lo.min(&end)).sum()
    }

    /// Take `[from, to)`. Returns whether any byte of it is new.
    pub fn insert(&mut self, from: u64, to: u64) -> bool {
        if to <= from {
            return false;
        }
        let fresh = insert(&mut self.held, from, to);
        // Remove the old point of the same interval, because `from` is its point now.
        let held = &self.held;
        let (lo, hi) = find(held, from).unwrap_or((from, to));
        self.points.retain(|p| *p < lo || *p >= hi);
        self.points.truncate(POINTS - 1);
        self.points.insert(0, from);
        fresh > 0
    }

    /// The data up to `next` arrived in order. Returns the next expected byte, past any held interval that now
    /// connects.
    pub fn advance(&mut self, next: u64) -> u64 {
        let mut next_byte = next;
        let mut filled = 0;
        while let Some(&(lo, hi)) = self.held.get(filled)
            && lo <= next_byte
        {
            next_byte = next_byte.max(hi);
            filled += 1;
        }
        if filled > 0 {
            self.held.drain(..filled);
            if self.held.is_empty() && self.held.capacity() > KEEP {
                self.held = Vec::new();
            }
        }
        if !self.points.is_empty() {
            self.points.retain(|p| *p >= next_byte);
        }
        next_byte
    }

    /// Append up to `most` blocks, most recently touched first.
    pub fn blocks(&self, most: usize, out: &mut SackBlocks) {
        let most = most + out.len();
        for p in &self.points {
            if out.len() >= most {
                break;
            }
            out.extend(find(&self.held, *p));
        }
    }
}

/// The interval that holds `p`.
fn find(held: &[(u64, u64)], p: u64) -> Option<(u64, u64)> {
    let i = held.partition_point(|(_, hi)| *hi <= p);
    held.get(i).copied().filter(|(lo, _)| *lo <= p)
}

/// Add `[from, to)` to sorted, disjoint intervals. Returns the number of new bytes.
pub(crate) fn insert(held: &mut Vec<(u64, u64)>, from: u64, to: u64) -> u64 {
    // Usually the last interval grows or a new last one is added.
    match held.last_mut() {
        None => {
            held.push((from, to));
            return to - from;
        }
        Some((lo, hi)) if *lo <= from && from <= *hi => {
            let fresh = to.saturating_sub(*hi);
            *hi = (*hi).max(to);
            return fresh;
        }
        Some((_, hi)) if *hi < from => {
            held.push((from, to));
            return to - from;
        }
        _ => {}
    }
    let first_touched = held.partition_point(|(_, hi)| *hi < from);
    let mut covered = 0;
    let (mut lo, mut hi) = (from, to);
    let mut end = first_touched;
    while let Some(&(low, h)) = held.get(end)
        && low <= to
    {
        covered += h.min(to).saturating_sub(low.max(from));
        (lo, hi) = (lo.min(low), hi.max(h));
        end += 1;
    }
    done_if_long((held.len() - first_touched) / 32);
    if end == first_touched {
        held.insert(first_touched, (from, to));
    } else {
        held[first_touched] = (lo, hi);
        held.drain(first_touched + 1..end);
    }
    to - from - covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_newest_interval_is_reported_first() {
        let mut r = Reassembly::default();
        r.insert(20, 30);
        r.insert(40, 50);
        r.insert(60, 70);
        r.insert(30, 35);
        let mut b = SackBlocks::new();
        r.blocks(3, &mut b);
        assert_eq!(b.as_slice(), &[(20, 35), (60, 70), (40, 50)]);
        // Data between two intervals merge them, and the merged interval is the newest.
        r.insert(35, 40);
        let mut b = SackBlocks::new();
        r.blocks(3, &mut b);
        assert_eq!(b.as_slice(), &[(20, 50), (60, 70)]);
        assert_eq!(r.advance(20), 50);
        assert_eq!(r.advance(55), 55);
        assert_eq!(r.advance(60), 70);
        assert!(r.is_empty());
    }

    proptest! {
        /// The intervals equal a plain set of bytes.
        #[test]
        fn intervals_are_a_set(ops in prop::collection::vec((0u64..60, 1u64..8), 1..60)) {
            let mut ranges = Vec::new();
            let mut set = std::collections::BTreeSet::new();
            for (from, len) in ops {
                let before = set.len();
                set.extend(from..from + len);
                prop_assert_eq!(insert(&mut ranges, from, from + len), (set.len() - before) as u64);
                let bytes: Vec<u64> = ranges.iter().flat_map(|(lo, hi)| *lo..*hi).collect();
                prop_assert_eq!(&bytes, &set.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
