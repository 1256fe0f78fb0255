//! Copa: a control with a target rate from the queueing delay (Arun and Balakrishnan, NSDI 2018).
//!
//! With a queueing delay `dq`, in seconds, the target is 1 / (delta dq) packets per second. If the rate is below the
//! target, the window grows by v / delta packets per round trip. If it is above the target, the window shrinks by the
//! same amount. The queue therefore swings around 1.25 / delta packets. It is empty once in five round trips, and the
//! delay of the path can then be measured.
//!
//! ```text
//!   standing = least round trip of the last srtt / 2          dq = standing - least of the last 10 s
//!   start       doubles a round trip, until the target is first below w / standing
//!   then        w += v / (delta w) an ACK       w / standing <= 1 / (delta dq)
//!               w -= v / (delta w)              above
//!   v           once an srtt, from the third repeat of a direction on, v doubles; it is 1 after a change of direction
//!   pacing      2 w / standing
//!   competitive dq was not below a tenth of its range for five round trips: 1 / delta grows by 1 a round trip, and a
//!               loss halves it, down to its default
//! ```
//!
//! As in mvfst's `Copa.cpp` the counter of repeats is 0 at a change, and the ACK that turns the direction sets v to 1
//! at once. Otherwise the window would overshoot by many packets. Departures: `dq` is that of the standing round trip,
//! as in the paper. In mvfst it is by default that of the last round trip. mvfst has no competitive mode. The start
//! grows with each ACK instead of in one step per round trip.
//!
//! Two weaknesses are known. First, v has no bound in the paper or in mvfst. If the rate-delay product has many packets
//! and delta is large, v reaches hundreds of packets in either direction, and the line is partly unused. Second, a
//! queue that falls to one packet does not count as nearly empty if its maximum is five packets. A flow alone on a slow
//! line may therefore become competitive.
//!
//! A timeout leaves two segments. When Copa takes over an open connection, it continues from the window.
//!
//! The state is two windowed minima, which store the round trips that have risen since the least, and some numbers. An
//! ACK costs two divisions.

use super::greatest::Greatest;
use super::window::real;
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Facts, Handover, Marks, Mistaken, Phase, Reset,
    WindowRules, always,
};
use crate::limit::Limit;
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model, Probe};
use tailback_base::{BitRate, Duration, Settings, Time, params};

const PAPER: &str = "Arun and Balakrishnan, NSDI 2018";

/// Values that can be recorded.
const READ: [Probe<Copa>; 3] = [
    Probe::new(
        "queue_delay",
        "s",
        "least round trip of the last srtt / 2, minus the least round trip of the last 10 s",
        |c: &Copa, _| c.delay,
    ),
    Probe::new(
        "velocity",
        "1",
        "v, the factor on each change of the window",
        |c: &Copa, _| c.velocity,
    ),
    Probe::new(
        "delta",
        "1",
        "delta in use, which is smaller in competitive mode",
        |c: &Copa, _| 1.0 / c.share,
    ),
];

pub static MODEL: Model = Model {
    name: "copa",
    family: "congestion",
    title: "Copa",
    summary: "The queueing delay sets a target rate. On average 1.25 / delta packets are queued, and the queue is \
              empty once in five round trips.",
    source: "V. Arun and H. Balakrishnan, Copa: practical delay-based congestion control for the Internet, NSDI 2018",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    DELTA: f64 = Key::new("delta", Kind::Real { min: 0.001, max: 1.0 }, "0.5",
        "How much delay counts against rate: 1.25 / delta packets are queued on average.", PAPER);
    COMPETITIVE: bool = Key::new("competitive", Kind::Bool, "true",
        "Whether delta follows losses while other flows keep the queue from emptying, so that this flow gets a share.",
        "on: Arun and Balakrishnan 2018, section 2.2; off: facebook/mvfst");
}

/// Copa needs round trips of single segments, and pacing.
pub const FACTS: Facts = Facts {
    records: always,
    marks: Marks::Ignores,
    spreads: false,
    ignores_losses: true,
    ..Facts::CLASSIC
};

/// Segments.
const LEAST_WINDOW: f64 = 2.0;
const MEMORY: Duration = Duration::from_millis(10_000);
/// The number of repeats of a direction before v doubles.
const REPEATS: u32 = 3;
const PACING_GAIN: f64 = 2.0;
/// The share of the range of delays below which the queue is nearly empty, and the number of round trips for which it
/// may stay above this share.
const NEARLY_EMPTY: f64 = 0.1;
const PATIENCE: u64 = 5;
/// The number of round trips that the range of delays covers.
const RANGE: u64 = 4;

