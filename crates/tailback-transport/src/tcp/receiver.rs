//! The receiving end: it puts bytes in order and acknowledges them.
//!
//! What it acknowledges at once and what it may delay is RFC 5681 section 4.2 and RFC 1122 section 4.2.3.2; SACK blocks
//! are RFC 2018, duplicates reported in them RFC 2883, the congestion echo RFC 3168 section 6.1.3, the time stamp to
//! echo RFC 7323 section 4.3.
//!
//! ```text
//!               in order, first            timer, or the n-th, or anything not in order
//!   Nothing ------------------> Delayed ----------------------------------------------> Now -- sent --> Nothing
//! ```
//!
//! State: the next byte expected, what is held beyond it, the ACK that is due. The advertised window is a constant of
//! the configuration (no buffer is modelled), so that an ACK carries none. A segment in order costs a few compares;
//! nothing is allocated while nothing is missing.

use super::config::{Config, EcnMode};
use super::congestion::EchoRule;
use super::handshake;
use super::reassembly::Reassembly;
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit};
use crate::segment::{Flags, SackBlocks, Segment};
use std::sync::Arc;
use tailback_base::{Ecn, Time};

/// The acknowledgement that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Nothing,
    /// This many full segments arrived in order since the last ACK; it goes out at `deadline` at the latest.
    Delayed {
        segments: u32,
        deadline: Time,
    },
    Now,
}

/// The receiving end of a one-way connection.
pub struct Receiver {
    cfg: Arc<Config>,
    /// Next byte expected; the SYN is unit 0, so data start at 1.
    next: u64,
    held: Reassembly,
    due: Due,
    /// The duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// A SYN arrived and its answer is due.
    syn_due: bool,
    connected: bool,
    ecn: bool,
    rule: EchoRule,
    /// RFC 3168: echo until the sender says CWR. With every ACK: the last segment was marked.
    echo: bool,
    /// The ACK of what came before the marks began or ended, to be sent first.
    earlier: Option<Box<Segment>>,
    /// RFC 7323: TS.Recent and Last.ACK.sent.
    ts_recent: Option<Time>,
    last_ack: u64,
    /// In order, bytes.
    delivered: u64,
}

impl Receiver {
    /// A receiver that echoes congestion marks by this rule, which is the sender's controller's.
    pub fn new(cfg: Arc<Config>, rule: EchoRule) -> Receiver {
        // Without a SYN both ends agree beforehand.
        let (next, ecn) = if cfg.syn {
            (0, false)
        } else {
            (1, cfg.ecn != EcnMode::Off)
        };
        Receiver {
            next,
            ecn,
            held: Reassembly::default(),
            due: Due::Nothing,
            duplicate: None,
            syn_due: false,
            connected: !cfg.syn,
            rule,
            echo: false,
            earlier: None,
            ts_recent: None,
            last_ack: next,
            delivered: 0,
            cfg,
        }
    }

    /// Next byte expected.
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    fn on_syn(&mut self, s: &Segment, up: &mut dyn AppEvents) {
        self.ecn = self.cfg.ecn != EcnMode::Off && handshake::asks_for_ecn(s.flags);
        self.next = self.next.max(1);
        self.syn_due = true;
        self.due = Due::Now;
        if let Some((value, _)) = s.timestamps {
            self.ts_recent = Some(value);
        }
        if !self.connected {
            self.connected = true;
            up.event(AppEvent::Connected);
        }
    }

    fn on_ecn(&mut self, s: &Segment, now: Time) {
        let marked = s.ecn == Ecn::Ce && self.cfg.ecn != EcnMode::NoEcho;
        match self.rule {
            // RFC 3168 section 6.1.3: CWR ends the echo, a mark on the same packet starts it again.
            EchoRule::Rfc3168 => self.echo = marked || (self.echo && !s.flags.has(Flags::CWR)),
            EchoRule::EveryAck if marked == self.echo => {}
            // RFC 8257 section 3.2: what waits for a delayed ACK is acknowledged at once, with the old mark.
            EchoRule::EveryAck => {
                if self.due != Due::Nothing {
                    self.earlier = Some(Box::new(self.acknowledgement(now)));
                }
                self.echo = marked;
            }
        }
    }

