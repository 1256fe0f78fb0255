//! The `[change.NAME]` tables: what changes while the run goes on.

use super::names::{among, named};
use crate::change::trace::{self, Form};
use crate::change::{Change, Schedule, Values};
use crate::declare::changes::{
    AT, CHANGE, CONGESTION, DELAYS, DIGEST, END, EVERY, FLOWS, FROM, LINK, LOSSES, MAHIMAHI, QUEUES, RATES, TRACE,
    TraceEnd, WEIGHTS,
};
use crate::declare::impairments::{Harm, Impairment};
use crate::declare::tables::{link, top};
use crate::scenario::check::{Filled, Reader, join, refused};
use crate::scenario::document::{Document, Entry, Node, Tree};
use crate::scenario::error::{Problem, shorten};
use crate::scenario::key::Key;
use crate::spec::{DirectionSpec, GroupSpec, LinkSpec};
use std::path::Path;
use std::sync::Arc;
use tailback_base::model::{Raw, Value};
use tailback_base::{Duration, Param, Settings, Stream, Time};
use tailback_queue::{BuildContext, marking, registry};
use tailback_transport::tcp::ControlChange;

/// What a table may change: a key, and whether it is of a link.
const VALUES: [(&Param, bool); 8] = [
    (&RATES.param, true),
    (&DELAYS.param, true),
    (&LOSSES.param, true),
    (&QUEUES, true),
    (&TRACE.param, true),
    (&MAHIMAHI.param, true),
    (&WEIGHTS.param, false),
    (&CONGESTION, false),
];

/// Write the place and the digest of each trace file into the document, so that what is stored says which file it was.
/// What is wrong with a file is said when the table is read.
pub fn seal(document: &mut Document) {
    let file = document.file.clone();
    let Some(changes) = document.root.get_mut(top::CHANGES.name) else {
        return;
    };
    for table in changes.entries_mut() {
        for key in [TRACE.name, MAHIMAHI.name] {
            let Some(value) = table.node.get_mut(key) else { continue };
            let Tree::Scalar(Raw::Text(name)) = &value.tree else {
                continue;
            };
            let place = trace::place(&file, name);
            let Ok(bytes) = trace::bytes(&place) else { continue };
            value.tree = Tree::Scalar(Raw::Text(place.display().to_string()));
            let at = value.at.clone();
            if table.node.get(DIGEST.name).is_none() {
                table
                    .node
                    .insert(DIGEST.name, Node::text(&Key::of(bytes).to_string(), at));
            }
        }
    }
}

/// What the tables may change.
pub struct Network<'n> {
    pub links: &'n mut [LinkSpec],
    pub groups: &'n mut [GroupSpec],
    /// Everything could be read; otherwise an unknown name may be that of a broken table, and nothing is said about it.
    pub whole: bool,
    /// Whether its queues mark.
    pub marks: bool,
    pub duration: Option<Duration>,
}

impl Network<'_> {
    /// The links and groups that the tables change get their changes.
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

