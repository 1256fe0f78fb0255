//! Proportional rate reduction (RFC 9937): what recovery sends is spread over the round trip of the reduction.
//!
//! Halving the window at once means silence for half a round trip, then a segment for each that leaves. Here each
//! delivered segment lets a share of one go from the beginning: with `RecoverFS` in the network at the start and a
//! threshold `ssthresh`, `ssthresh / RecoverFS` of a segment for each, so that the window is the threshold when the
//! round trip is over. If losses leave less in the network than the threshold, the window is filled up again, as slow
//! start does or slower (the bound).
//!
//! State: five numbers, kept only where the option is on. An ACK costs a division while a reduction lasts, and nothing
//! otherwise.

tailback_base::choice! {
    /// How fast what is in the network is brought back to the threshold.
    pub enum PrrBound {
        /// RFC 9937 section 6.2: a segment more than was delivered where the ACK shows no further loss.
        Auto = "auto",
        /// RFC 6937 section 3: as much as was delivered, the conservative reduction bound.
        Conservative = "crb",
        /// RFC 6937 section 3: always a segment more, the slow start reduction bound.
        SlowStart = "ssrb",
    }
}

/// An ACK as a reduction sees it. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// Newly acknowledged or reported.
    pub delivered: u64,
    /// In the network after it.
    pub pipe: u64,
    pub ssthresh: f64,
    /// The cumulative point moved.
    pub moved: bool,
    /// It shows another loss.
    pub loses: bool,
}

#[derive(Clone, Debug)]
pub struct Prr {
    bound: PrrBound,
    segment: u64,
    /// A reduction lasts.
    active: bool,
    /// In the network at the beginning (RecoverFS), bytes; 0 until the first ACK says.
    at_start: u64,
    delivered: u64,
    sent: u64,
    /// What may still be sent in answer to the last ACK, bytes.
    left: u64,
    /// What was outstanding at the beginning ends here.
    until: u64,
    /// Delivered so far, counted from the beginning of the connection: the ACK number and what is reported above it.
    so_far: u64,
    /// Without SACK: duplicates seen, and what they claim to have arrived above the ACK number.
    duplicates: u32,
    claimed: u64,
}

impl Prr {
    pub fn new(bound: PrrBound, segment: u32) -> Prr {
        Prr {
            bound,
            segment: u64::from(segment),
            active: false,
            at_start: 0,
            delivered: 0,
            sent: 0,
            left: 0,
            until: 0,
            so_far: 0,
            duplicates: 0,
            claimed: 0,
        }
    }

    pub fn is_active(&self) -> bool {
        self.active
    }

    /// What may still be sent in answer to the last ACK, bytes.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// A reduction begins that lasts until `until` is acknowledged. `at_start` is 0 where the ACK at hand tells what is
    /// in the network. One that lasts already goes on.
    pub fn begin(&mut self, at_start: u64, until: u64) {
        self.until = until;
        if !self.active {
            (self.active, self.at_start) = (true, at_start);
            (self.delivered, self.sent, self.left) = (0, 0, 0);
        }
    }

    pub fn end(&mut self) {
        self.active = false;
    }

    /// `una` is acknowledged and `reported` bytes above it: what of that is new. Called for each ACK, whether or not a
    /// reduction lasts.
    pub fn count(&mut self, una: u64, reported: u64) -> u64 {
        if una >= self.until {
            self.active = false;
        }
        let so_far = una + reported;
        let new = so_far.saturating_sub(self.so_far);
        self.so_far = self.so_far.max(so_far);
        new
    }

    /// RFC 9937 section 5: without SACK each duplicate claims a segment, and an ACK of new data takes back what the
    /// duplicates before it claimed. What they claim above the ACK number, bytes.
    pub fn claim(&mut self, acked: u64, duplicates: u32, outstanding: u64) -> u64 {
        let more = u64::from(duplicates.saturating_sub(self.duplicates)) * self.segment;
        self.duplicates = duplicates;
        self.claimed = (self.claimed.saturating_sub(acked) + more).min(outstanding);
        self.claimed
    }

