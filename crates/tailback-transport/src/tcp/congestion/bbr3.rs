//! BBR version 3, which uses a model of the path that also stores which amount in flight was too large
//! (draft-ietf-ccwg-bbr-06).
//!
//! As in version 1 the sender paces at the greatest delivery rate and keeps about two products of rate and round trip
//! in flight. In version 3 losses also set bounds. A loss rate above 2 % during a probe sets `inflight_longterm`.
//! Outside of probes, each round trip with a loss lowers `bw_shortterm` and `inflight_shortterm` towards the delivered
//! amounts. Probes come every two to three seconds, or after as many round trips as Reno would take to probe.
//!
//! ```text
//!            no growth in three rounds,                in flight <= product,
//!            or loss > 2 % for a round                 or three rounds
//!   Startup ---------------------------> Drain 0.5 ------------------------> DOWN 0.9 --> CRUISE 1 --> REFILL 1
//!   x 2.77                                                                     ^                         | one round
//!      ^                                                                       '---- UP 1.25 <-----------'
//!      '-- pipe not full yet -- ProbeRTT: half a product, 200 ms <-- no new minimum for 5 s (from any state)
//!                                  '--> CRUISE
//! ```
//!
//! With `form = "linux"` the control is computed as in Google's branch of Linux. The file `linux` has the differences.
//!
//! The parts are `model` (rate, round trip, bursts of ACKs), `startup` (Startup, Drain, the full pipe),
//! `probe_bandwidth` (the cycle), `probe_rtt`, `losses` (the bounds), `undo` (the restored values), and `output` (rate,
//! window, quantum).
//!
//! The draft leaves some choices open. `Inflight(gain)` uses `max_bw`, as in Linux. `TargetInflight` in rounds is
//! counted in segments. Gains follow from the state (section 5.6.1). Drain has no bound by `inflight_longterm`
//! (BoundCwndForModel). A lost segment's sample does not replace the sample of the ACK. `extra_acked` is at least 0.
//! The amount in flight at which losses became too many is at least 0. The state for an undo is saved only once in each
//! episode of repair, because entering DOWN clears the loss flag and the next loss would save the lowered bounds. A
//! cautious probe (section 5.3.3.6) ends at the amount in flight before the ACK, which is never below the window after
//! the ACK. Leaving Startup by loss also means that the pipe is full now, as in appendix A.2. A mark counts as a loss
//! above the threshold, once per window (section 3.7 leaves the response open). Two marked rounds end Startup.
//!
//! One fault of earlier revisions does not occur here. In -02 to -05 `ack_phase` keeps its last value after a probe, so
//! the filter of the rate drops the probe after two rounds.
//!
//! When BBRv3 takes over an open connection, it begins in CRUISE with a bandwidth of one window per smoothed round
//! trip. The state is 500 bytes, and the records of outstanding segments, which the sender keeps. An ACK costs some
//! hundred instructions. Departures: a sample over a shorter interval than the least round trip gives no rate (section
//! 4.1.2.3) but counts rounds.

mod linux;
mod losses;
mod model;
mod output;
mod probe_bandwidth;
mod probe_rtt;
mod probes;
mod startup;
mod undo;

use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Facts, Handover, Lost, Mistaken, Phase, Reset,
    WindowRules, always,
};
use linux::{Bbr3Form, MarkSignals};
use losses::Bounds;
use model::{PathModel, Sample};
use probe_bandwidth::Cycle;
use probe_rtt::RoundTrips;
use probes::READ;
use startup::FullPipe;
use std::sync::Arc;
use tailback_base::model::Probe;
use tailback_base::{BitRate, Duration, Key, Kind, Model, Settings, Stream, Time, params};
use undo::Saved;

const DRAFT: &str = "draft-ietf-ccwg-bbr-06";

