//! The control of REDn's maximum probabilities, with the state of one colour.
//!
//! Self-configuring (Feng, Kandlur, Saha, Shin 1999, "A self-configuring RED gateway"): an average that falls below the
//! lower threshold shows that there are too many signals. Then the probability is divided by `decrease`. An average
//! that rises to the upper threshold shows that there are too few signals, and the probability is multiplied by
//! `increase`. The probability changes once per crossing, however long the average stays beyond the threshold.
//!
//! With a middle threshold (Liu 2001, section 3.2): an average that rises through the middle threshold means either
//! that the probability was cut too far, or that there are more flows. REDn assumes more flows, and uses the static
//! probability at once. If the probability had been cut too far, the queue drains below the middle threshold again.
//! Then the dynamic probability, now slightly higher, is used again.

/// Bounds of the probabilities. The source has no such bounds; they only keep the arithmetic in range.
const LEAST: f64 = 1e-30;
const MOST: f64 = 1.0;

/// The largest static probability that adapting may reach, as a multiple of its first value; the factor of one step;
/// and the factor by which the static probability stays above the dynamic one.
const STATIC_RANGE: f64 = 2.0;
const STATIC_STEP: f64 = 1.1;
const STATIC_LEAD: f64 = 1.01;

/// The range between thresholds in which an average lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Zone {
    Low,
    In,
    High,
}

/// Which of the two probabilities is in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Dynamic,
    Static,
}

/// The constant values.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub low: f64,
    /// Absent if only the self-configuring rule is used.
    pub middle: Option<f64>,
    pub high: f64,
    pub increase: f64,
    pub decrease: f64,
    /// The dynamic and the static probability at the start.
    pub initial: f64,
    pub fixed: f64,
}

/// The maximum probability of a colour.
#[derive(Clone, Debug)]
pub struct Steering {
    limits: Limits,
    zone: Zone,
    above_middle: bool,
    source: Source,
    dynamic: f64,
    fixed: f64,
    /// The dynamic probability as a product: this value, multiplied by `increase` and divided by `decrease` as often as
    /// the next two fields say.
    from: f64,
    raised: i32,
    cut: i32,
    /// Whether the dynamic probability has been at one of its bounds since then.
    bounded: bool,
    was_high: bool,
}

impl Steering {
    pub fn new(limits: Limits) -> Steering {
        Steering {
            limits,
            zone: Zone::Low,
            above_middle: false,
            source: Source::Dynamic,
            dynamic: limits.initial,
            fixed: limits.fixed,
            from: limits.initial,
            raised: 0,
            cut: 0,
            bounded: false,
            was_high: false,
        }
    }

    pub fn dynamic(&self) -> f64 {
        self.dynamic
    }

    pub fn fixed(&self) -> f64 {
        self.fixed
    }

    pub fn source(&self) -> Source {
        self.source
    }

    /// The maximum probability in use.
    pub fn effective(&self) -> f64 {
        match self.source {
            Source::Dynamic => self.dynamic,
            Source::Static => self.fixed,
        }
    }

    /// Update the state with the new average. Returns whether a probability changed, or whether another one is in use.
    #[inline]
    pub fn arrival(&mut self, average: f64) -> bool {
        let limits = &self.limits;
        let zone = if average < limits.low {
            Zone::Low
        } else if average >= limits.high {
            Zone::High
        } else {
            Zone::In
        };
        let crossed = limits
            .middle
            .is_some_and(|m| zone == Zone::In && (average >= m) != self.above_middle);
        if zone == self.zone && !crossed {
            return false;
        }
        self.enter(zone, crossed)
    }

    fn enter(&mut self, zone: Zone, crossed: bool) -> bool {
        let state_before = (self.dynamic, self.source);
        match zone {
            Zone::Low if self.zone != Zone::Low => {
                self.cut();
                self.source = Source::Dynamic;
                self.above_middle = false;
            }
            Zone::High if self.zone != Zone::High => {
                self.was_high = true;
                if self.limits.middle.is_some() && self.dynamic < self.fixed {
                    self.set(self.fixed);
                }
                self.raise();
                self.source = Source::Dynamic;
                self.above_middle = true;
            }
            Zone::In if crossed && self.above_middle => {
                self.source = Source::Dynamic;
                self.above_middle = false;
            }
            Zone::In if crossed => {
                if self.dynamic < self.fixed {
                    self.raise();
                }
                self.source = match self.dynamic < self.fixed {
                    true => Source::Static,
                    false => Source::Dynamic,
                };
                self.above_middle = true;
            }
            Zone::Low | Zone::In | Zone::High => {}
        }
        self.zone = zone;
        // Crossings are rare, so this check has no measurable cost and is made in every run.
        self.check();
        state_before != (self.dynamic, self.source)
    }

