//! Whether the congestion window limits the sender. As in Linux this is recorded at the end of each burst of new data,
//! and counts for one window of data.
//!
//! If the window was full once, it may grow until all data that were outstanding at that time are acknowledged, even if
//! the application has nothing more to send. Otherwise the largest amount that was outstanding counts. In slow start
//! the window may grow while it is less than twice this amount.
//!
//! The state is 32 bytes. A burst costs a few compares.

use super::{ControlBlock, real};

/// Amounts are bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    limited: bool,
    /// The largest amount outstanding in this window of data.
    most: u64,
    /// The end of the data sent up to the last record. When this end is acknowledged, the next record begins a new
    /// window of data.
    until: u64,
    /// Whether new data has left since the last record.
    pub sent: bool,
}

impl Usage {
    /// Record the end of a burst. `limited` says whether the window limited this burst.
    pub fn note(&mut self, (una, max_sent): (u64, u64), limited: bool) {
        let outstanding = max_sent - una;
        if una >= self.until || limited || (!self.limited && outstanding > self.most) {
            (self.limited, self.most, self.until) = (limited, outstanding, max_sent);
        }
        self.sent = false;
    }

    /// Whether a window of `cwnd` bytes may grow.
    pub fn limits(&self, cwnd: f64, slow_start: bool) -> bool {
        self.limited || (slow_start && cwnd < 2.0 * real(self.most))
    }
}

impl ControlBlock {
    #[inline(always)]
    pub(super) fn is_window_limited(&self, flight: u64) -> bool {
        if self.more
            && let Some(u) = &self.usage
        {
            return self.is_limited_by(u);
        }
        real(flight + u64::from(self.cfg.payload)) > self.window.cwnd || self.seq.nxt < self.seq.max_sent
    }

    #[cold]
    #[inline(never)]
    pub(super) fn is_limited_by(&self, usage: &Usage) -> bool {
        let cwnd = self.window.cwnd;
        usage.limits(cwnd, cwnd < self.control.ssthresh())
    }

    /// Record the end of a burst. `more` says whether there is more to send.
    #[inline(never)]
    pub fn note_usage(&mut self, more: bool) {
        if self.usage.as_ref().is_some_and(|u| u.sent || more) {
            let pipe = self
                .sent
                .as_ref()
                .map_or_else(|| self.flight(), |list| list.in_flight());
            let limited = !self.has_room(pipe);
            let s = (self.seq.una, self.seq.max_sent);
            if let Some(u) = self.usage.as_mut().filter(|u| u.sent || limited) {
                u.note(s, limited);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of ten segments that was full still counts as full while its segments are acknowledged. The next burst
    /// of three shows that the window is not full, so only a window below six may grow.
    #[test]
    fn a_full_window_counts_until_it_is_acknowledged() {
        let mut usage = Usage::default();
        usage.note((0, 10), true);
        assert!(usage.limits(10.0, false));
        usage.note((5, 12), false);
        assert!(usage.limits(10.0, false), "its data is outstanding");
        usage.note((12, 15), false);
        assert!(!usage.limits(10.0, false) && !usage.limits(10.0, true) && usage.limits(5.0, true));
        usage.note((13, 19), false);
        assert!(usage.limits(10.0, true), "six are outstanding");
    }
}
