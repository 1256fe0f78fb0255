//! SCReAM version 2: self-clocked rate adaptation for multimedia (draft-johansson-ccwg-rfc8298bis-screamv2).
//!
//! A reference window limits the bytes in flight. The target rate of the encoder is this window divided by the round
//! trip, less a margin. The window grows with each acknowledged byte, but only slowly near the size that it had before
//! the last reduction. It shrinks by the share of marked packets (L4S), by a fifth (classic ECN), by a third at a loss,
//! or in proportion to the queueing delay above half of its target.
//!
//! ```text
//!   growth of an ACK = bytes min(1, MSS/w) min(1, srtt/V) max(1/4, scl) (1 + MUL w/MSS post scl)
//!   scl  = clamp((8 (w - w_i)/w_i)^2, 0.1, 1)      w_i: the window before the last reduction
//!   post = clamp((now - congestion) / (100 max(V, srtt)), 0, 1)
//!   target = 8 w/srtt (1 - clamp(MSS/w - 0.1, 0, 0.2)) / (1.2 + adjust + deviation)
//! ```
//!
//! With L4S the window settles at two marked packets per round trip at any rate (with scl = 1 and srtt = V). The growth
//! MSS then equals the reduction w alpha/2.
//!
//! The state is the windows (bytes), alpha, the smoothed queueing delay and round trip, the least one-way delay, the
//! times of the last reduction and of the last congestion, and two numbers about frames. A report costs a step for each
//! packet.
//!
//! `competing` sets the target of the queueing delay, and `drift` computes the queueing delay.
//!
//! Departures: the window counts bytes on the wire. Bytes in flight are those that no report has covered. Two parts
//! that the draft leaves to its authors' code are not implemented: losses by rate, and policers.

mod competing;
mod drift;

use super::{Fate, Feedback, LeavingPacket, RateControl, RateOutput, ReportRule, Terms, WrittenFrame};
use competing::DelayTarget;
use drift::Drift;
use tailback_base::model::{Key, Kind, Model, Probe, Settings};
use tailback_base::{Duration, Ecn, Time, params};

const DRAFT: &str = "draft-johansson-ccwg-rfc8298bis-screamv2 section 4";
const SHARE: Kind = Kind::Real { min: 0.0, max: 1.0 };

/// Values that can be recorded.
const READ: [Probe<Scream>; 5] = [
    Probe::new("window", "bytes", "reference window", |s, _| s.window),
    Probe::new("alpha", "1", "smoothed share of marked packets", |s, _| s.alpha),
    Probe::new("queueing", "s", "smoothed queueing delay", |s, _| s.queueing),
    Probe::new(
        "delay_target",
        "s",
        "queueing delay at which the window is halved; the window shrinks above half of this delay",
        |s, _| s.goal.get(),
    ),
    Probe::new("in_flight", "bytes", "bytes that no report has covered yet", |s, _| {
        s.in_flight as f64
    }),
];

