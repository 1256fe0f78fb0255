//! The convergence time of a flow: how soon it gets the rate that is reserved for it. The model and the columns call
//! this settling.
//!
//! Within each interval of a run let R(t) be the bytes delivered since the interval's start, divided by the time since
//! then. The flow has settled at the first instant after which R stays within the band around the reserved rate until
//! the interval ends. An interval that ends outside the band counts with its whole length. These are the convergence
//! times of Kantawala and Turner, WUCSE-2005-11, chapter 7, in three variants:
//!
//! * `all`: every delivery counts;
//! * `without_first`: the first delivery is left out, so that a flow of even gaps approaches its rate from below;
//! * `sliding`: R is taken over a window of the last seconds (at the beginning, over the time so far).
//!
//! R falls as 1/t between deliveries and jumps up at each delivery, so the instants at which it leaves and enters the
//! band follow from the deliveries alone. This costs two comparisons per delivery, and only the deliveries within the
//! sliding window are stored.
//!
//! The clock starts with the interval or, as an option, with the first delivery in it: at that instant one packet has
//! just ended, and the next is due one gap later.

use crate::declare::kinds::{self, PROBABILITY, SOME_TIME};
use std::collections::VecDeque;
use tailback_base::counters::Counter;
use tailback_base::{BitRate, Duration, Key, Kind, Model, Per, Settings, Time, choice, params};

pub static MODEL: Model = Model {
    name: "settling",
    family: "meter",
    title: "Convergence time",
    summary: "Measures in each interval how long it takes until the rate of delivery stays within a band around a \
              reserved rate. The table of intervals has three columns for it: with all deliveries since the clock \
              started, with all but the first, and with those of a sliding window. An interval that ends outside the \
              band counts with its whole length.",
    source: "Kantawala and Turner 2005, chapter 7",
    params: PARAMS,
    probes: &[],
};

choice! {
    enum Sides {
        Both = "both",
        Below = "below",
    }
    enum Origin {
        Interval = "interval",
        First = "first",
    }
}

params! {
    const PARAMS;

    RATE: Vec<BitRate> = Key::new("rate", Kind::Each(Per::Flow, &kinds::RATE), "",
        "The rate reserved for each flow; it counts whole packets.", "");
    WITHIN: f64 = Key::new("within", PROBABILITY, "0.1",
        "Half the width of the band, as a share of the rate.", "Kantawala and Turner 2005");
    SIDES: Sides = Key::choice("sides", "both", "Whether being above the band also counts as outside.", "");
    FROM: Origin = Key::choice("from", "interval",
        "What starts the clock: the interval, or the first delivery in it.", "");
    pub WINDOW: Duration = Key::new("window", SOME_TIME, "100ms", "The length of the sliding window.", "");
}

/// The times of one interval, seconds since the clock started; NaN if nothing was measured.
#[derive(Clone, Copy, Debug)]
pub struct ConvergenceTimes {
    /// Every delivery counts.
    pub every: f64,
    /// All deliveries except the first count.
    pub without_first: f64,
    /// The deliveries in the sliding window count.
    pub sliding: f64,
}

impl From<[f64; 3]> for ConvergenceTimes {
    fn from([every, without_first, sliding]: [f64; 3]) -> ConvergenceTimes {
        ConvergenceTimes {
            every,
            without_first,
            sliding,
        }
    }
}

impl Default for ConvergenceTimes {
    fn default() -> ConvergenceTimes {
        [f64::NAN; 3].into()
    }
}

/// The difference of two totals has the times of the later one.
impl Counter for ConvergenceTimes {
    fn add(&mut self, _: &ConvergenceTimes) {}
    fn since(&self, _: &ConvergenceTimes) -> ConvergenceTimes {
        *self
    }
}

/// Relative error of the comparisons.
const ROUNDING: f64 = 1e-12;

/// The meter of one flow.
#[derive(Clone, Debug)]
pub struct ConvergenceMeter {
    /// The band, bytes per ns; `most` is infinite if only a rate that is too low matters.
    least: f64,
    most: f64,
    from_first: bool,
    window: Duration,
    start: Time,
    /// The time at which the clock started; `None` until the first delivery, if the clock waits for it.
    origin: Option<Time>,
    last: Time,
    deliveries: u64,
    /// Bytes by variant: all, without the first, within the window.
    bytes: [u64; 3],
    /// The last time at which R was outside the band, by variant.
    out: [Time; 3],
    recent: VecDeque<(Time, u32)>,
}

