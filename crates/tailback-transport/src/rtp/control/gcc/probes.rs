//! When clusters are sent faster than the estimate, to find free capacity of the line (str0m 0.25.0).
//!
//! * At the start, before the first report: at 3 times the estimate, then at 6 times the estimate.
//! * Later, when the estimate is at least 0.7 of the last cluster's rate, and has changed or a second has passed: at
//!   twice the estimate, or at 1.575 times the estimate while the bound by losses grows.
//! * Within 5 s after a fall of the estimate below 0.66 of its former value, if the application limits the rate or did
//!   so until 3 s ago: at 0.85 of the former value.
//! * Every 5 s while the application limits the rate: at twice the largest rate.
//! * At a standstill, when the estimate has not moved by 5 % for 15 s and is below the largest rate: at twice the
//!   estimate.
//!
//! No cluster is faster than twice the largest rate, and none is planned while the line is overused or losses lower the
//! estimate. The last three kinds wait for a second after the first two kinds. The two kinds whose condition is that
//! the application limits the rate wait for 5 s after any cluster.
//!
//! The state is the clusters that are planned, the clusters that are sent and awaited (for a second), and the last
//! cluster of each reason.

use super::cluster::Cluster;
use crate::rtp::control::{Fate, LeavingPacket, ReportedPacket};
use std::collections::VecDeque;
use tailback_base::{Duration, Time};

const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const FURTHER_IN_LOSS: f64 = 1.5 * 1.05;
const FURTHER_FROM: f64 = 0.7;
const MOST: f64 = 2.0;
const FALL: f64 = 0.66;
const AFTER_FALL: f64 = 0.85;
const FALL_LASTS: Duration = Duration::from_millis(5000);
const RESULT_WITHIN: Duration = Duration::from_millis(1000);
const LIMITED_LASTS: Duration = Duration::from_millis(3000);
const LIMITED_EVERY: Duration = Duration::from_millis(5000);
const STANDSTILL: Duration = Duration::from_millis(15_000);
/// A smaller change of the estimate does not count.
const CHANGE: f64 = 0.05;
const LEAST_RATE: f64 = 5000.0;

/// What bounds the estimate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Delay,
    /// Losses bound the estimate, but it grows.
    Growing,
    /// Losses bound the estimate, or the line is overused. No cluster is planned then.
    Congestion,
}

/// Why a cluster is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The clusters at the start, and the later clusters at a multiple of the estimate.
    Search,
    Fall,
    Limited,
    Standstill,
}

/// The last cluster that was planned.
#[derive(Clone, Copy)]
struct LastProbe {
    at: Time,
    why: Why,
    rate: f64,
    estimate: f64,
}

pub struct Probes {
    /// Bit/s.
    largest: f64,
    planned: VecDeque<Cluster>,
    /// The clusters that were sent, with the time until which their packets are awaited.
    sent: VecDeque<(Time, Cluster)>,
    last: Option<LastProbe>,
    /// The estimate that counts and what bounds it, the estimate of the last call, and the time of its last change.
    estimate: Option<(f64, Bound)>,
    before: Option<f64>,
    changed: Option<Time>,
    stood: Option<Time>,
    /// A fall of the estimate: its time, and the estimate before it.
    fall: Option<(Time, f64)>,
    /// Whether the application limits the rate, and when it last stopped limiting it.
    is_limited: bool,
    limited_until: Option<Time>,
    /// The rate that clusters proved while the application limited the rate, and the time of this proof.
    proven: Option<(f64, Time)>,
}

/// How long a proven rate counts.
const PROVEN_LASTS: Duration = Duration::from_millis(60_000);

impl Probes {
    pub fn new(largest: f64) -> Probes {
        Probes {
            largest,
            planned: VecDeque::new(),
            sent: VecDeque::new(),
            last: None,
            estimate: None,
            before: None,
            changed: None,
            stood: None,
            fall: None,
            is_limited: false,
            limited_until: None,
            proven: None,
        }
    }

    /// The rate of the cluster that is sent now, bit/s.
    pub fn rate(&self) -> Option<f64> {
        self.planned.front().map(|c| c.rate)
    }

    pub fn on_sent(&mut self, s: &LeavingPacket) {
        let is_whole = self.planned.front_mut().is_some_and(|c| c.send(s.number, s.bytes));
        if let Some(c) = is_whole.then(|| self.planned.pop_front()).flatten() {
            self.sent.push_back((s.now + RESULT_WITHIN, c));
        }
    }

    /// The rate that the packets of a report prove, in the order of their arrival.
    pub fn result(&mut self, received: &[(Time, &ReportedPacket)], now: Time) -> Option<f64> {
        let mut news = None;
        for (arrival, p) in received.iter().filter(|(_, p)| p.fate != Fate::Lost) {
            let all = self.sent.iter_mut().map(|(_, c)| c).chain(self.planned.front_mut());
            for c in all {
                if c.receive(p.number, p.bytes, p.sent, *arrival)
                    && let Some(rate) = c.result()
                {
                    news = Some(rate);
                    if c.is_limited {
                        let most = self.proven.map_or(rate, |(proven, _)| proven.max(rate));
                        self.proven = Some((most, now));
                    }
                }
            }
        }
        self.sent.retain(|(until, _)| now < *until);
        news
    }

