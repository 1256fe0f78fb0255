//! The generic source: a fixed window, and a timer for each packet or one timer for the oldest packet.
//!
//! The source is Keshav's thesis, chapter 6, in which "generic" stands for the flow control of many networks of the
//! time. The window is always `wmax`, and only a timer detects a loss. See [`super::timers`] for a timer for each
//! packet, and [`super::oldest_timer`] for one timer.

use super::config::Config;
use super::oldest_timer::OldestTimer;
use super::outstanding::Role;
use super::params::WINDOW_PROBES;
use super::sender::FlowControl;
use super::state::{AckSeen, SenderState};
use super::timers::{PacketTimers, PathEstimate};
use crate::endpoint::Transmit;
use tailback_base::{Duration, ProbeDef, Time};

pub struct Generic {
    window: u32,
    timers: SourceTimers,
}

/// Which packets have a timer.
enum SourceTimers {
    Each(PacketTimers),
    Oldest(OldestTimer),
}

impl Generic {
    pub fn new(cfg: &Config, base: Duration) -> Generic {
        Generic {
            window: cfg.wmax,
            timers: match cfg.one_timer {
                false => SourceTimers::Each(PacketTimers::new(cfg, base)),
                true => SourceTimers::Oldest(OldestTimer::new(cfg, base)),
            },
        }
    }
}

impl FlowControl for Generic {
    const PROBES: &'static [ProbeDef] = WINDOW_PROBES;

    fn on_ack(&mut self, a: &AckSeen, state: &mut SenderState, now: Time) {
        match &mut self.timers {
            SourceTimers::Each(timers) => timers.on_ack(a, state, now),
            SourceTimers::Oldest(timer) => timer.on_ack(a, state, now),
        }
    }

    fn next(&mut self, state: &mut SenderState, now: Time) -> Transmit {
        let timer = match &mut self.timers {
            SourceTimers::Each(timers) => return send_within(f64::from(self.window), timers, state, now),
            SourceTimers::Oldest(timer) => timer,
        };
        if let Some(s) = timer.resend(state, now) {
            return Transmit::Segment(s);
        }
        if state.sent.len() < self.window as usize
            && let Some(s) = state.fresh(Role::Single, now)
        {
            timer.sent(state, now);
            return Transmit::Segment(s);
        }
        Transmit::Idle
    }

    fn deadline(&self) -> Time {
        match &self.timers {
            SourceTimers::Each(timers) => timers.earliest(),
            SourceTimers::Oldest(timer) => timer.deadline,
        }
    }

    fn on_timer(&mut self, state: &mut SenderState, now: Time) {
        match &mut self.timers {
            SourceTimers::Each(timers) => {
                timers.expire(state, now);
            }
            SourceTimers::Oldest(timer) => timer.expire(state, now),
        }
    }

    fn window(&self) -> f64 {
        f64::from(self.window)
    }

    fn round_trip(&self) -> Duration {
        Duration::from_seconds(self.estimate().rtt())
    }

    fn read(&self, state: &SenderState, probe: &str) -> f64 {
        read_window(self.window(), self.estimate(), state, probe)
    }
}

impl Generic {
    fn estimate(&self) -> &PathEstimate {
        match &self.timers {
            SourceTimers::Each(timers) => timers.estimate(),
            SourceTimers::Oldest(timer) => &timer.estimate,
        }
    }
}

/// Packets whose timer expired are sent first, even beyond the window. Then new packets are sent, and at most `window`
/// packets are outstanding.
pub fn send_within(window: f64, timers: &mut PacketTimers, state: &mut SenderState, now: Time) -> Transmit {
    if let Some(s) = timers.resend(state, now) {
        return Transmit::Segment(s);
    }
    if (state.sent.len() as f64) < libm::floor(window) {
        let sequence = state.sent.end();
        if let Some(s) = state.fresh(Role::Single, now) {
            timers.start(sequence, state, now);
            return Transmit::Segment(s);
        }
    }
    Transmit::Idle
}

/// The probes of a source with a window and a path estimate.
pub fn read_window(window: f64, estimate: &PathEstimate, state: &SenderState, probe: &str) -> f64 {
    match probe {
        "win" => window,
        "rtt" => estimate.rtt(),
        "rto" => estimate.timeout(&state.cfg),
        "outstanding" => state.in_network() as f64,
        _ => f64::NAN,
    }
}
