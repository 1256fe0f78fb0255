//! A rate-adaptive shaper: it smooths bursts, and its rate grows with the number of waiting packets.
//!
//! Packets of an aggregate wait in one FIFO and leave at the rate `F = max(EAR, g(b))`. This is the larger of their
//! average arrival rate and the rate g for a backlog of b packets. g is the committed rate up to `low` packets, grows
//! linearly to the highest rate at `high` packets, and is constant above that.
//!
//! ```text
//! arrival, a gap d after the one before:   EAR <- (1 - exp(-d/memory)) B/d + exp(-d/memory) EAR
//! departure of a packet of B bytes:        the next leaves B/F later, at the earliest
//! ```
//!
//! From: RFC 2963 section 3, simplified to one FIFO and thresholds in packets. When a packet arrives at a full shaper,
//! the head leaves at once, so packets are neither dropped nor reordered. Internally, rates are in bytes per second.
//!
//! State: the packets, the average, and the time when the next packet may leave. Cost of a packet: an exponential, and
//! a timer if the packet waits.

use std::collections::VecDeque;
use tailback_base::{Duration, Time};

/// The parameters. Rates are in bytes per second, backlogs in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShaperLaw {
    pub committed: f64,
    pub highest: f64,
    pub low: f64,
    pub high: f64,
    pub most: usize,
    /// The time over which the arrival rate is averaged.
    pub memory: Duration,
}

