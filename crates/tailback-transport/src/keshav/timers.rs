//! A retransmission timer for each packet, with one estimate of the round trip.
//!
//! From Keshav's thesis, chapter 6: the timeout is `beta` times a smoothed round trip, samples are also taken from
//! retransmitted packets (from their first transmission), and repeated expiry backs off. That each packet has a timer,
//! not the oldest alone, is inferred: if a burst of losses were repaired at one packet a timeout, a source would stop
//! for minutes, and the published throughputs would not be possible.
//!
//! Not stated there and chosen here (see `docs/decisions/keshav-sources.md`): the first estimate is max(`rtt0`,
//! `rtt0_path` x the round trip of the empty path); a timeout is at least `rto_min`; with backoff it is at most
//! `rto_max` or `rto_max_factor` x the first timeout, whichever is larger; an acknowledgement that advances ends all
//! backoff, but leaves running timers alone.
//!
//! State: the estimate, and the earliest time any timer may expire. An acknowledgement does not change the latter, so
//! it costs nothing here; when that time comes, all packets are checked.

use super::config::Config;
use super::state::{Ack, SenderState};
use crate::segment::Segment;
use tailback_base::{Duration, Time};

pub struct PacketTimers {
    /// Smoothed round trip, seconds.
    rtt: f64,
    /// No timeout is longer, seconds.
    longest: f64,
    earliest: Time,
    /// Some packet may be backed off.
    backed_off: bool,
    /// Packets whose timer expired and that were not sent again yet.
    due: usize,
}

impl PacketTimers {
    /// `base` is the round trip of the empty path.
    pub fn new(cfg: &Config, base: Duration) -> PacketTimers {
        let rtt = cfg.first_estimate(base);
        PacketTimers {
            rtt,
            longest: cfg.longest_timeout(cfg.beta * rtt),
            earliest: Time::NEVER,
            backed_off: false,
            due: 0,
        }
    }

    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// Without backoff, seconds.
    pub fn timeout(&self, cfg: &Config) -> f64 {
        (cfg.beta * self.rtt).max(cfg.rto_min).min(self.longest)
    }

    pub fn earliest(&self) -> Time {
        self.earliest
    }

    pub fn on_ack(&mut self, a: &Ack, state: &mut SenderState, now: Time) {
        if !a.advances {
            return;
        }
        if let Some(p) = a.mover {
            let m = state.cfg.ticks(p.first_sent, now);
            self.rtt += state.cfg.gain * (m - self.rtt);
        }
        if std::mem::take(&mut self.backed_off) {
            state.sent.iter_mut().for_each(|p| p.backoff = 1.0);
        }
        if self.due > 0 {
            // Some of those that waited to be sent again are acknowledged now.
            self.due = state.sent.iter().filter(|(_, p)| p.due).count();
        }
    }

    /// Packet `number` leaves now.
    pub fn start(&mut self, number: u64, state: &mut SenderState, now: Time) {
        let SenderState { cfg, sent, .. } = state;
        let timeout = self.timeout(cfg);
        if let Some(p) = sent.get_mut(number) {
            p.deadline = cfg.on_tick(now + Duration::from_seconds((timeout * p.backoff).min(self.longest)));
            self.earliest = self.earliest.min(p.deadline);
        }
    }

    /// Find the packets whose time has come, and answer whether there are any.
    pub fn expire(&mut self, state: &mut SenderState, now: Time) -> bool {
        let (use_echo, factor) = (state.cfg.use_echo, state.cfg.backoff);
        self.earliest = Time::NEVER;
        let mut expired = 0;
        for p in state.sent.iter_mut() {
            if (use_echo && p.heard) || p.due {
                continue;
            }
            if p.deadline <= now {
                p.due = true;
                p.backoff *= factor;
                expired += 1;
            } else {
                self.earliest = self.earliest.min(p.deadline);
            }
        }
        self.due += expired;
        self.backed_off |= expired > 0;
        state.report.timeouts += expired as u64;
        expired > 0
    }

    /// The oldest packet to be sent again.
    pub fn resend(&mut self, state: &mut SenderState, now: Time) -> Option<Segment> {
        while self.due > 0 {
            let Some((number, heard)) = state.sent.iter().find(|(_, p)| p.due).map(|(n, p)| (n, state.knows(p))) else {
                self.due = 0;
                break;
            };
            self.due -= 1;
            if heard {
                if let Some(p) = state.sent.get_mut(number) {
                    p.due = false;
                }
                continue;
            }
            let s = state.again(number);
            self.start(number, state, now);
            return s;
        }
        None
    }

    /// Whether something is to be sent again.
    pub fn has_due(&self) -> bool {
        self.due > 0
    }
}
