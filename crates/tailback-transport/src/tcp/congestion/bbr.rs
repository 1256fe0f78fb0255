//! BBR version 1, which uses a model of the path instead of a reaction to losses
//! (draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! The sender keeps the greatest delivery rate of the last ten round trips, and the least round trip of the last ten
//! seconds. It paces at this rate and keeps about twice the product of both outstanding. To find more capacity, it
//! sends a quarter faster for one round trip. It then sends a quarter slower, so that the queue of the first round trip
//! drains.
//!
//! ```text
//!             rate grew by less than a quarter, three rounds        outstanding at most one product
//!   Startup -------------------------------------------------> Drain ------------------------> ProbeBW
//!   2.885                                                      1/2.885                         1.25 0.75 1 1 1 1 1 1
//!      ^                                                                                        |   ^
//!      '---- rate not found yet ----- ProbeRTT: four segments, 200 ms <--- no new minimum, 10 s '   |
//!                                         '---------------------------------------------------------'
//! ```
//!
//! When BBR takes over an open connection, there is no Startup. It begins in ProbeBW with a bandwidth of one window per
//! smoothed round trip and the least round trip of the connection so far. A control that takes over from BBR gets as
//! threshold the window that BBR would go back to, unless BBR is in Startup.
//!
//! Losses and echoes do not change the model. In the first round trip of a recovery the sender sends only as much as is
//! delivered. After the recovery the window is restored. The state is 300 bytes, and the records of outstanding
//! segments, which the sender keeps. An ACK costs some hundred instructions. The estimate of policed links, and batches
//! of segments as hardware sends them, are not implemented.

mod filters;
mod mode;

use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, ControlForm, Facts, Handover, Marks, Mistaken, Phase,
    RateSample, Reset, WindowRules,
};

use super::greatest::Greatest;
use filters::Bursts;
use mode::Mode;
use std::sync::Arc;
use tailback_base::model::{Key, Model, Probe};
use tailback_base::{BitRate, Duration, Settings, Stream, Time, choice, params};

const DRAFT: &str = "draft-cardwell-iccrg-bbr-congestion-control-00";

/// Values that can be recorded.
const READ: [Probe<Bbr>; 5] = [
    Probe::new(
        "bottleneck_rate",
        "bit/s",
        "greatest delivery rate of payload in ten round trips",
        |q: &Bbr, _| q.rate() * 8.0,
    ),
    Probe::new("min_rtt", "s", "least round trip in ten seconds", |q: &Bbr, _| {
        q.rtprop.map_or(f64::NAN, |r| r.seconds())
    }),
    Probe::new(
        "pacing_gain",
        "1",
        "factor on the rate estimate, which gives the pacing rate",
        |q: &Bbr, _| q.pacing_gain(),
    ),
    Probe::new(
        "mode",
        "1",
        "0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT",
        |q: &Bbr, _| q.mode.number(),
    ),
    Probe::new("round", "1", "round trips so far", |q: &Bbr, _| q.round as f64),
];

pub static MODEL: Model = Model {
    name: "bbr",
    family: "congestion",
    title: "BBR, version 1",
    summary: "Estimates the greatest delivery rate and the least round trip of the path, paces at this rate, and \
              keeps about twice their product outstanding. It does not react to losses. It does not answer ECN \
              echoes: leave `ecn` off.",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00, draft-cheng-iccrg-delivery-rate-estimation-00",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

choice! {
    enum FormChoice { Auto = "auto", Draft = "draft", Linux = "linux" }
}

params! {
    const PARAMS;

    FORM: FormChoice = Key::choice("form", "auto",
        "How the control is computed. auto: as `congestion_form` of tcp says. draft: each segment paced by itself. \
         linux: the window has room for batches of a millisecond and for ACKs that come in bursts, it is an even \
         number of segments, and pacing leaves 1 % of the rate free.", DRAFT);
}

/// Version 1 responds neither to marks nor to losses. Its signal is the delivery rate.
pub const FACTS: Facts = Facts {
    marks: Marks::Ignores,
    records: super::always,
    spreads: false,
    ignores_losses: true,
    linux: Some("bbr"),
    ..Facts::CLASSIC
};

/// Section 4.3.2: 2 / ln 2, the least gain that doubles the rate each round trip.
const HIGH_GAIN: f64 = 2.885_390_081_777_927;
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Section 4.2.3: two products, because ACKs may be delayed or come in bursts.
const WINDOW_GAIN: f64 = 2.0;
/// Section 4.3.4: the cycle of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The phase of the cycle that drains. ProbeBW never begins with it.
const DRAINING: usize = 1;
/// Section 4.1.1.3: the rounds for which a rate counts.
const RATE_ROUNDS: u64 = 10;
/// Sections 4.1.2 and 4.3.5.
const RTT_MEMORY: Duration = Duration::from_millis(10_000);
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);
/// Section 4.2.3: segments.
const LEAST_WINDOW: f64 = 4.0;
/// Section 4.3.2: the pipe is full if three rounds pass in which the rate grows by less than this factor.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Linux counts ten segments, and one of them is the SYN.
const LINUX_FIRST: f64 = 9.0;
/// The share of the rate at which Linux paces. The rest stays free.
const LINUX_MARGIN: f64 = 0.99;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BbrForm {
    Draft,
    Linux,
}

