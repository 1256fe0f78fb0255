//! Header prediction at the receiver (Jacobson 1990, "4BSD TCP header prediction"): the next segment in order, with nothing
//! held and nothing to say but its ACK, in one call in place of two.
//!
//! What would be lost without: 5 % of the time of plain TCP.

use super::{Due, Receiver};
use crate::endpoint::Wake;
use crate::segment::{Flags, Plain};
use tailback_base::{Ecn, Time};

impl Receiver {
    #[inline]
    pub(super) fn predict_data(&mut self, s: &Plain, out: &mut Vec<Plain>) -> Option<Wake> {
        let quiet = self.connected && self.held.is_empty() && self.due == Due::Nothing && self.rare.is_none();
        let unmarked = s.ecn != Ecn::Ce && !self.echo && !self.owed && self.earlier.is_none() && !self.syn_due;
        let next = s.payload > 0 && s.seq == self.next && !s.flags.has(Flags(Flags::SYN.0 | Flags::FIN.0));
        if !(quiet && unmarked && next && self.fin == u64::MAX && self.cfg.answers_each()) {
            return None;
        }
        self.next += u64::from(s.payload);
        self.delivered += u64::from(s.payload);
        self.acknowledged();
        out.push(Plain {
            seq: self.next,
            payload: 0,
            bytes: self.cfg.header,
            flags: Flags::ACK,
            ecn: Ecn::NotEct,
        });
        Some(Wake {
            timeout: Time::NEVER,
            not_before: Time::NEVER,
        })
    }
}
