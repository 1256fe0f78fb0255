//! LEDBAT++: a background transfer that yields to others (draft-irtf-iccrg-ledbat-plus-plus-06).
//!
//! The window is controlled towards a queueing delay of `target`. This delay is the least of the last four round-trip
//! samples minus the least of ten minutes. Below the target the window grows by `G` segments per round trip. Above the
//! target it shrinks by the share of the excess, at most to half. The control therefore keeps the queue at the target
//! if it is alone, and yields if others fill the queue further. In a tenth of the time it empties the queue for two
//! round trips. The base is then measured anew, and flows of the same kind measure the same base.
//!
//! ```text
//!   start          W += G an ACK, until the delay is above 3/4 of the target (the first time), or at the threshold
//!   each round     W += G                                      delay <= target
//!                  W += max(G - W (delay / target - 1), -W/2)  above
//!   a loss         W /= 2, once a round trip
//!   slowdown       two round trips after the start, then when nine times its duration has passed: threshold = W, two
//!                  segments for two round trips, then a start up to the threshold
//!   G              1 / min(16, ceil(2 target / base))
//! ```
//!
//! When LEDBAT++ takes over an open connection, it continues from window and threshold, and measures its base anew.
//!
//! Departures: the round trip of the SYN gives no sample, because a SYN is shorter than a segment. A loss of data sent
//! before a slowdown halves the window to which the slowdown returns. The window is at least two segments outside of
//! timeouts. The response to ECN marks is that to losses.
//!
//! The state is the window of `window.rs`, four samples, a base for each of ten minutes, and the slowdown. It has 250
//! bytes. An ACK costs a scan of 14 samples and a few divisions. Known limit: if the buffer is shorter than the target,
//! only losses stop the growth, and the control is a Reno with gain G.

use super::window::{CongestionWindow, real};
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Phase, Reset, WindowRules,
    always,
};
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model, Probe};
use tailback_base::{Duration, Settings, Time, params};

const DRAFT: &str = "draft-irtf-iccrg-ledbat-plus-plus-06";

/// Values that can be recorded.
const READ: [Probe<Ledbat>; 3] = [
    Probe::new(
        "queue_delay",
        "s",
        "least of the last four round trips, minus base_rtt",
        |q: &Ledbat, _| q.delay().map_or(f64::NAN, Duration::seconds),
    ),
    Probe::new(
        "slowdown",
        "1",
        "1 from the start of a slowdown until the window has recovered",
        |q: &Ledbat, _| {
            f64::from(u8::from(matches!(
                q.slowdown,
                Slowdown::Held { .. } | Slowdown::Rising { .. }
            )))
        },
    ),
    Probe::new("base_rtt", "s", "least round trip in ten minutes", |q: &Ledbat, _| {
        q.base().map_or(f64::NAN, Duration::seconds)
    }),
];

pub static MODEL: Model = Model {
    name: "ledbat-plus-plus",
    family: "congestion",
    title: "LEDBAT++",
    summary: "For background transfers. A flow that is alone keeps the queueing delay at `target`; it yields when \
              other flows fill the queue beyond that.",
    source: DRAFT,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    TARGET: Duration = Key::new("target", Kind::Time { min: 1e-3, max: 1.0 }, "60ms",
        "The queueing delay at which the window stays.", DRAFT);
}

/// The control compares round trips of single segments.
pub const FACTS: Facts = Facts {
    records: always,
    ..Facts::CLASSIC
};

const SAMPLES: usize = 4;
const MINUTES: usize = 10;
const MINUTE: Duration = Duration::from_millis(60_000);
const MOST_DIVISOR: f64 = 16.0;
/// The share of the window after a loss.
const KEPT: f64 = 0.5;
/// The share of the target that ends the first start.
const START_SHARE: f64 = 0.75;
/// The window of a slowdown, segments, and the number of round trips for which it lasts.
const SLOW_WINDOW: f64 = 2.0;
const SLOW_ROUNDS: u64 = 2;
/// The time between slowdowns is this many times their duration, so slowdowns take a tenth of the time.
const APART: u64 = 9;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Slowdown {
    /// No slowdown is planned, because the first start is not over.
    NotYet,
    At(Time),
    /// The window is two segments until the given time.
    Held {
        began: Time,
        until: Time,
    },
    /// The window rises up to the threshold.
    Rising {
        began: Time,
    },
}

