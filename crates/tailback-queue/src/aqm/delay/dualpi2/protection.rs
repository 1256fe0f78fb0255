//! Queue protection: a flow that makes the L queue longer than scalable senders do has its packets moved to the classic
//! queue.
//!
//! Random marks on L packets hit each flow in proportion to its rate. So a flow's contribution to the queue is measured
//! as its rate times the probability of L's own marks. Each flow has a bucket that fills at this product and drains at
//! a constant rate. The level of a bucket is stored as the instant at which the bucket will be empty.
//!
//! ```text
//!   an L packet of b bytes, at a delay of L with own probability p
//!     score = min(max(empties - now, 0) + p b / AGING, 5 s) ; empties = now + score
//!     delay > critical and delay * score > critical * critical_score    -> the classic queue
//!   a flow without a bucket takes the first of two hashed ones that is empty, otherwise the one that all others share
//! ```
//!
//! From: RFC 9957, sections 4 and 5 (queue protection of DOCSIS). The delay is the bytes in L over the line's rate. A
//! flow is the 5-tuple. State: 33 buckets. Cost of an L packet: at most two lookups and a few additions.

use tailback_base::rng::mixed;
use tailback_base::{Duration, Time};

/// Buckets that a flow can have for itself.
const BUCKETS: usize = 32;
/// The number of buckets that are tried for a flow.
const TRIES: u32 = 2;
/// The rate at which a bucket drains: 2^-11 B/ns, which is 488 kB/s.
const AGING: f64 = 1e9 / 2048.0;
/// The largest score.
const LONGEST: Duration = Duration(5_000_000_000);

/// The thresholds above which L packets go to the classic queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Critical {
    pub delay: Duration,
    /// The score above which packets go to the classic queue at this delay.
    pub score: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    flow: u64,
    empties: Time,
}

/// The scores of flows.
#[derive(Debug)]
pub struct Protection {
    critical: Critical,
    /// The last bucket is shared by all flows that find no other.
    buckets: [Score; BUCKETS + 1],
}

impl Protection {
    pub fn new(critical: Critical) -> Protection {
        Protection {
            critical,
            buckets: [Score::default(); BUCKETS + 1],
        }
    }

    pub fn set(&mut self, critical: Critical) {
        self.critical = critical;
    }

    /// Count an L packet of this flow that arrives at this delay and this probability of L's own marks. Returns whether
    /// the packet goes to the classic queue.
    pub fn sends_away(&mut self, flow: u64, bytes: u32, delay: Duration, probability: f64, now: Time) -> bool {
        let i = self.bucket(flow, now);
        let score_left = self.buckets[i].empties.since(now.min(self.buckets[i].empties));
        let more = Duration::from_seconds(probability * f64::from(bytes) / AGING);
        let score = (score_left + more).min(LONGEST);
        self.buckets[i] = Score {
            flow,
            empties: now + score,
        };
        let c = &self.critical;
        delay > c.delay && delay.seconds() * score.seconds() > c.delay.seconds() * c.score.seconds()
    }

    fn bucket(&self, flow: u64, now: Time) -> usize {
        let mut hash = mixed(flow);
        let mut free = None;
        for _ in 0..TRIES {
            let i = (hash % BUCKETS as u64) as usize;
            hash /= BUCKETS as u64;
            let b = &self.buckets[i];
            if b.flow == flow && b.empties > now {
                return i;
            }
            if b.empties <= now && free.is_none() {
                free = Some(i);
            }
        }
        free.unwrap_or(BUCKETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRITICAL: Critical = Critical {
        delay: Duration(1_000_000),
        score: Duration(4_000_000),
    };

    /// The time, ms, at which the first packet goes to the classic queue, if packets of 1250 B arrive at this rate
    /// (Mb/s), at this probability of marks and at this delay (ms).
    fn sent_away(rate: f64, probability: f64, delay: f64) -> Option<f64> {
        let mut p = Protection::new(CRITICAL);
        let gap = 1250.0 * 8.0 / (rate * 1e6);
        (1..20_000).map(|n| f64::from(n) * gap).find_map(|at| {
            let delay = Duration::from_seconds(delay / 1e3);
            let away = p.sends_away(7, 1250, delay, probability, Time::from_seconds(at));
            away.then_some(at * 1e3)
        })
    }

    /// At 10 Mb/s and a probability of 1 the score grows by 2.56 - 1 s/s, and a score of 4 ms is reached after 2.56 ms.
    /// At twice the delay half of this score is enough. Below the critical delay no packet goes to the classic queue.
    #[test]
    fn an_unresponsive_flow_is_sent_away() {
        let within = |at: Option<f64>, expected: f64| {
            let gap = 1.0;
            at.is_some_and(|at| (at - expected).abs() <= gap)
        };
        assert!(
            within(sent_away(10.0, 1.0, 1.001), 2.56),
            "{:?}",
            sent_away(10.0, 1.0, 1.001)
        );
        assert!(within(sent_away(10.0, 1.0, 2.0), 1.28));
        assert_eq!(sent_away(10.0, 1.0, 1.0), None);
    }

    /// A bucket drains as fast as it fills if the marked packets come to at most 3.9 Mb/s. Prague is below this: 2
    /// marks in 20 ms are 1.2 Mb/s.
    #[test]
    fn what_drains_as_it_comes_stays() {
        assert_eq!(sent_away(39.0, 0.1, 2.0), None);
        assert_eq!(sent_away(20.0, 1.2 / 20.0, 2.0), None);
        assert!(sent_away(45.0, 0.1, 2.0).is_some());
    }

    /// There are 34 flows for 33 buckets. A flow that finds no bucket of its own shares one, and an empty bucket is
    /// given to another flow.
    #[test]
    fn flows_without_a_bucket_share_one() {
        let mut p = Protection::new(CRITICAL);
        for flow in 0..200 {
            p.sends_away(flow, 1250, Duration(2_000_000), 1.0, Time::ZERO);
        }
        let own = p.buckets[..BUCKETS].iter().filter(|b| b.empties > Time::ZERO).count();
        assert!(own > BUCKETS / 2, "{own}");
        assert!(p.buckets[BUCKETS].empties > Time::from_seconds(0.1));
        let later = Time::from_seconds(10.0);
        p.sends_away(1000, 1250, Duration(2_000_000), 1.0, later);
        assert!(p.buckets[..BUCKETS].iter().any(|b| b.flow == 1000));
    }
}
