//! A source: the [`Endpoint`] around a flow control.
//!
//! A source needs no handshake. Its connection is over when it has been closed and everything written is acknowledged.

use super::state::{AckSeen, SenderState};
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, SenderReport, Transmit};
use crate::limit::{Limit, LimitClock};
use crate::segment::{Flags, Segment};
use tailback_base::{Duration, ProbeDef, Time};

/// A flow control decides how much may be sent and when, and which packets are sent again.
pub trait FlowControl {
    const PROBES: &'static [ProbeDef];

    fn on_ack(&mut self, a: &AckSeen, state: &mut SenderState, now: Time);
    /// The next packet. This function is called again until it returns no packet. New packets come from
    /// [`SenderState::fresh`].
    fn next(&mut self, state: &mut SenderState, now: Time) -> Transmit;
    /// When [`FlowControl::on_timer`] is to be called; [`Time::NEVER`] for never. It is possible that nothing is due at
    /// that time.
    fn deadline(&self) -> Time;
    fn on_timer(&mut self, state: &mut SenderState, now: Time);
    /// Window, packets.
    fn window(&self) -> f64;
    /// The present estimate of the round trip.
    fn round_trip(&self) -> Duration;
    fn read(&self, state: &SenderState, probe: &str) -> f64;
}

/// The sending end.
pub struct Sender<C> {
    state: SenderState,
    control: C,
    limit: LimitClock,
    /// When the source must be called because the application must get events although no packet arrived.
    wake: Time,
    connected_told: bool,
    /// Everything up to here was reported as acknowledged.
    told: Option<u64>,
    closing: bool,
    closed: bool,
}

impl<C: FlowControl> Sender<C> {
    pub fn new(state: SenderState, control: C) -> Sender<C> {
        Sender {
            state,
            control,
            limit: LimitClock::new(),
            wake: Time::NEVER,
            connected_told: false,
            told: None,
            closing: false,
            closed: false,
        }
    }

    fn all_acknowledged(&self) -> bool {
        self.state.sent.is_empty() && self.state.backlog.is_empty()
    }

    /// Report events to the application.
    fn report_up(&mut self, up: &mut dyn AppEvents) {
        self.wake = Time::NEVER;
        if !self.connected_told {
            self.connected_told = true;
            up.event(AppEvent::Connected);
        }
        if self.all_acknowledged() && !self.closed {
            let end = self.state.sent.end();
            if end > 0 && self.told != Some(end) {
                self.told = Some(end);
                up.event(AppEvent::AllAcknowledged);
            }
            if self.closing {
                self.closed = true;
                up.event(AppEvent::Closed);
            }
        }
    }

    /// Record what limits the source when it stops sending.
    fn note_limit(&mut self, now: Time) {
        let limit = if self.state.backlog.is_empty() {
            Limit::Application
        } else if self.control.window() >= f64::from(self.state.cfg.wmax) {
            Limit::WindowCap
        } else {
            Limit::Network
        };
        self.limit.note(limit, now, &mut self.state.report);
    }
}

impl<C: FlowControl> Endpoint for Sender<C> {
    fn write(&mut self, n: Amount, now: Time) {
        if self.closing {
            return;
        }
        self.state.backlog.write(n);
        if !self.connected_told {
            self.wake = now;
        }
    }

    fn close(&mut self, now: Time) {
        self.closing = true;
        self.state.backlog.end();
        if self.state.sent.end() == 0 && self.state.backlog.is_empty() {
            // Nothing was ever written.
            self.closed = true;
        } else if self.all_acknowledged() {
            self.wake = now;
        }
    }

    fn abort(&mut self, now: Time) {
        self.state.backlog.clear();
        self.close(now);
    }

    fn withdraw(&mut self, bytes: u64) {
        if bytes == u64::MAX && !self.closing {
            self.state.backlog.end();
        }
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        if !s.flags.has(Flags::ACK) {
            return;
        }
        let Some(a) = self.state.take(s, now) else { return };
        self.control.on_ack(&a, &mut self.state, now);
        if self.all_acknowledged() || !self.connected_told {
            self.report_up(up);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        let t = self.control.next(&mut self.state, now);
        match t {
            Transmit::Segment(_) if self.limit.has_started() => {}
            _ => self.note_limit(now),
        }
        t
    }

    fn next_timeout(&self) -> Option<Time> {
        let t = self.control.deadline().min(self.wake);
        (t != Time::NEVER).then_some(t)
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        if now >= self.wake {
            self.report_up(up);
        }
        if now >= self.control.deadline() {
            self.control.on_timer(&mut self.state, now);
        }
    }

    fn wire_bytes(&self, payload: u64) -> u64 {
        let c = &self.state.cfg;
        payload + payload.div_ceil(u64::from(c.packet.max(1))) * u64::from(c.header)
    }

    fn srtt(&self) -> Option<Duration> {
        (self.state.report.rtt_samples > 0).then(|| self.control.round_trip())
    }

    fn report(&self, now: Time) -> SenderReport {
        self.limit.report(self.state.report, now)
    }

    fn probes(&self) -> Vec<&'static ProbeDef> {
        C::PROBES.iter().collect()
    }

    fn read(&self, probe: usize) -> f64 {
        C::PROBES
            .get(probe)
            .map_or(f64::NAN, |p| self.control.read(&self.state, p.name))
    }

    fn is_closed(&self) -> bool {
        self.closed
    }
}