    /// RFC 9937 section 6.2: what may be sent in answer to an ACK. `in_network` is what was there before it.
    pub fn answer(&mut self, a: &PrrAck, in_network: u64) {
        if self.at_start == 0 {
            self.at_start = in_network.max(self.segment);
        }
        if a.delivered == 0 {
            return;
        }
        self.delivered += a.delivered;
        let segment = self.segment as f64;
        let ahead = self.delivered.saturating_sub(self.sent);
        let n = if a.pipe as f64 > a.ssthresh {
            // In whole segments: "SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out".
            let share = self.delivered as f64 * a.ssthresh / self.at_start as f64;
            let whole = libm::ceil(share / segment - 1e-9) * segment;
            (whole as u64).saturating_sub(self.sent)
        } else {
            let n = match self.bound {
                PrrBound::Conservative => ahead,
                PrrBound::SlowStart => ahead.max(a.delivered) + self.segment,
                PrrBound::Auto if a.moved && !a.loses => ahead.max(a.delivered) + self.segment,
                PrrBound::Auto => ahead.max(a.delivered),
            };
            n.min((a.ssthresh - a.pipe as f64).max(0.0) as u64)
        };
        // "Force a fast retransmit upon entering recovery".
        self.left = n.max(if self.sent == 0 { self.segment } else { 0 });
    }

    /// So many bytes leave.
    pub fn sent(&mut self, bytes: u32) {
        self.sent += u64::from(bytes);
        self.left = self.left.saturating_sub(u64::from(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(pipe: u64, moved: bool) -> PrrAck {
        PrrAck {
            delivered: 1000,
            pipe,
            ssthresh: 10_000.0,
            moved,
            loses: false,
        }
    }

    /// 20 in the network and a threshold of 10: of the first 16 ACKs every other releases a segment.
    #[test]
    fn half_a_segment_for_each_delivered() {
        let mut p = Prr::new(PrrBound::Auto, 1000);
        p.begin(20_000, 100_000);
        let released: Vec<u64> = (1..=16)
            .map(|_| {
                p.answer(&ack(15_000, false), 20_000);
                let n = p.left() / 1000;
                (0..n).for_each(|_| p.sent(1000));
                n
            })
            .collect();
        assert_eq!(released, [1, 0].repeat(8));
    }

    /// Below the threshold: as much as was delivered, or a segment more, never beyond the threshold.
    #[test]
    fn below_the_threshold_the_bound_decides() {
        for (bound, moved, expected) in [
            (PrrBound::Conservative, true, 1000),
            (PrrBound::SlowStart, false, 2000),
            (PrrBound::Auto, true, 2000),
            (PrrBound::Auto, false, 1000),
        ] {
            let mut p = Prr::new(bound, 1000);
            p.begin(20_000, 100_000);
            p.answer(&ack(5000, false), 20_000);
            p.sent(1000);
            p.answer(&ack(5000, moved), 20_000);
            assert_eq!(p.left(), expected, "{bound:?}");
            p.answer(&ack(9500, moved), 20_000);
            assert_eq!(p.left(), 500, "{bound:?}");
        }
    }

    #[test]
    fn duplicates_claim_a_segment_until_an_ack_takes_it_back() {
        let mut p = Prr::new(PrrBound::Auto, 1000);
        let mut delivered = |una: u64, acked: u64, duplicates: u32| {
            let claimed = p.claim(acked, duplicates, 20_000);
            p.count(una, claimed)
        };
        assert_eq!(delivered(1, 0, 0), 1);
        for n in 1..=5 {
            assert_eq!(delivered(1, 0, n), 1000);
        }
        assert_eq!(delivered(4001, 4000, 5), 0, "claimed before");
        assert_eq!(delivered(4001, 0, 6), 1000);
        assert_eq!(delivered(8001, 4000, 0), 2000, "two had been claimed");
    }
}