    /// The rate that the line is known to carry while the application sends less, bit/s.
    pub fn proven(&self, now: Time) -> Option<f64> {
        let (rate, at) = self.proven.filter(|_| self.is_limited)?;
        (now.since(at) <= PROVEN_LASTS).then_some(rate)
    }

    /// Take the estimate, what bounds it, and whether the application limits the rate, and plan clusters.
    pub fn look(&mut self, estimate: f64, bound: Bound, is_limited: bool, now: Time) {
        if self.is_limited && !is_limited {
            self.limited_until = Some(now);
        }
        self.is_limited = is_limited;
        let is_same = |last: f64| (1.0 - CHANGE..=1.0 + CHANGE).contains(&(estimate / last));
        if !self.estimate.is_some_and(|(last, b)| b == bound && is_same(last)) {
            self.estimate = Some((estimate, bound));
        }
        let Some((estimate, bound)) = self.estimate.filter(|(_, b)| *b != Bound::Congestion) else {
            return;
        };
        if !self.planned.is_empty() {
            return;
        }
        self.plan(estimate, bound, now);
        if self.before.is_some_and(|before| before != estimate) || self.changed.is_none() {
            self.changed = Some(now);
        }
        self.before = Some(estimate);
    }

    fn plan(&mut self, estimate: f64, bound: Bound, now: Time) {
        let Some(last) = self.last else {
            for factor in FIRST {
                self.add(factor * estimate, Why::Search, estimate, now);
            }
            return;
        };
        let elapsed = now.since(last.at);
        if let Some(rate) = self.further(&last, estimate, bound, now) {
            self.add(rate, Why::Search, estimate, now);
        } else if last.why == Why::Search && elapsed <= RESULT_WITHIN {
            // The result of the last cluster is awaited.
        } else if let Some(rate) = self.after_fall(estimate, elapsed, now) {
            self.add(rate, Why::Fall, estimate, now);
        } else if self.is_limited && elapsed >= LIMITED_EVERY {
            self.add(FURTHER * self.largest, Why::Limited, estimate, now);
        } else if self.stands(estimate, now) {
            self.stood = Some(now);
            self.add(FURTHER * estimate, Why::Standstill, estimate, now);
        }
    }

    fn further(&self, last: &LastProbe, estimate: f64, bound: Bound, now: Time) -> Option<f64> {
        let is_new = estimate != last.estimate || now.since(last.at) >= RESULT_WITHIN;
        if estimate < FURTHER_FROM * last.rate || !is_new {
            return None;
        }
        let factor = if bound == Bound::Growing {
            FURTHER_IN_LOSS
        } else {
            FURTHER
        };
        let (rate, most) = (factor * estimate, MOST * self.largest);
        (rate < most || last.rate < most).then_some(rate)
    }

    fn after_fall(&mut self, estimate: f64, since: Duration, now: Time) -> Option<f64> {
        let fell = self.before.filter(|before| estimate < FALL * before);
        self.fall = self.fall.or(fell.map(|before| (now, before)));
        let (at, rate_before) = self.fall?;
        if now.since(at) > FALL_LASTS {
            self.fall = None;
            return None;
        }
        let was_limited = self.limited_until.is_some_and(|t| now.since(t) < LIMITED_LASTS);
        if !(self.is_limited || was_limited) || since < LIMITED_EVERY {
            return None;
        }
        self.fall = None;
        Some(AFTER_FALL * rate_before)
    }

    fn stands(&self, estimate: f64, now: Time) -> bool {
        let is_long = |t: Option<Time>| t.is_none_or(|t| now.since(t) >= STANDSTILL);
        !self.is_limited
            && estimate < self.largest
            && self.changed.is_some()
            && is_long(self.changed)
            && is_long(self.stood)
    }

