//! The allowances of Linux's pacer (net/ipv4/tcp_output.c): for the beginning of a connection, and for lateness.

use super::ControlBlock;
use crate::tcp::congestion::ControlForm;
use tailback_base::Duration;

/// The number of first data segments that are not paced.
const UNPACED: u64 = 10;

impl ControlBlock {
    /// What a segment that has just left, `late` after the pacer would have let it go, may take off its time `takes`:
    /// in the form of Linux all of it at first, then what it was late, up to half.
    #[inline]
    pub fn pacing_credit(&self, takes: Duration, late: Duration) -> Duration {
        if self.cfg.window.form != ControlForm::Linux {
            return Duration::ZERO;
        }
        let first = self.report.sent_packets < UNPACED;
        if first { takes } else { late.min(Duration(takes.0 / 2)) }
    }
}
