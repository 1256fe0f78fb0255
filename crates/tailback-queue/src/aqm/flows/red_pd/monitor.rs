//! The drop history of RED-PD, and the rules that choose the filtered flows and their drop probabilities.
//!
//! ```text
//! a list lasts K/M R / sqrt(1.5 p), within its bounds; p = (p + loss rate of the list) / 2
//! at the end of a list, if its loss rate is above least_loss:
//!     u = min(loss rate of this list, p)
//!     regular are flows in at least K of the M lists; d = a flow's drops in all of them
//!     for regular flows in this list, unchanged for 4 lists and 0.4 s:
//!         x = u d / mean d of all regular flows
//!         not monitored:  g = min(x, 2 u, 0.5)          monitored:  g += min(x, g)
//!         and if it does not respond:  g = 3 g if x > g, else g + 2 x
//! monitored flows in none of the lists, unchanged for 3 lists (5 if they do not respond):
//!     g at most 0.005: let go     else g /= 2           (0.0025 and 1.5 if they do not respond)
//! ```
//!
//! Drops and loss rates are those of RED alone, in bytes. A flow responds if it sends less when it loses more, at RED
//! or at the filter. This is tested when the probability of the flow is about to rise. Two lists at whose end the
//! probability rose are compared if their loss rates are p1 < p2 < 10 p1. Between these lists the rate of the flow
//! should have fallen by sqrt(p1/p2) or more. A pair of lists that shows this is good; other pairs are bad. The flow
//! does not respond if at least three pairs are bad, and four times as many pairs are bad as are good. This result is
//! kept until the flow is released.
//!
//! A sample is taken only when g changes, so that the filter was changed for the flow between two samples. Samples at
//! fixed times would also compare times between which g did not change. The rate of a TCP then changes only because of
//! its own sawtooth, and pairs are good or bad by chance. Samples at fixed times are another interpretation of the
//! paper (`samples = "lists"`). A further interpretation counts only the drops of the present list, with the mean over
//! the flows whose g changes (`drops_of = "list"`).
//!
//! State: M lists of flows and their dropped bytes; for each monitored flow its g and the last [`SAMPLES`] samples. All
//! maps are ordered by the keys of the flows, so that runs repeat exactly. Bytes are not counted for flows that are not
//! monitored, so the list at whose end monitoring begins is not a sample, as in ns-2.

use crate::aqm::red::spread;
use std::collections::{BTreeMap, VecDeque};
use tailback_base::work::done_if_long;
use tailback_base::{Duration, Stream, Time};

/// The number of samples of a flow that are kept.
pub const SAMPLES: usize = 10;

/// The parameters. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct MonitorRules {
    pub rtt: f64,
    pub lists: usize,
    pub appearances: usize,
    pub shortest: f64,
    pub longest: f64,
    /// The time when the first list ends.
    pub first: f64,
    pub least_loss: f64,
    pub largest_step: f64,
    pub test_response: bool,
    /// If true, a sample is taken at the end of a list when the flow's probability rises; if false, every M lists.
    pub sample_changes: bool,
    /// If true, the drops of a flow in all lists count; if false, only those in the present list.
    pub whole_history: bool,
    pub spread: bool,
}

/// A monitored flow.
#[derive(Clone, Debug)]
pub struct Monitored {
    /// The drop probability of the flow.
    pub probability: f64,
    pub unresponsive: bool,
    /// Packets of this flow since the filter last dropped one of them.
    since: f64,
    /// The list and the time of the last change of the probability.
    changed: (u64, Time),
    /// Bytes that arrived in the present list, or since the last sample.
    arrived: u64,
    dropped: u64,
    began: Time,
    samples: VecDeque<Sample>,
}

/// The rate and the loss of a flow in a list or an interval.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Bytes a second.
    rate: f64,
    loss: f64,
}

impl Monitored {
    fn new(probability: f64, list: u64, now: Time) -> Monitored {
        Monitored {
            probability,
            unresponsive: false,
            since: 0.0,
            changed: (list, now),
            arrived: 0,
            dropped: 0,
            began: now,
            samples: VecDeque::new(),
        }
    }

    /// Whether the filter drops this packet of the flow.
    pub fn picks(&mut self, spreads: bool, stream: &mut Stream) -> bool {
        let p = match spreads {
            true => spread(self.probability, self.since, false),
            false => self.probability,
        };
        let picked = stream.chance(p);
        self.since = if picked { 0.0 } else { self.since + 1.0 };
        picked
    }

