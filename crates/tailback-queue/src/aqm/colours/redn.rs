//! REDn: three coupled REDs for one first-in-first-out queue, with maximum probabilities that adapt.
//!
//! A conditioner colours the packets of a sender green, yellow or red, depending on the rate that the sender was
//! promised. The gateway drops or marks red packets before yellow ones, and yellow ones before green ones. Each colour
//! has its own RED. The average of a colour counts all packets of this colour and of the better ones. So with equal
//! thresholds red has the highest average and the highest probability. Measure: three coupled averages. Function: RED's
//! ramp with a gentle second phase, with a maximum probability that is constant (`redn`), is self-configuring
//! (`self_redn`), or is self-configuring with a middle threshold (`adaptive_redn`). Action: a drop, or with `ecn` a
//! mark below the upper threshold.
//!
//! ```text
//! arrival of colour c:  for each colour k from c on: average[k] of packets of the colours 0 to k, move its probability
//!                       full: drop.  adaptive, and fewer than queue_threshold of the colours 0 to c wait: let in
//!                       RED with average[c]
//! ```
//!
//! From: Liu, "An adaptive token bucket traffic conditioner and an adaptive multi-colour RED gateway", M.A.Sc. thesis,
//! University of British Columbia, 2001; Feng, Kandlur, Saha, Shin 1999 for the self-configuring rule.
//!
//! State for each colour: its backlog and that of its population; an average with its idle time; RED's count; the
//! dynamic and the static probability, and which of the two is in use ([`steering`]).
//!
//! Departures and choices. The source leaves four points open. An arrival changes the averages of the populations that
//! include its colour (`moves`). In both phases there is no signal if the average or the backlog is below its
//! threshold. A colour without a middle threshold never uses the static probability. When the average falls below the
//! lower threshold, an earlier crossing of the middle threshold is cleared. If no thresholds are given, they are
//! computed from the line's rate by the source's guidelines (section 3.3). `stepped_red` is a simpler variant that the
//! source names. It has three equal regions that end at 1/4, 1/2 and 1 of max_probability; these three values are our
//! choice.
//!
//! Cost of a packet: the same as in RED, and one more filter step for each average beyond the first.

pub mod params;
pub mod steering;

use crate::aqm::colours::populations::Populations;
use crate::aqm::colours::precedence::{COLOURS, Colours};
use crate::aqm::red::signals::{Arrival, RedClass, SignalRules};
use crate::aqm::red::{AVERAGE, BASE};
use crate::aqm::ticks::Ticks;
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, Line, Out, ProbeId};
use crate::contract::view::Exit;
use crate::entry::{Configured, Entry, Facts};
use params::{Config, Moves, Steers};
use steering::{Source, Steering};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Model, Packet, ProbeDef, Settings, Stream, Time};

pub static MODEL: Model = Model {
    name: "redn",
    family: "queue",
    title: "Three coupled REDs",
    summary: "RED for packets of three colours in one queue. Measure: for each colour the filtered backlog of its \
              packets and of the better colours. Function: RED's ramp, with a maximum probability for each colour, \
              which is fixed or adapts. Action: drop (early, above twice max_threshold forced); with ecn, mark \
              instead below max_threshold.",
    source: "Liu 2001; Feng, Kandlur, Saha, Shin 1999 (self_redn)",
    params: params::PARAMS,
    probes: PROBES,
};

/// The indices of the probes that are reported on every change.
const TOLD: std::ops::Range<u16> = 3..7;

const PROBES: &[ProbeDef] = &Probe::defs(&READ);

/// Values that can be recorded, by colour.
const READ: [Probe<Redn>; 7] = [
    Probe::of(AVERAGE, |q: &Redn, i| q.of_colour(i, |k| q.populations.average(k))).per("colour"),
    Probe::new(
        "backlog",
        "unit of the buffer",
        "Packets of the colour that wait",
        |q: &Redn, i| q.of_colour(i, |k| q.populations.colour(k)),
    )
    .per("colour"),
    Probe::of(BASE, |q: &Redn, i| q.of_colour(i, |k| q.classes[k].probability())).per("colour"),
    Probe::new(
        "dynamic",
        "",
        "The dynamic maximum probability Pd, reported at every change",
        |q: &Redn, i| q.of_colour(i, |k| q.steering[k].dynamic()),
    )
    .per("colour"),
    Probe::new(
        "static",
        "",
        "The static maximum probability Ps, reported at every change",
        |q: &Redn, i| q.of_colour(i, |k| q.steering[k].fixed()),
    )
    .per("colour"),
    Probe::new(
        "effective",
        "",
        "The maximum probability Pe in use, reported at every change",
        |q: &Redn, i| q.of_colour(i, |k| q.classes[k].ramp.max_probability),
    )
    .per("colour"),
    Probe::new(
        "source",
        "",
        "The probability in use, reported at every change: 0 for the dynamic one, 1 for the static one",
        |q: &Redn, i| {
            q.of_colour(i, |k| match q.steering[k].source() {
                Source::Dynamic => 0.0,
                Source::Static => 1.0,
            })
        },
    )
    .per("colour"),
];