pub struct Bbr {
    form: BbrForm,
    rules: Arc<WindowRules>,
    cwnd: f64,
    /// The threshold of the control before, which BBR does not use; infinite if there was none.
    ssthresh: f64,
    /// Bytes of payload a second.
    pacing: f64,
    fastest: Greatest,
    /// The least round trip of all. A sample over a shorter interval is ignored.
    least: Duration,
    rtprop: Option<Duration>,
    /// The time at which `rtprop` was measured.
    stamp: Time,
    round: u64,
    /// The round ends when this much is delivered, bytes.
    next_round: u64,
    /// Delivered so far, bytes.
    delivered: u64,
    full_rate: f64,
    full_rounds: u32,
    filled: bool,
    mode: Mode,
    /// The window before recovery or ProbeRTT.
    prior: f64,
    /// Whether this is the round trip in which no more is sent than delivered.
    conserve: bool,
    /// Whether recovery, or slow start after a timeout, is in progress.
    repairing: bool,
    /// Whether a loss was reported. Recovery begins with the next ACK.
    entering: bool,
    /// The phase at the last ACK that delivered data.
    phase: Phase,
    /// Whether the sender was idle and no data were delivered since.
    rested: bool,
    bursts: Bursts,
    rng: Stream,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Bbr::new(own, rules))
}

impl Bbr {
    fn new(own: &Settings, rules: &Arc<WindowRules>) -> Bbr {
        let form = match own.get(&FORM) {
            FormChoice::Auto if rules.form == ControlForm::Linux => BbrForm::Linux,
            FormChoice::Auto | FormChoice::Draft => BbrForm::Draft,
            FormChoice::Linux => BbrForm::Linux,
        };
        let mut bbr = Bbr {
            form,
            cwnd: rules.initial_window,
            ssthresh: f64::INFINITY,
            pacing: 0.0,
            rules: rules.clone(),
            fastest: Greatest::default(),
            least: Duration(u64::MAX),
            rtprop: None,
            stamp: Time::ZERO,
            round: 0,
            next_round: 0,
            delivered: 0,
            full_rate: 0.0,
            full_rounds: 0,
            filled: false,
            mode: Mode::Startup,
            prior: 0.0,
            conserve: false,
            repairing: false,
            entering: false,
            phase: Phase::Open,
            rested: false,
            bursts: Bursts::default(),
            // Replaced when the controller draws.
            rng: Stream::new(0, "bbr"),
        };
        bbr.pace_before_samples(None);
        bbr
    }

    fn rate(&self) -> f64 {
        self.fastest.get()
    }

