//! The filtered backlog of RED and similar AQMs: an exponentially weighted moving average that accounts for idle
//! time.
//!
//! At every arrival, before the packet is added, `avg += w (q - avg)`. While the queue is empty, no packet arrives, and
//! the average would keep its old value. So the first arrival after an idle period first lets the average decay. The
//! decay is the one that packets of the mean size would cause if they arrived at the empty queue at the line's rate:
//! `avg *= (1 - w)^m`, `m = floor(ptc · idle time)`, `ptc = C / 8S` packets per second.
//!
//! From: Floyd and Jacobson 1993, section 4 and figure 2. Departure: the paper omits the normal step for the arrival
//! that ends an idle period. ns-2 takes that step, and tailback takes it too. The difference is one factor `1 - w`.
//!
//! Cost of an arrival: a multiplication and two additions; after an idle period also a power.

use crate::contract::discipline::{Line, unchanged};
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Time};

/// An average in the unit of the backlog (packets or bytes).
#[derive(Clone, Debug)]
pub struct Average {
    value: f64,
    /// The first value of the average.
    initial: f64,
    /// The weight `w` of a new sample, 0 to 1. With 0 the average is constant, which tests use.
    weight: f64,
    /// `S`, bytes.
    mean_packet: u64,
    /// The time at which the line became idle.
    idle_since: Option<Time>,
    ends: IdleEnds,
}

/// The event that ends an idle period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleEnds {
    /// The first arrival, stored or not (RED).
    AtArrival,
    /// The first packet that is stored ([`Average::stored`]). When an arrival is refused, the average decays for the
    /// idle time until then, and the line still counts as idle (REDn).
    WhenStored,
    /// The same as `WhenStored`, but a refused arrival does not move the beginning of the idle period. So the next
    /// arrival counts the same idle time again (ns-2's diffserv module).
    WhenStoredSinceItsStart,
}

/// A scenario can choose the first two. Only code can choose `WhenStoredSinceItsStart`.
impl Choice for IdleEnds {
    const WORDS: &'static [&'static str] = &["arrival", "enqueue"];
    const MEANINGS: &'static [IdleEnds] = &[IdleEnds::AtArrival, IdleEnds::WhenStored];
}

impl Average {
    pub fn new(initial: f64, weight: f64, mean_packet: u64) -> Average {
        Average {
            value: initial,
            initial,
            weight,
            mean_packet: mean_packet.max(1),
            idle_since: None,
            ends: IdleEnds::AtArrival,
        }
    }

    /// The same average, but its idle periods end with this event.
    pub fn with_idle_ending(mut self, ends: IdleEnds) -> Average {
        self.ends = ends;
        self
    }

    /// Take over the state of an average that had other parameters.
    ///
    /// # Errors
    /// The two averages have different first values. `key` is the name of the parameter for the error message.
    pub fn follow(&mut self, before: &Average, key: &str) -> Result<(), Refusal> {
        unchanged(key, &before.initial, &self.initial)?;
        (self.value, self.idle_since) = (before.value, before.idle_since);
        Ok(())
    }

    /// The average at the last arrival.
    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Update the average for an arrival that finds a backlog of `q`, and return it.
    #[inline]
    pub fn arrival(&mut self, q: f64, line: &Line) -> f64 {
        self.wake(line);
        self.sample(q)
    }

    /// End the idle period, if there is one: the average decays by the idle time.
    #[inline]
    pub fn wake(&mut self, line: &Line) {
        if let Some(idle_since) = self.idle_since.take() {
            match self.ends {
                IdleEnds::AtArrival => {}
                IdleEnds::WhenStored => self.idle_since = Some(line.now),
                IdleEnds::WhenStoredSinceItsStart => self.idle_since = Some(idle_since),
            }
            // Whole packets are counted in integers, so the count is exact for idle periods of any length.
            let bits = u128::from(line.now.since(idle_since).0) * u128::from(line.rate.0) / 1_000_000_000;
            let missed = bits / (8 * u128::from(self.mean_packet));
            self.value *= libm::pow(1.0 - self.weight, missed as f64);
        }
    }

    /// Take a sample of the backlog `q`, and return the new average.
    #[inline]
    pub fn sample(&mut self, q: f64) -> f64 {
        self.value += self.weight * (q - self.value);
        self.value
    }

    /// The arrival was stored.
    #[inline]
    pub fn stored(&mut self) {
        self.idle_since = None;
    }