/// What the scenario says of the queue in a direction of a link.
fn queue_of<'d>(root: &'d Node, direction: &str) -> Option<&'d Node> {
    let (name, reverse) = direction
        .strip_suffix(".reverse")
        .map_or((direction, false), |n| (n, true));
    let table = &root.given(&top::LINKS)?.get(name)?.node;
    let own = table.given(&link::REVERSE_QUEUE).filter(|_| reverse);
    own.or_else(|| table.given(&link::QUEUE))
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
        let Some((key, of_link)) = self.what(r) else { return };
        match (s.get(&LINK), s.get(&FLOWS)) {
            (Some(name), None) if of_link => {
                let Some(direction) = self.direction(r, &name, links) else {
                    return;
                };
                if [TRACE.name, MAHIMAHI.name].contains(&key.name) {
                    self.trace(r, key, direction);
                } else if let Some(change) = self.link_change(r, key, direction) {
                    let is_random = |i: &Impairment| matches!(i, Impairment::Random { .. });
                    if key.name == LOSSES.name && !direction.impairments.iter().any(is_random) {
                        let (probability, action) = (0.0, Harm::Drop);
                        direction.impairments.push(Impairment::Random { probability, action });
                    }
                    direction.changes.push(change);
                }
            }
            (None, Some(name)) if !of_link => {
                let Some(group) = self.group(r, &name, groups) else {
                    return;
                };
                let Some(values) = self.flow_values(r, key, group) else {
                    return;
                };
                if let Some(when) = self.when(r, &values) {
                    group.changes.push(Change { to: values, when });
                }
            }
            _ => {
                let (kind, example) = match of_link {
                    true => ("of a link", "give link = \"NAME\", and no flows"),
                    false => ("of flows", "give flows = \"NAME\", and no link"),
                };
                self.complain(r, key, format!("\"{}\" is {kind}", key.name), example);
            }
        }
    }

    fn complain(&self, r: &mut Reader, key: &Param, problem: impl Into<String>, remedy: impl Into<String>) {
        r.complain(self.filled.problem("conflict", key, problem, remedy));
    }

    fn gives(&self, key: &Param) -> bool {
        self.entry.node.given(key).is_some()
    }

    /// The one thing that the table changes.
    fn what(&self, r: &mut Reader) -> Option<(&'static Param, bool)> {
        let given: Vec<_> = VALUES.into_iter().filter(|(p, _)| self.gives(p)).collect();
        let names: Vec<&str> = VALUES.iter().map(|(p, _)| p.name).collect();
        let remedy = format!("give one of {}", names.join(", "));
        match given[..] {
            [one] => return Some(one),
            [] => self.complain(r, &RATES, format!("[{}] changes nothing", self.filled.path), remedy),
            [_, second, ..] => {
                let problem = format!("[{}] changes several things", self.filled.path);
                let remedy = format!("{remedy}, and another table for another thing");
                self.complain(r, second.0, problem, remedy);
            }
        }
        None
    }

    fn direction<'s>(&self, r: &mut Reader, name: &str, links: &'s mut [LinkSpec]) -> Option<&'s mut DirectionSpec> {
        let (link, reverse) = name.strip_suffix(".reverse").map_or((name, false), |n| (n, true));
        if !links.iter().any(|l| l.name == link) {
            self.unknown(r, &LINK, link, "link", links.iter().map(|l| l.name.as_str()), "links");
            return None;
        }
        let found = links.iter_mut().find(|l| l.name == link)?;
        Some(if reverse {
            &mut found.reverse
        } else {
            &mut found.forward
        })
    }

    fn group<'s>(&self, r: &mut Reader, name: &str, groups: &'s mut [GroupSpec]) -> Option<&'s mut GroupSpec> {
        if !groups.iter().any(|g| g.name == name) {
            let known = groups.iter().map(|g| g.name.as_str());
            self.unknown(r, &FLOWS, name, "group of flows", known, "groups of flows");
            return None;
        }
        groups.iter_mut().find(|g| g.name == name)
    }

    fn unknown<'n>(
        &self,
        r: &mut Reader,
        key: &Param,
        name: &str,
        what: &str,
        known: impl Iterator<Item = &'n str> + Clone,
        all: &str,
    ) {
        if self.whole {
            let (near, remedy) = among(name, known, all);
            let problem = format!("there is no {what} \"{}\"", shorten(name, 60));
            let problem = self.filled.problem("value", key, problem, remedy);
            r.complain(problem.value(name).nearest(near.as_deref()));
        }
    }

    fn flow_values(&self, r: &mut Reader, key: &Param, group: &GroupSpec) -> Option<Values> {
        if key.name == WEIGHTS.name {
            return Some(Values::Weight(self.filled.settings.get(&WEIGHTS)));
        }
        let before = r.seen();
        let list = r.model_list(self.entry.node.given(key)?, &self.filled.key(key), "congestion");
        let mut controls = Vec::new();
        for control in list {
            let value = Value::Model(Box::new(control.settings.clone()));
            let controllers = &r.library.transports.controllers;
            match ControlChange::new(&group.transport, &value, &[], controllers) {
                Ok(change) => controls.push(change),
                Err(e) => r.complain(refused(&control, e)),
            }
        }
        (r.seen() == before).then_some(Values::Congestion(controls))
    }

    /// When the values take effect.
    fn when(&self, r: &mut Reader, values: &Values) -> Option<Schedule> {
        let when = self.schedule(r, values)?;
        let first = when.nth(0)?;
        let keys: [&Param; 3] = [&AT, &FROM, &EVERY];
        let key = keys.into_iter().find(|key| self.gives(key))?;
        if let Some(end) = self.duration.filter(|d| first.0 >= d.0) {
            let text = format!(
                "the first value takes effect at {}, and the run is over at {end}",
                Duration(first.0)
            );
            r.warn(self.entry.node.place_of(key), self.filled.key(key), text);
        }
        Some(when)
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
                let problem = "`from` begins a period, and the instants are given".to_string();
                self.complain(r, &FROM, problem, "leave `from` out, or give `every` in place of `at`");
            }
            (false, None) => {
                if let Some(i) = times.windows(2).position(|w| w[0] >= w[1]) {
                    let late = Duration(times[i + 1].0);
                    let problem = format!("the instant {late} is not later than the one before it");
                    self.complain(r, &AT, problem, "give the instants in order, each once");
                } else if values.len() > times.len() {
                    let problem = format!("there are {} values for {} instants", values.len(), times.len());
                    self.complain(r, &AT, problem, "give as many instants as values");
                } else {
                    return Some(Schedule::At(times));
                }
            }
            (none, _) => {
                let (said, key): (_, &Param) = if none {
                    ("not when", &AT)
                } else {
                    ("when in two ways", &EVERY)
                };
                let problem = format!("[{}] says {said} the values take effect", self.filled.path);
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

    fn link_change(&self, r: &mut Reader, key: &Param, direction: &DirectionSpec) -> Option<Change> {
        let s = &self.filled.settings;
        if key.name == RATES.name && direction.trace.is_some() {
            self.complain(r, key, "the link follows a trace", "leave the rates or the trace out");
            return None;
        }
        let to = match key.name {
            name if name == RATES.name => Values::Rate(s.get(&RATES)),
            name if name == DELAYS.name => Values::Delay(s.get(&DELAYS)),
            name if name == LOSSES.name => Values::Loss(s.get(&LOSSES)),
            _ => Values::Queue(self.queues(r, direction)?),
        };
        let when = self.when(r, &to)?;
        Some(Change { to, when })
    }

    /// The settings of the link's queue with the values of each table.
    fn queues(&self, r: &mut Reader, direction: &DirectionSpec) -> Option<Vec<Arc<Settings>>> {
        let node = self.entry.node.given(&QUEUES)?;
        let path = self.filled.key(&QUEUES);
        let before = r.seen();
        let tables = match &node.tree {
            Tree::List(tables) => tables.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let settings = tables.iter().filter_map(|own| self.queue(r, own, &path, direction));
        let settings = settings.map(Arc::new).collect();
        (r.seen() == before).then_some(settings)
    }

    fn queue(&self, r: &mut Reader, own: &Node, path: &str, direction: &DirectionSpec) -> Option<Settings> {
        let given = self.queue?;
        let kind = own
            .get("kind")
            .and_then(|e| e.node.raw())
            .unwrap_or(Raw::Text(own.show()));
        let name = direction.queue.model.name;
        if kind != Raw::Text(name.into()) {
            let problem = format!("the queue of the link is \"{name}\", and this is {}", own.show());
            let remedy =
                format!("give a table with kind = \"{name}\"; another queue cannot take its place during a run");
            r.complain(Problem::new("conflict", own.at.clone(), path, problem, remedy));
            return None;
        }
        let mut merged = own.clone();
        for entry in given.entries().iter().filter(|e| own.get(&e.key).is_none()) {
            merged.insert(&entry.key, entry.node.clone());
        }
        let filled = r.model(&merged, path, "queue")?;
        let mut settings = filled.settings.with_profile(&[]).unwrap_or(filled.settings.clone());
        marking::follow(&mut settings, self.marks);
        let context = BuildContext {
            stream: Stream::new(0, "check"),
            rate: direction.rate,
            delay: direction.delay,
        };
        let built = r.library.queues.build(&direction.queue, context);
        let fits = registry::same_models(&direction.queue, &settings);
        match fits.and_then(|()| built?.reconfigure(&settings)) {
            Ok(()) => Some(settings),
            Err(e) => {
                r.complain(refused(&filled, e));
                None
            }
        }
    }

    /// The trace that the direction follows from now on.
    fn trace(&self, r: &mut Reader, key: &Param, direction: &mut DirectionSpec) {
        let s = &self.filled.settings;
        let rates = |c: &Change| matches!(c.to, Values::Rate(_));
        if direction.trace.is_some() || direction.changes.iter().any(rates) {
            let problem = "the rate of the link changes in two ways".to_string();
            return self.complain(r, key, problem, "keep one of them");
        }
        let instants: [&Param; 3] = [&AT, &EVERY, &FROM];
        for other in instants {
            if self.gives(other) {
                let problem = format!("a trace has its own instants, and \"{}\" is given", other.name);
                return self.complain(r, other, problem, format!("leave {} out", other.name));
            }
        }
        let wraps = s.get(&END) == TraceEnd::Wrap;
        let (name, form) = match s.get(&MAHIMAHI) {
            Some(_) if !wraps => {
                let problem = "opportunities to deliver have no rate that could hold".to_string();
                return self.complain(r, &END, problem, "leave `end` out");
            }
            Some(name) => (name, Form::Mahimahi),
            None => {
                let own = direction.rate;
                (s.get(&TRACE).unwrap_or_default(), Form::Rates { own, wraps })
            }
        };
        let read = trace::bytes(Path::new(&name)).and_then(|bytes| {
            let digest = Key::of(bytes.iter().copied()).to_string();
            if s.get(&DIGEST).is_some_and(|d| d != digest) {
                return Err(tailback_base::quantity::Refusal::new(
                    format!("{name} has changed since the scenario was stored"),
                    "bring the old file back, or leave `digest` out for the new one",
                ));
            }
            trace::parse(&String::from_utf8_lossy(&bytes), &name, form)
        });
        match read {
            Ok(trace) => direction.trace = Some(Arc::new(trace)),
            Err(e) => {
                r.complain(self.filled.problem("value", key, e.problem, e.remedy).value(name));
            }
        }
    }
}