    /// Rate times round trip, bytes.
    fn product(&self) -> Option<f64> {
        Some(self.rate() * self.rtprop?.seconds())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw { .. } if self.rested => 1.0,
            Mode::ProbeBw { phase, .. } => CYCLE[phase],
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw { .. } => WINDOW_GAIN,
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// How many segments Linux sends at once: a millisecond of the pacing rate, between two and 127, but one on slow
    /// links.
    fn batch(&self) -> f64 {
        let least = if self.pacing * 8.0 < 1.2e6 { 1.0 } else { 2.0 };
        libm::floor(self.pacing / 1024.0 / self.rules.segment).clamp(least, 127.0)
    }

    /// Section 4.2.3: the target for outstanding bytes at this gain, in whole segments, plus three batches.
    fn target(&self, gain: f64) -> f64 {
        let segment = self.rules.segment;
        let Some(product) = self.product().filter(|p| *p > 0.0) else {
            return self.rules.initial_window;
        };
        let segments = libm::ceil(gain * product / segment - 1e-9);
        let segments = match self.form {
            BbrForm::Draft => segments + 3.0,
            BbrForm::Linux => {
                let even = libm::ceil((segments + 3.0 * self.batch()) / 2.0) * 2.0;
                let probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
                even + if probing { 2.0 } else { 0.0 }
            }
        };
        segments * segment
    }

    /// Section 4.2.1: before a sample, pace at the rate that sends the initial window in one round trip, or in a
    /// millisecond.
    fn pace_before_samples(&mut self, srtt: Option<Duration>) {
        let round_trip = srtt.map_or(1e-3, |r| r.seconds()).max(1e-6);
        self.pacing = HIGH_GAIN * self.rules.initial_window / round_trip;
    }

    /// Section 4.1.1: start a new round if one is due, and take the rate of this sample. Returns whether a round
    /// begins.
    fn take_rate(&mut self, r: &RateSample) -> bool {
        // Section 3.3 of the draft on delivery rates: a sample whose interval is shorter than the least round trip is
        // ignored.
        if r.interval.0 == 0 || r.interval < self.least {
            return false;
        }
        let begins = r.total - r.delivered >= self.next_round;
        if begins {
            self.next_round = r.total;
            self.round += 1;
            self.conserve = false;
        }
        let rate = r.delivered as f64 / r.interval.seconds();
        if !r.application_limited || rate >= self.rate() {
            self.fastest.enter(self.round, rate, RATE_ROUNDS);
        }
        begins
    }

    /// Linux: record how much more was acknowledged than the rate explains.
    fn take_burst(&mut self, newly: f64, round_begins: bool, now: Time) {
        let b = &mut self.bursts;
        if round_begins {
            b.rounds += 1;
            if b.rounds >= 5 {
                b.rounds = 0;
                b.most = [0.0, b.most[0]];
            }
        }
        let mut expected = self.fastest.get() * now.since(b.since).seconds();
        if b.acked <= expected {
            (b.acked, b.since, expected) = (0.0, now, 0.0);
        }
        b.acked += newly;
        b.most[0] = b.most[0].max((b.acked - expected).min(self.cwnd));
    }

    /// The extra window for bursts of ACKs, at most 100 ms of the rate.
    fn burst_room(&self) -> f64 {
        let most = self.bursts.most[0].max(self.bursts.most[1]);
        most.min(self.rate() * 0.1)
    }

    /// How many of the `bytes` now in the network are still there when the next segment leaves. Linux (since 4.20)
    /// looks ahead to that moment: it subtracts what is delivered until then, and adds one batch if the gain is above
    /// 1.
    fn when_next_leaves(&self, bytes: f64, until_next: Duration) -> f64 {
        if self.form == BbrForm::Draft {
            return bytes;
        }
        let segment = self.rules.segment;
        let joining = if self.pacing_gain() > 1.0 {
            self.batch() * segment
        } else {
            0.0
        };
        let gone = libm::floor(self.rate() * until_next.seconds() / segment) * segment;
        (bytes + joining - gone).max(0.0)
    }

    /// Section 4.3.4: whether the present phase of the cycle is over.
    fn cycle(&mut self, lost: bool, before: f64, now: Time) {
        let Mode::ProbeBw { phase, since } = self.mode else {
            return;
        };
        let is_long = self.rtprop.is_some_and(|r| now.since(since) > r);
        let is_over = match CYCLE[phase] {
            g if g > 1.0 => is_long && (lost || before >= self.target(g)),
            g if g < 1.0 => is_long || before <= self.target(1.0),
            _ => is_long,
        };
        if is_over {
            self.mode = Mode::ProbeBw {
                phase: (phase + 1) % CYCLE.len(),
                since: now,
            };
        }
    }

    /// Section 4.3.2: check for three rounds in which the rate grew by less than a quarter.
    fn look_whether_full(&mut self, round_begins: bool, limited: bool) {
        if self.filled || !round_begins || limited {
            return;
        }
        if self.rate() >= FULL_GROWTH * self.full_rate {
            (self.full_rate, self.full_rounds) = (self.rate(), 0);
            return;
        }
        self.full_rounds += 1;
        self.filled = self.full_rounds >= FULL_ROUNDS;
    }

    fn probe_bandwidth(&mut self, now: Time) {
        // With equal probability, one of the seven phases that do not drain.
        let drawn = self.rng.below(CYCLE.len() as u64 - 1) as usize;
        let phase = if drawn < DRAINING { drawn } else { drawn + 1 };
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    /// Sections 4.1.2 and 4.3.5: update the least round trip, and start to measure it again when it is old.
    fn take_round_trip(&mut self, sample: Option<Duration>, pipe: f64, round_begins: bool, now: Time) {
        let old = self.rtprop.is_some() && now > self.stamp + RTT_MEMORY;
        if let Some(r) = sample {
            self.least = self.least.min(r);
            // Linux (since 5.10) requires a shorter round trip, so an equal one does not delay the next measurement.
            let shorter = match self.form {
                BbrForm::Draft => self.rtprop.is_none_or(|p| r <= p),
                BbrForm::Linux => self.rtprop.is_none_or(|p| r < p),
            };
            if old || shorter {
                (self.rtprop, self.stamp) = (Some(r), now);
            }
        }
        if old && !self.rested && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.prior = self.saved();
            self.mode = Mode::ProbeRtt {
                done: None,
                round: false,
            };
        }
        let Mode::ProbeRtt { done, round } = self.mode else {
            return;
        };
        match done {
            None if pipe <= LEAST_WINDOW * self.rules.segment => {
                self.next_round = self.delivered;
                self.mode = Mode::ProbeRtt {
                    done: Some(now + PROBE_RTT_LASTS),
                    round: false,
                };
            }
            None => {}
            Some(end) => {
                let round = round || round_begins;
                self.mode = Mode::ProbeRtt { done, round };
                if round && now >= end {
                    self.stamp = now;
                    self.cwnd = self.cwnd.max(self.prior);
                    if self.filled {
                        self.probe_bandwidth(now);
                    } else {
                        self.mode = Mode::Startup;
                    }
                }
            }
        }
    }

    /// The window to restore.
    fn saved(&self) -> f64 {
        if self.repairing || matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.prior.max(self.cwnd)
        } else {
            self.cwnd
        }
    }