/// The exact least round trip of a span of time. Values before a later and lower one are dropped.
#[derive(Clone, Debug, Default)]
struct Least(Greatest);

impl Least {
    /// Take a round trip, seconds. Returns the least of the round trips that are at most `memory` old.
    fn enter(&mut self, now: Time, rtt: f64, memory: Duration) -> f64 {
        self.0.enter(now.0, -rtt, memory.0);
        -self.0.get()
    }
}

pub struct Copa {
    rules: Arc<WindowRules>,
    cwnd: f64,
    /// The window at which the start ends at the latest. After the start, this is the window at which it ended.
    ssthresh: f64,
    starting: bool,
    /// The default and the present value of 1 / delta.
    least_share: f64,
    share: f64,
    competes: bool,
    standing: Least,
    least: Least,
    /// The standing round trip after the last ACK, seconds; NaN before the first ACK.
    standing_rtt: f64,
    delay: f64,
    rising: bool,
    velocity: f64,
    repeats: u32,
    /// The time at which the direction was last judged, and the window at that time.
    judged: Option<(Time, f64)>,
    /// The greatest delays of this period and of the last one, the end of this period, and the time at which the queue
    /// was last nearly empty.
    highest: [f64; 2],
    period_ends: Time,
    empty: Time,
    /// When delta was last changed.
    adapted: Time,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    let share = 1.0 / own.get(&DELTA);
    Box::new(Copa {
        rules: rules.clone(),
        cwnd: rules.initial_window,
        ssthresh: rules.initial_ssthresh,
        starting: true,
        least_share: share,
        share,
        competes: own.get(&COMPETITIVE),
        standing: Least::default(),
        least: Least::default(),
        standing_rtt: f64::NAN,
        delay: f64::NAN,
        rising: true,
        velocity: 1.0,
        repeats: 0,
        judged: None,
        highest: [0.0; 2],
        period_ends: Time::ZERO,
        empty: Time::ZERO,
        adapted: Time::ZERO,
    })
}

impl Copa {
    fn least_window(&self) -> f64 {
        LEAST_WINDOW * self.rules.segment
    }

    fn begin_direction(&mut self, rising: bool, now: Time) {
        (self.rising, self.velocity, self.repeats) = (rising, 1.0, 0);
        self.judged = Some((now, self.cwnd));
    }

    fn end_start(&mut self) {
        if self.starting {
            self.starting = false;
            self.ssthresh = self.ssthresh.min(self.cwnd.max(self.least_window()));
        }
    }

    /// Once per srtt, find whether the window is above or below its last value.
    fn judge_direction(&mut self, now: Time, srtt: Duration) {
        let Some((since, before)) = self.judged else {
            self.judged = Some((now, self.cwnd));
            return;
        };
        if now.since(since) < srtt {
            return;
        }
        let rising = self.cwnd > before;
        if rising == self.rising {
            self.repeats += 1;
            if self.repeats >= REPEATS {
                self.velocity *= 2.0;
            }
            self.judged = Some((now, self.cwnd));
        } else {
            self.begin_direction(rising, now);
        }
    }

    /// Find whether other flows keep the queue from emptying. If so, 1 / delta grows by 1 per round trip.
    fn adapt(&mut self, now: Time, srtt: Duration) {
        if now >= self.period_ends {
            self.highest = [self.highest[1], 0.0];
            self.period_ends = now + Duration(RANGE * srtt.0);
        }
        self.highest[1] = self.highest[1].max(self.delay);
        if self.delay <= NEARLY_EMPTY * self.highest[0].max(self.highest[1]) {
            self.empty = now;
        }
        if now.since(self.empty) <= Duration(PATIENCE * srtt.0) {
            (self.share, self.adapted) = (self.least_share, now);
        } else if now.since(self.adapted) >= srtt {
            self.share += 1.0;
            self.adapted = now;
        }
    }

