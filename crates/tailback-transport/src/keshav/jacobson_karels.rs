//! The Jacobson-Karels source: slow start, congestion avoidance, fast retransmit, mean and deviation.
//!
//! The source is Jacobson and Karels, Congestion Avoidance and Control, 1988, as used in Keshav's thesis, chapter 6.
//! The window opens exponentially, then linearly, and drops to one on a loss. There is no fast recovery.
//!
//! ```text
//! advance:    win = min(wmax, win + (1 if win < ssthresh else 1/win));  duplicates = 0
//! duplicate:  the `dupthresh`-th in a row shuts the window and sends the oldest packet again
//! timeout:    shuts the window, doubles the backoff, and goes back to the oldest packet
//! shut:       ssthresh = max(2, min(win, wmax) / 2);  win = `shut_window`
//! ```
//!
//! After duplicates the next packet to send does not change, as in 4.3BSD-Tahoe. A second loss in the same window
//! therefore waits for the timer. The expiry of this timer sets the threshold from a window of one or two. With
//! `go_back` the source also goes back after duplicates.
//!
//! One timer runs for the oldest packet. It lasts (mean + k x deviation) x backoff, and restarts with each
//! acknowledgement that advances. With `timer = "packet"` each packet has its own timer, started at its own
//! transmission, and the timer of the oldest one counts. Packets that were sent again yield no samples (Karn), and an
//! acknowledgement of such a packet does not change the backoff. If it ended the backoff, a path whose round trip
//! exceeds the first timeout would never yield a sample, because every packet would always be sent twice.
//!
//! With `repair = "timers"` only the windows are those of Jacobson and Karels. Each packet has a timer as in a generic
//! source ([`super::timers`]), and is sent again when this timer expires. An expiry also shuts the window. The
//! `dupthresh`-th duplicate shuts the window and repeats nothing. `k`, `timer`, `go_back` and `first_samples` then have
//! no effect on repeats.
//!
//! The sources leave some points open, and the choices are ours (see `docs/decisions/keshav-sources.md`). The window
//! grows once per acknowledgement. The first slow-start threshold is `wmax`. The first sample m gives mean m and
//! deviation m/2. Until there are `first_samples` samples, a timeout is at least the first estimate of
//! [`super::timers`]. When the source goes back after a timeout, it skips packets that an acknowledgement named (with
//! `use_echo`). The limits of the timeout are those of [`super::timers`].
//!
//! The state is window and threshold, the number of duplicates, mean and deviation, and one deadline.

use super::config::{Config, JacobsonKarelsConfig};
use super::generic::send_within;
use super::outstanding::Role;
use super::params::JACOBSON_KARELS_PROBES;
use super::sender::FlowControl;
use super::state::{AckSeen, SenderState};
use super::timers::PacketTimers;
use crate::endpoint::Transmit;
use tailback_base::{Duration, ProbeDef, Time};

pub struct JacobsonKarels {
    own: JacobsonKarelsConfig,
    wmax: f64,
    win: f64,
    ssthresh: f64,
    duplicates: u32,
    /// The next packet to send: a new packet, or one that is sent again while the source goes back.
    nxt: u64,
    /// The oldest packet is sent again at once, independent of the window.
    resend: bool,
    /// Seconds.
    mean: f64,
    deviation: f64,
    samples: u32,
    first_estimate: f64,
    backoff: f64,
    deadline: Time,
    /// The timers of the repair that replaces the source's own repair.
    timers: Option<Box<PacketTimers>>,
}

impl JacobsonKarels {
    pub fn new(cfg: &Config, own: &JacobsonKarelsConfig, base: Duration) -> JacobsonKarels {
        let first_estimate = cfg.first_estimate(base);
        let wmax = f64::from(cfg.wmax);
        JacobsonKarels {
            own: *own,
            wmax,
            win: own.initial_window.min(wmax),
            ssthresh: own.initial_ssthresh.unwrap_or(wmax),
            duplicates: 0,
            nxt: 0,
            resend: false,
            mean: first_estimate,
            deviation: 0.0,
            samples: 0,
            first_estimate,
            backoff: 1.0,
            deadline: Time::NEVER,
            timers: own.generic_repair.then(|| Box::new(PacketTimers::new(cfg, base))),
        }
    }

    /// The timeout, backoff included, seconds.
    fn timeout(&self, cfg: &Config) -> f64 {
        let mut base = (self.mean + self.own.k * self.deviation).max(cfg.rto_min);
        if self.samples < self.own.first_samples {
            base = base.max(self.first_estimate);
        }
        (base * self.backoff).min(cfg.longest_timeout(self.first_estimate))
    }

    /// When a timer that starts now expires.
    fn expiry(&self, state: &SenderState, now: Time) -> Time {
        state
            .cfg
            .on_tick(now + Duration::from_seconds(self.timeout(&state.cfg)))
    }

