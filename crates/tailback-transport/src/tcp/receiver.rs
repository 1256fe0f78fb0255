//! The receiving end, which puts bytes in order and acknowledges them.
//!
//! RFC 5681 section 4.2 and RFC 1122 section 4.2.3.2 define which segments the receiver acknowledges at once and which
//! ACKs it may delay. SACK blocks follow RFC 2018, and reports of duplicates follow RFC 2883. The congestion echo
//! follows RFC 3168 section 6.1.3 or the counts of RFC 9768. The time stamp to echo follows RFC 7323 section 4.3.
//!
//! ```text
//!               in order, first            timer, or the n-th, or anything not in order
//!   Nothing ------------------> Delayed ----------------------------------------------> Now -- sent --> Nothing
//! ```
//!
//! The state is the next byte expected, the data held beyond this byte, and the ACK that is due. The advertised window
//! is a constant of the configuration, so ACKs do not carry it. The exception is an application that does not read. In
//! this case data in order fill the buffer, and the right edge of the window does not move. A segment in order costs a
//! few compares. Nothing is allocated while nothing is missing.

mod prediction;

use super::accurate::Received;
use super::config::{Config, EcnMode};
use super::congestion::EchoRule;
use super::handshake::{self, Agreed};
use super::reassembly::Reassembly;
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit, Wake};
use crate::segment::{Flags, Plain, SackBlocks, Segment};
use std::sync::Arc;
use tailback_base::{Ecn, Time};

/// The acknowledgement that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckDue {
    Nothing,
    /// This many full segments arrived in order since the last ACK. The next ACK is sent at `deadline` at the latest.
    Delayed {
        segments: u32,
        deadline: Time,
    },
    Now,
}

/// How marks are echoed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Echoes {
    Rfc3168,
    /// [`EchoRule::EveryAck`].
    EveryAck,
    /// Marks are counted (RFC 9768).
    Counts,
}

impl Echoes {
    fn of(rule: EchoRule, agreed: Agreed) -> Echoes {
        match (agreed, rule) {
            (Agreed::Accurate, _) => Echoes::Counts,
            (_, EchoRule::Rfc3168) => Echoes::Rfc3168,
            (_, EchoRule::EveryAck) => Echoes::EveryAck,
        }
    }
}

/// The receiving end of a one-way connection.
pub struct Receiver {
    cfg: Arc<Config>,
    /// The next byte expected. The SYN is unit 0, so data start at 1.
    next: u64,
    held: Reassembly,
    due: AckDue,
    /// Whether a SYN arrived and its answer is due.
    syn_due: bool,
    connected: bool,
    agreed: Agreed,
    /// The code point with which the other end's SYN arrived.
    syn_arrived: Ecn,
    rule: Echoes,
    /// The code point of pure ACKs.
    codepoint: Ecn,
    /// RFC 3168: whether to echo, until the sender sends CWR. With [`EchoRule::EveryAck`]: whether the last segment was
    /// marked.
    echo: bool,
    /// RFC 3168: a mark arrived since the last ACK, so the next ACK echoes it even if a CWR arrived after the mark.
    owed: bool,
    /// The ACK for the data before the marks began or ended. It is sent first.
    earlier: Option<Box<Segment>>,
    /// RFC 7323: TS.Recent and Last.ACK.sent.
    ts_recent: Option<Time>,
    last_ack: u64,
    /// Bytes received in order.
    delivered: u64,
    /// The unit of the other side's FIN. Until the FIN has arrived, this is larger than any unit.
    fin: u64,
    /// Something is out of order or repeated, so the ACK travels without data and counts as a duplicate.
    alone: bool,
    /// The state that is allocated when it is first needed.
    rare: Option<Box<Rare>>,
}

