//! The classes of HTB: their declaration in a scenario, and their tree.
//!
//! Each class names the class above it, so that a tree of any depth can be written as a plain list. A class that names
//! no other class is below the class at the top, which is the shaper itself. Classes with other classes below them are
//! inner classes and store no packets. The other classes are leaves, each with a discipline.

use super::{BURST, CLASSES, DEFAULT, R2Q, RATE, named};
use crate::contract::row::laid;
use crate::linux::{Linux, OF_THE_DEVICE, Unsaid, Value, Word};
use crate::params::QUEUE;
use tailback_base::model::with_nearest;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Dscp, Key, Kind, Model, Param, Settings, params};

pub static MODEL: Model = Model {
    name: "class",
    family: FAMILY,
    title: "A class of htb",
    summary: "A share of the line with a rate of its own. Up to its ceiling, the class may borrow unused rate from the \
              classes above it.",
    source: "tc-htb(8); Devera, HTB Linux queuing discipline manual",
    params: PARAMS,
    probes: &[],
};

/// The family of the model above, by the name that parameters use.
pub const FAMILY: &str = "class";
/// The number of priorities, and the largest number of levels of a tree.
pub const PRIORITIES: usize = 8;
/// The bounds of the default quantum of a class, bytes.
const QUANTA: (u64, u64) = (1000, 200_000);

params! {
    const PARAMS;

    NAME: String = Key::new("name", Kind::Text, "", "The name of the class.", "tc-htb(8), classid");
    PARENT: Option<String> = Key::new("parent", Kind::Text, "none",
        "The class above this one. Default: the class at the top, which has the rate of the shaper.", "tc-htb(8)");
    OWN_RATE: BitRate = Key::new("rate", Kind::Rate { min: 1.0, max: 1e13 }, "",
        "The rate that the class has, whatever other classes send.", "tc-htb(8)");
    CEIL: Option<BitRate> = Key::new("ceil", Kind::Rate { min: 1.0, max: 1e13 }, "none",
        "The rate up to which the class may borrow. Default: its own rate, so that it borrows nothing.", "tc-htb(8)");
    OWN_BURST: u64 = Key::new("burst", Kind::Bytes { min: 0, max: 1_000_000_000 }, "1600B",
        "How much of the class may leave after a pause before the class is limited to its rate.",
        "tc, which has 1600 B");
    CBURST: u64 = Key::new("cburst", Kind::Bytes { min: 0, max: 1_000_000_000 }, "1600B",
        "How much of the class may leave after a pause before the class is limited to its ceiling.",
        "tc, which has 1600 B");
    PRIO: u32 = Key::new("prio", Kind::Count { min: 0, max: 7 }, "0",
        "Which class borrows first: unused rate is offered to classes with a lower number before others.",
        "tc-htb(8)");
    QUANTUM: Option<u64> = Key::new("quantum", Kind::Bytes { min: 1, max: 1_000_000_000 }, "none",
        "How much the class sends in its turn among classes of one priority that borrow. They share the unused rate in \
         proportion to their quanta. Default: its rate in bytes a second over `r2q`, but at least 1000 B and at most \
         200 kB.", "tc-htb(8)");
    DSCP: Vec<Dscp> = Key::new("dscp", Kind::List(&Kind::CodePoint), "none",
        "The code points of the packets of this class. A class with others below it has no code points.",
        "tc-flower(8), ip_tos");
    OWN_QUEUE = Param::new(QUEUE.name, QUEUE.kind, "none",
        "The discipline that holds the packets of the class. Default: that of the shaper, one for each class.",
        "tc-htb(8)");
}

