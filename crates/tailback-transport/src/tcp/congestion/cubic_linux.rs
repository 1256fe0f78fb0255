//! CUBIC in whole segments, as Linux computes it.
//!
//! The curve is that of `cubic.rs`, with these differences. The window is a whole number of segments. The curve gives
//! the number of acknowledged segments that add the next segment. This number is `window / (target - window)`, and at
//! least two. It is 100 windows if the target is not above the window. The target is taken at the present time plus the
//! least round trip (instead of the smoothed one), in whole segments. Before the first loss at least one segment is
//! added for twenty acknowledged segments. The number is computed anew when the window changes, and otherwise after a
//! 32nd of a second. A timeout drops the maximum, and an undo of the reduction does not restore it. After an idle
//! period the curve continues where it was. `train.rs` may end slow start, unless `hystart` or `search` selects another
//! rule.
//!
//! When the control takes over an open connection, the maximum is the window, and the least round trip is measured
//! anew.
//!
//! The state is the window, the curve with its linear estimate (twice, for `undo`), the least round trip, and the rule
//! of slow start. It has 300 bytes. The cost of an ACK is that of `cubic.rs`.

use super::cubic;
use super::cubic::{BETA, C, FAST_CONVERGENCE, HYSTART, RENO_FRIENDLY, SEARCH};
use super::train::AckTrain;
use super::whole::WholeSegments;
use super::window::CongestionWindow;
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, ControlForm, Departure, Handover, Mistaken, Phase, Reset,
    WindowRules,
};
use std::sync::Arc;
use tailback_base::model::Probe;
use tailback_base::{Duration, Settings, Time};

/// The number of windows that must be acknowledged to add one segment while the target is not above the window.
const ALMOST_NONE: f64 = 100.0;
/// Before the first loss at least one segment is added for this many acknowledged segments.
const FIRST_SEARCH: f64 = 20.0;
/// The fewest acknowledged segments for one added segment.
const FASTEST: f64 = 2.0;
/// Shares are kept in units of one part in this many.
const PARTS: f64 = 1024.0;
/// A tick of the clock, if it has 1000 Hz.
const TICK: Duration = Duration::from_millis(1);
/// While the window is constant, the curve is evaluated this often.
const READ_AGAIN: Duration = Duration::from_micros(31_250);
/// For this long after the beginning of an epoch round trips are not compared, because the queue of the loss drains.
const SETTLES: Duration = Duration::from_millis(1000);

#[derive(Clone, Copy, Debug)]
struct Epoch {
    begin: Time,
    k: f64,
    origin: f64,
    /// The Reno-friendly estimate, and the acknowledged segments that count towards its next segment.
    estimate: f64,
    counted: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct LinuxCurve {
    /// Wmax in segments; 0 before the first loss.
    w_max: f64,
    epoch: Option<Epoch>,
}

pub struct LinuxCubic {
    window: CongestionWindow,
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    curve: LinuxCurve,
    before: LinuxCurve,
    least: Option<Duration>,
    count: WholeSegments,
    /// The window and the time of the last evaluation of the curve, and the resulting number of acknowledged segments
    /// that add one segment.
    last: (f64, Time, f64),
    /// The time of the last ACK, and the round trip that it measured.
    heard: Time,
    trip: Duration,
}

/// Values that can be recorded: the probes of [`cubic`](super::cubic), for the curve in this form.
const READ: [Probe<LinuxCubic>; 3] = [
    Probe::of(cubic::MODEL.probes[0], |q: &LinuxCubic, _| q.curve.w_max),
    Probe::of(cubic::MODEL.probes[1], |q: &LinuxCubic, _| {
        q.curve.epoch.map_or(f64::NAN, |e| e.k)
    }),
    Probe::of(cubic::MODEL.probes[2], |q: &LinuxCubic, _| {
        q.curve.epoch.map_or(f64::NAN, |e| e.estimate)
    }),
];

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    let (linux, beta) = (rules.form == ControlForm::Linux, own.get(&BETA));
    let window = CongestionWindow::new(rules);
    let train = if linux { AckTrain::default() } else { AckTrain::of_ns3() };
    Box::new(LinuxCubic {
        window: match (own.get(&SEARCH), own.get(&HYSTART)) {
            (false, false) => window.with_start(Some(Box::new(train))),
            (search, hystart) => window.with_rule(search, hystart),
        },
        c: own.get(&C),
        beta: if linux { libm::round(beta * PARTS) / PARTS } else { beta },
        fast_convergence: own.get(&FAST_CONVERGENCE),
        reno_friendly: linux && own.get(&RENO_FRIENDLY),
        curve: LinuxCurve::default(),
        before: LinuxCurve::default(),
        least: None,
        count: WholeSegments::default(),
        last: (0.0, Time::ZERO, 0.0),
        heard: Time::ZERO,
        trip: Duration::ZERO,
    })
}

