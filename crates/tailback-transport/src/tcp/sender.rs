//! The sending end. It opens the connection, sends what window and recovery allow, and reports to the application. Its
//! states are drawn in `handshake`.
//!
//! The sender has three parts: `ControlBlock` (sequence space, timer, ECN, window), `Recovery` (which data are lost,
//! and which are sent next) and, inside the block, the congestion controller (how much may be outstanding). This file
//! has the connection and the [`Endpoint`] contract. A data segment with its ACK costs a few hundred instructions.
//! Nothing is allocated while nothing is lost.
//!
//! The limit of the sender (network, window cap, application) is recorded when it changes, at the end of a burst.

mod prediction;

use super::change::ControlChange;
use super::config::{Config, RackForm};
use super::congestion::{CongestionControl, Controller, Phase};
use super::handshake::{self, Agreed, Connecting};
use super::probes::PROBES;
use super::recovery::undo::Proof;
use super::recovery::{Duplicate, LossRecovery, Recovery};
use super::state::{ControlBlock, Evidence, FIRST};
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Progress, SenderReport, Transmit, Wake};
use crate::limit::{Limit, LimitClock};
use crate::segment::{Flags, Plain, Segment};
use std::sync::Arc;
use tailback_base::{Dscp, Duration, ProbeDef, Request, Stream, Time};

/// The sending end of a one-way connection.
pub struct Sender {
    block: ControlBlock,
    recovery: Recovery,
    state: Connecting,
    limit: LimitClock,
    /// When to report events to the application although no segment arrives; [`Time::NEVER`] without such events.
    wake: Time,
    connected_told: bool,
    /// The end of the data reported as acknowledged; `u64::MAX`, which no number reaches, before the first report.
    told: u64,
    closing: bool,
    /// When the pacer allows the next segment.
    pace_at: Time,
    /// ACKs that acknowledge data never sent, or less than before.
    ignored: u64,
    /// The first of several congestion controls, whose probes have numbers.
    first_control: Option<&'static Controller>,
}

impl Sender {
    /// A sender under this controller.
    pub fn new(cfg: Arc<Config>, control: Box<dyn CongestionControl>) -> Sender {
        Sender {
            recovery: Recovery::new(cfg.recovery),
            block: ControlBlock::new(cfg, control),
            state: Connecting::Idle,
            limit: LimitClock::new(),
            wake: Time::NEVER,
            connected_told: false,
            told: u64::MAX,
            closing: false,
            pace_at: Time::ZERO,
            ignored: 0,
            first_control: None,
        }
    }

    /// Set the phase of this sender's clock ticks, see `clock_phase`.
    pub fn set_clock_phase(&mut self, phase: Duration) {
        self.block.set_clock_phase(phase);
    }

    /// Congestion window, bytes, without fast-recovery inflation.
    pub fn cwnd(&self) -> f64 {
        self.block.control().cwnd()
    }

    /// Slow-start threshold, bytes.
    pub fn ssthresh(&self) -> f64 {
        self.block.control().ssthresh()
    }

    /// Bytes outstanding.
    pub fn outstanding(&self) -> u64 {
        self.block.outstanding()
    }

    /// The number of ACKs ignored because they acknowledge data never sent, or less than before.
    pub fn ignored_acks(&self) -> u64 {
        self.ignored
    }

    /// Whether fast recovery is in progress.
    pub fn in_recovery(&self) -> bool {
        self.recovery.in_recovery()
    }

    /// The value of the i-th probe of the first congestion control, read from the present control by its name.
    #[cold]
    fn read_by_name(&self, first: &Controller, probe: usize) -> f64 {
        let present = self.block.cfg().controller.model.probes;
        let named = |p: &ProbeDef| present.iter().position(|q| q.name == p.name);
        let i = first.model.probes.get(probe).and_then(named);
        i.map_or(f64::NAN, |i| self.block.control().read(i))
    }