/// The words of `tc class add ... htb`. In `tc` the name and the parent are class ids, `dscp` is a filter, and the
/// queue is a separate qdisc.
pub static LINUX: Linux = Linux {
    note: OF_THE_DEVICE,
    ..Linux::new(
        "htb",
        &[
            Word::new("rate", "rate", Value::Rate, "").unsaid(Unsaid::Needed),
            Word::new("ceil", "ceil", Value::Rate, "none"),
            Word::new("burst", "burst", Value::Bytes, "1600B"),
            Word::new("cburst", "cburst", Value::Bytes, "1600B"),
            Word::new("prio", "prio", Value::Whole, "0").most(7),
            Word::new("quantum", "quantum", Value::Bytes, "none"),
        ],
    )
};

/// A class with its checked settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeClass {
    pub name: String,
    /// The index of the class above it. `None` only for the class at the top.
    pub above: Option<usize>,
    /// Leaves are at level 0. Every other class has a higher level than the classes below it.
    pub level: usize,
    pub rate: BitRate,
    pub ceil: BitRate,
    pub burst: u64,
    pub cburst: u64,
    pub prio: usize,
    pub quantum: i64,
    /// The discipline of a leaf; `None` for an inner class.
    pub queue: Option<Settings>,
}

/// The checked tree. The class at the top is the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub classes: Vec<TreeClass>,
    /// The leaf of each code point; `None` for packets that are not shaped.
    pub leaf_of: [Option<usize>; 64],
}

/// An error at a key of the class with this index in the scenario's list.
fn at(i: usize, key: &str, problem: String, remedy: impl Into<String>) -> Refusal {
    let refusal = Refusal::new(problem, remedy).within(key);
    refusal.within(&format!("{}[{i}]", CLASSES.name))
}

impl Tree {
    /// # Errors
    /// Two classes have the same name, a parent does not exist, a class is above itself, the tree is too deep, two
    /// classes have the same code point, or an inner class has a code point.
    pub fn from_settings(s: &Settings) -> Result<Tree, Refusal> {
        let list: Vec<&Settings> = s.nested_list(CLASSES.name).collect();
        for (i, class_settings) in list.iter().enumerate() {
            if let Some(p) = class_settings.missing() {
                let remedy = format!("give {}", p.kind.allowed());
                return Err(at(i, p.name, format!("a class needs {}", p.name), remedy));
            }
        }
        let names: Vec<String> = list.iter().map(|c| c.get(&NAME)).collect();
        let mut classes = vec![top(s)];
        for (i, class_settings) in list.iter().enumerate() {
            let name = names[i].clone();
            if names[..i].contains(&name) {
                let e = format!("two classes are called \"{name}\"");
                return Err(at(i, NAME.name, e, "give each class a name of its own"));
            }
            let parent_index = match class_settings.get(&PARENT) {
                None => 0,
                Some(parent) => {
                    1 + found(&parent, &names).map_err(|e| {
                        let remedy = format!("{}, or leave parent out", e.remedy);
                        at(i, PARENT.name, e.problem, remedy)
                    })?
                }
            };
            let queue = class_settings
                .nested(QUEUE.name)
                .unwrap_or_else(|| s.within(QUEUE.name));
            let queue = laid(queue).map_err(|e| named(i + 1, e))?;
            classes.push(class(class_settings, s.get(&R2Q), (name, parent_index), queue));
        }
        let inner: Vec<bool> = (0..classes.len())
            .map(|c| classes.iter().any(|of| of.above == Some(c)))
            .collect();
        for c in 1..classes.len() {
            let depth = depth(&classes, c).ok_or_else(|| {
                let e = format!("\"{}\" stands above itself", classes[c].name);
                at(c - 1, PARENT.name, e, "name a class that is not below it")
            })?;
            if depth >= PRIORITIES {
                let e = format!("\"{}\" is {depth} classes below the top", classes[c].name);
                return Err(at(c - 1, PARENT.name, e, "put it at most seven below"));
            }
            if inner[c] {
                classes[c].level = PRIORITIES - 1 - depth;
                classes[c].queue = None;
            }
        }
        let leaf_of = leaves(s, &list, &names, &inner)?;
        Ok(Tree { classes, leaf_of })
    }
}

