//! A line whose rate follows a trace. A trace gives rates that change at given times, or delivery opportunities.
//!
//! *Rates*: a packet is sent at the rates that are in force during its transmission, even if the rate changes in the
//! middle of the packet. A rate of 0 is an outage: the rest of the packet waits until the outage ends. *Opportunities*,
//! the form of Mahimahi (Netravali et al., USENIX ATC 2015, section 3.2): at each instant of a list, the line may
//! deliver a fixed number of bytes. Between these instants the line is shut, and packets wait in the queue. At an
//! opportunity the discipline is asked for a packet. The remaining bytes of the opportunity serve the next packet at
//! the same instant, or the first part of the next packet. The rest of that packet takes the opportunities that follow.
//! If no packet waits, the remaining bytes are lost. A packet that arrives at the instant of an opportunity misses it.
//! A packet longer than an opportunity takes several opportunities; Mahimahi refuses such a packet.
//!
//! After its end a trace keeps its last rate, or begins again. Before the first rate of the trace the line has its own
//! rate.
//!
//! State: the position of the line in the trace, and the unused part of the nanosecond or of the opportunity in which
//! the last packet ended. A packet costs a division. Each step of the trace costs a few instructions once a lap. A step
//! of rates takes 32 bytes of memory, an opportunity 8.

use std::sync::Arc;
use tailback_base::{BitRate, Duration, Time};

/// The trace that a line follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    steps: Steps,
    /// The trace begins again after this time. With `None` the last rate stays in force.
    lap: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
enum Steps {
    /// Rates in bit/s, in order of time since the beginning of a lap. The first is at 0.
    Rates(Vec<Step>),
    /// The instants of the opportunities, in order of time since the beginning of a lap. An instant that is listed
    /// several times has several opportunities.
    Opportunities { at: Vec<Time>, bytes: u32 },
}

/// A rate that is in force from this instant of a lap on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    at: Time,
    rate: u64,
    /// The capacity of a lap before this step, in billionths of a bit.
    before: u128,
}

/// The error in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The trace has no step.
    Empty,
    /// This step is earlier than the step before it. With rates, a step at the same time is also an error.
    Order(usize),
    /// The trace delivers no bytes at all, or no bytes after the last step.
    Dead,
}

