//! The allowances of Linux's pacer (net/ipv4/tcp_output.c): one for the beginning of a connection, and one for late
//! segments.

use super::ControlBlock;
use crate::tcp::congestion::ControlForm;
use tailback_base::Duration;

/// The number of first data segments that are not paced.
const UNPACED: u64 = 10;

impl ControlBlock {
    /// The part of the time `takes` of a segment that does not count, if this segment has just left `late` after the
    /// time of the pacer. In the form of Linux it is all of `takes` for the first segments. For later segments it is
    /// the lateness, up to half of `takes`.
    #[inline]
    pub fn pacing_credit(&self, takes: Duration, late: Duration) -> Duration {
        if self.cfg.window.form != ControlForm::Linux {
            return Duration::ZERO;
        }
        let first = self.report.sent_packets < UNPACED;
        if first { takes } else { late.min(Duration(takes.0 / 2)) }
    }
}
