//! What every sender has, whatever recovers its losses: the sequence space, the retransmission timer, the round trip
//! being timed, the ECN window, and the writing of segments.
//!
//! Loss recovery reads and changes these through named steps ([`ControlBlock::reduce`], [`ControlBlock::restart_timer`],
//! [`ControlBlock::go_back`], ...), each one line of an RFC's reaction table. Nothing here decides that a segment was lost.
//!
//! ```text
//!        una              nxt        max_sent            end
//!   ------|----------------|------------|-----------------|
//!   acked |  outstanding   | to repeat  |     unsent      |      nxt < max_sent only while going back after a timeout
//! ```
//!
//! Units are bytes; the SYN is unit 0 and data start at 1.

use crate::endpoint::SenderReport;
use crate::segment::{Flags, SackBlocks, Segment};
pub mod rto;

use crate::tcp::config::{Config, EcnMode};
use crate::tcp::congestion::delivery_rate::RateSampler;
use crate::tcp::congestion::{Acked, CONTROLLERS, Congested, CongestionControl};
use rto::Rto;
use std::sync::Arc;
use tailback_base::{Ecn, Time};

/// First byte of data.
pub const FIRST: u64 = 1;

/// A number of bytes as a real number. Lengths stay far below 2^63, where the signed conversion is one instruction.
#[inline]
pub fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// A segment recovery wants sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub seq: u64,
    pub len: u32,
}

/// An ACK of new data, after [`ControlBlock::advance`].
#[derive(Clone, Copy, Debug)]
pub struct NewAck {
    pub now: Time,
    /// Newly acknowledged, bytes.
    pub bytes: u64,
    /// Outstanding before, bytes.
    pub flight: u64,
    /// The window was full before.
    pub window_limited: bool,
    pub ecn_echo: bool,
}

pub struct ControlBlock {
    pub cfg: Arc<Config>,
    pub cc: Box<dyn CongestionControl>,
    pub rto: Rto,
    /// Lowest unacknowledged.
    pub una: u64,
    /// Next to send.
    pub nxt: u64,
    /// One past the highest ever sent.
    pub max_sent: u64,
    /// One past the last byte the application wrote; `u64::MAX` without end.
    pub end: u64,
    /// What was outstanding at the last timeout (and, for the careful variants, fast retransmit) ends here.
    pub recover: u64,
    /// Duplicate ACKs in a row.
    pub dup: u32,
    /// What may be outstanding, whole bytes; kept by [`ControlBlock::refresh`].
    allowed: u64,
    /// Cap or advertised window, not the congestion window, is what holds back.
    pub capped: bool,
    /// Bytes per second to pace at; infinite sends as the window allows.
    pub pace: f64,
    /// The smaller of window cap and advertised window, bytes.
    limit: f64,
    /// Fast-recovery inflation of the window, bytes; a partial ACK may take it below zero.
    pub inflation: i64,
    /// This segment goes out next, whatever the window says.
    pub resend: Option<u64>,
    /// Limited transmit may send one segment.
    pub credit: bool,
    /// Sent by limited transmit since the last new ACK, bytes.
    pub beyond: u64,
    /// Segments that may still leave in answer to this event.
    pub burst: u32,
    /// When the retransmission timer expires; [`Time::NEVER`] when it is off.
    pub deadline: Time,
    /// The end of the segment being timed and when it was sent.
    timed: Option<(u64, Time)>,
    last_sent: Time,
    /// When everything written was acknowledged; [`Time::NEVER`] while there is something to send.
    pub empty_since: Time,
    /// Until what was outstanding at a timeout is acknowledged.
    pub after_timeout: bool,
    /// The segment that timed out last.
    timed_out: u64,
    /// ECN was agreed on.
    pub ecn: bool,
    /// No echo up to here is acted on (RFC 3168: once a window).
    ecn_recover: u64,
    /// The last reduction for an echo covers losses below this.
    ecn_reduced: u64,
    cwr_pending: bool,
    /// RFC 3168 section 6.1.2: an echo at a window of one segment; nothing is sent before the timer expires.
    pub held: bool,
    /// For controllers that want delivery rates.
    pub rate: Option<Box<RateSampler>>,
    /// RFC 7323: the value to echo back.
    pub ts_echo: Time,
    pub report: SenderReport,
}

