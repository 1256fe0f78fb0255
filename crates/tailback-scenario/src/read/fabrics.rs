//! The topologies of a data centre, written out as the links and switches they stand for.

use super::MOST_LINKS;
use crate::check::{Filled, Reader};
use crate::document::{Entry, Node, Tree};
use crate::error::At;
use tailback_base::model::{Param, Raw};
use tailback_base::{BitRate, Model};
use tailback_queue::pieces::params::BUFFER;
use tailback_queue::pieces::schedule::drr;
use tailback_sim::declare::fabrics::{self, FAT_TREE, LEAF_SPINE, STAR, fat_tree, leaf_spine};
use tailback_sim::declare::tables::{link, switch};
use tailback_sim::spec::LinkSpec;

/// A link that a topology makes: its name, its ends, and the keys of its table.
pub struct Made {
    pub name: String,
    pub from: String,
    pub to: String,
    pub keys: Vec<Entry>,
}

/// The tables that a topology makes.
#[derive(Default)]
pub struct Fabric {
    pub links: Vec<Made>,
    /// Names of switches with a memory, and the keys of their tables.
    pub switches: Vec<(String, Vec<Entry>)>,
}

/// Whether a topology of this name is written out here.
pub fn is_fabric(name: &str) -> bool {
    [&LEAF_SPINE, &FAT_TREE, &STAR].iter().any(|m| m.name == name)
}

/// Whether a topology of this name may make a link of this name; numbers are not checked.
pub fn makes(topology: &str, name: &str) -> bool {
    let letters: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
    let known: &[&str] = match topology {
        t if t == LEAF_SPINE.name => &["host", "leaf-spine"],
        t if t == FAT_TREE.name => &["host", "edge-agg", "agg-core"],
        _ => &["host"],
    };
    known.contains(&letters.as_str())
}

/// Note for each link that the topology has made its layer: the link's name without numbers.
pub fn note_layers(links: &mut [LinkSpec], topology: Option<&Node>) {
    let Some(kind) = topology.map(kind_of).filter(|kind| is_fabric(kind)) else {
        return;
    };
    for link in links.iter_mut().filter(|l| makes(kind, &l.name)) {
        link.layer = Some(link.name.chars().filter(|c| !c.is_ascii_digit()).collect());
    }
}

/// The links and switches of a topology; `None` if its keys contradict each other, which has been complained about.
pub fn write_out(r: &mut Reader, filled: &Filled, model: &Model) -> Option<Fabric> {
    if filled.settings.gives(&fabrics::ALPHA) && filled.settings.get(&fabrics::SHARED_BUFFER).is_none() {
        let problem = "alpha divides the memory of a switch, but the ports have buffers of their own";
        let remedy = "add shared_buffer, such as \"4MB\", or leave alpha out";
        r.complain(filled.problem("conflict", &fabrics::ALPHA, problem, remedy));
        return None;
    }
    match model.name {
        name if name == LEAF_SPINE.name => leaves_and_spines(r, filled),
        name if name == FAT_TREE.name => tree(r, filled),
        _ => Some(star(filled)),
    }
}

/// The keys given for a topology, and the tables that the topology makes.
struct Tables<'f, 'd> {
    filled: &'f Filled<'d>,
    fabric: Fabric,
}

impl<'f, 'd> Tables<'f, 'd> {
    fn of(filled: &'f Filled<'d>) -> Tables<'f, 'd> {
        Tables {
            filled,
            fabric: Fabric::default(),
        }
    }

    fn at(&self) -> At {
        self.filled.node.at.clone()
    }

    fn entry(&self, key: &Param, node: Node) -> Entry {
        Entry {
            key: key.name.into(),
            key_at: self.at(),
            node,
        }
    }

    /// The value of one of the topology's keys under the name of another.
    fn taken(&self, from: &Param, to: &Param) -> Option<Entry> {
        let node = self.filled.node.given(from)?.clone();
        Some(self.entry(to, node))
    }

    /// The link from a switch to a host.
    fn host(&mut self, number: u32, switch: &str) {
        let mut keys = vec![];
        keys.extend(self.taken(&fabrics::RATE, &link::RATE));
        keys.extend(self.taken(&fabrics::DELAY, &link::DELAY));
        keys.extend(self.taken(&fabrics::QUEUE, &link::QUEUE));
        let own = self.taken(&fabrics::HOST_QUEUE, &link::REVERSE_QUEUE);
        keys.push(own.unwrap_or_else(|| {
            let place = self.at();
            let entry = |key: &str, value: &str| Entry {
                key: key.into(),
                key_at: place.clone(),
                node: Node::text(value, place.clone()),
            };
            let unlimited = vec![
                entry("kind", drr::MODEL.name),
                entry(drr::QUANTUM.name, "1500B"),
                entry(BUFFER.name, "unlimited"),
            ];
            self.entry(&link::REVERSE_QUEUE, Node::table(unlimited, place.clone()))
        }));
        let name = format!("host{number}");
        self.fabric.links.push(Made {
            to: name.clone(),
            name,
            from: switch.into(),
            keys,
        });
    }

