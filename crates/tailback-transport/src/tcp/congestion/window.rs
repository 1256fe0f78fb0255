//! The window of a control that responds to losses: the common part of Reno and its relatives.
//!
//! All these controls follow RFC 5681 in several points: in slow start, in the rule when an ACK may open the window at
//! all, in the minima of window and threshold, and in their response to timeouts, idle periods, requests of routers and
//! undo. A control adds the growth of the window beyond the threshold and the share of the window that a loss leaves.
//!
//! The state is `cwnd` and `ssthresh` in bytes, and the values of both before the last reduction. Parameters allow
//! these departures from RFC 5681: the reduction of the window as in ns-2 instead of the outstanding bytes, a threshold
//! in whole segments for a window with a fraction (ns-2), byte counting (RFC 3465), and growth while the window is not
//! the limit (ns-2).

use super::slow_start::{SlowStart, SlowStartAdvice, SlowStartRule, StartView};
use super::{
    AckEvent, AfterTimeout, Congestion, CongestionEvent, ControlForm, Departure, Growth, Halve, Handover, Phase, Reset,
    WindowRules,
};
use std::sync::Arc;
use tailback_base::Duration;

/// RFC 5681 equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)".
pub const LEAST_SSTHRESH: f64 = 2.0;
/// RFC 5681 section 3.1: "the loss window, LW, equals 1 full-sized segment".
const LOSS_WINDOW: f64 = 1.0;

/// The threshold after an idle period, as a share of the window (Linux; RFC 2861 section 3).
const RESTED: f64 = 0.75;

/// A number of bytes as a real number. Lengths stay far below 2^63, so the signed conversion (one instruction) is
/// safe.
#[inline]
pub fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// Window and threshold, bytes.
pub struct CongestionWindow {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// Window and threshold before the last reduction.
    before: (f64, f64),
    pub rules: Arc<WindowRules>,
    /// The rule that may end slow start before a loss.
    start: Option<Box<dyn SlowStart>>,
}

impl CongestionWindow {
    pub fn new(rules: &Arc<WindowRules>) -> CongestionWindow {
        let windows = (rules.initial_window, rules.initial_ssthresh);
        CongestionWindow {
            cwnd: windows.0,
            ssthresh: windows.1,
            before: windows,
            rules: rules.clone(),
            start: None,
        }
    }

    /// The same window, with a rule that may end slow start.
    #[must_use]
    pub fn with_start(mut self, rule: Option<Box<dyn SlowStart>>) -> CongestionWindow {
        self.start = rule;
        self
    }

    /// The same window. SEARCH or HyStart++ ends the first slow start if the parameters select it.
    #[must_use]
    pub fn with_rule(self, search: bool, hystart: bool) -> CongestionWindow {
        let rule = match (search, hystart) {
            (true, _) => Some(SlowStartRule::Search),
            (false, true) => Some(SlowStartRule::Hystart),
            (false, false) => None,
        };
        let form = self.rules.form;
        self.with_start(rule.map(|r| r.make(form)))
    }

    /// Take window and threshold of the control before. Reductions by that control are not undone.
    pub fn take_over(&mut self, from: &Handover) {
        (self.cwnd, self.ssthresh) = (from.cwnd, from.ssthresh);
        self.before = (from.cwnd, from.ssthresh);
    }

    /// Whether this ACK may open the window. By RFC 3168 section 6.1.2 with RFC 5681, an ACK that reports congestion
    /// may not open it.
    #[inline]
    pub fn may_grow(&self, a: &AckEvent<'_>) -> bool {
        let always = self.rules.growth == Growth::Always;
        let arrives = a.acked > 0 || (a.reports_open && a.sacked > 0);
        !(!arrives || a.phase == Phase::Recovery || a.ecn_echo || !(a.window_limited || always))
    }

    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Take an ACK on which the window may not grow. The rule of slow start still gets this ACK. `least` is the least
    /// round trip, if the control keeps one.
    #[inline]
    pub fn stay(&mut self, a: &AckEvent<'_>, least: Option<Duration>) {
        if self.start.is_some() && self.in_slow_start() {
            self.ask(a, least);
        }
    }

    /// A segment leaves.
    pub fn sends(&mut self, sent: &Departure) {
        if self.in_slow_start()
            && let Some(rule) = &mut self.start
        {
            rule.sends(sent);
        }
    }