pub struct Ledbat {
    window: CongestionWindow,
    target: f64,
    /// The last samples, and the least sample of each of the last minutes. The newest is last.
    samples: [Option<Duration>; SAMPLES],
    next: usize,
    bases: [Option<Duration>; MINUTES],
    minute: Time,
    slowdown: Slowdown,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    let mut window = CongestionWindow::new(rules);
    window.cwnd = window.cwnd.min(SLOW_WINDOW * rules.segment);
    Box::new(Ledbat {
        window,
        target: own.get(&TARGET).seconds(),
        samples: [None; SAMPLES],
        next: 0,
        bases: [None; MINUTES],
        minute: Time::ZERO,
        slowdown: Slowdown::NotYet,
    })
}

impl Ledbat {
    fn base(&self) -> Option<Duration> {
        self.bases.iter().flatten().min().copied()
    }

    fn current(&self) -> Option<Duration> {
        self.samples.iter().flatten().min().copied()
    }

    fn delay(&self) -> Option<Duration> {
        Some(Duration(self.current()?.0.saturating_sub(self.base()?.0)))
    }

    fn gain(&self) -> f64 {
        let base = self.base().map_or(f64::INFINITY, Duration::seconds);
        1.0 / libm::ceil(2.0 * self.target / base).clamp(1.0, MOST_DIVISOR)
    }

    fn take(&mut self, rtt: Duration, now: Time) {
        self.samples[self.next] = Some(rtt);
        self.next = (self.next + 1) % SAMPLES;
        if now.since(self.minute) >= MINUTE {
            self.bases.rotate_left(1);
            self.bases[MINUTES - 1] = None;
            self.minute = now;
        }
        let newest = &mut self.bases[MINUTES - 1];
        *newest = Some(newest.map_or(rtt, |b| b.min(rtt)));
    }

    /// The time of this number of round trips, from the last samples.
    fn rounds(&self, n: u64) -> Duration {
        Duration(n * self.current().map_or(0, |r| r.0))
    }

    fn least_window(&self) -> f64 {
        SLOW_WINDOW * self.window.rules.segment
    }

    /// Begin or end a slowdown if it is due. Returns true while the slowdown keeps the window at two segments.
    fn is_held(&mut self, a: &AckEvent<'_>) -> bool {
        let least_window = self.least_window();
        match self.slowdown {
            Slowdown::At(due) if a.now >= due && a.phase == Phase::Open => {
                self.window.ssthresh = self.window.cwnd.max(least_window);
                let until = a.now + self.rounds(SLOW_ROUNDS);
                self.slowdown = Slowdown::Held { began: a.now, until };
            }
            Slowdown::Held { began, until } if a.now >= until => self.slowdown = Slowdown::Rising { began },
            _ => self.end_slowdown(a.now),
        }
        let is_held = matches!(self.slowdown, Slowdown::Held { .. });
        if is_held {
            self.window.cwnd = self.window.cwnd.min(least_window);
        }
        is_held
    }

    /// End the slowdown if the window has returned to the threshold, or if a loss has set the threshold to the window.
    fn end_slowdown(&mut self, now: Time) {
        if let Slowdown::Rising { began } = self.slowdown
            && !self.window.in_slow_start()
        {
            self.slowdown = Slowdown::At(now + Duration(APART * now.since(began).0));
        }
    }

    /// An ACK of this number of segments in slow start.
    fn start(&mut self, a: &AckEvent<'_>, segments: f64) {
        let (segment, gain) = (self.window.rules.segment, self.gain());
        self.window.cwnd = (self.window.cwnd + gain * segments * segment).min(self.window.ssthresh);
        let full = self.delay().is_some_and(|d| d.seconds() > START_SHARE * self.target);
        if self.slowdown == Slowdown::NotYet && (full || !self.window.in_slow_start()) {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
            self.slowdown = Slowdown::At(a.now + self.rounds(SLOW_ROUNDS));
        }
        self.end_slowdown(a.now);
    }

