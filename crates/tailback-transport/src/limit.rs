//! The limits of a sender, and the time for which each limit was in effect. A change is recorded at the end of a burst.

use crate::endpoint::SenderReport;
use tailback_base::{Duration, Time};

/// The limit of the sender when it last stopped sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    NotStarted,
    /// The congestion window.
    Network,
    /// The window cap or the advertised window.
    WindowCap,
    /// There were no data to send.
    Application,
}

/// The present limit, and the time since which it has been in effect.
#[derive(Clone, Copy, Debug)]
pub struct LimitClock {
    limit: Limit,
    since: Time,
}

impl LimitClock {
    pub fn new() -> LimitClock {
        LimitClock {
            limit: Limit::NotStarted,
            since: Time::ZERO,
        }
    }

    #[inline]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    #[inline]
    pub fn has_started(&self) -> bool {
        self.limit != Limit::NotStarted
    }

    /// From now on `limit` limits the sender. The time until now is added to the report under the previous limit.
    #[inline]
    pub fn note(&mut self, limit: Limit, now: Time, report: &mut SenderReport) {
        if limit != self.limit {
            charge(report, self.limit, now.since(self.since));
            *self = LimitClock { limit, since: now };
        }
    }

    /// The report at `now`.
    pub fn report(&self, mut so_far: SenderReport, now: Time) -> SenderReport {
        charge(&mut so_far, self.limit, now.since(self.since));
        so_far
    }
}

fn charge(r: &mut SenderReport, limit: Limit, time: Duration) {
    match limit {
        Limit::NotStarted => {}
        Limit::Network => r.limited_by_network += time,
        Limit::WindowCap => r.limited_by_window_cap += time,
        Limit::Application => r.limited_by_application += time,
    }
}
