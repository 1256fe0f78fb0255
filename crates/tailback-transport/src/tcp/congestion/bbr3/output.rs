//! The outputs of the model: pacing rate, send quantum and window (section 5.6 of the draft).

use super::{Bbr3, Bbr3Form, LEAST_WINDOW, State};
use tailback_base::Duration;

/// Section 2.5: the share of the rate that stays free.
const MARGIN: f64 = 0.01;
/// Section 5.6.3: the quantum is the bytes of the rate in this time (seconds), with a maximum in bytes and a minimum in
/// segments.
const QUANTUM_TIME: f64 = 1e-3;
const MOST_QUANTUM: f64 = 65_536.0;
const LEAST_QUANTUM: f64 = 2.0;
/// Section 5.5.8.1: quanta in the sender, in its network card, and in the receiver.
const QUANTA: f64 = 3.0;

impl Bbr3 {
    /// InitPacingRate: the initial window in one round trip, or in a millisecond.
    pub(super) fn pace_before_samples(&mut self, srtt: Option<Duration>) {
        let round_trip = srtt.map_or(1e-3, |r| r.seconds()).max(1e-6);
        self.pacing = self.form.numbers().startup_gain * self.rules.initial_window / round_trip;
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - MARGIN);
        if rate > 0.0 && (self.full.reached || rate > self.pacing) {
            self.pacing = rate;
        }
    }

    /// SetSendQuantum, bytes.
    pub(super) fn quantum(&self) -> f64 {
        if self.form == Bbr3Form::Linux {
            return self.burst();
        }
        (self.pacing * QUANTUM_TIME)
            .min(MOST_QUANTUM)
            .max(LEAST_QUANTUM * self.rules.segment)
    }

    pub(super) fn least_window(&self) -> f64 {
        LEAST_WINDOW * self.rules.segment
    }

    /// BDPMultiple: a multiple of the product of this rate and the least round trip.
    pub(super) fn product(&self, rate: f64, gain: f64) -> f64 {
        match self.trips.least {
            Some(least) if self.form == Bbr3Form::Linux => self.whole_above(gain * rate * least.seconds()),
            Some(least) => gain * rate * least.seconds(),
            None => self.rules.initial_window,
        }
    }

    /// TargetInflight.
    pub(super) fn target(&self) -> f64 {
        let product = self.product(self.bw, 1.0);
        match self.form {
            Bbr3Form::Draft => product.min(self.cwnd),
            Bbr3Form::Linux => self.with_budget(product).min(self.cwnd),
        }
    }

    /// QuantizationBudget.
    fn with_budget(&self, bytes: f64) -> f64 {
        let bytes = bytes.max(QUANTA * self.quantum()).max(self.least_window());
        if self.state == State::Up {
            bytes + 2.0 * self.rules.segment
        } else {
            bytes
        }
    }

    /// Inflight(gain), with the long-term rate.
    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.with_budget(self.product(self.path.max_bw(), gain))
    }

    /// SetCwnd.
    pub(super) fn set_window(&mut self, newly: f64) {
        let (extra, grows) = match self.form {
            Bbr3Form::Draft => (
                self.path.extra_acked(),
                (self.path.delivered as f64) < self.rules.initial_window,
            ),
            Bbr3Form::Linux => (self.burst_room(), self.cwnd < 2.0 * self.rules.initial_window),
        };
        let most = self.with_budget(self.product(self.bw, self.state.window_gain()) + extra);
        if self.full.reached {
            self.cwnd = (self.cwnd + newly).min(most);
        } else if self.cwnd < most || grows {
            self.cwnd += newly;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        self.cwnd = self.cwnd.min(self.bound());
    }

    /// BoundCwndForModel.
    fn bound(&self) -> f64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        longterm.min(self.bounds.inflight_shortterm).max(self.least_window())
    }
}
