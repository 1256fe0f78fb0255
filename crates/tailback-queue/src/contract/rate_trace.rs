//! A line whose rate follows a trace: rates that change at given times, or delivery opportunities.
//!
//! *Rates*: a packet is sent at the rates that are in force during its transmission, also if the rate changes in the
//! middle of it. A rate of 0 is an outage: the rest of the packet waits until the outage ends. *Opportunities*, the
//! form of Mahimahi (Netravali et al., USENIX ATC 2015, section 3.2): at each instant of the list the line may deliver
//! a fixed number of bytes. Between them it is shut, and packets wait in the queue. At an opportunity the discipline is
//! asked for a packet; what is left of the opportunity serves the next one at the same instant, or the first part of
//! it, whose rest takes the opportunities that follow. If no packet waits, the rest is lost. A packet that arrives at
//! the instant of an opportunity misses it. So a packet longer than an opportunity takes several; Mahimahi refuses it.
//!
//! A trace that ends holds its last rate, or begins again. Before the first rate of the trace the line has its own.
//!
//! State: where in the trace the line is, and what the last packet left of the nanosecond or of the opportunity in
//! which it ended. A packet costs a division; each step of the trace costs a few instructions once a lap. A step of
//! rates has 32 bytes, an opportunity 8.

use std::sync::Arc;
use tailback_base::{BitRate, Duration, Time};

/// The trace that a line follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    steps: Steps,
    /// The trace begins again after this time; `None`: the last rate holds.
    lap: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
enum Steps {
    /// Since the beginning of a lap, in order of time, the first at 0; bit/s.
    Rates(Vec<Step>),
    /// Since the beginning of a lap, in order of time, several at one instant if they repeat it.
    Opportunities { at: Vec<Time>, bytes: u32 },
}

/// A rate, from this instant of a lap on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    at: Time,
    rate: u64,
    /// The capacity of a lap before this step, in billionths of a bit.
    before: u128,
}

/// What is wrong with a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// There is no step.
    Empty,
    /// This step is earlier than the one before it; for rates, not later.
    Order(usize),
    /// The trace delivers nothing at all, or nothing after the last step.
    Dead,
}

impl Trace {
    /// Rates from these instants on. `own` is the rate of the line before the first. With `wraps` the last instant is
    /// the end of a lap, and its rate is not used.
    ///
    /// # Errors
    /// See [`Fault`].
    ///
    /// ```
    /// use tailback_base::{BitRate, Time};
    /// use tailback_queue::rate_trace::{Fault, Trace};
    ///
    /// let second = |n: u64| Time(n * 1_000_000_000);
    /// let own = BitRate(1_000_000);
    /// assert!(Trace::rates(&[(second(1), 500_000), (second(2), 0)], own, true).is_ok());
    /// // The outage would never end.
    /// assert_eq!(Trace::rates(&[(second(1), 500_000), (second(2), 0)], own, false), Err(Fault::Dead));
    /// ```
    pub fn rates(rates: &[(Time, u64)], own: BitRate, wraps: bool) -> Result<Trace, Fault> {
        let (last, first) = (rates.last().ok_or(Fault::Empty)?, rates[0]);
        if let Some(i) = rates.windows(2).position(|w| w[0].0 >= w[1].0) {
            return Err(Fault::Order(i + 1));
        }
        let mut steps: Vec<Step> = Vec::with_capacity(rates.len() + 1);
        let own = (first.0 > Time::ZERO).then_some((Time::ZERO, own.0));
        for (at, rate) in own.into_iter().chain(rates.iter().copied()) {
            let before = steps.last().map_or(0, |s| s.offered(at));
            steps.push(Step { at, rate, before });
        }
        if wraps {
            steps.pop();
        }
        let dead = if wraps {
            steps.iter().all(|s| s.rate == 0)
        } else {
            last.1 == 0
        };
        match dead {
            true => Err(Fault::Dead),
            false => Ok(Trace {
                steps: Steps::Rates(steps),
                lap: wraps.then_some(Duration(last.0.0)),
            }),
        }
    }

