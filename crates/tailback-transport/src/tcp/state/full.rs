//! Sends full segments of new data in order, in one loop. The effect is the same as that of `before_sending`,
//! `next_in_order` and `emit` until nothing more may leave.
//!
//! Without this loop, plain TCP would take 5 % longer.

use super::ControlBlock;
use super::sequence::NONE;
use crate::segment::{Flags, Plain};
use tailback_base::{Ecn, Time};

impl ControlBlock {
    /// Send everything that the window allows now, with or without time stamps. Returns false, and does nothing, if
    /// anything except full segments of new data may follow.
    #[inline(always)]
    pub fn send_full<const STAMPED: bool>(&mut self, now: Time, out: &mut Vec<Plain>) -> bool {
        let (s, w, t) = (&mut self.seq, &mut self.window, &mut self.timers);
        let usual = s.nxt == s.max_sent && s.una < s.nxt && s.fin == NONE && s.resend == NONE;
        let unpaced = w.pace == f64::INFINITY && !w.credit && t.deadline != Time::NEVER;
        let plain = !self.ecn.cwr_pending && !self.more;
        let len = u64::from(s.segment);
        let mut room = w.allowed.saturating_sub(s.nxt - s.una);
        if !(usual && unpaced && plain && s.end - s.nxt > room.saturating_add(len)) {
            return false;
        }
        let ecn = if self.ecn.agreed {
            self.ecn.codepoint
        } else {
            Ecn::NotEct
        };
        let bytes = self.cfg.wire(s.segment, 0, STAMPED);
        let echo = if STAMPED { self.ts_echo } else { Time::NEVER };
        let (first_byte, mut n) = (s.nxt, 0);
        while room >= len && w.burst > 0 {
            out.push(Plain {
                seq: s.nxt,
                other: 1,
                payload: s.segment,
                bytes,
                flags: Flags::ACK,
                ecn,
                sent: now,
                echo,
            });
            s.nxt += len;
            room -= len;
            w.burst -= 1;
            n += 1;
        }
        if n > 0 {
            if t.timed_end == NONE && !STAMPED {
                t.time(first_byte + len, now);
            }
            s.max_sent = s.nxt;
            t.last_sent = now;
            self.report.sent_packets += n;
            self.report.sent_payload_bytes += n * len;
        }
        true
    }
}
