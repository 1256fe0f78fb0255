//! From a [`Spec`] and a seed to an [`Outcome`].

use crate::build::{Prepared, prepare};
use crate::library::Library;
use crate::measure::capture::TapMaker;
use crate::packet::SimPacket;
use crate::results::outcome::{Frame, Outcome};
use crate::spec::{End, Spec};
use std::collections::HashMap;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Time};
use tailback_queue::{BuildContext, QueueDiscipline};

/// Makes a discipline for one run, which may know what a discipline of the registry may.
pub type QueueMaker<'a> = &'a (dyn Fn(BuildContext) -> Box<dyn QueueDiscipline<SimPacket>> + Sync);

/// What a caller adds to a scenario from outside.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Disciplines that no scenario can name (written in Python, or in a test), by port: `bottleneck`,
    /// `bottleneck.reverse`.
    pub queues: HashMap<String, QueueMaker<'a>>,
    /// What the scenario was read with, if not the standard library.
    pub library: Option<&'a Library>,
    /// Makes what sees every packet of a run at every port.
    pub tap: Option<TapMaker<'a>>,
    /// Called about every hundredth of the run with the share done; stops the run when it answers false.
    pub progress: Option<&'a dyn Fn(f64) -> bool>,
}

impl<'a> Hooks<'a> {
    pub fn library(&self) -> &'a Library {
        match self.library {
            Some(library) => library,
            None => Library::standard(),
        }
    }
}

/// Run a scenario with a seed.
///
/// # Errors
/// What can only be known when the network is built: parameters of a model that contradict each other, a destination
/// that cannot be reached. Also an interruption by `hooks.progress`.
pub fn run(spec: &Spec, seed: u64, hooks: &Hooks) -> Result<Outcome, Refusal> {
    let Prepared {
        mut built,
        reported,
        from,
    } = prepare(spec, seed, hooks)?;
    let to = Time::ZERO + spec.duration;
    for part in 1..=100u64 {
        built
            .sim
            .run_until(Time((u128::from(to.0) * u128::from(part) / 100) as u64));
        if built.sim.ended().is_some() {
            break;
        }
        if hooks.progress.is_some_and(|p| !p(part as f64 / 100.0)) {
            return Err(Refusal::new(
                "the run was interrupted",
                "run it again; finished runs are kept",
            ));
        }
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