    /// Opportunities to deliver `bytes` bytes each; the last ends a lap.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn opportunities(at: Vec<Time>, bytes: u32) -> Result<Trace, Fault> {
        let last = *at.last().ok_or(Fault::Empty)?;
        if let Some(i) = at.windows(2).position(|w| w[0] > w[1]) {
            return Err(Fault::Order(i + 1));
        }
        if last == Time::ZERO || bytes == 0 {
            return Err(Fault::Dead);
        }
        Ok(Trace {
            steps: Steps::Opportunities { at, bytes },
            lap: Some(Duration(last.0)),
        })
    }

    /// The mean rate of a lap, and the greatest rate of a step. Opportunities have their mean only.
    pub fn span(&self) -> (f64, f64) {
        match &self.steps {
            Steps::Opportunities { at, bytes } => {
                let lap = self.lap.unwrap_or_default().seconds();
                let mean = at.len() as f64 * f64::from(*bytes) * 8.0 / lap;
                (mean, mean)
            }
            Steps::Rates(steps) => {
                let most = steps.iter().map(|s| s.rate).max().unwrap_or(0) as f64;
                let end = self.lap.map_or_else(|| steps[steps.len() - 1].at, |lap| Time(lap.0));
                let ends = steps[1..].iter().map(|s| s.at).chain([end]);
                let bits: f64 = steps
                    .iter()
                    .zip(ends)
                    .map(|(s, e)| s.rate as f64 * (e - s.at).seconds())
                    .sum();
                let mean = if end > Time::ZERO { bits / end.seconds() } else { most };
                (mean, most)
            }
        }
    }

    /// What a line that follows it can send from time zero to this instant, billionths of a bit. An opportunity at
    /// this instant counts.
    pub fn offered(&self, until: Time) -> u128 {
        let lap = self.lap.map_or(u64::MAX, |lap| lap.0);
        match &self.steps {
            Steps::Rates(steps) => {
                let (laps, rest) = (until.0 / lap, Time(until.0 % lap));
                let here = steps.partition_point(|s| s.at <= rest) - 1;
                u128::from(laps) * self.of_a_lap() + steps[here].offered(rest)
            }
            Steps::Opportunities { at, bytes } => {
                // The last opportunity of a lap is at the instant at which the next lap begins.
                let laps = until.0.saturating_sub(1) / lap;
                let here = at.partition_point(|t| t.0 <= until.0 - laps * lap);
                let begun = if until.0 == (laps + 1) * lap {
                    at.partition_point(|t| t.0 == 0)
                } else {
                    0
                };
                let each = u128::from(*bytes) * 8_000_000_000;
                (u128::from(laps) * at.len() as u128 + (here + begun) as u128) * each
            }
        }
    }

    /// The capacity of a lap, in billionths of a bit; 0 for a trace that does not repeat.
    fn of_a_lap(&self) -> u128 {
        match (&self.steps, self.lap) {
            (Steps::Rates(steps), Some(lap)) => steps.last().map_or(0, |s| s.offered(Time(lap.0))),
            _ => 0,
        }
    }

    /// How many steps a lap has.
    fn len(&self) -> usize {
        match &self.steps {
            Steps::Rates(steps) => steps.len(),
            Steps::Opportunities { at, .. } => at.len(),
        }
    }

    /// The memory of its steps, bytes.
    pub fn memory(&self) -> usize {
        match &self.steps {
            Steps::Rates(steps) => size_of_val::<[Step]>(steps),
            Steps::Opportunities { at, .. } => size_of_val::<[Time]>(at),
        }
    }
}

impl Step {
    /// The capacity of a lap before this instant of the step, in billionths of a bit.
    fn offered(&self, until: Time) -> u128 {
        self.before + u128::from(self.rate) * u128::from((until - self.at).0)
    }
}