    fn open(&mut self, now: Time) {
        if self.state == Connecting::Idle {
            if self.block.cfg().syn {
                self.state = Connecting::Syn { tries: 0, due: true };
            } else {
                self.state = Connecting::Open;
                self.wake = now;
            }
        }
    }

    /// Report events to the application.
    fn report_up(&mut self, now: Time, up: &mut dyn AppEvents) {
        self.wake = Time::NEVER;
        if self.state != Connecting::Open {
            return;
        }
        if !self.connected_told {
            self.connected_told = true;
            up.event(AppEvent::Connected);
        }
        if self.block.all_acknowledged() {
            let end = self.block.end();
            if self.told != end {
                self.told = end;
                self.block.note_empty(now);
                up.event(AppEvent::AllAcknowledged);
            }
            if self.closing {
                self.finish(up);
            }
        }
    }

    fn finish(&mut self, up: &mut dyn AppEvents) {
        self.state = Connecting::Closed;
        self.block.stop_timer();
        up.event(AppEvent::Closed);
    }

    /// The answer to the SYN.
    fn on_syn_ack(&mut self, s: &Segment, now: Time) {
        let Connecting::Syn { tries, .. } = self.state else {
            return;
        };
        if !s.flags.has(Flags::ACK) || s.ack != FIRST || self.block.max_sent() != FIRST {
            self.ignored += 1;
            return;
        }
        let ecn = handshake::granted(s.flags, self.block.asked_for_ecn());
        self.syn_acknowledged(s, ecn, tries, now);
    }

    fn syn_acknowledged(&mut self, s: &Segment, ecn: Agreed, tries: u32, now: Time) {
        self.block.established(s, ecn, tries.saturating_sub(1), now);
        self.state = Connecting::Open;
        // Nothing new is judged, so the controller gets no event. A window of data starts here.
        self.allow_burst();
    }

    /// Linux reads the reports of an ACK that was overtaken by another one.
    fn reads_old(&self, s: &Segment) -> bool {
        let c = &self.block;
        !s.sack.is_empty() && c.keeps_more() && c.cfg().repair.rack_form == RackForm::Linux
    }

    /// With `counts` the ACK may be a duplicate.
    fn on_ack(&mut self, s: &Segment, counts: bool, now: Time) {
        let old = s.ack < self.block.una() && self.reads_old(s) && self.block.outstanding() > 0;
        let c = &mut self.block;
        let una = c.una();
        let at_rest = s.ack == una && s.ack == c.max_sent() && !c.counts_duplicates_at_rest();
        if s.ack > c.max_sent() || (s.ack < una && !old) || at_rest {
            self.ignored += u64::from(s.ack != una);
            let read = s.ack == una || (s.ack < una && self.reads_old(s));
            if self.block.keeps_more() && s.ack == una {
                self.block.count_marks(s);
            }
            if read && self.block.keeps_more() && !s.sack.is_empty() {
                self.on_repeat(s, now);
            }
            return;
        }
        // A connection without records, spread or undone reductions skips all of them at each ACK.
        if c.keeps_more() {
            self.judge_with_records(s, counts && !old, now);
        } else {
            self.judge::<false>(s, counts, now);
        }
    }

    #[inline(never)]
    fn judge_with_records(&mut self, s: &Segment, counts: bool, now: Time) {
        self.judge::<true>(s, counts, now);
    }

