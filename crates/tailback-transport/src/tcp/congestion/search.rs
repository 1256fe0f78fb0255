//! SEARCH: slow start that ends when the delivered bytes fall behind the sent bytes (draft-chung-ccwg-search-09).
//!
//! As long as a path is not full, the bytes sent in a round trip are delivered a round trip later. Once the path is
//! full, deliveries stay at the rate of the path while the window continues to double. Time is divided into bins of
//! 0.35 of the first round trip. At the end of each bin the bytes sent and delivered so far are stored. The bytes
//! delivered in the last ten bins are compared with the bytes sent in the ten bins that ended one (present) round trip
//! earlier. If a share of 0.26 is missing, slow start ends.
//!
//! ```text
//!   sent        |----------- ten bins -----------|                  lost = (sent - delivered) / sent >= 0.26
//!   delivered          <- a round trip ->    |----------- ten bins -----------| now
//! ```
//!
//! Without pacing the ACK clock of a full path sends twice the delivered bytes. The round trip then grows by half of
//! the time, and the missing share tends to a half. Slow start ends 3.6 round trips after the path is full, at a window
//! of 5.6 to 6.1 rate-delay products. If the buffer is smaller than four products, a loss comes first. The draft
//! interpolates between bins forward, which its authors call a mistake. Here the interpolation is backward, as in
//! Mozilla's neqo. Two parts are not implemented: the drain to the estimated product that follows, and the rule for a
//! round trip of more than 14 bins. Here SEARCH waits until there are enough bins.
//!
//! The state is two counts, and two numbers for each of 25 bins. An ACK costs a compare. The end of a bin costs a few
//! divisions.

use super::slow_start::{SlowStart, SlowStartAdvice, StartView};
use super::{AckEvent, Departure, real};
use std::collections::VecDeque;
use tailback_base::{Duration, Time};

/// Section 2: the window as a multiple of the first round trip, the window in bins, and the number of bins that are
/// kept.
const WINDOW: f64 = 3.5;
const BINS: usize = 10;
const KEPT: usize = 25;
/// The largest share that may be missing.
const THRESHOLD: f64 = 0.26;
/// If more bins than this pass without an ACK, SEARCH begins again.
const MOST_MISSED: f64 = 10.0;

/// The bytes sent and delivered by the end of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    sent: u64,
    delivered: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Search {
    now: Bin,
    /// The length of a bin, once the first round trip is known, and the end of the present bin.
    bin: Option<Duration>,
    end: Time,
    /// The bins that are kept, the newest last.
    bins: VecDeque<Bin>,
}

impl Search {
    fn begin(&mut self, now: Time, bin: Duration) {
        self.bins.clear();
        self.bins.push_back(self.now);
        self.end = now + bin;
    }

    /// The bytes sent by this number of bins before the end of the last one.
    fn sent_before(&self, bins: f64) -> Option<f64> {
        let (whole_bins, fraction) = (libm::floor(bins), bins - libm::floor(bins));
        let at = |n: usize| self.bins.len().checked_sub(1 + n).map(|i| real(self.bins[i].sent));
        let (newer, older) = (at(whole_bins as usize)?, at(whole_bins as usize + 1)?);
        Some(newer + (older - newer) * fraction)
    }

    /// The share of the sent bytes that has not been delivered; `None` if there are not enough bins.
    fn missing(&self, rtt: Duration, bin: Duration) -> Option<f64> {
        let back = rtt.seconds() / bin.seconds();
        let sent_bytes = self.sent_before(back)? - self.sent_before(back + BINS as f64)?;
        let last = self.bins.len() - 1;
        let delivered = real(self.bins[last].delivered - self.bins[last - BINS].delivered);
        (sent_bytes > 0.0).then_some((sent_bytes - delivered) / sent_bytes)
    }
}