pub static MODEL: Model = Model {
    name: "scream",
    family: "rate-control",
    title: "SCReAM v2",
    summary: "A window limits the bytes in flight; it follows marks, losses and queueing delay. The encoder's rate is \
              the window divided by the round trip, less a margin. With L4S marks the queue stays short.",
    source: "draft-johansson-ccwg-rfc8298bis-screamv2; RFC 8298",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    QDELAY_TARGET: Duration = Key::new("qdelay_target", Kind::Time { min: 0.001, max: 10.0 }, "60ms",
        "The target of the queueing delay. The window shrinks while the queueing delay is above half of it.", DRAFT);
    QDELAY_TARGET_HI: Duration = Key::new("qdelay_target_hi", Kind::Time { min: 0.001, max: 10.0 }, "400ms",
        "The largest target to which qdelay_target grows when other flows fill the queue. If it equals qdelay_target, \
         the target is constant.", DRAFT);
    DRIFT: bool = Key::new("drift", Kind::Bool, "true",
        "Whether a delay is taken as the delay of the path if it never falls below a quarter of the target.", DRAFT);
    DRIFT_ROUNDS: f64 = Key::new("drift_rounds", Kind::Real { min: 1.0, max: 1e6 }, "256",
        "For drift: the least delay of each round trip is smoothed with a weight of 1 / drift_rounds. With a smaller \
         number a longer route is found sooner, but a queue that other flows fill is also taken as part of the path \
         sooner.", DRAFT);
    BASE_HISTORY: Duration = Key::new("base_history", Kind::Time { min: 0.1, max: 86_400.0 }, "600s",
        "The least delay of this time is taken as the delay of the path without queues.", "RFC 6817 section 2.4.2");
    BETA_LOSS: f64 = Key::new("beta_loss", SHARE, "0.7", "The share of the window that a loss leaves.", DRAFT);
    BETA_ECN: f64 = Key::new("beta_ecn", SHARE, "0.8",
        "The share of the window that a classic ECN mark leaves.", DRAFT);
    MUL_INCREASE: f64 = Key::new("mul_increase", SHARE, "0.02",
        "In each round trip the window grows by a segment and by at most this share of itself.", DRAFT);
    VIRTUAL_RTT: Duration = Key::new("virtual_rtt", Kind::Time { min: 0.0001, max: 10.0 }, "25ms",
        "If the round trip is shorter, the window grows as slowly as with this one.", DRAFT);
    HEADROOM: f64 = Key::new("headroom", Kind::Real { min: 1.0, max: 100.0 }, "1.5",
        "The window does not grow beyond this multiple of the bytes in flight.", DRAFT);
    MARGIN: f64 = Key::new("margin", Kind::Real { min: 1.0, max: 10.0 }, "1.2",
        "The encoder's rate is the window divided by the round trip and by this.", DRAFT);
    JITTER: bool = Key::new("jitter", Kind::Bool, "false",
        "Whether the window grows more slowly, and fewer bytes may exceed it, while the queueing delay is above 6 ms.",
        DRAFT);
    PACING: f64 = Key::new("pacing", Kind::Real { min: 1.0, max: 100.0 }, "1.5",
        "Packets leave at this multiple of the target rate.", DRAFT);
    RELAXED: f64 = Key::new("relaxed_pacing", Kind::Real { min: 1.0, max: 100.0 }, "4",
        "Near the largest rate, packets leave this many times faster.", DRAFT);
}

/// Section 5 of the draft: reports are sent after 16 packets, at the end of each frame, and at most 40 ms apart.
pub const RULE: ReportRule = ReportRule {
    every: Duration::from_millis(40),
    packets: 16,
    frames: true,
    step: ReportRule::RFC8888.step,
};

const MSS: f64 = 1000.0;
const MIN_REF_WND: f64 = 3000.0;
/// The gains of alpha when it rises and when it falls, and of the queueing delay when it rises.
const ALPHA_UP: f64 = 1.0 / 8.0;
const ALPHA_DOWN: f64 = 1.0 / 128.0;
const QUEUEING_UP: f64 = 0.25;
const ALPHA_EVERY: Duration = Duration::from_millis(10);
/// The number of round trips after congestion until the window grows at its full rate (POST_CONGESTION_DELAY_RTT).
const POST_CONGESTION: f64 = 100.0;
/// The factor by which bytes in flight may exceed the window, for a long and for a short queueing delay.
const WINDOW_OVERHEAD: (f64, f64) = (1.5, 3.0);
/// The optional response to a queueing delay that varies: its unit (s), its gain, and its bounds.
const JITTER_UNIT: f64 = 0.025;
const JITTER_GAIN: f64 = 1.0 / 64.0;
const JITTER_THRESHOLDS: (f64, f64) = (0.05, 0.1);
const LEAST_JITTER_SCALE: f64 = 0.1;
const MIN_PACING: f64 = 50_000.0;
const LEAST_SCALE: f64 = 0.25;
/// The gains of the two parts of the encoder's margin, and the bounds of these parts.
const ADJUST_GAIN: f64 = 1.0 / 16.0;
const DEVIATION_GAIN: f64 = 1.0 / 64.0;
const MOST_ADJUST: f64 = 0.5;
const MOST_DEVIATION: f64 = 0.2;