/// State that most receivers never need.
struct Rare {
    /// The duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The edge beyond which no data are accepted while the application does not read.
    edge: Option<u64>,
    /// The number of further segments that are acknowledged one by one, and the time at which the last segment in order
    /// arrived.
    quick: u32,
    last_arrival: Time,
    /// The counts of marks, present if accurate ECN is agreed on. In this case the end does not use header prediction.
    counts: Option<Box<Received>>,
}

impl Rare {
    fn is_quiet(&self) -> bool {
        self.duplicate.is_none() && self.edge.is_none() && self.counts.is_none()
    }
}

impl Default for Rare {
    fn default() -> Self {
        Rare {
            duplicate: None,
            edge: None,
            quick: 0,
            last_arrival: Time::NEVER,
            counts: None,
        }
    }
}

impl Receiver {
    /// A receiver that echoes congestion marks as the sender's controller requires.
    pub fn new(cfg: Arc<Config>) -> Receiver {
        // Without a SYN both ends have agreed beforehand.
        let agreed = if cfg.syn { Agreed::Nothing } else { cfg.able() };
        let next = u64::from(!cfg.syn);
        let mut receiver = Receiver {
            next,
            agreed: Agreed::Nothing,
            syn_arrived: Ecn::NotEct,
            codepoint: Ecn::NotEct,
            rule: Echoes::of(cfg.controller.facts.echo, Agreed::Nothing),
            held: Reassembly::default(),
            due: AckDue::Nothing,
            syn_due: false,
            connected: !cfg.syn,
            echo: false,
            owed: false,
            earlier: None,
            ts_recent: None,
            last_ack: next,
            delivered: 0,
            fin: u64::MAX,
            alone: false,
            rare: None,
            cfg,
        };
        receiver.agree(agreed);
        receiver
    }

    /// Set the use of marks by both ends from now on.
    fn agree(&mut self, agreed: Agreed) {
        let by_counts = self.cfg.capable_by_counts(agreed);
        self.agreed = agreed;
        self.codepoint = self
            .cfg
            .codepoint_if(agreed.is_ecn() && (self.cfg.ect_on_acks || by_counts));
        self.rule = Echoes::of(self.cfg.controller.facts.echo, agreed);
        if let Some(accurate) = self.cfg.accurate.filter(|_| agreed == Agreed::Accurate) {
            let counts = &mut self.rare.get_or_insert_default().counts;
            let counts = counts.get_or_insert_with(|| Box::new(Received::new(accurate.form, accurate.option)));
            // The sender of a one-way connection sends no option, so none of its segments shows that it supports the
            // option.
            if !self.cfg.two_way {
                counts.hears_option();
            }
        }
    }

    /// Whether all arrived data are delivered, no FIN has arrived, and the application reads.
    pub(super) fn holds_nothing(&self) -> bool {
        self.held.is_empty() && self.fin == u64::MAX && self.edge().is_none()
    }

    /// Next byte expected.
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    fn on_syn(&mut self, s: &Segment, up: &mut dyn AppEvents) {
        let connected = std::mem::replace(&mut self.connected, true);
        self.synchronize(s, handshake::agrees(s.flags, self.cfg.able()));
        self.syn_due = true;
        self.due = AckDue::Now;
        if !connected {
            up.event(AppEvent::Connected);
        }
    }

    /// Take the other side's SYN, or SYN-ACK. Its sequence space begins, and its marks are echoed as agreed.
    pub(super) fn synchronize(&mut self, syn: &Segment, agreed: Agreed) {
        self.connected = true;
        self.syn_arrived = syn.ecn;
        self.agree(agreed);
        if syn.flags.has(Flags::ACK) {
            // RFC 9768 section 3.2.2.1: a mark on the SYN-ACK counts, but a mark on the SYN does not.
            self.count(syn);
            self.reflect(syn);
        }
        self.next = self.next.max(1);
        if let Some((value, _)) = syn.timestamps {
            self.ts_recent = Some(value);
        }
    }

    /// The other side's SYN arrives again.
    pub(super) fn note_syn(&mut self, s: &Segment) {
        self.syn_arrived = s.ecn;
    }

