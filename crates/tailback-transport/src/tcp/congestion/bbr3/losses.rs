//! The bounds that losses set (section 5.5.10 of the draft): long-term bounds during a probe, and short-term bounds
//! otherwise.

use super::linux::segments_at_loss;
use super::model::Sample;
use super::{Bbr3, Bbr3Form, CongestionEvent, Lost, State};
use crate::tcp::congestion::real;
use tailback_base::Time;

/// Section 5.3.1.3: the number of discontiguous ranges.
pub(super) const LOSS_RANGES: u32 = 6;

/// Amounts in bytes, and rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    /// The greatest rate and amount delivered in this round.
    bw_latest: f64,
    pub inflight_latest: f64,
    /// The round in which losses are counted. It begins anew with the first loss.
    round_delivered: u64,
    pub round_start: bool,
    pub lost_in_round: bool,
    /// The ranges lost in this round. Linux counts the ACKs that show losses.
    pub ranges: u32,
    last_loss: Option<Time>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            round_delivered: 0,
            round_start: false,
            lost_in_round: false,
            ranges: 0,
            last_loss: None,
        }
    }
}

impl Bounds {
    /// UpdateLatestDeliverySignals.
    pub fn take_latest(&mut self, s: &Sample) {
        self.bw_latest = self.bw_latest.max(s.rate);
        self.inflight_latest = self.inflight_latest.max(s.delivered);
        self.round_start = s.delivered_at_send >= self.round_delivered;
        if self.round_start {
            self.round_delivered = s.total;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub fn advance_latest(&mut self, s: &Sample) {
        if self.round_start {
            (self.bw_latest, self.inflight_latest) = (s.rate, s.delivered);
        }
    }

    /// ResetCongestionSignals.
    pub fn forget_signals(&mut self) {
        (self.lost_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// ResetShortTermModel.
    pub fn forget_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// LossLowerBounds: lower the bounds to the delivered amounts, but not below the share `keep` of the old bounds.
    fn lower(&mut self, max_bw: f64, cwnd: f64, keep: f64) {
        self.bw_shortterm = self.bw_latest.max(keep * self.bw_shortterm.min(max_bw));
        self.inflight_shortterm = self.inflight_latest.max(keep * self.inflight_or(cwnd));
    }

    /// `inflight_shortterm`, or the window if it is not set.
    fn inflight_or(&self, cwnd: f64) -> f64 {
        if self.inflight_shortterm == f64::INFINITY {
            cwnd
        } else {
            self.inflight_shortterm
        }
    }
}

impl Bbr3 {
    /// IsInflightTooHigh.
    pub(super) fn is_too_high(&self, lost: f64, in_flight_at_send: f64) -> bool {
        let most = in_flight_at_send * self.form.numbers().loss_threshold;
        match self.form {
            Bbr3Form::Draft => lost > most || (lost > 0.0 && !self.rules.sack),
            Bbr3Form::Linux => lost > self.whole(most) && in_flight_at_send > 0.0,
        }
    }

    /// IsInflightTooHigh for an ACK's sample, in which Linux also counts marks.
    pub(super) fn is_sample_too_high(&self, s: &Sample) -> bool {
        self.is_too_high(s.lost, s.in_flight_at_send) || self.marks.are_too_many(s)
    }

    /// The second part of UpdateCongestionSignals, once per round.
    pub(super) fn adapt_short_term(&mut self) {
        if !self.bounds.round_start {
            return;
        }
        if !self.state.accelerates() {
            let marked = self.marks.lower(self.bounds.inflight_or(self.cwnd));
            if self.bounds.lost_in_round {
                let keep = self.form.numbers().keep;
                self.bounds.lower(self.path.max_bw(), self.cwnd, keep);
            }
            self.bounds.inflight_shortterm = self.bounds.inflight_shortterm.min(marked);
        }
        self.bounds.lost_in_round = false;
        self.marks.in_round = false;
    }

    /// ResetCongestionSignals.
    pub(super) fn forget_signals(&mut self) {
        self.bounds.forget_signals();
        self.marks.forget();
    }

    /// NoteLoss, without the state that is saved for an undo.
    fn note_loss(&mut self) {
        self.marks.lost_in_cycle = true;
        if !self.bounds.lost_in_round {
            self.bounds.round_delivered = self.path.delivered;
        }
        self.bounds.lost_in_round = true;
    }

    /// HandleLostPacket.
    pub(super) fn take_loss(&mut self, lost: &Lost) {
        self.path.delivered = lost.delivered;
        self.note_loss();
        let (mut in_flight, lost_since) = (real(lost.in_flight_at_send), real(lost.lost_since_send));
        let counts = match self.form {
            Bbr3Form::Draft => {
                self.save();
                lost.new_range
            }
            Bbr3Form::Linux => {
                if lost.by_probe {
                    in_flight = self.bounds.inflight_latest + lost_since;
                }
                self.bounds.last_loss.replace(lost.now) != Some(lost.now)
            }
        };
        self.bounds.ranges += u32::from(counts);
        if self.cycle.is_probe && self.is_too_high(lost_since, in_flight) {
            let flight_at_loss = match self.form {
                Bbr3Form::Draft => inflight_at_loss(in_flight, lost_since, real(lost.bytes)),
                Bbr3Form::Linux if lost.by_probe => in_flight,
                Bbr3Form::Linux => segments_at_loss(in_flight, lost_since, real(lost.bytes), self.rules.segment),
            };
            if self.state == State::Up {
                self.saved.state = Some(State::Up);
            }
            self.handle_too_high(flight_at_loss, lost.application_limited, lost.now);
        }
    }

    /// A mark, once per window. No repair follows that could prove to be a mistake, so nothing is saved.
    pub(super) fn take_mark(&mut self, e: &CongestionEvent) {
        self.note_loss();
        if self.state == State::Startup {
            self.mark_in_startup();
        } else if self.cycle.is_probe {
            self.handle_too_high(e.in_flight as f64, false, e.now);
        }
    }

    /// HandleInflightTooHigh.
    pub(super) fn handle_too_high(&mut self, in_flight: f64, limited: bool, now: Time) {
        self.cycle.too_high = true;
        self.cycle.is_probe = false;
        if !limited {
            self.bounds.inflight_longterm = in_flight.max(self.form.numbers().keep * self.target());
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }
}

/// InflightAtLoss: the amount in flight at which losses passed the threshold, within the lost segment.
pub(super) fn inflight_at_loss(in_flight: f64, lost: f64, size: f64) -> f64 {
    let (before, lost_before) = (in_flight - size, lost - size);
    let threshold = Bbr3Form::Draft.numbers().loss_threshold;
    let prefix = (threshold * before - lost_before) / (1.0 - threshold);
    before + prefix.max(0.0)
}
