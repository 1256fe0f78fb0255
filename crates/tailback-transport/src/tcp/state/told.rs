//! Events that a controller gets on request: each lost segment, and marks as counts.

use super::ControlBlock;
use crate::tcp::congestion::{EchoRule, Lost, RateSample};
use tailback_base::Time;

impl ControlBlock {
    /// The marked bytes and packets of an ACK that echoes marks and acknowledges this number of bytes.
    #[cold]
    pub(super) fn marked(&mut self, acked: u64) -> (u64, u32) {
        if let Some(counts) = &mut self.counts {
            return counts.hear();
        }
        match self.cfg.controller.facts.echo {
            EchoRule::Rfc3168 => (0, 0),
            EchoRule::EveryAck => (acked, acked.div_ceil(u64::from(self.cfg.payload)) as u32),
        }
    }

    /// Count the marked bytes of an ACK. Returns the sample of the ACK with these bytes, if there is a sample.
    #[cold]
    pub(super) fn with_marks(&mut self, sample: Option<&RateSample>, marked: u64) -> Option<RateSample> {
        if let Some(list) = &mut self.sent {
            list.count_marked(marked);
        }
        sample.map(|sample| RateSample {
            marked: sample.marked + marked,
            ..*sample
        })
    }

    /// Report the segments that were judged lost to the controller, if the controller requires this.
    #[inline]
    pub fn tell_losses(&mut self, now: Time) {
        if self.more
            && let Some(list) = &mut self.sent
        {
            let control = &mut self.control;
            list.take_losses(now, |lost| control.on_lost(lost));
        }
    }

    /// A segment is sent while nothing is outstanding. The controller gets this event, because the controller may set
    /// the pace.
    #[cold]
    pub(super) fn begin_sending(&mut self, now: Time) {
        self.control.sending_begins(now, self.timers.rto.srtt());
        self.window.refresh(&*self.control);
    }

    /// Report a lost tail, whose record no longer exists, to a controller that requires losses.
    pub(super) fn tell_of_tail(&mut self, flight: u64, now: Time) {
        let segment = u64::from(self.cfg.payload);
        if self.cfg.asked.losses {
            self.control.on_lost(&Lost {
                now,
                seq: self.seq.una.saturating_sub(segment),
                bytes: segment,
                in_flight_at_send: flight,
                lost_since_send: segment,
                delivered: self.sent.as_ref().map_or(0, |list| list.delivered()),
                application_limited: false,
                new_range: true,
                by_probe: true,
            });
        }
    }
}