impl ControlBlock {
    pub fn new(cfg: Arc<Config>) -> ControlBlock {
        let start = if cfg.syn { 0 } else { FIRST };
        let mut block = ControlBlock {
            cc: (CONTROLLERS[cfg.congestion].build)(&cfg),
            allowed: 0,
            capped: false,
            pace: f64::INFINITY,
            limit: cfg.window_cap.min(cfg.rwnd),
            rto: Rto::new(&cfg),
            una: start,
            nxt: start,
            max_sent: start,
            end: FIRST,
            recover: 0,
            dup: 0,
            inflation: 0,
            resend: None,
            credit: false,
            beyond: 0,
            burst: u32::MAX,
            deadline: Time::NEVER,
            timed: None,
            last_sent: Time::ZERO,
            empty_since: Time::NEVER,
            after_timeout: false,
            timed_out: u64::MAX,
            ecn: !cfg.syn && cfg.ecn != EcnMode::Off,
            ecn_recover: 0,
            ecn_reduced: 0,
            cwr_pending: false,
            held: false,
            rate: None,
            ts_echo: Time::ZERO,
            report: SenderReport::default(),
            cfg,
        };
        block.rate = block.cc.wants_rate().then(Box::default);
        block.refresh();
        block
    }

    /// Another controller takes over.
    #[cfg(test)]
    pub fn adopt(&mut self, cc: Box<dyn CongestionControl>) {
        self.rate = cc.wants_rate().then(Box::default);
        self.cc = cc;
        self.refresh();
    }

    // ---- the window

    #[inline]
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Cap and advertised window, bytes.
    #[inline]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Take over what the controller says: after every event that may have moved the window, so that the send rule, which
    /// is asked more often, compares whole numbers.
    #[inline]
    pub fn refresh(&mut self) {
        let window = self.cc.cwnd() + self.inflation as f64;
        self.capped = self.limit < window;
        // The conversion saturates: infinity is the largest number.
        self.allowed = (if self.capped { self.limit } else { window }).max(0.0) as i64 as u64;
        self.pace = self.cc.pacing_rate().unwrap_or(f64::INFINITY);
    }

    /// The segment at `seq`: a full one, up to the end of the data; one sent before ends where its data ended.
    #[inline]
    pub fn piece(&self, seq: u64) -> Option<Piece> {
        let stop = if seq < self.max_sent { self.max_sent } else { self.end };
        let len = stop.saturating_sub(seq).min(u64::from(self.cfg.payload)) as u32;
        (len > 0).then_some(Piece { seq, len })
    }

    /// The next segment in order, if the window lets it go: the send rule of senders without a scoreboard.
    #[inline]
    pub fn next_in_order(&mut self) -> Option<Piece> {
        if let Some(seq) = self.resend.take()
            && let Some(piece) = self.piece(seq)
        {
            return Some(piece);
        }
        let piece = self.piece(self.nxt)?;
        let after = self.flight() + u64::from(piece.len);
        if self.credit {
            self.credit = false;
            if self.may_go_beyond(real(after)) {
                self.beyond += u64::from(piece.len);
                return Some(piece);
            }
        }
        if after > self.allowed || self.burst == 0 {
            return None;
        }
        self.burst -= 1;
        Some(piece)
    }

    /// RFC 3042 section 2: "The amount of outstanding data would remain less than or equal to the congestion window
    /// plus 2 segments", and the advertised window allows it.
    pub fn may_go_beyond(&self, after: f64) -> bool {
        let segments = if self.cfg.limited_transmit_per_duplicate {
            f64::from(self.dup)
        } else {
            2.0
        };
        after <= self.cc.cwnd() + segments * self.cfg.segment() && after <= self.limit()
    }

    // ---- acknowledgements

    /// Move to the acknowledgement `ack` of new data: round trip, backoff, sequence space. The timer is the caller's.
    #[inline]
    pub fn advance(&mut self, ack: u64, echoed: Option<Time>, ecn_echo: bool, now: Time) -> NewAck {
        let flight = self.flight();
        let window_limited = real(flight + u64::from(self.cfg.payload)) > self.cc.cwnd() || self.nxt < self.max_sent;
        // An ACK may pass `nxt` while going back after a timeout.
        let bytes = ack - self.una;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if self.resend.is_some_and(|seq| seq < ack) {
            self.resend = None;
        }
        if let Some(sent) = echoed {
            // RFC 7323 appendix G: "ExpectedSamples = ceiling (FlightSize / (SMSS * 2))".
            let expected = flight.div_ceil(2 * u64::from(self.cfg.payload)) as u32;
            self.sample(sent, now, expected);
        } else if let Some((end, sent)) = self.timed
            && ack >= end
        {
            self.timed = None;
            self.sample(sent, now, 1);
        }
        if let Some(rate) = &mut self.rate
            && let Some(sample) = rate.acked(ack, bytes, self.nxt - ack, now)
        {
            self.cc.rate(&sample);
        }
        NewAck {
            now,
            bytes,
            flight,
            window_limited,
            ecn_echo,
        }
    }