    /// The link between two switches.
    fn between(&mut self, from: &str, to: &str, own: &[Entry]) {
        let mut keys = own.to_vec();
        for (taken, key) in [
            (&fabrics::RATE.param, &link::RATE.param),
            (&fabrics::DELAY.param, &link::DELAY.param),
            (&fabrics::QUEUE, &link::QUEUE),
        ] {
            if !keys.iter().any(|e| e.key == key.name) {
                keys.extend(self.taken(taken, key));
            }
        }
        self.fabric.links.push(Made {
            name: format!("{from}-{to}"),
            from: from.into(),
            to: to.into(),
            keys,
        });
    }

    /// A switch, which has a memory if the topology says so.
    fn switch(&mut self, name: &str) {
        if self.filled.settings.get(&fabrics::SHARED_BUFFER).is_none() {
            return;
        }
        let mut keys = vec![];
        keys.extend(self.taken(&fabrics::SHARED_BUFFER, &switch::BUFFER));
        keys.extend(self.taken(&fabrics::ALPHA, &switch::ALPHA));
        self.fabric.switches.push((name.into(), keys));
    }
}

fn leaves_and_spines(r: &mut Reader, filled: &Filled) -> Option<Fabric> {
    let s = &filled.settings;
    let (leaves, spines, hosts) = (
        s.get(&leaf_spine::LEAVES),
        s.get(&leaf_spine::SPINES),
        s.get(&leaf_spine::HOSTS),
    );
    if s.get(&leaf_spine::SPINE_RATE).is_some() && s.get(&leaf_spine::OVERSUBSCRIPTION).is_some() {
        let problem = "both spine_rate and oversubscription are given, and each sets the rate of the spines' links";
        let problem = filled.problem(
            "conflict",
            &leaf_spine::OVERSUBSCRIPTION,
            problem,
            "keep one of the two",
        );
        r.complain(problem);
        return None;
    }
    // This is checked before so many links are written out.
    let links = u64::from(leaves) * (u64::from(hosts) + u64::from(spines));
    if links > MOST_LINKS as u64 {
        let problem = format!("{leaves} leaves with {hosts} hosts and {spines} spines have {links} links");
        let remedy = format!("use fewer: at most {MOST_LINKS} links can be simulated");
        r.complain(filled.problem("limit", &leaf_spine::LEAVES, problem, remedy));
        return None;
    }
    let mut tables = Tables::of(filled);
    let mut own_entries = vec![];
    own_entries.extend(tables.taken(&leaf_spine::SPINE_DELAY, &link::DELAY));
    own_entries.push(match tables.taken(&leaf_spine::SPINE_RATE, &link::RATE) {
        Some(given) => given,
        None => {
            let over = s.get(&leaf_spine::OVERSUBSCRIPTION).unwrap_or(1.0);
            let BitRate(rate) = s.get(&fabrics::RATE);
            let each = rate as f64 * f64::from(hosts) / (f64::from(spines) * over);
            let text = format!("{}bps", libm::round(each).max(1.0) as u64);
            tables.entry(&link::RATE, Node::text(&text, tables.at()))
        }
    });
    for leaf in 1..=leaves {
        let name = format!("leaf{leaf}");
        tables.switch(&name);
        for host in 1..=hosts {
            tables.host((leaf - 1) * hosts + host, &name);
        }
        for spine in 1..=spines {
            tables.between(&name, &format!("spine{spine}"), &own_entries);
        }
    }
    (1..=spines).for_each(|spine| tables.switch(&format!("spine{spine}")));
    Some(tables.fabric)
}

/// Al-Fares et al. 2008, section 3.
fn tree(r: &mut Reader, filled: &Filled) -> Option<Fabric> {
    let k = filled.settings.get(&fat_tree::K);
    if !k.is_multiple_of(2) {
        let problem = format!("switches of a fat-tree have an even number of ports, not {k}");
        let remedy = format!("write k = {} or {}", k - 1, k + 1);
        r.complain(
            filled
                .problem("value", &fat_tree::K, problem, remedy)
                .value(k.to_string()),
        );
        return None;
    }
    let half = k / 2;
    let mut tables = Tables::of(filled);
    for pod in 0..k {
        for i in 1..=half {
            let edge = format!("edge{}", pod * half + i);
            tables.switch(&edge);
            for host in 1..=half {
                tables.host((pod * half + i - 1) * half + host, &edge);
            }
            for j in 1..=half {
                tables.between(&edge, &format!("agg{}", pod * half + j), &[]);
            }
        }
        for j in 1..=half {
            let agg = format!("agg{}", pod * half + j);
            tables.switch(&agg);
            for core in 1..=half {
                tables.between(&agg, &format!("core{}", (j - 1) * half + core), &[]);
            }
        }
    }
    (1..=half * half).for_each(|core| tables.switch(&format!("core{core}")));
    Some(tables.fabric)
}

fn star(filled: &Filled) -> Fabric {
    let mut tables = Tables::of(filled);
    tables.switch("hub");
    for host in 1..=filled.settings.get(&fabrics::HOSTS) {
        tables.host(host, "hub");
    }
    tables.fabric
}

/// The name of a topology, as its table or its value gives it.
pub fn kind_of(topology: &Node) -> &str {
    let named = topology.get("kind").map_or(topology, |e| &e.node);
    match &named.tree {
        Tree::Scalar(Raw::Text(name)) => name,
        _ => "",
    }
}
