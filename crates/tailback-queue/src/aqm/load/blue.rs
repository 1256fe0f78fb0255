//! Blue: adjusts the signal probability by overflow and idleness, not by the length of the queue.
//!
//! A queue length shows how bursty traffic is, not how many flows are too fast. Blue keeps one probability `pm`. When
//! the buffer overflows, senders get too few signals, and `pm` rises by `up`. When the line becomes idle, senders get
//! too many signals, and `pm` falls by `down`. Each change happens at most once in `freeze`, the time that a change
//! needs to take effect. Every arriving packet is signalled with probability `pm`. Measure: loss and idleness.
//! Function: the steps of `pm`. Action: a drop (early), or with `ecn` a mark. A known weakness is that steps that suit
//! one round trip and number of flows oscillate at others.
//!
//! From: Feng, Kandlur, Saha, Shin, "BLUE: a new class of active queue management algorithms" (1999), "The BLUE active
//! queue management algorithms" (2002).
//!
//! State: `pm`, 0 to 1; the time of its last change. There is one time for both directions (`timers` = shared, as in
//! the paper) or one for each (`separate`, as in the public ns ports). It is absent before the first event, so that the
//! first event acts at once.
//!
//! Departures. The paper lowers `pm` at the event "link idle". Here, on a line that stays idle, the decrement repeats
//! every `freeze`. The decrements are applied when the next packet arrives, so no timer is needed; until then the probe
//! shows the value at the last event. Overflow is tested first, so a packet that does not fit is never signalled early.
//!
//! Cost of a packet: one random draw while pm is between 0 and 1.

use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId};
use crate::entry::{Configured, Entry, Facts, Unlimited};
use crate::params::{self, BEFORE, BUFFER, COUNT_IN_SERVICE, ECN};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Level, Model, Packet, ProbeDef, Settings, Time, params};

tailback_base::choice! {
    /// Which changes the freeze time delays.
    enum Timers {
        Shared = "shared",
        Separate = "separate",
    }
}

/// Values that can be recorded.
const READ: [Probe<Blue>; 1] = [Probe::new(
    "probability",
    "",
    "Signal probability after the last event",
    |q, _| q.probability.value(),
)];

pub static MODEL: Model = Model {
    name: "blue",
    family: "queue",
    title: "Blue",
    summary: "Signals arriving packets with a probability that two kinds of events change. Measure: overflow and \
              idleness. Function: the probability rises by a step at an overflow and falls by a step when the line is \
              idle, at most once per freeze time. Action: drop (early); with ecn, mark ECN-capable packets instead.",
    source: "Feng, Kandlur, Saha, Shin 1999 and 2002",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    UP: f64 = Key::new("up", Kind::Real { min: 0.0, max: 1.0 }, "0.02",
        "How much an overflow raises the probability.", "Feng et al. 2002; also 0.0025");
    DOWN: f64 = Key::new("down", Kind::Real { min: 0.0, max: 1.0 }, "0.002",
        "How much an idle line lowers the probability.", "Feng et al. 2002; also 0.00025");
    FREEZE: Duration = Key::new("freeze", Kind::Time { min: 1e-6, max: 1000.0 }, "100ms",
        "Shortest time between two changes of the probability.", "Feng et al. 2002; also 10 ms");
    TIMERS: Timers = Key::choice("timers", "shared",
        "Whether `freeze` is the least time between any two changes of the probability, or between two increases and \
         between two decreases separately.",
        "shared: Feng et al. 2002; separate: the public ns ports");
    LEVEL: Option<Level> = Key::new("level", Kind::Level, "none",
        "A backlog above which an arrival counts as an overflow event although it fits.", "Feng et al. 2002 (L)");
    ECN;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Blue>(
        &MODEL,
        Facts {
            unlimited: Some(Unlimited {
                unless: Some("level"),
                ..Unlimited::leaves("droptail")
            }),
            ..Facts::WITH_ECN
        },
    )
}