    fn sample(&mut self, sent: Time, now: Time, expected: u32) {
        self.rto.sample(sent, now, expected, &self.cfg);
        self.rto.end_backoff();
        let (r, rtt) = (&mut self.report, now.since(sent).seconds());
        r.rtt_min = if r.rtt_samples == 0 { rtt } else { r.rtt_min.min(rtt) };
        r.rtt_max = r.rtt_max.max(rtt);
        r.rtt_samples += 1;
        r.rtt_sum += rtt;
    }

    /// An ACK of new data outside recovery: the window may grow, duplicates are forgotten.
    pub fn grow(&mut self, a: &NewAck) {
        let srtt = self.rto.srtt();
        self.cc.ack(&Acked {
            now: a.now,
            bytes: a.bytes,
            flight: a.flight,
            window_limited: a.window_limited,
            after_timeout: self.after_timeout,
            ecn_echo: a.ecn_echo,
            srtt,
        });
    }

    /// Duplicates are counted anew.
    pub fn forget_duplicates(&mut self) {
        self.dup = 0;
        self.credit = false;
        self.beyond = 0;
    }

    // ---- reductions

    fn congested(&self, now: Time, again: bool) -> Congested {
        // RFC 5681 section 3.2: "the additional data sent in limited transmit MUST NOT be included".
        let flight = self.max_sent - self.una;
        Congested {
            now,
            flight: flight.saturating_sub(self.beyond),
            again,
        }
    }

    /// One window reduction for a loss, unless an echo of the same window was already answered (RFC 3168 6.1.2).
    pub fn reduce(&mut self, now: Time) {
        self.report.fast_retransmits += 1;
        if self.una >= self.ecn_reduced {
            let e = self.congested(now, false);
            self.cc.loss(&e);
            self.reduced();
        }
        self.timed = None;
    }

    /// A reduction covers what is outstanding, and the next segment says so.
    fn reduced(&mut self) {
        self.ecn_recover = self.max_sent;
        self.cwr_pending = true;
    }

    /// An ACK that acknowledges up to `ack` echoes congestion. RFC 3168 section 6.1.2: "TCP should not react to
    /// congestion indications more than once every window of data".
    pub fn on_echo(&mut self, ack: u64, now: Time) {
        if ack <= self.ecn_recover || self.cfg.ecn == EcnMode::Ignore {
            return;
        }
        let one = self.cfg.segment();
        if self.cc.cwnd() <= one {
            // RFC 3168 section 6.1.2: "the sending TCP MUST reset the retransmit timer on receiving the ECN-Echo packet
            // when the congestion window is one [and] will then be able to send a new packet only when the retransmit
            // timer expires".
            self.held = true;
            self.restart_timer(now);
        }
        let e = Congested {
            now,
            flight: self.flight(),
            again: false,
        };
        self.cc.ecn(&e);
        self.reduced();
        self.ecn_reduced = self.max_sent;
        self.report.ecn_reductions += 1;
    }

    /// The retransmission timer expired: what recovery does not decide.
    pub fn timed_out(&mut self, now: Time) {
        self.report.timeouts += 1;
        let again = self.timed_out == self.una || self.una < self.ecn_reduced;
        self.timed_out = self.una;
        let e = self.congested(now, again);
        self.cc.timeout(&e);
        self.reduced();
        self.recover = self.max_sent;
        self.after_timeout = true;
        self.inflation = 0;
        self.forget_duplicates();
        self.timed = None;
        self.rto.back_off(&self.cfg);
        self.restart_timer(now);
        if self.cfg.timeout_halves {
            self.resend = Some(self.una);
        } else {
            self.go_back();
        }
    }

    /// Everything outstanding is to be sent again, in order.
    pub fn go_back(&mut self) {
        self.nxt = self.una;
        self.resend = None;
    }

    /// The segment at `una` goes out next.
    pub fn resend_first(&mut self) {
        self.resend = Some(self.una);
    }

    // ---- the timer

    pub fn restart_timer(&mut self, now: Time) {
        self.deadline = now + self.rto.timeout(&self.cfg);
    }

    /// RFC 6298 rules 5.2 and 5.3: off when all is acknowledged, else restarted by an ACK of new data.
    pub fn timer_after_ack(&mut self, now: Time) {
        if self.una < self.max_sent {
            self.restart_timer(now);
        } else if !self.held {
            self.deadline = Time::NEVER;
        }
    }

    // ---- writing

