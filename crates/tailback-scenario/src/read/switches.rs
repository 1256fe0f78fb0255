//! The `[switch.NAME]` tables: a memory for all directions of links that leave the node of this name.

use super::links::trial;
use super::names::{among, named};
use crate::check::{Reader, join};
use crate::document::{Entry, Node};
use crate::error::Problem;
use tailback_base::{Settings, Size};
use tailback_queue::params::QUEUE;
use tailback_queue::pieces::params::BUFFER;
use tailback_queue::registry::facts;
use tailback_queue::shaped;
use tailback_sim::declare::tables::{SWITCH, switch, top};
use tailback_sim::library::outside::stand_in;
use tailback_sim::spec::{DirectionSpec, LinkSpec, SwitchPort, SwitchSpec};

/// The switches. Each direction that leaves a switch gets the place of that switch. `whole` says that `links` are all
/// the links that were meant.
pub fn switches(r: &mut Reader, root: &Node, links: &mut [LinkSpec], whole: bool) -> Vec<SwitchSpec> {
    let entries = named(r, root, &top::SWITCHES);
    let mut switches = vec![];
    for entry in entries {
        let path = join(top::SWITCHES.name, &entry.key);
        let Some(filled) = r.fill(&entry.node, &path, &SWITCH, &[]) else {
            continue;
        };
        let buffer = filled.settings.get(&switch::BUFFER);
        let port = SwitchPort {
            number: switches.len(),
            memory: buffer,
        };
        if !join_ports(r, links, &entry.key, port) && whole {
            no_such_node(r, entry, &path, links);
        }
        switches.push(SwitchSpec {
            name: entry.key.clone(),
            buffer,
            alpha: filled.settings.get(&switch::ALPHA),
        });
    }
    switches
}

/// Put the ports of a node into its memory. False if the node has none.
fn join_ports(r: &Reader, links: &mut [LinkSpec], node: &str, port: SwitchPort) -> bool {
    let mut joins = false;
    for link in links {
        for (at, direction) in [(&link.from, &mut link.forward), (&link.to, &mut link.reverse)] {
            if at == node {
                direction.switch = Some(port);
                leave_to_memory(r, direction);
                joins = true;
            }
        }
    }
    joins
}

/// If a buffer is not given and the rule of the discipline needs no limit of its own, the buffer is that of the switch,
/// also for thresholds that are shares of the buffer.
fn leave_to_memory(r: &Reader, direction: &mut DirectionSpec) {
    let mut free = direction.queue.clone();
    lift_limit(&mut free);
    let context = trial(direction.rate, direction.delay);
    if r.library.queues.build_with(&free, context, &stand_in).is_ok() {
        direction.queue = free;
    }
}

fn lift_limit(queue: &mut Settings) {
    if let Some(mut inner) = shaped::inside(queue).cloned() {
        lift_limit(&mut inner);
        return queue.replace_model(QUEUE.name, inner);
    }
    let has_buffer = queue.model.param(BUFFER.name).is_some() && !queue.gives(&BUFFER);
    if has_buffer && facts(queue.model.name).is_some_and(|f| f.unlimited.is_none()) {
        *queue = queue.clone().with(BUFFER.name, &Size::Unlimited.to_string());
    }
}

/// If the settings of a change during the run give no buffer, they have the buffer of the link's queue, which may be
/// that of the switch.
pub fn keep_buffer(changed: &mut Settings, queue: &Settings) {
    match (shaped::inside(changed).cloned(), shaped::inside(queue)) {
        (Some(mut inner), Some(own)) => {
            keep_buffer(&mut inner, own);
            changed.replace_model(QUEUE.name, inner);
        }
        _ if changed.model.name == queue.model.name && changed.model.param(BUFFER.name).is_some() => {
            changed.lay_value_of(queue, BUFFER.name);
        }
        _ => {}
    }
}

fn no_such_node(r: &mut Reader, entry: &Entry, path: &str, links: &[LinkSpec]) {
    let mut nodes: Vec<&str> = links.iter().flat_map(|l| [&l.from[..], &l.to[..]]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let (near, remedy) = among(&entry.key, nodes.iter().copied(), "nodes");
    let problem = format!(
        "no link leaves a node \"{}\", and a switch has the name of its node",
        entry.key
    );
    let problem = Problem::new("value", entry.key_at.clone(), path, problem, remedy).value(entry.key.clone());
    r.complain(problem.nearest(near.as_deref()));
}
