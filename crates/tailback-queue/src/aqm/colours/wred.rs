//! Weighted RED: one average for all packets, and a ramp for each class.
//!
//! A WRED router distinguishes classes by the old precedence bits or by the drop precedence of assured forwarding, and
//! signals the lower classes at a shorter queue. Unlike in RIO, all classes use one average of the whole queue. So a
//! class is affected by the traffic of all others, and only the height of its ramp protects it. Measure: the filtered
//! backlog. Function: a ramp for each class. Action: the same as RED's.
//!
//! From: Cisco's documentation of Weighted Random Early Detection (the default thresholds, probability and weight); RFC
//! 2597 section 6 for drop precedences.
//!
//! State: one average; for each class a count since its last signal.
//!
//! Departures. If `min_threshold` is not given, the ramp of class i of eight begins at max_threshold (9 + i) / 18,
//! rounded down to whole packets. The ramps of the drop precedences 3, 2 and 1 begin at 0.6, 0.7 and 0.8 of
//! max_threshold. These are the documented defaults. A packet without a class belongs to the lowest one. There is no
//! separate class for flows with a reservation.
//!
//! Cost of a packet: the same as in RED.

use crate::aqm::average::Average;
use crate::aqm::colours::precedence::class_selector;
use crate::aqm::red::config::weight;
use crate::aqm::red::params::{
    BYTES, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MEAN_PACKET, NS2_GUARDS, PROBABILITY,
    SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::signals::{Arrival, Ramp, RampShape, RedClass, SignalRules};
use crate::aqm::red::{AVERAGE, BASE};
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Line, Out, ProbeId, unchanged};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{BEFORE, BUFFER, COUNT_IN_SERVICE, ECN};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, Dscp, Key, Kind, Level, Model, Packet, ProbeDef, Settings, params};

const SOURCE: &str = "Cisco, WRED documentation";

tailback_base::choice! {
    /// Which packets are treated in the same way.
    enum Classes {
        Precedence = "precedence",
        DropPrecedence = "drop-precedence",
    }
}

/// Values that can be recorded.
const READ: [Probe<Wred>; 2] = [
    Probe::of(AVERAGE, |q, _| q.average.value()),
    Probe::of(ProbeDef { per: "class", ..BASE }, |q, i| {
        q.each.get(i as usize).map_or(f64::NAN, RedClass::probability)
    }),
];

pub static MODEL: Model = Model {
    name: "wred",
    family: "queue",
    title: "Weighted RED",
    summary: "RED with a ramp for each class of packets. Measure: one filtered backlog for all classes. Function: the \
              ramp of the packet's class. Action: as RED.",
    source: "Cisco, WRED documentation; RFC 2597",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    CLASSES: Classes = Key::choice("classes", "precedence",
        "The classes, the lowest first: eight by the first three bits of the code point, or three by the drop \
         precedence of assured forwarding (3, 2, 1).", SOURCE);
    MIN_THRESHOLD: Vec<Level> = Key::new("min_threshold", Kind::List(&Kind::Level), "none",
        "Average backlog from which packets are signalled: one value for all classes, or one for each. Default: a \
         share of max_threshold that grows with the class, from 0.5 on with eight classes, from 0.6 on with three.",
        SOURCE);
    MAX_THRESHOLD: Vec<Level> = Key::new("max_threshold", Kind::List(&Kind::Level), "40 packets",
        "Average backlog at which the probability reaches max_probability: one value, or one for each class.", SOURCE);
    MAX_PROBABILITY: Vec<f64> = Key::new("max_probability", Kind::List(&PROBABILITY), "0.1",
        "Signal probability as the average reaches max_threshold: one value, or one for each class.", SOURCE);
    OWN_WEIGHT = WEIGHT.with_default("0.001953125", SOURCE).param;
    WEIGHT_RULE;
    OWN_GENTLE = GENTLE.with_default("false", SOURCE).param;
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
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Wred>(&MODEL, Facts::WITH_ECN.also(const { &[Alias::linux("gred")] }))
}

impl Classes {
    fn number(self) -> usize {
        match self {
            Classes::Precedence => 8,
            Classes::DropPrecedence => 3,
        }
    }

    /// The class of a code point; class 0 is signalled first.
    fn of(self, p: Dscp) -> usize {
        match self {
            Classes::Precedence => usize::from(class_selector(p)),
            Classes::DropPrecedence => Colour::of(p).map_or(0, |colour| Colour::Red as usize - colour as usize),
        }
    }