impl SlowStart for Search {
    fn judge(&mut self, a: &AckEvent<'_>, seen: &StartView) -> SlowStartAdvice {
        let rtt = a.rate.and_then(|r| r.rtt).or(a.rtt).or(a.srtt);
        let (Some(rtt), true) = (rtt, seen.first) else {
            return SlowStartAdvice::Usual;
        };
        let Some(bin) = self.bin else {
            let bin = Duration::from_seconds(rtt.seconds() * WINDOW / BINS as f64);
            self.bin = Some(bin);
            self.now.delivered += a.acked;
            self.begin(a.now, bin);
            return SlowStartAdvice::Usual;
        };
        let mut ends = false;
        if a.now > self.end && bin > Duration::ZERO {
            let bins_passed = 1.0 + libm::floor(a.now.since(self.end).seconds() / bin.seconds());
            if bins_passed > MOST_MISSED {
                self.begin(a.now, bin);
            } else {
                for _ in 0..bins_passed as u32 {
                    self.bins.push_back(self.now);
                    self.end += bin;
                }
                while self.bins.len() > KEPT {
                    self.bins.pop_front();
                }
                ends = self.missing(rtt, bin).is_some_and(|m| m >= THRESHOLD);
            }
        }
        self.now.delivered += a.acked;
        match ends {
            true => SlowStartAdvice::End { spent: false },
            false => SlowStartAdvice::Usual,
        }
    }

    fn sends(&mut self, sent: &Departure) {
        self.now.sent += sent.end - sent.seq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::acked;

    const ROUND: f64 = 0.1;

    /// Every millisecond an ACK of one segment of 1000 B arrives. For each ACK `sends` segments leave. The round trip
    /// is as given.
    fn run(
        search: &mut Search,
        ms: std::ops::Range<u64>,
        sends: impl Fn(u64) -> u64,
        rtt: impl Fn(u64) -> f64,
    ) -> Option<u64> {
        let start_view = StartView {
            cwnd: 0.0,
            first: true,
            least: None,
            segment: 1000.0,
            wire: 1040.0,
        };
        for n in ms {
            let now = Time::from_seconds(n as f64 / 1e3);
            let ack = AckEvent {
                now,
                rtt: Some(Duration::from_seconds(rtt(n))),
                ..acked(1000)
            };
            if search.judge(&ack, &start_view) != SlowStartAdvice::Usual {
                return Some(n);
            }
            for _ in 0..sends(n) {
                let departure = Departure {
                    now,
                    seq: 0,
                    end: 1000,
                    again: false,
                };
                search.sends(&departure);
            }
        }
        None
    }

    /// If as much is sent as is delivered, slow start never ends.
    #[test]
    fn a_path_that_delivers_what_is_sent_does_not_end_it() {
        let mut s = Search::default();
        assert_eq!(run(&mut s, 100..10_000, |_| 1, |_| ROUND), None);
    }

    /// From 1 s on twice as much is sent as is delivered, and the round trip grows by half of the time. Ten bins are
    /// 0.35 s. Let t be the time since 1 s. The bytes sent in the window that ended a round trip before are 1 + x times
    /// the bytes delivered. Here x is the share of this window after 1 s, (t - R - t / 2) / 0.35. Slow start ends at x
    /// / (1 + x) = 0.26, so x = 0.351 and t = 2 (0.1 + 0.123) = 0.446 s, to a bin.
    #[test]
    fn a_full_path_ends_it_at_its_closed_form() {
        let mut s = Search::default();
        let sends = |n| if n < 1000 { 1 } else { 2 };
        let rtt = |n: u64| ROUND + n.saturating_sub(1000) as f64 / 2e3;
        let ended = run(&mut s, 100..3000, sends, rtt).expect("it ends");
        assert!((1446..=1446 + 36).contains(&ended), "{ended} ms");
    }

    /// After more than ten bins without an ACK SEARCH begins again. It then needs fourteen bins before it judges.
    #[test]
    fn a_pause_begins_it_anew() {
        let mut s = Search::default();
        run(&mut s, 100..1000, |_| 1, |_| ROUND);
        let ended = run(&mut s, 1500..3000, |_| 3, |_| ROUND).expect("it ends");
        assert!(ended >= 1500 + 12 * 35, "{ended} ms");
    }
}
