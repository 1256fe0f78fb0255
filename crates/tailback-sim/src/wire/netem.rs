//! `netem`, the emulator of networks of Linux, as a link's impairment: the fate of a packet that arrives.
//!
//! All of it is 32-bit arithmetic on random numbers. A number that is *correlated* keeps a part of the last one:
//!
//! ```text
//! next = (drawn (2^32 - rho) + last rho) / 2^32        rho = 1 + the correlation as a part of 2^32 - 1
//! ```
//!
//! Correlated numbers are nearer to their mean, so they are below a threshold more seldom or more often than the given
//! probability says. A delay takes a number modulo the length of the table of its distribution, or modulo twice the
//! jitter. Neighbours that are correlated therefore give nearly independent delays, as in Linux.
//!
//! A packet passes these steps in order: a copy, a loss, a wrong bit, the limit, and then the delay, except for a
//! packet that leaves at once. A loss takes one of two copies. A wrong bit is in one of two copies. If no place is
//! left, both copies are lost. A packet leaves at its own time, so a packet with a shorter delay overtakes others. With
//! a rate a packet waits for the last packet that is held, and takes its own time after that.
//!
//! Sources: tc-netem(8); S. Hemminger, "Network emulation with NetEm", 2005; Salsano, Ludovici and Ordine 2009 for the
//! four states of losses; facts of net/sched/sch_netem.c for the arithmetic and the order. The tables follow from the
//! formulas of NIST Net, which are in the public domain. They have 4096 values of the inverse of a distribution, in
//! units of 1/8192 of the jitter.
//!
//! State: the last number of each kind, the state of losses, and the times at which the packets that are held leave.
//!
//! Departures: a packet with a wrong bit is lost here. Slots do not exist here. The clock ticks in nanoseconds.
//!
//! Cost of a packet: O(1), plus the number of packets that it overtakes.

use crate::declare::netem::{Correlated, Distribution, Losses, Netem};
use std::collections::VecDeque;
use std::sync::OnceLock;
use tailback_base::{Stream, Time};

/// The number of units of a table's values in one jitter.
const SCALE: i64 = 8192;
/// The number of values of a table.
const LENGTH: usize = 4096;
/// The number of parts into which the formulas divide the probability.
const FINE: usize = 4 * LENGTH;

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// At least the time of its arrival; `None` if it is lost.
    pub leaves: Option<Time>,
    pub marked: bool,
    /// Another copy arrives now, with the same mark, whether or not this one is lost.
    pub copied: bool,
}

/// Numbers of 32 bits, each of which keeps a part of the last one.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    rho: u32,
    last: u32,
}

/// A probability as a part of the largest number.
fn part(probability: f64) -> u32 {
    (probability * f64::from(u32::MAX)).round() as u32
}

fn drawn(rng: &mut Stream) -> u32 {
    (rng.bits() >> 32) as u32
}

impl Numbers {
    fn new(correlation: f64, rng: &mut Stream) -> Numbers {
        let rho = part(correlation);
        let last = if rho == 0 { 0 } else { drawn(rng) };
        Numbers { rho, last }
    }

    fn next(&mut self, rng: &mut Stream) -> u32 {
        let new = drawn(rng);
        if self.rho == 0 {
            return new;
        }
        let rho = u128::from(self.rho) + 1;
        let sum = u128::from(new) * ((1 << 32) - rho) + u128::from(self.last) * rho;
        self.last = (sum >> 32) as u32;
        self.last
    }
}

/// An event with a probability.
#[derive(Clone, Copy, Debug)]
struct Event {
    part: u32,
    numbers: Numbers,
}

impl Event {
    fn new(of: Correlated, rng: &mut Stream) -> Event {
        Event {
            part: part(of.probability),
            numbers: Numbers::new(of.correlation, rng),
        }
    }

    /// Whether the event happens. No number is drawn if it never happens.
    fn happens(&mut self, rng: &mut Stream) -> bool {
        self.part > 0 && self.part >= self.numbers.next(rng)
    }
}