pub struct Scream {
    s: Settings,
    terms: Terms,
    /// Bytes.
    window: f64,
    /// The window before the last reduction, and whether the window has grown since that reduction.
    inflection: f64,
    has_grown: bool,
    srtt: f64,
    drift: Drift,
    goal: DelayTarget,
    alpha: f64,
    /// Seconds.
    queueing: f64,
    /// In units of `JITTER_UNIT`.
    jitter: f64,
    /// Packets since alpha was updated.
    delivered: u32,
    marked: u32,
    alpha_updated: Time,
    queueing_updated: Time,
    /// Whether packets were lost, or marked, since the last reduction.
    is_lost: bool,
    is_marked: bool,
    reduced: Option<Time>,
    congested: Option<Time>,
    now: Time,
    in_flight: u64,
    /// The largest amount in flight in this round trip and in the one before, and the time at which this round trip
    /// began.
    most: [u64; 2],
    round: Time,
    /// The time of the last frame, the mean time between frames, and the two parts of the encoder's margin.
    framed: Option<Time>,
    period: f64,
    adjust: f64,
    deviation: f64,
}

pub fn build(s: &Settings, terms: Terms) -> Box<dyn RateControl> {
    Box::new(Scream::new(s, terms))
}

impl Scream {
    fn new(s: &Settings, terms: Terms) -> Scream {
        Scream {
            s: s.clone(),
            window: (terms.start / 8.0 * s.get(&VIRTUAL_RTT).seconds() * s.get(&MARGIN)).max(MIN_REF_WND),
            terms,
            inflection: 1.0,
            has_grown: true,
            srtt: s.get(&VIRTUAL_RTT).seconds(),
            drift: Drift::new(s.get(&BASE_HISTORY), s.get(&DRIFT).then(|| s.get(&DRIFT_ROUNDS))),
            goal: DelayTarget::new(s.get(&QDELAY_TARGET).seconds(), s.get(&QDELAY_TARGET_HI).seconds()),
            alpha: 0.0,
            queueing: 0.0,
            jitter: 0.0,
            delivered: 0,
            marked: 0,
            alpha_updated: Time::ZERO,
            queueing_updated: Time::ZERO,
            is_lost: false,
            is_marked: false,
            reduced: None,
            congested: None,
            now: Time::ZERO,
            in_flight: 0,
            most: [0, 0],
            round: Time::ZERO,
            framed: None,
            period: 0.0,
            adjust: 0.0,
            deviation: 0.0,
        }
    }

    fn virtual_rtt(&self) -> f64 {
        self.s.get(&VIRTUAL_RTT).seconds()
    }

    /// How far the window is from its size before the last reduction.
    fn scale(&self) -> f64 {
        let off = 8.0 * (self.window - self.inflection) / self.inflection;
        (off * off).clamp(0.1, 1.0)
    }

    /// The threshold at which the optional response to jitter is largest. It is lower with a small window.
    fn jitter_threshold(&self) -> f64 {
        let (least, most) = JITTER_THRESHOLDS;
        (most * (1.0 - MSS / self.window / 0.1)).max(least)
    }

    /// 1 without jitter, 0 with strong jitter, and 1 if the optional response is off.
    fn calm(&self) -> f64 {
        let threshold = self.jitter_threshold();
        ((threshold - self.jitter) / threshold).max(0.0)
    }

    /// Bit/s on the wire.
    fn target(&self) -> f64 {
        let small = (MSS / self.window - 0.1).clamp(0.0, 0.2);
        let rate = 8.0 * self.window / self.srtt * (1.0 - small);
        let share = self.drift.share(self.now) / (self.s.get(&MARGIN) + self.adjust + self.deviation);
        self.terms.clamp(rate * share)
    }

    fn smooth(&mut self, f: &Feedback, queueing: Option<f64>) {
        self.srtt += (f.rtt.seconds() - self.srtt) / 8.0;
        let seconds_since = |t: Time| f.now.since(t).seconds();
        if self.delivered > 0 && seconds_since(self.alpha_updated) >= ALPHA_EVERY.seconds().min(self.srtt) {
            let share = f64::from(self.marked) / f64::from(self.delivered);
            let gain = if share >= self.alpha { ALPHA_UP } else { ALPHA_DOWN };
            let to = if share >= self.alpha { share } else { 0.0 };
            self.alpha += gain * (to - self.alpha);
            (self.delivered, self.marked, self.alpha_updated) = (0, 0, f.now);
        }
        if let Some(queueing) = queueing
            && seconds_since(self.queueing_updated) >= self.virtual_rtt().min(self.srtt)
        {
            self.queueing = match queueing < self.queueing {
                true => queueing,
                false => self.queueing + QUEUEING_UP * (queueing - self.queueing),
            };
            self.queueing_updated = f.now;
            if self.s.get(&JITTER) {
                let most = 1.5 * self.jitter_threshold();
                let x = ((queueing - JITTER_UNIT / 4.0) / JITTER_UNIT).clamp(0.0, most);
                self.jitter += JITTER_GAIN * (x - self.jitter);
            }
        }
    }

