//! The common part of all sources of the REAL simulator: packet numbers, outstanding packets, the writing of packets,
//! and counters.
//!
//! A flow control gets the next new packet, or one that was sent before, from this file. The flow control itself
//! decides whether its window or its clock allows a packet. The time of each packet's first transmission is kept here,
//! so an acknowledgement only needs to carry the number of the packet.
//!
//! The reported round-trip samples are those of the published tables. A sample is the time from the first transmission
//! of a packet to the acknowledgement of its first copy that arrives, in order or not. Each packet gives one sample.
//! Timers are not computed from these samples.

use super::config::Config;
use super::outstanding::{Outstanding, Role, SentPacket};
use crate::backlog::Backlog;
use crate::endpoint::SenderReport;
use crate::segment::{Flags, SackBlocks, Segment};
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Time};

/// An acknowledgement, as a flow control sees it.
#[derive(Clone, Copy, Debug)]
pub struct AckSeen {
    /// The next packet expected is later than before.
    pub advances: bool,
    /// Whether this acknowledgement repeats the last one while packets are outstanding.
    pub duplicate: bool,
    /// The congestion bit of the packet that the acknowledgement answers.
    pub bit: bool,
    /// The number of the packet that the acknowledgement answers.
    pub answered: u64,
    /// The packet whose arrival moved the next packet expected; `None` if this did not move.
    pub mover: Option<SentPacket>,
    /// The packet that the acknowledgement answers, if this is the first answer to that packet.
    pub first_answer: Option<SentPacket>,
}

pub struct SenderState {
    pub cfg: Arc<Config>,
    pub sent: Outstanding,
    pub backlog: Backlog,
    pub report: SenderReport,
}

impl SenderState {
    pub fn new(cfg: Arc<Config>) -> SenderState {
        SenderState {
            cfg,
            sent: Outstanding::default(),
            backlog: Backlog::default(),
            report: SenderReport::default(),
        }
    }

    /// Whether the source knows that this packet arrived, although an earlier one is missing.
    #[inline]
    pub fn knows(&self, p: &SentPacket) -> bool {
        self.cfg.use_echo && p.heard
    }

    /// Packets sent and not known to have arrived.
    pub fn in_network(&self) -> usize {
        if self.cfg.use_echo {
            self.sent.unheard()
        } else {
            self.sent.len()
        }
    }

    /// Take an acknowledgement. Returns `None` if it names a packet that was never sent.
    pub fn take(&mut self, s: &Segment, now: Time) -> Option<AckSeen> {
        if s.ack > self.sent.end() || s.seq >= self.sent.end() {
            return None;
        }
        let una = self.sent.una();
        let first_answer = self.sent.hear(s.seq);
        if let Some(p) = first_answer
            && (self.cfg.samples_repeats() || !p.again)
        {
            self.sample(now.since(p.first_sent));
        }
        let advances = s.ack > una;
        // The sink moves on when the packet it waits for arrives. Unless acknowledgements were lost, this is the packet
        // that the acknowledgement answers.
        let mover = if self.cfg.use_echo && s.seq >= una { s.seq } else { una };
        let mover = self.sent.get(mover).copied().filter(|_| advances);
        let duplicate = s.ack == una && !self.sent.is_empty();
        self.sent.advance(s.ack);
        Some(AckSeen {
            advances,
            duplicate,
            bit: s.flags.has(Flags::ECE),
            answered: s.seq,
            mover,
            first_answer,
        })
    }

    fn sample(&mut self, rtt: Duration) {
        let (r, rtt) = (&mut self.report, rtt.seconds());
        r.rtt.note(rtt);
        r.rtt_samples += 1;
        r.rtt_sum += rtt;
    }

    /// The next new packet, if there is something to send. The flow control handles the timer of this packet.
    pub fn fresh(&mut self, role: Role, now: Time) -> Option<Segment> {
        let bytes = self.backlog.take(self.cfg.packet)?;
        let number = self.sent.end();
        self.sent.push(SentPacket {
            bytes,
            role,
            first_sent: now,
            again: false,
            heard: false,
            deadline: Time::NEVER,
            backoff: 1.0,
        });
        Some(self.segment(number, bytes, Flags::NONE))
    }

    /// Send a packet again.
    pub fn again(&mut self, number: u64) -> Option<Segment> {
        let p = self.sent.get_mut(number)?;
        p.again = true;
        let bytes = p.bytes;
        self.report.retransmitted_packets += 1;
        Some(self.segment(number, bytes, Flags::RETRANSMISSION))
    }

    fn segment(&mut self, seq: u64, payload: u32, flags: Flags) -> Segment {
        self.report.sent_packets += 1;
        self.report.sent_payload_bytes += u64::from(payload);
        Segment {
            seq,
            payload,
            ack: 0,
            flags,
            ecn: if self.cfg.reads_bit() { Ecn::Ect0 } else { Ecn::NotEct },
            bytes: payload + self.cfg.header,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        }
    }
}