    fn move_window(&mut self, a: &AckEvent<'_>, srtt: Duration) {
        let segment = self.rules.segment;
        let rises = self.cwnd / segment * self.delay <= self.share * self.standing_rtt;
        if self.starting && rises && self.cwnd < self.ssthresh {
            if a.limit != Limit::Application && a.phase != Phase::Recovery {
                self.cwnd += real(a.acked).min(self.cwnd);
            }
            return;
        }
        self.end_start();
        self.judge_direction(a.now, srtt);
        if rises != self.rising && self.velocity > 1.0 {
            self.begin_direction(rises, a.now);
        }
        let step = self.velocity * self.share * real(a.acked + a.sacked) * segment / self.cwnd;
        if !rises {
            self.cwnd = (self.cwnd - step).max(self.least_window());
        } else if a.limit != Limit::Application {
            self.cwnd += step;
        }
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let Some(srtt) = a.srtt else { return };
        if let Some(rtt) = a.rate.and_then(|r| r.rtt).or(a.rtt) {
            let rtt = rtt.seconds();
            let least = self.least.enter(a.now, rtt, MEMORY);
            self.standing_rtt = self.standing.enter(a.now, rtt, Duration(srtt.0 / 2));
            self.delay = (self.standing_rtt - least).max(0.0);
            if self.competes {
                self.adapt(a.now, srtt);
            }
        }
        if a.acked + a.sacked > 0 && self.standing_rtt > 0.0 {
            self.move_window(a, srtt);
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        match e.what {
            Congestion::Loss => self.share = (self.share / 2.0).max(self.least_share),
            Congestion::Timeout { .. } => {
                self.end_start();
                self.cwnd = self.least_window();
                self.begin_direction(true, e.now);
            }
            Congestion::LostSyn => self.cwnd = self.rules.segment,
            Congestion::Ecn | Congestion::Request { .. } => {}
        }
    }

    fn window_reset(&mut self, why: Reset) {
        match why {
            Reset::OneSegment => self.cwnd = self.rules.segment,
            Reset::LostSyn => self.cwnd = self.rules.after_lost_syn,
            Reset::AtMost { bytes } => self.cwnd = self.cwnd.min(bytes).max(self.rules.segment),
            Reset::Idle => self.cwnd = self.cwnd.min(self.rules.initial_window),
            Reset::Restart => {
                (self.cwnd, self.ssthresh) = (self.rules.initial_window, self.rules.initial_ssthresh);
                self.starting = true;
            }
            Reset::Shift { .. } | Reset::RecoveryEnd { .. } | Reset::IdleHalves { .. } => {}
        }
    }

    fn take_over(&mut self, from: &Handover) {
        (self.cwnd, self.ssthresh) = (from.cwnd, from.ssthresh);
        (self.empty, self.adapted, self.period_ends) = (from.now, from.now, from.now);
    }

    /// A loss does not change the window, so there is nothing to undo.
    fn undo(&mut self, _why: Mistaken) {}

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The threshold is the window once the start is over, because Copa has then found the capacity and has no other
    /// threshold.
    fn ssthresh_left(&self) -> f64 {
        if self.ssthresh.is_finite() {
            self.cwnd
        } else {
            self.ssthresh
        }
    }

    /// The pacing rate, from the first round trip on.
    fn pacing(&self) -> Option<BitRate> {
        let bytes = PACING_GAIN * self.cwnd / self.standing_rtt;
        let bits = bytes * 8.0 * self.rules.wire / self.rules.segment;
        bits.is_finite().then(|| BitRate(bits.clamp(1.0, 1e15) as u64))
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

    /// A control with a base of 100 ms and this window, in segments of 1000 B. Its start is over.
    fn copa(window: &str, own: &[(&str, &str)]) -> (Box<dyn CongestionControl>, AckClock) {
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", "1000B"),
        ];
        let own = own
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, value)| s.with(name, value));
        let mut c = build(&own, &config(&settings).window);
        let mut clock = AckClock::new();
        clock.ack_with(&mut *c, 0.1, |a| a.acked = 0);
        (c, clock)
    }

    /// The index of a probe.
    fn probe(c: &dyn CongestionControl, name: &str) -> f64 {
        c.read(MODEL.probes.iter().position(|p| p.name == name).expect("a probe"))
    }

    /// On a path of 100 ms there and back with delta 0.5, the target at a delay of dq seconds is 2 / dq. With 20
    /// segments in 110 ms (182 per second) the target is 200 at 10 ms, above the rate. With 25 segments in 120 ms (208
    /// per second) it is 100, below the rate. A step is v / (delta w) = 2 / w segments.
    #[test]
    fn a_step_goes_towards_the_target() {
        for (window, rtt, change) in [("20 packets", 0.110, 2.0 / 20.0), ("25 packets", 0.120, -2.0 / 25.0)] {
            let (mut c, mut clock) = copa(window, &[]);
            // The standing round trip is the least of the last half of an srtt, so the first round trip has to leave
            // this span.
            clock.now += 0.2;
            let before = c.cwnd();
            clock.ack(&mut *c, rtt);
            assert!(
                (c.cwnd() - before - 1000.0 * change).abs() < 1e-6,
                "{rtt}: {}",
                c.cwnd()
            );
            let rate = c.pacing().expect("a rate").0 as f64;
            assert!(
                (rate / (2.0 * c.cwnd() / rtt * 8.0 * 1.04) - 1.0).abs() < 1e-6,
                "twice the window a round trip"
            );
        }
    }

    /// The start doubles the window in each round trip, and ends when the target is first below the rate.
    #[test]
    fn the_start_ends_at_the_target() {
        let values = [("payload", "1000B"), ("initial_window", "10 packets")];
        let mut c = build(&Settings::defaults(&MODEL), &config(&values).window);
        let mut clock = AckClock::new();
        for _ in 0..10 {
            clock.ack(&mut *c, 0.1);
        }
        assert_eq!((c.cwnd(), c.ssthresh()), (20_000.0, f64::INFINITY));
        clock.now += 0.2;
        clock.ack(&mut *c, 0.120);
        assert_eq!((c.cwnd(), c.ssthresh()), (19_900.0, 20_000.0));
    }

    /// Round trips equal that of the path, so the window rises. The direction is judged once per srtt. After three
    /// repeats v is 2, then 4. The ACK on which the window has to fall sets v to 1, and the window falls by 1 / (delta
    /// w).
    #[test]
    fn a_direction_that_repeats_three_times_doubles_v() {
        let (mut c, mut clock) = copa("40 packets", &[]);
        let mut velocities = vec![probe(&*c, "velocity")];
        while velocities.last() != Some(&8.0) {
            clock.ack(&mut *c, 0.1);
            if velocities.last() != Some(&probe(&*c, "velocity")) {
                velocities.push(probe(&*c, "velocity"));
                let rounds = clock.now / 0.1;
                // The first judgement only stores the window.
                let expected = 3.0 + (velocities.len() - 1) as f64;
                assert!(
                    (rounds - expected).abs() < 1.2,
                    "v = {:?} after {rounds} round trips",
                    velocities.last()
                );
            }
        }
        assert_eq!(velocities, [1.0, 2.0, 4.0, 8.0]);
        clock.now += 0.2;
        let before = c.cwnd();
        clock.ack(&mut *c, 0.2);
        assert_eq!(probe(&*c, "velocity"), 1.0);
        assert!((before - c.cwnd() - 2000.0 * 1000.0 / before).abs() < 1e-6);
    }

    /// If a queue does not empty for five round trips, Copa becomes competitive. Then 1 / delta grows by 1 per round
    /// trip, and a loss halves it, down to 2. Without this mode, or if the queue empties, 1 / delta stays.
    #[test]
    fn delta_follows_losses_where_others_keep_the_queue_full() {
        for (competitive, grows) in [("true", true), ("false", false)] {
            let (mut c, mut clock) = copa("40 packets", &[("competitive", competitive)]);
            let until = clock.now + 2.0;
            while clock.now < until {
                clock.ack(&mut *c, 0.15);
            }
            let share = 1.0 / probe(&*c, "delta");
            assert_eq!(share > 8.0, grows, "1 / delta = {share}");
            clock.sign(&mut *c, Congestion::Loss);
            assert!((1.0 / probe(&*c, "delta") - (share / 2.0).max(2.0)).abs() < 1e-9);
            clock.ack(&mut *c, 0.1);
            assert_eq!(probe(&*c, "delta"), 0.5, "the queue is empty");
        }
    }

    #[test]
    fn a_timeout_leaves_two_segments_and_a_loss_the_window() {
        let (mut c, clock) = copa("40 packets", &[]);
        clock.sign(&mut *c, Congestion::Loss);
        assert_eq!(c.cwnd(), 40_000.0);
        clock.sign(&mut *c, Congestion::Timeout { again: false });
        assert_eq!(c.cwnd(), 2000.0);
    }
}