    /// Reduce the window, at most once in a round trip, or once in a virtual round trip if this is shorter.
    fn reduce(&mut self, f: &Feedback) {
        let (virtual_rtt, goal) = (self.virtual_rtt(), self.goal.get());
        let spread = (self.srtt / virtual_rtt).max(1.0);
        if self
            .reduced
            .is_some_and(|t| f.now.since(t).seconds() < virtual_rtt.min(self.srtt))
        {
            return;
        }
        let is_l4s = self.terms.ecn == Ecn::Ect1;
        let long_ago = self
            .reduced
            .is_none_or(|t| f.now.since(t).seconds() > POST_CONGESTION * virtual_rtt.max(self.srtt));
        let window_before = self.window;
        let (is_lost, is_marked) = (self.is_lost, self.is_marked);
        let kept_share = if is_lost {
            self.s.get(&BETA_LOSS)
        } else if is_marked && is_l4s {
            let mut share = self.alpha / 2.0 / spread;
            if self.queueing < goal / 4.0 {
                share *= self.scale().max(LEAST_SCALE) * self.calm().max(LEAST_JITTER_SCALE);
            }
            if long_ago {
                self.window = self.window.min(self.most[0].max(self.most[1]) as f64);
            }
            1.0 - share
        } else if is_marked {
            self.s.get(&BETA_ECN)
        } else if self.queueing > goal / 2.0 {
            1.0 - ((self.queueing - goal / 2.0) / (goal / 2.0)).min(1.0) / 2.0 / spread
        } else {
            return;
        };
        if self.has_grown {
            (self.inflection, self.has_grown) = (window_before, false);
        }
        self.window = (self.window * kept_share).max(MIN_REF_WND);
        (self.reduced, self.is_lost, self.is_marked) = (Some(f.now), false, false);
    }

    fn grow(&mut self, now: Time, acked: f64) {
        let most = self.most[0].max(self.most[1]) as f64;
        let allowed = MSS + self.s.get(&HEADROOM) * most;
        if acked == 0.0 || self.window > allowed || self.target() >= self.terms.max {
            return;
        }
        let (virtual_rtt, scale) = (self.virtual_rtt(), self.scale());
        let post = self.congested.map_or(1.0, |t| {
            (now.since(t).seconds() / (POST_CONGESTION * virtual_rtt.max(self.srtt))).clamp(0.0, 1.0)
        });
        let more = 1.0 + self.s.get(&MUL_INCREASE) * self.window / MSS * post * scale;
        let slow = (MSS / self.window).min(1.0) * (self.srtt / virtual_rtt).min(1.0) * scale.max(LEAST_SCALE);
        self.window += acked * slow * more * self.calm().max(LEAST_JITTER_SCALE);
        self.has_grown = true;
    }
}

impl RateControl for Scream {
    fn on_frame(&mut self, f: &WrittenFrame) {
        let Some(last) = self.framed.replace(f.now) else { return };
        let gap = f.now.since(last).seconds();
        self.period += if self.period == 0.0 {
            gap
        } else {
            (gap - self.period) / 16.0
        };
        if self.period == 0.0 {
            return;
        }
        let late = (f.waited.seconds() - self.period / 4.0) / self.period;
        self.adjust = (self.adjust + ADJUST_GAIN * late).clamp(0.0, MOST_ADJUST);
        let expected = self.target() / 8.0 * self.period;
        let excess = (f.payload as f64 / expected - 1.0).max(0.0);
        self.deviation = (self.deviation + DEVIATION_GAIN * (excess - self.deviation)).min(MOST_DEVIATION);
    }

    fn on_sent(&mut self, s: &LeavingPacket) {
        self.in_flight = s.in_flight;
        if s.now.since(self.round).seconds() > self.srtt {
            (self.most, self.round) = ([0, self.most[0]], s.now);
        }
        self.most[0] = self.most[0].max(s.in_flight);
    }

