//! Multi-level RED: three drop precedences in one queue, as routers offer them for assured forwarding.
//!
//! A class of assured forwarding has one queue, so that packets are not reordered, and three precedences (green,
//! yellow, red; RFC 2597 section 4). When the queue fills, red packets are dropped first. Each precedence has its own
//! ramp. The variants differ in the average that a precedence uses (`accounting`). Measure: a filtered backlog for each
//! precedence, or one for all. Function: a ramp for each precedence. Action: the same as RED's.
//!
//! ```text
//! rio-c       the packets of this precedence and of the better ones (RIO, coupled)
//! rio-d       the packets of this precedence alone (RIO, decoupled)
//! wred        all packets: one average
//! tail-drop   no average: refused when min_threshold of its own precedence wait
//! ```
//!
//! From: Clark and Fang 1998 section IV for two coupled precedences; ns-2's diffserv module (P. Pieda, J. Ethridge, M.
//! Baines, F. Shallwani, "A network simulator differentiated services implementation", Nortel Networks 2000) for three
//! and for the other modes; thresholds of Habib, Fahmy, Bhargava, CSD TR 00-015, Purdue 2000.
//!
//! State: the backlog of each precedence; one or three averages with their idle times ([`Populations`]); a count
//! since the last signal for each precedence.
//!
//! Departures from ns-2: signals are spaced by the packets accepted since the last signal (gaps of 1 to 1/pb), and a
//! signal is due at the latest when this count reaches 1/pb. ns-2 has no such guard. If the probability grows so that
//! the count is already past 1/pb, ns-2 signals no more packets. Idle time continues after a refused arrival. A shared
//! average is idle when the queue is empty. `ns2_idle` uses the rules of ns-2 for both.
//!
//! Cost of a packet: the same as in RED, and with `rio-c` one more filter step for each average beyond the first.

use crate::aqm::average::Average;
use crate::aqm::colours::populations::{Accounting, Populations};
use crate::aqm::colours::precedence::{COLOURS, Colours, UNCOLOURED, each_colour};
use crate::aqm::colours::redn::params::SPACING;
use crate::aqm::red::params::{GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MEAN_PACKET, PROBABILITY, WEIGHT};
use crate::aqm::red::signals::{Arrival, Ramp, RampShape, RedClass, SignalRules};
use crate::aqm::red::{AVERAGE, BASE};
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, Out, ProbeId};
use crate::contract::view::Exit;
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, ECN};
use tailback_base::model::Alias;
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Level, Model, Packet, Per, ProbeDef, Settings, Stream, params};

const HABIB: &str = "Habib, Fahmy, Bhargava 2000";

pub static MODEL: Model = Model {
    name: "mred",
    family: "queue",
    title: "Multi-level RED",
    summary: "RED with three drop precedences in one queue, as for assured forwarding: RIO-C, RIO-D, WRED or \
              drop-tail. Measure: the filtered backlog of each precedence together with the better ones, of each \
              precedence alone, or of all packets. Function: a ramp for each precedence. Action: drop (early, above \
              max_threshold forced); with ecn, mark instead.",
    source: "Clark and Fang 1998; Pieda, Ethridge, Baines, Shallwani 2000 (ns-2 diffserv); RFC 2597",
    params: PARAMS,
    probes: &[
        ProbeDef {
            per: "colour",
            ..AVERAGE
        },
        ProbeDef {
            name: "backlog",
            unit: "unit of the buffer",
            doc: "Packets of the colour that wait",
            per: "colour",
        },
        ProbeDef { per: "colour", ..BASE },
    ],
};

params! {
    const PARAMS;

    BUFFER;
    ACCOUNTING: Measurement = Key::choice("accounting", "rio-c",
        "Which packets the average of a precedence counts: packets of this and of better precedences; packets of this \
         precedence; or all packets. With tail-drop there is no average: the waiting packets of the precedence are \
         compared with min_threshold.",
        "ns-2 setMREDMode");
    MIN_THRESHOLD: Vec<Level> = Key::new("min_threshold", Kind::Each(Per::Colour, &Kind::Level),
        "[40 packets, 25 packets, 10 packets]",
        "Average backlog from which packets are signalled: green, yellow, red.", HABIB);
    MAX_THRESHOLD: Vec<Level> = Key::new("max_threshold", Kind::Each(Per::Colour, &Kind::Level),
        "[55 packets, 40 packets, 25 packets]",
        "Average backlog at which the probability reaches max_probability.", HABIB);
    MAX_PROBABILITY: Vec<f64> = Key::new("max_probability", Kind::Each(Per::Colour, &PROBABILITY), "[0.02, 0.05, 0.1]",
        "Signal probability as the average reaches max_threshold.", HABIB);
    /// RED's parameters, with a value for each colour or one for all.
    WEIGHTS: Vec<f64> = WEIGHT.of_kind(Kind::Each(Per::Colour, &PROBABILITY));
    OWN_GENTLE = GENTLE.with_default("false", HABIB).param;
    ECN;
    OWN_MARK_ABOVE_MAX = MARK_ABOVE_MAX.with_default("true", "ns-2 diffserv").param;
    SPACING;
    OWN_MEAN_PACKET = MEAN_PACKET.with_default("1000B", "ns-2 diffserv").param;
    INITIAL_AVERAGES: Vec<Level> = INITIAL_AVERAGE.of_kind(Kind::Each(Per::Colour, &Kind::Level));
    NS2_IDLE: bool = Key::new("ns2_idle", Kind::Bool, "false",
        "Count idle time as ns-2 does: each refused arrival counts the same idle time again, and with wred idle time \
         begins when no packet of the departing colour waits.", "ns-2 diffserv");
    UNCOLOURED;
    BEFORE;
}