pub static MODEL: Model = Model {
    name: "bbr3",
    family: "congestion",
    title: "BBR, version 3",
    summary: "Estimates the greatest delivery rate and the least round trip of the path, paces at this rate, and \
              keeps about twice their product outstanding. Losses limit this: if more than 2 % of the packets are \
              lost while it probes, what was then outstanding is too much. Version 1 is `bbr`.",
    source: DRAFT,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    FORM: Bbr3Form = Key::choice("form", "draft",
        "How the control is computed. draft: as the draft says. linux: as Google's branch v3 of Linux does \
         (github.com/google/bbr, net/ipv4/tcp_bbr.c at commit 001a430b).", DRAFT);
    ECN_LOW: bool = Key::new("ecn_low", Kind::Bool, "false",
        "With form = \"linux\": the route says that marks mean a short queue (the feature ecn_low), so that they \
         count where the least round trip is at most 5 ms. Marks are counted only with accurate_ecn. Without it this \
         form does not react to marks.", linux::SOURCE);
}

/// A few losses do not slow this control, and the reductions of its window are not spread.
pub const FACTS: Facts = Facts {
    records: always,
    hears_losses: always,
    spreads: false,
    ignores_losses: true,
    ..Facts::CLASSIC
};

/// Section 2.8, segments.
const LEAST_WINDOW: f64 = 4.0;

/// The states (section 5.3), with their numbers in the probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Section 5.6.1.
    fn pacing_gain(self, form: Bbr3Form) -> f64 {
        let numbers = form.numbers();
        match self {
            State::Startup => numbers.startup_gain,
            State::Drain => numbers.drain_gain,
            State::Down => numbers.down_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    fn window_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => probe_rtt::WINDOW_GAIN,
            _ => 2.0,
        }
    }

    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW: in this state the sender deliberately sends as much as the path may carry, or more.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

pub struct Bbr3 {
    form: Bbr3Form,
    rules: Arc<WindowRules>,
    state: State,
    cwnd: f64,
    /// The threshold of the control before, which BBRv3 does not use; infinite if there was none.
    ssthresh: f64,
    /// Bytes of payload a second.
    pacing: f64,
    /// `max_bw` within its short-term bound, bytes a second.
    bw: f64,
    path: PathModel,
    bounds: Bounds,
    full: FullPipe,
    cycle: Cycle,
    trips: RoundTrips,
    saved: Saved,
    marks: MarkSignals,
    /// Whether the sender was idle and no data were delivered since.
    rested: bool,
    rng: Stream,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Bbr3::new(own, rules))
}

impl Bbr3 {
    fn new(own: &Settings, rules: &Arc<WindowRules>) -> Bbr3 {
        let mut bbr = Bbr3 {
            form: own.get(&FORM),
            marks: MarkSignals::new(own.get(&ECN_LOW)),
            state: State::Startup,
            cwnd: rules.initial_window,
            ssthresh: f64::INFINITY,
            pacing: 0.0,
            bw: 0.0,
            rules: rules.clone(),
            path: PathModel::default(),
            bounds: Bounds::default(),
            full: FullPipe::default(),
            cycle: Cycle::default(),
            trips: RoundTrips::default(),
            saved: Saved::default(),
            rested: false,
            // Replaced when the controller draws.
            rng: Stream::new(0, "bbr3"),
        };
        bbr.pace_before_samples(None);
        bbr
    }

    /// UpdateModelAndState (section 5.2.3), in the order of the draft.
    fn update(&mut self, s: &Sample, phase: Phase) {
        self.bounds.take_latest(s);
        self.cycle.rounds_since_up += u64::from(self.path.take_rate(s));
        self.adapt_short_term();
        self.path
            .take_burst(s, self.bw, self.cwnd, self.full.reached, self.form);
        self.full.look(s, self.path.round_start, self.form);
        self.check_startup(s, phase);
        self.check_drain(s);
        self.update_cycle(s);
        self.trips.take(s, self.rules.segment, self.form);
        self.check_probe_rtt(s);
        self.bounds.advance_latest(s);
        self.marks.end_ack(s);
        self.bw = self.path.max_bw().min(self.bounds.bw_shortterm);
    }

    fn pacing_gain(&self) -> f64 {
        self.state.pacing_gain(self.form)
    }

