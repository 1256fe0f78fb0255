//! RIO: RED with In and Out. Packets beyond their profile are signalled first.
//!
//! At the edge a marker marks the packets that are within the agreed profile of their sender as "in", and the others as
//! "out". RIO puts both kinds into the same queue, so that packets are not reordered, but uses two REDs. For "in"
//! packets RED uses the average number of waiting "in" packets, and for "out" packets it uses the average of all
//! packets. If "out" packets make the queue grow, only "out" packets are signalled. "In" packets are signalled only if
//! they alone fill the queue. Measure: both averages. Function: a ramp for each kind. Action: the same as RED's.
//!
//! From: Clark and Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM ToN 6(4), 1998, section
//! IV; ns-2's `red-rio` for constants. Packets of low drop precedence (AF11, AF21, AF31, AF41; RFC 2597), as the
//! `token-bucket` conditioner marks them, are "in". All others are "out".
//!
//! State: the average of "in" packets, updated when one of these arrives; the average of all packets, updated at every
//! arrival; the number of waiting "in" packets; for each kind, the count of packets since the last signal. Each filter
//! has its own idle time. That of "in" packets begins when the last waiting "in" packet leaves, even if "out" packets
//! wait.
//!
//! Departures: no departures are known. With `update = "in"` the averages are those of ns-2. Both averages change only
//! when an "in" packet arrives, so the average of all packets samples the backlog only at these arrivals. Both averages
//! use the idle time of the whole queue. If an "out" packet ends this idle time, neither average decays for it. So if
//! few packets are "in", the average of all packets stays below the backlog.
//!
//! Cost of a packet: the same as in RED, and a second filter step for "in" packets.

use crate::aqm::average::Average;
use crate::aqm::red::config::weight;
use crate::aqm::red::params::{
    BYTES, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MEAN_PACKET, NS2_GUARDS, PROBABILITY,
    SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::signals::{Arrival, Ramp, RampShape, RedClass, SignalRules};
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, Line, Out, ProbeId};
use crate::contract::view::Exit;
use crate::entry::{Configured, Entry, Facts};
use crate::params::{BEFORE, BUFFER, ECN, profile};
use tailback_base::model::{Alias, Probe, Profile};
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, Key, Kind, Level, Model, Packet, ProbeDef, Settings, Size, params};

const SOURCE: &str = "ns-2 red-rio";

const BY_ALL: &str = "all";
const BY_IN: &str = "in";

const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the defaults below",
        values: &[],
    },
    Profile {
        name: "ns2-2006",
        doc: "the average of all packets as ns-2 computes it, and ns-2's guards",
        values: &[("update", BY_IN), ("ns2_guards", "true")],
    },
];

tailback_base::choice! {
    /// Which arrivals change the average of all packets.
    enum Update {
        All = "all",
        In = "in",
    }
}

/// Values that can be recorded.
const READ: [Probe<Rio>; 4] = [
    Probe::new(
        "average",
        "unit of the buffer",
        "Filtered backlog at the last arrival",
        |q, _| q.all.value(),
    ),
    Probe::new(
        "average_in",
        "unit of the buffer",
        "Filtered backlog of in-profile packets at the last arrival of such a packet",
        |q, _| q.inside.value(),
    ),
    Probe::new(
        "probability_in",
        "",
        "Base signal probability at the last arrival of an in-profile packet",
        |q, _| q.class_in.probability(),
    ),
    Probe::new(
        "probability_out",
        "",
        "Base signal probability at the last arrival of an out-of-profile packet",
        |q, _| q.class_out.probability(),
    ),
];