impl ShaperLaw {
    /// The rate for a backlog.
    fn wanted(&self, backlog: usize) -> f64 {
        let x = ((backlog as f64 - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.committed + x * (self.highest - self.committed)
    }
}

/// The packets of one aggregate, each with its bytes.
pub struct Shaper<P> {
    law: ShaperLaw,
    waiting: VecDeque<(P, u32)>,
    arrival_rate: f64,
    last: Time,
    free_at: Time,
}

impl<P> Shaper<P> {
    pub fn new(law: ShaperLaw) -> Shaper<P> {
        Shaper {
            law,
            waiting: VecDeque::new(),
            arrival_rate: 0.0,
            last: Time::ZERO,
            free_at: Time::ZERO,
        }
    }

    fn count(&mut self, bytes: u32, now: Time) {
        let memory = self.law.memory.seconds();
        let gap = now.since(self.last).seconds();
        let faded = libm::exp(-gap / memory);
        // (1 - exp(-d/k))/d has the limit 1/k when packets arrive together.
        let share = if gap > 0.0 { (1.0 - faded) / gap } else { 1.0 / memory };
        self.arrival_rate = share * f64::from(bytes) + faded * self.arrival_rate;
        self.last = now;
    }

    /// Send one packet, and compute when the next one may leave.
    fn depart(&mut self, (p, bytes): (P, u32), now: Time, out: &mut dyn FnMut(P)) {
        let rate = self.law.wanted(self.waiting.len()).max(self.arrival_rate);
        self.free_at = now + Duration::from_seconds(f64::from(bytes) / rate);
        out(p);
    }

    /// A packet arrives. Packets that leave at once go to `out`.
    pub fn arrive(&mut self, p: P, bytes: u32, now: Time, out: &mut dyn FnMut(P)) {
        self.count(bytes, now);
        self.release(now, out);
        if self.waiting.is_empty() && now >= self.free_at {
            return self.depart((p, bytes), now, out);
        }
        self.waiting.push_back((p, bytes));
        if self.waiting.len() > self.law.most
            && let Some(head) = self.waiting.pop_front()
        {
            self.depart(head, now, out);
        }
    }

    /// Send the packets that may leave now.
    pub fn release(&mut self, now: Time, out: &mut dyn FnMut(P)) {
        while now >= self.free_at
            && let Some(p) = self.waiting.pop_front()
        {
            self.depart(p, now, out);
        }
    }

    /// Send all packets at once.
    pub fn flush(&mut self, out: &mut dyn FnMut(P)) {
        self.waiting.drain(..).for_each(|(p, _)| out(p));
    }

    /// The time at which the next packet is to leave.
    pub fn next(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The committed rate is 250 kB/s and the highest rate 1250 kB/s, which are the 2 and 10 Mb/s of an access link.
    fn law() -> ShaperLaw {
        ShaperLaw {
            committed: 250e3,
            highest: 1250e3,
            low: 5.0,
            high: 20.0,
            most: 60,
            memory: Duration(100 * MS),
        }
    }

    #[test]
    fn the_rate_grows_with_the_backlog() {
        let shaper_law = law();
        assert_eq!(
            (
                shaper_law.wanted(0),
                shaper_law.wanted(5),
                shaper_law.wanted(20),
                shaper_law.wanted(60)
            ),
            (250e3, 250e3, 1250e3, 1250e3)
        );
        assert!((shaper_law.wanted(8) - 450e3).abs() < 1e-6);
    }

    /// If a packet arrives every 10 ms for a long time, the average is the rate of these packets.
    #[test]
    fn the_average_follows_the_arrivals() {
        let mut s = Shaper::new(law());
        for i in 1..=300_u32 {
            s.arrive(i, 1000, Time(u64::from(i) * 10 * MS), &mut |_| {});
        }
        assert!((s.arrival_rate - 100e3).abs() < 1.0, "{}", s.arrival_rate);
        // Ten packets at one instant add ten times B/k to the average.
        for i in 0..10 {
            s.arrive(i, 1000, Time(3000 * MS), &mut |_| {});
        }
        assert!((s.arrival_rate - 200e3).abs() < 1.0, "{}", s.arrival_rate);
    }

    /// Packets are spread over time, in order. No packet is lost, and no packet is too early.
    #[test]
    fn a_burst_is_spread_and_a_full_shaper_lets_its_head_go() {
        let (mut s, mut released) = (Shaper::new(law()), vec![]);
        for i in 0..64 {
            s.arrive(i, 1000, Time::ZERO, &mut |p| released.push((Time::ZERO, p)));
        }
        assert_eq!(released.len(), 4, "the first, and three for which there was no room");
        assert_eq!(s.len(), 60);
        let mut now = Time::ZERO;
        while let Some(t) = s.next() {
            assert!(t >= now);
            now = t;
            s.release(now, &mut |p| released.push((now, p)));
        }
        let order: Vec<u32> = released.iter().map(|l| l.1).collect();
        assert_eq!(order, (0..64).collect::<Vec<u32>>());
        let gaps: Vec<u64> = released.windows(2).skip(3).map(|w| w[1].0.since(w[0].0).0).collect();
        assert!(gaps.iter().all(|g| *g >= 800_000), "no faster than 1.25 MB/s: {gaps:?}");
        // 64 packets at one instant give an average of 640 kB/s, which is the rate when few packets wait.
        assert!(
            gaps.last().is_some_and(|g| (*g as f64 - 1e9 / 640.0).abs() < 1e6),
            "{gaps:?}"
        );
    }

    /// Waiting packets leave at the rate for the backlog, whatever their size is.
    #[test]
    fn the_rate_is_that_of_the_law_at_any_size() {
        for bytes in [40, 576, 1500, 9000, 65_535_u32] {
            let (mut s, mut released) = (
                Shaper::new(ShaperLaw {
                    low: 200.0,
                    high: 300.0,
                    most: 110,
                    ..law()
                }),
                vec![],
            );
            for i in 0..105 {
                s.arrive(i, bytes, Time::ZERO, &mut |p| released.push((Time::ZERO, p)));
            }
            // Simultaneous arrivals raise the average. With an average of zero, the law gives the committed rate.
            s.arrival_rate = 0.0;
            while let Some(now) = s.next() {
                s.release(now, &mut |p| released.push((now, p)));
            }
            let (first, last) = (released[released.len() - 101].0, released[released.len() - 1].0);
            let rate = 100.0 * f64::from(bytes) / last.since(first).seconds();
            assert!((rate / 250e3 - 1.0).abs() < 1e-4, "{bytes}: {rate}");
        }
    }

    #[test]
    fn a_slow_stream_passes_untouched() {
        let mut s = Shaper::new(law());
        for i in 1..100_u64 {
            let (mut released, now) = (0, Time(i * 5 * MS));
            s.arrive(i, 1000, now, &mut |_| released += 1);
            assert_eq!((released, s.len()), (1, 0));
        }
    }
}