    /// A SYN-ACK arrives again. Its acknowledgement is also sent again and says with which code point the SYN-ACK
    /// arrived.
    pub(super) fn reflect(&mut self, syn_ack: &Segment) {
        if let Some(counts) = self.counts() {
            counts.reflect(syn_ack.ecn);
        }
    }

    #[inline]
    fn counts(&mut self) -> Option<&mut Received> {
        self.rare.as_mut()?.counts.as_deref_mut()
    }

    /// The number of packets that arrived marked, if they are counted.
    pub(super) fn counted_marks(&self) -> Option<u32> {
        Some(self.rare.as_ref()?.counts.as_ref()?.marked())
    }

    /// Count a segment of a connection with accurate ECN. The segment may have to be acknowledged at once.
    #[cold]
    fn count(&mut self, s: &Segment) {
        let ecn = if self.cfg.ecn == EcnMode::NoEcho {
            Ecn::NotEct
        } else {
            s.ecn
        };
        let Some(counts) = self.counts() else { return };
        if s.counts.is_some() {
            counts.hears_option();
        }
        if counts.arrives(ecn, s.payload) && !s.flags.has(Flags::SYN) {
            self.due = AckDue::Now;
        }
    }

    /// A segment of a connection whose SYNs have been exchanged.
    pub(super) fn take(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        if self.rule == Echoes::Counts {
            self.count(s);
        }
        if !s.occupies() {
            self.note_timestamp(s);
            // RFC 9293 section 3.10.7.4: the segment is not acceptable, but is answered. With such a segment a sender
            // probes whether a window is still shut.
            if s.seq + 1 == self.next {
                self.due = AckDue::Now;
            }
            return;
        }
        if self
            .edge()
            .is_some_and(|edge| s.seq.saturating_add(u64::from(s.payload)) > edge.max(self.next))
        {
            // RFC 9293 section 3.10.7.4: a segment outside the window is not acceptable, and is answered with an ACK.
            self.due = AckDue::Now;
            return;
        }
        if s.flags.has(Flags::FIN) && s.end() > self.next {
            self.fin = s.end() - 1;
        }
        self.on_ecn(s, now);
        self.on_data(s, now, up);
    }

    /// Whether both sides agreed on ECN.
    pub(super) fn has_ecn(&self) -> bool {
        self.agreed.is_ecn()
    }

    /// The flags of the answer to the other side's SYN.
    pub(super) fn syn_ack_flags(&self, agreed: Agreed) -> Flags {
        handshake::syn_ack_flags(agreed, self.syn_arrived)
    }

    /// The codepoint of pure ACKs.
    pub(super) fn codepoint(&self) -> Ecn {
        self.codepoint
    }

    /// Whether all data that the other side will ever send have arrived.
    pub(super) fn has_ended(&self) -> bool {
        self.next > self.fin
    }

    /// Whether an ACK is due now.
    pub(super) fn is_due(&self) -> bool {
        self.due == AckDue::Now
    }

    /// Whether the ACK that is due must not travel with data.
    pub(super) fn is_due_alone(&self) -> bool {
        self.earlier.is_some() || (self.alone && self.due == AckDue::Now && !self.cfg.acks_always_ride)
    }

    /// Make an ACK due.
    pub(super) fn answer(&mut self) {
        self.due = AckDue::Now;
    }

    /// The application starts or stops reading arriving data. While it does not read, the buffer fills. The right edge
    /// of the window never moves back (RFC 9293 section 3.8.6).
    pub(super) fn set_reading(&mut self, on: bool) {
        if on && self.rare.as_mut().is_some_and(|r| r.edge.take().is_some()) {
            self.due = AckDue::Now;
        } else if !on && self.edge().is_none() && self.cfg.rwnd.is_finite() {
            // Data starts after the SYN.
            let edge = self.next.max(1) + self.cfg.rwnd as u64;
            self.rare.get_or_insert_default().edge = Some(edge);
        }
    }