    /// RFC 5681 section 4.1: after an idle time longer than the RTO, "cwnd is reduced to [...] min (IW, cwnd)". Or after
    /// a rest that the parameters give, which begins when all that was written is acknowledged: a sender with one
    /// segment outstanding has nothing in the network at each ACK, but it does not rest.
    pub fn after_idle(&mut self, now: Time) {
        let rested = match self.cfg.idle_after {
            None => now.since(self.last_sent) > self.rto.timeout(&self.cfg),
            Some(least) => self.empty_since != Time::NEVER && now.since(self.empty_since) >= least,
        };
        self.empty_since = Time::NEVER;
        if self.cfg.idle_restart && rested && self.cfg.idle_forgets_all {
            self.cc = (CONTROLLERS[self.cfg.congestion].build)(&self.cfg);
            self.refresh();
        } else if self.cfg.idle_restart && rested {
            let restart = self.cfg.initial_window.min(self.cc.cwnd());
            self.cc.set_cwnd(restart);
            self.refresh();
        }
    }

    /// The SYN, first or again.
    pub fn syn(&mut self, now: Time) -> Segment {
        let first = self.max_sent == 0;
        let mut flags = Flags::SYN;
        if self.cfg.ecn != EcnMode::Off {
            // RFC 3168 section 6.1.1: an ECN-setup SYN.
            flags = flags.with(Flags::ECE).with(Flags::CWR);
        }
        if !first {
            flags = flags.with(Flags::RETRANSMISSION);
        }
        self.timed = (first && !self.cfg.timestamps).then_some((FIRST, now));
        self.nxt = FIRST;
        self.max_sent = FIRST;
        self.last_sent = now;
        self.restart_timer(now);
        let timestamps = self.cfg.timestamps.then_some((now, Time::ZERO));
        let bytes = self.cfg.wire(0, 0, self.cfg.timestamps);
        Segment {
            seq: 0,
            payload: 0,
            ack: 0,
            flags,
            ecn: Ecn::NotEct,
            bytes,
            sack: SackBlocks::new(),
            timestamps,
            window: None,
        }
    }

    /// A lost SYN, counted as a loss at a window of one segment (ns-2).
    pub fn syn_lost(&mut self, now: Time) {
        let flight = u64::from(self.cfg.payload);
        self.cc.set_cwnd(self.cfg.segment());
        self.cc.timeout(&Congested {
            now,
            flight,
            again: false,
        });
    }

    /// The SYN was answered.
    pub fn established(&mut self, syn_was_lost: bool) {
        if syn_was_lost {
            // RFC 5681 section 3.1: "If the SYN or SYN/ACK is lost, the initial window [...] MUST be one segment".
            self.cc.set_cwnd(self.cfg.segment());
            self.rto.after_lost_syn(&self.cfg);
        }
    }

    /// Write the segment `p`.
    #[inline]
    pub fn emit(&mut self, p: Piece, now: Time) -> Segment {
        let again = p.seq < self.max_sent;
        let end = p.seq + u64::from(p.len);
        let mut flags = Flags::ACK;
        if again {
            flags = flags.with(Flags::RETRANSMISSION);
            self.report.retransmitted_packets += 1;
            // Karn: a segment sent twice is not timed.
            if self.timed.is_some_and(|(timed, _)| timed > p.seq && timed <= end) {
                self.timed = None;
            }
        }
        if self.cwr_pending && (self.cfg.cwr_on_retransmissions || (self.ecn && !again)) {
            self.cwr_pending = false;
            flags = flags.with(Flags::CWR);
        }
        let capable = self.ecn && (!again || self.cfg.ect_on_retransmissions);
        // RFC 6298 rule 5.1: start the timer if it is off.
        if self.deadline == Time::NEVER || self.una == self.max_sent {
            self.restart_timer(now);
        }
        if !again && self.timed.is_none() && !self.cfg.timestamps {
            self.timed = Some((end, now));
        }
        if let Some(rate) = &mut self.rate {
            rate.sent(end, again, now);
        }
        if p.seq == self.nxt {
            self.nxt = end;
        }
        self.max_sent = self.max_sent.max(end);
        self.last_sent = now;
        self.report.sent_packets += 1;
        self.report.sent_payload_bytes += u64::from(p.len);
        let timestamps = self.cfg.timestamps.then_some((now, self.ts_echo));
        Segment {
            seq: p.seq,
            payload: p.len,
            ack: FIRST,
            flags,
            ecn: if capable { Ecn::Ect0 } else { Ecn::NotEct },
            bytes: self.cfg.wire(p.len, 0, self.cfg.timestamps),
            sack: SackBlocks::new(),
            timestamps,
            window: None,
        }
    }
}