    /// An ACK that may contain something new. With `MORE` the connection keeps more state than a plain one.
    #[inline(always)]
    fn judge<const MORE: bool>(&mut self, s: &Segment, counts: bool, now: Time) {
        let c = &mut self.block;
        let mut echo = c.echoes(s);
        if echo {
            c.on_echo(s.ack, self.recovery.in_recovery(), now);
        }
        let rate = if MORE { c.delivered(s, now, self.pace_at) } else { None };
        if MORE && c.counts_marks() {
            echo = c.count_new_marks(s, self.recovery.in_recovery());
            if echo {
                c.on_echo(s.ack, self.recovery.in_recovery(), now);
            }
        }
        let (ack_event, judged) = if s.ack > c.una() {
            let echoed = c.take_timestamps(s);
            let sampled = self.recovery.may_sample(c, s.ack);
            let mut a = c.advance(s.ack, echoed, sampled, echo, now);
            if MORE {
                a.window_limited |= c.holds_train();
                self.weigh(s, a.bytes, a.rtt);
            }
            let judged = self.recovery.on_ack(&mut self.block, &a, &s.sack);
            (a, judged)
        } else {
            let duplicate = Duplicate {
                now,
                sack: &s.sack,
                classic: counts && !s.occupies(),
            };
            if MORE {
                self.weigh(s, 0, None);
            }
            let c = &mut self.block;
            (c.repeated(echo, now), self.recovery.on_duplicate(c, &duplicate))
        };
        let c = &mut self.block;
        let judged = if MORE {
            c.spread(&ack_event, judged, self.recovery.sacked(c))
        } else {
            judged
        };
        if MORE {
            c.let_reports_open(self.recovery.reports_open());
        }
        c.tell_controller(&ack_event, judged, self.limit.limit(), rate.as_ref());
        if MORE {
            c.note_own_limit();
        }
        self.allow_burst();
    }

    /// Everything is acknowledged, and the ACK reports a duplicate.
    #[cold]
    fn on_repeat(&mut self, s: &Segment, now: Time) {
        self.recovery.on_repeat(&mut self.block, &s.sack, now);
        self.weigh(s, 0, None);
        self.allow_burst();
    }

    /// The proof of this ACK about the last reduction.
    #[cold]
    fn weigh(&mut self, s: &Segment, acked: u64, rtt: Option<Duration>) {
        let c = &mut self.block;
        let evidence = Evidence {
            sack: &s.sack,
            echoed: s.timestamps.map(|t| t.1),
            ecn_echo: c.echoes(s) || c.has_unheard_marks(),
            acked,
            repairing: self.recovery.in_recovery() || c.phase() == Phase::Loss,
            rtt,
        };
        match c.weigh(&evidence) {
            Proof::Nothing => {}
            Proof::Late => self.recovery.late(),
            Proof::Spurious => {
                let within = c.una() < c.recover();
                c.take_back(&evidence);
                self.recovery.undone(c, within);
            }
            Proof::Lost { slow } => {
                if slow {
                    c.slow_down();
                }
                self.recovery.all_lost(c);
            }
        }
    }

    /// The next segment that tests a timeout, while recovery sends nothing.
    #[cold]
    fn poll_held(&mut self, now: Time) -> Transmit {
        match self.block.next_of_test() {
            Some(piece) => Transmit::Segment(self.block.emit(piece, now)),
            None => Transmit::Idle,
        }
    }

    /// The next segment of an open connection.
    #[inline(always)]
    fn poll_open(&mut self, now: Time) -> Transmit {
        let c = &mut self.block;
        c.before_sending(now);
        if now < self.pace_at && !c.continues_train(now) {
            return Transmit::NotBefore(self.pace_at);
        }
        if c.keeps_more() && c.waits_for_host(now) {
            self.note_limit(now);
            return Transmit::Idle;
        }
        let Some(piece) = self.recovery.next(c) else {
            self.note_limit(now);
            return Transmit::Idle;
        };
        let s = c.emit(piece, now);
        if c.pace() < f64::INFINITY {
            let takes = Duration::from_seconds(f64::from(s.bytes) / c.pace().max(1.0));
            // In a train `pace_at` is later than `now`.
            let credit = c.pacing_credit(takes, now.since(self.pace_at));
            self.pace_at = self.pace_at.max(now) + (takes - credit);
        }
        if !self.limit.has_started() {
            self.note_limit(now);
        }
        Transmit::Segment(s)
    }

