//! Checks one table of the document against one [`Model`]: which keys are known, which values are allowed, what is
//! missing.
//!
//! This is the only place where a value of a scenario is checked against a declaration. A model inside a model is read
//! here, to any depth. The contents of the scenario's own tables are returned in parts, with which [`super::read`] goes
//! on.

use super::document::{Entry, Node, Tree};
use super::error::{At, Problem};
use super::measures::{Measures, REPAIR_FIRST, SAY_WHICH, Settled};
use std::collections::BTreeMap;
use tailback_base::Size;
use tailback_base::model::{Kind, Model, Param, Raw, Settings, Value, article, nearest};
use tailback_base::quantity::{Refusal, parse_size};
use tailback_queue::params::BUFFER;
use tailback_sim::library::{Library, outside};

/// The number of problems that are stored; the others are only counted.
const MOST_KEPT: usize = 1000;

/// Collects problems while the tree is read.
pub struct Reader<'l> {
    /// The models that can be named.
    pub library: &'l Library,
    pub problems: Vec<Problem>,
    /// The number of problems that are not stored: a file of 64 MB could have millions, more than anybody reads.
    pub more: usize,
    /// Warnings: allowed settings that look like mistakes.
    pub warnings: Vec<Warning>,
    /// The data from which values that depend on the path are computed.
    pub measures: Measures,
    /// The values that depend on the path, by key.
    pub settled: BTreeMap<String, Settled>,
    /// The number of problems that are not reported, as another one represents them.
    unsaid: usize,
    /// A problem that would follow from other problems, if there are any.
    following: Option<Problem>,
    /// Whether the buffer around the value being read counts bytes.
    in_bytes: bool,
}

/// A setting that looks like a mistake: its place, its subject (`flows.web`), and what it is.
pub struct Warning {
    pub at: At,
    pub about: String,
    pub text: String,
}

/// A table whose plain values are checked.
pub struct Filled<'d> {
    pub settings: Settings,
    parts: Vec<(&'static Param, &'d Entry)>,
    /// The table itself.
    pub node: &'d Node,
    pub path: String,
}

impl<'d> Filled<'d> {
    /// A table of which nothing has been read yet.
    fn empty(node: &'d Node, path: &str, model: &'static Model) -> Filled<'d> {
        Filled {
            settings: Settings::defaults(model),
            parts: vec![],
            node,
            path: path.to_string(),
        }
    }

    /// The node given for a parameter that contains models.
    pub fn part(&self, param: &Param) -> Option<&'d Node> {
        self.parts
            .iter()
            .find(|(p, _)| p.name == param.name)
            .map(|(_, e)| &e.node)
    }

    /// The path of a parameter of this table.
    pub fn key(&self, param: &Param) -> String {
        join(&self.path, param.name)
    }

    /// A problem with the value of a parameter, at its place.
    pub fn problem(
        &self,
        code: &'static str,
        param: &Param,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Problem {
        Problem::new(code, self.node.place_of(param), &self.key(param), problem, remedy)
    }
}

/// Whether the tables of a family are read part by part in files of their own, because they contain more than models.
fn in_parts(model: &Model) -> bool {
    matches!(model.family, "table" | "topology")
}

/// `link` and `a` make `link.a`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}

/// The refusal to build a model from these settings, at the place of the value that caused it.
pub fn refused(f: &Filled, e: Refusal) -> Problem {
    if e.path.is_empty() {
        let name = f.settings.model.name;
        return Problem::new("conflict", f.node.at.clone(), &f.path, e.problem, e.remedy).value(name);
    }
    let node = f.node.at_path(&e.path);
    let path = join(&f.path, &e.path);
    Problem::new("conflict", node.at.clone(), &path, e.problem, e.remedy).value(node.show())
}

/// The name of a model's table in messages.
fn owner(model: &Model, path: &str) -> String {
    match (model.family, model.name) {
        ("table", "scenario") => "a scenario".to_string(),
        ("table", _) => format!("[{path}]"),
        (family, name) if family == name => format!("{} {name}", article(name)),
        (family, name) => format!("the {family} \"{name}\""),
    }
}