impl ConvergenceMeter {
    /// The meter of flow `i` of a group with these checked parameters.
    pub fn from_settings(s: &Settings, i: u32) -> ConvergenceMeter {
        let band = s.get(&WITHIN);
        let per_ns = s.turn(&RATE, i).bits_per_second() / 8e9;
        let upper_bound = match s.get(&SIDES) {
            Sides::Both => per_ns * (1.0 + band),
            Sides::Below => f64::INFINITY,
        };
        let from_first = s.get(&FROM) == Origin::First;
        ConvergenceMeter::new(per_ns * (1.0 - band), upper_bound, from_first, s.get(&WINDOW))
    }

    fn new(least: f64, most: f64, from_first: bool, window: Duration) -> ConvergenceMeter {
        let mut s = ConvergenceMeter {
            least,
            most,
            from_first,
            window,
            start: Time::ZERO,
            origin: None,
            last: Time::ZERO,
            deliveries: 0,
            bytes: [0; 3],
            out: [Time::ZERO; 3],
            recent: VecDeque::new(),
        };
        s.restart(Time::ZERO);
        s
    }

    /// An interval begins.
    pub fn restart(&mut self, now: Time) {
        self.start = now;
        self.origin = (!self.from_first).then_some(now);
        self.last = now;
        self.deliveries = 0;
        self.bytes = [0; 3];
        self.out = [now; 3];
        self.recent.clear();
    }

    /// Count bytes that arrive at the destination.
    pub fn deliver(&mut self, now: Time, bytes: u32) {
        match self.origin {
            Some(_) => self.pass(now),
            None => {
                self.origin = Some(now);
                self.last = now;
                self.out = [now; 3];
            }
        }
        self.deliveries += 1;
        self.bytes[0] += u64::from(bytes);
        if self.deliveries > 1 {
            self.bytes[1] += u64::from(bytes);
        }
        self.bytes[2] += u64::from(bytes);
        self.recent.push_back((now, bytes));
    }

    /// The interval ends: returns its times.
    pub fn close(&mut self, now: Time) -> ConvergenceTimes {
        let Some(origin) = self.origin else {
            return [(now - self.start).seconds(); 3].into();
        };
        self.pass(now);
        self.out.map(|t| (t - origin).seconds()).into()
    }

    /// Time passes without a delivery.
    fn pass(&mut self, now: Time) {
        let Some(origin) = self.origin else { return };
        for v in 0..2 {
            self.fall(v, origin, self.last, now);
        }
        let mut from = self.last;
        // From here on the window is full; before, it is as long as the time since the start.
        let full = origin + self.window;
        while let Some((t, bytes)) = self.recent.front().copied() {
            let leaves = t + self.window;
            if leaves > now {
                break;
            }
            self.stand(origin, full, from, leaves);
            from = leaves.max(from);
            self.bytes[2] -= u64::from(bytes);
            self.recent.pop_front();
        }
        self.stand(origin, full, from, now);
        self.last = now;
    }

    /// R = bytes / (t - origin) for t from `a` to `b`.
    fn fall(&mut self, v: usize, origin: Time, a: Time, b: Time) {
        let bytes = self.bytes[v] as f64;
        let elapsed = (b - origin).0 as f64;
        // A value exactly at the edge is within the band, also after rounding.
        if bytes < self.least * elapsed * (1.0 - ROUNDING) {
            self.out[v] = b;
        } else if self.most.is_finite() {
            // R is above the band until it has fallen into the band.
            let until = origin + Duration(libm::ceil(bytes / self.most) as u64);
            let until = until.min(b);
            if until > a {
                self.out[v] = until;
            }
        }
    }