    fn add(&mut self, rate: f64, why: Why, estimate: f64, now: Time) {
        let rate = rate.min(MOST * self.largest);
        if rate < LEAST_RATE {
            return;
        }
        self.planned.push_back(Cluster::new(rate, why == Why::Limited));
        self.last = Some(LastProbe {
            at: now,
            why,
            rate,
            estimate,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time((1e9 * seconds) as u64)
    }

    /// The rates of the clusters that a call of `look` plans, kbit/s. These clusters count as sent.
    fn planned(p: &mut Probes, kbits: f64, bound: Bound, is_limited: bool, seconds: f64) -> Vec<f64> {
        p.look(1e3 * kbits, bound, is_limited, at(seconds));
        p.planned.drain(..).map(|c| (c.rate / 1e3).round()).collect()
    }

    #[test]
    fn a_search_begins_at_3_and_6_times_the_estimate_and_goes_on_at_twice() {
        let begun = |largest| {
            let mut p = Probes::new(largest);
            let first = planned(&mut p, 1000.0, Bound::Delay, false, 0.0);
            (p, first)
        };
        assert_eq!(begun(2e6).1, [3000.0, 4000.0], "twice the largest rate at most");
        let (mut p, first) = begun(10e6);
        assert_eq!(first, [3000.0, 6000.0]);
        // 0.7 of 6 Mbit/s is 4.2 Mbit/s.
        assert_eq!(planned(&mut p, 4100.0, Bound::Delay, false, 0.2), []);
        assert_eq!(planned(&mut p, 4400.0, Bound::Congestion, false, 0.3), []);
        assert_eq!(planned(&mut p, 4400.0, Bound::Delay, false, 0.4), [8800.0]);
        assert_eq!(
            planned(&mut begun(10e6).0, 5000.0, Bound::Growing, false, 0.4),
            [7875.0]
        );
    }

    /// The estimate falls from 3 to 1.9 Mbit/s six seconds after the search. The application limits the rate until some
    /// time before. `look` is called every 1.5 s.
    #[test]
    fn after_a_fall_0_85_of_the_estimate_before_is_tried() {
        let after_fall = |fall_s: f64| {
            let mut p = Probes::new(10e6);
            for n in 0..4 {
                let seconds = 1.5 * f64::from(n);
                let rates = planned(&mut p, 3000.0, Bound::Delay, seconds < fall_s, seconds);
                assert_eq!(rates.is_empty(), n > 0);
            }
            planned(&mut p, 1900.0, Bound::Delay, 6.0 < fall_s, 6.0)
        };
        assert_eq!(after_fall(10.0), [2550.0]);
        // The end of the limit is seen at 4.5 s in the first case, 1.5 s before the fall, and at 3 s in the second
        // case, 3 s before the fall.
        assert_eq!(after_fall(4.0), [2550.0]);
        assert_eq!(after_fall(2.0), []);
    }

    #[test]
    fn an_application_that_limits_the_rate_has_a_cluster_each_five_seconds() {
        let mut p = Probes::new(10e6);
        let looks = (0..=120).filter_map(|n| {
            let seconds = 0.1 * f64::from(n);
            let rates = planned(&mut p, 1000.0, Bound::Delay, true, seconds);
            (!rates.is_empty()).then_some((n, rates))
        });
        let expected = [(0, vec![3000.0, 6000.0]), (50, vec![20_000.0]), (100, vec![20_000.0])];
        assert_eq!(looks.collect::<Vec<_>>(), expected);
    }

    /// Changes below 5 % do not count.
    #[test]
    fn at_a_standstill_of_15_s_twice_the_estimate_is_tried() {
        let plans = |largest: f64| {
            let mut p = Probes::new(largest);
            let looks = (0..=310).filter_map(|n| {
                let kbits = if n % 2 == 0 { 1000.0 } else { 1040.0 };
                let rates = planned(&mut p, kbits, Bound::Delay, false, 0.1 * f64::from(n));
                (!rates.is_empty()).then_some((n, rates))
            });
            looks.skip(1).collect::<Vec<_>>()
        };
        assert_eq!(plans(10e6), [(150, vec![2000.0]), (300, vec![2000.0])]);
        assert_eq!(plans(1e6), [], "the estimate is the largest rate");
    }

    /// A cluster at 20 Mbit/s has 30 packets of 1250 B, one every 0.5 ms, which arrive 1 ms apart. They prove 0.95 of
    /// 10 Mbit/s for a minute, while the application limits the rate.
    #[test]
    fn what_a_cluster_proves_counts_while_the_application_limits_the_rate() {
        let mut p = Probes::new(10e6);
        planned(&mut p, 1000.0, Bound::Delay, true, 0.0);
        p.look(1e6, Bound::Delay, true, at(5.0));
        let packets: Vec<ReportedPacket> = (0..30)
            .map(|number| ReportedPacket {
                number,
                bytes: 1250,
                sent: at(5.0 + 0.0005 * number as f64),
                fate: Fate::Received {
                    at: at(5.1 + 0.001 * number as f64),
                    marked: false,
                },
            })
            .collect();
        for packet in &packets {
            assert!(p.rate().is_some());
            p.on_sent(&LeavingPacket {
                now: packet.sent,
                number: packet.number,
                bytes: packet.bytes,
                in_flight: 0,
                is_padding: true,
            });
        }
        assert_eq!(p.rate(), None);
        let received: Vec<_> = (0..30)
            .map(|n| (at(5.1 + 0.001 * f64::from(n)), &packets[n as usize]))
            .collect();
        let news = p.result(&received, at(5.2)).expect("a result");
        assert!((news - 9.5e6).abs() < 10.0, "{news}");
        let proven = p.proven(at(65.2)).expect("it lasts for a minute");
        assert!((proven - news).abs() < 10.0 && p.proven(at(65.3)).is_none(), "{proven}");
        p.look(1e6, Bound::Delay, false, at(10.0));
        assert_eq!(p.proven(at(10.0)), None);
    }
}
