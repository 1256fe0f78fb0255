//! The `[change.NAME]` tables: the changes during the run.

use super::links::trial;
use super::names::{A_GROUP, A_LINK, direction_of, named, unknown};
use super::{switches, traces};
use crate::check::{Filled, Reader, join, refused};
use crate::document::{Entry, Node, Tree};
use crate::error::Problem;
use crate::read::advice::ecn;
use std::sync::Arc;
use tailback_base::model::{Raw, Value};
use tailback_base::{Duration, Param, Settings, Time};
use tailback_queue::params::QUEUE;
use tailback_queue::{marking, registry, shaped};
use tailback_sim::change::{Change, Schedule, Values};
use tailback_sim::declare::changes::{
    AT, CHANGE, CONGESTION, DELAYS, EVERY, FLOWS, FROM, LINK, LOSSES, MAHIMAHI, QUEUES, RATES, TRACE, UP, WEIGHTS,
};
use tailback_sim::declare::impairments::{Harm, Impairment};
use tailback_sim::declare::tables::{link, top};
use tailback_sim::library::outside::{is_outside, stand_in};
use tailback_sim::spec::{DirectionSpec, GroupSpec, LinkSpec};
use tailback_transport::tcp::ControlChange;

/// The one thing that a table changes.
#[derive(Clone, Copy)]
enum Changed {
    OfLink(OfLink),
    OfFlows(OfFlows),
}

#[derive(Clone, Copy)]
enum OfLink {
    Rate,
    Delay,
    Loss,
    Up,
    Queue,
    Trace,
}

#[derive(Clone, Copy)]
enum OfFlows {
    Weight,
    Congestion,
}

/// The quantities that a table may change, each by its key.
const THINGS: [(&Param, Changed); 9] = [
    (&RATES.param, Changed::OfLink(OfLink::Rate)),
    (&DELAYS.param, Changed::OfLink(OfLink::Delay)),
    (&LOSSES.param, Changed::OfLink(OfLink::Loss)),
    (&UP.param, Changed::OfLink(OfLink::Up)),
    (&QUEUES, Changed::OfLink(OfLink::Queue)),
    (&TRACE.param, Changed::OfLink(OfLink::Trace)),
    (&MAHIMAHI.param, Changed::OfLink(OfLink::Trace)),
    (&WEIGHTS.param, Changed::OfFlows(OfFlows::Weight)),
    (&CONGESTION, Changed::OfFlows(OfFlows::Congestion)),
];

/// The parts that the tables may change.
pub struct Changeable<'n> {
    pub links: &'n mut [LinkSpec],
    pub groups: &'n mut [GroupSpec],
    /// Whether everything could be read. Otherwise an unknown name may be that of a broken table, so it is not
    /// reported.
    pub whole: bool,
    /// Whether its queues mark.
    pub marks: bool,
    pub duration: Option<Duration>,
}

impl Changeable<'_> {
    /// Give the links and groups the changes from the tables.
    pub fn change(self, r: &mut Reader, root: &Node) {
        for entry in named(r, root, &top::CHANGES) {
            let path = join(top::CHANGES.name, &entry.key);
            let Some(filled) = r.fill(&entry.node, &path, &CHANGE, &[]) else {
                continue;
            };
            let table = Table {
                entry,
                queue: filled.settings.get(&LINK).and_then(|name| queue_of(root, &name)),
                filled,
                whole: self.whole,
                marks: self.marks,
                duration: self.duration,
            };
            table.read(r, self.links, self.groups);
        }
    }
}

/// The table of the queue in a direction of a link.
fn queue_of<'d>(root: &'d Node, direction: &str) -> Option<&'d Node> {
    let (name, reverse) = direction_of(direction);
    let table = &root.given(&top::LINKS)?.get(name)?.node;
    let own = table.given(&link::REVERSE_QUEUE).filter(|_| reverse);
    own.or_else(|| table.given(&link::QUEUE))
}