    /// An ACK of this number of segments in congestion avoidance.
    fn avoid(&mut self, segments: f64) {
        let segment = self.window.rules.segment;
        let (w, gain) = (self.window.cwnd / segment, self.gain());
        let excess = self.delay().map_or(0.0, |d| d.seconds() / self.target - 1.0);
        let a_round = if excess <= 0.0 {
            gain
        } else {
            (gain - w * excess).max(-w / 2.0)
        };
        self.window.cwnd = (self.window.cwnd + a_round * segments / w * segment).max(self.least_window());
        // A window that shrinks ends the start.
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        if let Some(rtt) = a.rate.and_then(|r| r.rtt).or(a.rtt) {
            self.take(rtt, a.now);
        }
        if self.is_held(a) || a.acked == 0 || a.phase == Phase::Recovery {
            return;
        }
        let segments = real(a.acked) / self.window.rules.segment;
        if self.window.in_slow_start() {
            if self.window.may_grow(a) {
                self.start(a, segments);
            }
        } else if self.window.may_grow(a) || self.delay().is_some_and(|d| d.seconds() > self.target) {
            self.avoid(segments);
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        let ssthresh_before = self.window.ssthresh;
        self.window.congested(e, |w| w * KEPT, |w| w * KEPT);
        match self.slowdown {
            Slowdown::NotYet => self.slowdown = Slowdown::At(e.now + self.rounds(SLOW_ROUNDS)),
            Slowdown::Held { .. } if matches!(e.what, Congestion::Loss | Congestion::Ecn) => {
                self.window.set_ssthresh(ssthresh_before * KEPT);
                self.window.cwnd = self.window.cwnd.min(self.least_window());
            }
            _ => {}
        }
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(why);
        if matches!(why, Reset::Idle | Reset::Restart) {
            self.window.cwnd = self.window.cwnd.min(self.least_window());
        }
    }

    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
        self.minute = from.now;
        if from.ssthresh.is_finite() {
            self.slowdown = Slowdown::At(from.now + Duration(SLOW_ROUNDS * from.srtt.unwrap_or_default().0));
        }
    }