/// The positions of losses.
#[derive(Clone, Copy, Debug)]
enum LossState {
    Random(Event),
    /// One of the four states, by its number, and the probabilities p13, p31, p32, p23, p14.
    States(u8, [u32; 5]),
    /// Whether the state is bad; and p, r, 1-h, 1-k.
    Elliott(bool, [u32; 4]),
}

impl LossState {
    fn new(of: &Losses, rng: &mut Stream) -> LossState {
        match of {
            Losses::Random(of) => LossState::Random(Event::new(*of, rng)),
            Losses::States(all) => LossState::States(1, all.map(part)),
            Losses::Elliott(all) => LossState::Elliott(false, all.map(part)),
        }
    }

    fn strikes(&mut self, rng: &mut Stream) -> bool {
        match self {
            LossState::Random(event) => event.happens(rng),
            LossState::States(state, [p13, p31, p32, p23, p14]) => {
                let random = u64::from(drawn(rng));
                let [p13, p31, p32, p23, p14] = [*p13, *p31, *p32, *p23, *p14].map(u64::from);
                *state = match *state {
                    1 if random < p14 => 4,
                    1 if random < p14 + p13 => 3,
                    2 if random < p23 => 3,
                    2 => 2,
                    3 if random < p32 => 2,
                    3 if random >= p32 + p31 => 3,
                    // From 1 and 3 in all other cases, and from 4 always.
                    _ => 1,
                };
                matches!(state, 3 | 4)
            }
            LossState::Elliott(bad, [p, r, lost_bad, lost_good]) => {
                // The state moves with the packet, but the loss of the packet depends on the state before.
                let (turns, loses) = if *bad { (*r, *lost_bad) } else { (*p, *lost_good) };
                *bad ^= drawn(rng) < turns;
                let number = drawn(rng);
                number < loses || (loses == u32::MAX && number == loses)
            }
        }
    }
}

/// The emulator of one direction of a link.
pub struct Emulator {
    of: Netem,
    delays: Numbers,
    table: Option<&'static [i16]>,
    losses: LossState,
    duplicate: Event,
    corrupt: Event,
    reorder: Event,
    /// The number of packets since the last one that left at once.
    since: u64,
    /// The times at which the packets that are held leave, the earliest first.
    held: VecDeque<Time>,
}

impl Emulator {
    pub fn new(of: &Netem, rng: &mut Stream) -> Emulator {
        Emulator {
            delays: Numbers::new(of.delay_correlation, rng),
            table: table(of.distribution),
            losses: LossState::new(&of.losses, rng),
            duplicate: Event::new(of.duplicate, rng),
            corrupt: Event::new(of.corrupt, rng),
            reorder: Event::new(of.reorder, rng),
            since: 0,
            held: VecDeque::new(),
            of: of.clone(),
        }
    }

    /// A packet arrives. A copy is not copied again.
    pub fn take(&mut self, now: Time, bytes: u32, capable: bool, is_copy: bool, rng: &mut Stream) -> Verdict {
        let lost = |copied: bool, marked: bool| Verdict {
            leaves: None,
            marked,
            copied,
        };
        let mut copied = !is_copy && self.duplicate.happens(rng);
        let mut marked = false;
        if self.losses.strikes(rng) {
            if self.of.ecn && capable {
                marked = true;
            } else if copied {
                // One of the two copies is lost.
                copied = false;
            } else {
                return lost(false, false);
            }
        }
        while self.held.front().is_some_and(|t| *t <= now) {
            self.held.pop_front();
        }
        let is_wrong = self.corrupt.happens(rng);
        if self.held.len() as u64 >= self.of.limit {
            return lost(false, false);
        }
        if is_wrong {
            return lost(copied, marked);
        }
        let leaves = self.leaves(now, bytes, rng);
        let place = self.held.iter().rposition(|t| *t <= leaves).map_or(0, |i| i + 1);
        self.held.insert(place, leaves);
        Verdict {
            leaves: Some(leaves),
            marked,
            copied,
        }
    }