    /// Count this number of lost bytes.
    pub fn lost(&mut self, bytes: u32) {
        self.dropped += u64::from(bytes);
    }

    /// Start a new count of bytes now.
    fn restart(&mut self, now: Time) {
        (self.arrived, self.dropped, self.began) = (0, 0, now);
    }

    /// Store the counts until now as a sample.
    fn sample(&mut self, now: Time) {
        let seconds = now.since(self.began).seconds();
        if self.arrived == 0 || seconds <= 0.0 {
            return;
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            rate: self.arrived as f64 / seconds,
            loss: self.dropped as f64 / self.arrived as f64,
        });
    }

    /// Whether the samples show that the flow does not send less when it loses more.
    fn ignores_losses(&self) -> bool {
        let (mut good, mut bad) = (0, 0);
        for a in &self.samples {
            for b in self
                .samples
                .iter()
                .filter(|b| a.loss < b.loss && b.loss < 10.0 * a.loss)
            {
                match b.rate / a.rate <= (a.loss / b.loss).sqrt() {
                    true => good += 1,
                    false => bad += 1,
                }
            }
        }
        bad >= 3 && bad >= 4 * good
    }

    /// Raise the probability of the flow at the end of a list.
    fn tighten(&mut self, x: f64, changed: (u64, Time)) {
        let g = self.probability;
        let probability = match self.unresponsive {
            false => g + x.min(g),
            true if x > g => 3.0 * g,
            true => g + 2.0 * x,
        };
        (self.probability, self.changed) = (probability.min(1.0), changed);
    }
}

/// The history, and the monitored flows.
#[derive(Clone, Debug)]
pub struct Monitor {
    pub rules: MonitorRules,
    /// Dropped bytes of each flow in each list; the present list is the last one.
    lists: VecDeque<BTreeMap<u64, u64>>,
    /// Bytes that reached RED in this list, and the bytes that it dropped.
    arrived: u64,
    dropped: u64,
    /// The filtered loss rate.
    loss: Option<f64>,
    flows: BTreeMap<u64, Monitored>,
    /// The number of the present list, and its end.
    list: u64,
    ends: Time,
}

impl Monitor {
    pub fn new(rules: MonitorRules) -> Monitor {
        Monitor {
            rules,
            lists: VecDeque::from([BTreeMap::new()]),
            arrived: 0,
            dropped: 0,
            loss: None,
            flows: BTreeMap::new(),
            list: 0,
            ends: Time::ZERO + Duration::from_seconds(rules.first),
        }
    }

    /// The time when the present list ends.
    pub fn ends(&self) -> Time {
        self.ends
    }

    pub fn flows(&self) -> impl Iterator<Item = (&u64, &Monitored)> {
        self.flows.iter()
    }

    /// Count an arrived packet of this flow. Returns the flow, if it is monitored.
    #[inline]
    pub fn arrival(&mut self, flow: u64, bytes: u32) -> Option<&mut Monitored> {
        if self.flows.is_empty() {
            return None;
        }
        let f = self.flows.get_mut(&flow)?;
        f.arrived += u64::from(bytes);
        Some(f)
    }

    /// A packet passed the filter.
    #[inline]
    pub fn passed(&mut self, bytes: u32) {
        self.arrived += u64::from(bytes);
    }

    /// RED signalled a packet of this flow.
    pub fn signalled(&mut self, flow: u64, bytes: u32) {
        self.dropped += u64::from(bytes);
        if let Some(list) = self.lists.back_mut() {
            *list.entry(flow).or_default() += u64::from(bytes);
        }
        if let Some(f) = self.flows.get_mut(&flow) {
            f.lost(bytes);
        }
    }

    /// The present list is over.
    pub fn end_list(&mut self, now: Time) {
        if self.arrived > 0 {
            let loss = self.dropped as f64 / self.arrived as f64;
            let filtered = self.loss.map_or(loss, |p| 0.5 * (p + loss));
            self.loss = Some(filtered);
            if loss > self.rules.least_loss {
                self.tighten(loss.min(filtered), now);
            }
        }
        self.loosen(now);
        let r = self.rules;
        if r.sample_changes {
            self.flows.values_mut().for_each(|f| f.restart(now));
        } else if r.test_response && (self.list + 1).is_multiple_of(r.lists as u64) {
            for f in self.flows.values_mut() {
                f.sample(now);
                f.restart(now);
                f.unresponsive = f.ignores_losses();
            }
        }
        self.begin_list(now);
    }

