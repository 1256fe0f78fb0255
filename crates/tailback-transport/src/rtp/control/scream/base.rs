//! The least one-way delay, above which all delay is queueing.
//!
//! Clocks that drift, or a route that became longer, would look like a queue for ever. Where the least queueing delay
//! of round trips, smoothed by 1/256, is above a quarter of the target, the base begins anew, and the encoder's rate is
//! halved for five round trips, at least 200 ms, so that the queue can empty.

use tailback_base::{Duration, Time};

const GAIN: f64 = 1.0 / 256.0;
const HALVED_S: f64 = 0.2;
const HALVED_ROUNDS: f64 = 5.0;

pub struct BaseDelay {
    corrects: bool,
    /// One-way delays, ns: the least of all, and of this round trip.
    least: u64,
    of_round: u64,
    round: Time,
    /// The smoothed least queueing delay, s.
    standing: f64,
    halved_until: Time,
}

impl BaseDelay {
    pub fn new(corrects: bool) -> BaseDelay {
        BaseDelay {
            corrects,
            least: u64::MAX,
            of_round: u64::MAX,
            round: Time::ZERO,
            standing: 0.0,
            halved_until: Time::ZERO,
        }
    }

    /// The queueing delay of a packet, s.
    pub fn queueing(&mut self, sent: Time, at: Time) -> f64 {
        let delay = at.since(sent).0;
        self.least = self.least.min(delay);
        self.of_round = self.of_round.min(delay);
        Duration(delay - self.least).seconds()
    }

    /// A report has been read.
    pub fn report(&mut self, srtt: f64, target: f64, now: Time) {
        if !self.corrects || self.of_round == u64::MAX || now.since(self.round).seconds() <= srtt {
            return;
        }
        let queueing = Duration(self.of_round - self.least).seconds();
        self.standing += GAIN * (queueing - self.standing);
        (self.of_round, self.round) = (u64::MAX, now);
        if self.standing > target / 4.0 {
            let seconds = (HALVED_ROUNDS * srtt).max(HALVED_S);
            self.halved_until = now + Duration::from_seconds(seconds);
            (self.standing, self.least) = (0.0, u64::MAX);
        }
    }

    /// By how much the encoder's rate is multiplied.
    pub fn share(&self, now: Time) -> f64 {
        if now < self.halved_until { 0.5 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A route of 20 ms becomes one of 60 ms. The smoothed least delay passes 15 ms after 121 round trips (1 - (255 /
    /// 256)^121 = 0.377 of 40 ms); from then on the longer route is no queue.
    #[test]
    fn a_longer_route_is_a_queue_for_121_round_trips() {
        let mut base = BaseDelay::new(true);
        let ms = |n: u64| Time(n * 1_000_000);
        let mut passed = None;
        for n in 0..400_u64 {
            let (sent, way) = (ms(100 * n), if n < 100 { 20 } else { 60 });
            let queueing = base.queueing(sent, sent + Duration::from_millis(way));
            base.report(0.05, 0.06, sent + Duration::from_millis(way));
            let halved = base.share(sent + Duration::from_millis(way)) < 1.0;
            if halved && passed.is_none() {
                passed = Some((n, queueing));
            } else if n > passed.map_or(u64::MAX, |p| p.0) {
                assert_eq!(queueing, 0.0);
            }
        }
        assert_eq!(passed, Some((220, 0.04)));
        assert_eq!(base.share(ms(50_000)), 1.0);
    }
}