    /// A new event, after which this many segments may leave.
    #[inline(always)]
    fn allow_burst(&mut self) {
        let burst = self.recovery.burst(&self.block);
        self.block.allow(burst);
    }

    fn on_expiry(&mut self, now: Time, up: &mut dyn AppEvents) {
        match self.state {
            Connecting::Syn { tries, .. } => {
                let retries = self.block.cfg().syn_retries;
                if retries > 0 && tries > retries {
                    self.finish(up);
                    return;
                }
                self.block.syn_timed_out(now);
                self.state = Connecting::Syn { tries, due: true };
            }
            Connecting::Open => {
                self.block.release();
                if self.block.outstanding() > 0 {
                    let test = self.block.timeout_is_worth_a_test(self.recovery.is_repairing());
                    self.recovery.on_timeout(&mut self.block, now);
                    self.block.tell_losses(now);
                    if test {
                        self.block.begin_test();
                    }
                } else {
                    self.block.expired_at_rest();
                }
                self.allow_burst();
            }
            Connecting::Idle | Connecting::Closed => self.block.stop_timer(),
        }
    }

    /// Record what limits the sender when it stops sending.
    fn note_limit(&mut self, now: Time) {
        let c = &mut self.block;
        if c.keeps_more() {
            c.note_usage(c.nxt() < c.end());
        }
        let limit = if self.state != Connecting::Open {
            Limit::Network
        } else if c.nxt() >= c.end() {
            c.application_limited();
            Limit::Application
        } else if c.is_capped() {
            Limit::WindowCap
        } else {
            Limit::Network
        };
        self.limit.note(limit, now, c.report());
    }
}

/// The interface to the end of a two-way connection, which opens and closes the connection itself.
impl Sender {
    pub(super) fn add(&mut self, n: Amount) {
        match n {
            Amount::Bytes(n) => self.block.write(n),
            Amount::Unlimited => self.block.write_without_end(),
        }
    }

    /// A SYN is due, the first one or a repeat.
    pub(super) fn send_syn(&mut self) {
        let tries = match self.state {
            Connecting::Syn { tries, .. } => tries,
            _ => 0,
        };
        self.state = Connecting::Syn { tries, due: true };
    }

    /// The options in the next SYN-ACK of this end. After two with accurate ECN it has no ECN (RFC 9768 section
    /// 3.1.4.2), while the mode stays.
    pub(super) fn answers_with(&self, ecn: Agreed) -> Agreed {
        match self.state {
            Connecting::Syn { tries, .. } if tries > 2 && ecn == Agreed::Accurate => Agreed::Nothing,
            _ => ecn,
        }
    }

    /// `s` acknowledges the SYN.
    pub(super) fn open_by(&mut self, s: &Segment, ecn: Agreed, now: Time) {
        if let Connecting::Syn { tries, .. } = self.state {
            self.syn_acknowledged(s, ecn, tries, now);
        }
    }

    /// An ACK of an open connection.
    pub(super) fn take_ack(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let old = s.ack < self.block.una();
        if self.state != Connecting::Open || (old && !self.reads_old(s)) {
            return;
        }
        // A window update is not a duplicate (RFC 5681 section 2), but its reports count.
        let update = !old && self.block.advertised(s.window) && s.ack == self.block.una();
        if update && s.sack.is_empty() {
            self.block.count_marks(s);
            self.allow_burst();
        } else {
            self.on_ack(s, !update, now);
        }
        if self.block.all_acknowledged() {
            self.report_up(now, up);
        }
    }

    /// Whether everything written is acknowledged and reported. If so, data with this ACK number change nothing here,
    /// and no segment is due.
    #[inline]
    pub(super) fn rests(&self, ack: u64, now: Time) -> bool {
        let c = &self.block;
        let all_told = self.told == c.end() && self.connected_told && self.wake == Time::NEVER;
        let empty = c.una() == c.end() && c.nxt() == c.end() && c.max_sent() == c.end() && ack <= c.una();
        let noted = self.limit.limit() == Limit::Application && now >= self.pace_at;
        self.state == Connecting::Open && all_told && empty && noted && !c.is_held() && c.has_constant_window()
    }