/// How the average of a precedence is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measurement {
    Average(Accounting),
    Waiting,
}

impl Choice for Measurement {
    const WORDS: &'static [&'static str] = &["rio-c", "rio-d", "wred", "tail-drop"];
    const MEANINGS: &'static [Measurement] = &[
        Measurement::Average(Accounting::Coupled),
        Measurement::Average(Accounting::Own),
        Measurement::Average(Accounting::Shared),
        Measurement::Waiting,
    ];
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Mred>(
        &MODEL,
        Facts::WITH_ECN.also(const { &[Alias::ns2("dsRED"), Alias::ns2("RED/RIO"), Alias::linux("gred")] }),
    )
}

impl Configured for Mred {
    /// # Errors
    /// Thresholds that contradict each other or the buffer's unit.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let measure = s.get(&ACCOUNTING);
        let accounting = match measure {
            Measurement::Average(accounting) => accounting,
            Measurement::Waiting => Accounting::Own,
        };
        let (limit, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let levels = |key| capacity::thresholds(s, key, limit, mean_packet).map(|list| each_colour(&list));
        let (min, max, initial) = (
            levels(&MIN_THRESHOLD)?,
            levels(&MAX_THRESHOLD)?,
            levels(&INITIAL_AVERAGES)?,
        );
        if let Some(colour) = (0..COLOURS).find(|&colour| min[colour] > max[colour] && measure != Measurement::Waiting)
        {
            return Err(Refusal::new(
                format!(
                    "min_threshold ({}) is above max_threshold ({})",
                    min[colour], max[colour]
                ),
                "give each precedence a max_threshold of at least its min_threshold",
            ));
        }
        let top = each_colour(&s.get(&MAX_PROBABILITY));
        let classes = std::array::from_fn(|colour| {
            RedClass::new(Ramp {
                min_threshold: min[colour],
                max_threshold: max[colour],
                max_probability: top[colour],
                gentle: s.get(&GENTLE),
                shape: RampShape::Line,
            })
        });
        let weights = each_colour(&s.get(&WEIGHTS));
        // If one average serves all colours, it uses the weight of green, as in ns-2.
        let weight = |colour: usize| {
            if accounting == Accounting::Shared {
                weights[0]
            } else {
                weights[colour]
            }
        };
        let averages = std::array::from_fn(|c| Average::new(initial[c], weight(c), mean_packet));
        let populations = Populations::new(accounting, limit, averages);
        let (spread, wait) = s.get(&SPACING).rules();
        Ok(Mred {
            measure,
            colours: Colours::from_settings(s)?,
            populations: match s.get(&NS2_IDLE) {
                true => populations.as_ns2(),
                false => populations,
            },
            classes,
            rules: SignalRules {
                ecn: params::ecn(s),
                mark_cap: 1.0,
                mark_above_max: s.get(&MARK_ABOVE_MAX),
                bytes: false,
                mean_packet,
                spread,
                wait,
                first_count: false,
                ns2_guards: false,
            },
            stream: context.stream,
        })
    }
}

/// The decision of multi-level RED.
#[derive(Clone, Debug)]
pub struct Mred {
    measure: Measurement,
    colours: Colours,
    populations: Populations,
    classes: [RedClass; COLOURS],
    rules: SignalRules,
    stream: Stream,
}

impl<P: Packet> Admission<P> for Mred {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let colour = self.colours.of(p.dscp());
        // A packet that does not fit leaves the averages unchanged.
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let (population, class) = (self.populations.of(colour), &mut self.classes[colour as usize]);
        let decision = match self.measure {
            Measurement::Waiting if self.populations.level(population) >= class.ramp.min_threshold => {
                Decision::Drop(DropReason::Percap)
            }
            Measurement::Waiting => Decision::Store,
            Measurement::Average(_) => {
                for k in self.populations.with(colour) {
                    self.populations.arrival(k, line);
                }
                let arrival = Arrival {
                    average: self.populations.average(population),
                    waiting: queue.backlog().packets,
                    fits: true,
                };
                class.decide(p, arrival, &self.rules, &mut self.stream, out)
            }
        };
        if decision == Decision::Store {
            self.populations.stored(colour, p.bytes());
        }
        decision
    }

    fn left(&mut self, p: &P, _how: Exit, _rest: Backlog, line: &Line) {
        self.populations.left(self.colours.of(p.dscp()), p.bytes(), line.now);
    }

    /// The congestion that red packets see, because they are signalled first. With `tail-drop` there is no average.
    fn congestion(&self) -> Option<Congestion> {
        let all = COLOURS - 1;
        match self.measure {
            Measurement::Average(_) => Some(Congestion {
                average: self.populations.average(all),
                threshold: self.classes[all].ramp.min_threshold,
            }),
            Measurement::Waiting => None,
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        let k = index as usize;
        if k >= COLOURS {
            return f64::NAN;
        }
        match (probe.0, self.measure) {
            (0, Measurement::Average(Accounting::Shared)) => self.populations.average(COLOURS - 1),
            (0, Measurement::Average(_)) => self.populations.average(k),
            (1, _) => self.populations.colour(k),
            (2, Measurement::Average(_)) => self.classes[k].probability(),
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests;