    fn restart(&mut self, state: &SenderState, now: Time) {
        self.deadline = match state.sent.get(state.sent.una()) {
            None => Time::NEVER,
            Some(p) if self.own.packet_timer => p.deadline,
            Some(_) => self.expiry(state, now),
        };
    }

    /// Packet `number` has just been sent, again or for the first time.
    fn started(&mut self, number: u64, state: &mut SenderState, now: Time) {
        if self.own.packet_timer {
            let expiry = self.expiry(state, now);
            if let Some(p) = state.sent.get_mut(number) {
                p.deadline = expiry;
            }
        }
        if self.deadline == Time::NEVER || (self.own.packet_timer && number == state.sent.una()) {
            self.restart(state, now);
        }
    }

    fn sample(&mut self, m: f64) {
        if self.samples == 0 {
            (self.mean, self.deviation) = (m, m / 2.0);
        } else {
            let error = m - self.mean;
            self.mean += self.own.mean_gain * error;
            self.deviation += self.own.deviation_gain * (error.abs() - self.deviation);
        }
        self.samples = self.samples.saturating_add(1);
    }

    fn shut(&mut self) {
        self.ssthresh = (self.win.min(self.wmax) / 2.0).max(self.own.min_ssthresh);
        self.win = self.own.shut_window.min(self.wmax);
    }
}

impl FlowControl for JacobsonKarels {
    const PROBES: &'static [ProbeDef] = JACOBSON_KARELS_PROBES;

    fn on_ack(&mut self, a: &AckSeen, state: &mut SenderState, now: Time) {
        if let Some(timers) = &mut self.timers {
            timers.on_ack(a, state, now);
        }
        if a.advances {
            if let Some(p) = a.mover.filter(|p| !p.again) {
                self.sample(state.cfg.ticks(p.first_sent, now));
                self.backoff = 1.0;
            }
            let step = if self.win < self.ssthresh { 1.0 } else { 1.0 / self.win };
            self.win = (self.win + step).min(self.wmax);
            self.duplicates = 0;
            self.resend = false;
            self.nxt = self.nxt.max(state.sent.una());
            if self.timers.is_none() {
                self.restart(state, now);
            }
        } else if a.duplicate {
            self.duplicates += 1;
            if self.duplicates == self.own.dupthresh {
                state.report.fast_retransmits += 1;
                self.shut();
                if self.timers.is_some() {
                    return;
                }
                if self.own.go_back {
                    self.nxt = state.sent.una();
                } else {
                    self.resend = true;
                }
                self.restart(state, now);
            }
        }
    }

    fn next(&mut self, state: &mut SenderState, now: Time) -> Transmit {
        if let Some(timers) = &mut self.timers {
            return send_within(self.win.min(self.wmax), timers, state, now);
        }
        let una = state.sent.una();
        if std::mem::take(&mut self.resend)
            && let Some(s) = state.again(una)
        {
            self.started(una, state, now);
            return Transmit::Segment(s);
        }
        while ((self.nxt - una) as f64) < libm::floor(self.win.min(self.wmax)) {
            let number = self.nxt;
            let s = match state.sent.get(number) {
                Some(p) if state.knows(p) => {
                    self.nxt += 1;
                    continue;
                }
                Some(_) => state.again(number),
                None => state.fresh(Role::Single, now),
            };
            let Some(s) = s else { break };
            self.nxt += 1;
            self.started(number, state, now);
            return Transmit::Segment(s);
        }
        Transmit::Idle
    }

    fn deadline(&self) -> Time {
        self.timers.as_ref().map_or(self.deadline, |timers| timers.earliest())
    }

    fn on_timer(&mut self, state: &mut SenderState, now: Time) {
        if let Some(timers) = &mut self.timers {
            if timers.expire(state, now) {
                self.shut();
                self.duplicates = 0;
            }
            return;
        }
        state.report.timeouts += 1;
        self.shut();
        self.duplicates = 0;
        self.resend = false;
        self.backoff *= state.cfg.backoff;
        self.nxt = state.sent.una();
        if self.own.packet_timer {
            // Everything is sent again, so the old timers of the packets no longer count.
            let at = self.expiry(state, now);
            state.sent.iter_mut().for_each(|p| p.deadline = at);
        }
        self.restart(state, now);
    }

    fn window(&self) -> f64 {
        self.win
    }

    fn round_trip(&self) -> Duration {
        Duration::from_seconds(self.mean)
    }

    fn read(&self, state: &SenderState, probe: &str) -> f64 {
        match probe {
            "win" => self.win,
            "ssthresh" => self.ssthresh,
            "rtt" => self.mean,
            "deviation" => self.deviation,
            "rto" => self.timeout(&state.cfg),
            "outstanding" => state.in_network() as f64,
            _ => f64::NAN,
        }
    }
}
