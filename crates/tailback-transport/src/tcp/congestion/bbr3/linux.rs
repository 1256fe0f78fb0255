//! The differences of Google's branch v3 of Linux (github.com/google/bbr, net/ipv4/tcp_bbr.c at commit 001a430b).
//!
//! Fractions are in 256ths, and amounts in whole segments. The amount in flight is computed for the moment when the
//! next segment leaves. Drain has no limit in rounds. An undo changes no state. Losses of Startup are counted by ACK.
//! Marks count if the path is short (`ecn_low`). Their share of the delivered data, smoothed over rounds, lowers
//! `inflight_shortterm`. A probe with more than half of its data marked ends. The page of the control has the whole
//! table.
//!
//! The state is 64 bytes more. Some parts of Linux are not implemented. Linux checks whether the window was limiting at
//! some time in the last window (`is_cwnd_limited`). Here the present ACK decides this, as in the draft's form. Linux
//! also takes a tail that a probe repaired as limited by the application, and does not restore the window after fast
//! recovery. The fast path and PLB are not implemented either.

use super::model::Sample;
use super::{AckEvent, Bbr3, Phase};
use tailback_base::Duration;

tailback_base::choice! {
    /// How the control is computed.
    pub(super) enum Bbr3Form { Draft = "draft", Linux = "linux" }
}

pub(super) const SOURCE: &str = "google/bbr, branch v3, net/ipv4/tcp_bbr.c at 001a430b";

/// Constants of both forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bbr3Numbers {
    pub startup_gain: f64,
    pub drain_gain: f64,
    pub down_gain: f64,
    /// The loss rate of a round trip that is tolerated during a probe.
    pub loss_threshold: f64,
    /// The least share that a reaction leaves (Beta).
    pub keep: f64,
    /// The share of `inflight_longterm` that is left to other flows.
    pub headroom: f64,
}

/// Sections 2.5 and 2.8. The first is 4 ln 2, the least gain that doubles the rate each round trip.
const DRAFT: Bbr3Numbers = Bbr3Numbers {
    startup_gain: 2.77,
    drain_gain: 0.5,
    down_gain: 0.9,
    loss_threshold: 0.02,
    keep: 0.7,
    headroom: 0.15,
};
const LINUX: Bbr3Numbers = Bbr3Numbers {
    startup_gain: 710.0 / 256.0,
    drain_gain: 88.0 / 256.0,
    down_gain: 232.0 / 256.0,
    loss_threshold: 5.0 / 256.0,
    keep: 180.0 / 256.0,
    headroom: 38.0 / 256.0,
};

impl Bbr3Form {
    pub fn numbers(self) -> &'static Bbr3Numbers {
        match self {
            Bbr3Form::Draft => &DRAFT,
            Bbr3Form::Linux => &LINUX,
        }
    }
}

/// The largest addition of `extra_acked` to the window, in seconds of the rate.
const MOST_EXTRA: f64 = 0.1;
/// A burst is the bytes of 1/1024 s of the pacing rate, plus 64 kB that are halved for each 512 us of the round trip.
const BURST_SHARE: f64 = 1.0 / 1024.0;
const SHORT_BURST: f64 = 65_536.0;
const HALVES_EACH: f64 = 512e-6;
const LEAST_BURST: f64 = 2.0;

/// Marks count up to this least round trip.
const LONGEST_PATH: Duration = Duration::from_millis(5);
/// The weight of a round in the smoothed share, the reduction for a share of 1, and the share above which a sample has
/// too many marks.
const WEIGHT: f64 = 16.0 / 256.0;
const CUT: f64 = 85.0 / 256.0;
const TOO_MANY: f64 = 0.5;
/// This many rounds in a row with too many marks end Startup.
const MARKED_ROUNDS: u32 = 2;
/// After marks without losses the next probe grows by this share of `inflight_longterm` in its first round.
const PROBE_AFTER_MARKS: f64 = 0.5;

/// The state that follows from marks. All values are 0 in the draft's form.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkSignals {
    /// Whether the scenario allows the response to marks, and whether the path has been short.
    allowed: bool,
    counts: bool,
    /// The smoothed share of marked data (`ecn_alpha`).
    pub share: f64,
    /// The bytes delivered and marked when the round began, and the bytes marked so far.
    delivered: u64,
    marked: u64,
    total: u64,
    pub in_round: bool,
    in_cycle: bool,
    pub lost_in_cycle: bool,
    /// Whether no repair is in progress.
    open: bool,
    startup_rounds: u32,
}

impl MarkSignals {
    pub fn new(allowed: bool) -> MarkSignals {
        MarkSignals {
            allowed,
            counts: false,
            share: 1.0,
            delivered: 0,
            marked: 0,
            total: 0,
            in_round: false,
            in_cycle: false,
            lost_in_cycle: false,
            open: true,
            startup_rounds: 0,
        }
    }

    pub fn forget(&mut self) {
        (self.in_round, self.in_cycle, self.lost_in_cycle) = (false, false, false);
    }