    /// R over the sliding window for t from `a` to `b`: it falls while the window fills, then is constant.
    fn stand(&mut self, origin: Time, full: Time, a: Time, b: Time) {
        if a < full {
            self.fall(2, origin, a, b.min(full));
        }
        if b > full {
            let rate = self.bytes[2] as f64 / self.window.0 as f64;
            if rate < self.least * (1.0 - ROUNDING) || rate > self.most * (1.0 + ROUNDING) {
                self.out[2] = b;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: u64 = 1_600_000;

    fn meter(both: bool, from_first: bool, window_gaps: u64) -> ConvergenceMeter {
        // 1000 B every 1.6 ms.
        let rate = 1000.0 / GAP as f64;
        let most = if both { rate * 1.1 } else { f64::INFINITY };
        ConvergenceMeter::new(rate * 0.9, most, from_first, Duration(GAP * window_gaps))
    }

    fn by_rule(t: ConvergenceTimes) -> [f64; 3] {
        [t.every, t.without_first, t.sliding]
    }

    fn run(m: &mut ConvergenceMeter, times: impl Iterator<Item = u64>, end: u64) -> [f64; 3] {
        for t in times {
            m.deliver(Time(t), 1000);
        }
        let times = m.close(Time(end));
        [times.every, times.without_first, times.sliding].map(|s| (s * 1e9 / GAP as f64 * 1e6).round() / 1e6)
    }

    /// The gaps are even, and the first packet starts the clock. If that packet counts, R is never below the rate. If
    /// it does not count, R just before the (k+1)-th of the other packets is k/(k+1) of the rate, which is 90 % at k =
    /// 9.
    #[test]
    fn even_gaps_settle_at_once_or_after_nine_gaps() {
        let times = || (0..1000).map(|i| 7_000 + i * GAP);
        let settled_gaps = run(&mut meter(false, true, 20), times(), 7_000 + 999 * GAP);
        assert_eq!(settled_gaps, [0.0, 9.0, 0.0]);
        // R is also above the band: just after the k-th of all packets, at k - 1 gaps, R is k/(k-1). R falls into the
        // band at k/1.1 gaps, and is above it again after the next packet while (k+1)/1.1 > k.
        let settled_gaps = run(&mut meter(true, true, 20), times(), 7_000 + 999 * GAP);
        assert!((settled_gaps[0] - 10.0 / 1.1).abs() < 1e-5, "{settled_gaps:?}");
    }

    /// A gap of three in the middle, in every variant.
    #[test]
    fn a_late_packet_unsettles_until_it_is_made_up() {
        // After 100 packets on time there are 30 gaps of silence, and then even gaps again. R does not catch up and
        // stays below the band.
        let times = || (0..100).map(|i| i * GAP).chain((130..1000).map(|i| i * GAP));
        let settled_gaps = run(&mut meter(false, true, 20), times(), 1000 * GAP);
        // When k packets have been delivered at k + 29 gaps, R just before the next packet is k/(k + 30). This is at
        // least 0.9 from k = 270 on, at 299 gaps.
        assert!((settled_gaps[0] - 299.0).abs() <= 1.0, "{settled_gaps:?}");
        // The window no longer contains the silence 20 gaps after it, minus the two packets that may be missing.
        assert!((settled_gaps[2] - 147.0).abs() <= 1.0, "{settled_gaps:?}");
    }

    #[test]
    fn the_interval_may_end_outside_or_see_nothing() {
        let mut convergence = meter(false, false, 20);
        let settled_gaps = run(&mut convergence, (0..10).map(|i| i * GAP), 100 * GAP);
        assert_eq!(settled_gaps, [100.0; 3]);
        convergence.restart(Time(100 * GAP));
        assert_eq!(run(&mut convergence, std::iter::empty(), 150 * GAP), [50.0; 3]);
        let mut second_meter = meter(true, true, 20);
        assert_eq!(run(&mut second_meter, std::iter::empty(), 50 * GAP), [50.0; 3]);
    }

    /// Compared with the definition, evaluated at many instants, including those of every jump.
    #[test]
    fn the_last_instant_outside_is_that_of_the_definition() {
        let mut rng = tailback_base::Stream::new(1, "settling");
        for case in 0..200 {
            let (both_sides, from_first) = (case % 2 == 0, case % 4 < 2);
            let mut meter = meter(both_sides, from_first, 25);
            let (mut t, mut times) = (0.0, vec![]);
            while t < 300.0 * GAP as f64 {
                t += rng.exponential(GAP as f64);
                times.push(t as u64);
            }
            times.pop();
            let end = 300 * GAP;
            for t in &times {
                meter.deliver(Time(*t), 1000);
            }
            let by_rule_s = by_rule(meter.close(Time(end)));
            let origin = if from_first { times[0] } else { 0 };
            let (window, step) = (25 * GAP, GAP / 50);
            let mut last_ns = [origin; 3];
            // On a grid, and around every instant at which R jumps.
            let mut instants: Vec<u64> = (0..).map(|i| origin + 1 + i * step).take_while(|t| *t < end).collect();
            for t in &times {
                instants.extend([*t, t.saturating_sub(1), t + window - 1, t + window]);
            }
            instants.retain(|t| *t > origin && *t < end);
            instants.sort_unstable();
            for at in instants {
                let n = times.iter().filter(|t| **t <= at).count() as u64;
                let in_window = times.iter().filter(|t| **t <= at && **t + window > at).count() as u64;
                let elapsed = at - origin;
                for (variant, (n, is_over)) in [
                    (n, elapsed),
                    (n.saturating_sub(1), elapsed),
                    (in_window, elapsed.min(window)),
                ]
                .into_iter()
                .enumerate()
                {
                    let r = n as f64 * GAP as f64 / is_over as f64;
                    if r < 0.9 || (both_sides && r > 1.1) {
                        last_ns[variant] = at;
                    }
                }
            }
            for v in 0..3 {
                let want = (last_ns[v] - origin) as f64 * 1e-9;
                let off = by_rule_s[v] - want;
                assert!(
                    off >= -1e-9 && off < 1.1 * step as f64 * 1e-9,
                    "case {case}, {v}: {} {want}",
                    by_rule_s[v]
                );
            }
        }
    }
}
