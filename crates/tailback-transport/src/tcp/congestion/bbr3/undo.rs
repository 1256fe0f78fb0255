//! The values that are saved when a repair begins, and restored when the repair ends or proves to be a mistake
//! (sections 5.5.11 and 5.6.4.4 of the draft).

use super::{Bbr3, Bbr3Form, State};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    /// The window before the repair or ProbeRTT, bytes.
    window: f64,
    /// Whether recovery, or slow start after a timeout, is in progress.
    pub repairing: bool,
    /// Whether the fields below were saved for the present repair.
    taken: bool,
    /// The state of the control that a loss ended.
    pub state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Saved {
    /// The control takes over.
    pub fn begin(&mut self, window: f64, repairing: bool) {
        (self.window, self.repairing) = (window, repairing);
    }
}

impl Bbr3 {
    pub(super) fn window_to_save(&self) -> f64 {
        if self.saved.repairing || self.state == State::ProbeRtt {
            self.saved.window.max(self.cwnd)
        } else {
            self.cwnd
        }
    }

    /// SaveCwnd.
    pub(super) fn save_window(&mut self) {
        self.saved.window = self.window_to_save();
    }

    /// SaveStateUponLoss, once per repair.
    pub(super) fn save(&mut self) {
        self.save_window();
        if self.saved.taken {
            return;
        }
        self.saved = Saved {
            taken: true,
            state: None,
            bw_shortterm: self.bounds.bw_shortterm,
            inflight_shortterm: self.bounds.inflight_shortterm,
            inflight_longterm: self.bounds.inflight_longterm,
            ..self.saved
        };
    }

    /// Linux: a timeout restarts the search for a full pipe. The window before the timeout becomes a bound, unless a
    /// probe is in progress.
    pub(super) fn note_timeout(&mut self) {
        self.full.restart(0.0);
        if !self.state.accelerates() && self.bounds.inflight_shortterm == f64::INFINITY {
            self.bounds.inflight_shortterm = self.cwnd.max(self.saved.window);
        }
    }

    /// RestoreCwnd.
    pub(super) fn restore_window(&mut self) {
        self.cwnd = self.cwnd.max(self.saved.window);
    }

    pub(super) fn end_repair(&mut self) {
        (self.saved.repairing, self.saved.taken) = (false, false);
        self.restore_window();
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn restore(&mut self) {
        self.end_repair();
        self.full.restart(0.0);
        let (b, s) = (&mut self.bounds, &self.saved);
        b.lost_in_round = false;
        b.bw_shortterm = b.bw_shortterm.max(s.bw_shortterm);
        b.inflight_shortterm = b.inflight_shortterm.max(s.inflight_shortterm);
        b.inflight_longterm = b.inflight_longterm.max(s.inflight_longterm);
        let elsewhere = self.state != State::ProbeRtt;
        let ended = self.saved.state.take().filter(|_| self.form == Bbr3Form::Draft);
        match ended {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if elsewhere {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && elsewhere => self.start_refill(),
            _ => {}
        }
    }
}
