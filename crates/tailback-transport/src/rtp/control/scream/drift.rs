//! The reset of a base delay that is too short for the path.
//!
//! Clocks that drift, or a route that became longer, look like a queue as long as older delays count for the base
//! delay. If the least queueing delay of round trips, smoothed by 1/`rounds`, is above a quarter of the target, the
//! base begins anew. In addition the encoder's rate is halved for five round trips, and at least for 200 ms, so that
//! the queue can empty.

use super::super::base::BaseDelay;
use tailback_base::{Duration, Time};

const HALVED_S: f64 = 0.2;
const HALVED_ROUNDS: f64 = 5.0;

pub struct Drift {
    base: BaseDelay,
    /// The weight of a round trip; `None`: the base never begins anew.
    gain: Option<f64>,
    /// The least queueing delay of this round trip, s.
    of_round: f64,
    round: Time,
    /// The smoothed least queueing delay, s.
    standing: f64,
    halved_until: Time,
}

impl Drift {
    pub fn new(history: Duration, rounds: Option<f64>) -> Drift {
        Drift {
            base: BaseDelay::new(history),
            gain: rounds.map(f64::recip),
            of_round: f64::INFINITY,
            round: Time::ZERO,
            standing: 0.0,
            halved_until: Time::ZERO,
        }
    }

    /// The queueing delay of a packet, s.
    pub fn queueing(&mut self, sent: Time, at: Time) -> f64 {
        let queueing = self.base.queueing(sent, at).seconds();
        self.of_round = self.of_round.min(queueing);
        queueing
    }

    /// All packets of a report have been read.
    pub fn report(&mut self, srtt: f64, target: f64, now: Time) {
        let Some(gain) = self.gain else { return };
        if self.of_round.is_infinite() || now.since(self.round).seconds() <= srtt {
            return;
        }
        self.standing += gain * (self.of_round - self.standing);
        (self.of_round, self.round) = (f64::INFINITY, now);
        if self.standing > target / 4.0 {
            let seconds = (HALVED_ROUNDS * srtt).max(HALVED_S);
            self.halved_until = now + Duration::from_seconds(seconds);
            self.standing = 0.0;
            self.base.forget();
        }
    }

    /// The factor by which the encoder's rate is multiplied.
    pub fn share(&self, now: Time) -> f64 {
        if now < self.halved_until { 0.5 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The round trip in which the base begins anew if the route becomes 60 ms instead of 20 ms after 100 round trips.
    fn found(rounds: f64) -> Option<(u64, f64)> {
        let mut drift = Drift::new(Duration::from_seconds(600.0), Some(rounds));
        let ms = |n: u64| Time(n * 1_000_000);
        let mut first_halving = None;
        for n in 0..400_u64 {
            let (sent_at, way) = (ms(100 * n), if n < 100 { 20 } else { 60 });
            let queueing = drift.queueing(sent_at, sent_at + Duration::from_millis(way));
            drift.report(0.05, 0.06, sent_at + Duration::from_millis(way));
            let halved = drift.share(sent_at + Duration::from_millis(way)) < 1.0;
            if halved && first_halving.is_none() {
                first_halving = Some((n, queueing));
            } else if n > first_halving.map_or(u64::MAX, |p| p.0) {
                assert_eq!(queueing, 0.0);
            }
        }
        assert_eq!(drift.share(ms(50_000)), 1.0);
        first_halving
    }

    /// The smoothed least delay passes 15 of 40 ms after 121 round trips, because 1 - (255 / 256)^121 = 0.377. With 64
    /// it does so after 30 round trips. From then on the longer route does not count as a queue.
    #[test]
    fn a_longer_route_is_a_queue_for_121_round_trips() {
        assert_eq!(found(256.0), Some((220, 0.04)));
        assert_eq!(found(64.0), Some((129, 0.04)));
    }
}