impl<'l> Reader<'l> {
    pub fn new(library: &'l Library) -> Reader<'l> {
        Reader {
            library,
            problems: vec![],
            more: 0,
            warnings: vec![],
            measures: Measures::default(),
            settled: BTreeMap::new(),
            unsaid: 0,
            following: None,
            in_bytes: false,
        }
    }

    /// The number of problems so far: a part is sound if this has not grown while it was read.
    pub fn seen(&self) -> usize {
        self.problems.len() + self.more + self.unsaid
    }

    /// Note a problem.
    pub fn complain(&mut self, problem: Problem) {
        if self.problems.len() < MOST_KEPT {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// Note the problem that would follow from others, if nothing else is wrong.
    pub fn tell_what_follows(&mut self) {
        if self.problems.is_empty() {
            self.problems.extend(self.following.take());
        }
    }

    /// Note a setting that looks like a mistake.
    pub fn warn(&mut self, at: At, about: impl Into<String>, text: impl Into<String>) {
        let (about, text) = (about.into(), text.into());
        self.warnings.push(Warning { at, about, text });
    }

    /// A refusal of a parameter's check becomes a problem with its place.
    fn refuse(&mut self, node: &Node, path: &str, kind: &Kind, refusal: Refusal) {
        let mut p = Problem::new("value", node.at.clone(), path, refusal.problem, refusal.remedy).value(node.show());
        if let (Kind::Choice(words), Tree::Scalar(Raw::Text(t))) = (kind, &node.tree) {
            p = p.nearest(nearest(t, words.iter().copied()));
        }
        self.complain(p.allowed(kind.allowed()));
    }

    /// Check the entries of a table; `None` if anything is wrong with it. `known` are further keys the caller reads.
    pub fn fill<'d>(
        &mut self,
        node: &'d Node,
        path: &str,
        model: &'static Model,
        known: &[&str],
    ) -> Option<Filled<'d>> {
        let before = self.seen();
        let mut filled = Filled::empty(node, path, model);
        let Tree::Table(entries) = &node.tree else {
            let table_name = owner(model, path);
            let problem = format!("{} is not a table", node.show());
            self.complain(
                Problem::new(
                    "value",
                    node.at.clone(),
                    path,
                    problem,
                    format!("give {table_name} as a table of keys and values"),
                )
                .value(node.show()),
            );
            return None;
        };
        let around = self.in_bytes;
        self.in_bytes = counts_bytes(node, model).unwrap_or(around);
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                self.entry(entry, path, model, known, &mut filled);
            }
        }
        self.in_bytes = around;
        for p in model.params {
            let is_given = filled.part(p).is_some() || filled.settings.is_given(p.name);
            // A key with a wrong value, or one that a mistyped key stands for, has been complained about already.
            let meant = || {
                self.problems
                    .iter()
                    .skip(before)
                    .any(|q| q.nearest.as_deref() == Some(p.name))
            };
            if p.default.is_empty() && !is_given && node.get(p.name).is_none() && !meant() {
                self.missing(p, node, path, model);
            }
        }
        if self.seen() > before {
            return None;
        }
        self.complete(filled)
    }

    /// Fill in the models that were left to their defaults.
    fn complete<'d>(&mut self, mut filled: Filled<'d>) -> Option<Filled<'d>> {
        if in_parts(filled.settings.model) {
            return Some(filled);
        }
        match filled.settings.with_models(&self.library.catalogue) {
            Ok(settings) => {
                filled.settings = settings;
                Some(filled)
            }
            Err(e) => {
                self.complain(Problem::new(
                    "value",
                    filled.node.at.clone(),
                    &filled.path,
                    e.problem,
                    e.remedy,
                ));
                None
            }
        }
    }

    fn entry<'d>(
        &mut self,
        entry: &'d Entry,
        path: &str,
        model: &'static Model,
        known: &[&str],
        filled: &mut Filled<'d>,
    ) {
        let key = join(path, &entry.key);
        let Some(param) = model.param(&entry.key) else {
            return self.unknown(entry, &key, path, model, known);
        };
        if matches!(param.kind, Kind::Named(_)) || (param.kind.holds_models() && in_parts(model)) {
            filled.parts.push((param, entry));
            return;
        }
        if let Some(family) = param.kind.family() {
            if let Some(value) = self.nested(&entry.node, &key, &param.kind, family) {
                filled.settings.set_models(param.name, value);
            }
            return;
        }
        self.param_value(&entry.node, &key, param, &mut filled.settings);
    }

    /// The value of a parameter of models: a model, or a list of models.
    fn nested(&mut self, node: &Node, path: &str, kind: &Kind, family: &str) -> Option<Value> {
        let boxed = |f: Filled| Value::Model(Box::new(f.settings));
        if let Kind::Model(_) = kind {
            return self.model(node, path, family).map(boxed);
        }
        let before = self.seen();
        let list = self.model_list(node, path, family).into_iter().map(boxed).collect();
        (self.seen() == before).then_some(Value::List(list))
    }

    fn param_value(&mut self, node: &Node, key: &str, param: &'static Param, settings: &mut Settings) {
        // Check item by item first, so that a message points at the wrong item and not at the whole list.
        if let (Kind::List(kind) | Kind::Each(_, kind), Tree::List(items)) = (&param.kind, &node.tree) {
            let before = self.seen();
            for (i, item) in items.iter().enumerate() {
                self.check(item, &format!("{key}[{i}]"), kind);
            }
            if self.seen() > before {
                return;
            }
        }
        if let Some(raw) = self.check(node, key, &param.kind) {
            // `check` has accepted the value; a refusal here would be a mistake of ours, but still a message.
            if let Err(refusal) = settings.set(param.name, &raw) {
                self.refuse(node, key, &param.kind, refusal);
            }
        }
    }

    fn check(&mut self, node: &Node, path: &str, kind: &Kind) -> Option<Raw> {
        let Some(raw) = node.raw() else {
            let remedy = format!("give {}", kind.allowed());
            self.complain(
                Problem::new(
                    "value",
                    node.at.clone(),
                    path,
                    format!("a table stands where {} belongs", kind.noun()),
                    remedy,
                )
                .value(node.show()),
            );
            return None;
        };
        let raw = self.on_path(node, path, kind, raw)?;
        match kind.check(&raw) {
            Ok(_) => Some(raw),
            Err(refusal) => {
                self.refuse(node, path, kind, refusal);
                None
            }
        }
    }

    /// The value of a quantity that depends on its path; `None` if it is refused, or not known yet.
    fn on_path(&mut self, node: &Node, path: &str, kind: &Kind, raw: Raw) -> Option<Raw> {
        let text = match (kind, &raw, &node.tree) {
            (Kind::Each(_, one) | Kind::List(one), Raw::List(list), Tree::List(nodes)) => {
                let items = nodes.iter().zip(list.clone()).enumerate();
                let settled = items.map(|(i, (n, raw))| self.on_path(n, &format!("{path}[{i}]"), one, raw));
                return settled.collect::<Option<_>>().map(Raw::List);
            }
            (Kind::Each(_, one) | Kind::List(one), Raw::Text(_), _) => return self.on_path(node, path, one, raw),
            (_, Raw::Text(text), _) => text,
            _ => return Some(raw),
        };
        let Some(of) = kind.of_path(text) else { return Some(raw) };
        match self.measures.settle(path, (kind, of), self.in_bytes) {
            Ok(settled) => {
                let (value, because) = settled?;
                let key = path.to_string();
                let written = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let raw = Raw::Text(value.clone());
                let settled = Settled {
                    key: key.clone(),
                    written,
                    value,
                    because,
                };
                self.settled.insert(key, settled);
                Some(raw)
            }
            Err(e) => {
                let problem = format!("{} cannot be known: {}", node.show(), e.problem);
                let problem = Problem::new("value", node.at.clone(), path, problem, e.remedy).value(node.show());
                self.unsettled(problem);
                None
            }
        }
    }

    /// Note that a value could not be known. If one repair solves this for all values, it is noted once. If it follows
    /// from other problems, it is noted only if nothing else is wrong.
    fn unsettled(&mut self, problem: Problem) {
        let follows = problem.remedy == REPAIR_FIRST;
        if !follows && (problem.remedy != SAY_WHICH || self.problems.iter().all(|p| p.remedy != SAY_WHICH)) {
            return self.complain(problem);
        }
        self.unsaid += 1;
        if follows {
            self.following.get_or_insert(problem);
        }
    }

    fn unknown(&mut self, entry: &Entry, key: &str, path: &str, model: &'static Model, known: &[&str]) {
        if self.problems.len() >= MOST_KEPT {
            // A search for near names takes time, and nobody would read them.
            self.more += 1;
            return;
        }
        let names: Vec<&str> = model
            .params
            .iter()
            .map(|p| p.name)
            .chain(known.iter().copied())
            .collect();
        let same = model.params.iter().find(|p| p.elsewhere == entry.key.as_str());
        let near = same
            .map(|p| p.name)
            .or_else(|| nearest(&entry.key, names.iter().copied()));
        let list = if names.is_empty() {
            "it has no parameters: leave it out".to_string()
        } else {
            format!("known here: {}", names.join(", "))
        };
        let remedy = match near {
            Some(name) => format!("did you mean \"{name}\"? {list}"),
            None => list,
        };
        let problem = format!(
            "{} has no key \"{}\"",
            owner(model, path),
            super::error::shorten(&entry.key, 60)
        );
        self.complain(
            Problem::new("unknown-key", entry.key_at.clone(), key, problem, remedy)
                .value(entry.node.show())
                .nearest(near),
        );
    }

    pub(super) fn missing(&mut self, p: &Param, node: &Node, path: &str, model: &'static Model) {
        let example = match &p.kind {
            Kind::Named(family) => format!("add a table [{family}.NAME]"),
            Kind::Model(family) => format!(
                "add {} = \"NAME\" or {} = {{ kind = \"NAME\", ... }}; {}",
                p.name,
                p.name,
                self.choices(family)
            ),
            kind => format!("add `{}`: {}", p.name, kind.allowed()),
        };
        let problem = format!(
            "{} needs \"{}\": {}",
            owner(model, path),
            p.name,
            lower_first(p.doc.trim_end_matches('.'))
        );
        self.complain(Problem::new(
            "missing",
            node.at.clone(),
            &join(path, p.name),
            problem,
            example,
        ));
    }

    /// A model of a family: a name, or a table with `kind` (which may be left out where the family has one model).
    pub fn model<'d>(&mut self, node: &'d Node, path: &str, family: &str) -> Option<Filled<'d>> {
        let library = self.library;
        let all = library.catalogue.family(family);
        match &node.tree {
            Tree::Scalar(Raw::Text(name)) => {
                if self.is_refused_class(name, node, path, family, None) {
                    return None;
                }
                let model = self.model_named(name, node, path, family)?;
                // The bare name is a table without keys.
                self.fill_bare(node, path, model)
            }
            Tree::Table(_) => match node.get("kind") {
                Some(entry) => {
                    let Tree::Scalar(Raw::Text(name)) = &entry.node.tree else {
                        let remedy = self.choices(family);
                        let problem = format!("the kind {} is not a name", entry.node.show());
                        self.complain(
                            Problem::new("value", entry.node.at.clone(), &join(path, "kind"), problem, remedy)
                                .value(entry.node.show()),
                        );
                        return None;
                    };
                    let class = node.get("class").map(|e| &e.node);
                    if self.is_refused_class(name, &entry.node, path, family, class) {
                        return None;
                    }
                    let model = self.model_named(name, &entry.node, &join(path, "kind"), family)?;
                    self.fill(node, path, model, &["kind"])
                }
                None if all.len() == 1 => self.fill(node, path, all[0], &["kind"]),
                None => {
                    let problem = format!("the {family} here has no kind");
                    self.complain(Problem::new(
                        "missing",
                        node.at.clone(),
                        &join(path, "kind"),
                        problem,
                        format!("add kind = \"NAME\"; {}", self.choices(family)),
                    ));
                    None
                }
            },
            _ => {
                let problem = format!("{} is not {} {family}", node.show(), article(family));
                let remedy = format!("give a name, or a table with `kind`; {}", self.choices(family));
                self.complain(Problem::new("value", node.at.clone(), path, problem, remedy).value(node.show()));
                None
            }
        }
    }

    /// A value in short form, which is the value of this parameter of the model alone.
    pub fn fill_short<'d>(
        &mut self,
        node: &'d Node,
        path: &str,
        model: &'static Model,
        param: &Param,
    ) -> Option<Filled<'d>> {
        let before = self.seen();
        let mut filled = Filled::empty(node, path, model);
        self.param_value(node, path, model.param(param.name)?, &mut filled.settings);
        if self.seen() > before {
            return None;
        }
        self.complete(filled)
    }

    fn fill_bare<'d>(&mut self, node: &'d Node, path: &str, model: &'static Model) -> Option<Filled<'d>> {
        let before = self.seen();
        for p in model.params.iter().filter(|p| p.default.is_empty()) {
            let example = match p.kind {
                Kind::Size => "\"1000 packets\"",
                Kind::Rate { .. } => "\"5Mbps\"",
                Kind::Time { .. } => "\"10ms\"",
                _ => "...",
            };
            let doc = lower_first(p.doc.trim_end_matches('.'));
            let problem = format!("{} needs \"{}\": {doc}", owner(model, path), p.name);
            let remedy = format!(
                "write {{ kind = \"{}\", {} = {example} }}: {}",
                model.name,
                p.name,
                p.kind.allowed()
            );
            self.complain(
                Problem::new("missing", node.at.clone(), &join(path, p.name), problem, remedy).value(node.show()),
            );
        }
        let filled = Filled::empty(node, path, model);
        if self.seen() > before {
            return None;
        }
        self.complete(filled)
    }

    /// Whether a name stands for a queue from outside that this library does not take; if so, it is complained about.
    fn is_refused_class(&mut self, name: &str, node: &Node, path: &str, family: &str, class: Option<&Node>) -> bool {
        let is_model_name = family != outside::MODEL.family || name != outside::MODEL.name;
        if is_model_name || self.library.catalogue.find(family, name).is_some() {
            return false;
        }
        let class = class.and_then(|c| match &c.tree {
            Tree::Scalar(Raw::Text(t)) => Some(super::error::shorten(t, 60)),
            _ => None,
        });
        self.complain(super::outside::refused(node.at.clone(), path, class.as_deref()));
        true
    }

    /// The model of this name, or a complaint that names the nearest.
    pub fn model_named(&mut self, name: &str, node: &Node, path: &str, family: &str) -> Option<&'static Model> {
        let model = self.library.catalogue.find(family, name);
        if let Some(e) = self.library.catalogue.several(family, name) {
            let problem = Problem::new("value", node.at.clone(), path, e.problem, e.remedy).value(node.show());
            self.complain(problem);
        } else if model.is_none() && super::outside::is_stack(family, name) {
            self.complain(super::outside::no_stack(node, path));
        } else if model.is_none() && super::outside::lacks_its_class(family, name) {
            self.complain(super::outside::no_class(node, path, name));
        } else if model.is_none() && super::outside::names_a_class(family, name) {
            self.complain(super::outside::unknown_class(node, path, family, name));
        } else if model.is_none() {
            let near = nearest(name, self.library.catalogue.family(family).iter().map(|m| m.name));
            let remedy = match near {
                Some(n) => format!("did you mean \"{n}\"? {}", self.choices(family)),
                None => self.choices(family),
            };
            let problem = format!("there is no {family} \"{}\"", super::error::shorten(name, 60));
            self.complain(
                Problem::new("unknown-name", node.at.clone(), path, problem, remedy)
                    .value(node.show())
                    .nearest(near),
            );
        }
        model
    }

    /// The names of a family, as a remedy.
    pub fn choices(&self, family: &str) -> String {
        let names: Vec<&str> = self.library.catalogue.family(family).iter().map(|m| m.name).collect();
        format!("the choices are {}", names.join(", "))
    }

    /// A list of models of a family; one model counts as a list of one.
    pub fn model_list<'d>(&mut self, node: &'d Node, path: &str, family: &str) -> Vec<Filled<'d>> {
        match &node.tree {
            Tree::List(items) => items
                .iter()
                .enumerate()
                .filter_map(|(i, item)| self.model(item, &format!("{path}[{i}]"), family))
                .collect(),
            _ => self.model(node, path, family).into_iter().collect(),
        }
    }
}

/// Whether the buffer of a model counts bytes, as given or by default; `None` if the model has no buffer.
fn counts_bytes(node: &Node, model: &Model) -> Option<bool> {
    let default = model.param(BUFFER.name)?.default;
    let size_given = node.given(&BUFFER).and_then(|n| match &n.tree {
        Tree::Scalar(Raw::Text(t)) => parse_size(t).ok(),
        _ => None,
    });
    let size = size_given
        .filter(|s| *s != Size::Unlimited)
        .or_else(|| parse_size(default).ok());
    Some(matches!(size, Some(Size::Bytes(_))))
}

/// A sentence for the middle of another sentence. Acronyms keep their capitals.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(a), Some(b)) if a.is_uppercase() && !b.is_uppercase() => {
            a.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_string(),
    }
}
