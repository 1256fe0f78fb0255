//! The segments that SACK blocks report (RFC 2018). An ACK repeats most blocks of the ACK before it. The last blocks
//! are therefore stored, and only new blocks are examined. When a segment is sent again, it does not count as reported
//! any more, and the stored blocks are dropped.

use super::{SentList, SentSegment};
use crate::segment::SackBlocks;

impl SentList {
    /// Mark the segments that these SACK blocks newly report. Returns the number of records that were examined.
    pub(super) fn report(&mut self, blocks: &[(u64, u64)], newest: &mut Option<SentSegment>) -> usize {
        let mut steps = 0;
        for &(from, to) in blocks {
            // Most blocks were also in the last ACK. Finding their records would cost more than checking that nothing
            // is new.
            let known_end = self
                .known
                .iter()
                .find(|k| k.0 <= from && from < k.1)
                .map_or(from, |k| k.1);
            if known_end >= to {
                continue;
            }
            let mut i = self.first_behind(known_end);
            while let Some(r) = self.outstanding.get(i).filter(|r| r.end <= to) {
                steps += 1;
                if let Some(&(_, end)) = self.known.iter().find(|k| k.0 <= r.seq && r.end <= k.1) {
                    i = self.first_behind(end.min(to));
                    continue;
                }
                if !r.sacked && r.seq >= from {
                    let r = *r;
                    self.forget(&r);
                    self.outstanding[i].sacked = true;
                    self.outstanding[i].lost = false;
                    self.sacked_segments += 1;
                    self.sacked_bytes += r.len();
                    if !r.again {
                        self.first_reported.get_or_insert(r.sent);
                    }
                    self.deliver(&r, true, newest);
                }
                i += 1;
            }
        }
        if blocks.is_empty() {
            // No segment is reported any more.
            self.known = SackBlocks::new();
        } else {
            self.known.clear();
            self.known.extend_from_slice(blocks);
        }
        steps
    }
}
