//! Packets one by one: a rerun up to an instant, with the packets that wait there and a log of the queue's decisions.
//!
//! A [`Question`] is about an instant of one run. [`Packets`] keeps the runs of earlier questions, and answers from
//! these runs if it can. Otherwise the caller runs a [`PacketWatch`], and returns the observed events.

use crate::screen_runs::{PACKET_BITS, with_one_value, without_recordings};
use crate::state::{LabRefusal, PAGE, ScenarioReader, ScenarioTable, State, watched};
use serde_json::{Value, json};
use tailback_base::{Duration, Time};
use tailback_capture::decisions::{DecidedWindow, DecisionEvent, Decisions, MOST_EVENTS};
use tailback_sim::declare::tables::{WAITING_PACKETS, record, top};
use tailback_sim::results::Outcome;
use tailback_sim::results::screen::{Whole, whole};
use tailback_sim::spec::Spec;
use tailback_sim::wire::tap::{Names, Tap};

/// The window that is kept before and after an instant, seconds. Any other instant in it needs no run.
const BEFORE_S: f64 = 2.0;
const AFTER_S: f64 = 0.5;
/// The number of decisions that the log shows.
const LAST: usize = 60;
/// The longest run that is kept whole, in packets over the link: some 30 MB. Of a longer run only a window is kept.
const MOST_WHOLE: f64 = 300_000.0;
/// The number of runs that are kept: those of both disciplines.
const MOST_KEPT: usize = 2;

/// A question about a run.
#[derive(Clone, Debug)]
pub struct Question {
    document: ScenarioTable,
    /// The scenario with its probes recorded and without a warm-up.
    pub spec: Spec,
    side: usize,
    /// The instant, seconds; `None` for all instants.
    at: Option<f64>,
    port: String,
    queue: &'static str,
    /// The probes with their units.
    probes: Vec<(&'static str, &'static str)>,
    /// The kept part of the run.
    from: f64,
    to: f64,
}

impl Question {
    /// A question about one instant of the run of one discipline.
    ///
    /// # Errors
    /// The run does not exist, or does not have this instant; or the state is not a scenario.
    pub fn about(state: &State, side: usize, at: f64, reader: &ScenarioReader) -> Result<Question, LabRefusal> {
        let mut question = Question::of(state, side, reader)?;
        let end = question.to;
        if !(0.0..=end).contains(&at) {
            return Err(LabRefusal::Page(format!(
                "the run goes from 0 s to {end} s; {at} s is not in it"
            )));
        }
        question.at = Some(at);
        question.from = (at - BEFORE_S).max(0.0);
        question.to = (at + AFTER_S).min(end);
        Ok(question)
    }

    /// A question about every instant of a run, if the run is short enough to be kept whole.
    ///
    /// # Errors
    /// The run does not exist, or the state is not a scenario.
    pub fn about_all(state: &State, side: usize, reader: &ScenarioReader) -> Result<Option<Question>, LabRefusal> {
        let question = Question::of(state, side, reader)?;
        let rate = watched(&question.spec).forward.rate.bits_per_second();
        Ok((rate * question.to / PACKET_BITS <= MOST_WHOLE).then_some(question))
    }

    fn of(state: &State, side: usize, reader: &ScenarioReader) -> Result<Question, LabRefusal> {
        let Some(document) = state.documents(reader)?.into_iter().nth(side) else {
            let remedy = "a state with one discipline has run 0, one with two has 0 and 1";
            return Err(LabRefusal::Page(format!("there is no run {side}; {remedy}")));
        };
        let loaded_spec = reader.load(&document, PAGE)?.spec;
        let link = watched(&loaded_spec);
        let queue = link.forward.queue.model;
        let own = with_one_value(queue.probes).filter(|p| p.name != WAITING_PACKETS.name);
        let all = std::iter::once(&WAITING_PACKETS).chain(own);
        let probes: Vec<(&str, &str)> = all.map(|p| (p.name, p.unit)).collect();
        let names: Vec<&str> = probes.iter().map(|p| p.0).collect();
        let row = json!({record::LINK.name: link.name, record::PROBES.name: names, record::ON_CHANGE.name: true});
        let mut table = without_recordings(&document);
        table.shift_remove(top::WARMUP.name);
        table.insert(top::RECORDINGS.name.into(), json!({"lab-probes": row}));
        let mut spec = reader.load(&table, PAGE)?.spec;
        spec.warmup = Duration::ZERO;
        Ok(Question {
            document,
            side,
            at: None,
            port: link.name.clone(),
            queue: queue.name,
            probes,
            from: 0.0,
            to: loaded_spec.duration.seconds(),
            spec,
        })
    }