    /// Apply the rule to this ACK. If it ends slow start, the threshold is the present window.
    #[cold]
    #[inline(never)]
    fn ask(&mut self, a: &AckEvent<'_>, least: Option<Duration>) -> SlowStartAdvice {
        let start_view = StartView {
            cwnd: self.cwnd,
            first: self.ssthresh.is_infinite(),
            least,
            segment: self.rules.segment,
            wire: self.rules.wire,
        };
        let Some(rule) = &mut self.start else {
            return SlowStartAdvice::Usual;
        };
        let advice = rule.judge(a, &start_view);
        if matches!(advice, SlowStartAdvice::End { .. }) {
            self.ssthresh = self.cwnd;
        }
        advice
    }

    /// Slow start by the rule. Returns false if the window grows as usual.
    #[cold]
    #[inline(never)]
    fn follows(&mut self, a: &AckEvent<'_>, least: Option<Duration>) -> bool {
        match self.ask(a, least) {
            SlowStartAdvice::Usual | SlowStartAdvice::End { spent: false } => false,
            SlowStartAdvice::End { spent: true } => true,
            SlowStartAdvice::Grow { share, most } => {
                self.cwnd += real(a.acked).min(most * self.rules.segment) * share;
                true
            }
        }
    }

    /// A timeout restarts the rule.
    pub fn watch_again(&mut self) {
        if let Some(rule) = &mut self.start {
            rule.restart();
        }
    }

    /// RFC 5681 equation 2: "cwnd += min (N, SMSS)"; by RFC 3465 section 2.3, L is 1 after a timeout.
    #[inline]
    pub fn slow_start(&mut self, a: &AckEvent<'_>) {
        if self.start.is_some() && (self.follows(a, None) || !self.in_slow_start()) {
            return;
        }
        let (segment, bytes) = (self.rules.segment, real(a.acked));
        self.cwnd += match self.rules.byte_counting {
            0 if self.rules.growth == Growth::Always => segment,
            0 => bytes.min(segment),
            _ if a.phase == Phase::Loss => bytes.min(segment),
            l => bytes.min(f64::from(l) * segment),
        };
    }

    /// Slow start by this many whole segments, up to the threshold. Returns the number of segments that are left.
    pub fn slow_start_whole(&mut self, a: &AckEvent<'_>, acked: f64, least: Option<Duration>) -> f64 {
        if self.start.is_some() && self.follows(a, least) {
            return 0.0;
        }
        let room = libm::ceil((self.ssthresh - self.cwnd) / self.rules.segment);
        let taken = acked.min(room);
        self.cwnd += taken * self.rules.segment;
        acked - taken
    }

    /// The bytes that this ACK counts for growth beyond the threshold: one segment, or the acknowledged bytes.
    #[inline]
    pub fn counted(&self, a: &AckEvent<'_>) -> f64 {
        if self.rules.byte_counting > 0 {
            real(a.acked).min(self.cwnd)
        } else {
            self.rules.segment
        }
    }

    /// RFC 5681 equation 3: "cwnd += SMSS*SMSS/cwnd".
    #[inline]
    pub fn one_segment_a_round_trip(&mut self, a: &AckEvent<'_>) {
        self.cwnd += self.rules.segment * self.counted(a) / self.cwnd;
    }

    pub fn set_ssthresh(&mut self, bytes: f64) {
        let segment = self.rules.segment;
        let rounded = if self.rules.whole_ssthresh || self.rules.form == ControlForm::Linux {
            libm::floor(bytes / segment) * segment
        } else {
            bytes
        };
        self.ssthresh = rounded.max(LEAST_SSTHRESH * segment);
    }

    /// Store window and threshold before a reduction. [`CongestionWindow::undo`] restores these values.
    pub fn remember(&mut self) {
        self.before = (self.cwnd, self.ssthresh);
    }

    /// The amount that a loss reduces: the outstanding bytes, or the window.
    fn at_loss(&self, flight: u64) -> f64 {
        match self.rules.halve {
            Halve::Flight => flight as f64,
            Halve::Cwnd => self.cwnd.min(self.rules.cap),
        }
    }

