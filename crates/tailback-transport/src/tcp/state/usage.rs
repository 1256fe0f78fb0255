//! Whether the congestion window limits the sender, as Linux notes it: at the end of each burst of new data, for a
//! window of data from there.
//!
//! A window that was full once lets it grow until all that was outstanding then is acknowledged, also where the
//! application has nothing more to send. Otherwise the most that was outstanding counts: in slow start the window may
//! grow while it is less than twice that.
//!
//! State: 32 bytes. A burst costs a few compares.

use super::{ControlBlock, real};

/// Amounts are bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    limited: bool,
    /// The most outstanding in this window of data.
    most: u64,
    /// The end of the data sent up to the last note; when it is acknowledged, the next note begins a new window of
    /// data.
    until: u64,
    /// New data has left since the last note.
    pub sent: bool,
}

impl Usage {
    /// A burst has ended, `limited` by the window or not.
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

    /// A burst has ended; there is `more` to send.
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

    /// A window of ten segments that was full stays so while its segments are acknowledged; the next burst of three
    /// then says that it is not, and that only a window below six may grow.
    #[test]
    fn a_full_window_counts_until_it_is_acknowledged() {
        let mut u = Usage::default();
        u.note((0, 10), true);
        assert!(u.limits(10.0, false));
        u.note((5, 12), false);
        assert!(u.limits(10.0, false), "its data is outstanding");
        u.note((12, 15), false);
        assert!(!u.limits(10.0, false) && !u.limits(10.0, true) && u.limits(5.0, true));
        u.note((13, 19), false);
        assert!(u.limits(10.0, true), "six are outstanding");
    }
}
