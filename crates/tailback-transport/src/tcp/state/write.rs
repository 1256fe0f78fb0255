//! The actions of a control block at the beginning and end of a connection and in idle periods, and how it writes
//! segments.

use super::ecn::Cut;
use super::sequence::NONE;
use super::{ControlBlock, FIRST, Piece};
use crate::endpoint::Progress;
use crate::segment::{Flags, SackBlocks, Segment};

use crate::tcp::config::{EcnMode, IdleForgets, RackForm, RtoForm};
use crate::tcp::congestion::{Congestion, ControlForm, Departure, Reset};
use crate::tcp::handshake::{self, Agreed};
use tailback_base::{Ecn, Time};

impl ControlBlock {
    // ---- what the application wants to be sent

    pub fn write(&mut self, bytes: u64) {
        self.seq.end = self.seq.end.saturating_add(bytes);
    }

    pub fn write_without_end(&mut self) {
        self.seq.end = u64::MAX;
    }

    /// Drop the data that were not sent. Losses of outstanding data are still repaired.
    pub fn give_up_unsent(&mut self) {
        self.seq.end = self.seq.max_sent.max(FIRST);
    }

    /// Withdraw this many of the bytes written last, except bytes that were already sent. Data without end stay, unless
    /// all of them are withdrawn (`u64::MAX`).
    pub fn withdraw(&mut self, bytes: u64) {
        let sent_end = self.seq.max_sent.max(FIRST);
        if self.seq.end != u64::MAX {
            self.seq.end = self.seq.end.saturating_sub(bytes).max(sent_end.min(self.seq.end));
        } else if bytes == u64::MAX {
            self.give_up_unsent();
        }
    }