    fn on_data(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let (from, to) = (s.seq, s.end());
        // RFC 7323 section 4.3 (2): "if [...] SEG.SEQ <= Last.ACK.sent, then [...] TS.Recent <- SEG.TSval".
        if let Some((value, _)) = s.timestamps
            && from <= self.last_ack
            && self.ts_recent.is_none_or(|t| value >= t)
        {
            self.ts_recent = Some(value);
        }
        if from <= self.next && to > self.next {
            let was_waiting = !self.held.is_empty();
            let next = if was_waiting { self.held.advance(to) } else { to };
            let new = next - self.next;
            self.next = next;
            self.delivered += new;
            up.event(AppEvent::Delivered(new));
            // RFC 5681 section 4.2: "A TCP receiver [...] SHOULD send an immediate ACK when it receives a data segment
            // that fills in all or part of a gap in the sequence space."
            self.acknowledge_in_order(was_waiting, now);
        } else if to <= self.next {
            if self.cfg.dsack {
                self.duplicate = Some((from, to));
            }
            // ns-2's sink takes a repeat of the last segment in order for that segment, and may delay its ACK.
            let at_once = !(self.cfg.ack_as_sink && to == self.next && self.held.is_empty());
            self.acknowledge_in_order(at_once, now);
        } else {
            if !self.held.insert(from, to) && self.cfg.dsack {
                self.duplicate = Some((from, to));
            }
            self.due = Due::Now;
        }
    }

    /// RFC 1122 section 4.2.3.2: "there SHOULD be an ACK for at least every second segment". A short segment counts
    /// too: the ACK of the last, short one of a transfer is what the sender waits for.
    fn acknowledge_in_order(&mut self, at_once: bool, now: Time) {
        let (so_far, deadline) = match self.due {
            Due::Now => return,
            Due::Delayed { segments, deadline } => (segments, deadline),
            Due::Nothing => (0, now + self.cfg.delayed_ack_timeout),
        };
        let segments = so_far + 1;
        self.due = if at_once || segments >= self.cfg.delayed_ack {
            Due::Now
        } else {
            Due::Delayed { segments, deadline }
        };
    }

    fn acknowledgement(&mut self, now: Time) -> Segment {
        let mut flags = Flags::ACK;
        let mut sack = SackBlocks::new();
        let syn = std::mem::take(&mut self.syn_due);
        if syn {
            flags = handshake::syn_ack_flags(self.ecn);
        } else {
            if self.ecn && self.echo {
                flags = flags.with(Flags::ECE);
            }
            if self.cfg.sack || self.duplicate.is_some() {
                if let Some(block) = self.duplicate.take() {
                    sack.push(block);
                }
                if self.cfg.sack && !self.held.is_empty() {
                    let most = self.cfg.sack_blocks.min(if self.cfg.timestamps { 3 } else { 4 }) as usize;
                    self.held.blocks(most.saturating_sub(sack.len()), &mut sack);
                }
            }
        }
        self.due = Due::Nothing;
        self.last_ack = self.next;
        let timestamps = self.ts_recent.filter(|_| self.cfg.timestamps).map(|echo| (now, echo));
        Segment {
            seq: u64::from(!syn),
            payload: 0,
            ack: self.next,
            flags,
            ecn: Ecn::NotEct,
            bytes: self.cfg.wire(0, sack.len(), timestamps.is_some()),
            sack,
            timestamps,
            window: None,
        }
    }
}

impl Endpoint for Receiver {
    /// The receiver of a one-way connection sends no data.
    fn write(&mut self, _n: Amount, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        if s.flags.has(Flags::SYN) {
            self.on_syn(s, up);
            return;
        }
        // Data before any SYN belong to no connection.
        if !self.connected || s.payload == 0 || s.seq == 0 {
            return;
        }
        self.on_ecn(s, now);
        self.on_data(s, now, up);
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        if let Some(s) = self.earlier.take() {
            Transmit::Segment(*s)
        } else if self.due == Due::Now {
            Transmit::Segment(self.acknowledgement(now))
        } else {
            Transmit::Idle
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self.due {
            Due::Delayed { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    fn on_timeout(&mut self, now: Time, _up: &mut dyn AppEvents) {
        if let Due::Delayed { deadline, .. } = self.due
            && now >= deadline
        {
            self.due = Due::Now;
        }
    }

    fn received_bytes(&self) -> u64 {
        self.delivered
    }
}
