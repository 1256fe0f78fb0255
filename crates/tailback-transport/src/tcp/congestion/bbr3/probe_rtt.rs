//! The least round trip, and the state ProbeRTT, which lowers the amount in flight to measure this round trip (section
//! 5.3.4 of the draft).

use super::model::Sample;
use super::probe_bandwidth::AckPhase;
use super::{Bbr3, Bbr3Form, State};
use tailback_base::{Duration, Time};

/// Section 2.16.
const RTT_MEMORY: Duration = Duration::from_millis(10_000);
const INTERVAL: Duration = Duration::from_millis(5_000);
const LASTS: Duration = Duration::from_millis(200);
pub(super) const WINDOW_GAIN: f64 = 0.5;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    /// `min_rtt`, and when it was measured.
    pub least: Option<Duration>,
    stamp: Time,
    /// The least since the last ProbeRTT, and when it was measured.
    recent: Option<Duration>,
    recent_stamp: Time,
    expired: bool,
    /// The time at which ProbeRTT may end, and whether a round trip has passed since this time was set.
    done: Option<Time>,
    round_done: bool,
}

impl RoundTrips {
    pub fn begin(&mut self, now: Time, srtt: Option<Duration>) {
        if self.least.is_none() {
            (self.least, self.stamp) = (srtt, now);
            self.recent_stamp = now;
        }
    }

    /// UpdateMinRTT.
    pub fn take(&mut self, s: &Sample, segment: f64, form: Bbr3Form) {
        self.expired = s.now > self.recent_stamp + INTERVAL;
        // In Linux the ACK of a lone short segment, which a receiver may delay, does not replace an old minimum.
        let delayed = form == Bbr3Form::Linux && s.newly < segment && s.delivered <= s.newly;
        if let Some(rtt) = s.rtt
            && ((self.expired && !delayed) || self.recent.is_none_or(|r| rtt < r))
        {
            (self.recent, self.recent_stamp) = (Some(rtt), s.now);
        }
        let Some(recent) = self.recent else { return };
        let new = |l: Duration| recent < l || (recent == l && form == Bbr3Form::Linux);
        if s.now > self.stamp + RTT_MEMORY || self.least.is_none_or(new) {
            (self.least, self.stamp) = (Some(recent), self.recent_stamp);
        }
    }
}

impl Bbr3 {
    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, s: &Sample) {
        if self.state != State::ProbeRtt && self.trips.expired && !self.rested {
            self.save_window();
            self.state = State::ProbeRtt;
            self.trips.done = None;
            self.cycle.acks = AckPhase::ProbeStopping;
            self.path.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(s);
        }
    }

    /// HandleProbeRTT. `limits_itself` reports the rate as limited by the application.
    fn handle_probe_rtt(&mut self, s: &Sample) {
        if self.trips.done.is_none() {
            if s.in_flight <= self.probe_rtt_window() {
                (self.trips.done, self.trips.round_done) = (Some(s.now + LASTS), false);
                self.path.start_round();
            }
            return;
        }
        self.trips.round_done |= self.path.round_start;
        if self.trips.round_done {
            self.check_probe_rtt_done(s.now);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.trips.done.is_none_or(|done| now <= done) {
            return;
        }
        self.trips.recent_stamp = now;
        self.restore_window();
        self.bounds.forget_short_term();
        if self.full.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.product(self.bw, WINDOW_GAIN).max(self.least_window())
    }
}