    /// Flows in most of the lists, with their dropped bytes in all lists or in the present list.
    fn regular(&self) -> Vec<(u64, f64)> {
        let mut by_flow: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        for (i, list) in self.lists.iter().enumerate() {
            let counts = self.rules.whole_history || i + 1 == self.lists.len();
            for (flow, dropped) in list {
                let of = by_flow.entry(*flow).or_default();
                of.0 += 1;
                of.1 += if counts { *dropped } else { 0 };
            }
        }
        let often = by_flow.into_iter().filter(|(_, of)| of.0 >= self.rules.appearances);
        often.map(|(flow, of)| (flow, of.1 as f64)).collect()
    }

    /// Whether the probability of a flow may rise: the flow is in the present list, and its probability was not changed
    /// for 4 lists and 0.4 s.
    fn is_due(&self, flow: u64, now: Time) -> bool {
        let changed = self.flows.get(&flow).map(|f| f.changed);
        self.lists.back().is_some_and(|present| present.contains_key(&flow))
            && changed.is_none_or(|(list, at)| self.list >= list + 4 && now.since(at) >= Duration::from_millis(400))
    }

    /// Raise the probabilities of flows that are in this list and in most lists.
    fn tighten(&mut self, loss: f64, now: Time) {
        let (regular, r) = (self.regular(), self.rules);
        let due: Vec<(u64, f64)> = regular.iter().copied().filter(|s| self.is_due(s.0, now)).collect();
        let among = if r.whole_history { &regular } else { &due };
        let mean = among.iter().map(|s| s.1).sum::<f64>() / among.len() as f64;
        for (flow, dropped) in due {
            let x = loss * dropped / mean;
            let Some(f) = self.flows.get_mut(&flow) else {
                let g = x.min(2.0 * loss).min(0.5);
                self.flows.insert(flow, Monitored::new(g, self.list, now));
                continue;
            };
            if r.sample_changes {
                f.unresponsive |= r.test_response && f.ignores_losses();
                f.sample(now);
            }
            f.tighten(x, (self.list, now));
        }
    }

    /// Reduce the probabilities of flows that are in none of the lists.
    fn loosen(&mut self, now: Time) {
        let (lists, list, largest_step) = (&self.lists, self.list, self.rules.largest_step);
        done_if_long(8 * self.flows.len());
        self.flows.retain(|flow, f| {
            let (wait, least_kept, divisor) = match f.unresponsive {
                false => (3, 0.005, 2.0),
                true => (5, 0.0025, 1.5),
            };
            if list < f.changed.0 + wait || lists.iter().any(|l| l.contains_key(flow)) {
                return true;
            }
            let g = f.probability;
            f.probability = (g / divisor).max(g - largest_step);
            f.changed = (list, now);
            g > least_kept
        });
    }