    /// An ACK of new data ends a repair.
    fn take_phase(&mut self, phase: Phase) {
        if phase == Phase::Open && self.saved.repairing {
            self.end_repair();
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        self.take_phase(a.phase);
        if self.form == Bbr3Form::Linux {
            self.count_marks(a);
        }
        if let Some(r) = a.rate {
            let s = self.path.sample(a, r);
            self.smooth_marks(&s);
            if s.has_data {
                self.update(&s, a.phase);
            }
            if s.newly > 0.0 {
                self.rested = false;
            }
            self.set_pacing(self.pacing_gain());
            self.set_window(s.newly);
        } else {
            // Nothing is delivered, but losses may have changed the bounds.
            self.bw = self.path.max_bw().min(self.bounds.bw_shortterm);
            self.set_pacing(self.pacing_gain());
            self.set_window(0.0);
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.take_loss(lost);
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        match e.what {
            Congestion::Loss => {
                self.save();
                self.saved.repairing = true;
            }
            // OnEnterRTO.
            Congestion::Timeout { .. } => {
                self.save();
                self.saved.repairing = true;
                if self.form == Bbr3Form::Linux {
                    self.note_timeout();
                }
                self.cwnd = e.in_flight as f64 + self.rules.segment;
            }
            // Linux only counts echoes, and nothing else reacts to them.
            Congestion::Ecn if self.form == Bbr3Form::Linux => {}
            Congestion::Ecn | Congestion::Request { .. } => self.take_mark(e),
            Congestion::LostSyn => {}
        }
    }

    fn draw(&mut self, rng: &mut Stream) {
        self.rng = Stream::new(rng.bits(), "bbr3");
    }

    fn sending_begins(&mut self, now: Time, srtt: Option<Duration>) {
        if self.path.max_bw() == 0.0 {
            self.path.begin(now, srtt);
            self.trips.begin(now, srtt);
            self.pace_before_samples(srtt);
            return;
        }
        // HandleRestartFromIdle (section 5.4.1).
        self.rested = true;
        self.path.restart_burst(now, self.form);
        if self.state.probes_bandwidth() {
            self.set_pacing(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn window_reset(&mut self, why: Reset) {
        match why {
            Reset::OneSegment => self.cwnd = self.rules.segment,
            Reset::LostSyn => self.cwnd = self.rules.after_lost_syn,
            Reset::AtMost { bytes } => self.cwnd = self.cwnd.min(bytes).max(self.rules.segment),
            Reset::RecoveryEnd { .. } => self.end_repair(),
            // BBRv3 sets its own window after a timeout, and its model stays valid while the application is idle.
            Reset::Shift { .. } | Reset::Idle | Reset::IdleHalves { .. } | Reset::Restart => {}
        }
    }

    /// Begin CRUISE at the rate of one window per round trip. This rate counts until samples are greater, or two cycles
    /// have passed.
    fn take_over(&mut self, from: &Handover) {
        (self.cwnd, self.ssthresh) = (from.cwnd, from.ssthresh);
        let Some(srtt) = from.srtt else { return };
        let least_rtt = from.least_rtt.unwrap_or(srtt);
        self.path.begin(from.now, Some(least_rtt));
        self.path
            .take_over(from.delivered, from.cwnd / srtt.seconds().max(1e-6));
        self.trips.begin(from.now, Some(least_rtt));
        self.bw = self.path.max_bw();
        self.full.reached = true;
        self.start_down(from.now);
        self.state = State::Cruise;
        self.saved.begin(from.cwnd, from.phase != Phase::Open);
        self.set_pacing(1.0);
    }

    fn undo(&mut self, _why: Mistaken) {
        self.restore();
    }

    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Once the pipe is full, the threshold is the window that BBRv3 would go back to.
    fn ssthresh_left(&self) -> f64 {
        if self.full.reached {
            self.window_to_save().max(self.least_window())
        } else {
            self.ssthresh
        }
    }

    fn pacing(&self) -> Option<BitRate> {
        // The rate is of payload, but pacing also counts headers.
        let bits = self.pacing * 8.0 * self.rules.wire / self.rules.segment;
        Some(BitRate(bits.clamp(1.0, 1e15) as u64))
    }

    fn send_quantum(&self) -> Option<f64> {
        Some(self.quantum())
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests;