    /// How many of the written bytes have been sent and acknowledged. A FIN does not count as a byte.
    pub fn progress(&self) -> Progress {
        let s = &self.seq;
        let bytes = |unit: u64| unit.min(s.end).saturating_sub(FIRST);
        Progress {
            written: bytes(s.end),
            sent: bytes(s.max_sent),
            acknowledged: bytes(s.una),
            opening: false,
        }
    }

    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.seq.una >= self.seq.end
    }

    /// Only a FIN follows the written data. The FIN is repeated like data until it is acknowledged.
    pub fn end_with_fin(&mut self) {
        self.seq.fin = self.seq.end;
        self.seq.fin_waits = self.cfg.fin_apart;
    }

    /// Whether the FIN is acknowledged.
    pub fn fin_is_acknowledged(&self) -> bool {
        self.seq.una > self.seq.fin
    }

    /// The other side advertises a window other than its constant one, or the constant one again (`None`). Returns true
    /// if this changes the amount that may be outstanding.
    pub fn advertised(&mut self, window: Option<u32>) -> bool {
        let constant = self.constant_window();
        let limit = window.map_or(constant, |w| constant.min(f64::from(w)));
        let changed = limit != self.window.limit;
        self.window.limit = limit;
        self.window.refresh(&*self.control);
        changed
    }

    /// The window that the other side advertises by its configuration, bytes.
    fn constant_window(&self) -> f64 {
        self.cfg.window.cap.min(self.cfg.rwnd)
    }

    /// Whether this is the last window that the other side advertised.
    #[inline]
    pub fn has_constant_window(&self) -> bool {
        self.window.limit == self.constant_window()
    }

    /// The part of the next segment that fits in the advertised window (at least one byte), if the whole segment does
    /// not fit. This is for a connection with nothing in flight.
    pub fn squeeze(&self) -> Option<Piece> {
        let piece = self.piece(self.seq.nxt)?;
        let room = self.window.limit as u64;
        (u64::from(piece.len) > room).then_some(Piece {
            len: room.max(1) as u32,
            fin: false,
            ..piece
        })
    }

    /// Whether the window does not allow a single byte.
    pub fn window_is_shut(&self) -> bool {
        self.window.limit < 1.0
    }

    /// A window probe, which does not count as sent. It is the next byte. In the form of Linux it has no data and a
    /// sequence number one below the acknowledged data. This is also unacceptable, so the receiver answers it as well.
    pub fn probe(&self, now: Time) -> Segment {
        let (seq, payload) = match self.cfg.window.form {
            ControlForm::Linux => (self.seq.una - 1, 0),
            _ => (self.seq.nxt, 1),
        };
        Segment {
            seq,
            payload,
            ack: FIRST,
            flags: Flags::ACK,
            // RFC 3168 section 6.1.6: "sending TCP MUST NOT set the ECT codepoint [...] on window probe packets".
            ecn: Ecn::NotEct,
            bytes: self.cfg.wire(payload, 0, self.cfg.timestamps),
            sack: SackBlocks::new(),
            timestamps: self.cfg.timestamps.then_some((now, self.ts_echo)),
            window: None,
            counts: None,
        }
    }

    /// The probe was accepted, so its byte counts as sent.
    pub fn probe_taken(&mut self) {
        self.seq.nxt = self.seq.nxt.max(self.seq.max_sent + 1);
        self.seq.max_sent += 1;
    }

    /// An idle period begins.
    pub fn note_empty(&mut self, now: Time) {
        self.timers.empty_since = now;
    }

    /// This function is called before data is sent with nothing outstanding. RFC 5681 section 4.1: after an idle period
    /// "cwnd is reduced to [...] min (IW, cwnd)".
    #[inline]
    pub fn before_sending(&mut self, now: Time) {
        if self.cfg.idle_forgets != IdleForgets::Halves {
            self.look_at_rest(now);
        }
    }

    /// This function is called when the application has written. Linux checks here whether the connection was idle. A
    /// connection that waits for its receiver's window is not idle.
    #[inline]
    pub fn has_written(&mut self, now: Time) {
        if self.cfg.idle_forgets == IdleForgets::Halves {
            self.look_at_rest(now);
        }
    }

    fn look_at_rest(&mut self, now: Time) {
        let s = &self.seq;
        if s.nxt == s.una && s.una == s.max_sent && s.nxt < s.end {
            let rested = self.timers.has_rested(&self.cfg, now);
            if self.cfg.idle_restart
                && rested
                && let Some(why) = self.after_rest(now)
            {
                self.reset(why);
            }
        }
    }

    fn after_rest(&self, now: Time) -> Option<Reset> {
        let why = match self.cfg.idle_forgets {
            IdleForgets::Window => Reset::Idle,
            IdleForgets::All => Reset::Restart,
            IdleForgets::Timer => return None,
            IdleForgets::Halves => {
                let rested = now.since(self.timers.last_sent).0.saturating_sub(1);
                let times = rested / self.timers.rto.timeout(&self.cfg).0.max(1);
                Reset::IdleHalves {
                    times: times.min(64) as u32,
                }
            }
        };
        Some(why)
    }

    // ---- the handshake

    /// The SYN, after `lost` earlier ones.
    pub fn syn(&mut self, lost: u32, now: Time) -> Segment {
        let is_first = self.seq.max_sent == 0;
        // RFC 3168 section 6.1.1.1: a host whose ECN-setup SYN is not answered "MAY resend the SYN [...] with CWR and
        // ECE cleared".
        let gives_up = self.cfg.ecn_syns > 0 && lost >= self.cfg.ecn_syns;
        let requested = if gives_up { Agreed::Nothing } else { self.cfg.able() };
        // RFC 9768 section 3.1.4.1: the answer to an earlier SYN may still arrive, and agree to the options that this
        // SYN requested.
        if self.ecn.asked != Agreed::Accurate {
            self.ecn.asked = requested;
        }
        let mut flags = handshake::syn_flags(requested);
        if !is_first {
            flags = flags.with(Flags::RETRANSMISSION);
        }
        self.timers.stop_timing();
        if is_first && !self.cfg.timestamps {
            self.timers.time(FIRST, now);
        }
        self.seq.nxt = FIRST;
        self.seq.max_sent = FIRST;
        self.timers.last_sent = now;
        self.restart_timer(now);
        Segment {
            seq: 0,
            payload: 0,
            ack: 0,
            flags,
            ecn: self.cfg.codepoint_if(requested.is_ecn() && self.cfg.ect_on_handshake),
            bytes: self.cfg.wire(0, 0, self.cfg.timestamps),
            sack: SackBlocks::new(),
            timestamps: self.cfg.timestamps.then_some((now, Time::ZERO)),
            window: None,
            counts: None,
        }
    }

    /// The timer expired before the SYN was answered.
    pub fn syn_timed_out(&mut self, now: Time) {
        self.timers.rto.back_off(&self.cfg);
        if self.cfg.syn_loss_lowers_ssthresh {
            self.congested(Congestion::LostSyn, u64::from(self.cfg.payload), now);
        }
        self.ecn.last_cut = Cut::Timeout;
        self.report.timeouts += 1;
        self.stop_timer();
    }

    /// `s` acknowledges the SYN, after `lost` lost SYNs. `ecn` is the ECN on which both sides agree.
    pub fn established(&mut self, s: &Segment, ecn: Agreed, lost: u32, now: Time) {
        self.agree(ecn, !s.flags.has(Flags::SYN));
        let echoed = self.take_timestamps(s);
        self.advance(FIRST, echoed, true, false, now);
        if lost > 0 {
            if self.ecn.agreed && self.cfg.echo_by_last_cut {
                self.on_echo(FIRST, false, now);
            }
            if lost >= self.cfg.syn_losses {
                self.reset(Reset::LostSyn);
            }
            self.timers.rto.after_lost_syn(&self.cfg);
        }
        self.seq.after_timeout = false;
        self.timer_after_ack(now);
    }

    // ---- segments

    /// Whether the ECE of this ACK counts.
    #[inline]
    pub fn echoes(&self, s: &Segment) -> bool {
        self.ecn.echoed && self.cfg.ecn != EcnMode::Ignore && s.flags.has(Flags::ECE)
    }

    /// Store the other side's time stamp. Returns the echo of our time stamp, if there is one.
    #[inline]
    pub fn take_timestamps(&mut self, s: &Segment) -> Option<Time> {
        let (value, echo) = s.timestamps?;
        self.note_stamps(value, echo)
    }

    #[inline]
    pub fn note_stamps(&mut self, value: Time, echo: Time) -> Option<Time> {
        self.cfg.timestamps.then(|| {
            self.ts_echo = value;
            echo
        })
    }

    /// A FIN without data does not count as a data segment.
    #[cold]
    fn count_fin(&mut self, payload: u32, again: bool) {
        if payload == 0 {
            self.report.sent_packets -= 1;
            self.report.retransmitted_packets -= u64::from(again);
        }
    }

    /// Update the state that a plain connection does not keep, when a segment is sent.
    #[inline(never)]
    fn note_emitted(&mut self, p: &Piece, again: bool, now: Time) {
        if let Some(list) = &mut self.sent {
            list.sent(p.seq, p.end(), again, now);
        }
        if let Some(u) = self.usage.as_mut().filter(|_| !again) {
            u.sent = true;
        }
        if self.tells_departures {
            self.control.sends(&Departure {
                now,
                seq: p.seq,
                end: p.end(),
                again,
            });
        }
        self.count_in_host(p.len);
        self.count_in_spread(p.len, again);
        self.count_in_train(now);
        if again {
            self.note_repeat(now);
            if p.seq == self.seq.una && self.cfg.repair.rack_form == RackForm::Linux {
                self.restart_timer(now);
            }
        }
    }

    /// Write the segment `p`.
    #[inline(always)]
    pub fn emit(&mut self, p: Piece, now: Time) -> Segment {
        let is_repeat = p.seq < self.seq.max_sent;
        let end = p.end();
        let mut flags = Flags::ACK.with(self.ecn.ace);
        if is_repeat {
            flags = flags.with(Flags::RETRANSMISSION);
            self.report.retransmitted_packets += 1;
            self.seq.resent = self.seq.resent.max(end);
            // Karn: a segment sent twice is not timed. ns-2 stops timing only at fast retransmits and timeouts.
            let of_timed = self.timers.timed_end > p.seq && self.timers.timed_end <= end;
            if of_timed && self.cfg.rto_form != RtoForm::Ticks {
                self.timers.stop_timing();
            }
        }
        if self.ecn.cwr_pending
            && (self.cfg.cwr_on_retransmissions || (!is_repeat && (self.ecn.agreed || self.cfg.cwr_without_ecn)))
        {
            self.ecn.cwr_pending = false;
            flags = flags.with(Flags::CWR);
        }
        // RFC 3168 section 6.1.5: ECT is for data, and a FIN without data is an ACK.
        let carries = p.len > 0 || self.ecn.on_acks;
        let capable = self.ecn.agreed && (!is_repeat || self.ecn.capable_again) && carries;
        // RFC 6298 rule 5.1: start the timer if it is off.
        if self.timers.deadline == Time::NEVER || self.seq.una == self.seq.max_sent {
            self.restart_timer(now);
            if self.seq.una == self.seq.max_sent {
                self.begin_sending(now);
            }
        }
        if !is_repeat && self.timers.timed_end == NONE && !self.cfg.timestamps {
            self.timers.time(end, now);
        }
        if self.more {
            self.note_emitted(&p, is_repeat, now);
        }
        if p.seq == self.seq.nxt {
            self.seq.nxt = end;
        }
        self.seq.max_sent = self.seq.max_sent.max(end);
        self.timers.last_sent = now;
        self.report.sent_packets += 1;
        if p.fin {
            flags = flags.with(Flags::FIN);
            self.count_fin(p.len, is_repeat);
        }
        self.report.sent_payload_bytes += u64::from(p.len);
        Segment {
            seq: p.seq,
            payload: p.len,
            ack: FIRST,
            flags,
            ecn: if capable { self.ecn.codepoint } else { Ecn::NotEct },
            bytes: self.cfg.wire(p.len, 0, self.cfg.timestamps),
            sack: SackBlocks::new(),
            timestamps: self.cfg.timestamps.then_some((now, self.ts_echo)),
            window: None,
            counts: None,
        }
    }
}