    /// The beginning of the ramp of a class, if the ramp ends at this number of packets.
    fn beginning(self, class: usize, max: f64) -> f64 {
        let (part, of) = match self {
            Classes::Precedence => (9 + class, 18.0),
            Classes::DropPrecedence => (6 + class, 10.0),
        };
        (max * part as f64 / of).floor()
    }
}

impl Configured for Wred {
    /// # Errors
    /// Lists whose length is not the number of classes, or thresholds that contradict each other or the buffer's
    /// unit.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (limit, rules) = (s.get(&BUFFER), SignalRules::from_settings(s));
        let classes = s.get(&CLASSES);
        let n = classes.number();
        let for_all = |name: &'static str, values: Vec<f64>| match values.len() {
            1 => Ok(vec![values[0]; n]),
            of if of == n => Ok(values),
            of => Err(Refusal::new(
                format!("{name} has {of} values for {n} classes"),
                format!("give one value, or {n}, the lowest class first"),
            )
            .within(name)),
        };
        let levels = |key| capacity::thresholds(s, key, limit, rules.mean_packet);
        let max = for_all(MAX_THRESHOLD.name, levels(&MAX_THRESHOLD)?)?;
        let packet = capacity::packet(limit, rules.mean_packet);
        let lower = levels(&MIN_THRESHOLD)?;
        let min = match lower.is_empty() {
            true => (0..n).map(|i| classes.beginning(i, max[i] / packet) * packet).collect(),
            false => for_all(MIN_THRESHOLD.name, lower)?,
        };
        let top = for_all(MAX_PROBABILITY.name, s.get(&MAX_PROBABILITY))?;
        if let Some(i) = (0..n).find(|&i| min[i] > max[i]) {
            return Err(Refusal::new(
                format!(
                    "min_threshold ({}) of class {i} is above its max_threshold ({})",
                    min[i], max[i]
                ),
                "give each class a max_threshold of at least its min_threshold",
            ));
        }
        let class = |i: usize| {
            RedClass::new(Ramp {
                min_threshold: min[i],
                max_threshold: max[i],
                max_probability: top[i],
                gentle: s.get(&GENTLE),
                shape: RampShape::Line,
            })
        };
        let initial = capacity::threshold(s, &INITIAL_AVERAGE, limit, rules.mean_packet)?;
        Ok(Wred {
            average: Average::new(initial, weight(s, &context)?, rules.mean_packet),
            classes,
            each: (0..n).map(class).collect(),
            rules,
            context,
        })
    }
}

/// WRED's decision.
#[derive(Clone, Debug)]
pub struct Wred {
    rules: SignalRules,
    average: Average,
    classes: Classes,
    each: Vec<RedClass>,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl<P: Packet> Admission<P> for Wred {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let arrival = Arrival {
            average: self.average.arrival(queue.level(), line),
            waiting: queue.backlog().packets,
            fits: queue.fits(p.bytes()),
        };
        let class = &mut self.each[self.classes.of(p.dscp())];
        class.decide(p, arrival, &self.rules, &mut self.context.stream, out)
    }

    fn idle(&mut self, line: &Line) {
        self.average.idle(line.now);
    }