    /// Adapt the static probability, if there is a middle threshold. This is called once a second with the present
    /// average. Returns whether the probability changed.
    ///
    /// Liu 2001, chapter 5, proposes to adapt this probability but gives no rule. The rule and its constants are our
    /// choice.
    pub fn adapt_fixed(&mut self, average: f64) -> bool {
        let Some(middle) = self.limits.middle else {
            return false;
        };
        let (fixed_before, first) = (self.fixed, self.limits.fixed);
        if average >= 0.5 * (middle + self.limits.high) {
            self.fixed = (self.fixed * STATIC_STEP).min(STATIC_RANGE * first);
        } else if average < middle {
            self.fixed = (self.fixed / STATIC_STEP).max(first);
        }
        self.fixed = self.fixed.max(STATIC_LEAD * self.dynamic).min(MOST);
        self.fixed != fixed_before
    }

    fn set(&mut self, to: f64) {
        self.dynamic = to;
        (self.from, self.raised, self.cut, self.bounded) = (to, 0, 0, false);
    }

    fn raise(&mut self) {
        self.move_to(self.dynamic * self.limits.increase);
        self.raised += 1;
    }

    fn cut(&mut self) {
        self.move_to(self.dynamic / self.limits.decrease);
        self.cut += 1;
    }

    fn move_to(&mut self, to: f64) {
        self.bounded |= !(LEAST..=MOST).contains(&to);
        self.dynamic = to.clamp(LEAST, MOST);
    }