    /// Nothing more will be written, so a FIN follows the data.
    pub(super) fn end_with_fin(&mut self) {
        if self.block.end() == u64::MAX {
            self.block.give_up_unsent();
        }
        self.block.end_with_fin();
        self.allow_burst();
    }

    /// Nothing is sent any more.
    pub(super) fn halt(&mut self) {
        self.state = Connecting::Closed;
        self.block.stop_timer();
    }

    /// Number the probes of this sender as those of `other`.
    pub(super) fn number_probes_as(&mut self, other: &Sender) {
        self.first_control = other.first_control;
    }

    pub(super) fn block(&mut self) -> &mut ControlBlock {
        &mut self.block
    }

    pub(super) fn seen(&self) -> &ControlBlock {
        &self.block
    }

    pub(super) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Nagle's rule (RFC 1122 section 4.2.3.4): a short segment waits while anything is outstanding.
    pub(super) fn nagle_holds(&self) -> bool {
        let c = &self.block;
        c.outstanding() > 0
            && c.nxt() == c.max_sent()
            && !c.resend_is_due()
            && !self.recovery.in_recovery()
            // Repairs after a timeout do not wait, and not every recovery goes back for these repairs.
            && c.phase() == Phase::Open
            && c.piece(c.nxt()).is_some_and(|p| p.len < c.cfg().payload && !p.fin)
    }
}

impl Endpoint for Sender {
    fn write(&mut self, n: Amount, now: Time) {
        if self.closing || self.state == Connecting::Closed {
            return;
        }
        self.add(n);
        if self.state == Connecting::Open {
            self.block.has_written(now);
        }
        self.open(now);
        self.allow_burst();
    }

    fn close(&mut self, now: Time) {
        self.closing = true;
        if self.block.end() == u64::MAX {
            self.block.give_up_unsent();
        }
        match self.state {
            Connecting::Idle => self.state = Connecting::Closed,
            Connecting::Open if self.block.all_acknowledged() => self.wake = now,
            _ => {}
        }
    }