    fn begin_list(&mut self, now: Time) {
        let r = &self.rules;
        let p = self.loss.unwrap_or(0.0);
        let seconds = r.appearances as f64 / r.lists as f64 * r.rtt / (1.5 * p).sqrt();
        let seconds = seconds.min(r.longest).max(r.shortest);
        self.ends = now + Duration::from_seconds(seconds);
        if self.lists.len() == r.lists {
            self.lists.pop_front();
        }
        self.lists.push_back(BTreeMap::new());
        (self.arrived, self.dropped) = (0, 0);
        self.list += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: MonitorRules = MonitorRules {
        rtt: 0.04,
        lists: 5,
        appearances: 3,
        shortest: 0.08,
        longest: 0.4,
        first: 0.4,
        least_loss: 0.001,
        largest_step: 0.05,
        test_response: true,
        sample_changes: true,
        whole_history: true,
        spread: false,
    };

    /// A list of 100,000 bytes in which each of these flows lost this number of bytes.
    fn list(m: &mut Monitor, lost: &[(u64, u32)]) {
        let all: u32 = lost.iter().map(|l| l.1).sum();
        m.passed(100_000 - all);
        for (flow, bytes) in lost {
            m.passed(*bytes);
            m.signalled(*flow, *bytes);
        }
        m.end_list(m.ends());
    }

    fn g(m: &Monitor, flow: u64) -> Option<f64> {
        m.flows().find(|(k, _)| **k == flow).map(|(_, f)| f.probability)
    }

    #[test]
    fn who_is_in_three_of_five_lists_is_monitored_by_his_share_of_the_drops() {
        let mut monitor = Monitor::new(RULES);
        for _ in 0..2 {
            list(&mut monitor, &[(1, 3000), (2, 1000)]);
        }
        assert_eq!(monitor.flows().count(), 0);
        list(&mut monitor, &[(1, 3000), (2, 1000), (3, 1000)]);
        // The loss rate is 0.05 in this list and 0.045 when filtered, so u = 0.045. The mean loss of the two flows is
        // 2000 bytes per list.
        let u: f64 = 0.045;
        assert!(
            (g(&monitor, 1).unwrap() - 1.5 * u).abs() < 1e-12,
            "{:?}",
            g(&monitor, 1)
        );
        assert!((g(&monitor, 2).unwrap() - 0.5 * u).abs() < 1e-12);
        assert_eq!(g(&monitor, 3), None);
    }

    #[test]
    fn no_flow_begins_above_twice_the_loss_rate_nor_above_a_half() {
        let mut monitor = Monitor::new(RULES);
        for _ in 0..3 {
            list(&mut monitor, &[(1, 3700), (2, 100), (3, 100), (4, 100)]);
        }
        assert!((g(&monitor, 1).unwrap() - 0.08).abs() < 1e-12, "2 u, not 3.7 u");
        let mut monitor = Monitor::new(RULES);
        for _ in 0..3 {
            list(&mut monitor, &[(1, 60_000)]);
        }
        assert_eq!(g(&monitor, 1), Some(0.5));
    }

    #[test]
    fn it_doubles_at_most_and_not_before_four_lists() {
        let mut monitor = Monitor::new(RULES);
        let mut probabilities = vec![];
        for _ in 0..12 {
            list(&mut monitor, &[(1, 1000)]);
            probabilities.push(g(&monitor, 1));
        }
        let by = |g: f64| Some(g);
        assert_eq!(
            probabilities[1..7],
            [None, by(0.01), by(0.01), by(0.01), by(0.01), by(0.02)]
        );
        assert_eq!(probabilities[10..], [by(0.03), by(0.03)], "by x once that is less");
    }

    #[test]
    fn who_does_not_respond_is_held_back_three_times_as_hard() {
        let grow = |g: f64, lost: u32, lists: u32| {
            let mut monitor = Monitor::new(MonitorRules {
                test_response: false,
                ..RULES
            });
            for _ in 0..3 {
                list(&mut monitor, &[(1, lost)]);
            }
            let f = monitor.flows.get_mut(&1).unwrap();
            (f.probability, f.unresponsive) = (g, true);
            for _ in 0..lists {
                list(&mut monitor, &[(1, lost)]);
            }
            monitor.flows[&1].probability
        };
        assert!((grow(0.01, 2000, 4) - 0.03).abs() < 1e-12, "x = 0.02 is more than g");
        assert!((grow(0.05, 2000, 4) - 0.09).abs() < 1e-12, "g + 2 x");
        assert_eq!(grow(0.9, 80_000, 5), 1.0, "five lists are 0.4 s");
    }

    #[test]
    fn who_loses_no_more_is_let_go_by_halves_and_small_steps() {
        let mut monitor = Monitor::new(RULES);
        for _ in 0..3 {
            list(&mut monitor, &[(1, 30_000)]);
        }
        let mut probabilities = vec![];
        while let Some(g) = g(&monitor, 1) {
            if probabilities.last() != Some(&g) {
                probabilities.push(g);
            }
            list(&mut monitor, &[(2, 50)]); // below the least loss, so no new flow is monitored
        }
        let expected = [0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125];
        assert_eq!(probabilities.len(), expected.len(), "{probabilities:?}");
        assert!(
            probabilities.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{probabilities:?}"
        );
    }

    #[test]
    fn a_list_lasts_as_long_as_a_tcp_needs_to_lose_often() {
        let length = |lost: u32| {
            let mut monitor = Monitor::new(RULES);
            assert_eq!(monitor.ends(), Time::from_seconds(0.4));
            list(&mut monitor, &[(1, lost)]);
            monitor.ends().since(Time::from_seconds(0.4)).seconds()
        };
        // The duration is 0.6 R / sqrt(1.5 p), which is 0.196 s for p = 1 %.
        assert!((length(1000) - 0.6 * 0.04 / 0.015_f64.sqrt()).abs() < 1e-8);
        assert_eq!(length(0), 0.4);
        assert_eq!(length(20_000), 0.08);
    }

    /// A monitored flow, with a sample for each of these pairs of loss rate and rate.
    fn sampled(samples: &[(f64, f64)]) -> Monitored {
        let mut f = Monitored::new(0.1, 0, Time::ZERO);
        for (loss, rate) in samples {
            f.arrived = *rate as u64;
            f.dropped = (loss * f.arrived as f64) as u64;
            f.sample(f.began + Duration::from_millis(1000));
        }
        f
    }

    #[test]
    fn a_constant_sender_does_not_respond_and_a_tcp_does() {
        let judged = |losses: &[f64], rate: &dyn Fn(f64) -> f64| {
            let samples: Vec<(f64, f64)> = losses.iter().map(|p| (*p, rate(*p))).collect();
            sampled(&samples).ignores_losses()
        };
        let losses = [0.01, 0.02, 0.04];
        assert!(judged(&losses, &|_| 1e6), "three pairs, all bad");
        assert!(!judged(&losses, &|p| 1e5 / (p * p.sqrt())), "all good");
        assert!(!judged(&losses[..2], &|_| 1e6), "one pair says nothing");
    }

    #[test]
    fn only_what_was_done_to_a_flow_is_a_sample_and_it_is_judged_before_more_is_done() {
        let mut monitor = Monitor::new(RULES);
        let mut states = vec![];
        // A sender that does not respond: it sends ten packets of 1000 bytes in each list, and the filter drops more
        // and more of them.
        for n in 0..30 {
            for i in 0..10 {
                if let Some(f) = monitor.arrival(1, 1000)
                    && i < n / 4
                {
                    f.lost(1000);
                }
            }
            list(&mut monitor, &[(1, 1000)]);
            if let Some(f) = monitor.flows.get(&1) {
                states.push((n, f.samples.len(), f.unresponsive));
            }
        }
        let samples: Vec<_> = states.iter().filter(|s| s.0 % 4 == 2).map(|s| s.1).collect();
        assert_eq!(
            samples,
            [0, 1, 2, 3, 4, 5, 6],
            "one every four lists, none when it begins"
        );
        let first_unresponsive = states.iter().find(|s| s.2).map(|s| s.0);
        assert_eq!(
            first_unresponsive,
            Some(18),
            "three samples make three pairs; at the change after them"
        );
    }

    #[test]
    fn the_other_reading_samples_every_five_lists_and_counts_this_one() {
        let mut monitor = Monitor::new(MonitorRules {
            sample_changes: false,
            whole_history: false,
            ..RULES
        });
        for _ in 0..3 {
            list(&mut monitor, &[(1, 1000), (2, 3000)]);
        }
        monitor.flows.remove(&2);
        for n in 3..20 {
            monitor.arrival(1, 1000);
            list(&mut monitor, &[(1, 1000)]);
            assert_eq!(monitor.flows[&1].samples.len(), (n + 1) / 5, "after {n}");
        }
        list(&mut monitor, &[(1, 1000), (2, 3000)]);
        assert_eq!(g(&monitor, 2), None, "in two of the last five");
    }

    #[test]
    fn who_loses_nothing_in_this_list_counts_in_the_mean_of_all_lists() {
        let mut monitor = Monitor::new(RULES);
        for _ in 0..3 {
            list(&mut monitor, &[(1, 1000), (2, 3000)]);
        }
        monitor.flows.clear();
        list(&mut monitor, &[(1, 1000)]);
        // In four lists the flows lost 4000 and 9000 bytes, 6500 on average. u is 1 %, the loss rate of this list,
        // which is below the filtered rate.
        assert!(
            (g(&monitor, 1).unwrap() - 0.01 * 4000.0 / 6500.0).abs() < 1e-12,
            "{:?}",
            g(&monitor, 1)
        );
        assert_eq!(g(&monitor, 2), None, "nothing is done to who lost nothing just now");
    }
}