    /// Samples belong to the cycle from now on.
    pub fn end_ack(&mut self, s: &Sample) {
        self.in_cycle |= s.marked > 0.0;
        self.lost_in_cycle |= s.lost > 0.0;
    }

    /// Whether more than half of a sample is marked.
    pub fn are_too_many(&self, s: &Sample) -> bool {
        self.counts && s.marked > s.delivered * TOO_MANY
    }

    /// The bound after a round with marks; infinite after a round without marks.
    pub fn lower(&self, inflight: f64) -> f64 {
        if self.in_round {
            inflight * (1.0 - self.share * CUT)
        } else {
            f64::INFINITY
        }
    }
}

impl Bbr3 {
    /// These bytes rounded down to whole segments.
    pub(super) fn whole(&self, bytes: f64) -> f64 {
        libm::floor(bytes / self.rules.segment + 1e-9) * self.rules.segment
    }

    /// These bytes rounded up to whole segments.
    pub(super) fn whole_above(&self, bytes: f64) -> f64 {
        libm::ceil(bytes / self.rules.segment - 1e-9) * self.rules.segment
    }

    /// The bytes of a burst, which leave at once.
    pub(super) fn burst(&self) -> f64 {
        let halvings = self
            .trips
            .least
            .map_or(f64::INFINITY, |r| libm::floor(r.seconds() / HALVES_EACH));
        let bytes = self.pacing * BURST_SHARE + SHORT_BURST * libm::exp2(-halvings);
        self.whole(bytes.min(SHORT_BURST)).max(LEAST_BURST * self.rules.segment)
    }

    /// The addition to the window for ACKs that come in bursts.
    pub(super) fn burst_room(&self) -> f64 {
        self.path.extra_acked().min(self.bw * MOST_EXTRA)
    }

    /// How many of these bytes are in the network when the next segment leaves. The bytes that are delivered until then
    /// are subtracted. If the gain is above 1, the bytes that leave are added. The draft uses the present amount.
    pub(super) fn at_departure(&self, bytes: f64, s: &Sample) -> f64 {
        if self.form == Bbr3Form::Draft {
            return bytes;
        }
        let joining = if self.pacing_gain() > 1.0 { self.burst() } else { 0.0 };
        (bytes + joining - self.whole(self.bw * s.until_next)).max(0.0)
    }

    /// Begin CRUISE within the bound of the last probe.
    pub(super) fn start_cruise(&mut self) {
        let b = &mut self.bounds;
        if self.form == Bbr3Form::Linux && b.inflight_shortterm < f64::INFINITY {
            b.inflight_shortterm = b.inflight_shortterm.min(b.inflight_longterm);
        }
        self.state = super::State::Cruise;
    }

    /// Count the marks of an ACK, including an ACK that delivers no data.
    pub(super) fn count_marks(&mut self, a: &AckEvent<'_>) {
        let marks = &mut self.marks;
        marks.total += a.marked;
        marks.counts |= marks.allowed && self.trips.least.is_some_and(|r| r <= LONGEST_PATH);
        marks.in_round |= marks.counts && a.marked > 0;
        marks.open = a.phase == Phase::Open;
    }

    /// Once per round, update the smoothed share of marked data.
    pub(super) fn smooth_marks(&mut self, s: &Sample) {
        let marks = &mut self.marks;
        if marks.counts && s.has_data && self.path.begins_round(s) && s.total > marks.delivered {
            let share = (marks.total - marks.marked) as f64 / (s.total - marks.delivered) as f64;
            marks.share = ((1.0 - WEIGHT) * marks.share + WEIGHT * share).min(1.0);
            (marks.delivered, marks.marked) = (s.total, marks.total);
            marks.startup_rounds = if share >= TOO_MANY { marks.startup_rounds + 1 } else { 0 };
            if !self.full.reached && marks.startup_rounds >= MARKED_ROUNDS {
                self.leave_startup_by_loss();
            }
        }
    }

    /// Whether a probe should begin at once, because the cycle has had marks and no loss, and no repair is in progress.
    pub(super) fn marks_ask_for_a_probe(&self) -> bool {
        let m = &self.marks;
        m.counts && m.in_cycle && !m.lost_in_cycle && m.open
    }

    pub(super) fn probe_after_marks(&mut self) {
        let segments = (self.bounds.inflight_longterm * PROBE_AFTER_MARKS / self.rules.segment).clamp(1.0, 1e9);
        self.start_refill();
        self.cycle.up_rounds = libm::log2(segments) as u32;
    }
}

/// The amount in flight at which losses passed the threshold, in whole segments. It is the amount before the lost
/// segment, plus as much of this segment as could still be lost.
pub(super) fn segments_at_loss(in_flight: f64, lost: f64, size: f64, segment: f64) -> f64 {
    let threshold = LINUX.loss_threshold;
    let (before, lost_before) = ((in_flight - size) / segment, (lost - size) / segment);
    let budget = libm::ceil(threshold * before - 1e-9);
    let left = libm::floor((budget - lost_before).max(0.0) / (1.0 - threshold) + 1e-9);
    (before + left) * segment
}

#[cfg(test)]
mod tests;