    /// The queue is empty from now on.
    #[inline]
    pub fn emptied(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// A dequeue found an empty queue. Only the first of several consecutive calls counts.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }
}

/// The weight that gives the filter a time constant of one second at this rate, `1 - exp(-1/ptc)` (Floyd, Gummadi,
/// Shenker 2001; ns-2's automatic setting). `rate` is in bit/s, `mean_packet` in bytes.
pub fn weight_for_rate(rate: f64, mean_packet: u64) -> f64 {
    let packets_per_second = rate / (8.0 * mean_packet.max(1) as f64);
    -libm::expm1(-1.0 / packets_per_second)
}

/// The weight that gives the filter a time constant of ten round trips: `1 - exp(-1/(10 R ptc))`. A round trip is
/// assumed to be three times a packet's time over this link, `R = max(0.1 s, 3 (delay + 1/ptc))` (ns-2's automatic
/// setting).
pub fn weight_for_round_trip(rate: BitRate, delay: Duration, mean_packet: u64) -> f64 {
    let packets_per_second = rate.bits_per_second() / (8.0 * mean_packet.max(1) as f64);
    let round_trip = (3.0 * (delay.seconds() + 1.0 / packets_per_second)).max(0.1);
    -libm::expm1(-1.0 / (10.0 * round_trip * packets_per_second))
}

/// The largest weight with which a burst of `burst` packets into an empty queue passes below `min_threshold` packets:
/// the root of `L + 1 + ((1-w)^(L+1) - 1)/w = min_th` (Floyd and Jacobson 1993, section 6; the bound counts the
/// arriving packet). The result is 1 if every weight fulfils this.
pub fn max_weight(burst: u64, min_threshold: f64) -> f64 {
    let n = burst as f64 + 1.0;
    let average = |w: f64| n + (libm::pow(1.0 - w, n) - 1.0) / w;
    if average(1.0) <= min_threshold {
        return 1.0;
    }
    // The average after the burst grows with the weight, from 0 to n - 1.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if average(middle) < min_threshold {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 500-byte packets, this line of 1 Mbit/s sends 250 packets a second.
    fn line(ms: u64) -> Line {
        Line::idle(Time::ZERO + Duration::from_millis(ms), BitRate(1_000_000))
    }

    #[test]
    fn a_step_of_fifty_crosses_five_after_53_arrivals() {
        let mut a = Average::new(0.0, 0.002, 500);
        let arrivals = (1..).find(|_| a.arrival(50.0, &line(0)) >= 5.0).unwrap();
        assert_eq!(arrivals, 53);
    }

    #[test]
    fn idle_time_counts_as_arrivals_to_an_empty_queue() {
        let (mut idle, mut busy) = (Average::new(10.0, 0.01, 500), Average::new(10.0, 0.01, 500));
        idle.idle(line(100).now);
        idle.idle(line(150).now); // a second look at the same empty queue changes nothing
        idle.arrival(0.0, &line(203)); // 103 ms are 25.75 packet times: 25 decays and the arrival's own
        for _ in 0..26 {
            busy.arrival(0.0, &line(0));
        }
        assert!((idle.value() - busy.value()).abs() < 1e-12);
        // The idle period is over, so the next arrival multiplies the average by only one factor `1 - w`.
        let before = idle.value();
        assert!((idle.arrival(0.0, &line(300)) - before * 0.99).abs() < 1e-12);
    }

    #[test]
    fn a_refused_arrival_ends_the_idle_time_of_red_but_not_of_redn() {
        let run = |ends| {
            let mut average = Average::new(10.0, 0.01, 500).with_idle_ending(ends);
            average.idle(line(0).now);
            average.arrival(0.0, &line(100)); // refused
            average.arrival(0.0, &line(200));
            average.stored();
            let value = average.arrival(0.0, &line(300));
            (value / 10.0).ln() / 0.99_f64.ln()
        };
        // Each 100 ms have 25 packet times of 4 ms, and there are three arrivals.
        assert!((run(IdleEnds::AtArrival) - 28.0).abs() < 1e-9);
        assert!((run(IdleEnds::WhenStored) - 53.0).abs() < 1e-9);
        assert!((run(IdleEnds::WhenStoredSinceItsStart) - 78.0).abs() < 1e-9);
    }

    /// A line of 10 Mb/s sends 1250 packets of 1000 B a second, so the weight for one second is 0.00079968. On a long
    /// link the round trip is longer.
    #[test]
    fn the_weight_for_ten_round_trips() {
        let of = |ms| weight_for_round_trip(BitRate(10_000_000), Duration::from_millis(ms), 1000);
        assert!((of(10) - 0.000_799_68).abs() < 1e-8, "{}", of(10));
        let periods: f64 = 10.0 * 3.0 * (0.1 + 0.0008) * 1250.0;
        let long_weight = 1.0 - (-1.0 / periods).exp();
        assert!((of(100) - long_weight).abs() < 1e-12);
    }

    #[test]
    fn weight_zero_holds_the_average() {
        let mut a = Average::new(7.5, 0.0, 500);
        a.idle(line(0).now);
        assert_eq!(a.arrival(100.0, &line(1_000_000)), 7.5);
    }

    #[test]
    fn the_weight_bound_of_the_paper() {
        assert!(
            (max_weight(50, 5.0) - 0.0042).abs() < 0.00005,
            "{}",
            max_weight(50, 5.0)
        );
        assert_eq!(max_weight(3, 50.0), 1.0);
        // With this weight, a burst that fills an empty queue packet by packet stays below the threshold.
        let mut a = Average::new(0.0, max_weight(50, 5.0), 500);
        let last = (0..50).map(|q| a.arrival(f64::from(q), &line(0))).last().unwrap();
        assert!(last < 5.0 && last > 4.5, "{last}");
    }
}
