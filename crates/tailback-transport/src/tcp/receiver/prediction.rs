//! Header prediction at the receiver (Jacobson 1990, "4BSD TCP header prediction"). It handles the common case in one
//! call instead of two: the next segment in order, with nothing held and nothing to answer except an ACK, now or
//! later.
//!
//! Without header prediction, plain TCP would take 5 % longer.

use super::{AckDue, Echoes, Rare, Receiver};
use crate::endpoint::{Endpoint, Wake};
use crate::segment::{Flags, Plain};
use tailback_base::Time;

impl Receiver {
    /// Whether everything before `seq` was delivered, nothing has arrived after `seq`, and the acknowledgement needs
    /// only a number. If so, an ACK with this sequence number changes nothing here.
    #[inline]
    pub(in crate::tcp) fn rests(&self, seq: u64) -> bool {
        let quiet = self.held.is_empty() && self.due != AckDue::Now && self.rare_is_quiet() && self.fin == u64::MAX;
        quiet && !self.echo && !self.owed && self.earlier.is_none() && seq == self.next
    }

    /// Store the time stamp of an ACK, as [`Receiver::take`] does.
    #[inline]
    pub(in crate::tcp) fn note_stamp_of(&mut self, ack: &Plain) {
        if ack.echo != Time::NEVER {
            self.note_value(ack.other, ack.sent);
        }
    }

    /// Like [`Receiver::acknowledge_on`], but for a segment with data at an end whose receiver has nothing to report.
    #[inline]
    pub(in crate::tcp) fn acknowledge_on_plain(&mut self, data: &mut Plain, now: Time) {
        data.other = self.next;
        data.flags = data.flags.with(Flags::ACK);
        data.echo = self.echoed(now).map_or(Time::NEVER, |t| t.1);
        data.bytes = self.cfg.wire(data.payload, 0, data.echo != Time::NEVER);
        self.acknowledged();
    }

    #[inline]
    pub(in crate::tcp) fn predict_data(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        let quiet = self.connected && self.held.is_empty() && self.due != AckDue::Now && self.rare_is_quiet();
        let marked = self.is_marked(s.ecn);
        // If each ACK says whether its segment was marked, a change of the mark is acknowledged separately.
        let apart = self.rule == Echoes::EveryAck && marked != self.echo;
        let usual = !apart && self.earlier.is_none() && !self.syn_due;
        let next = s.payload > 0 && s.seq == self.next && !s.flags.has(Flags(Flags::SYN.0 | Flags::FIN.0));
        if !(quiet && usual && next && self.fin == u64::MAX) {
            return None;
        }
        if s.echo != Time::NEVER {
            self.note_value(s.seq, s.sent);
        }
        if self.rule == Echoes::Rfc3168 {
            self.note_mark(marked, s.flags);
        }
        self.next += u64::from(s.payload);
        self.delivered += u64::from(s.payload);
        self.acknowledge_in_order(false, now);
        if self.due == AckDue::Now {
            let echo = self.echoed(now).map_or(Time::NEVER, |t| t.1);
            let flags = self.echo_flags();
            self.acknowledged();
            out.push(Plain {
                seq: self.next,
                other: 1,
                payload: 0,
                bytes: self.cfg.wire(0, 0, echo != Time::NEVER),
                flags,
                ecn: self.codepoint,
                sent: now,
                echo,
            });
        }
        Some(Wake {
            timeout: self.next_timeout().unwrap_or(Time::NEVER),
            not_before: Time::NEVER,
        })
    }

    /// Whether there is no duplicate to report, and the window is the constant one.
    #[inline]
    fn rare_is_quiet(&self) -> bool {
        self.rare.as_deref().is_none_or(Rare::is_quiet)
    }
}
