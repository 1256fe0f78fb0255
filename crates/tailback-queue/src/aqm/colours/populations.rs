//! The packets of three colours in one queue, counted and averaged in groups.
//!
//! Each colour uses the average of one population of packets. With coupled averages, the population of a colour
//! consists of all packets that are dropped no earlier than packets of this colour. That is green alone for green,
//! green and yellow for yellow, and all packets for red. So red is affected by all packets, and green only by green
//! packets. With separate lengths, each colour is its own population. With a shared average, there is one population
//! for all colours.
//!
//! From: Clark and Fang 1998, section IV (two precedences, coupled: RIO); ns-2's diffserv module for three (RIO-C
//! coupled, RIO-D own, WRED shared). An arrival changes only the averages of the populations that include its colour.
//!
//! State for each population: packets and bytes that wait, the average, and the time since which no packet of it waits.
//! The idle time begins when the transmission starts that takes the last packet of the population, and at the start of
//! the run. It ends when a packet is stored ([`IdleEnds::WhenStored`]). [`Populations::as_ns2`] uses the idle time of
//! ns-2's module, for comparisons with it.
//!
//! Cost of a packet: a filter step for each average that changes, at most three.

use crate::aqm::average::{Average, IdleEnds};
use crate::aqm::colours::precedence::COLOURS;
use crate::contract::capacity;
use crate::contract::line::Line;
use crate::contract::report::Backlog;
use std::ops::RangeInclusive;
use tailback_base::{Colour, Size, Time};

/// Which packets count for a colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounting {
    /// The packets of this colour and of the colours that are dropped later.
    Coupled,
    /// The packets of this colour.
    Own,
    /// All packets.
    Shared,
}

/// The three populations.
#[derive(Clone, Debug)]
pub struct Populations {
    accounting: Accounting,
    limit: Size,
    /// The backlog of each colour.
    colours: [Backlog; COLOURS],
    /// The backlog of each population.
    waiting: [Backlog; COLOURS],
    averages: [Average; COLOURS],
    /// Whether a shared population counts as idle as soon as no packet of the departing colour waits.
    ns2: bool,
}

impl Populations {
    /// `limit` gives the unit. `averages` holds the average of each population, in the order of the colours.
    pub fn new(accounting: Accounting, limit: Size, averages: [Average; COLOURS]) -> Populations {
        let mut averages = averages.map(|a| a.with_idle_ending(IdleEnds::WhenStored));
        for a in &mut averages {
            a.emptied(Time::ZERO);
        }
        Populations {
            accounting,
            limit,
            colours: [Backlog::default(); COLOURS],
            waiting: [Backlog::default(); COLOURS],
            averages,
            ns2: false,
        }
    }

    /// Count idle time as ns-2's diffserv module does. A refused arrival does not move the beginning of the idle time.
    /// A shared average is idle from the moment when no packet of the departing colour waits, even if packets of other
    /// colours wait.
    pub fn as_ns2(mut self) -> Populations {
        self.ns2 = true;
        let ends = IdleEnds::WhenStoredSinceItsStart;
        self.averages = self.averages.map(|a| a.with_idle_ending(ends));
        self
    }

    /// The populations that include packets of this colour. A shared population is the last one.
    #[inline]
    pub fn with(&self, c: Colour) -> RangeInclusive<usize> {
        match self.accounting {
            Accounting::Coupled => c as usize..=COLOURS - 1,
            Accounting::Own => c as usize..=c as usize,
            Accounting::Shared => COLOURS - 1..=COLOURS - 1,
        }
    }

    /// The population that is used for this colour.
    #[inline]
    pub fn of(&self, c: Colour) -> usize {
        match self.accounting {
            Accounting::Coupled | Accounting::Own => c as usize,
            Accounting::Shared => COLOURS - 1,
        }
    }

    /// Update the average of this population at an arrival, and return it.
    #[inline]
    pub fn arrival(&mut self, population: usize, line: &Line) -> f64 {
        let level = self.level(population);
        self.averages[population].arrival(level, line)
    }