impl LinuxCubic {
    fn is_linux(&self) -> bool {
        self.window.rules.form == ControlForm::Linux
    }

    fn segments(&self) -> f64 {
        libm::floor(self.window.cwnd / self.window.rules.segment + 1e-9)
    }

    /// The number of acknowledged segments that add one segment, after `acked` more were acknowledged.
    fn each(&mut self, acked: f64, now: Time) -> f64 {
        let window = self.segments();
        let (of_window, read, acks_per_step) = self.last;
        if self.is_linux() && of_window == window && now.since(read) <= READ_AGAIN {
            if let Some(epoch) = &mut self.curve.epoch {
                epoch.counted += acked;
            }
            return acks_per_step;
        }
        // Within a tick of its clock Linux does not evaluate the curve again, even if the window has changed.
        let same_tick = self.is_linux() && self.curve.epoch.is_some() && now.since(read) < TICK;
        let mut epoch = self.curve.epoch.unwrap_or_else(|| {
            let origin = self.curve.w_max.max(window);
            Epoch {
                begin: now,
                k: libm::cbrt((origin - window) / self.c),
                origin,
                estimate: window,
                counted: 0.0,
            }
        });
        epoch.counted += acked;
        let mut acks_per_step = if same_tick {
            acks_per_step
        } else {
            self.on_curve(&epoch, window, now)
        };
        if self.reno_friendly {
            // RFC 9438 section 4.3: 3 (1 - beta) / (1 + beta) segments a round trip.
            let eighths = libm::floor(8.0 * (1.0 + self.beta) / (3.0 * (1.0 - self.beta)));
            // For two segments the number would be 0 with a `beta` below 0.2, and no count would be small enough.
            let for_one = libm::floor(window * eighths / 8.0).max(1.0);
            while epoch.counted > for_one {
                epoch.counted -= for_one;
                epoch.estimate += 1.0;
            }
            if epoch.estimate > window {
                acks_per_step = acks_per_step.min(libm::floor(window / (epoch.estimate - window)));
            }
        }
        self.curve.epoch = Some(epoch);
        let acks_per_step = acks_per_step.max(FASTEST);
        self.last = if same_tick {
            (of_window, read, acks_per_step)
        } else {
            (window, now, acks_per_step)
        };
        acks_per_step
    }

    /// The number of acknowledged segments that add one segment to this window on the way to the curve.
    fn on_curve(&self, epoch: &Epoch, window: f64, now: Time) -> f64 {
        let t = now.since(epoch.begin).seconds() + self.least.map_or(0.0, |r| r.seconds());
        let x = t - epoch.k;
        let off = libm::floor(self.c * libm::fabs(x * x * x));
        let target = if x < 0.0 {
            epoch.origin - off
        } else {
            epoch.origin + off
        };
        let each = if target > window {
            libm::floor(window / (target - window))
        } else {
            ALMOST_NONE * window
        };
        if self.curve.w_max == 0.0 {
            each.min(FIRST_SEARCH)
        } else {
            each
        }
    }