/// Where a line is in its trace.
#[derive(Clone, Debug)]
pub struct Follower {
    trace: Arc<Trace>,
    /// When the present lap began.
    began: Time,
    /// The step in force, or the opportunity that is used next.
    at: usize,
    /// The unused rest after the last packet: of a nanosecond, in bit times 1e-9; of the opportunity, in bytes.
    left: u64,
    /// The capacity of a lap of rates, in bit times 1e-9.
    a_lap: u128,
}

impl Follower {
    pub fn new(trace: Arc<Trace>) -> Follower {
        let left = match &trace.steps {
            Steps::Rates(_) => 0,
            Steps::Opportunities { bytes, .. } => u64::from(*bytes),
        };
        let (began, at, a_lap) = (Time::ZERO, 0, trace.of_a_lap());
        Follower {
            trace,
            began,
            at,
            left,
            a_lap,
        }
    }

    /// See [`Trace::offered`].
    pub fn offered(&self, until: Time) -> u128 {
        self.trace.offered(until)
    }

    /// What the line has offered when the last packet, whose transmission ends at this instant, has left; billionths of
    /// a bit. Only the part of the last opportunity that this packet took counts.
    pub fn taken(&self, until: Time) -> u128 {
        match &self.trace.steps {
            Steps::Rates(_) => self.trace.offered(until),
            Steps::Opportunities { at, bytes } => {
                let laps = u128::from(self.began.0 / self.lap());
                let used = (laps * at.len() as u128 + self.at as u128 + 1) * u128::from(*bytes);
                (used - u128::from(self.left)) * 8_000_000_000
            }
        }
    }

    /// Whether the line is shut except at the instants of its opportunities.
    pub fn is_shut_between(&self) -> bool {
        matches!(self.trace.steps, Steps::Opportunities { .. })
    }

    /// When the line takes a packet, from this instant on: at an opportunity of which something is left. The ones
    /// before it are lost. In an outage of rates the line takes a packet and holds it.
    pub fn opens(&mut self, from: Time) -> Time {
        let Steps::Opportunities { bytes, .. } = self.trace.steps else {
            return from;
        };
        self.skip_laps(from, bytes);
        while self.left == 0 || self.opportunity() < from {
            self.next_opportunity(bytes);
        }
        self.opportunity()
    }

    /// Begin the lap that is in force at this instant, if it is a later one.
    fn catch_up(&mut self, now: Time) {
        let laps = now.since(self.began).0.checked_div(self.lap()).unwrap_or(0);
        if laps > 0 {
            self.began += Duration(laps * self.lap());
            self.at = 0;
        }
    }

    /// The length of a lap, nanoseconds; 0 if the last rate holds.
    fn lap(&self) -> u64 {
        self.trace.lap.unwrap_or_default().0
    }

    /// The rate at this instant; while a packet is on the line, at its end at the earliest. Of opportunities, the mean.
    pub fn rate(&mut self, now: Time) -> BitRate {
        match &self.trace.steps {
            Steps::Opportunities { .. } => BitRate(self.trace.span().0 as u64),
            Steps::Rates(_) => {
                self.catch_up(now);
                while self.end_of_step() <= now {
                    self.step();
                }
                BitRate(self.rate_of_step())
            }
        }
    }

    /// The end of a transmission that begins now. A line that was idle has nothing left over from earlier packets.
    pub fn send(&mut self, bytes: u32, now: Time, was_idle: bool) -> Time {
        match self.trace.steps {
            Steps::Rates(_) => self.send_at_rates(bytes, now, was_idle),
            Steps::Opportunities { bytes: each, .. } => self.send_at_opportunities(bytes, each, now),
        }
    }

