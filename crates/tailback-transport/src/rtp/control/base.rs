//! The base delay of a path: the least one-way delay within a span of time (RFC 6817 section 2.4.2).
//!
//! The part of a packet's delay above the base delay is queueing. The minima of ten equal spans are kept, just as
//! LEDBAT keeps those of ten minutes. If the route becomes longer, the base therefore rises when the last span with the
//! shorter route is dropped.
//!
//! The state is ten minima (ns), and the time at which the newest span began. A packet costs one comparison, or ten at
//! the end of a span.

use tailback_base::{Duration, Time};

const SPANS: usize = 10;

pub struct BaseDelay {
    span: Duration,
    began: Option<Time>,
    /// The least delay of each span, the newest span first.
    minima: [u64; SPANS],
    /// The least of all minima except the newest.
    older: u64,
}

impl BaseDelay {
    pub fn new(history: Duration) -> BaseDelay {
        BaseDelay {
            span: Duration((history.0 / SPANS as u64).max(1)),
            began: None,
            minima: [u64::MAX; SPANS],
            older: u64::MAX,
        }
    }

    /// The queueing delay of a packet.
    pub fn queueing(&mut self, sent: Time, at: Time) -> Duration {
        let began = *self.began.get_or_insert(at);
        let spans_passed = at.since(began).0 / self.span.0;
        if spans_passed > 0 {
            let kept = SPANS - (spans_passed.min(SPANS as u64) as usize);
            self.minima.copy_within(..kept, SPANS - kept);
            self.minima[..SPANS - kept].fill(u64::MAX);
            self.older = self.minima.iter().copied().fold(u64::MAX, u64::min);
            self.began = Some(began + Duration(spans_passed * self.span.0));
        }
        let delay = at.since(sent).0;
        self.minima[0] = self.minima[0].min(delay);
        Duration(delay - self.minima[0].min(self.older))
    }

    /// Drop all minima, so that the base begins anew.
    pub fn forget(&mut self) {
        (self.minima, self.older) = ([u64::MAX; SPANS], u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet is sent each second, with a history of ten seconds. The delay is 20 ms until 5 s, and 60 ms after
    /// that. The last packet with 20 ms arrives in the span that begins at 4 s, and this span is dropped ten spans
    /// later.
    #[test]
    fn a_longer_route_is_a_queue_until_the_shorter_one_is_forgotten() {
        let mut base = BaseDelay::new(Duration::from_seconds(10.0));
        let mut queueing = |n: u64| {
            let (sent, way) = (Time(1_000_000_000 * n), if n < 5 { 20 } else { 60 });
            base.queueing(sent, sent + Duration::from_millis(way)).0 / 1_000_000
        };
        let delays: Vec<u64> = (0..20).map(&mut queueing).collect();
        assert_eq!(delays[..5], [0; 5]);
        assert_eq!(delays[5..14], [40; 9]);
        assert_eq!(delays[14..], [0; 6]);
        // The pause before this packet is longer than all spans.
        assert_eq!(queueing(100), 0);
    }

    #[test]
    fn a_base_that_begins_anew_has_no_queue() {
        let mut base = BaseDelay::new(Duration::from_seconds(600.0));
        let mut queueing = |ms: u64| base.queueing(Time::ZERO, Time(ms * 1_000_000));
        assert_eq!(queueing(20), Duration::ZERO);
        assert_eq!(queueing(50), Duration::from_millis(30));
        base.forget();
        assert_eq!(base.queueing(Time::ZERO, Time(50_000_000)), Duration::ZERO);
    }
}