    /// A sign of congestion. `left` gives the bytes that a loss leaves of a window of this many bytes. `echoed` gives
    /// the bytes that an ECN echo leaves, unless the parameters give them.
    pub fn congested(&mut self, e: &CongestionEvent, left: impl Fn(f64) -> f64, echoed: impl Fn(f64) -> f64) {
        // A repeated timeout of the same loss has no further effect.
        if e.what != (Congestion::Timeout { again: true }) {
            self.remember();
        }
        match e.what {
            Congestion::Loss => self.lose(e.flight, left),
            Congestion::Ecn => {
                let window_before = match self.rules.halve {
                    Halve::Flight => self.cwnd.min(e.flight as f64),
                    Halve::Cwnd => self.cwnd.min(self.rules.cap),
                };
                let window_left = match self.rules.ecn_decrease {
                    Some(share) => window_before * share,
                    None => echoed(window_before),
                };
                self.set_ssthresh(window_left);
                if self.rules.form == ControlForm::Linux {
                    self.cwnd = self.ssthresh;
                    return;
                }
                // RFC 3168 section 6.1.2: the window is never below one segment. In ns-2 it may be below one segment,
                // and the sender then waits for the timer.
                self.cwnd = window_left.max(self.rules.least);
            }
            Congestion::Request { keep, .. } => {
                self.cwnd = (self.cwnd * keep).max(LEAST_SSTHRESH * self.rules.segment);
                self.ssthresh = self.cwnd;
            }
            Congestion::Timeout { again } => self.timeout(e.flight, again, left),
            Congestion::LostSyn => {
                self.cwnd = self.rules.segment;
                self.timeout(e.flight, false, left);
            }
        }
    }

    fn lose(&mut self, flight: u64, left: impl Fn(f64) -> f64) {
        let left = left(self.at_loss(flight));
        self.set_ssthresh(left);
        // With a threshold in whole segments the window keeps its fraction. Otherwise recovery starts at the threshold.
        self.cwnd = if self.rules.whole_ssthresh {
            left.max(self.rules.least)
        } else {
            self.ssthresh
        };
    }

    fn timeout(&mut self, flight: u64, again: bool, left: impl Fn(f64) -> f64) {
        self.cwnd = self.cwnd.max(LOSS_WINDOW * self.rules.segment);
        if !again {
            self.lose(flight, left);
        }
        self.cwnd = match self.rules.after_timeout {
            AfterTimeout::Halve => self.ssthresh,
            AfterTimeout::SlowStart => LOSS_WINDOW * self.rules.segment,
        };
    }

    pub fn reset(&mut self, why: Reset) {
        let window = match why {
            Reset::OneSegment => self.rules.segment,
            Reset::LostSyn => self.rules.after_lost_syn,
            Reset::Shift { bytes } => self.cwnd + bytes,
            Reset::AtMost { bytes } => self.cwnd.min(bytes),
            // Without a threshold there was no reduction, and the window stays.
            Reset::RecoveryEnd { at_most: Some(bytes) } if self.ssthresh.min(bytes).is_infinite() => return,
            Reset::RecoveryEnd { at_most: Some(bytes) } => self.ssthresh.min(bytes),
            // The window already has its final value since the loss.
            Reset::RecoveryEnd { at_most: None } => return,
            // The window is never larger than before. With a window below one segment the sender waits for the timer.
            Reset::Idle => {
                self.cwnd = self.cwnd.min(self.rules.initial_window);
                return;
            }
            Reset::IdleHalves { times } => {
                self.ssthresh = self.ssthresh.max(RESTED * self.cwnd);
                let least = self.cwnd.min(self.rules.initial_window);
                let halved = self.cwnd * libm::pow(0.5, f64::from(times));
                let whole = libm::floor(halved / self.rules.segment) * self.rules.segment;
                self.cwnd = whole.max(least);
                return;
            }
            Reset::Restart => {
                self.ssthresh = self.rules.initial_ssthresh;
                self.rules.initial_window
            }
        };
        self.cwnd = window.max(LOSS_WINDOW * self.rules.segment);
    }

    /// RFC 4015 section 3.2 in its fullest form: restore window and threshold, unless they have grown since the
    /// reduction.
    pub fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before.0);
        self.ssthresh = self.ssthresh.max(self.before.1);
    }
}
