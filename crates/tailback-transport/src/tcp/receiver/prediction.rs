//! Header prediction at the receiver (Jacobson 1990, "4BSD TCP header prediction"). It handles the common case in one
//! call instead of two: the next segment in order, with nothing held and nothing to answer except an ACK, now or
//! later.
//!
//! Without it, plain TCP would take 5 % longer.

use super::{Due, Rare, Receiver};
use crate::endpoint::{Endpoint, Wake};
use crate::segment::{Flags, Plain};
use tailback_base::{Ecn, Time};

impl Receiver {
    #[inline]
    pub(super) fn predict_data(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        let quiet = self.connected && self.held.is_empty() && self.due != Due::Now && self.rare_is_quiet();
        let unmarked = s.ecn != Ecn::Ce && !self.echo && !self.owed && self.earlier.is_none() && !self.syn_due;
        let next = s.payload > 0 && s.seq == self.next && !s.flags.has(Flags(Flags::SYN.0 | Flags::FIN.0));
        if !(quiet && unmarked && next && self.fin == u64::MAX) {
            return None;
        }
        if s.echo != Time::NEVER {
            self.note_value(s.seq, s.sent);
        }
        self.next += u64::from(s.payload);
        self.delivered += u64::from(s.payload);
        self.acknowledge_in_order(false, now);
        if self.due == Due::Now {
            let echo = self.echoed(now).map_or(Time::NEVER, |t| t.1);
            self.acknowledged();
            out.push(Plain {
                seq: self.next,
                payload: 0,
                bytes: self.cfg.wire(0, 0, echo != Time::NEVER),
                flags: Flags::ACK,
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

    /// There is no duplicate to report, and the window is the constant one.
    #[inline]
    fn rare_is_quiet(&self) -> bool {
        self.rare.as_deref().is_none_or(Rare::is_quiet)
    }
}