    /// The scenario, cut at the end of the kept window. The bound of memory is computed from this scenario.
    pub fn until_its_end(&self) -> Spec {
        let mut spec = self.spec.clone();
        spec.duration = Duration::from_seconds(self.to).max(Duration(1));
        spec
    }
}

/// A run that is watched.
pub struct PacketWatch {
    decisions: Decisions,
    /// The end of the run.
    pub until: Time,
}

impl PacketWatch {
    pub fn of(question: &Question) -> PacketWatch {
        let [from, until] = [question.from, question.to].map(Time::from_seconds);
        let around = question.at.map_or(from, Time::from_seconds);
        PacketWatch {
            decisions: Decisions::new(&question.port, (from, until), around, MOST_EVENTS),
            until,
        }
    }

    /// The tap that the engine calls; see `Hooks::tap`.
    pub fn tap(&self, names: &Names) -> Box<dyn Tap> {
        self.decisions.tap(names)
    }

    pub fn finish(self, outcome: &Outcome) -> Watched {
        Watched {
            window: self.decisions.finish(),
            probes: whole(&outcome["series"], &|_| true),
        }
    }
}

/// The events of a queue in a window of time.
pub struct Watched {
    window: DecidedWindow,
    /// The recorded probes of the port.
    probes: Vec<Whole>,
}

impl Watched {
    /// The value of each probe at an instant; NaN before its first value.
    fn values(&self, now: f64) -> Vec<f64> {
        let value = |p: &Whole| match p.times.partition_point(|t| *t <= now) {
            0 => f64::NAN,
            seen => p.values[seen - 1],
        };
        self.probes.iter().map(value).collect()
    }

    fn unit(&self, probe: &Whole, question: &Question) -> &'static str {
        let recorded = question.probes.iter().find(|p| p.0 == &*probe.probe);
        recorded.map_or("", |p| p.1)
    }

    /// The waiting packets by flow; the last decisions, the oldest first; and the values of the probes.
    fn at(&self, now: f64, question: &Question) -> Value {
        let (waiting, events) = self.window.at(Time::from_seconds(now), LAST);
        let of_flow = |(flow, (packets, bytes)): (&u32, &(u64, u64))| json!([self.window.name(*flow), packets, bytes]);
        let decision = |e: &DecisionEvent| {
            let [what, place, why] = e.what.words();
            let seconds = e.at.seconds();
            let name = self.window.name(e.flow);
            json!([
                seconds,
                name,
                e.sequence,
                e.bytes,
                what,
                place,
                why,
                self.values(seconds)
            ])
        };
        let probes = self.probes.iter().zip(self.values(now));
        let probes = probes.map(|(p, value)| json!([&*p.probe, self.unit(p, question), value]));
        json!({
            "side": question.side,
            "at": now,
            "queue": question.queue,
            "waiting": waiting.iter().map(of_flow).collect::<Vec<_>>(),
            "log": events.iter().map(decision).collect::<Vec<_>>(),
            "probes": probes.collect::<Vec<_>>(),
        })
    }
}

struct Kept {
    document: ScenarioTable,
    watched: Watched,
}

impl Kept {
    fn has(&self, question: &Question) -> bool {
        let (from, to) = self.watched.window.span();
        let (low, high) = question.at.map_or((question.from, question.to), |at| (at, at));
        let within = from.seconds() <= low && Time::from_seconds(high) <= to;
        self.document == question.document && within
    }
}

/// The last runs.
#[derive(Default)]
pub struct Packets {
    kept: Vec<Kept>,
}

impl Packets {
    /// The answer to a question about an instant, if no run is needed for it.
    pub fn answer(&self, question: &Question) -> Option<Value> {
        let kept = self.kept.iter().find(|k| k.has(question))?;
        Some(kept.watched.at(question.at?, question))
    }

    /// Whether the kept runs answer the question without another run.
    pub fn has(&self, question: &Question) -> bool {
        self.kept.iter().any(|k| k.has(question))
    }

    /// Keep the observed events. They replace the kept events of this run, or else the kept events of the oldest run.
    pub fn keep(&mut self, question: &Question, watched: Watched) {
        self.kept.retain(|k| k.document != question.document);
        let surplus = (self.kept.len() + 1).saturating_sub(MOST_KEPT);
        self.kept.drain(..surplus);
        self.kept.push(Kept {
            document: question.document.clone(),
            watched,
        });
    }
}