    fn send_at_rates(&mut self, bytes: u32, now: Time, was_idle: bool) -> Time {
        let mut need = u128::from(bytes) * 8_000_000_000;
        if !was_idle {
            need = need.saturating_sub(u128::from(self.left));
        }
        self.catch_up(now);
        let mut from = now;
        loop {
            let end = self.end_of_step();
            if end <= from {
                self.step();
                continue;
            }
            // Whole laps before the one in which it ends.
            if self.at == 0 && from == self.began && need > self.a_lap && self.a_lap > 0 {
                let laps = (need - 1) / self.a_lap;
                need -= laps * self.a_lap;
                self.began += Duration(u64::try_from(laps).unwrap_or(u64::MAX).saturating_mul(self.lap()));
                from = self.began;
                continue;
            }
            let rate = u128::from(self.rate_of_step());
            let room = rate * u128::from((end - from).0);
            if end == Time::NEVER || need <= room {
                let ns = need.div_ceil(rate.max(1));
                self.left = (ns * rate - need) as u64;
                return from + Duration(ns as u64);
            }
            need -= room;
            from = end;
        }
    }

    /// When the line would take a packet, from a later instant on. No opportunity is lost by asking.
    pub fn would_open(&mut self, from: Time) -> Time {
        if from == Time::NEVER {
            return from;
        }
        let place = (self.began, self.at, self.left);
        let opens = self.opens(from);
        (self.began, self.at, self.left) = place;
        opens
    }

    /// The transmission begins at the first opportunity from now on, of which something may be left.
    fn send_at_opportunities(&mut self, bytes: u32, each: u32, now: Time) -> Time {
        let mut need = u64::from(bytes);
        let mut at = self.opens(now);
        while need > self.left {
            need -= self.left;
            self.next_opportunity(each);
            at = self.opportunity();
        }
        self.left -= need;
        at
    }

    /// Laps that have passed unused.
    fn skip_laps(&mut self, now: Time, each: u32) {
        // The last opportunity of a lap is at the instant at which the next lap begins.
        if now > self.began + Duration(self.lap()) {
            self.catch_up(Time(now.0 - 1));
            self.left = u64::from(each);
        }
    }

    fn next_opportunity(&mut self, each: u32) {
        self.step();
        self.left = u64::from(each);
    }

    fn opportunity(&self) -> Time {
        match &self.trace.steps {
            Steps::Opportunities { at, .. } => self.began + Duration(at[self.at].0),
            Steps::Rates(_) => Time::NEVER,
        }
    }

    fn rate_of_step(&self) -> u64 {
        match &self.trace.steps {
            Steps::Rates(steps) => steps[self.at].rate,
            Steps::Opportunities { .. } => 0,
        }
    }

    /// When the step in force ends; never for the last of a trace that holds.
    fn end_of_step(&self) -> Time {
        let Steps::Rates(steps) = &self.trace.steps else {
            return Time::NEVER;
        };
        match (steps.get(self.at + 1), self.trace.lap) {
            (Some(next), _) => self.began + Duration(next.at.0),
            (None, Some(lap)) => self.began + lap,
            (None, None) => Time::NEVER,
        }
    }