    /// An ACK that delivers something may end a repair.
    fn take_phase(&mut self, phase: Phase) {
        if self.repairing && phase == Phase::Open {
            self.leave_repair();
        }
        self.phase = phase;
    }

    fn leave_repair(&mut self) {
        self.repairing = false;
        self.entering = false;
        self.conserve = false;
        self.cwnd = self.cwnd.max(self.prior);
    }

    /// Section 4.2.3.
    fn set_window(&mut self, newly: f64, lost: f64, pipe: f64) {
        let segment = self.rules.segment;
        if lost > 0.0 {
            self.cwnd = (self.cwnd - lost).max(segment);
        }
        if std::mem::take(&mut self.entering) {
            self.conserve = true;
            self.next_round = self.delivered;
            // Section 4.2.3.4: "allowing at least one for a fast retransmit".
            self.cwnd = pipe + newly.max(segment);
        }
        if self.conserve {
            self.cwnd = self.cwnd.max(pipe + newly);
        } else {
            let mut target = self.target(self.window_gain());
            if self.form == BbrForm::Linux && self.filled {
                target += self.burst_room();
            }
            if self.filled {
                self.cwnd = (self.cwnd + newly).min(target);
            } else if self.cwnd < target || (self.delivered as f64) < self.always_grows() {
                self.cwnd += newly;
            }
            self.cwnd = self.cwnd.max(LEAST_WINDOW * segment);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(LEAST_WINDOW * segment);
        }
    }

    /// As long as fewer bytes are delivered, the window grows in any case.
    fn always_grows(&self) -> f64 {
        match self.form {
            BbrForm::Draft => self.rules.initial_window,
            BbrForm::Linux => LINUX_FIRST * self.rules.segment,
        }
    }