/// The index of the class with this name.
fn found(name: &str, names: &[String]) -> Result<usize, Refusal> {
    let choices = format!("one of {}", names.join(", "));
    let place = names.iter().position(|n| n == name);
    place.ok_or_else(|| {
        Refusal::new(
            format!("there is no class \"{name}\""),
            with_nearest(name, names.iter().map(String::as_str), &choices),
        )
    })
}

/// The number of classes above this one; `None` if they form a cycle.
fn depth(classes: &[TreeClass], c: usize) -> Option<usize> {
    let ancestors = std::iter::successors(classes[c].above, |of| classes[*of].above);
    let depth = ancestors.take(classes.len() + 1).count();
    (depth <= classes.len()).then_some(depth)
}

/// The leaf of each code point.
fn leaves(s: &Settings, list: &[&Settings], names: &[String], inner: &[bool]) -> Result<[Option<usize>; 64], Refusal> {
    let default = match s.get(&DEFAULT) {
        None => None,
        Some(name) => {
            let i = found(&name, names).map_err(|e| e.within(DEFAULT.name))?;
            if inner[i + 1] {
                let e = format!("\"{name}\" has classes below it, so it holds no packets");
                return Err(Refusal::new(e, "name a class without others below it").within(DEFAULT.name));
            }
            Some(i + 1)
        }
    };
    let mut leaf_of = [None; 64];
    for (i, class_settings) in list.iter().enumerate() {
        for code in class_settings.get(&DSCP) {
            let slot = &mut leaf_of[usize::from(code.0 & 63)];
            if inner[i + 1] {
                let e = format!("\"{}\" has classes below it, so it holds no packets", names[i]);
                return Err(at(i, DSCP.name, e, "give the code points to a class below it"));
            }
            if let Some(other) = slot.replace(i + 1) {
                let e = format!("\"{}\" has code point {} too", names[other - 1], code.0);
                return Err(at(i, DSCP.name, e, "give each code point to one class"));
            }
        }
    }
    Ok(leaf_of.map(|leaf| leaf.or(default)))
}

/// The class at the top, which cannot borrow.
fn top(s: &Settings) -> TreeClass {
    let (rate, burst) = (s.get(&RATE), s.get(&BURST));
    TreeClass {
        name: String::new(),
        above: None,
        level: PRIORITIES - 1,
        rate,
        ceil: rate,
        burst,
        cburst: burst,
        prio: 0,
        quantum: 0,
        queue: None,
    }
}

/// The class with these settings, made as a leaf.
fn class(own: &Settings, r2q: u64, (name, above): (String, usize), queue: Settings) -> TreeClass {
    let rate = own.get(&OWN_RATE);
    let by_rate = || (rate.0 / 8 / r2q).clamp(QUANTA.0, QUANTA.1);
    TreeClass {
        name,
        above: Some(above),
        level: 0,
        rate,
        ceil: own.get(&CEIL).unwrap_or(rate),
        burst: own.get(&OWN_BURST),
        cburst: own.get(&CBURST),
        prio: own.get(&PRIO) as usize,
        quantum: own.get(&QUANTUM).unwrap_or_else(by_rate) as i64,
        queue: Some(queue),
    }
}

/// The disciplines of the leaves below a shaper; empty for any other discipline.
pub fn queues(s: &Settings) -> Vec<&Settings> {
    // In other disciplines a parameter with this name has another meaning.
    if s.model.param(CLASSES.name).and_then(|p| p.kind.family()) != Some(FAMILY) {
        return vec![];
    }
    let list = || s.nested_list(CLASSES.name);
    let above: Vec<String> = list().filter_map(|own| own.get(&PARENT)).collect();
    let leaves = list().filter(|own| !above.contains(&own.get(&NAME)));
    leaves
        .map(|own| own.nested(QUEUE.name).unwrap_or_else(|| s.within(QUEUE.name)))
        .collect()
}