    fn step(&mut self) {
        self.at += 1;
        if self.at == self.trace.len() {
            self.at = 0;
            self.began += Duration(self.lap());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time(ms * MS)
    }

    /// 1500 bytes at 12 Mb/s take 1 ms.
    fn follow(rates: &[(u64, u64)], wraps: bool) -> Follower {
        let rates: Vec<(Time, u64)> = rates.iter().map(|(t, mbps)| (at(*t), mbps * 1_000_000)).collect();
        Follower::new(Arc::new(Trace::rates(&rates, BitRate(1), wraps).unwrap()))
    }

    #[test]
    fn a_packet_takes_the_rates_of_its_time() {
        let mut line = follow(&[(0, 12), (10, 6), (20, 24)], false);
        assert_eq!(line.send(1500, at(0), true), at(1));
        // Half of it at 12, half at 6 Mb/s.
        assert_eq!(line.send(1500, Time(9_500_000), true), at(11));
        assert_eq!(line.rate(at(15)), BitRate(6_000_000));
        // The last rate holds.
        assert_eq!(line.send(3000, at(1000), true), at(1001));
    }

    #[test]
    fn an_outage_delays_what_it_finds() {
        let mut line = follow(&[(0, 12), (10, 0), (20, 12)], false);
        assert_eq!(line.send(1500, Time(9_500_000), true), Time(20_500_000));
        let mut line = follow(&[(0, 12), (10, 0), (20, 12)], true);
        assert_eq!(line.send(1500, at(12), true), at(21));
        // The second lap: 20 to 30 ms at 12 Mb/s, then nothing until 40 ms.
        assert_eq!(line.send(1500, at(35), true), at(41));
        assert_eq!(line.send(1500, at(1_000_000), true), at(1_000_001));
    }

    #[test]
    fn laps_that_pass_are_not_counted_one_by_one() {
        // 1e-6 bits a lap: 12,000 bits take 1.2e10 laps of 1 ns.
        let short = Trace::rates(&[(Time(0), 1000), (Time(1), 1)], BitRate(1), true).unwrap();
        let mut line = Follower::new(Arc::new(short));
        assert_eq!(line.send(1500, Time(0), true), at(12_000));
        assert_eq!(line.send(1500, at(3_600_000), true), at(3_612_000));
        assert_eq!(line.rate(at(1_000_000_000)), BitRate(1000));
        // Two and a half laps of 10 ms at 12 Mb/s and 10 ms of outage, from the middle of one.
        let mut line = follow(&[(0, 12), (10, 0), (20, 0)], true);
        assert_eq!(line.send(1500 * 25, at(5), true), at(50));
        let mut line = Follower::new(Arc::new(Trace::opportunities(vec![at(1)], 1504).unwrap()));
        assert_eq!(line.send(1500, at(3_600_000), true), at(3_600_000));
        assert_eq!(line.send(1500, at(3_600_000), false), at(3_600_001));
    }

    #[test]
    fn a_busy_line_loses_no_part_of_a_nanosecond() {
        let mut line = follow(&[(0, 7), (1000, 7)], false);
        let mut now = Time::ZERO;
        for i in 0..7000 {
            now = line.send(1000, now, i == 0);
        }
        assert_eq!(now, at(8000));
    }

    #[test]
    fn opportunities_serve_who_waits_and_nobody_else() {
        let trace = Trace::opportunities([1, 1, 3, 10].map(at).to_vec(), 1504).unwrap();
        assert_eq!(trace.span().0, 4.0 * 1504.0 * 8.0 / 0.010);
        let mut line = Follower::new(Arc::new(trace));
        assert_eq!(line.send(1500, at(0), true), at(1));
        // 4 bytes of the first are left, 1504 of the second: 8 of those 1508 are left.
        assert_eq!(line.send(1500, at(1), false), at(1));
        assert_eq!(line.send(1500, at(1), false), at(3));
        // What was left at 3 ms is lost by now.
        assert_eq!(line.send(40, at(4), true), at(10));
        // The next lap.
        assert_eq!(line.send(1500, at(10), false), at(11));
        assert_eq!(line.send(3000, at(12), true), at(20));
    }

    #[test]
    fn faults_are_found() {
        let own = BitRate(1);
        assert_eq!(Trace::rates(&[], own, true), Err(Fault::Empty));
        assert_eq!(Trace::rates(&[(at(1), 1), (at(1), 2)], own, true), Err(Fault::Order(1)));
        assert_eq!(Trace::rates(&[(at(0), 0), (at(5), 3)], own, true), Err(Fault::Dead));
        assert_eq!(Trace::opportunities(vec![at(2), at(1)], 1504), Err(Fault::Order(1)));
        assert_eq!(Trace::opportunities(vec![Time::ZERO], 1504), Err(Fault::Dead));
    }
}
