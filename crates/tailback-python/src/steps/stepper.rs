//! A run that goes on step by step under an agent's actions.
//!
//! A step applies the agent's action and runs the simulation to the end of the interval, or to the next ACK of the
//! agent's connection. It then reads the counts since the last step. Pausing changes nothing: a run in steps whose
//! agent changes nothing has the packets of a whole run. An action takes effect from the end of the step on. If it
//! opens a window, segments leave when the next ACK arrives.
//!
//! Cost: a step by interval takes a lock and a few sums in addition to the simulation. A step by ACK runs each
//! packet-hop as an event of its own, because nothing may run ahead of the agent.

use super::agent::{self, Gate, Steered, SteeredDrops, locked};
use super::features::SEEN;
use crate::control::library;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Size, Time};
use tailback_queue::QueueDiscipline;
use tailback_queue::fifo::Fifo;
use tailback_scenario::Loaded;
use tailback_sim::build::hooks::{Hooks, PortContext};
use tailback_sim::build::{Prepared, prepare};
use tailback_sim::library::Library;
use tailback_sim::wire::packet::SimPacket;

/// The number of values that an agent sees of its queue.
pub const SEEN_OF_QUEUE: usize = 6;
/// The agent sees the wait in the queue in multiples of this, seconds.
const WAIT_UNIT: f64 = 0.1;
/// The number of events, or packets, between two checks for a stop.
const EVENTS_UNASKED: u32 = 1 << 16;
/// The library of environments: that of Python, and the control under the agent.
pub fn steered_library() -> Arc<Library> {
    static ROW: LazyLock<&'static tailback_transport::tcp::congestion::Controller> = LazyLock::new(|| &agent::ROW);
    let mut own = (*library(true)).clone();
    own.add(*ROW);
    Arc::new(own)
}

/// What an agent controls, and the times at which it acts.
#[derive(Clone, Debug)]
pub enum Task {
    /// The window or the pacing rate of the connection whose congestion control is `agent`, after each interval or
    /// after each ACK.
    Window { interval: Option<Duration>, by_rate: bool },
    /// A queue at a port, after each interval.
    Queue {
        port: String,
        buffer: Size,
        interval: Duration,
    },
}

/// The cost of a step in rewards, besides the share of the line that is used.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    pub delay: f64,
    pub loss: f64,
}

/// The result of a step.
#[derive(Clone, Debug, Default)]
pub struct StepTold {
    pub seen: Vec<f32>,
    pub reward: f64,
    /// Whether the scenario is at its end.
    pub over: bool,
    /// Time, rate in bit/s, round trip or wait in seconds, share lost or dropped; window or backlog in bytes, or
    /// the pacing rate in bit/s.
    pub facts: [f64; 5],
}

enum SteeredEnd {
    Window(Arc<Mutex<Steered>>),
    Queue(Arc<Mutex<Gate>>),
}

struct Episode {
    prepared: Prepared,
    steering: SteeredEnd,
    /// The time at which the agent acted last.
    acted: Time,
    end: Time,
    /// The slowest line, bit/s.
    line: f64,
}

/// Runs of some scenarios, one after the other, under an agent.
pub struct Stepper {
    scenarios: Vec<Arc<Loaded>>,
    task: Task,
    weights: Weights,
    library: Arc<Library>,
    episode: Option<Episode>,
}

/// Turns the unwinding of a control or queue written in Python into a message.
fn caught<T>(f: impl FnOnce() -> Result<T, Refusal>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => done.map_err(|e| e.to_string()),
        Err(e) => Err(match e.downcast::<Refusal>() {
            Ok(refusal) => refusal.to_string(),
            Err(_) => "the engine stopped; please report this scenario".into(),
        }),
    }
}

impl Stepper {
    pub fn new(scenarios: Vec<Arc<Loaded>>, task: Task, weights: Weights, library: Arc<Library>) -> Stepper {
        Stepper {
            scenarios,
            task,
            weights,
            library,
            episode: None,
        }
    }

