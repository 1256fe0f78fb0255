//! From a [`Spec`] and a seed to an [`Outcome`].

use crate::build::network::PortNames;
use crate::build::{Prepared, prepare};
use crate::library::Library;
use crate::measure::capture::TapMaker;
use crate::outside::is_outside;
use crate::packet::SimPacket;
use crate::results::outcome::{Frame, Outcome};
use crate::sim::Broken;
use crate::spec::{End, Spec};
use crate::traffic::application::Ends;
use std::cell::Cell;
use std::collections::HashMap;
use tailback_base::quantity::Refusal;
use tailback_base::work;
use tailback_base::{Duration, Time};
use tailback_queue::{BuildContext, QueueDiscipline};

/// The port of a discipline from outside: what a discipline of the registry learns from its context and its scenario.
pub struct PortContext<'a> {
    /// `bottleneck`, `bottleneck.reverse`.
    pub port: &'a str,
    /// Whether the network marks, as the scenario has it with `marking`.
    pub marking: bool,
    pub context: BuildContext,
}

/// Makes a discipline for one run at this port.
pub type QueueMaker<'a> = &'a (dyn Fn(PortContext) -> Box<dyn QueueDiscipline<SimPacket>> + Sync);

/// Makes both ends of the flow of this number.
pub type ConnectionMaker<'a> = &'a dyn Fn(u32) -> Ends;

/// What a caller adds to a scenario from outside.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Disciplines that no scenario can name (written in Python, or in a test), by port: `bottleneck`,
    /// `bottleneck.reverse`.
    pub queues: HashMap<String, QueueMaker<'a>>,
    /// Transports that no scenario can name, by the group of flows that are to have them in place of the scenario's.
    pub connections: HashMap<String, ConnectionMaker<'a>>,
    /// What the scenario was read with, if not the standard library.
    pub library: Option<&'a Library>,
    /// Makes what sees every packet of a run at every port.
    pub tap: Option<TapMaker<'a>>,
    /// Where the packets of the flows come from.
    pub ends: FlowEnds,
    /// Every packet-hop is an event, nothing runs ahead and no segment is predicted: the same results, later. For tests
    /// that compare.
    pub one_by_one: bool,
    /// Called with the share done, each time some hundredths of a second of work are done, also inside of one event
    /// (see [`tailback_base::work`]); stops the run when it answers false.
    pub progress: Option<&'a dyn Fn(f64) -> bool>,
}

/// Who sends and receives the packets of the flows of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlowEnds {
    /// The endpoints and sources that the scenario names.
    #[default]
    Simulated,
    /// Whoever drives the simulator: packets come by [`Sim::inject`](crate::sim::Sim::inject).
    Injected,
}

impl<'a> Hooks<'a> {
    /// Tell how far the run is.
    ///
    /// # Errors
    /// It is to stop.
    pub fn go_on(&self, share: f64) -> Result<(), Refusal> {
        match self.progress.is_some_and(|p| !p(share)) {
            true => Err(interrupted()),
            false => Ok(()),
        }
    }

    pub fn library(&self) -> &'a Library {
        match self.library {
            Some(library) => library,
            None => Library::standard(),
        }
    }
}

fn interrupted() -> Refusal {
    Refusal::new("the run was interrupted", "run it again; finished runs are kept")
}

/// How many events, or sent packets, are between two questions whether to go on: some hundredths of a second.
const EVENTS_AT_ONCE: u32 = 1 << 14;

/// A discipline broke its contract: which, where and when.
fn unfit(spec: &Spec, hooks: &Hooks, ports: &PortNames, broken: &Broken, now: Time) -> Refusal {
    let port = &ports.of(broken.port);
    let base = port.strip_suffix(".reverse");
    let link = spec.links.iter().find(|l| l.name == base.unwrap_or(port));
    let direction = link.map(|l| if base.is_some() { &l.reverse } else { &l.forward });
    let name = match direction.filter(|d| !hooks.queues.contains_key(port) && !is_outside(&d.queue)) {
        Some(d) => format!("the queue \"{}\" at {port}", d.queue.model.name),
        _ => format!("the queue at {port}"),
    };
    let problem = format!("{name} {} ({} s into the run)", broken.does, now.seconds());
    Refusal::new(problem, broken.remedy.as_str())
}

/// Run a scenario with a seed.
///
/// # Errors
/// What can only be known when the network is built: parameters of a model that contradict each other, a destination
/// that cannot be reached. Also an interruption by `hooks.progress`.
pub fn run(spec: &Spec, seed: u64, hooks: &Hooks) -> Result<Outcome, Refusal> {
    let share = Cell::new(0.0);
    let goes_on = || hooks.go_on(share.get()).is_ok();
    work::listening(&goes_on, || drive(spec, seed, hooks, &share)).unwrap_or_else(|work::Stopped| Err(interrupted()))
}

/// Build, run and read; `share` is how much of it is done.
fn drive(spec: &Spec, seed: u64, hooks: &Hooks, share: &Cell<f64>) -> Result<Outcome, Refusal> {
    let mut prepared = prepare(spec, seed, hooks)?;
    let to = Time::ZERO + spec.duration;
    loop {
        let sim = &mut prepared.built.sim;
        let over = sim.run_some(to, EVENTS_AT_ONCE);
        if over {
            break;
        }
        share.set(sim.now().0 as f64 / to.0.max(1) as f64);
        hooks.go_on(share.get())?;
    }
    share.set(1.0);
    read(spec, hooks, prepared)
}

/// The tables of a network that has been driven to its end.
///
/// # Errors
/// A discipline broke its contract.
pub fn read(spec: &Spec, hooks: &Hooks, prepared: Prepared) -> Result<Outcome, Refusal> {
    let Prepared {
        mut built,
        reported,
        from,
    } = prepared;
    let to = built.sim.now();
    if let Some(broken) = &built.sim.broken {
        return Err(unfit(spec, hooks, &built.port_names, broken, built.sim.now()));
    }
    let to = built.sim.ended().unwrap_or(to);
    if to <= from && spec.end == End::Sessions {
        let problem = format!(
            "all sessions had ended at {}, before the warm-up was over",
            Duration(to.0)
        );
        return Err(Refusal::new(problem, "give a shorter warm-up, or longer sessions"));
    }
    built.sim.finish();
    let frame = Frame {
        port_names: &built.port_names,
        reported: &reported,
        groups: &built.group_names,
        from,
        to,
    };
    Ok(Outcome::read(&built.sim, &frame))
}