/// How often the static probability is adapted.
const SECOND: Duration = Duration(1_000_000_000);

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Redn>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Redn {
    /// # Errors
    /// Thresholds that contradict each other or the buffer's unit.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let config = Config::from_settings(s, &context)?;
        let classes = config.classes();
        Ok(Redn {
            colours: Colours::from_settings(s)?,
            populations: config.populations,
            moves: config.moves,
            classes,
            rules: config.rules,
            gates: config.gates,
            steering: config.limits.map(Steering::new),
            steers: match config.mode {
                Steers::SelfConfiguring | Steers::Adaptive => true,
                Steers::Redn | Steers::Stepped => false,
            },
            seconds: config.adapt_static.then(|| Ticks::new(SECOND)),
            stream: context.stream,
        })
    }
}

/// REDn's decision.
#[derive(Clone, Debug)]
pub struct Redn {
    colours: Colours,
    populations: Populations,
    moves: Moves,
    classes: [RedClass; COLOURS],
    rules: [SignalRules; COLOURS],
    gates: [f64; COLOURS],
    steering: [Steering; COLOURS],
    steers: bool,
    /// The times at which the static probability is adapted.
    seconds: Option<Ticks>,
    stream: Stream,
}

impl Redn {
    /// The value of the colour with this index, if there is one.
    fn of_colour(&self, index: u32, value: impl FnOnce(usize) -> f64) -> f64 {
        match index as usize {
            k if k < COLOURS => value(k),
            _ => f64::NAN,
        }
    }

    /// The probabilities of colour `k` have changed: update its ramp, and report the probabilities.
    fn follow<P: Packet>(&mut self, k: usize, out: &mut dyn Out<P>) {
        let effective = self.steering[k].effective();
        self.classes[k].ramp.max_probability = effective;
        self.rules[k].mark_cap = effective;
        for probe in TOLD {
            let probe = ProbeId(probe);
            out.note(
                probe,
                k as u32,
                Probe::read(&READ, self, usize::from(probe.0), k as u32),
            );
        }
    }
}

impl<P: Packet> Admission<P> for Redn {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let colour = self.colours.of(p.dscp());
        let first = match self.moves {
            Moves::Population => *self.populations.with(colour).start(),
            Moves::All => 0,
        };
        for k in first..COLOURS {
            let average = self.populations.arrival(k, line);
            if self.steers && self.steering[k].arrival(average) {
                self.follow(k, out);
            }
        }
        let c = self.populations.of(colour);
        let arrival = Arrival {
            average: self.populations.average(c),
            waiting: queue.backlog().packets,
            fits: queue.fits(p.bytes()),
        };
        let decision = if arrival.fits && self.populations.level(c) < self.gates[c] {
            self.classes[c].finds(arrival.average);
            self.classes[c].rest();
            Decision::Store
        } else {
            self.classes[c].decide(p, arrival, &self.rules[c], &mut self.stream, out)
        };
        if decision == Decision::Store {
            self.populations.stored(colour, p.bytes());
        }
        decision
    }

    fn left(&mut self, p: &P, _how: Exit, _rest: Backlog, line: &Line) {
        self.populations.left(self.colours.of(p.dscp()), p.bytes(), line.now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.seconds.map(|t| t.next())
    }

    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) {
        if !self.seconds.as_mut().is_some_and(|t| t.tick(line.now)) {
            return;
        }
        for k in 0..COLOURS {
            if self.steering[k].adapt_fixed(self.populations.average(k)) {
                self.follow(k, out);
            }
        }
    }

    fn congestion(&self) -> Option<Congestion> {
        let all = COLOURS - 1;
        Some(Congestion {
            average: self.populations.average(all),
            threshold: self.classes[all].ramp.min_threshold,
        })
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }
}

#[cfg(test)]
mod tests;