    #[inline]
    fn edge(&self) -> Option<u64> {
        self.rare.as_ref()?.edge
    }

    /// The window to advertise; `None` if it is the constant one.
    fn window(&self) -> Option<u32> {
        let edge = self.edge()?;
        Some(u32::try_from(edge.saturating_sub(self.next)).unwrap_or(u32::MAX))
    }

    fn note_timestamp(&mut self, s: &Segment) {
        if let Some((value, _)) = s.timestamps {
            self.note_value(s.seq, value);
        }
    }

    /// RFC 7323 section 4.3 (2): "if [...] SEG.SEQ <= Last.ACK.sent, then [...] TS.Recent <- SEG.TSval".
    #[inline]
    fn note_value(&mut self, seq: u64, value: Time) {
        if seq <= self.last_ack && self.ts_recent.is_none_or(|t| value >= t) {
            self.ts_recent = Some(value);
        }
    }

    /// Whether this code point is a mark to echo.
    #[inline(always)]
    fn is_marked(&self, ecn: Ecn) -> bool {
        ecn == Ecn::Ce && self.cfg.ecn != EcnMode::NoEcho
    }

    /// RFC 3168 section 6.1.3: CWR ends the echo, and a mark on the same packet starts it again. With delayed ACKs the
    /// echo is sent "if the CE codepoint is set in any of the data packets being acknowledged".
    #[inline(always)]
    fn note_mark(&mut self, marked: bool, flags: Flags) {
        self.owed |= marked;
        self.echo = self.owed || (self.echo && !flags.has(Flags::CWR));
    }

    /// The flags of an acknowledgement.
    #[inline(always)]
    fn echo_flags(&self) -> Flags {
        match self.agreed.is_ecn() && self.echo {
            true => Flags::ACK.with(Flags::ECE),
            false => Flags::ACK,
        }
    }

    #[inline(always)]
    fn on_ecn(&mut self, s: &Segment, now: Time) {
        let marked = self.is_marked(s.ecn);
        match self.rule {
            Echoes::Counts => {}
            Echoes::Rfc3168 => self.note_mark(marked, s.flags),
            Echoes::EveryAck if marked == self.echo => {}
            // RFC 8257 section 3.2: data that wait for a delayed ACK are acknowledged at once, with the old value of
            // the echo.
            Echoes::EveryAck => {
                if self.due != AckDue::Nothing {
                    self.earlier = Some(Box::new(self.acknowledgement(now)));
                }
                self.echo = marked;
            }
        }
    }

    #[inline(always)]
    fn on_data(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let (from, to) = (s.seq, s.end());
        self.note_timestamp(s);
        if from <= self.next && to > self.next {
            let was_waiting = !self.held.is_empty();
            let next_byte = if was_waiting { self.held.advance(to) } else { to };
            // A FIN occupies a unit and delivers nothing.
            let new = next_byte.min(self.fin) - self.next.min(self.fin);
            self.next = next_byte;
            if new > 0 {
                self.delivered += new;
                up.event(AppEvent::Delivered(new));
            }
            // RFC 5681 section 4.2: "A TCP receiver [...] SHOULD send an immediate ACK when it receives a data segment
            // that fills in all or part of a gap in the sequence space."
            self.acknowledge_in_order(was_waiting || next_byte > self.fin, now);
        } else if to <= self.next {
            if self.cfg.dsack {
                self.rare.get_or_insert_default().duplicate = Some((from, to));
            }
            self.alone = true;
            // ns-2's sink treats a repeat of the last segment in order like this last segment, and may delay the ACK of
            // the repeat.
            let at_once = !(self.cfg.ack_as_sink && to == self.next && self.held.is_empty());
            self.acknowledge_in_order(at_once, now);
        } else {
            if !self.held.insert(from, to) && self.cfg.dsack {
                self.rare.get_or_insert_default().duplicate = Some((from, to));
            }
            self.due = AckDue::Now;
            self.alone = true;
        }
    }

