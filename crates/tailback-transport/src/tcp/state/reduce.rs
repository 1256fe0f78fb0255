//! Reductions of the window, and the rule for two signs of congestion in the same event.

use super::ecn::Cut;
use super::{ControlBlock, FIRST};
use crate::tcp::config::{PrrBound, PrrUse};
use crate::tcp::congestion::{AfterTimeout, Congestion, CongestionEvent, EchoRule, Reset};
use tailback_base::{Request, Time};

impl ControlBlock {
    pub(super) fn congested(&mut self, what: Congestion, flight: u64, now: Time) {
        let in_flight = self.sent.as_ref().map_or(flight, |list| list.in_flight());
        self.signal(what, flight, in_flight, now);
    }

    /// Pass on a sign of congestion, with the amount that is left in the network.
    fn signal(&mut self, what: Congestion, flight: u64, in_flight: u64, now: Time) {
        self.tell_losses(now);
        self.control.on_congestion(&CongestionEvent {
            now,
            flight,
            in_flight,
            what,
        });
        self.window.refresh(&*self.control);
    }

    /// RFC 5681 section 3.2: "the additional data sent in limited transmit MUST NOT be included". Data that a timeout
    /// has declared lost and that were not sent again are not in flight either.
    fn flight_at_loss(&self) -> u64 {
        self.flight().saturating_sub(self.window.beyond)
    }

    /// A reduction covers everything outstanding. The next new segment may announce the reduction (CWR).
    fn reduced(&mut self, for_echo: bool) {
        self.ecn.recover = self.seq.max_sent;
        // RFC 9768 section 3.2.2: with accurate ECN the CWR flag is part of a number.
        self.ecn.cwr_pending |= (for_echo || self.cfg.cwr_after_any_reduction) && self.counts.is_none();
    }

    /// RFC 6582 section 3.2 step 2: "the Cumulative Acknowledgment field covers more than recover".
    fn is_beyond_recover(&self) -> bool {
        self.seq.una > self.seq.recover || (self.cfg.first_segment_exempt && self.seq.una == FIRST)
    }

    /// Whether enough duplicates start a fast retransmit now. After a cut for an echo ns-2 repairs without a further
    /// reduction.
    pub fn may_retransmit_fast(&self) -> bool {
        self.is_beyond_recover() || self.was_cut_for_echo()
    }

    fn was_cut_for_echo(&self) -> bool {
        self.cfg.echo_by_last_cut && self.ecn.last_cut == Cut::Echo
    }

    /// Whether a partial ACK leads to a repair. It does only if the last cut was for the duplicates that began this
    /// recovery.
    pub fn repairs_on(&self) -> bool {
        !self.cfg.echo_by_last_cut || self.cfg.inflates_window || self.ecn.last_cut == Cut::Duplicates
    }

    /// Reduce the window once for a loss, unless an echo of the same window was already answered (RFC 3168 section
    /// 6.1.2). Returns whether an episode begins, so that `recover` must be set.
    pub fn reduce(&mut self, now: Time) -> bool {
        self.report.fast_retransmits += 1;
        let by_last_cut = self.cfg.echo_by_last_cut;
        let reduces = if by_last_cut {
            self.is_beyond_recover()
        } else {
            self.seq.una >= self.ecn.reduced
        };
        if reduces {
            let window = self.window.cwnd;
            self.congested(Congestion::Loss, self.flight_at_loss(), now);
            self.reduced(false);
            self.begin_spreading(window);
            self.doubt(false);
        } else if self.is_spreading() {
            // The reduction for the echo continues until everything outstanding now is acknowledged.
            self.begin_spreading(self.window.cwnd);
        }
        self.ecn.last_cut = Cut::Duplicates;
        self.timers.stop_timing();
        reduces || !by_last_cut
    }

    /// An ACK up to `ack` echoes congestion. A controller that sees each mark reacts by itself.
    pub fn on_echo(&mut self, ack: u64, in_recovery: bool, now: Time) {
        if self.cfg.controller.facts.echo == EchoRule::EveryAck {
            return;
        }
        if self.cfg.echo_by_last_cut {
            self.on_echo_by_last_cut(ack, now);
            return;
        }
        if in_recovery || ack <= self.ecn.recover {
            return;
        }
        if self.control.cwnd() <= self.cfg.segment() {
            // RFC 3168 section 6.1.2: "the sending TCP MUST reset the retransmit timer on receiving the ECN-Echo packet
            // when the congestion window is one [and] will then be able to send a new packet only when the retransmit
            // timer expires".
            self.ecn.held = true;
            self.look_whether_held();
            self.restart_timer(now);
        }
        let window = self.window.cwnd;
        self.congested(Congestion::Ecn, self.flight(), now);
        self.reduced(true);
        if self.cfg.repair.prr == PrrUse::LossesAndEchoes && !self.ecn.held {
            self.begin_spreading(window);
        }
        self.ecn.reduced = self.seq.max_sent;
        self.seq.resent = 0;
        self.report.ecn_reductions += 1;
    }

    /// ns-2's rule: an echo counts if it is beyond `recover`, and always after a timeout. Losses also set `recover`.
    fn on_echo_by_last_cut(&mut self, ack: u64, now: Time) {
        if ack <= self.seq.recover.max(FIRST) && self.ecn.last_cut != Cut::Timeout {
            return;
        }
        self.remember_recover();
        self.ecn.last_cut = Cut::Echo;
        let at_one = self.control.cwnd() <= self.cfg.segment();
        if at_one && self.ecn.at_one {
            self.timers.rto.back_off(&self.cfg);
        }
        self.ecn.at_one = at_one;
        self.take_inflation_into_window();
        self.congested(Congestion::Ecn, self.flight(), now);
        self.reduced(true);
        self.report.ecn_reductions += 1;
    }