    /// Invariants: one of the two probabilities is in use; the dynamic one is its first value times powers of
    /// `increase` and `decrease`; and while the upper threshold has not been reached, the dynamic one is below
    /// `increase` times the static one.
    pub fn check(&self) {
        let limits = &self.limits;
        let acts = self.effective();
        assert!(acts == self.dynamic || acts == self.fixed, "{self:?}");
        if !self.bounded && self.dynamic > 0.0 {
            let (raised, cut) = (f64::from(self.raised), f64::from(self.cut));
            let power = raised * libm::log(limits.increase) - cut * libm::log(limits.decrease);
            let off = libm::log(self.dynamic / self.from) - power;
            // Each step may add a rounding error.
            assert!(off.abs() < 1e-12 * (10.0 + raised + cut), "{self:?}");
        }
        let tame = !self.was_high && !self.bounded && limits.increase > 1.0;
        if limits.middle.is_some()
            && tame
            && 0.0 < limits.fixed
            && limits.initial <= limits.fixed
            && self.fixed == limits.fixed
        {
            assert!(self.dynamic < limits.increase * limits.fixed, "{self:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::average::Average;
    use tailback_base::Stream;

    const LIMITS: Limits = Limits {
        low: 189.0,
        middle: Some(378.0),
        high: 2520.0,
        increase: 2.0,
        decrease: 3.0,
        initial: 0.1,
        fixed: 0.1,
    };

    fn self_configuring() -> Steering {
        Steering::new(Limits { middle: None, ..LIMITS })
    }

    /// The dynamic and the effective probability after each of these averages.
    fn through(s: &mut Steering, averages: &[f64]) -> Vec<(f64, f64)> {
        let factor_after = |a: &f64| {
            s.arrival(*a);
            (s.dynamic(), s.effective())
        };
        averages.iter().map(factor_after).collect()
    }

    #[test]
    fn an_entry_counts_once_however_long_the_average_stays() {
        let mut s = self_configuring();
        let moves = through(
            &mut s,
            &[
                0.0, 100.0, 200.0, 188.0, 100.0, 0.0, 3000.0, 2520.0, 9000.0, 2519.0, 2520.0,
            ],
        );
        let dynamic: Vec<f64> = moves.iter().map(|m| m.0).collect();
        let third = 0.1 / 3.0;
        let expected = [
            0.1,
            0.1,
            0.1,
            third,
            third,
            third,
            2.0 * third,
            2.0 * third,
            2.0 * third,
            2.0 * third,
            4.0 * third,
        ];
        assert_eq!(dynamic, expected);
        assert!(moves.iter().all(|m| m.0 == m.1));
    }

    /// After n dips the probability is 0.1 / 3^n, and after n bursts it is 0.1 2^n.
    #[test]
    fn dips_and_bursts() {
        let (mut dips, mut bursts) = (self_configuring(), self_configuring());
        dips.arrival(500.0);
        bursts.arrival(500.0);
        for _ in 0..3 {
            through(&mut dips, &[100.0, 500.0]);
            through(&mut bursts, &[3000.0, 500.0]);
        }
        assert!((dips.dynamic() - 0.1 / 27.0).abs() < 1e-15, "{}", dips.dynamic());
        assert!((bursts.dynamic() - 0.8).abs() < 1e-15);
    }

    /// Every transition of the state machine with a middle threshold.
    #[test]
    fn the_middle_threshold() {
        let mut s = Steering::new(LIMITS);
        // The average rises through L and M. The dynamic probability is not below the static one, and is used.
        assert_eq!(through(&mut s, &[200.0, 400.0, 300.0]), [(0.1, 0.1); 3]);
        // Below L, the dynamic probability is cut to a third. At the rise through L it does not change. At the rise
        // through M it is doubled, and the static one is used.
        let third = 0.1 / 3.0;
        let up = through(&mut s, &[100.0, 300.0, 378.0, 500.0]);
        assert_eq!(
            up,
            [(third, third), (third, third), (2.0 * third, 0.1), (2.0 * third, 0.1)]
        );
        assert_eq!(s.source(), Source::Static);
        // Below M, the dynamic probability is used.
        assert_eq!(through(&mut s, &[377.0]), [(2.0 * third, 2.0 * third)]);
        // At another rise through M, the dynamic probability is doubled. It is then above the static one, and is used
        // itself.
        assert_eq!(through(&mut s, &[400.0]), [(4.0 * third, 4.0 * third)]);
        assert_eq!(s.source(), Source::Dynamic);
        // At H the dynamic probability is doubled, and the doubled value is used until the average is below L.
        assert_eq!(through(&mut s, &[2520.0, 2000.0]), [(8.0 * third, 8.0 * third); 2]);
        // If the average jumps from below L to above H, the dynamic probability is raised to the static one and then
        // doubled.
        let mut s = Steering::new(LIMITS);
        through(&mut s, &[200.0, 100.0]);
        assert_eq!(through(&mut s, &[2600.0]), [(0.2, 0.2)]);
    }

    /// The state after an idle time does not hide a crossing.
    #[test]
    fn a_jump_from_above_the_middle_to_below_the_lower_threshold_clears_it() {
        let mut s = Steering::new(LIMITS);
        through(&mut s, &[400.0, 0.0]);
        assert_eq!(s.dynamic(), 0.1 / 3.0);
        s.arrival(400.0);
        assert_eq!((s.dynamic(), s.source()), (0.2 / 3.0, Source::Static));
    }

    #[test]
    fn above_the_static_probability_only_the_self_configuring_rule_is_left() {
        let more = Limits { initial: 0.4, ..LIMITS };
        let (mut with_middle, mut without) = (Steering::new(more), Steering::new(Limits { middle: None, ..more }));
        let mut stream = Stream::new(3, "walk");
        let mut average = 300.0;
        for _ in 0..20_000 {
            average = (average + 800.0 * (stream.uniform() - 0.5)).clamp(0.0, 6000.0);
            with_middle.arrival(average);
            without.arrival(average);
            if without.dynamic() < 0.1 {
                break;
            }
            assert_eq!(with_middle.effective(), without.effective());
        }
    }

    /// The averages are random walks with jumps after idle times. The invariants are checked at every step.
    #[test]
    fn the_invariants_hold_on_random_walks() {
        for seed in 0..20 {
            let (mut s, mut stream) = (Steering::new(LIMITS), Stream::new(seed, "walk"));
            let top = if seed % 2 == 0 { 2519.0 } else { 6000.0 };
            let mut average: f64 = 0.0;
            for _ in 0..50_000 {
                average = match stream.chance(0.001) {
                    true => average * 0.05,
                    false => (average + 300.0 * (stream.uniform() - 0.495)).clamp(0.0, top),
                };
                s.arrival(average);
                s.check();
                assert!(seed % 2 == 1 || s.effective() < 0.2);
                assert!((LEAST..=MOST).contains(&s.dynamic()));
            }
        }
    }

    #[test]
    fn the_adapted_static_probability_stays_in_its_range() {
        let mut s = Steering::new(LIMITS);
        let seconds = |s: &mut Steering, n: usize, average| (0..n).filter(|_| s.adapt_fixed(average)).count();
        assert_eq!(seconds(&mut s, 1, 1448.0), 1, "above the dynamic one in any case");
        assert!((s.fixed() - 0.101).abs() < 1e-15);
        seconds(&mut s, 1, 1449.0);
        assert!((s.fixed() - 0.1111).abs() < 1e-15);
        seconds(&mut s, 20, 1449.0);
        assert_eq!(s.fixed(), 0.2);
        assert_eq!(
            seconds(&mut s, 5, 500.0),
            0,
            "between M and the middle of M and H it stays"
        );
        through(&mut s, &[200.0, 100.0]);
        seconds(&mut s, 20, 300.0);
        assert_eq!(s.fixed(), 0.1);
        assert_eq!(seconds(&mut self_configuring(), 3, 2000.0), 0);
    }

    /// The average that changes the maximum probability is also the average that decides about the packet.
    #[test]
    fn an_idle_time_can_carry_an_average_through_all_thresholds() {
        use tailback_base::{BitRate, Time};
        let line_at = |s: u64| crate::contract::line::Line::idle(Time(s * 1_000_000_000), BitRate(201_600_000));
        let mut average = Average::new(3000.0, 0.002, 1000);
        let mut s = Steering::new(LIMITS);
        s.arrival(average.value());
        assert_eq!(s.dynamic(), 0.2);
        average.idle(line_at(1).now);
        s.arrival(average.arrival(0.0, &line_at(2)));
        assert!((s.dynamic() - 0.2 / 3.0).abs() < 1e-15);
    }
}
