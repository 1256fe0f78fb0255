//! Reductions that are spread over a round trip (RFC 9937), for connections with this option.

use super::{Ack, ControlBlock, Judged};
use crate::tcp::config::{PrrUse, RackForm};
use crate::tcp::congestion::{Halve, Phase};
use crate::tcp::recovery::Algorithm;
use crate::tcp::recovery::prr::{Prr, PrrAck};

impl ControlBlock {
    /// Spread reductions for a controller that responds to losses, if the parameters select this.
    pub(super) fn spread_reductions(&mut self) {
        if self.cfg.repair.prr != PrrUse::Off && self.cfg.controller.facts.spreads {
            self.prr = Some(Box::new(Prr::new(self.cfg.repair.prr_bound, self.cfg.payload)));
        }
    }

    /// Spread reductions for a controller that takes over, with `sacked` bytes reported. A reduction in progress
    /// continues. It ends if the reductions of the new controller are not spread.
    pub(super) fn go_on_spreading(&mut self, sacked: u64) {
        if !self.cfg.controller.facts.spreads {
            self.prr = None;
        } else if self.prr.is_none() {
            self.spread_reductions();
            let (una, duplicates, outstanding) = (self.seq.una, self.window.duplicates, self.outstanding());
            if let Some(p) = &mut self.prr {
                let sack = self.cfg.sack;
                let reported = if sack {
                    sacked
                } else {
                    p.claim(0, duplicates, outstanding)
                };
                p.count(una, reported);
            }
        }
    }

    /// Begin to spread a reduction of the window, which was `window` bytes. With `halve = "cwnd"` it is spread from
    /// this amount, and otherwise from the amount in the network.
    pub(super) fn begin_spreading(&mut self, window: f64) {
        let at_start = match self.cfg.window.halve {
            Halve::Cwnd => window as u64,
            Halve::Flight => 0,
        };
        // Without SACK the reduction lasts until something above the outstanding data is acknowledged.
        let beyond = u64::from(self.cfg.recovery == Algorithm::Counted);
        if let Some(p) = &mut self.prr {
            p.begin(at_start, self.seq.max_sent + beyond);
        }
    }

    pub(super) fn end_spreading(&mut self) {
        if let Some(p) = &mut self.prr {
            p.end();
        }
    }

    /// Whether a reduction is being spread.
    #[inline]
    pub fn is_spreading(&self) -> bool {
        self.prr.as_ref().is_some_and(|p| p.is_active())
    }

    /// The bytes that may be in the network until the next ACK, while a reduction is spread.
    pub fn spread_window(&self) -> Option<u64> {
        self.prr.as_ref().filter(|p| p.is_active()).map(|p| p.window())
    }

    /// While a reduction is spread, set the allowed amount from the last ACK.
    pub(super) fn allow_spread(&mut self) {
        if let Some(p) = &self.prr
            && p.is_active()
        {
            let most = self.window.limit.min(1e18) as u64;
            self.window.allowed = (self.flight() + p.left()).min(most);
        }
    }

    /// Take a judged ACK with `sacked` bytes reported above it, for a reduction in progress. While the reduction lasts,
    /// the window does not grow.
    pub fn spread(&mut self, a: &Ack, judged: Judged, sacked: u64) -> Judged {
        let outstanding = self.outstanding();
        let resend = if self.resend_is_due() {
            u64::from(self.cfg.payload)
        } else {
            0
        };
        let (duplicates, ssthresh, una) = (self.window.duplicates, self.control.ssthresh(), self.seq.una);
        let loses = self.newly_lost > self.lost_by_timer;
        // Linux takes the delivered amount from its records, which also count segments that arrive twice.
        let linux = self.cfg.repair.rack_form == RackForm::Linux;
        let newly = self.sent.as_ref().filter(|_| linux).map(|list| list.newly());
        let Some(p) = &mut self.prr else { return judged };
        let (reported, pipe) = if self.cfg.sack || self.cfg.recovery == Algorithm::Counted {
            (sacked, judged.pipe)
        } else {
            let claimed = p.claim(a.bytes, duplicates, outstanding);
            (claimed, outstanding - claimed)
        };
        let counted = p.count(una, reported);
        let delivered = newly.unwrap_or(counted);
        if !p.is_active() {
            return judged;
        }
        let ack = PrrAck {
            delivered,
            // The segment that is sent next already counts.
            pipe: pipe.saturating_sub(resend),
            ssthresh,
            moved: a.bytes > 0,
            loses,
        };
        p.answer(&ack, (outstanding - reported.min(outstanding)) + delivered);
        Judged {
            phase: if judged.phase == Phase::Open {
                Phase::Recovery
            } else {
                judged.phase
            },
            ..judged
        }
    }

    /// The timer of a recovery has judged the losses passed to [`ControlBlock::count_lost`]. These losses do not belong
    /// to the next ACK. If a reduction `begins` with this judgement, Linux counts one segment as delivered.
    pub fn judged_by_timer(&mut self, begins: bool) {
        self.lost_by_timer = self.newly_lost;
        let segment = u64::from(self.cfg.payload);
        let pipe = self.sent.as_ref().map_or(0, |list| list.in_flight());
        let ssthresh = self.control.ssthresh();
        if let Some(p) = &mut self.prr
            && p.is_active()
            && begins
            && self.cfg.repair.rack_form == RackForm::Linux
        {
            let ack = PrrAck {
                delivered: segment,
                pipe,
                ssthresh,
                moved: false,
                loses: true,
            };
            p.answer(&ack, pipe);
        }
    }

    /// A segment of this many bytes is sent, for the first time or again.
    pub(super) fn count_in_spread(&mut self, bytes: u32, again: bool) {
        if let Some(p) = &mut self.prr
            && p.is_active()
        {
            p.sent(bytes);
            if again {
                // A repeated segment is already part of the flight, so the flight does not grow.
                self.window.allowed = self.window.allowed.saturating_sub(u64::from(bytes));
            }
        }
    }
}
