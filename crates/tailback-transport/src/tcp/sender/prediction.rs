//! Header prediction at the sender (Jacobson 1990, "4BSD TCP header prediction"): an ACK of new data on an open connection, and
//! all that it lets go, in one call in place of one for the ACK and one for each segment.
//!
//! The same steps as [`Endpoint::on_segment`](crate::Endpoint::on_segment) and
//! [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit) take, without what such an ACK cannot need. Where nothing
//! but full segments of new data can follow, they leave in one loop ([`ControlBlock::send_full`](super::ControlBlock::send_full)).
//!
//! What would be lost without: 10 % of the time of plain TCP.

use super::{Sender, State};
use crate::endpoint::{Transmit, Wake};
use crate::segment::{Flags, Plain};
use crate::tcp::recovery::{LossRecovery, Recovery};
use tailback_base::Time;

impl Sender {
    #[inline]
    pub(super) fn predict_ack(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        let c = &self.block;
        let usual = self.state == State::Open && self.connected_told && !c.keeps_more() && !c.is_held();
        let plain = s.flags == Flags::ACK && s.payload == 0 && !c.cfg().timestamps;
        if !(usual && plain && s.seq > c.una() && s.seq <= c.max_sent() && s.seq < c.end()) {
            return None;
        }
        let c = &mut self.block;
        let sampled = self.recovery.may_sample(c, s.seq);
        let a = c.advance(s.seq, None, sampled, false, now);
        let judged = self.recovery.on_ack(c, &a, &[]);
        c.tell_controller(&a, judged, self.limit.limit(), None);
        self.allow_burst();
        let in_order = matches!(
            self.recovery,
            Recovery::Tahoe(_) | Recovery::Reno(_) | Recovery::NewReno(_)
        );
        if in_order && now >= self.pace_at && self.block.send_full(now, out) {
            self.note_limit(now);
            return Some(Wake {
                timeout: self.block.deadline().min(self.wake),
                not_before: Time::NEVER,
            });
        }
        let not_before = loop {
            match self.poll_open(now) {
                Transmit::Segment(s) => out.push(Plain {
                    seq: s.seq,
                    payload: s.payload,
                    bytes: s.bytes,
                    flags: s.flags,
                    ecn: s.ecn,
                }),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        Some(Wake {
            timeout: self.block.deadline().min(self.wake),
            not_before,
        })
    }
}
