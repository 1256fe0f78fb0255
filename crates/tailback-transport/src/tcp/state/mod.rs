//! The transmission control block (RFC 9293 section 3.3.1): the state of every sender, for any recovery algorithm.
//!
//! Loss recovery reads it with simple functions and changes it with named steps ([`ControlBlock::reduce`],
//! [`ControlBlock::restart_timer`], [`ControlBlock::go_back`], ...). Each step is one line of an RFC's table of
//! reactions. Nothing here decides that a segment was lost. The parts are private to this folder:
//!
//! * `sequence`: the data sent, acknowledged and still to be repeated;
//! * `window`: how much may be outstanding;
//! * `timers`, [`rto`]: the retransmission timer and the round trip;
//! * `counts`: the other end's counts of marks (RFC 9768);
//! * `reduce`, `ecn`: the reductions of the window, at most one per window;
//! * `spread`: reductions spread over a round trip; `undo`: undone reductions;
//! * `offload`: segments that leave in trains; `pacing`: allowances of a pacer; `usage`: whether the window was full;
//! * `host`: data in the sender's host;
//! * `control`: a change of the congestion control; `told`: its events other than ACKs.

mod control;
mod counts;
mod ecn;
mod full;
mod host;
mod measured;
mod offload;
mod pacing;
mod reduce;
pub mod rto;
mod sequence;
mod spread;
mod timers;
mod told;
mod undo;
mod usage;
mod window;
mod write;

pub use sequence::{FIRST, Piece, real};
pub use undo::Evidence;

use super::accurate::Delivered;
use super::config::{Config, IdleForgets};
use super::congestion::{AckEvent, CongestionControl, ControlForm, Phase, RateSample, Reset};
use super::recovery::prr::Prr;
use super::recovery::sent::SentList;
use super::recovery::undo::Undo;
use crate::endpoint::SenderReport;
use crate::limit::Limit;
use crate::segment::Segment;
use ecn::{Cut, EcnState};
use host::Host;
use offload::Trains;
use sequence::{NONE, Sequence};
use std::sync::Arc;
use tailback_base::{Duration, Time};
use timers::Timers;
use usage::Usage;
use window::SendWindow;

/// An ACK, as the control block recorded it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub now: Time,
    /// Newly acknowledged, bytes; 0 for a duplicate.
    pub bytes: u64,
    /// Bytes outstanding before it.
    pub flight: u64,
    /// Whether the window was full before.
    pub window_limited: bool,
    /// The round trip that it measured.
    pub rtt: Option<Duration>,
    pub ecn_echo: bool,
}

/// The judgement of recovery about an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judged {
    /// The phase, which decides whether the window may grow.
    pub phase: Phase,
    /// The bytes in the network now, as recovery estimates them.
    pub pipe: u64,
}

pub struct ControlBlock {
    cfg: Arc<Config>,
    control: Box<dyn CongestionControl>,
    seq: Sequence,
    window: SendWindow,
    timers: Timers,
    ecn: EcnState,
    /// Whether recovery sends nothing.
    held: bool,
    /// Newly reported by SACK and newly judged lost while the present ACK is handled, bytes.
    newly_sacked: u64,
    newly_lost: u64,
    /// The part of `newly_lost` that a timer found before the ACK.
    lost_by_timer: u64,
    reports_open: bool,
    /// Whether the controller gets each segment that leaves.
    tells_departures: bool,
    /// Present if accurate ECN is agreed on.
    counts: Option<Box<Delivered>>,
    /// For controllers that need delivery rates.
    sent: Option<Box<SentList>>,
    /// Whether any of these is present. A plain connection has none.
    more: bool,
    /// For reductions spread over a round trip.
    prr: Option<Box<Prr>>,
    /// For reductions that may be undone.
    undo: Option<Box<Undo>>,
    /// In the form of Linux.
    usage: Option<Box<Usage>>,
    /// Present if segments leave in trains.
    offload: Option<Box<Trains>>,
    /// Present if the host limits or paces data.
    host: Option<Box<Host>>,
    /// RFC 7323: the value to echo back.
    ts_echo: Time,
    report: SenderReport,
}

