//! The tail loss probe (RFC 8985 section 7): a loss at the end of a flight does not wait for the retransmission timer.
//!
//! ```text
//!           new data sent,                   two round trips of silence:
//!           or an ACK of new data            the next segment, or the last again
//!    Idle -------------------------> Armed -------------------------------------> Probe out
//!      ^                                                                             |
//!      '---------- its answer; a repeat that repaired a loss costs a reduction ------'
//! ```
//!
//! If the last segments of a flight are lost, no later segment can show the loss. The probe is such a later segment.
//! Its answer starts recovery by the clock of `rack.rs`, or shows that only the last segment was lost, which the probe
//! has repaired. At most one probe is outstanding at a time. A new probe needs a round-trip sample since the last one
//! (not in Linux).
//!
//! The state is 40 bytes. Departure: if a probe may not be sent, there is no wait for it either, so the time of the
//! retransmission timer is unchanged.

use crate::tcp::config::RackForm;
use crate::tcp::state::{ControlBlock, Piece};
use tailback_base::{Duration, Time};

/// The additional time that Linux waits before it assumes a loss, which is two ticks of its clock.
pub const LINUX_SLACK: Duration = Duration::from_millis(2);

/// Section 7.2: "PTO = 2 * SRTT".
const ROUND_TRIPS: u64 = 2;

#[derive(Clone, Debug, Default)]
pub struct Tlp {
    /// The end of the data that had been sent by the time of the probe, while a probe is outstanding (`TLP.end_seq`).
    end: Option<u64>,
    /// The segment that the probe repeated (`TLP.is_retrans`).
    again: Option<(u64, u64)>,
    /// No round trip has been measured since the last probe.
    unmeasured: bool,
    /// The time at which new data was last acknowledged.
    heard_at: Time,
    /// Whether a probe is the next segment to leave.
    due: bool,
    /// The end of the data for which a probe has already been sent.
    probed: u64,
}

impl Tlp {
    /// The time at which to probe, while nothing is missing; `NEVER` if no probe may be sent.
    pub fn deadline(&self, c: &ControlBlock) -> Time {
        let idle = c.outstanding() == 0 || c.sacked_bytes() > 0 || c.max_sent() <= self.probed;
        let Some(srtt) = c.rto().srtt().filter(|_| !idle && c.cfg().repair.tlp) else {
            return Time::NEVER;
        };
        if self.due || self.end.is_some() || self.unmeasured {
            return Time::NEVER;
        }
        let cfg = c.cfg();
        let alone = c.outstanding() <= u64::from(cfg.payload);
        let slack = match cfg.repair.rack_form {
            // Section 7.2: "If FlightSize is one segment, allow for a delayed ACK".
            _ if alone => cfg.repair.tlp_ack_delay,
            RackForm::Rfc8985 => Duration::ZERO,
            RackForm::Linux => LINUX_SLACK,
        };
        let silence = Duration(ROUND_TRIPS * srtt.0 + slack.0);
        // Section 7.2: never later than the retransmission timer.
        (self.heard_at.max(c.last_sent()) + silence).min(c.deadline())
    }

    pub fn fire(&mut self, c: &ControlBlock) {
        self.due = true;
        self.probed = c.max_sent();
    }

    /// The probe, if one is due: it is new data beyond the congestion window, or otherwise the highest segment again.
    pub fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        let fresh = c.next_within_limit();
        let last = c.records().and_then(|r| r.last());
        let probe = fresh.or_else(|| last.map(|(seq, end)| c.between(seq, end)))?;
        self.again = fresh.is_none().then_some((probe.seq, probe.end()));
        self.end = Some(c.max_sent().max(probe.end()));
        self.probed = c.max_sent().max(probe.end());
        self.unmeasured = c.cfg().repair.rack_form == RackForm::Rfc8985;
        Some(probe)
    }

    /// Take an ACK of new data. `measured` says whether it measured the round trip.
    pub fn heard(&mut self, measured: bool, now: Time) {
        self.heard_at = now;
        self.unmeasured &= !measured;
        self.probed = 0;
        self.due = false;
    }

    /// Whether a reported duplicate is the segment that the probe repeated.
    pub fn was_sent_again(&self, duplicate: (u64, u64)) -> bool {
        self.end.is_some() && self.again.is_some_and(|p| p.0 < duplicate.1 && duplicate.0 < p.1)
    }

    /// Take an ACK up to `una`. Returns true if a probe has repaired a loss, which is a sign of congestion (section
    /// 7.4). With `twice` the segment arrived twice, so nothing was lost.
    pub fn answered(&mut self, una: u64, moved: bool, twice: bool) -> bool {
        let Some(end) = self.end.filter(|end| una >= *end) else {
            return false;
        };
        if self.again.is_none() || twice {
            self.end = None;
            return false;
        }
        let repaired = moved && una > end;
        if repaired {
            self.end = None;
        }
        repaired
    }

    /// Drop the probe. From now on recovery or the timer decides.
    pub fn forget(&mut self) {
        self.end = None;
        self.due = false;
    }
}
