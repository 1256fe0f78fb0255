//! The change of the congestion control of an open connection, with the state that the connection keeps for the
//! control.

use super::{ControlBlock, FIRST};
use crate::tcp::config::Config;
use crate::tcp::congestion::{CongestionControl, Handover, Phase};
use crate::tcp::recovery::Known;
use crate::tcp::recovery::sent::{Keep, SentList};
use std::sync::Arc;
use tailback_base::Time;
use tailback_base::work::done_if_long;

impl ControlBlock {
    /// `control` takes over. The parameters `cfg` differ from the present ones only in the control. Recovery is in this
    /// phase, `known` is its knowledge of the outstanding data, and `sacked` bytes of these data are reported.
    pub fn hand_over(
        &mut self,
        cfg: Arc<Config>,
        mut control: Box<dyn CongestionControl>,
        (phase, known, sacked): (Phase, &Known<'_>, u64),
        now: Time,
    ) {
        let keep = cfg.kept();
        match keep {
            None => self.sent = None,
            Some(keep) if self.sent.is_none() => self.sent = Some(Box::new(self.records_from_now(keep, known, now))),
            // Recovery needs the same records as before, and these include the records that a controller needs.
            Some(_) => {}
        }
        if let Some(list) = &mut self.sent {
            list.tell_losses(cfg.asked.losses);
        }
        let has_sent = self.report.sent_packets > 0;
        // If nothing has happened so far, the new control starts in its initial state.
        if has_sent || self.report.timeouts > 0 {
            control.take_over(&Handover {
                now,
                cwnd: self.control.cwnd(),
                ssthresh: self.control.ssthresh_left(),
                srtt: self.timers.rto.srtt().filter(|_| has_sent),
                least_rtt: self.least_rtt(),
                phase,
                nxt: self.seq.nxt,
                delivered: self.sent.as_ref().map_or(0, |list| list.delivered()),
            });
        }
        self.report.ecn_reductions += self.control.own_reductions();
        (self.cfg, self.control) = (cfg, control);
        self.go_on_spreading(sacked);
        self.look_whether_more();
        self.window.refresh(&*self.control);
        self.allow_spread();
    }

    /// Records that begin with the outstanding data.
    fn records_from_now(&self, keep: Keep, known: &Known<'_>, now: Time) -> SentList {
        let mut list = Self::records_keeping(&self.cfg, keep);
        let (s, mut n) = (&self.seq, 0);
        let first_byte = s.una.max(FIRST);
        let mut edge = first_byte;
        let mut reported = known.reported.iter().filter(|r| r.1 > first_byte).peekable();
        while edge < s.max_sent {
            let next_range = reported.peek().map_or((s.max_sent, s.max_sent), |r| **r);
            let sacked = next_range.0 <= edge;
            let stop = if sacked { next_range.1 } else { next_range.0 };
            // The data that are to be sent again after a timeout count as lost from `nxt` on.
            let stop = if edge < s.nxt { stop.min(s.nxt) } else { stop };
            let end = s.between(edge, stop.min(s.max_sent)).end();
            let lost = !sacked && (edge >= s.nxt || (known.lost.0 <= edge && edge < known.lost.1));
            list.found(edge, end, sacked, lost, now);
            (edge, n) = (end, n + 1);
            if end >= next_range.1 {
                reported.next();
            }
        }
        done_if_long(n);
        list
    }
}