    /// A router requests a lower rate. Outside fast recovery the request counts once per window, together with losses
    /// and echoes.
    pub fn on_request(&mut self, r: Request, now: Time) {
        if let Request::SlowDown { level, of } = r
            && self.seq.una > self.ecn.recover
        {
            let keep = 1.0 - 0.5 * f64::from(level.saturating_add(1).min(of)) / f64::from(of.max(1));
            self.congested(Congestion::Request { level, keep }, self.flight(), now);
            self.reduced(false);
        }
    }

    /// Tahoe: the repair starts with one segment, independent of the reduction.
    pub fn collapse(&mut self) {
        self.reset(Reset::OneSegment);
        self.reduced(false);
    }

    /// Fast recovery is over. With `to_flight`, and after rate-halving, the outstanding bytes limit the window.
    pub fn end_recovery(&mut self, to_flight: bool) {
        // RFC 6582 section 3.2 step 3, option 1: "min (ssthresh, max(FlightSize, SMSS) + SMSS)".
        self.end_spreading();
        let segment = self.cfg.segment();
        let halves = self.prr.is_some() && self.cfg.repair.prr_bound == PrrBound::RateHalving;
        let at_most = (to_flight || halves).then(|| (self.flight() as f64).max(segment) + segment);
        // The window becomes the threshold, without the fraction that it had.
        let at_most = at_most.or(self.cfg.inflates_window.then_some(f64::INFINITY));
        self.reset(Reset::RecoveryEnd { at_most });
    }

    pub(super) fn reset(&mut self, why: Reset) {
        self.control.window_reset(why);
        self.window.refresh(&*self.control);
    }

    /// Whether this timeout leaves the threshold unchanged: either the segment timed out before (RFC 5681 section 3.1),
    /// or the window was already reduced for an echo in the same window and the segment was not sent since. By RFC 3168
    /// section 6.1.2 a lost retransmission is a new sign of congestion.
    fn keeps_threshold(&self) -> bool {
        let una = self.seq.una;
        if self.seq.timed_out == una && !self.cfg.repeated_timeout_lowers {
            return true;
        }
        if self.cfg.echo_by_last_cut {
            self.ecn.last_cut == Cut::Echo
        } else {
            una < self.ecn.reduced && una >= self.seq.resent
        }
    }

    /// A probe has repaired a loss in a window of `flight` bytes. This causes one reduction, without recovery.
    pub fn reduce_without_recovery(&mut self, flight: u64, now: Time) {
        if self.seq.una >= self.ecn.reduced {
            self.tell_of_tail(flight, now);
            self.congested(Congestion::Loss, flight, now);
            self.reduced(false);
            self.end_recovery(false);
        }
    }

    /// The part of an expiry of the retransmission timer that does not depend on recovery. `pipe` is the amount in the
    /// network, as recovery estimates it.
    pub fn timed_out(&mut self, pipe: u64, now: Time) {
        // After going back to the first segment, nothing counts as in the network.
        let window_left = match self.cfg.window.after_timeout {
            AfterTimeout::Halve => pipe,
            AfterTimeout::SlowStart => 0,
        };
        self.expired(pipe, window_left, false, now);
        match self.cfg.window.after_timeout {
            AfterTimeout::Halve => self.resend_first(),
            AfterTimeout::SlowStart => {
                if let Some(list) = &mut self.sent {
                    list.lose_below(self.seq.max_sent);
                }
                self.go_back();
            }
        }
    }

    /// The same as [`Self::timed_out`], but the records decide which segments are lost and sent again. If the timeout
    /// continues a repair that was in progress, it is not a further sign of congestion.
    pub fn timed_out_with_records(&mut self, pipe: u64, goes_on: bool, now: Time) {
        let in_flight = self.sent.as_ref().map_or(0, |list| list.in_flight());
        self.expired(pipe, in_flight, goes_on, now);
        if self.cfg.timeout_keeps_pipe {
            let bytes = in_flight as f64;
            self.reset(Reset::Shift { bytes });
        }
    }

    /// The next reduction starts from the window as recovery has inflated it.
    fn take_inflation_into_window(&mut self) {
        if self.window.inflation != 0 {
            let bytes = self.window.inflation as f64;
            self.reset(Reset::Shift { bytes });
        }
    }

    fn expired(&mut self, pipe: u64, left: u64, goes_on: bool, now: Time) {
        self.report.timeouts += 1;
        if self.cfg.inflates_window {
            self.take_inflation_into_window();
        }
        self.end_spreading();
        let is_repeat = goes_on || self.keeps_threshold();
        self.seq.timed_out = self.seq.una;
        let flight = self.flight_at_loss().min(pipe);
        if is_repeat {
            self.doubt_goes_on();
        } else {
            self.doubt(true);
        }
        self.signal(Congestion::Timeout { again: is_repeat }, flight, left, now);
        self.reduced(false);
        self.ecn.last_cut = Cut::Timeout;
        self.remember_recover();
        self.seq.after_timeout = true;
        self.window.inflation = 0;
        self.window.end_credit();
        self.timers.stop_timing();
        self.timers.rto.back_off(&self.cfg);
        self.restart_timer(now);
    }
}