impl Configured for Blue {
    /// # Errors
    /// A level in another unit than the buffer's.
    fn configured(settings: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let buffer = settings.get(&BUFFER);
        // Blue has no parameter for the mean packet size. If the level is in packets and the buffer in bytes, each
        // packet of the level counts as a full frame.
        let level = capacity::threshold_if_given(settings, &LEVEL, buffer, 1500)?.unwrap_or(f64::INFINITY);
        let separate = settings.get(&TIMERS) == Timers::Separate;
        let probability = Probability::new(settings.get(&UP), settings.get(&DOWN), settings.get(&FREEZE), separate);
        Ok(Blue::new(probability, level, params::ecn(settings), context))
    }
}

/// Blue's probability and the times of its changes, independent of a queue. So a bin of stochastic fair Blue can use it
/// too.
#[derive(Clone, Debug)]
pub struct Probability {
    value: f64,
    up: f64,
    down: f64,
    freeze: Duration,
    separate: bool,
    last_up: Option<Time>,
    last_down: Option<Time>,
}

impl Probability {
    pub fn new(up: f64, down: f64, freeze: Duration, separate: bool) -> Probability {
        Probability {
            value: 0.0,
            up,
            down,
            freeze,
            separate,
            last_up: None,
            last_down: None,
        }
    }

    /// Take over the state of a probability that had other steps.
    pub fn follow(&mut self, before: &Probability) {
        (self.value, self.last_up, self.last_down) = (before.value, before.last_up, before.last_down);
    }

    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }

    fn due(&self, last: Option<Time>, now: Time) -> bool {
        last.is_none_or(|t| now.since(t) >= self.freeze)
    }

    /// Raise the probability, because there were too few signals.
    pub fn raise(&mut self, now: Time) {
        if self.due(self.last_up, now) {
            self.value = (self.value + self.up).min(1.0);
            self.last_up = Some(now);
            if !self.separate {
                self.last_down = Some(now);
            }
        }
    }

    /// Lower the probability, because there were too many signals.
    pub fn lower(&mut self, now: Time) {
        if self.due(self.last_down, now) {
            self.lower_by(1, now);
        }
    }

    /// The line has been idle until `now`, and [`Probability::lower`] was called when it became idle: apply the changes
    /// that have become due since then.
    pub fn lower_while_idle(&mut self, now: Time) {
        if let Some(last_down) = self.last_down {
            let moves = now.since(last_down).0 / self.freeze.0.max(1);
            if moves > 0 {
                self.lower_by(moves, last_down + Duration(moves.saturating_mul(self.freeze.0)));
            }
        }
    }

    fn lower_by(&mut self, moves: u64, last: Time) {
        self.value = (self.value - self.down * moves as f64).max(0.0);
        self.last_down = Some(last);
        if !self.separate {
            self.last_up = Some(last);
        }
    }
}

/// Blue's decision.
#[derive(Clone, Debug)]
pub struct Blue {
    probability: Probability,
    /// The backlog that counts as overflow, in the unit of the buffer.
    level: f64,
    ecn: bool,
    idle: bool,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl Blue {
    /// If `level` is infinite, only overflow raises the probability.
    pub fn new(probability: Probability, level: f64, ecn: bool, context: BuildContext) -> Blue {
        Blue {
            probability,
            level,
            ecn,
            idle: false,
            context,
        }
    }
}

impl<P: Packet> Admission<P> for Blue {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        if std::mem::take(&mut self.idle) {
            self.probability.lower_while_idle(line.now);
        }
        if !queue.fits(p.bytes()) {
            self.probability.raise(line.now);
            return Decision::Drop(DropReason::Overflow);
        }
        if queue.level() > self.level {
            self.probability.raise(line.now);
        }
        early(self.context.stream.chance(self.probability.value()), p, self.ecn, out)
    }