    fn abort(&mut self, now: Time) {
        self.block.give_up_unsent();
        self.close(now);
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        match self.state {
            Connecting::Idle | Connecting::Closed => return,
            Connecting::Syn { .. } => {
                if s.flags.has(Flags::SYN) {
                    self.on_syn_ack(s, now);
                }
            }
            Connecting::Open => {
                // A second SYN-ACK answers a repeated SYN and contains nothing new.
                if s.flags.has(Flags::ACK) && !s.flags.has(Flags::SYN) {
                    self.on_ack(s, true, now);
                }
            }
        }
        if self.block.all_acknowledged() || !self.connected_told {
            self.report_up(now, up);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        match self.state {
            Connecting::Open => {}
            Connecting::Syn { tries, due: true } => {
                self.state = Connecting::Syn {
                    tries: tries + 1,
                    due: false,
                };
                self.note_limit(now);
                return Transmit::Segment(self.block.syn(tries, now));
            }
            _ => return Transmit::Idle,
        }
        if self.block.is_held() {
            return self.poll_held(now);
        }
        self.poll_open(now)
    }

    fn colours(&self) -> bool {
        self.block.cfg().controller.facts.colours
    }

    fn code_point(&self) -> Option<Dscp> {
        self.block.control().colour()
    }

    fn predict(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        self.predict_ack(s, now, out)
    }

    fn next_timeout(&self) -> Option<Time> {
        let mut t = self.block.deadline().min(self.wake);
        // A recovery with its own timer keeps records.
        if self.block.keeps_more() {
            t = t
                .min(self.recovery.deadline(&self.block))
                .min(self.block.host_deadline());
        }
        (t != Time::NEVER).then_some(t)
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        if now >= self.wake {
            self.report_up(now, up);
        }
        if now >= self.recovery.deadline(&self.block) {
            self.recovery.on_timer(&mut self.block, now);
            self.block.tell_losses(now);
            self.allow_burst();
        }
        if now >= self.block.deadline() {
            self.on_expiry(now, up);
        }
        self.block.stop_waiting_for_host(now);
    }

    fn limits_host(&self) -> bool {
        self.block.limits_host()
    }

    fn leaves_host(&mut self, bytes: u32, at: Time) {
        self.block.leaves_host(bytes, at);
    }

    fn on_request(&mut self, r: Request, now: Time) {
        if self.state == Connecting::Open && !self.recovery.in_recovery() {
            self.block.on_request(r, now);
            self.allow_burst();
        }
    }

    fn set_congestion(&mut self, to: &ControlChange, rng: &mut Stream, now: Time) -> bool {
        if to.is_in(self.block.cfg()) {
            return true;
        }
        self.first_control.get_or_insert(self.block.cfg().controller);
        let phase = if self.recovery.in_recovery() {
            Phase::Recovery
        } else {
            self.block.phase()
        };
        let c = &mut self.block;
        let sacked = self.recovery.sacked(c);
        let knows = (phase, &self.recovery.known(), sacked);
        c.hand_over(to.config().clone(), to.controller(rng), knows, now);
        // The pacer begins anew.
        self.pace_at = self.pace_at.min(now);
        true
    }

    fn progress(&self) -> Option<Progress> {
        Some(Progress {
            opening: match self.state {
                Connecting::Idle => self.block.cfg().syn,
                Connecting::Syn { .. } => true,
                Connecting::Open | Connecting::Closed => false,
            },
            ..self.block.progress()
        })
    }

    fn wire_bytes(&self, payload: u64) -> u64 {
        self.block.cfg().wire_bytes(payload)
    }

    fn withdraw(&mut self, bytes: u64) {
        // After a close the FIN has been sent, or will be.
        if !self.closing {
            self.block.withdraw(bytes);
        }
    }

    fn srtt(&self) -> Option<Duration> {
        self.block.rto().srtt()
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    fn report(&self, now: Time) -> SenderReport {
        self.limit.report(self.block.report_so_far(), now)
    }

    fn info(&self) -> Vec<(&'static str, u64)> {
        Sender::info(self)
    }

    /// The sender's own probes, then those of the first controller.
    fn probes(&self) -> Vec<&'static ProbeDef> {
        let of_controller = self.first_control.unwrap_or(self.block.cfg().controller).model.probes;
        PROBES.iter().chain(of_controller).collect()
    }

    fn read(&self, probe: usize) -> f64 {
        let (c, rto, cfg) = (&self.block, self.block.rto(), self.block.cfg());
        match probe {
            // While the SYN is outstanding, nothing else may be.
            0 if matches!(self.state, Connecting::Idle | Connecting::Syn { .. }) => 1.0,
            0 => self.cwnd() / cfg.segment(),
            1 => self.ssthresh() / cfg.segment(),
            2 => rto.srtt().map_or(f64::NAN, Duration::seconds),
            3 => rto.rttvar(cfg),
            4 => rto.timeout(cfg).seconds(),
            5 => f64::from(rto.backoff()),
            6 => self.outstanding() as f64,
            7 => f64::from(c.duplicates()),
            8 if self.recovery.in_recovery() => 1.0,
            8 if c.phase() == Phase::Loss => 2.0,
            8 => 0.0,
            i => match self.first_control {
                None => c.control().read(i - PROBES.len()),
                Some(first) => self.read_by_name(first, i - PROBES.len()),
            },
        }
    }

    fn is_closed(&self) -> bool {
        self.state == Connecting::Closed
    }
}

#[cfg(test)]
mod tests;
