//! What a connection has in the queue of its own host, for connections that limit it (TCP small queues), and the rate
//! at which a host paces those whose congestion control names none.
//!
//! A segment is in the host from when it is sent until the line of the host's port has sent it. While more than a
//! millisecond of the sender's rate is there, the connection sends nothing more, new data or repairs: more would only
//! wait, and neither losses nor marks would tell of it. Two full segments may always be there, and `small_queues` is
//! the limit whatever the rate. Where nothing is outstanding a segment leaves in any case. A window that is not used
//! because of this does not grow. The rate is that of the pacer; without a pacer it is a window for each smoothed round
//! trip, times 2 below half the slow-start threshold and times 1.2 above, which is also what `pacing = "window"` paces
//! at. Before the first round trip is known it has no limit.
//!
//! Source: Linux, Documentation/networking/ip-sysctl, `tcp_limit_output_bytes`, `tcp_pacing_ss_ratio` (200) and
//! `tcp_pacing_ca_ratio` (120); E. Dumazet, "tcp: TCP Small Queues", 2012; "tcp: TSQ can use a dynamic limit", 2013.
//!
//! State: bytes in the host, whether the connection waits for them, and when those will have left that are known to;
//! at most one segment more than the limit. A connection without the option has none of it, and pays one compare a
//! segment.
//!
//! Departures: Linux counts what its buffers take, about twice a short segment, so its limit is up to half of this one
//! in payload. There the limit by number does not hold where the queue paces. What a timeout repeats leaves at once
//! there. A card tells of several packets at once.

use super::ControlBlock;
use crate::tcp::config::HostRules;
use std::collections::VecDeque;
use tailback_base::Time;

/// As much as the rate gives in this time may be in the host, seconds.
const SECONDS: f64 = 1e-3;
/// Full segments that may always be there.
const LEAST: u64 = 2;
/// What multiplies a window for each round trip: below half the threshold, and above.
const RATIOS: [f64; 2] = [2.0, 1.2];

/// What is known of the host.
pub(super) struct Host {
    rules: HostRules,
    /// Bytes of payload that are in the host.
    inside: u64,
    /// Those that are known to leave, and when; in order.
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

    /// When the connection need not wait any more, as far as that is known.
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
    /// Whether it limits what it has in its host.
    pub fn limits_host(&self) -> bool {
        self.host.as_ref().is_some_and(|h| h.rules.most.is_some())
    }

    /// A window for each round trip, bytes per second.
    fn rate_of_window(&self) -> f64 {
        let Some(srtt) = self.timers.rto.srtt().filter(|t| t.0 > 0) else {
            return f64::INFINITY;
        };
        let begins = self.window.cwnd < self.control.ssthresh() / 2.0;
        RATIOS[usize::from(!begins)] * self.window.cwnd / srtt.seconds()
    }

    /// The window has been read: pace by it, if the host does.
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

    /// When it can send again because enough has left the host.
    pub fn host_deadline(&self) -> Time {
        match &self.host {
            Some(h) if h.waits => h.deadline(self.host_limit(h.rules.most.unwrap_or(u64::MAX))),
            _ => Time::NEVER,
        }
    }

    /// A segment with so much data is sent.
    pub(super) fn count_in_host(&mut self, bytes: u32) {
        if let Some(h) = self.host.as_mut().filter(|h| h.rules.most.is_some()) {
            h.inside += u64::from(bytes);
        }
    }

    /// The time until which it waits has come.
    pub fn stop_waiting_for_host(&mut self, now: Time) {
        if now >= self.host_deadline()
            && let Some(h) = &mut self.host
        {
            h.waits = false;
        }
    }

    /// A segment with so much data will have left the host then.
    pub fn leaves_host(&mut self, bytes: u32, at: Time) {
        if let Some(h) = self.host.as_mut().filter(|h| h.rules.most.is_some()) {
            let behind = h.leaving.partition_point(|l| l.0 <= at);
            h.leaving.insert(behind, (at, bytes));
        }
    }
}