pub static MODEL: Model = Model {
    name: "rio",
    family: "queue",
    title: "RED with In and Out",
    summary: "Signals packets beyond their profile first. Measure: the filtered backlog of packets in profile, and of \
              all packets. Function: for packets in profile a ramp over the first average, for packets out of profile \
              a ramp over the second. Action: as RED.",
    source: "Clark and Fang 1998; ns-2 red-rio",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    PROFILE = profile(PROFILES);
    BUFFER;
    IN_MIN_THRESHOLD: Level = Key::new("in_min_threshold", Kind::Level, "15 packets",
        "Average backlog of packets in profile from which these are signalled.", SOURCE);
    IN_MAX_THRESHOLD: Level = Key::new("in_max_threshold", Kind::Level, "30 packets",
        "Average backlog of packets in profile at which their probability reaches in_max_probability.", SOURCE);
    IN_MAX_PROBABILITY: f64 = Key::new("in_max_probability", PROBABILITY, "0.02",
        "Signal probability of packets in profile at in_max_threshold.", "ns-2 red-rio, linterm 50");
    OUT_MIN_THRESHOLD: Level = Key::new("out_min_threshold", Kind::Level, "5 packets",
        "Average backlog of all packets from which packets out of profile are signalled.", SOURCE);
    OUT_MAX_THRESHOLD: Level = Key::new("out_max_threshold", Kind::Level, "15 packets",
        "Average backlog of all packets at which the probability of packets out of profile reaches \
         out_max_probability.", SOURCE);
    OUT_MAX_PROBABILITY: f64 = Key::new("out_max_probability", PROBABILITY, "0.2",
        "Signal probability of packets out of profile at out_max_threshold.", "ns-2 red-rio, linterm 5");
    UPDATE: Update = Key::choice("update", BY_ALL,
        "Which arrivals update the average of all packets: all arrivals, or only packets in profile.",
        "Clark and Fang 1998 section IV (all); ns-2 red-rio (in)");
    WEIGHT;
    WEIGHT_RULE;
    OWN_GENTLE = GENTLE.with_default("false", "Clark and Fang 1998").param;
    ECN;
    MARK_CAP;
    MARK_ABOVE_MAX;
    BYTES;
    MEAN_PACKET;
    SPREAD;
    WAIT;
    FIRST_COUNT;
    NS2_GUARDS;
    INITIAL_AVERAGE;
    INITIAL_AVERAGE_IN: Level = Key::new("initial_average_in", Kind::Level, "0 packets",
        "The average of packets in profile before the first arrival.", "tailback, for tests with weight = 0");
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Rio>(&MODEL, Facts::WITH_ECN.also(const { &[Alias::ns2("RED/RIO")] }))
}

impl Configured for Rio {
    /// # Errors
    /// Thresholds that contradict each other or the buffer's unit.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (limit, rules) = (s.get(&BUFFER), SignalRules::from_settings(s));
        let ramp = |low: Key<Level>, high: Key<Level>, probability: Key<f64>| {
            let level = |key| capacity::threshold(s, key, limit, rules.mean_packet);
            let (min, max) = (level(&low)?, level(&high)?);
            if min > max {
                let e = format!("{} ({min}) is above {} ({max})", low.name, high.name);
                let remedy = format!("give {} of at least {}", high.name, low.name);
                return Err(Refusal::new(e, remedy));
            }
            Ok(Ramp {
                min_threshold: min,
                max_threshold: max,
                max_probability: s.get(&probability),
                gentle: s.get(&GENTLE),
                shape: RampShape::Line,
            })
        };
        let inside = ramp(IN_MIN_THRESHOLD, IN_MAX_THRESHOLD, IN_MAX_PROBABILITY)?;
        let outside = ramp(OUT_MIN_THRESHOLD, OUT_MAX_THRESHOLD, OUT_MAX_PROBABILITY)?;
        let weight = weight(s, &context)?;
        let average = |key| {
            let initial = capacity::threshold(s, key, limit, rules.mean_packet)?;
            Ok(Average::new(initial, weight, rules.mean_packet))
        };
        Ok(Rio {
            limit,
            all: average(&INITIAL_AVERAGE)?,
            inside: average(&INITIAL_AVERAGE_IN)?,
            by_in: s.get(&UPDATE) == Update::In,
            waiting: Backlog::default(),
            class_in: RedClass::new(inside),
            class_out: RedClass::new(outside),
            rules,
            context,
        })
    }
}

/// RIO's decision.
#[derive(Clone, Debug)]
pub struct Rio {
    limit: Size,
    rules: SignalRules,
    /// The average of all packets.
    all: Average,
    /// The average of "in" packets.
    inside: Average,
    /// Whether only "in" packets change the averages.
    by_in: bool,
    /// The backlog of "in" packets.
    waiting: Backlog,
    class_in: RedClass,
    class_out: RedClass,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

/// Whether a packet is within its profile.
fn is_in<P: Packet>(p: &P) -> bool {
    Colour::of(p.dscp()) == Some(Colour::Green)
}

impl Rio {
    /// The average of all packets after an arrival that finds this backlog.
    fn average_of_all(&mut self, is_in: bool, backlog: f64, line: &Line) -> f64 {
        if is_in || !self.by_in {
            return self.all.arrival(backlog, line);
        }
        self.all.stored();
        self.inside.stored();
        self.all.value()
    }