    fn undo(&mut self, _why: Mistaken) {
        self.window.undo();
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::AckClock;
    use crate::tcp::testing::config;

    fn ledbat(window: &str, threshold: &str) -> Box<dyn CongestionControl> {
        let rules = config(&[
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", threshold),
        ])
        .window;
        build(&Settings::defaults(&MODEL), &rules)
    }

    /// ACKs for this many seconds, with a round trip of this many milliseconds.
    fn go(c: &mut dyn CongestionControl, clock: &mut AckClock, seconds: f64, rtt_ms: f64) {
        let until = clock.now + seconds;
        while clock.now + rtt_ms / 1e3 / libm::floor(c.cwnd() / 1000.0).max(1.0) < until {
            clock.ack(c, rtt_ms / 1e3);
        }
    }

    /// The start begins with two segments for any initial window. G is 1 / min(16, ceil(120 ms / base)).
    #[test]
    fn each_ack_of_the_start_adds_g() {
        for (ms, divisor) in [
            (7.5, 16.0),
            (8.0, 15.0),
            (20.0, 6.0),
            (60.0, 2.0),
            (61.0, 2.0),
            (120.0, 1.0),
        ] {
            let mut c = ledbat("10 packets", "unlimited");
            assert_eq!(c.cwnd(), 2000.0);
            AckClock::new().ack(&mut *c, ms / 1e3);
            assert!(
                (c.cwnd() - (2000.0 + 1000.0 / divisor)).abs() < 1e-6,
                "{ms} ms: {}",
                c.cwnd()
            );
        }
    }

    /// The least of four samples counts, so the fourth sample above 45 ms ends the first start. Two round trips later
    /// the window is two segments for two round trips, so that the queue empties. The threshold stores the former
    /// window.
    #[test]
    fn three_quarters_of_the_target_end_the_first_start_and_a_slowdown_follows() {
        let mut c = ledbat("2 packets", "unlimited");
        let mut clock = AckClock::new();
        clock.ack(&mut *c, 0.120);
        for _ in 0..3 {
            clock.ack(&mut *c, 0.170);
        }
        assert!(c.ssthresh().is_infinite());
        clock.ack(&mut *c, 0.170);
        assert_eq!((c.cwnd(), c.ssthresh()), (7000.0, 7000.0));
        let (due, before) = (clock.now + 2.0 * 0.170, c.cwnd());
        while clock.now + 0.170 / 7.0 < due {
            clock.ack(&mut *c, 0.170);
            assert!(c.cwnd() >= before);
        }
        let full = c.cwnd();
        clock.ack(&mut *c, 0.170);
        assert_eq!((c.cwnd(), c.ssthresh()), (2000.0, full));
        let (began, held) = (clock.now, clock.now + 2.0 * 0.170);
        while clock.now + 0.060 < held {
            clock.ack(&mut *c, 0.120);
            assert_eq!(c.cwnd(), 2000.0);
        }
        // The next start ends at the threshold for any delay. The time until the next slowdown is nine times the
        // duration of this one.
        while c.cwnd() < full {
            clock.ack(&mut *c, 0.180);
        }
        assert_eq!(c.cwnd(), full);
        let due = clock.now + 9.0 * (clock.now - began);
        let left = due - clock.now - 0.1;
        go(&mut *c, &mut clock, left, 120.0);
        assert!(c.cwnd() >= full);
        go(&mut *c, &mut clock, 0.2, 120.0);
        assert_eq!(c.cwnd(), 2000.0);
    }

    /// In avoidance below the target the window grows by G per round trip. At 1.5 times the target, with W = 20 and G =
    /// 1, an ACK of a segment adds max(1 - 10, -10) / 20. At twice the target a round trip subtracts half of the
    /// window, and not more.
    #[test]
    fn above_the_target_it_shrinks_by_the_excess() {
        for (delay, change) in [(0.059, 1.0 / 20.0), (0.090, -9.0 / 20.0), (0.120, -0.5), (0.600, -0.5)] {
            let mut c = ledbat("2 packets", "20 packets");
            let mut clock = AckClock::new();
            while c.cwnd() < 20_000.0 {
                clock.ack(&mut *c, 0.120);
            }
            for _ in 0..3 {
                clock.ack_with(&mut *c, 0.120 + delay, |a| a.acked = 0);
            }
            clock.ack(&mut *c, 0.120 + delay);
            assert!(
                (c.cwnd() - (20_000.0 + 1000.0 * change)).abs() < 1.0,
                "{delay}: {}",
                c.cwnd()
            );
        }
    }

    /// A loss leaves half of the window. In a slowdown a loss halves the window to which the slowdown returns.
    #[test]
    fn a_loss_leaves_half_also_of_what_a_slowdown_returns_to() {
        let mut c = ledbat("2 packets", "20 packets");
        let mut clock = AckClock::new();
        while c.cwnd() < 20_000.0 {
            clock.ack(&mut *c, 0.120);
        }
        go(&mut *c, &mut clock, 0.28, 120.0);
        assert_eq!(c.cwnd(), 2000.0);
        let full = c.ssthresh();
        clock.sign(&mut *c, Congestion::Loss);
        assert_eq!((c.cwnd(), c.ssthresh()), (2000.0, full / 2.0));
        let mut c = ledbat("2 packets", "20 packets");
        let mut clock = AckClock::new();
        while c.cwnd() < 20_000.0 {
            clock.ack(&mut *c, 0.120);
        }
        clock.sign(&mut *c, Congestion::Loss);
        assert_eq!((c.cwnd(), c.ssthresh()), (10_000.0, 10_000.0));
    }
}