    /// Begin the scenario of this number with this seed.
    ///
    /// # Errors
    /// The scenario has no place for the agent, or cannot be built.
    pub fn reset(&mut self, which: usize, seed: u64) -> Result<StepTold, String> {
        self.episode = None;
        let episode = caught(|| self.begin(which, seed))?;
        self.episode = Some(episode);
        Ok(self.told(true))
    }

    fn begin(&self, which: usize, seed: u64) -> Result<Episode, Refusal> {
        let Some(loaded) = self.scenarios.get(which) else {
            return Err(Refusal::new(
                format!("there is no scenario {which}"),
                "give one of those of the environment",
            ));
        };
        let spec = &loaded.spec;
        agent::built();
        let gate = Arc::new(Mutex::new(Gate::default()));
        let buffer = match &self.task {
            Task::Queue { buffer, .. } => *buffer,
            Task::Window { .. } => Size::Unlimited,
        };
        let make = |port_context: PortContext| -> Box<dyn QueueDiscipline<SimPacket>> {
            let drops = SteeredDrops {
                gate: gate.clone(),
                stream: port_context.context.stream,
                ecn: port_context.marking,
            };
            Box::new(Fifo::new(buffer, drops))
        };
        let mut hooks = Hooks {
            library: Some(&self.library),
            one_by_one: matches!(self.task, Task::Window { interval: None, .. }),
            ..Hooks::default()
        };
        let mut line_rate = slowest(spec.links.iter().map(|l| l.forward.rate.bits_per_second()));
        if let Task::Queue { port, .. } = &self.task {
            let base = port.strip_suffix(".reverse").unwrap_or(port);
            let Some(link) = spec.links.iter().find(|l| l.name == base) else {
                let names: Vec<&str> = spec.links.iter().map(|l| l.name.as_str()).collect();
                let problem = format!("there is no link \"{base}\" for the agent's queue");
                return Err(Refusal::new(problem, format!("name one of {}", names.join(", "))));
            };
            let direction = if port == base { &link.forward } else { &link.reverse };
            line_rate = direction.rate.bits_per_second();
            hooks.queues.insert(port.clone(), &make);
        }
        let prepared = prepare(spec, seed, &hooks)?;
        let windows = agent::built();
        let steering = match (&self.task, windows.as_slice()) {
            (Task::Queue { .. }, _) => SteeredEnd::Queue(gate.clone()),
            (Task::Window { by_rate, .. }, [steered]) => {
                if *by_rate {
                    locked(steered).by_rate();
                }
                SteeredEnd::Window(steered.clone())
            }
            (Task::Window { .. }, all) => {
                return Err(Refusal::new(
                    format!("{} flows have the congestion control \"agent\"", all.len()),
                    "give it to exactly one flow: tcp = { congestion = \"agent\" }, count = 1",
                ));
            }
        };
        Ok(Episode {
            prepared,
            steering,
            acted: Time::ZERO,
            end: Time::ZERO + spec.duration,
            line: line_rate,
        })
    }

    /// Act, go on to the next instant at which the agent acts, and return the observations. A long step calls `stop`
    /// now and then to check whether it shall end.
    ///
    /// # Errors
    /// There is no run, an action is not finite, the run cannot go on, or it was stopped.
    pub fn step(&mut self, action: &[f64], stop: &mut dyn FnMut() -> bool) -> Result<StepTold, String> {
        if self.episode.as_ref().is_none_or(|e| e.acted >= e.end) {
            return Err("the run is over, or was never begun; call reset()".into());
        }
        let length = match self.task {
            Task::Window { .. } => 1,
            Task::Queue { .. } => 2,
        };
        if action.len() != length || action.iter().any(|a| !a.is_finite()) {
            return Err(format!("an action is {length} finite numbers, not {action:?}"));
        }
        self.act(action);
        let failed = match caught(|| Ok(self.go_on(stop))) {
            Ok(true) => return Ok(self.told(false)),
            Ok(false) => "the step was stopped, and its run is over; call reset()".into(),
            Err(e) => e,
        };
        self.episode = None;
        Err(failed)
    }