    /// No "in" packet waits now: the last one has left, or the one that arrived was not stored.
    fn without_in(&mut self, line: &Line) {
        if !self.by_in {
            self.inside.idle(line.now);
        }
    }
}

impl<P: Packet> Admission<P> for Rio {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let mut arrival = Arrival {
            average: self.average_of_all(is_in(p), queue.level(), line),
            waiting: queue.backlog().packets,
            fits: queue.fits(p.bytes()),
        };
        if !is_in(p) {
            return self
                .class_out
                .decide(p, arrival, &self.rules, &mut self.context.stream, out);
        }
        let level = capacity::level(self.limit, self.waiting) as f64;
        arrival.average = self.inside.arrival(level, line);
        let decision = self
            .class_in
            .decide(p, arrival, &self.rules, &mut self.context.stream, out);
        if decision == Decision::Store {
            self.waiting.packets += 1;
            self.waiting.bytes += u64::from(p.bytes());
        } else if self.waiting.packets == 0 {
            self.without_in(line);
        }
        decision
    }

    fn left(&mut self, p: &P, _how: Exit, _rest: Backlog, line: &Line) {
        if is_in(p) {
            self.waiting.packets -= 1;
            self.waiting.bytes -= u64::from(p.bytes());
            if self.waiting.packets == 0 {
                self.without_in(line);
            }
        }
    }