    /// Take the round trip of this ACK.
    fn take_round_trip(&mut self, a: &AckEvent<'_>) {
        let settled = self.curve.epoch.is_none_or(|e| a.now.since(e.begin) >= SETTLES);
        if let Some(r) = a.rate.and_then(|r| r.rtt).or(a.rtt).filter(|_| settled) {
            self.least = Some(self.least.map_or(r, |l| l.min(r)));
        }
    }

    fn grow(&mut self, a: &AckEvent<'_>) {
        let segment = self.window.rules.segment;
        let linux = self.is_linux();
        let mut acked = if linux {
            self.count.delivered(a, segment)
        } else {
            self.count.acknowledged(a, segment)
        };
        if self.window.in_slow_start() {
            acked = self.window.slow_start_whole(a, acked, self.least);
        }
        if acked > 0.0 {
            let acks_per_step = self.each(acked, a.now);
            let segments = if linux {
                self.count.count(acked, acks_per_step)
            } else {
                self.count.count_one(acked, acks_per_step)
            };
            self.window.cwnd += segments * segment;
        }
    }
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let idle = a.now.since(self.heard);
        self.heard = a.now;
        self.trip = a.rate.and_then(|r| r.rtt).or(a.rtt).unwrap_or(self.trip);
        self.take_round_trip(a);
        if self.window.may_grow(a) {
            self.grow(a);
        } else {
            self.window.stay(a, self.least);
            if let Some(epoch) = &mut self.curve.epoch
                && self.window.rules.form == ControlForm::Ns3
                && a.phase == Phase::Open
                && !a.window_limited
            {
                epoch.begin += idle;
            }
        }
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        let window = self.segments();
        if e.what != (Congestion::Timeout { again: true }) {
            self.before = self.curve;
        }
        self.curve.epoch = None;
        if self.is_linux() {
            self.count.restart();
        }
        self.curve.w_max = match e.what {
            Congestion::Timeout { .. } | Congestion::LostSyn => {
                self.window.watch_again();
                0.0
            }
            Congestion::Loss | Congestion::Ecn | Congestion::Request { .. } => {
                if self.fast_convergence && window < self.curve.w_max {
                    libm::floor(window * (1.0 + self.beta) / 2.0)
                } else {
                    window
                }
            }
        };
        let (beta, segment) = (self.beta, self.window.rules.segment);
        let window_left = |w: f64| libm::floor(libm::floor(w / segment + 1e-9) * beta + 1e-9) * segment;
        if self.is_linux() {
            self.window.congested(e, |w| w * beta, |w| w * beta);
        } else {
            self.window.congested(e, window_left, window_left);
        }
    }

    /// The time since the last segment left does not count in the epoch.
    fn sending_begins(&mut self, now: Time, _srtt: Option<Duration>) {
        if let Some(epoch) = self
            .curve
            .epoch
            .as_mut()
            .filter(|_| self.window.rules.form == ControlForm::Linux)
        {
            epoch.begin = (epoch.begin + now.since(self.heard) + self.trip).min(now);
        }
    }

    fn sends(&mut self, sent: &Departure) {
        self.window.sends(sent);
    }

    fn window_reset(&mut self, why: Reset) {
        // If an idle period only halves the window, the curve continues.
        if matches!(why, Reset::Idle | Reset::Restart) {
            self.curve.epoch = None;
        }
        self.window.reset(why);
    }

    /// Begin a new epoch at its own maximum.
    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
        self.curve = LinuxCurve {
            w_max: self.segments(),
            epoch: None,
        };
        (self.before, self.heard) = (self.curve, from.now);
    }

    fn undo(&mut self, _why: Mistaken) {
        self.window.undo();
        if !self.is_linux() {
            self.curve = self.before;
        }
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
