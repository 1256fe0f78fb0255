//! Startup and Drain (sections 5.3.1 and 5.3.2 of the draft): the rate doubles each round trip until the pipe is full.
//! Then the queue that this has built drains.

use super::losses::LOSS_RANGES;
use super::model::Sample;
use super::{Bbr3, Bbr3Form, Phase, State};

/// Section 5.3.1.2: the pipe is full if three rounds pass in which the rate grows by less than this factor.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// The most rounds of Drain (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// Marked rounds that end Startup, as in Linux (`bbr_full_ecn_cnt`).
const MARKED_ROUNDS: u32 = 2;

/// The estimate of whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Whether the pipe was ever full, and whether it has been full since the last [`FullPipe::restart`].
    pub reached: bool,
    pub now: bool,
    /// The rate in bytes per second, and the rounds without growth.
    rate: f64,
    pub rounds: u32,
    /// The round in which Drain began.
    drain_began: u64,
    /// Rounds with a mark in Startup.
    marked: u32,
}

impl FullPipe {
    /// ResetFullBW, with the rate from which growth is measured.
    pub fn restart(&mut self, rate: f64) {
        (self.rate, self.rounds, self.now) = (rate, 0, false);
    }

    /// CheckFullBWReached.
    pub fn look(&mut self, s: &Sample, round_start: bool, form: Bbr3Form) {
        // Linux checks each sample for growth.
        if self.now || s.limited || !(round_start || form == Bbr3Form::Linux) {
            return;
        }
        if s.rate >= self.rate * FULL_GROWTH {
            self.restart(s.rate);
            return;
        }
        if !round_start {
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= FULL_ROUNDS;
        self.reached |= self.now;
    }
}

impl Bbr3 {
    /// CheckStartupDone.
    pub(super) fn check_startup(&mut self, s: &Sample, phase: Phase) {
        if self.state == State::Startup && self.startup_loses(s, phase) {
            self.saved.state = Some(State::Startup);
            self.leave_startup_by_loss();
        }
        if self.bounds.round_start {
            self.bounds.ranges = 0;
        }
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain;
            self.full.drain_began = self.path.round;
            if self.form == Bbr3Form::Linux {
                self.forget_signals();
            }
        }
    }

    /// CheckStartupHighLoss (section 5.3.1.3): a whole round of fast recovery in which enough ranges and more than 2 %
    /// were lost. Without SACK any loss in recovery counts.
    fn startup_loses(&self, s: &Sample, phase: Phase) -> bool {
        if phase != Phase::Recovery {
            return false;
        }
        match self.rules.sack || self.form == Bbr3Form::Linux {
            true => self.bounds.round_start && self.bounds.ranges >= LOSS_RANGES && self.is_sample_too_high(s),
            false => s.lost > 0.0,
        }
    }

    pub(super) fn leave_startup_by_loss(&mut self) {
        let product = match self.form {
            Bbr3Form::Draft => {
                self.full.now = true;
                self.product(self.bw, 1.0)
            }
            Bbr3Form::Linux => self.inflight(1.0),
        };
        self.full.reached = true;
        self.bounds.inflight_longterm = product.max(self.bounds.inflight_latest);
    }

    /// A mark in Startup. A second round with a mark ends Startup.
    pub(super) fn mark_in_startup(&mut self) {
        self.full.marked += 1;
        if self.full.marked >= MARKED_ROUNDS {
            self.leave_startup_by_loss();
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain(&mut self, s: &Sample) {
        let long = self.form == Bbr3Form::Draft && self.path.round > self.full.drain_began + DRAIN_ROUNDS;
        let over = self.at_departure(s.in_flight, s) <= self.inflight(1.0) || long;
        if self.state == State::Drain && over {
            self.start_down(s.now);
        }
    }
}