impl Trace {
    /// A trace of rates, each from its instant on. `own` is the rate of the line before the first instant. With `wraps`
    /// the last instant is the end of a lap, and its rate is not used.
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
        let (last_rate, first_rate) = (rates.last().ok_or(Fault::Empty)?, rates[0]);
        if let Some(i) = rates.windows(2).position(|w| w[0].0 >= w[1].0) {
            return Err(Fault::Order(i + 1));
        }
        let mut steps: Vec<Step> = Vec::with_capacity(rates.len() + 1);
        let own = (first_rate.0 > Time::ZERO).then_some((Time::ZERO, own.0));
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
            last_rate.1 == 0
        };
        match dead {
            true => Err(Fault::Dead),
            false => Ok(Trace {
                steps: Steps::Rates(steps),
                lap: wraps.then_some(Duration(last_rate.0.0)),
            }),
        }
    }

    /// A trace of opportunities to deliver `bytes` bytes each. The last opportunity is at the end of a lap.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn opportunities(at: Vec<Time>, bytes: u32) -> Result<Trace, Fault> {
        let last_instant = *at.last().ok_or(Fault::Empty)?;
        if let Some(i) = at.windows(2).position(|w| w[0] > w[1]) {
            return Err(Fault::Order(i + 1));
        }
        if last_instant == Time::ZERO || bytes == 0 {
            return Err(Fault::Dead);
        }
        Ok(Trace {
            steps: Steps::Opportunities { at, bytes },
            lap: Some(Duration(last_instant.0)),
        })
    }

    /// The mean rate of a lap, and the largest rate of a step. With opportunities both values are the mean rate.
    pub fn span(&self) -> (f64, f64) {
        match &self.steps {
            Steps::Opportunities { at, bytes } => {
                let lap = self.lap.unwrap_or_default().seconds();
                let mean = at.len() as f64 * f64::from(*bytes) * 8.0 / lap;
                (mean, mean)
            }
            Steps::Rates(steps) => {
                let peak_rate = steps.iter().map(|s| s.rate).max().unwrap_or(0) as f64;
                let end = self.lap.map_or_else(|| steps[steps.len() - 1].at, |lap| Time(lap.0));
                let ends = steps[1..].iter().map(|s| s.at).chain([end]);
                let bits: f64 = steps
                    .iter()
                    .zip(ends)
                    .map(|(s, e)| s.rate as f64 * (e - s.at).seconds())
                    .sum();
                let mean = if end > Time::ZERO {
                    bits / end.seconds()
                } else {
                    peak_rate
                };
                (mean, peak_rate)
            }
        }
    }

    /// The amount that a line with this trace can send from time zero to this instant, in billionths of a bit. An
    /// opportunity at this instant counts.
    pub fn offered(&self, until: Time) -> u128 {
        let lap = self.lap.map_or(u64::MAX, |lap| lap.0);
        match &self.steps {
            Steps::Rates(steps) => {
                let (laps, in_lap) = (until.0 / lap, Time(until.0 % lap));
                let here = steps.partition_point(|s| s.at <= in_lap) - 1;
                u128::from(laps) * self.of_a_lap() + steps[here].offered(in_lap)
            }
            Steps::Opportunities { at, bytes } => {
                // The last opportunity of a lap is at the instant at which the next lap begins.
                let laps = until.0.saturating_sub(1) / lap;
                let of_lap = at.partition_point(|t| t.0 <= until.0 - laps * lap);
                let begun = if until.0 == (laps + 1) * lap {
                    at.partition_point(|t| t.0 == 0)
                } else {
                    0
                };
                let each = u128::from(*bytes) * 8_000_000_000;
                (u128::from(laps) * at.len() as u128 + (of_lap + begun) as u128) * each
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

    /// The number of steps in a lap.
    fn len(&self) -> usize {
        match &self.steps {
            Steps::Rates(steps) => steps.len(),
            Steps::Opportunities { at, .. } => at.len(),
        }
    }

    /// The memory of the steps, bytes.
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

/// The position of a line in its trace.
#[derive(Clone, Debug)]
pub struct Follower {
    trace: Arc<Trace>,
    /// The time when the present lap began.
    began: Time,
    /// The number of the step in force, or of the opportunity that is used next.
    at: usize,
    /// The unused rest after the last packet. For rates it is the rest of a nanosecond, in bit times 1e-9; for
    /// opportunities the rest of the opportunity, in bytes.
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

    /// The amount that the line has offered until the end of the last transmission, which is at this instant, in
    /// billionths of a bit. Of the last opportunity, only the part that the last packet took counts.
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

    /// The first time, from this instant on, at which the line takes a packet. This is the next opportunity with unused
    /// bytes. The opportunities before it are lost. In an outage of a trace of rates, the line takes a packet and sends
    /// it after the outage.
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

    /// The length of a lap, nanoseconds; 0 if the last rate stays in force.
    fn lap(&self) -> u64 {
        self.trace.lap.unwrap_or_default().0
    }

    /// The rate at this instant. While a packet is on the line, it is at the earliest the rate at the end of this
    /// packet. With opportunities, it is the mean rate.
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

    /// The end of a transmission that begins now. If the line was idle, the unused rest of a nanosecond is lost.
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
            // Skip the whole laps before the lap in which the transmission ends.
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

    /// The first time, from a later instant on, at which the line would take a packet. This call does not use up
    /// opportunities.
    pub fn would_open(&mut self, from: Time) -> Time {
        if from == Time::NEVER {
            return from;
        }
        let place = (self.began, self.at, self.left);
        let opens = self.opens(from);
        (self.began, self.at, self.left) = place;
        opens
    }

    /// The end of a transmission that begins at the first opportunity from now on with unused bytes.
    fn send_at_opportunities(&mut self, bytes: u32, each: u32, now: Time) -> Time {
        let mut need = u64::from(bytes);
        let mut opportunity = self.opens(now);
        while need > self.left {
            need -= self.left;
            self.next_opportunity(each);
            opportunity = self.opportunity();
        }
        self.left -= need;
        opportunity
    }

    /// Skip laps that have passed without a packet.
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

    /// The time when the step in force ends; never for the last step of a trace that does not begin again.
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

    /// A line with these rates in Mb/s at these times in ms. At 12 Mb/s, 1500 bytes take 1 ms.
    fn follow(rates: &[(u64, u64)], wraps: bool) -> Follower {
        let rates: Vec<(Time, u64)> = rates.iter().map(|(t, mbps)| (at(*t), mbps * 1_000_000)).collect();
        Follower::new(Arc::new(Trace::rates(&rates, BitRate(1), wraps).unwrap()))
    }

    #[test]
    fn a_packet_takes_the_rates_of_its_time() {
        let mut line = follow(&[(0, 12), (10, 6), (20, 24)], false);
        assert_eq!(line.send(1500, at(0), true), at(1));
        // Half of this packet is sent at 12 Mb/s, and half at 6 Mb/s.
        assert_eq!(line.send(1500, Time(9_500_000), true), at(11));
        assert_eq!(line.rate(at(15)), BitRate(6_000_000));
        // The last rate stays in force.
        assert_eq!(line.send(3000, at(1000), true), at(1001));
    }

    #[test]
    fn an_outage_delays_what_it_finds() {
        let mut line = follow(&[(0, 12), (10, 0), (20, 12)], false);
        assert_eq!(line.send(1500, Time(9_500_000), true), Time(20_500_000));
        let mut line = follow(&[(0, 12), (10, 0), (20, 12)], true);
        assert_eq!(line.send(1500, at(12), true), at(21));
        // In the second lap the rate is 12 Mb/s from 20 to 30 ms, and then 0 until 40 ms.
        assert_eq!(line.send(1500, at(35), true), at(41));
        assert_eq!(line.send(1500, at(1_000_000), true), at(1_000_001));
    }

    #[test]
    fn laps_that_pass_are_not_counted_one_by_one() {
        // A lap carries 1e-6 bits, so 12,000 bits take 1.2e10 laps of 1 ns.
        let short = Trace::rates(&[(Time(0), 1000), (Time(1), 1)], BitRate(1), true).unwrap();
        let mut line = Follower::new(Arc::new(short));
        assert_eq!(line.send(1500, Time(0), true), at(12_000));
        assert_eq!(line.send(1500, at(3_600_000), true), at(3_612_000));
        assert_eq!(line.rate(at(1_000_000_000)), BitRate(1000));
        // A lap has 10 ms at 12 Mb/s and 10 ms of outage. The transmission begins in the middle of the 10 ms and takes
        // two and a half times their capacity.
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
        // 4 bytes of the first opportunity are left and 1504 of the second. After this packet, 8 of these 1508 bytes
        // are left.
        assert_eq!(line.send(1500, at(1), false), at(1));
        assert_eq!(line.send(1500, at(1), false), at(3));
        // The bytes that were left at 3 ms are lost by now.
        assert_eq!(line.send(40, at(4), true), at(10));
        // This packet is sent in the next lap.
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