    /// The average of a population.
    #[inline]
    pub fn average(&self, population: usize) -> f64 {
        self.averages[population].value()
    }

    /// The backlog of a population, in the unit of the buffer.
    #[inline]
    pub fn level(&self, population: usize) -> f64 {
        capacity::level(self.limit, self.waiting[population]) as f64
    }

    /// The backlog of a colour, in the unit of the buffer.
    pub fn colour(&self, colour: usize) -> f64 {
        let held = self.colours.get(colour).copied();
        held.map_or(f64::NAN, |held| capacity::level(self.limit, held) as f64)
    }

    /// A packet was stored.
    pub fn stored(&mut self, c: Colour, bytes: u32) {
        grow(&mut self.colours[c as usize], bytes);
        for k in self.with(c) {
            grow(&mut self.waiting[k], bytes);
            self.averages[k].stored();
        }
    }

    /// A stored packet has left.
    pub fn left(&mut self, c: Colour, bytes: u32, now: Time) {
        shrink(&mut self.colours[c as usize], bytes);
        for k in self.with(c) {
            shrink(&mut self.waiting[k], bytes);
            let last = match self.ns2 && self.accounting == Accounting::Shared {
                true => self.colours[c as usize],
                false => self.waiting[k],
            };
            if last.packets == 0 {
                self.averages[k].emptied(now);
            }
        }
    }
}

fn grow(held: &mut Backlog, bytes: u32) {
    held.packets += 1;
    held.bytes += u64::from(bytes);
}

fn shrink(held: &mut Backlog, bytes: u32) {
    held.packets -= 1;
    held.bytes -= u64::from(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::BitRate;

    fn populations(accounting: Accounting) -> Populations {
        Populations::new(
            accounting,
            Size::Unlimited,
            [0, 1, 2].map(|_| Average::new(0.0, 0.5, 1000)),
        )
    }

    /// At 8 Mb/s, a packet of 1000 B takes a millisecond.
    fn line(ms: u64) -> Line {
        Line::idle(Time(ms * 1_000_000), BitRate(8_000_000))
    }

    #[test]
    fn a_colour_counts_where_it_belongs() {
        use Colour::{Green, Red, Yellow};
        for (accounting, expected) in [
            (Accounting::Coupled, [1.0, 3.0, 6.0]),
            (Accounting::Own, [1.0, 2.0, 3.0]),
            (Accounting::Shared, [0.0, 0.0, 6.0]),
        ] {
            let mut p = populations(accounting);
            for c in [Green, Yellow, Yellow, Red, Red, Red] {
                p.stored(c, 1000);
            }
            assert_eq!([0, 1, 2].map(|k| p.level(k)), expected, "{accounting:?}");
            assert_eq!([0, 1, 2].map(|k| p.colour(k)), [1.0, 2.0, 3.0]);
            assert_eq!(p.level(p.of(Red)), expected[2]);
            for c in [Red, Green, Yellow, Yellow, Red, Red] {
                p.left(c, 1000, Time::ZERO);
            }
            assert_eq!([0, 1, 2].map(|k| p.level(k)), [0.0; 3]);
        }
    }

    /// The green packet leaves and a yellow one stays, so only the population of green is idle.
    #[test]
    fn each_population_has_its_own_idle_time() {
        let mut p = populations(Accounting::Coupled);
        p.stored(Colour::Green, 1000);
        p.stored(Colour::Yellow, 1000);
        for _ in 0..40 {
            for k in 0..3 {
                p.arrival(k, &line(0));
            }
        }
        p.left(Colour::Green, 1000, line(0).now);
        let [green, yellow] = [0, 1].map(|k| {
            let before = p.average(k);
            p.arrival(k, &line(3)) / before
        });
        assert_eq!(green, 0.5_f64.powi(4), "three packet times and the arrival");
        assert!((yellow - 0.75).abs() < 1e-9, "2 waited, and 1 does: {yellow}");
    }
}
