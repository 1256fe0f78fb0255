//! Measures a sender's round trip from the packets that pass a router.
//!
//! Every packet carries the time stamp of its sender and echoes the last time stamp that its sender has received (RFC
//! 7323 section 3). The time from a data packet to the first acknowledgement that echoes its stamp is the part of the
//! round trip below the router, towards the receiver. The time from an acknowledgement to the first data packet that
//! echoes its stamp is the part above the router, towards the sender. Each part is smoothed as TCP smooths its samples
//! (RFC 6298 section 2). Once both parts are known, the round trip is their sum.
//!
//! State for each flow: two smoothed times, and the time stamps that passed in each direction and were not echoed
//! yet, at most one window.
//!
//! Choices. A sample is the time from the first packet with a stamp to the first echo of this stamp, as in RFC 7323
//! section 4. So a delayed acknowledgement has the same effect as at the sender. If a sender waits for its application,
//! the part above becomes longer. The router cannot distinguish this from a longer path.

use crate::conditioner::Stamps;
use std::collections::VecDeque;
use tailback_base::{Duration, Time};

/// The time stamps that passed in one direction, with the times when they passed, in order.
#[derive(Debug, Default)]
struct StampsPassed {
    passed: VecDeque<(Time, Time)>,
    /// The smoothed time, ns.
    smoothed: Option<f64>,
}

impl StampsPassed {
    fn pass(&mut self, value: Time, now: Time) {
        if self.passed.back().is_none_or(|last| last.0 < value) {
            self.passed.push_back((value, now));
        }
    }

    /// A packet in the other direction echoes this stamp.
    fn echoed(&mut self, echo: Time, now: Time) {
        while self.passed.front().is_some_and(|first| first.0 < echo) {
            self.passed.pop_front();
        }
        if self.passed.front().is_some_and(|first| first.0 == echo)
            && let Some((_, then)) = self.passed.pop_front()
        {
            let sample = (now - then).0 as f64;
            self.smoothed = Some(self.smoothed.map_or(sample, |s| s + (sample - s) / 8.0));
        }
    }
}

/// The state of one flow.
#[derive(Debug, Default)]
pub(super) struct Snooper {
    below: StampsPassed,
    above: StampsPassed,
}

impl Snooper {
    /// A data packet passes on its way down.
    pub fn data(&mut self, stamps: Stamps, now: Time) {
        self.above.echoed(stamps.echo, now);
        self.below.pass(stamps.value, now);
    }

    /// An acknowledgement passes on its way up.
    pub fn acknowledgement(&mut self, stamps: Stamps, now: Time) {
        self.below.echoed(stamps.echo, now);
        self.above.pass(stamps.value, now);
    }

    /// The smoothed round trip, once both parts are known.
    pub fn round_trip(&self) -> Option<Duration> {
        let sum = self.below.smoothed? + self.above.smoothed?;
        Some(Duration(sum.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stamps(value: u64, echo: u64) -> Stamps {
        Stamps {
            value: Time(value * MS),
            echo: Time(echo * MS),
        }
    }

    /// The router is 10 ms from the sender and 40 ms from the receiver. The clocks of the two ends need not agree.
    #[test]
    fn the_parts_add_up() {
        let (mut s, far) = (Snooper::default(), 7_000);
        s.data(stamps(0, 0), Time(10 * MS));
        assert_eq!(s.round_trip(), None);
        s.acknowledgement(stamps(far + 50, 0), Time(90 * MS));
        assert_eq!(s.round_trip(), None, "nothing is known above");
        s.data(stamps(100, far + 50), Time(110 * MS));
        assert_eq!(s.round_trip(), Some(Duration(100 * MS)));
        // There is once a queueing delay of 8 ms below the router. The estimate changes by an eighth of it.
        s.acknowledgement(stamps(far + 158, 100), Time(198 * MS));
        assert_eq!(s.round_trip(), Some(Duration(101 * MS)));
    }

    /// A stamp on several packets counts from the first packet. A repeated or an old echo is ignored.
    #[test]
    fn only_first_packets_and_first_echoes_count() {
        let mut s = Snooper::default();
        for at in [0, 1, 2] {
            s.data(stamps(5, 1), Time(at * MS));
        }
        s.acknowledgement(stamps(50, 5), Time(80 * MS));
        s.data(stamps(90, 50), Time(100 * MS));
        let first_rtt = s.round_trip();
        assert_eq!(first_rtt, Some(Duration(100 * MS)));
        s.acknowledgement(stamps(51, 5), Time(200 * MS));
        s.acknowledgement(stamps(52, 1), Time(300 * MS));
        s.data(stamps(91, 50), Time(500 * MS));
        assert_eq!(s.round_trip(), first_rtt);
        // Stamps that were never echoed are removed at the first later echo.
        (100..200).for_each(|v| s.data(stamps(v, 50), Time(v * MS)));
        s.acknowledgement(stamps(60, 199), Time(600 * MS));
        assert!(s.below.passed.is_empty());
    }
}