    fn congestion(&self) -> Option<Congestion> {
        let least = |t: f64, c: &RedClass| t.min(c.ramp.min_threshold);
        Some(Congestion {
            average: self.average.value(),
            threshold: self.each.iter().fold(f64::INFINITY, least),
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
        let mut new = Wred::configured(s, self.context.clone())?;
        unchanged(CLASSES.name, &self.classes, &new.classes)?;
        new.average.follow(&self.average, INITIAL_AVERAGE.name)?;
        for (class, before) in new.each.iter_mut().zip(&self.each) {
            class.follow(before);
        }
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::model::Raw;
    use tailback_base::{BitRate, Duration, Stream};

    fn context() -> BuildContext {
        BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        }
    }

    fn settings(with: &[(&str, &str)]) -> Settings {
        with.iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
    }

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Wred>> {
        let s = settings(with);
        let wred = Wred::configured(&s, context()).unwrap_or_else(|e| panic!("{e}"));
        Bench::new(Fifo::from_settings(&s, wred))
    }

    /// The share of signalled packets for each code point in `of`. Packets with these code points arrive in turn.
    fn shares(b: &mut Bench<Fifo<TestPacket, Wred>>, of: &[u8]) -> Vec<f64> {
        let per_class = 200_000;
        for id in 0..per_class * of.len() as u64 {
            let class = id as usize % of.len();
            b.arrive(TestPacket {
                dscp: of[class],
                ..TestPacket::new(id, class as u32, 500)
            });
            b.serve();
        }
        let share = |f| b.log.dropped.iter().filter(|d| d.0.flow == f).count() as f64 / per_class as f64;
        (0..of.len() as u32).map(share).collect()
    }

    #[test]
    fn the_documented_thresholds() {
        let min = |with: &[(&str, &str)]| -> Vec<f64> {
            let wred = Wred::configured(&settings(with), context()).unwrap();
            wred.each.iter().map(|c| c.ramp.min_threshold).collect()
        };
        assert_eq!(min(&[]), [20.0, 22.0, 24.0, 26.0, 28.0, 31.0, 33.0, 35.0]);
        assert_eq!(min(&[("classes", "drop-precedence")]), [24.0, 28.0, 32.0]);
        assert_eq!(min(&[("buffer", "64KB")])[5], 31.0 * 500.0);
    }

    /// Each class behaves like RED alone. Without `wait`, its share of signalled packets is twice its own base
    /// probability, independent of the drops of other classes.
    #[test]
    fn at_one_average_each_class_has_the_share_of_its_own_ramp() {
        let bases = [0.1, 0.05, 0.04, 0.025, 0.02, 0.0125, 0.01, 0.005];
        let mut s = settings(&[
            ("weight", "0"),
            ("initial_average", "39.9999999 packets"),
            ("wait", "false"),
        ]);
        let list = bases.map(Raw::Real).to_vec();
        s.set("max_probability", &Raw::List(list)).unwrap();
        let mut b = Bench::new(Fifo::from_settings(&s, Wred::configured(&s, context()).unwrap()));
        let selectors: Vec<u8> = (0..8).map(|i| i << 3).collect();
        let shares = shares(&mut b, &selectors);
        for (share, base) in shares.iter().zip(bases) {
            assert!((share / (2.0 * base) - 1.0).abs() < 0.03, "{share} for {base}");
        }
        assert!(
            shares.windows(2).all(|w| w[0] > w[1]),
            "ordered by precedence: {shares:?}"
        );
    }

    #[test]
    fn with_the_defaults_shares_fall_as_precedence_rises() {
        let mut b = bench(&[("weight", "0"), ("initial_average", "37 packets"), ("spread", "false")]);
        let shares = shares(&mut b, &[0, 8, 16, 24, 32, 40, 48, 56]);
        for (i, share) in shares.iter().enumerate() {
            let min = [20.0, 22.0, 24.0, 26.0, 28.0, 31.0, 33.0, 35.0][i];
            let base = 0.1 * (37.0 - min) / (40.0 - min);
            assert!((share - base).abs() < 0.003, "class {i}: {share} for {base}");
        }
    }

    #[test]
    fn drop_precedences_and_packets_without_a_class() {
        let settings = [
            ("weight", "0"),
            ("initial_average", "36 packets"),
            ("spread", "false"),
            ("classes", "drop-precedence"),
        ];
        // The code points are AF13, AF12 and AF11. Best effort is treated like AF13.
        let shares = shares(&mut bench(&settings), &[14, 12, 10, 0]);
        for (share, base) in shares.iter().zip([0.075, 0.1 * 8.0 / 12.0, 0.05, 0.075]) {
            assert!((share - base).abs() < 0.003, "{share} for {base}");
        }
    }

    #[test]
    fn equal_thresholds_make_a_step() {
        let mut b = bench(&[
            ("weight", "1"),
            ("min_threshold", "3 packets"),
            ("max_threshold", "3 packets"),
        ]);
        for id in 0..6 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        assert_eq!(b.log.drops(crate::contract::discipline::DropReason::Forced), [3, 4, 5]);
    }

    #[test]
    fn lists_of_another_length_are_refused() {
        let refused = |with: &[(&str, &str)]| Wred::configured(&settings(with), context()).unwrap_err().problem;
        assert!(refused(&[("max_threshold", "[40 packets, 50 packets]")]).contains("2 values for 8 classes"));
        assert!(refused(&[("min_threshold", "50 packets")]).contains("of class 0 is above"));
    }
}
