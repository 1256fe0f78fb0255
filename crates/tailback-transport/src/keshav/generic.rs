//! The generic source: a fixed window and a timer for each packet.
//!
//! From Keshav's thesis, chapter 6: "generic" stands for the flow control of many networks of its time. The window is
//! always `wmax`; only the timer of a packet detects its loss. See [`super::timers`].

use super::config::Config;
use super::outstanding::Role;
use super::params::WINDOW_PROBES;
use super::sender::FlowControl;
use super::state::{Ack, SenderState};
use super::timers::PacketTimers;
use crate::endpoint::Transmit;
use tailback_base::{Duration, ProbeDef, Time};

pub struct Generic {
    window: u32,
    timers: PacketTimers,
}

impl Generic {
    pub fn new(cfg: &Config, base: Duration) -> Generic {
        Generic {
            window: cfg.wmax,
            timers: PacketTimers::new(cfg, base),
        }
    }
}

impl FlowControl for Generic {
    const PROBES: &'static [ProbeDef] = WINDOW_PROBES;

    fn on_ack(&mut self, a: &Ack, state: &mut SenderState, now: Time) {
        self.timers.on_ack(a, state, now);
    }

    fn next(&mut self, state: &mut SenderState, now: Time) -> Transmit {
        send_within(f64::from(self.window), &mut self.timers, state, now)
    }

    fn deadline(&self) -> Time {
        self.timers.earliest()
    }

    fn on_timer(&mut self, state: &mut SenderState, now: Time) {
        self.timers.expire(state, now);
    }

    fn window(&self) -> f64 {
        f64::from(self.window)
    }

    fn round_trip(&self) -> Duration {
        Duration::from_seconds(self.timers.rtt())
    }

    fn read(&self, state: &SenderState, probe: &str) -> f64 {
        read_window(self.window(), &self.timers, state, probe)
    }
}

/// Packets whose timer expired are sent first, even beyond the window; then new ones within `window` packets.
pub fn send_within(window: f64, timers: &mut PacketTimers, state: &mut SenderState, now: Time) -> Transmit {
    if let Some(s) = timers.resend(state, now) {
        return Transmit::Segment(s);
    }
    if (state.sent.len() as f64) < libm::floor(window) {
        let number = state.sent.end();
        if let Some(s) = state.fresh(Role::Single, now) {
            timers.start(number, state, now);
            return Transmit::Segment(s);
        }
    }
    Transmit::Idle
}

/// The probes of a source with a window and a timer for each packet.
pub fn read_window(window: f64, timers: &PacketTimers, state: &SenderState, probe: &str) -> f64 {
    match probe {
        "win" => window,
        "rtt" => timers.rtt(),
        "rto" => timers.timeout(&state.cfg),
        "outstanding" => state.in_network() as f64,
        _ => f64::NAN,
    }
}
