//! Header prediction at the sender (Jacobson 1990, "4BSD TCP header prediction"). It handles an ACK of new data on an
//! open connection, and everything that this ACK releases, in one call instead of one for the ACK and one for each
//! segment.
//!
//! It takes the same steps as [`Endpoint::on_segment`](crate::Endpoint::on_segment) and
//! [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit), except the steps that such an ACK cannot need. If only
//! full segments of new data can follow, they are sent in one loop
//! ([`ControlBlock::send_full`](super::ControlBlock::send_full)).
//!
//! Without header prediction, plain TCP would take 10 % longer.

use super::{Connecting, Sender};
use crate::endpoint::{Endpoint, Transmit, Wake};
use crate::segment::{Flags, Plain};
use crate::tcp::recovery::LossRecovery;
use tailback_base::Time;

impl Sender {
    #[inline]
    pub(super) fn predict_ack(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        let c = &self.block;
        let usual = self.state == Connecting::Open && self.connected_told && !c.is_held();
        // An echo of marks is judged like any ACK by a sender that keeps more than the least.
        let echo = c.keeps_more() && s.flags.without(Flags::ACE) == Flags::ACK;
        let (stamped, plain) = (c.cfg().timestamps, (s.flags == Flags::ACK || echo) && s.payload == 0);
        if !(usual && plain && s.seq > c.una() && s.seq <= c.max_sent() && s.seq < c.end()) {
            return None;
        }
        if stamped != (s.echo != Time::NEVER) {
            return None;
        }
        if c.keeps_more() && c.cfg().controller.facts.colours {
            // The segment to send has a code point, which a plain segment cannot carry.
            return None;
        }
        Some(match (c.keeps_more(), stamped) {
            (false, false) => self.take_plain::<false>(s, now, out),
            (false, true) => self.take_stamped(s, now, out),
            (true, _) => self.take_with_records(s, now, out),
        })
    }

    #[inline(always)]
    fn take_plain<const STAMPED: bool>(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Wake {
        let c = &mut self.block;
        let sampled = self.recovery.may_sample(c, s.seq);
        let echoed = if STAMPED { c.note_stamps(s.sent, s.echo) } else { None };
        let a = c.advance(s.seq, echoed, sampled, false, now);
        let judged = self.recovery.on_ack(c, &a, &[]);
        c.tell_controller(&a, judged, self.limit.limit(), None);
        self.allow_burst();
        if self.recovery.sends_in_order() && now >= self.pace_at && self.block.send_full::<STAMPED>(now, out) {
            self.note_limit(now);
            return Wake {
                timeout: self.block.deadline().min(self.wake),
                not_before: Time::NEVER,
            };
        }
        self.send_rest(now, out)
    }

    #[inline(never)]
    fn take_stamped(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Wake {
        self.take_plain::<true>(s, now, out)
    }

    /// For a connection that keeps more state than a plain one.
    #[inline(never)]
    fn take_with_records(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Wake {
        self.judge::<true>(&s.to_ack(), true, now);
        if self.block.is_held() {
            // After an echo at a window of one segment, nothing is sent until the timer expires.
            return self.send_held(now, out);
        }
        self.send_rest(now, out)
    }

    #[cold]
    fn send_held(&mut self, now: Time, out: &mut Vec<Plain>) -> Wake {
        while let Transmit::Segment(s) = self.poll_held(now) {
            out.push(Plain::of(&s, now));
        }
        Wake {
            timeout: self.next_timeout().unwrap_or(Time::NEVER),
            not_before: Time::NEVER,
        }
    }

    /// Send everything that may leave now.
    #[inline(always)]
    fn send_rest(&mut self, now: Time, out: &mut Vec<Plain>) -> Wake {
        let not_before = loop {
            match self.poll_open(now) {
                Transmit::Segment(s) => out.push(Plain::of(&s, now)),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        Wake {
            timeout: self.next_timeout().unwrap_or(Time::NEVER),
            not_before,
        }
    }
}