    /// The time at which a packet that arrives now leaves.
    fn leaves(&mut self, now: Time, bytes: u32, rng: &mut Stream) -> Time {
        let gap = self.of.gap;
        let is_delayed = gap == 0 || self.since + 1 < gap || self.reorder.part < self.reorder.numbers.next(rng);
        if !is_delayed {
            self.since = 0;
            return now;
        }
        self.since += 1;
        let delay = self.delay(rng);
        let later = |from: Time, ns: i64| Time(from.0.saturating_add_signed(ns)).max(now);
        let Some(rate) = self.of.rate else {
            return later(now, delay);
        };
        let own = rate.time_of(self.length(bytes)).0 as i64;
        match self.held.back() {
            Some(last) => later((*last).max(later(now, delay)), own),
            None => later(now, delay.saturating_add(own)),
        }
    }

    /// A delay, nanoseconds; negative where the distribution goes further down than the mean delay.
    fn delay(&mut self, rng: &mut Stream) -> i64 {
        let (mean, jitter) = (self.of.delay.0 as i64, self.of.jitter.0 as i64);
        if jitter == 0 {
            return mean;
        }
        let number = self.delays.next(rng);
        match self.table {
            None => i64::from(number) % (2 * jitter) + mean - jitter,
            Some(table) => {
                let value = i64::from(table[number as usize % table.len()]);
                // Rounded to the nearest value, and away from zero if two values are equally near.
                let rest = (jitter % SCALE) * value;
                (rest + if rest >= 0 { SCALE / 2 } else { -SCALE / 2 }) / SCALE + (jitter / SCALE) * value + mean
            }
        }
    }

    /// The number of bytes that a packet has for the rate.
    fn length(&self, bytes: u32) -> u64 {
        let length = u64::from(bytes) + self.of.overhead;
        match self.of.cell_size {
            0 => length,
            size => length.div_ceil(size) * (size + self.of.cell_overhead),
        }
    }
}

/// The table of a distribution; the uniform one needs none.
fn table(of: Distribution) -> Option<&'static [i16]> {
    static NORMAL: OnceLock<Vec<i16>> = OnceLock::new();
    static PARETO: OnceLock<Vec<i16>> = OnceLock::new();
    static BOTH: OnceLock<Vec<i16>> = OnceLock::new();
    let all = |value: fn(usize) -> i64| {
        let kept = |i: usize| value(i).clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
        (0..LENGTH).map(kept).collect()
    };
    match of {
        Distribution::Uniform => None,
        Distribution::Normal => Some(NORMAL.get_or_init(|| all(normal))),
        Distribution::Pareto => Some(PARETO.get_or_init(|| all(pareto))),
        // A quarter of the one distribution and three quarters of the other.
        Distribution::ParetoNormal => Some(BOTH.get_or_init(|| all(|i| (normal(i) + 3 * pareto(i)) / 4))),
    }
}

/// The inverse of the normal distribution on a grid: the largest grid value whose probability, in whole parts, is not
/// above the probability of this entry.
fn normal(i: usize) -> i64 {
    /// The grid goes from -10 to 10 in this number of steps of 1/20000.
    const STEPS: u32 = 400_000;
    let normal_at = |step: u32| -10.0 + 0.000_05 * f64::from(step);
    let parts = |x: f64| (FINE as f64 * (0.5 + 0.5 * libm::erf(x / std::f64::consts::SQRT_2))).round();
    let (mut low, mut high) = (0, STEPS);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match parts(normal_at(middle)) <= (4 * i) as f64 {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    (normal_at(low) * SCALE as f64).round() as i64
}

/// The inverse of Pareto's distribution with exponent 3, after its mean is subtracted and its deviation is scaled to
/// nearly one.
fn pareto(i: usize) -> i64 {
    let rest = 1.0 - i as f64 / LENGTH as f64;
    let value = (1.0 / libm::cbrt(rest) - 1.5) * (4.0 / 3.0) * SCALE as f64;
    value.min(f64::from(i16::MAX)).round() as i64
}

#[cfg(test)]
mod tests;