    fn on_feedback(&mut self, f: &Feedback) {
        self.in_flight = f.in_flight;
        let (mut acked, mut is_lost, mut is_marked, mut queueing) = (0.0, false, false, None);
        self.now = f.now;
        for p in f.packets {
            match p.fate {
                Fate::Received { at, marked } => {
                    queueing = Some(self.drift.queueing(p.sent, at));
                    self.delivered += 1;
                    self.marked += u32::from(marked);
                    is_marked |= marked;
                    // Marked bytes do not let the window grow.
                    acked += if marked { 0.0 } else { f64::from(p.bytes) };
                }
                Fate::Lost => is_lost = true,
            }
        }
        self.smooth(f, queueing);
        self.goal.report(is_lost, self.srtt, f.now);
        if let Some(queueing) = queueing {
            self.goal.delay(queueing, f.now);
        }
        self.drift.report(self.srtt, self.goal.get(), f.now);
        if is_lost || is_marked {
            self.congested = Some(f.now);
        }
        self.is_lost |= is_lost;
        self.is_marked |= is_marked;
        self.reduce(f);
        self.grow(f.now, acked);
    }

    fn output(&self, _waiting: u64) -> RateOutput {
        let target = self.target();
        let (least, most) = WINDOW_OVERHEAD;
        let overhead = least + (most - least) * self.calm();
        let near = 1.0 - (target / self.terms.max - 0.8) / 0.2;
        RateOutput {
            target,
            pacing: target.max(MIN_PACING) * self.s.get(&PACING) / near.clamp(1.0 / self.s.get(&RELAXED), 1.0),
            window: (self.window * overhead) as u64,
            burst: Duration::ZERO,
            padding: 0,
        }
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReportedPacket;
    use super::*;

    /// A control on a path of 25 ms. Its window has this many bytes, and its last reduction was long ago.
    fn settled(window: f64) -> Scream {
        let terms = Terms {
            min: 100e3,
            start: 1e6,
            max: 500e6,
            ecn: Ecn::Ect1,
        };
        let mut s = Scream::new(&Settings::defaults(&MODEL), terms);
        (s.window, s.inflection, s.has_grown) = (window, 1.0, false);
        s.most = [window as u64; 2];
        s
    }

    /// A report of packets of 1000 B that waited in no queue. Some of these packets are marked.
    fn report(s: &mut Scream, now: Time, packets: u64, marked: u64) {
        let packets: Vec<ReportedPacket> = (0..packets)
            .map(|number| ReportedPacket {
                number,
                bytes: 1000,
                sent: now,
                fate: Fate::Received {
                    at: now + Duration::from_millis(12),
                    marked: number < marked,
                },
            })
            .collect();
        s.on_feedback(&Feedback {
            now: now + Duration::from_millis(25),
            packets: &packets,
            rtt: Duration::from_millis(25),
            in_flight: s.window as u64,
        });
    }

    /// The rate on the wire is the window divided by the round trip and by 1.2. The encoder gets the payload part of
    /// this rate. In the draft this part is MSS / (MSS + 20) = 0.817.
    #[test]
    fn the_target_is_the_window_by_the_round_trip_over_1_2() {
        let s = settled(40e3);
        assert!((s.target() * 0.025 / 8.0 / 40e3 - 1.0 / 1.2).abs() < 1e-9);
    }

    /// If two packets of a round trip are marked, the growth by MSS per round trip, less the marked bytes, equals the
    /// reduction by w alpha / 2. This is true for any window.
    #[test]
    fn two_marked_packets_a_round_trip_hold_the_window() {
        for packets in [20, 40, 200] {
            let window = 1000.0 * packets as f64;
            let mut s = settled(window);
            let now = Time(10_000_000_000);
            s.alpha = 2.0 / packets as f64;
            s.congested = Some(now + Duration::from_millis(25));
            s.reduced = Some(now);
            report(&mut s, now, packets, 2);
            let off = (s.window - window) / 1000.0;
            // Marked packets do not let the window grow. Here they are 2 of n packets, each of one segment.
            assert!(
                (off + 2.0 / packets as f64).abs() < 0.06,
                "{packets} packets: {off} segments"
            );
        }
    }
}