    fn set_pacing(&mut self) {
        let margin = match self.form {
            BbrForm::Draft => 1.0,
            BbrForm::Linux => LINUX_MARGIN,
        };
        let rate = self.pacing_gain() * self.rate() * margin;
        if rate > 0.0 && (self.filled || rate > self.pacing) {
            self.pacing = rate;
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let newly_lost = a.lost - a.lost_by_timer;
        let Some(r) = a.rate else {
            // Nothing new was delivered.
            if self.form == BbrForm::Draft {
                if self.repairing && a.phase == Phase::Open {
                    self.leave_repair();
                }
                self.cwnd = (self.cwnd - newly_lost as f64).max(self.rules.segment);
            }
            return;
        };
        self.delivered = r.total;
        self.take_phase(a.phase);
        let (newly, lost) = (r.newly as f64, newly_lost as f64);
        // The records do not yet include the judgement of recovery on this ACK.
        let pipe = match self.form {
            BbrForm::Draft => (r.in_flight as f64 - lost).max(0.0),
            BbrForm::Linux => a.pipe as f64,
        };
        let round_begins = self.take_rate(r);
        if self.form == BbrForm::Linux {
            self.take_burst(newly, round_begins, a.now);
        }
        let before = self.when_next_leaves(r.in_flight as f64 + newly, r.until_next);
        self.cycle(newly_lost > 0, before, a.now);
        self.look_whether_full(round_begins, r.application_limited);
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.when_next_leaves(pipe, r.until_next) <= self.target(1.0) {
            self.probe_bandwidth(a.now);
        }
        self.take_round_trip(r.rtt.or(a.rtt), pipe, round_begins, a.now);
        self.rested = false;
        self.set_pacing();
        self.set_window(newly, lost, pipe);
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        match e.what {
            Congestion::Loss => {
                self.prior = self.saved();
                let entering = self.form == BbrForm::Draft || self.phase != Phase::Recovery;
                (self.repairing, self.entering) = (true, entering);
            }
            Congestion::Timeout { .. } => {
                self.prior = self.saved();
                self.full_rate = 0.0;
                // The round ends here, because everything outstanding will be sent again.
                self.next_round = self.delivered;
                (self.repairing, self.entering, self.conserve) = (true, false, false);
                self.phase = Phase::Loss;
                self.cwnd = self.rules.segment;
            }
            // The model ignores these signs.
            Congestion::Ecn | Congestion::Request { .. } | Congestion::LostSyn => {}
        }
    }

    fn draw(&mut self, rng: &mut Stream) {
        self.rng = Stream::new(rng.bits(), "bbr");
    }

    fn sending_begins(&mut self, now: Time, srtt: Option<Duration>) {
        if self.rate() == 0.0 {
            // BBRInit: "BBR.RTprop = SRTT ? SRTT : Inf".
            if self.rtprop.is_none() {
                (self.rtprop, self.stamp) = (srtt, now);
                if let (BbrForm::Linux, Some(srtt)) = (self.form, srtt) {
                    self.least = srtt;
                }
            }
            self.pace_before_samples(srtt);
            return;
        }
        // Section 4.3.4.4: after an idle period, pace at the rate of the path, not above it.
        self.rested = true;
        if let Mode::ProbeBw { .. } = self.mode {
            self.set_pacing();
        }
    }

    fn window_reset(&mut self, why: Reset) {
        match why {
            Reset::OneSegment => self.cwnd = self.rules.segment,
            Reset::LostSyn => self.cwnd = self.rules.after_lost_syn,
            Reset::Shift { bytes } => self.cwnd = (self.cwnd + bytes).max(self.rules.segment),
            Reset::AtMost { bytes } => self.cwnd = self.cwnd.min(bytes).max(self.rules.segment),
            // In Linux the next ACK shows whether another repair follows at once.
            Reset::RecoveryEnd { .. } if self.form == BbrForm::Linux => {}
            Reset::RecoveryEnd { .. } => self.leave_repair(),
            // The model stays valid while the application is idle.
            Reset::Idle | Reset::IdleHalves { .. } | Reset::Restart => {}
        }
    }

    /// Begin ProbeBW at the rate of one window per round trip. This rate counts until samples are greater, or ten
    /// rounds have passed.
    fn take_over(&mut self, from: &Handover) {
        (self.cwnd, self.ssthresh) = (from.cwnd, from.ssthresh);
        let Some(srtt) = from.srtt else { return };
        let least = from.least_rtt.unwrap_or(srtt);
        (self.least, self.rtprop, self.stamp) = (least, Some(least), from.now);
        self.fastest
            .enter(self.round, from.cwnd / srtt.seconds().max(1e-6), RATE_ROUNDS);
        (self.delivered, self.next_round) = (from.delivered, from.delivered);
        self.filled = true;
        self.probe_bandwidth(from.now);
        self.set_pacing();
        self.prior = from.cwnd;
        (self.repairing, self.phase) = (from.phase != Phase::Open, from.phase);
        self.conserve = from.phase == Phase::Recovery;
    }

    /// The spurious loss may have caused the sign of a full pipe.
    fn undo(&mut self, _why: Mistaken) {
        (self.full_rate, self.full_rounds) = (0.0, 0);
        self.cwnd = self.cwnd.max(self.prior);
    }

    fn limits_itself(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Once the pipe is full, the threshold is the window that BBR would go back to.
    fn ssthresh_left(&self) -> f64 {
        if self.filled {
            self.saved().max(LEAST_WINDOW * self.rules.segment)
        } else {
            self.ssthresh
        }
    }

    fn pacing(&self) -> Option<BitRate> {
        // The rate is of payload, but pacing also counts headers.
        let bits = self.pacing * 8.0 * self.rules.wire / self.rules.segment;
        Some(BitRate(bits.clamp(1.0, 1e15) as u64))
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests;