    fn idle(&mut self, line: &Line) {
        self.all.idle(line.now);
        if self.by_in {
            self.inside.idle(line.now);
        }
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.all.value(),
            threshold: self.class_out.ramp.min_threshold,
        })
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The same rules as in RED's `reconfigure`.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Rio::configured(s, self.context.clone())?;
        new.all.follow(&self.all, INITIAL_AVERAGE.name)?;
        new.inside.follow(&self.inside, INITIAL_AVERAGE_IN.name)?;
        new.class_in.follow(&self.class_in);
        new.class_out.follow(&self.class_out);
        new.waiting = self.waiting;
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::{DropReason, MarkReason};
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Duration, Stream};

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Rio>> {
        let s = with
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let rio = Rio::configured(&s, context).unwrap_or_else(|e| panic!("{e}"));
        Bench::new(Fifo::from_settings(&s, rio))
    }

    fn packet(id: u64, inside: bool) -> TestPacket {
        TestPacket {
            dscp: if inside { 10 } else { 12 },
            ..TestPacket::new(id, u32::from(inside), 500)
        }
    }

    #[test]
    fn above_the_outer_ramp_everything_out_goes_and_nothing_in() {
        let settings = [
            ("weight", "0"),
            ("initial_average", "15 packets"),
            ("initial_average_in", "14.9 packets"),
        ];
        let mut b = bench(&settings);
        for id in 0..2000 {
            b.arrive(packet(id, id % 2 == 0));
            b.serve();
        }
        let dropped = b.log.drops(DropReason::Forced);
        assert_eq!(dropped, (0..2000).filter(|id| id % 2 == 1).collect::<Vec<_>>());
        assert_eq!(b.log.dropped.len(), 1000);
    }

    /// Each kind has its own ramp. If signals are independent, the share of signalled packets of each kind is the
    /// probability on its ramp.
    #[test]
    fn each_kind_has_its_own_ramp_and_average() {
        let settings = [
            ("weight", "0"),
            ("initial_average", "10 packets"),
            ("initial_average_in", "22.5 packets"),
            ("spread", "false"),
        ];
        let mut b = bench(&settings);
        for id in 0..400_000 {
            b.arrive(packet(id, id % 2 == 0));
            b.serve();
        }
        let share = |flow| b.log.dropped.iter().filter(|d| d.0.flow == flow).count() as f64 / 200_000.0;
        assert!((share(1) - 0.01).abs() < 0.001, "in: {}", share(1));
        assert!((share(0) - 0.1).abs() < 0.003, "out: {}", share(0));
    }

    #[test]
    fn packets_in_move_both_averages_and_packets_out_one() {
        let mut b = bench(&[
            ("weight", "0.5"),
            ("out_max_threshold", "90 packets"),
            ("out_max_probability", "0"),
        ]);
        for id in 0..4 {
            b.arrive(packet(id, false));
        }
        // The average of the backlogs 0, 1, 2 and 3 with a weight of 1/2.
        let all = b.probe("average", 0);
        assert_eq!((all, b.probe("average_in", 0)), (2.125, 0.0));
        b.arrive(packet(4, true));
        b.arrive(packet(5, true));
        assert_eq!(b.probe("average_in", 0), 0.5, "it found one packet in");
        assert_eq!(b.probe("average", 0), ((all + 4.0) / 2.0 + 5.0) / 2.0);
    }

    #[test]
    fn packets_in_have_an_idle_time_of_their_own() {
        let mut b = bench(&[("weight", "0.1"), ("initial_average_in", "10 packets")]);
        b.arrive(packet(0, true)); // 9
        b.arrive(packet(1, false));
        assert_eq!(b.serve(), Some(0));
        // During ten packet times only packet 1 waits.
        b.pass(Duration::from_millis(40));
        b.arrive(packet(2, true));
        let expected = 10.0 * 0.9_f64.powi(1 + 10 + 1);
        assert!((b.probe("average_in", 0) - expected).abs() < 1e-12);
    }

    /// In ns-2.35 with the same weight, the average was 22.4682 when the queue had drained at 1.27 s, and 2.8045 after
    /// an "in" packet at 2.1 s. With an "out" packet at 2.0 s in between, it was 17.6312. This is the decay by the 11
    /// packet times since the "out" packet had left, plus the step of the arrival.
    #[test]
    fn with_ns2s_rule_packets_out_move_no_average_and_end_idle_time() {
        let settings = [
            ("update", "in"),
            ("weight", "0.02"),
            ("out_max_threshold", "90 packets"),
            ("out_max_probability", "0"),
            ("mean_packet", "1000B"),
            ("initial_average", "22.4682 packets"),
            ("initial_average_in", "22.4682 packets"),
        ];
        for (between, expected) in [(false, 2.8045), (true, 17.6312)] {
            let mut b = bench(&settings);
            b.arrive(packet(0, false));
            assert_eq!(b.serve(), Some(0));
            assert_eq!(b.serve(), None, "idle from now on");
            b.pass(Duration::from_millis(723));
            if between {
                b.arrive(packet(1, false));
                assert_eq!(b.probe("average", 0), 22.4682);
                assert_eq!(b.serve(), Some(1));
                b.pass(Duration::from_millis(8));
                assert_eq!(b.serve(), None);
                b.pass(Duration::from_millis(92));
            } else {
                b.pass(Duration::from_millis(100));
            }
            b.arrive(packet(2, true));
            let averages = [b.probe("average", 0), b.probe("average_in", 0)];
            assert!(
                averages.iter().all(|a| (a - expected).abs() < 1e-3),
                "{averages:?} for {expected}"
            );
        }
    }

    #[test]
    fn with_ns2s_rule_packets_in_are_not_idle_while_others_wait() {
        let mut b = bench(&[
            ("update", "in"),
            ("weight", "0.1"),
            ("initial_average_in", "10 packets"),
        ]);
        b.arrive(packet(0, true)); // 9
        b.arrive(packet(1, false));
        assert_eq!(b.serve(), Some(0));
        b.pass(Duration::from_millis(40));
        b.arrive(packet(2, true));
        assert!((b.probe("average_in", 0) - 10.0 * 0.81).abs() < 1e-12);
        assert_eq!(b.probe("average", 0), 0.1, "of those in: none found at first, one then");
    }

    #[test]
    fn a_capable_packet_is_marked_below_the_cap() {
        let settings = [
            ("weight", "0"),
            ("initial_average", "9 packets"),
            ("ecn", "true"),
            ("spread", "false"),
        ];
        let mut b = bench(&settings);
        for id in 0..1000 {
            b.arrive(packet(id, false).capable());
            b.serve();
        }
        assert!(b.log.dropped.is_empty());
        assert!(b.log.marks(MarkReason::Early).len() > 40);
    }

    #[test]
    fn evicted_packets_in_are_no_longer_counted() {
        let mut b = bench(&[("weight", "1"), ("buffer", "3 packets")]);
        for id in 0..5 {
            b.arrive(packet(id, true));
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [3, 4]);
        assert_eq!(b.drain(), [0, 1, 2]);
        b.arrive(packet(5, true));
        assert_eq!(b.probe("average_in", 0), 0.0);
    }

    #[test]
    fn thresholds_the_wrong_way_round_are_refused() {
        let s = Settings::defaults(&MODEL).with("in_min_threshold", "40 packets");
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let e = Rio::configured(&s, context).unwrap_err();
        assert!(
            e.problem
                .contains("in_min_threshold (40) is above in_max_threshold (30)"),
            "{e}"
        );
    }
}