    fn act(&self, action: &[f64]) {
        match self.episode.as_ref().map(|e| &e.steering) {
            Some(SteeredEnd::Window(steered)) => {
                locked(steered).act(libm::exp2(action[0].clamp(-1.0, 1.0)));
            }
            Some(SteeredEnd::Queue(gate)) => {
                let mut g = locked(gate);
                (g.drop, g.mark) = (action[0].clamp(0.0, 1.0), action[1].clamp(0.0, 1.0));
            }
            None => {}
        }
    }

    /// Go on to the next instant at which the agent acts; false if the run was stopped before.
    fn go_on(&mut self, stop: &mut dyn FnMut() -> bool) -> bool {
        let Some(e) = &mut self.episode else { return true };
        let sim = &mut e.prepared.built.sim;
        match (&self.task, &e.steering) {
            (Task::Window { interval: None, .. }, SteeredEnd::Window(steered)) => {
                let mut events = 0;
                while locked(steered).seen.acks == 0 && !sim.run_some(e.end, 1) {
                    events += 1;
                    if events % EVENTS_UNASKED == 0 && stop() {
                        return false;
                    }
                }
            }
            (
                Task::Window {
                    interval: Some(interval),
                    ..
                }
                | Task::Queue { interval, .. },
                _,
            ) => {
                let until = (e.acted + *interval).min(e.end);
                while !sim.run_some(until, EVENTS_UNASKED) {
                    if stop() {
                        return false;
                    }
                }
            }
            _ => {}
        }
        true
    }

    /// The observations of the agent now.
    fn told(&mut self, first: bool) -> StepTold {
        let Some(e) = &mut self.episode else {
            return StepTold::default();
        };
        let now = e.prepared.built.sim.now();
        let passed = now.since(e.acted).seconds();
        e.acted = now;
        let is_over = now >= e.end;
        let mut reply = match &e.steering {
            SteeredEnd::Window(steered) => told_of_window(&mut locked(steered), passed, e.line, self.weights),
            SteeredEnd::Queue(gate) => told_of_queue(&mut locked(gate), passed, e.line, self.weights),
        };
        reply.over = is_over;
        reply.facts[0] = now.seconds();
        if first {
            reply.reward = 0.0;
        }
        reply
    }
}

fn slowest(rates: impl Iterator<Item = f64>) -> f64 {
    rates.fold(f64::INFINITY, f64::min)
}

fn told_of_window(s: &mut Steered, passed: f64, line: f64, w: Weights) -> StepTold {
    let cwnd = s.window();
    let seen: [f32; SEEN] = s.seen.look(passed, cwnd);
    let f = &s.seen;
    // Between ACKs at one instant the rate is unknown.
    let used = if passed > 0.0 {
        (8.0 * f.rate / line).min(1.0)
    } else {
        0.0
    };
    StepTold {
        reward: used - w.delay * f64::from(seen[1]) - w.loss * f.loss,
        seen: seen.to_vec(),
        over: false,
        facts: [
            0.0,
            8.0 * f.rate,
            f.rtt,
            f.loss,
            s.pace.map_or(cwnd, |bytes| 8.0 * bytes),
        ],
    }
}

fn told_of_queue(g: &mut Gate, passed: f64, line: f64, w: Weights) -> StepTold {
    let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    let (arrived, sent) = (
        share(8.0 * g.arrived, passed * line),
        share(8.0 * g.sent, passed * line),
    );
    let wait = share(g.waited, g.served);
    let queued = 8.0 * g.backlog.bytes as f64 / line;
    let (dropped, marked) = (share(g.dropped, g.packets), share(g.marked, g.packets));
    let seen: [f64; SEEN_OF_QUEUE] = [queued / WAIT_UNIT, wait / WAIT_UNIT, arrived, sent, dropped, marked];
    let reply = StepTold {
        reward: sent.min(1.0) - w.delay * wait / WAIT_UNIT - w.loss * dropped,
        seen: seen.map(|x| x as f32).to_vec(),
        over: false,
        facts: [0.0, sent * line, wait, dropped, g.backlog.bytes as f64],
    };
    *g = Gate {
        drop: g.drop,
        mark: g.mark,
        backlog: g.backlog,
        ..Gate::default()
    };
    reply
}