impl ControlBlock {
    /// A new connection with this controller.
    pub fn new(cfg: Arc<Config>, control: Box<dyn CongestionControl>) -> ControlBlock {
        let start = if cfg.syn { 0 } else { FIRST };
        let mut block = ControlBlock {
            seq: Sequence::new(start, cfg.payload),
            window: SendWindow::new(cfg.window.cap.min(cfg.rwnd), &*control),
            timers: Timers::new(&cfg),
            ecn: EcnState::new(cfg.controller.facts.codepoint, cfg.ect_on_retransmissions),
            counts: None,
            held: false,
            newly_sacked: 0,
            newly_lost: 0,
            lost_by_timer: 0,
            reports_open: false,
            tells_departures: false,
            sent: cfg.kept().map(|keep| Box::new(Self::records_keeping(&cfg, keep))),
            more: false,
            prr: None,
            undo: None,
            usage: (cfg.window.form == ControlForm::Linux).then(Box::default),
            offload: cfg.offload.map(|most| Box::new(Trains::new(most))),
            host: Host::of(cfg.host),
            ts_echo: Time::ZERO,
            report: SenderReport::default(),
            control,
            cfg,
        };
        block.spread_reductions();
        block.keep_doubts();
        if !block.cfg.syn {
            // Without a SYN both ends have agreed beforehand.
            block.agree(block.cfg.able(), false);
        }
        block.look_whether_more();
        block
    }

    fn look_whether_more(&mut self) {
        self.tells_departures = self.cfg.asked.departures;
        let records = self.sent.is_some() || self.usage.is_some() || self.tells_departures;
        let records = records || self.counts.is_some();
        let records = records || self.host.is_some();
        self.more = records || self.prr.is_some() || self.undo.is_some() || self.offload.is_some();
    }

    // ---- questions

    #[inline]
    pub fn cfg(&self) -> &Config {
        &self.cfg
    }

    pub fn control(&self) -> &dyn CongestionControl {
        &*self.control
    }

    /// The lowest unacknowledged unit.
    #[inline]
    pub fn una(&self) -> u64 {
        self.seq.una
    }