    /// RFC 1122 section 4.2.3.2: "there SHOULD be an ACK for at least every second segment". A short segment counts
    /// too, because the sender waits for the ACK of the last, short segment of a transfer.
    fn acknowledge_in_order(&mut self, at_once: bool, now: Time) {
        let segments = match self.due {
            AckDue::Now => return,
            AckDue::Delayed { segments, .. } => segments + 1,
            AckDue::Nothing => 1,
        };
        if at_once || self.is_enough(segments) || (self.cfg.quick_acks > 0 && self.answers_quickly(now)) {
            self.due = AckDue::Now;
            return;
        }
        let deadline = match self.due {
            AckDue::Delayed { deadline, .. } => deadline,
            AckDue::Now | AckDue::Nothing => self.latest_ack(now),
        };
        self.due = AckDue::Delayed { segments, deadline };
    }

    /// Whether this many segments, or the bytes since the last ACK, are acknowledged without waiting for more.
    #[inline(always)]
    fn is_enough(&self, segments: u32) -> bool {
        if self.cfg.delayed_ack_by_bytes {
            // The other side's SYN needs no ACK here.
            let bytes = self.next - self.last_ack.max(1);
            bytes >= u64::from(self.cfg.delayed_ack) * u64::from(self.cfg.payload)
        } else {
            segments >= self.cfg.delayed_ack
        }
    }

    /// At the start, and after an idle period, the sender's window is small, so each segment is acknowledged.
    #[cold]
    fn answers_quickly(&mut self, now: Time) -> bool {
        let quick_acks = (self.cfg.rwnd / 2.0 / self.cfg.segment()).min(f64::from(self.cfg.quick_acks)) as u32;
        let r = self.rare.get_or_insert_default();
        let rested = r.last_arrival != Time::NEVER && now.since(r.last_arrival) > self.cfg.initial_rto;
        if r.last_arrival == Time::NEVER || rested {
            r.quick = quick_acks;
        }
        r.last_arrival = now;
        let quick = r.quick > 0;
        r.quick = r.quick.saturating_sub(1);
        quick
    }

    /// The latest time to acknowledge a segment that arrives now.
    fn latest_ack(&self, now: Time) -> Time {
        let timeout = self.cfg.delayed_ack_timeout;
        if self.cfg.delayed_ack_on_grid && timeout.0 > 0 {
            Time((now.0 / timeout.0 + 1) * timeout.0)
        } else {
            now + timeout
        }
    }

    fn acknowledgement(&mut self, now: Time) -> Segment {
        let mut sack = SackBlocks::new();
        let (flags, ecn) = if std::mem::take(&mut self.syn_due) {
            let capable = self.agreed.is_ecn() && self.cfg.ect_on_handshake;
            (self.syn_ack_flags(self.agreed), self.cfg.codepoint_if(capable))
        } else {
            (self.reported(&mut sack), self.codepoint)
        };
        let timestamps = self.echoed(now);
        self.acknowledged();
        let mut s = Segment {
            seq: u64::from(!flags.has(Flags::SYN)),
            payload: 0,
            ack: self.next,
            flags,
            ecn,
            bytes: self.cfg.wire(0, sack.len(), timestamps.is_some()),
            sack,
            timestamps,
            window: self.window(),
            counts: None,
        };
        if self.rule == Echoes::Counts {
            self.say_counts(&mut s);
        }
        s
    }

    /// Write the counts into a segment: ACE, and the option if there is room.
    #[cold]
    pub(super) fn say_counts(&mut self, s: &mut Segment) {
        let cfg = self.cfg.clone();
        let Some(counts) = self.counts() else { return };
        if !s.flags.has(Flags::SYN) {
            s.flags = s.flags.without(Flags::ACE).with(Flags::of_ace(counts.ace()));
        }
        let (option, kept_blocks) = counts.option(s.timestamps.is_some(), s.sack.len());
        s.sack.truncate(kept_blocks);
        s.bytes = cfg.wire(s.payload, kept_blocks, s.timestamps.is_some());
        if let Some(option) = option {
            s.bytes += cfg.wire_counts(option.fields, kept_blocks);
            s.counts = Some(Box::new(option));
        }
    }

