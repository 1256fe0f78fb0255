//! The links of a scenario: a direction's line, queue and impairments.

use super::conditioners::Site;
use super::network::{Alters, Direction, Network, QueueChoice};
use crate::build::hooks::{Hooks, PortContext, QueueMaker};
use crate::library::outside::{handed_for, outside_in};
use crate::spec::{DirectionSpec, Sampling, Spec, SwitchSpec, Target};
use crate::wire::packet::SimPacket;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{Settings, Stream};
use tailback_queue::BuildContext;
use tailback_queue::registry::Outside;
use tailback_queue::shared::{MemoryShare, SharedMemory, SharingPort};

/// Put both directions of every link into the network. Returns the places of conditioners.
pub(super) fn add<'s>(net: &mut Network, spec: &'s Spec, seed: u64, hooks: &Hooks) -> Result<Vec<Site<'s>>, Refusal> {
    let mut edges = vec![];
    let memory = |s: &SwitchSpec| Rc::new(SharedMemory::new(s.buffer));
    let memories: Vec<_> = spec.switches.iter().map(memory).collect();
    for l in &spec.links {
        let (from, to) = (net.node(&l.from), net.node(&l.to));
        let direction = |d: &DirectionSpec, reverse: bool| -> Result<Direction, Refusal> {
            let name = l.port_name(reverse);
            let target = Target::Link {
                name: l.name.clone(),
                reverse,
            };
            let mut recorded = spec.record.iter().filter(|r| r.what == target);
            // Departures that are computed at arrival need no events and cannot change later. A step also has probes.
            let computed = d.arithmetic().filter(|rule| {
                let is_read = recorded.any(|r| r.when == Sampling::OnChange || rule.step.is_some());
                d.changes.is_empty() && d.trace.is_none() && !is_read
            });
            let handed = handed_for(l, reverse, |port| hooks.queues.contains_key(port))?;
            let maker = handed.and_then(|port| hooks.queues.get(&port));
            let share = d
                .switch
                .map(|p| MemoryShare::new(&memories[p.number], &spec.switches[p.number].alpha));
            let queue = match (maker, computed) {
                (Some(make), _) => handed_in(hooks, spec.marking.on, d, (&name, seed), make, share)?,
                (None, Some(rule)) => QueueChoice::Computed(rule),
                (None, None) => discipline(hooks, &d.queue, context(d, seed, &name), &|_, _| None, share.as_ref())?,
            };
            Ok(Direction {
                rate: d.rate,
                delay: d.delay,
                queue,
                impairments: d.impairments.clone(),
                alters: (!d.changes.is_empty() || d.trace.is_some()).then(|| {
                    Box::new(Alters {
                        changes: d.changes.clone(),
                        trace: d.trace.clone(),
                    })
                }),
                quantiles: true,
            })
        };
        let (forward, reverse) = (direction(&l.forward, false)?, direction(&l.reverse, true)?);
        let link = net.link(&l.name, from, to, forward, reverse);
        for (d, reverse) in [(&l.forward, false), (&l.reverse, true)] {
            edges.extend(d.conditioner.as_ref().map(|settings| Site {
                name: l.port_name(reverse),
                link,
                reverse,
                rate: d.rate,
                settings,
                host_of: None,
            }));
        }
    }
    Ok(edges)
}

/// The caller's discipline for a port. It replaces the innermost discipline if the scenario says so, and otherwise the
/// whole queue.
fn handed_in(
    hooks: &Hooks,
    marking: bool,
    d: &DirectionSpec,
    (port, seed): (&str, u64),
    make: QueueMaker,
    share: Option<MemoryShare>,
) -> Result<QueueChoice, Refusal> {
    let port_context = |context: BuildContext| PortContext { port, marking, context };
    let context = context(d, seed, port);
    match outside_in(&d.queue) {
        Some(own) => {
            let handed = |s: &Settings, context: &BuildContext| (s == own).then(|| make(port_context(context.clone())));
            discipline(hooks, &d.queue, context, &handed, share.as_ref())
        }
        // The discipline that the scenario names, whichever it is.
        None => Ok(QueueChoice::Discipline(match share {
            Some(share) => Box::new(SharingPort::new(make(port_context(context)), share, false)),
            None => make(port_context(context)),
        })),
    }
}

/// The discipline of a port, which may have a share in the memory of a switch.
fn discipline(
    hooks: &Hooks,
    queue: &Settings,
    context: BuildContext,
    outside: Outside<SimPacket>,
    share: Option<&MemoryShare>,
) -> Result<QueueChoice, Refusal> {
    let queues = &hooks.library().queues;
    Ok(QueueChoice::Discipline(match share {
        Some(share) => queues.build_sharing(queue, context, outside, share)?,
        None => queues.build_with(queue, context, outside)?,
    }))
}

/// The data about its port that a discipline gets when it is built.
fn context(d: &DirectionSpec, seed: u64, port: &str) -> BuildContext {
    BuildContext {
        stream: Stream::new(seed, &format!("link.{port}.queue")),
        rate: d.rate,
        delay: d.delay,
    }
}