    /// The next unit to send.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.seq.nxt
    }

    /// One past the highest unit ever sent.
    #[inline]
    pub fn max_sent(&self) -> u64 {
        self.seq.max_sent
    }

    /// One past the last byte the application wrote; `u64::MAX` if endless.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq.end
    }

    /// The end of the data outstanding at the last timeout or fast retransmit.
    #[inline]
    pub fn recover(&self) -> u64 {
        self.seq.recover
    }

    /// Bytes sent and not acknowledged, except those to be sent again after a timeout.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.seq.flight()
    }

    /// Sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.seq.max_sent - self.seq.una
    }

    /// The segment at `seq`, shorter at the end of the data. A repeat ends where the data sent before ended.
    #[inline]
    pub fn piece(&self, seq: u64) -> Option<Piece> {
        self.seq.piece(seq)
    }

    /// The controller's window, bytes.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Duplicate ACKs in a row.
    #[inline]
    pub fn duplicates(&self) -> u32 {
        self.window.duplicates
    }

    /// Whether the sender is in slow start after a timeout. Fast recovery is known only to recovery.
    #[inline]
    pub fn phase(&self) -> Phase {
        if self.seq.after_timeout {
            Phase::Loss
        } else {
            Phase::Open
        }
    }

    #[inline]
    pub fn rto(&self) -> &rto::Rto {
        &self.timers.rto
    }

    /// The least round trip so far, including the handshake's.
    pub fn least_rtt(&self) -> Option<Duration> {
        (self.report.rtt_samples > 0).then(|| Duration::from_seconds(self.report.rtt.least))
    }

    pub fn report(&mut self) -> &mut SenderReport {
        &mut self.report
    }

    pub fn report_so_far(&self) -> SenderReport {
        SenderReport {
            ecn_reductions: self.report.ecn_reductions + self.control.own_reductions(),
            ..self.report
        }
    }

    // ---- the window

    /// For a new event, read window and pace from the controller, and allow at most `burst` segments.
    #[inline(always)]
    pub fn allow(&mut self, mut burst: u32) {
        self.window.refresh(&*self.control);
        if self.more {
            self.pace_by_window();
            self.allow_spread();
            burst = self.whole_trains(burst);
        }
        self.window.burst = burst;
    }

    /// Whether the cap or the advertised window, not the congestion window, limits the sender.
    #[inline]
    pub fn is_capped(&self) -> bool {
        self.window.capped
    }

    /// Pacing rate, bytes per second; infinite if the sender sends as soon as the window allows.
    #[inline]
    pub fn pace(&self) -> f64 {
        self.window.pace
    }

    /// RFC 6675 section 5, step C: "If cwnd - pipe >= 1 SMSS"; while a reduction is spread, with the window that the
    /// last ACK left.
    #[inline]
    pub fn has_room(&self, pipe: u64) -> bool {
        match &self.prr {
            Some(p) if p.is_active() => p.window() >= pipe + u64::from(self.cfg.payload),
            _ => self.window.cwnd - real(pipe) >= self.cfg.segment(),
        }
    }

    /// An ACK is due. If recovery has a segment, it leaves with the ACK.
    pub fn force_next(&mut self) {
        self.window.forced = true;
    }

    #[inline]
    pub fn take_forced(&mut self) -> bool {
        std::mem::take(&mut self.window.forced)
    }

    /// Count one more of the segments that may follow this event, if any is left.
    #[inline]
    pub fn spend_burst(&mut self) {
        self.window.burst -= 1;
    }

    #[inline]
    pub fn burst_is_spent(&self) -> bool {
        self.window.burst == 0
    }

    /// The first outstanding segment, if it is to be sent independent of the window.
    #[inline]
    pub fn take_resend(&mut self) -> Option<Piece> {
        if self.seq.resend == NONE {
            return None;
        }
        let seq = std::mem::replace(&mut self.seq.resend, NONE);
        self.seq.piece(seq)
    }

    /// Whether a segment is to be sent independent of the window.
    pub fn resend_is_due(&self) -> bool {
        self.seq.resend != NONE
    }

    /// The next new segment (after a timeout: the next to be repeated), if cap and advertised window allow it.
    #[inline]
    pub fn next_within_limit(&self) -> Option<Piece> {
        self.piece(self.seq.nxt).filter(|p| self.is_within_limit(p))
    }

    #[inline]
    pub fn is_within_limit(&self, p: &Piece) -> bool {
        real(p.seq + u64::from(p.len) - self.seq.una) <= self.window.limit
    }

    /// The first segment of the units `[from, to)`.
    #[inline]
    pub fn between(&self, from: u64, to: u64) -> Piece {
        self.seq.between(from, to)
    }

    /// The next segment in order, if the window allows it. This is the send rule of senders without a scoreboard.
    #[inline(always)]
    pub fn next_in_order(&mut self) -> Option<Piece> {
        if let Some(piece) = self.take_resend() {
            return Some(piece);
        }
        let piece = self.piece(self.seq.nxt)?;
        let flight_after = self.flight() + u64::from(piece.len);
        if self.window.credit {
            self.window.credit = false;
            // RFC 3042 section 2: "previously unsent data"; ns-2 also continues to repeat.
            let unsent = self.seq.nxt == self.seq.max_sent || self.cfg.limited_transmit_per_duplicate;
            if unsent && self.may_go_beyond(real(flight_after)) {
                self.window.beyond += u64::from(piece.len);
                return Some(piece);
            }
        }
        if flight_after > self.window.allowed || self.window.burst == 0 {
            return None;
        }
        self.window.burst -= 1;
        Some(piece)
    }

    /// RFC 3042 section 2: "The amount of outstanding data would remain less than or equal to the congestion window
    /// plus 2 segments", and the advertised window allows it.
    fn may_go_beyond(&self, after: f64) -> bool {
        let segments = if self.cfg.limited_transmit_per_duplicate {
            f64::from(self.window.duplicates)
        } else {
            2.0
        };
        after <= self.window.cwnd + segments * self.cfg.segment() && after <= self.window.limit
    }

    /// Reported data need not be sent again, so continue at `to`.
    pub fn skip_to(&mut self, to: u64) {
        self.seq.nxt = to;
    }

    // ---- acknowledgements

    /// Move to the acknowledgement `ack` of new data: round trip, backoff, sequence space. The caller handles the
    /// timer.
    #[inline(always)]
    ///
    /// If `sampled` is false, there is no round-trip sample, and the segment being timed stays the same.
    pub fn advance(&mut self, ack: u64, echoed: Option<Time>, sampled: bool, ecn_echo: bool, now: Time) -> Ack {
        let flight = self.flight();
        let window_limited = self.is_window_limited(flight);
        let bytes = self.seq.advance(ack);
        let rtt = if !sampled {
            None
        } else if let Some(sent) = self.measured() {
            Some(self.sample(sent, now, 1, ecn_echo))
        } else if let Some(sent) = echoed {
            // RFC 7323 appendix G: "ExpectedSamples = ceiling (FlightSize / (SMSS * 2))".
            let expected = flight.div_ceil(2 * u64::from(self.cfg.payload)) as u32;
            Some(self.sample(sent, now, expected, ecn_echo))
        } else if ack >= self.timers.timed_end && (ack == FIRST || !self.measures_each()) {
            self.timers.stop_timing();
            Some(self.sample(self.timers.timed_at, now, 1, ecn_echo))
        } else {
            None
        };
        if self.cfg.ack_ends_backoff && !(self.ecn.at_one && ecn_echo) {
            self.timers.rto.end_backoff();
        }
        self.ecn.at_one &= ecn_echo;
        Ack {
            now,
            bytes,
            flight,
            window_limited,
            rtt,
            ecn_echo,
        }
    }

    /// An ACK that acknowledges nothing new.
    #[inline]
    pub fn repeated(&mut self, ecn_echo: bool, now: Time) -> Ack {
        let flight = self.flight();
        let rtt = self.measured().map(|sent| self.sample(sent, now, 1, ecn_echo));
        Ack {
            now,
            bytes: 0,
            flight,
            window_limited: self.is_window_limited(flight),
            rtt,
            ecn_echo,
        }
    }

    #[inline]
    fn sample(&mut self, sent: Time, now: Time, expected: u32, ecn_echo: bool) -> Duration {
        let round = (self.seq.una, self.seq.nxt);
        self.timers.rto.sample(sent, now, expected, round, &self.cfg);
        if !(self.ecn.at_one && ecn_echo) {
            self.timers.rto.end_backoff();
        }
        let (r, round_trip) = (&mut self.report, now.since(sent));
        let rtt = round_trip.seconds();
        r.rtt.note(rtt);
        r.rtt_samples += 1;
        r.rtt_sum += rtt;
        round_trip
    }

    /// Update the records of sent segments by an ACK. The pacer allows the next segment at `next`.
    #[inline]
    pub fn delivered(&mut self, s: &Segment, now: Time, next: Time) -> Option<RateSample> {
        let list = self.sent.as_mut()?;
        list.set_echo(s.timestamps.map(|t| t.1));
        let sample = list.acked(s.ack, &s.sack, now)?;
        Some(RateSample {
            until_next: next.since(now),
            ..sample
        })
    }

    /// Reported data may also open the window.
    #[inline]
    pub fn let_reports_open(&mut self, so: bool) {
        self.reports_open = so;
    }

    /// Pass the judged ACK to the controller, as its one event per ACK.
    #[inline(always)]
    pub fn tell_controller(&mut self, a: &Ack, judged: Judged, limit: Limit, rate: Option<&RateSample>) {
        self.tell_losses(a.now);
        let counted = match (self.more, rate) {
            (true, None) => self.sent.as_ref().and_then(|list| list.counted_sample()),
            _ => None,
        };
        let rate = rate.or(counted.as_ref());
        let (marked, marked_packets) = if a.ecn_echo { self.marked(a.bytes) } else { (0, 0) };
        let with_marks = if marked > 0 {
            self.with_marks(rate, marked)
        } else {
            None
        };
        let rate = with_marks.as_ref().or(rate);
        self.control.on_ack(&AckEvent {
            now: a.now,
            acked: a.bytes,
            sacked: std::mem::take(&mut self.newly_sacked),
            lost: std::mem::take(&mut self.newly_lost),
            lost_by_timer: std::mem::take(&mut self.lost_by_timer),
            flight: a.flight,
            pipe: judged.pipe,
            rtt: a.rtt,
            srtt: self.timers.rto.srtt(),
            ecn_echo: a.ecn_echo,
            marked,
            marked_packets,
            phase: judged.phase,
            window_limited: a.window_limited,
            reports_open: self.reports_open,
            limit,
            una: self.seq.una,
            nxt: self.seq.nxt,
            rate,
        });
        if self.seq.una >= self.seq.recover {
            self.seq.after_timeout = false;
        }
    }

    // ---- records of what was sent, for connections that keep them

    /// Whether the connection keeps more state than a plain one, such as records, or the state of a spread reduction or
    /// an undo.
    #[inline]
    pub fn keeps_more(&self) -> bool {
        self.more
    }

    pub fn records(&mut self) -> Option<&mut SentList> {
        self.sent.as_deref_mut()
    }

    /// This many more bytes are judged lost. The records already include them.
    pub fn count_lost(&mut self, bytes: u64) {
        self.newly_lost += bytes;
    }

    /// When the last segment was sent.
    pub fn last_sent(&self) -> Time {
        self.timers.last_sent
    }

    /// This many bytes of new data are sent because of a report, before anything is judged lost.
    pub fn count_beyond(&mut self, bytes: u32) {
        self.window.beyond += u64::from(bytes);
    }

    // ---- steps of recovery

    /// Count one more duplicate. Returns the number in a row.
    #[inline]
    pub fn count_duplicate(&mut self) -> u32 {
        self.window.duplicates += 1;
        self.window.duplicates
    }

    /// Restart the count of duplicates.
    #[inline]
    pub fn forget_duplicates(&mut self) {
        self.window.forget_duplicates();
    }

    /// A duplicate before the threshold. Limited transmit (RFC 3042) allows one new segment.
    pub fn limited_transmit(&mut self) {
        self.window.credit = self.cfg.limited_transmit;
    }

    /// This many segments have left the network, so the same number more may be outstanding.
    pub fn inflate(&mut self, segments: u32) {
        self.window.inflation += i64::from(segments) * i64::from(self.cfg.payload);
    }

    /// RFC 6582 section 3.2 step 3: "Deflate the congestion window by the amount of new data acknowledged by the
    /// Cumulative Acknowledgment field. If the partial ACK acknowledges at least one SMSS of new data, then add back
    /// SMSS bytes to the congestion window." The inflation becomes negative if the ACK stands for more segments than
    /// the duplicates did. In ns-2 the excess reduces the window permanently, and its two-way agents leave the window
    /// without any inflation.
    pub fn deflate(&mut self, acked: u64) {
        if self.cfg.inflates_window {
            self.window.inflation = 0;
            self.end_recovery(false);
            return;
        }
        let (segment, acked) = (i64::from(self.cfg.payload), acked as i64);
        let given_back = if acked >= segment { segment } else { 0 };
        let inflation_left = self.window.inflation - acked + given_back;
        if self.cfg.excess_from_window && self.window.inflation <= acked {
            let bytes = (self.window.inflation - acked) as f64;
            self.window.inflation = segment;
            self.reset(Reset::Shift { bytes });
        } else {
            self.window.inflation = inflation_left;
            // ns-2 leaves at least one segment here, although echoes may have left less.
            if self.cfg.excess_from_window && self.window.cwnd < self.cfg.segment() {
                self.reset(Reset::Shift { bytes: 0.0 });
            }
        }
    }

    /// Outside of recovery, duplicates have inflated the window itself. It keeps this size, at most the threshold.
    pub fn keep_inflation(&mut self) {
        if self.window.inflation > 0 {
            let room = (self.control.ssthresh() - self.window.cwnd).max(0.0);
            let bytes = (self.window.inflation as f64).min(room);
            self.window.inflation = 0;
            self.reset(Reset::Shift { bytes });
        }
    }

    /// Remove the inflation, so that only the controller determines the window.
    #[inline]
    pub fn end_inflation(&mut self) {
        self.window.inflation = 0;
    }

    /// SACK blocks reported this many new bytes.
    #[inline]
    pub fn note_sacked(&mut self, bytes: u64) {
        self.newly_sacked += bytes;
    }

    /// This many more bytes are judged lost, all of them below `edge`.
    pub fn note_lost(&mut self, bytes: u64, edge: u64) {
        self.newly_lost += bytes;
        if let Some(list) = &mut self.sent {
            list.lose_below(edge);
        }
    }

    /// The present episode covers everything outstanding now.
    pub fn remember_recover(&mut self) {
        self.seq.recover = self.seq.max_sent;
    }

    /// From now on, outstanding data does not prevent another episode.
    pub fn forget_recover(&mut self) {
        self.seq.recover = 0;
    }

    /// Everything outstanding is to be sent again, in order.
    pub fn go_back(&mut self) {
        self.seq.nxt = self.seq.una;
        self.seq.resend = NONE;
    }

    /// The segment at `una` is sent next.
    pub fn resend_first(&mut self) {
        self.seq.resend = self.seq.una;
    }

    /// The segment at `una` is lost.
    pub fn lose_first(&mut self) {
        if let Some(p) = self.piece(self.seq.una) {
            self.note_lost(u64::from(p.len), p.end());
        }
    }

    // ---- timers

    pub fn restart_timer(&mut self, now: Time) {
        self.timers.restart(&self.cfg, now);
    }

    /// RFC 6298 rules 5.2 and 5.3: the timer is off when all is acknowledged, and otherwise an ACK of new data restarts
    /// it.
    #[inline]
    pub fn timer_after_ack(&mut self, now: Time) {
        if self.seq.una < self.seq.max_sent {
            self.restart_timer(now);
        } else if self.window.cwnd < self.cfg.segment() || self.rests_by_timer() {
            // Only the timer opens a window that is smaller than a segment.
            self.restart_timer(now);
        } else if !self.ecn.held {
            self.timers.deadline = Time::NEVER;
        }
    }

    /// The timer expired with nothing outstanding. If an echo left the window below one segment, it becomes one
    /// segment again. The same happens to any window if this timer measures idle periods.
    pub fn expired_at_rest(&mut self) {
        if self.window.cwnd < self.cfg.segment() || self.rests_by_timer() {
            self.collapse();
            self.ecn.last_cut = Cut::Timeout;
            self.remember_recover();
        }
        self.stop_timer();
    }

    fn rests_by_timer(&self) -> bool {
        self.cfg.idle_forgets == IdleForgets::Timer && self.cfg.idle_restart
    }

    /// Whether duplicates count although nothing is outstanding because the window is smaller than the next segment
    /// (RFC 5681 section 2 requires outstanding data).
    pub fn counts_duplicates_at_rest(&self) -> bool {
        self.cfg.limited_transmit && self.cfg.limited_transmit_per_duplicate && !self.cfg.two_way
    }

    pub fn stop_timer(&mut self) {
        self.timers.deadline = Time::NEVER;
    }

    pub fn end_backoff(&mut self) {
        self.timers.rto.end_backoff();
    }

    /// When the retransmission timer expires; [`Time::NEVER`] if it is off.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.timers.deadline
    }

    /// Whether recovery sends nothing, because an echo arrived at a window of one segment (see
    /// [`ControlBlock::on_echo`]) or because a timeout is being tested.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held
    }

    pub fn release(&mut self) {
        self.ecn.held = false;
        self.look_whether_held();
    }

    pub(super) fn look_whether_held(&mut self) {
        self.held = self.ecn.held || self.is_testing();
    }

    /// Set the phase of this sender's clock ticks.
    pub fn set_clock_phase(&mut self, phase: Duration) {
        self.timers.rto.set_phase(phase);
    }
}