/// A queue's table, completed with the values of another table. The table of the discipline inside is completed too, if
/// it has the same kind.
fn over(own: &Node, given: &Node) -> Node {
    // A name alone gives no new value.
    if own.entries().is_empty() {
        return given.clone();
    }
    let mut merged = own.clone();
    for entry in given.entries() {
        match merged.get_mut(&entry.key) {
            None => merged.insert(&entry.key, entry.node.clone()),
            Some(inner) if entry.key == QUEUE.name && kind(inner) == kind(&entry.node) => {
                *inner = over(inner, &entry.node);
            }
            Some(_) => {}
        }
    }
    merged
}

/// The model that a table, or its short form, names.
fn kind(node: &Node) -> Option<Raw> {
    node.get("kind").and_then(|e| e.node.raw()).or_else(|| node.raw())
}

/// One table.
struct Table<'d> {
    entry: &'d Entry,
    filled: Filled<'d>,
    /// The queue of the link.
    queue: Option<&'d Node>,
    whole: bool,
    marks: bool,
    duration: Option<Duration>,
}

impl Table<'_> {
    fn read(&self, r: &mut Reader, links: &mut [LinkSpec], groups: &mut [GroupSpec]) {
        let s = &self.filled.settings;
        let Some((key, what)) = self.what(r) else { return };
        match (what, s.get(&LINK), s.get(&FLOWS)) {
            (Changed::OfLink(OfLink::Up), Some(name), None) => self.fail(r, key, &name, links),
            (Changed::OfLink(what), Some(name), None) => {
                if let Some(direction) = self.direction(r, &name, links) {
                    self.change_link(r, key, what, direction);
                }
            }
            (Changed::OfFlows(what), None, Some(name)) => {
                let Some(group) = self.group(r, &name, groups) else {
                    return;
                };
                let values = match what {
                    OfFlows::Weight => Some(Values::Weight(s.get(&WEIGHTS))),
                    OfFlows::Congestion => self.controls(r, group).map(Values::Congestion),
                };
                group.changes.extend(values.and_then(|to| self.change(r, key, to)));
            }
            _ => {
                let (kind, example) = match what {
                    Changed::OfLink(_) => ("a property of a link", "give link = \"NAME\", and no flows"),
                    Changed::OfFlows(_) => ("a property of flows", "give flows = \"NAME\", and no link"),
                };
                self.complain(r, key, format!("\"{}\" is {kind}", key.name), example);
            }
        }
    }

    /// Let both directions of a link fail and return together.
    fn fail(&self, r: &mut Reader, key: &Param, name: &str, links: &mut [LinkSpec]) {
        if direction_of(name).1 {
            let remedy = "name the link without .reverse";
            return self.complain(r, key, "a link fails in both directions", remedy);
        }
        if self.direction(r, name, links).is_none() {
            return;
        }
        let up = self.filled.settings.get(&UP);
        let Some(change) = self.change(r, key, Values::Up(up)) else {
            return;
        };
        if let Some(link) = links.iter_mut().find(|l| l.name == name) {
            link.forward.changes.push(change.clone());
            link.reverse.changes.push(change);
        }
    }

    fn change_link(&self, r: &mut Reader, key: &Param, what: OfLink, direction: &mut DirectionSpec) {
        let s = &self.filled.settings;
        let to = match what {
            OfLink::Trace => {
                let trace = traces::read(r, (self.entry, &self.filled), key, direction);
                return direction.trace = trace.or(direction.trace.take());
            }
            OfLink::Rate if direction.trace.is_some() => {
                return self.complain(r, key, "the link follows a trace", "leave the rates or the trace out");
            }
            OfLink::Rate => Values::Rate(s.get(&RATES)),
            OfLink::Delay => Values::Delay(s.get(&DELAYS)),
            OfLink::Loss => Values::Loss(s.get(&LOSSES)),
            OfLink::Up => Values::Up(s.get(&UP)),
            OfLink::Queue => match self.queues(r, direction) {
                Some(queues) => Values::Queue(queues),
                None => return,
            },
        };
        let Some(change) = self.change(r, key, to) else { return };
        let action = Harm::Drop;
        let loses = |i: &Impairment| matches!(i, Impairment::Random { action: a, .. } if *a == action);
        if matches!(what, OfLink::Loss) && !direction.impairments.iter().any(loses) {
            let probability = 0.0;
            direction.impairments.push(Impairment::Random { probability, action });
        }
        direction.changes.push(change);
    }

    /// The values, and when they take effect.
    fn change(&self, r: &mut Reader, key: &Param, to: Values) -> Option<Change> {
        // A declaration of a list of models allows an empty list.
        if to.len() == 0 {
            self.complain(r, key, "the list is empty", "give at least one value");
            return None;
        }
        let when = self.when(r, &to)?;
        Some(Change { to, when })
    }

    fn complain(&self, r: &mut Reader, key: &Param, problem: impl Into<String>, remedy: impl Into<String>) {
        r.complain(self.filled.problem("conflict", key, problem, remedy));
    }

    fn gives(&self, key: &Param) -> bool {
        self.entry.node.given(key).is_some()
    }

    fn what(&self, r: &mut Reader) -> Option<(&'static Param, Changed)> {
        let changed_params: Vec<_> = THINGS.into_iter().filter(|(p, _)| self.gives(p)).collect();
        let names: Vec<&str> = THINGS.iter().map(|(p, _)| p.name).collect();
        let remedy = format!("give one of {}", names.join(", "));
        match changed_params[..] {
            [thing] => return Some(thing),
            [] => self.complain(r, &RATES, format!("[{}] changes nothing", self.filled.path), remedy),
            [_, second, ..] => {
                let problem = format!("[{}] changes several things", self.filled.path);
                let remedy = format!("{remedy}, and write a table of its own for each other change");
                self.complain(r, second.0, problem, remedy);
            }
        }
        None
    }

    fn direction<'s>(&self, r: &mut Reader, name: &str, links: &'s mut [LinkSpec]) -> Option<&'s mut DirectionSpec> {
        let (link, reverse) = direction_of(name);
        if !links.iter().any(|l| l.name == link) {
            if self.whole {
                let names = links.iter().map(|l| l.name.as_str());
                unknown(r, (&self.filled, &LINK), link, A_LINK, names);
            }
            return None;
        }
        let spec = links.iter_mut().find(|l| l.name == link)?;
        Some(if reverse { &mut spec.reverse } else { &mut spec.forward })
    }

    fn group<'s>(&self, r: &mut Reader, name: &str, groups: &'s mut [GroupSpec]) -> Option<&'s mut GroupSpec> {
        if !groups.iter().any(|g| g.name == name) {
            if self.whole {
                let names = groups.iter().map(|g| g.name.as_str());
                unknown(r, (&self.filled, &FLOWS), name, A_GROUP, names);
            }
            return None;
        }
        groups.iter_mut().find(|g| g.name == name)
    }

    /// The changes of the group's flows to each of the congestion controls.
    fn controls(&self, r: &mut Reader, group: &GroupSpec) -> Option<Vec<ControlChange>> {
        let node = self.entry.node.given(&CONGESTION)?;
        let problems_before = r.seen();
        let mut controls = Vec::new();
        for control in r.model_list(node, &self.filled.key(&CONGESTION), "congestion") {
            let value = Value::Model(Box::new(control.settings.clone()));
            let controllers = &r.library.transports.controllers;
            match ControlChange::new(&group.transport, &value, &[], controllers) {
                Ok(change) => {
                    if let Some(misfit) = change.misfit() {
                        let text = ecn::of_change(change.control().model.name, misfit);
                        r.warn(node.at.clone(), self.filled.key(&CONGESTION), text);
                    }
                    controls.push(change);
                }
                Err(e) => r.complain(refused(&control, e)),
            }
        }
        (r.seen() == problems_before).then_some(controls)
    }

    /// The times at which the values take effect.
    fn when(&self, r: &mut Reader, values: &Values) -> Option<Schedule> {
        let schedule = self.schedule(r, values)?;
        let first_instant = schedule.nth(0)?;
        let keys: [&Param; 3] = [&AT, &FROM, &EVERY];
        let key = keys.into_iter().find(|key| self.gives(key))?;
        if let Some(end) = self.duration.filter(|d| first_instant.0 >= d.0) {
            let text = format!(
                "the first value takes effect at {}, and the run is over at {end}",
                Duration(first_instant.0)
            );
            r.warn(self.entry.node.place_of(key), self.filled.key(key), text);
        }
        Some(schedule)
    }

    fn schedule(&self, r: &mut Reader, values: &Values) -> Option<Schedule> {
        let s = &self.filled.settings;
        let times: Vec<Time> = s.get(&AT).into_iter().map(|d| Time(d.0)).collect();
        match (times.is_empty(), s.get(&EVERY)) {
            (true, Some(period)) => {
                let from = Time(s.get(&FROM).unwrap_or(period).0);
                return Some(Schedule::Every { from, period });
            }
            (false, None) if s.get(&FROM).is_some() => {
                let problem = "`from` is the start of a period, but the instants are given".to_string();
                self.complain(r, &FROM, problem, "leave `from` out, or give `every` in place of `at`");
            }
            (false, None) => {
                if let Some(i) = times.windows(2).position(|w| w[0] >= w[1]) {
                    let late = Duration(times[i + 1].0);
                    let problem = format!("the instant {late} is not later than the one before it");
                    self.complain(r, &AT, problem, "give the instants in order, each once");
                } else if values.len() > times.len() {
                    let problem = format!(
                        "each of the {} values needs an instant; given: {}",
                        values.len(),
                        times.len()
                    );
                    self.complain(
                        r,
                        &AT,
                        problem,
                        "give an instant for each value, or `every` in place of `at`",
                    );
                } else {
                    return Some(Schedule::At(times));
                }
            }
            (none, _) => {
                let (fault, key): (_, &Param) = if none {
                    ("does not say when its values take effect", &AT)
                } else {
                    ("says in two ways when its values take effect", &EVERY)
                };
                let problem = format!("[{}] {fault}", self.filled.path);
                self.complain(
                    r,
                    key,
                    problem,
                    "give one of at = [\"10s\", \"20s\"] and every = \"10s\"",
                );
            }
        }
        None
    }

    /// The settings of the link's queue with the values of each table.
    fn queues(&self, r: &mut Reader, direction: &DirectionSpec) -> Option<Vec<Arc<Settings>>> {
        let node = self.entry.node.given(&QUEUES)?;
        let path = self.filled.key(&QUEUES);
        let problems_before = r.seen();
        let tables = match &node.tree {
            Tree::List(tables) => tables.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let settings = tables.iter().filter_map(|own| self.queue(r, own, &path, direction));
        let settings = settings.map(Arc::new).collect();
        (r.seen() == problems_before).then_some(settings)
    }

    fn queue(&self, r: &mut Reader, own: &Node, path: &str, direction: &DirectionSpec) -> Option<Settings> {
        let own_queue = self.queue?;
        let kind = kind(own).unwrap_or(Raw::Text(own.show()));
        let name = direction.queue.model.name;
        if kind != Raw::Text(name.into()) || own.entries().is_empty() {
            let problem = match &kind {
                Raw::Text(other) if other != name && !other.starts_with('{') => {
                    format!("the queue of the link is \"{name}\"; \"{other}\" cannot take its place during a run")
                }
                _ => format!("{} does not say what changes in the queue \"{name}\"", own.show()),
            };
            let remedy = format!("give a table with the values that change: {{ kind = \"{name}\", ... }}");
            r.complain(Problem::new("conflict", own.at.clone(), path, problem, remedy));
            return None;
        }
        let merged = over(own, own_queue);
        let filled = r.model(&merged, path, "queue")?;
        let mut settings = shaped::laid(filled.settings.clone());
        if direction.switch.is_some() {
            switches::keep_buffer(&mut settings, &direction.queue);
        }
        marking::follow(&mut settings, self.marks);
        let context = trial(direction.rate, direction.delay);
        // A discipline from outside takes no new values; inside a shaper it keeps its own values.
        let built = match is_outside(&direction.queue) {
            true => r.library.queues.build(&direction.queue, context),
            false => r.library.queues.build_with(&direction.queue, context, &stand_in),
        };
        let fits = registry::same_models(&direction.queue, &settings);
        match fits.and_then(|()| built?.reconfigure(&settings)) {
            Ok(()) => Some(settings),
            Err(e) => {
                r.complain(refused(&filled, e));
                None
            }
        }
    }
}
