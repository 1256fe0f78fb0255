//! ProbeBW (section 5.3.3 of the draft): the cycle DOWN, CRUISE, REFILL, UP, and the largest amount in flight that its
//! probes allow.

use super::model::Sample;
use super::{Bbr3, Bbr3Form, State};
use tailback_base::{Duration, Time};

/// Section 5.3.3.8.3: the seconds between two probes, the largest random addition in seconds, and the most rounds.
const WAIT: f64 = 2.0;
const RANDOM_WAIT: f64 = 1.0;
const MOST_ROUNDS: f64 = 63.0;
/// The most doublings of growth (section 5.3.3.9).
const MOST_DOUBLINGS: u32 = 30;

/// The meaning of ACKs (`ack_phase`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub acks: AckPhase,
    /// The time at which the cycle began, and the time until the next probe.
    since: Time,
    wait: Duration,
    pub rounds_since_up: u64,
    /// Whether samples are those of a probe (`is_bw_probe_sample`).
    pub is_probe: bool,
    /// Whether the last probe lost too much, and whether the next one ended before it could lose too much (section
    /// 5.3.3.6).
    pub too_high: bool,
    cautious: bool,
    /// The growth of `inflight_longterm` in UP: the rounds, the bytes acknowledged, and the bytes for one more segment.
    pub up_rounds: u32,
    up_acked: f64,
    up_each: f64,
}

impl Default for Cycle {
    fn default() -> Cycle {
        Cycle {
            acks: AckPhase::Init,
            since: Time::ZERO,
            wait: Duration::ZERO,
            rounds_since_up: 0,
            is_probe: false,
            too_high: false,
            cautious: false,
            up_rounds: 0,
            up_acked: 0.0,
            up_each: f64::INFINITY,
        }
    }
}

impl Bbr3 {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, now: Time) {
        self.forget_signals();
        // PickProbeWait.
        self.cycle.rounds_since_up = self.rng.below(2);
        self.cycle.wait = Duration::from_seconds(WAIT + RANDOM_WAIT * self.rng.uniform());
        (self.cycle.up_each, self.cycle.since) = (f64::INFINITY, now);
        self.cycle.acks = AckPhase::ProbeStopping;
        self.path.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.bounds.forget_short_term();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0.0);
        self.cycle.cautious = false;
        self.cycle.acks = AckPhase::Refilling;
        self.path.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, s: &Sample) {
        self.cycle.acks = AckPhase::ProbeStarting;
        self.path.start_round();
        self.full.restart(s.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, s: &Sample) {
        if !self.full.reached || self.adapt_long_term(s) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.marks_ask_for_a_probe() => self.probe_after_marks(),
            State::Down | State::Cruise if self.is_time_to_probe(s.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(s) => self.start_cruise(),
            State::Refill if self.path.round_start => {
                self.cycle.is_probe = true;
                self.start_up(s);
            }
            State::Up => self.look_whether_to_go_down(s),
            _ => {}
        }
    }

    /// IsTimeToProbeBW (section 5.3.3.8.3).
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target() / self.rules.segment).min(MOST_ROUNDS);
        now > self.cycle.since + self.cycle.wait || self.cycle.rounds_since_up as f64 >= reno_rounds
    }

    fn is_time_to_cruise(&self, s: &Sample) -> bool {
        let in_flight = match self.form {
            Bbr3Form::Draft => s.in_flight,
            Bbr3Form::Linux => self.at_departure(s.in_flight_before, s),
        };
        in_flight <= self.with_headroom() && in_flight <= self.inflight(1.0)
    }

    /// IsTimeToGoDown. A probe after one that lost too much ends at the amount at which the earlier probe ended. If
    /// `inflight_longterm` limits the rate, the pipe cannot be found full.
    fn look_whether_to_go_down(&mut self, s: &Sample) {
        let reached = match self.form {
            Bbr3Form::Draft => s.in_flight_before + self.rules.segment > self.bounds.inflight_longterm,
            Bbr3Form::Linux => self.at_departure(s.in_flight_before, s) >= self.bounds.inflight_longterm,
        };
        if self.cycle.too_high && reached {
            self.cycle.cautious = true;
        } else if self.is_limited_by_longterm(s) {
            self.full.restart(s.rate);
            return;
        } else if !self.full.now {
            return;
        }
        self.cycle.too_high = false;
        self.start_down(s.now);
    }

    /// Whether the window was full before this ACK, and `inflight_longterm` bounded it.
    fn is_limited_by_longterm(&self, s: &Sample) -> bool {
        self.cwnd >= self.bounds.inflight_longterm && s.in_flight_before + self.rules.segment > self.cwnd
    }

    /// InflightWithHeadroom.
    pub(super) fn with_headroom(&self) -> f64 {
        let (bound, segment) = (self.bounds.inflight_longterm, self.rules.segment);
        if bound == f64::INFINITY {
            return bound;
        }
        (bound - segment.max(self.form.numbers().headroom * bound)).max(self.least_window())
    }

    /// RaiseInflightLongtermSlope.
    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_DOUBLINGS);
        self.cycle.up_each = (self.cwnd / growth).max(self.rules.segment);
    }

    /// ProbeInflightLongtermUpward.
    fn grow_long_term(&mut self, s: &Sample) {
        if !self.is_limited_by_longterm(s) {
            return;
        }
        let c = &mut self.cycle;
        c.up_acked += s.newly;
        if c.up_acked >= c.up_each {
            let segments = libm::floor(c.up_acked / c.up_each);
            c.up_acked -= segments * c.up_each;
            self.bounds.inflight_longterm += segments * self.rules.segment;
        }
        if self.path.round_start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel. Returns true if it has decided on a transition.
    fn adapt_long_term(&mut self, s: &Sample) -> bool {
        if self.cycle.acks == AckPhase::ProbeStarting && self.path.round_start {
            self.cycle.acks = AckPhase::ProbeFeedback;
        }
        if self.cycle.acks == AckPhase::ProbeStopping && self.path.round_start {
            self.cycle.is_probe = false;
            self.cycle.acks = AckPhase::Init;
            let probes = self.state.probes_bandwidth();
            if probes && !s.limited {
                self.path.advance(self.form);
            }
            // The cautious probe lost little, so a full probe follows at once.
            if probes && self.cycle.cautious && !self.cycle.too_high {
                self.start_refill();
                return true;
            }
        }
        if self.is_sample_too_high(s) {
            // In the draft only lost segments cause this reaction.
            if self.form == Bbr3Form::Linux && self.cycle.is_probe {
                self.handle_too_high(s.in_flight_at_send, s.limited, s.now);
            }
        } else if self.bounds.inflight_longterm < f64::INFINITY {
            self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(s.in_flight_at_send);
            if self.state == State::Up {
                self.grow_long_term(s);
            }
        }
        false
    }
}
