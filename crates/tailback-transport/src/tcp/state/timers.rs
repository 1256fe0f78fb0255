//! The clocks of a sender: the retransmission timer, the round trip being timed, and the beginning of an idle period.

use super::rto::Rto;
use super::sequence::NONE;
use crate::tcp::config::Config;
use tailback_base::Time;

pub(super) struct Timers {
    pub rto: Rto,
    /// When the retransmission timer expires; [`Time::NEVER`] when it is off.
    pub deadline: Time,
    /// The end of the segment being timed; [`NONE`] if no segment is timed.
    pub timed_end: u64,
    /// The time at which the timed segment was sent.
    pub timed_at: Time,
    pub last_sent: Time,
    /// When everything written was acknowledged; [`Time::NEVER`] while there is something to send.
    pub empty_since: Time,
}

impl Timers {
    pub fn new(cfg: &Config) -> Timers {
        Timers {
            rto: Rto::new(cfg),
            deadline: Time::NEVER,
            timed_end: NONE,
            timed_at: Time::ZERO,
            last_sent: Time::ZERO,
            empty_since: Time::NEVER,
        }
    }

    /// Time the segment that ends at `end`.
    #[inline]
    pub fn time(&mut self, end: u64, now: Time) {
        (self.timed_end, self.timed_at) = (end, now);
    }

    #[inline]
    pub fn stop_timing(&mut self) {
        self.timed_end = NONE;
    }

    #[inline]
    pub fn restart(&mut self, cfg: &Config, now: Time) {
        self.deadline = now + self.rto.timeout(cfg);
    }

    /// Whether the connection has been idle long enough to restart with a small window. By RFC 5681 section 4.1 this is
    /// after an idle time longer than the RTO. The parameters may give another time, which begins when everything
    /// written is acknowledged. A sender with one segment outstanding has nothing in the network at each ACK, but it is
    /// not idle.
    pub fn has_rested(&mut self, cfg: &Config, now: Time) -> bool {
        let rested = match cfg.idle_after {
            None => now.since(self.last_sent) > self.rto.timeout(cfg),
            Some(least) => self.empty_since != Time::NEVER && now.since(self.empty_since) >= least,
        };
        self.empty_since = Time::NEVER;
        rested
    }
}
