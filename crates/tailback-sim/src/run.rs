//! Runs a [`Spec`] with a seed, and gives an [`Outcome`].

use crate::build::assemble::Built;
use crate::build::hooks::{Hooks, interrupted};
use crate::build::{Prepared, lone, prepare};
use crate::declare::tables::End;
use crate::library::outside::outside_in;
use crate::results::laws;
use crate::results::outcome::{Frame, Layer, Outcome};
use crate::sim::Broken;
use crate::sim::names::PortNames;
use crate::spec::Spec;
use std::cell::Cell;
use std::num::NonZeroU32;
use tailback_base::quantity::Refusal;
use tailback_base::work;
use tailback_base::{Duration, Time};

/// The number of events, or of sent packets, between two calls of `progress`: some hundredths of a second of work.
const EVENTS_AT_ONCE: u32 = 1 << 14;

/// The error of a discipline that broke its contract: which one, where and when.
fn unfit(spec: &Spec, hooks: &Hooks, ports: &PortNames, broken: &Broken, now: Time) -> Refusal {
    let port = &ports.of(broken.port);
    let base = port.strip_suffix(".reverse");
    let link = spec.links.iter().find(|l| l.name == base.unwrap_or(port));
    let direction = link.map(|l| if base.is_some() { &l.reverse } else { &l.forward });
    let name = match direction.filter(|d| !hooks.queues.contains_key(port) && outside_in(&d.queue).is_none()) {
        Some(d) => format!("the queue \"{}\" at {port}", d.queue.model.name),
        _ => format!("the queue at {port}"),
    };
    let problem = format!("{name} {} ({} s into the run)", broken.does, now.seconds());
    Refusal::new(problem, broken.remedy.as_str())
}

/// Run a scenario with a seed.
///
/// # Errors
/// Errors that appear only when the network is built: parameters of a model that contradict each other, a destination
/// that cannot be reached. An interruption by `hooks.progress` is an error, too.
pub fn run(spec: &Spec, seed: u64, hooks: &Hooks) -> Result<Outcome, Refusal> {
    let share = Cell::new(0.0);
    let goes_on = || hooks.go_on(share.get()).is_ok();
    work::listening(&goes_on, || drive(spec, seed, hooks, &share)).unwrap_or_else(|work::Stopped| Err(interrupted()))
}

/// Build and run the network, and read its results; `share` is the share of the work that is done.
fn drive(spec: &Spec, seed: u64, hooks: &Hooks, share: &Cell<f64>) -> Result<Outcome, Refusal> {
    let mut prepared = prepare(spec, seed, hooks)?;
    let end = Time::ZERO + spec.duration;
    let stop = hooks.until.map_or(end, |until| until.min(end));
    let at_once = hooks.ask_after.map_or(EVENTS_AT_ONCE, NonZeroU32::get);
    loop {
        let sim = &mut prepared.built.sim;
        let over = sim.run_some(stop, at_once);
        if over {
            break;
        }
        share.set(sim.now().0 as f64 / stop.0.max(1) as f64);
        hooks.go_on(share.get())?;
    }
    share.set(1.0);
    read(spec, hooks, prepared)
}

/// The layers of the topology with each direction of their links by itself, in the order of links.
fn layers(spec: &Spec, built: &Built) -> Vec<Layer> {
    let mut layers: Vec<Layer> = vec![];
    // The links of the scenario were added first.
    for (link, ports) in spec.links.iter().zip(&built.link_ports) {
        let Some(layer) = &link.layer else { continue };
        for (reverse, port) in [false, true].into_iter().zip(ports) {
            let name = if reverse {
                format!("{layer}.reverse")
            } else {
                layer.clone()
            };
            match layers.iter_mut().find(|l| l.name == name) {
                Some(known) => known.ports.push(*port),
                None => layers.push(Layer {
                    name,
                    ports: vec![*port],
                }),
            }
        }
    }
    layers
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
    built.sim.check_end();
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
    lone::run(&mut built.sim)?;
    let layers = layers(spec, &built);
    let frame = Frame {
        port_names: &built.port_names,
        reported: &reported,
        groups: &built.group_names,
        layers: &layers,
        size_classes: &spec.size_classes,
        from,
        to,
    };
    let outcome = Outcome::read(&built.sim, &frame);
    if hooks.laws {
        let seconds = (to - from).seconds();
        laws::check(&outcome, spec, hooks.library(), seconds).map_err(|broken| {
            Refusal::new(
                format!("the results break a law: {broken}"),
                "send this message with the scenario and the seed to tailback",
            )
        })?;
    }
    Ok(outcome)
}
