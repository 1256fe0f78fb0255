//! Round trips, counted by acknowledged data.
//!
//! A round begins at an ACK and ends with the first ACK beyond the data sent by this time. A sender that keeps W
//! segments outstanding therefore gets W segments acknowledged per round. Each controller that decides once per round
//! trip has its own round, because some controllers restart the round when recovery is over.

use super::AckEvent;

#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// The end of the data sent by the time at which the round began.
    end: u64,
}

impl Round {
    /// A round that begins now, with this unit next to send.
    pub fn beginning(nxt: u64) -> Round {
        Round { end: nxt }
    }

    /// Whether a round ends with this ACK. If so, the next round begins. The first round ends with the first ACK.
    #[inline]
    pub fn is_over(&mut self, a: &AckEvent<'_>) -> bool {
        let is_over = a.una > self.end;
        if is_over {
            self.end = a.nxt;
        }
        is_over
    }

    /// A round begins now.
    pub fn restart(&mut self, a: &AckEvent<'_>) {
        self.end = a.nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::acked;

    /// Each ACK covers one segment, and the sender sends one segment for each ACK. A round then has `window` ACKs.
    #[test]
    fn a_round_is_a_window_of_segments() {
        for window in [1, 2, 7] {
            let mut round = Round::default();
            let ends: Vec<u64> = (1..40)
                .filter(|una| {
                    round.is_over(&AckEvent {
                        una: *una,
                        nxt: una + window - 1,
                        ..acked(1)
                    })
                })
                .collect();
            assert!(ends.windows(2).all(|w| w[1] - w[0] == window), "{window}: {ends:?}");
            assert_eq!(ends[0], 1);
        }
    }
}
