//! The data of a connection in the queue of its own host, for connections that limit these data (TCP small queues), and
//! the rate at which a host paces connections whose congestion control sets no rate.
//!
//! A segment is in the host from the time at which it is sent until the line of the host's port has sent it. While more
//! than a millisecond of the sender's rate is in the host, the connection sends neither new data nor repairs. More data
//! would only wait, and neither losses nor marks would show this. Two full segments may always be in the host, and
//! `small_queues` is the limit for any rate. If nothing is outstanding, a segment leaves in any case. A window that is
//! not used because of this limit does not grow. The rate is that of the pacer. Without a pacer it is a window for each
//! smoothed round trip, times 2 below half the slow-start threshold and times 1.2 above. This is also the rate of
//! `pacing = "window"`. Before the first round trip is known the rate has no limit.
//!
//! Source: Linux, Documentation/networking/ip-sysctl, `tcp_limit_output_bytes`, `tcp_pacing_ss_ratio` (200) and
//! `tcp_pacing_ca_ratio` (120); E. Dumazet, "tcp: TCP Small Queues", 2012; "tcp: TSQ can use a dynamic limit", 2013.
//!
//! The state is the bytes in the host, whether the connection waits for these bytes, and the known times at which bytes
//! will have left. The bytes in the host exceed the limit by at most one segment. A connection without the option has
//! none of this state, and costs one compare per segment.
//!
//! Departures: Linux counts the size of its buffers, about twice a short segment, so its limit in payload may be only
//! half of this one. In Linux the limit by number does not hold if the queue paces. Repeats after a timeout leave at
//! once in Linux. A network card there reports several packets at once.

use super::ControlBlock;
use crate::tcp::config::HostRules;
use std::collections::VecDeque;
use tailback_base::Time;

/// The bytes of the rate in this time (seconds) may be in the host.
const SECONDS: f64 = 1e-3;
/// The number of full segments that may always be in the host.
const LEAST: u64 = 2;
/// The factors of the rate of a window for each round trip: below half the threshold, and above.
const RATIOS: [f64; 2] = [2.0, 1.2];

/// The state of the host, as far as it is known.
pub(super) struct Host {
    rules: HostRules,
    /// Bytes of payload that are in the host.
    inside: u64,
    /// The bytes that are known to leave, with their times, in order.
    leaving: VecDeque<(Time, u32)>,
    waits: bool,
}

impl Host {
    pub fn of(rules: HostRules) -> Option<Box<Host>> {
        (rules.most.is_some() || rules.paces).then(|| {
            Box::new(Host {
                rules,
                inside: 0,
                leaving: VecDeque::new(),
                waits: false,
            })
        })
    }

    fn drain(&mut self, now: Time) {
        while let Some(&(_, bytes)) = self.leaving.front().filter(|l| l.0 <= now) {
            self.leaving.pop_front();
            self.inside = self.inside.saturating_sub(u64::from(bytes));
        }
    }

    /// The time from which the connection need not wait any more, as far as this is known.
    fn deadline(&self, limit: u64) -> Time {
        let mut inside = self.inside;
        let enough = self.leaving.iter().find(|(_, bytes)| {
            inside = inside.saturating_sub(u64::from(*bytes));
            inside <= limit
        });
        enough.map_or(Time::NEVER, |l| l.0)
    }
}

impl ControlBlock {
    /// Whether the connection limits its data in the host.
    pub fn limits_host(&self) -> bool {
        self.host.as_ref().is_some_and(|h| h.rules.most.is_some())
    }

    /// The rate of a window for each round trip, bytes per second.
    fn rate_of_window(&self) -> f64 {
        let Some(srtt) = self.timers.rto.srtt().filter(|t| t.0 > 0) else {
            return f64::INFINITY;
        };
        let begins = self.window.cwnd < self.control.ssthresh() / 2.0;
        RATIOS[usize::from(!begins)] * self.window.cwnd / srtt.seconds()
    }

    /// Pace by the window that has just been read, if the host paces.
    #[inline]
    pub(super) fn pace_by_window(&mut self) {
        if self.host.as_ref().is_some_and(|h| h.rules.paces) && self.control.pacing().is_none() {
            self.window.pace = self.rate_of_window();
            self.window.unpaced = self.window.pace;
        }
    }

    /// The most that may be in the host.
    fn host_limit(&self, most: u64) -> u64 {
        let rate = match self.window.pace {
            f64::INFINITY => self.rate_of_window(),
            pace => pace,
        };
        let least = LEAST * u64::from(self.cfg.payload);
        // The conversion saturates.
        ((rate * SECONDS) as u64).min(most).max(least)
    }

    /// Whether the next segment has to wait until others have left the host.
    #[inline]
    pub fn waits_for_host(&mut self, now: Time) -> bool {
        match &self.host {
            Some(h) if h.rules.most.is_some() => self.look_into_host(now),
            _ => false,
        }
    }

    #[inline(never)]
    fn look_into_host(&mut self, now: Time) -> bool {
        let limit = self
            .host
            .as_ref()
            .and_then(|h| h.rules.most)
            .map(|most| self.host_limit(most));
        let outstanding = self.seq.una < self.seq.max_sent;
        let (Some(h), Some(limit)) = (&mut self.host, limit) else {
            return false;
        };
        h.drain(now);
        h.waits = outstanding && h.inside > limit;
        h.waits
    }

    /// When the connection can send again because enough data have left the host.
    pub fn host_deadline(&self) -> Time {
        match &self.host {
            Some(h) if h.waits => h.deadline(self.host_limit(h.rules.most.unwrap_or(u64::MAX))),
            _ => Time::NEVER,
        }
    }

    /// A segment with this much data is sent.
    pub(super) fn count_in_host(&mut self, bytes: u32) {
        if let Some(h) = self.host.as_mut().filter(|h| h.rules.most.is_some()) {
            h.inside += u64::from(bytes);
        }
    }

    /// End the wait for the host if its time has come.
    pub fn stop_waiting_for_host(&mut self, now: Time) {
        if now >= self.host_deadline()
            && let Some(h) = &mut self.host
        {
            h.waits = false;
        }
    }

    /// A segment with this much data will have left the host at the instant `at`.
    pub fn leaves_host(&mut self, bytes: u32, at: Time) {
        if let Some(h) = self.host.as_mut().filter(|h| h.rules.most.is_some()) {
            let behind = h.leaving.partition_point(|l| l.0 <= at);
            h.leaving.insert(behind, (at, bytes));
        }
    }
}