    fn idle(&mut self, line: &Line) {
        if !std::mem::replace(&mut self.idle, true) {
            self.probability.lower(line.now);
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The probability and the times of its changes stay.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Blue::configured(s, self.context.clone())?;
        new.probability.follow(&self.probability);
        new.idle = self.idle;
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::MarkReason;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Ecn, Stream};

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Blue>> {
        let settings = with
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let blue = Blue::configured(&settings, context).unwrap();
        Bench::new(Fifo::from_settings(&settings, blue))
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Keep the buffer full for `ms` milliseconds: one packet arrives per millisecond, and none is served.
    fn press(b: &mut Bench<Fifo<TestPacket, Blue>>, ms: u64) {
        for id in 0..ms {
            b.arrive(TestPacket::new(id, 0, 500));
            b.pass(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_full_buffer_raises_the_probability_once_a_freeze_time() {
        for (freeze, ms) in [("100ms", 5_000), ("10ms", 200)] {
            let mut b = bench(&[("buffer", "1 packets"), ("freeze", freeze)]);
            press(&mut b, ms);
            let steps = ms / freeze.trim_end_matches("ms").parse::<u64>().unwrap();
            let (pm, expected) = (b.probe("probability", 0), (0.02 * steps as f64).min(1.0));
            assert!((pm - expected).abs() <= 0.02 + 1e-9, "{pm} for {expected}");
        }
    }

    #[test]
    fn two_events_within_the_freeze_time_count_once() {
        let mut b = bench(&[("buffer", "1 packets")]);
        press(&mut b, 90);
        assert!(
            close(b.probe("probability", 0), 0.02),
            "the first event acts at once, the others wait"
        );
        b.pass(Duration::from_millis(20));
        press(&mut b, 1);
        assert!(close(b.probe("probability", 0), 0.04));
    }

    #[test]
    fn an_idle_line_lowers_it_once_a_freeze_time() {
        let mut b = bench(&[("buffer", "1 packets")]);
        press(&mut b, 2_500);
        let pm = b.probe("probability", 0);
        assert!(pm > 0.4);
        b.pass(Duration::from_millis(200));
        b.drain(); // becomes idle here: one step
        assert!(close(b.probe("probability", 0), pm - 0.002));
        b.serve(); // a second dequeue from the empty queue changes nothing
        b.pass(Duration::from_millis(1_050));
        b.arrive(TestPacket::new(0, 0, 500)); // ten more steps
        assert!(close(b.probe("probability", 0), pm - 11.0 * 0.002));
        b.pass(Duration::from_millis(500)); // not idle in between: a packet waits or is on the line
        b.arrive(TestPacket::new(0, 0, 500));
        assert!(b.probe("probability", 0) >= pm - 11.0 * 0.002);
    }

    #[test]
    fn shared_timers_hold_the_other_direction_off_and_separate_ones_do_not() {
        for (timers, expected) in [("shared", 0.02), ("separate", 0.018)] {
            let mut b = bench(&[("buffer", "1 packets"), ("timers", timers)]);
            press(&mut b, 2); // full: up by 0.02
            b.drain(); // idle at once: down, unless the shared timer is frozen
            assert!(close(b.probe("probability", 0), expected), "{timers}");
        }
    }

    #[test]
    fn the_level_counts_as_overflow_before_the_buffer_is_full() {
        let mut b = bench(&[("buffer", "10 packets"), ("level", "50%")]);
        for id in 0..6 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        assert_eq!(b.probe("probability", 0), 0.0, "five waiting are not above five");
        b.arrive(TestPacket::new(6, 0, 500));
        assert!(close(b.probe("probability", 0), 0.02));
        assert!(b.log.drops(DropReason::Overflow).is_empty());
    }

    #[test]
    fn it_signals_with_its_probability_and_marks_what_is_capable() {
        let mut b = bench(&[
            ("buffer", "1 packets"),
            ("up", "0.3"),
            ("freeze", "500s"),
            ("ecn", "true"),
        ]);
        b.arrive(TestPacket::new(0, 0, 500));
        b.arrive(TestPacket::new(1, 0, 500)); // overflow: 0.3 from now on
        b.drain();
        let n = 100_000;
        for id in 0..n {
            let p = TestPacket::new(id, 0, 500);
            b.arrive(if id % 2 == 0 { p.capable() } else { p });
            if let Some(p) = b.take() {
                assert!(p.ecn != Ecn::Ce || p.id % 2 == 0);
            }
        }
        let (marks, drops) = (
            b.log.marks(MarkReason::Early).len(),
            b.log.drops(DropReason::Early).len(),
        );
        for count in [marks, drops] {
            assert!(
                (count as f64 / n as f64 - 0.15).abs() < 0.005,
                "{marks} marks, {drops} drops"
            );
        }
    }
}