    /// The flags of an acknowledgement, and its SACK blocks.
    #[inline(always)]
    fn reported(&mut self, sack: &mut SackBlocks) -> Flags {
        if self.cfg.sack || self.rare.is_some() {
            if let Some(block) = self.rare.as_mut().and_then(|r| r.duplicate.take()) {
                sack.push(block);
            }
            if self.cfg.sack && !self.held.is_empty() {
                let most = self.cfg.sack_blocks.min(if self.cfg.timestamps { 3 } else { 4 }) as usize;
                self.held.blocks(most.saturating_sub(sack.len()), sack);
            }
        }
        self.echo_flags()
    }

    /// All arrived data are acknowledged now.
    #[inline(always)]
    fn acknowledged(&mut self) {
        self.due = AckDue::Nothing;
        self.alone = false;
        self.owed = false;
        self.last_ack = self.next;
    }

    fn echoed(&self, now: Time) -> Option<(Time, Time)> {
        self.ts_recent.filter(|_| self.cfg.timestamps).map(|echo| (now, echo))
    }

    /// Write the acknowledgement of the other side's SYN into a SYN: number and echo.
    ///
    /// If `counts` is true, the SYN has the option of accurate ECN, which shows that this end supports the option (RFC
    /// 9768 section 3.2.3.2.2). A repeated SYN has no option, in case the path drops segments with the option.
    pub(super) fn acknowledge_syn_on(&mut self, s: &mut Segment, counts: bool) {
        if counts && let Some(option) = self.counts().and_then(|c| c.first_option()) {
            s.bytes += self.cfg.wire_counts(option.fields, 0);
            s.counts = Some(Box::new(option));
        }
        s.ack = self.next;
        s.timestamps = s
            .timestamps
            .map(|(value, _)| (value, self.ts_recent.unwrap_or(Time::ZERO)));
        self.last_ack = self.next;
    }

    /// Write the acknowledgement of all arrived data into a segment: number, echo, SACK blocks, time stamps, window.
    pub(super) fn acknowledge_on(&mut self, s: &mut Segment, now: Time) {
        s.ack = self.next;
        s.flags = s.flags.with(self.reported(&mut s.sack));
        s.timestamps = self.echoed(now);
        s.window = self.window();
        s.bytes = self.cfg.wire(s.payload, s.sack.len(), s.timestamps.is_some());
        if self.rule == Echoes::Counts {
            self.say_counts(s);
        }
        self.acknowledged();
    }

    /// The ACK for the data before the marks began or ended.
    pub(super) fn take_earlier(&mut self) -> Option<Segment> {
        self.earlier.take().map(|s| *s)
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
        // Data before any SYN belongs to no connection.
        if !self.connected || s.payload == 0 || s.seq == 0 {
            return;
        }
        if self.rule == Echoes::Counts {
            self.count(s);
        }
        self.on_ecn(s, now);
        self.on_data(s, now, up);
    }

    fn predict(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        self.predict_data(s, now, out)
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        if let Some(s) = self.earlier.take() {
            Transmit::Segment(*s)
        } else if self.due == AckDue::Now {
            Transmit::Segment(self.acknowledgement(now))
        } else {
            Transmit::Idle
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self.due {
            AckDue::Delayed { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    fn on_timeout(&mut self, now: Time, _up: &mut dyn AppEvents) {
        if let AckDue::Delayed { deadline, .. } = self.due
            && now >= deadline
        {
            self.due = AckDue::Now;
        }
    }

    fn received_bytes(&self) -> u64 {
        self.delivered
    }

    fn arrived_bytes(&self) -> u64 {
        self.delivered + self.held.bytes_below(self.fin)
    }
}
