//! Proportional rate reduction (RFC 9937): the segments that recovery sends are spread over the round trip of the
//! reduction.
//!
//! If the window is halved at once, the sender is silent for half a round trip and then sends one segment for each
//! segment that leaves the network. With this option each delivered segment releases a fraction of a segment from the
//! start. If `RecoverFS` was in the network at the start and the threshold is `ssthresh`, the fraction is `ssthresh /
//! RecoverFS`. The window therefore equals the threshold at the end of the round trip. If losses leave less than the
//! threshold in the network, the window is filled up again, as in slow start or more slowly. The bound decides this.
//!
//! Rate-halving is an earlier method (M. Mathis, J. Semke, J. Mahdavi, "The rate-halving algorithm for TCP congestion
//! control", draft-mathis-tcp-ratehalving-00, 1999). It sends one segment for every two that are delivered, independent
//! of the amount in the network. Losses therefore leave less than the threshold, and recovery ends with the window that
//! is outstanding at that time. A repair that takes longer than a round trip continues with one segment for each
//! delivered segment. This last rule is ours, because the draft's recovery is over by then.
//!
//! The state is ten numbers, kept only if the option is on. An ACK costs a division while a reduction lasts, and
//! nothing otherwise.

tailback_base::choice! {
    /// How fast the amount in the network rises to the threshold again.
    pub enum PrrBound {
        /// RFC 9937 section 6.2: one segment more than was delivered, if the ACK shows no further loss.
        Auto = "auto",
        /// RFC 6937 section 3: as much as was delivered, the conservative reduction bound.
        Conservative = "crb",
        /// RFC 6937 section 3: always one segment more, the slow start reduction bound.
        SlowStart = "ssrb",
        /// The amount is not raised. Every second delivered segment releases one segment.
        RateHalving = "rate_halving",
    }
}

/// An ACK during a reduction. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// Bytes newly acknowledged or reported.
    pub delivered: u64,
    /// Bytes in the network after the ACK.
    pub pipe: u64,
    pub ssthresh: f64,
    /// Whether the cumulative point moved.
    pub moved: bool,
    /// Whether the ACK shows another loss.
    pub loses: bool,
}

#[derive(Clone, Debug)]
pub struct Prr {
    bound: PrrBound,
    segment: u64,
    /// Whether a reduction is in progress.
    active: bool,
    /// Bytes in the network at the beginning (RecoverFS); 0 until the first ACK shows this number.
    at_start: u64,
    delivered: u64,
    sent: u64,
    /// The bytes that may still be sent in answer to the last ACK.
    left: u64,
    /// The window that the last ACK left: the amount in the network after the ACK, plus the amount that the ACK
    /// released (RFC 9937 section 6.2: "cwnd = inflight + SndCnt"). If more is found lost before the next ACK, the
    /// window stays, and repairs fill it.
    window: u64,
    /// The end of the data that were outstanding at the beginning.
    until: u64,
    /// Bytes delivered since the beginning of the connection: the ACK number plus the bytes reported above it.
    so_far: u64,
    /// Without SACK: the number of duplicates, and the bytes above the ACK number that these duplicates claim to have
    /// arrived.
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
            window: 0,
            until: 0,
            so_far: 0,
            duplicates: 0,
            claimed: 0,
        }
    }

    pub fn is_active(&self) -> bool {
        self.active
    }

    /// The bytes that may still be sent in answer to the last ACK.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The bytes that may be in the network until the next ACK.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Begin a reduction that lasts until `until` is acknowledged. `at_start` is 0 if the present ACK will show the
    /// amount in the network. A reduction in progress continues.
    pub fn begin(&mut self, at_start: u64, until: u64) {
        self.until = until;
        if !self.active {
            (self.active, self.at_start) = (true, at_start);
            (self.delivered, self.sent, self.left, self.window) = (0, 0, 0, 0);
        }
    }

    pub fn end(&mut self) {
        self.active = false;
    }

    /// Up to `una` is acknowledged, and `reported` bytes above it are reported. Returns the number of new bytes among
    /// these. This function is called for each ACK, during a reduction or not.
    pub fn count(&mut self, una: u64, reported: u64) -> u64 {
        if una >= self.until {
            self.active = false;
        }
        let so_far = una + reported;
        let new = so_far.saturating_sub(self.so_far);
        self.so_far = self.so_far.max(so_far);
        new
    }

    /// RFC 9937 section 5: without SACK each duplicate claims one segment, and an ACK of new data removes the claims of
    /// the duplicates before it. Returns the bytes that are claimed above the ACK number.
    pub fn claim(&mut self, acked: u64, duplicates: u32, outstanding: u64) -> u64 {
        let bytes = u64::from(duplicates.saturating_sub(self.duplicates)) * self.segment;
        self.duplicates = duplicates;
        self.claimed = (self.claimed.saturating_sub(acked) + bytes).min(outstanding);
        self.claimed
    }

    /// RFC 9937 section 6.2: compute the bytes that may be sent in answer to an ACK. `in_network` is the amount before
    /// the ACK.
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
        let room = (a.ssthresh - a.pipe as f64).max(0.0) as u64;
        let n = match self.bound {
            PrrBound::RateHalving => self.halved().saturating_sub(self.sent),
            _ if a.pipe as f64 > a.ssthresh => {
                // In whole segments: "SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out".
                let share = self.delivered as f64 * a.ssthresh / self.at_start as f64;
                let whole = libm::ceil(share / segment - 1e-9) * segment;
                (whole as u64).saturating_sub(self.sent)
            }
            PrrBound::Conservative => ahead.min(room),
            PrrBound::SlowStart => (ahead.max(a.delivered) + self.segment).min(room),
            PrrBound::Auto if a.moved && !a.loses => (ahead.max(a.delivered) + self.segment).min(room),
            PrrBound::Auto => ahead.max(a.delivered).min(room),
        };
        // "Force a fast retransmit upon entering recovery".
        self.left = n.max(if self.sent == 0 { self.segment } else { 0 });
        self.window = a.pipe + self.left;
    }

    /// Rate-halving: the amount that may have been sent since the beginning, in bytes of whole segments.
    fn halved(&self) -> u64 {
        let round = self.delivered.min(self.at_start);
        (round / 2 + (self.delivered - round)) / self.segment * self.segment
    }

    /// Count bytes that leave.
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

    /// With 20 segments in the network and a threshold of 10, every second one of the first 16 ACKs releases a segment.
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

    /// 8 segments are in the network. After the first repair one segment is sent for every two delivered, and after a
    /// round trip one for each delivered. The threshold has no effect.
    #[test]
    fn rate_halving_releases_one_for_two() {
        let mut p = Prr::new(PrrBound::RateHalving, 1000);
        p.begin(8000, 100_000);
        let released: Vec<u64> = (1..=11)
            .map(|_| {
                p.answer(&ack(3000, false), 8000);
                let n = p.left() / 1000;
                (0..n).for_each(|_| p.sent(1000));
                n
            })
            .collect();
        assert_eq!(released, [1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1]);
    }

    /// Below the threshold as much is sent as was delivered, or one segment more, but never beyond the threshold.
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
