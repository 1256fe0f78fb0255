//! The ways of packets, as far as checks need them: whether there is a way, and its delay.
//!
//! The rule of first paths is that of [`tailback_sim::sim::route`]: the fewest hops, and among those the least
//! propagation delay. Packets in the reverse direction take the same links in the opposite direction. The simulator's
//! own router also breaks ties and packs its ways. This one names nodes in messages and needs no built network.

use std::collections::BTreeMap;
use tailback_base::Duration;
use tailback_sim::declare::paths::Paths;
use tailback_sim::spec::LinkSpec;

/// One hop: a link, by index into the links given, and the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub link: usize,
    pub reverse: bool,
}

/// The network as a graph.
pub struct Routes<'a> {
    nodes: BTreeMap<&'a str, usize>,
    names: Vec<&'a str>,
    /// The hops that leave each node, in alphabetical order of the links, with the node that they reach.
    out: Vec<Vec<(Hop, usize)>>,
    links: &'a [LinkSpec],
    /// The ways from one node, for the next call with the same node.
    last: Option<(usize, Vec<ShortestWay>)>,
}

#[derive(Clone, Copy)]
struct ShortestWay {
    hops: u32,
    delay: Duration,
    /// The last hop, and the node where that hop begins.
    by: Option<(Hop, usize)>,
}

const FAR: u32 = u32::MAX;

/// The ends of a way, and between them the nodes that it is to pass.
pub fn nodes_over<'n>(from: &'n str, via: &'n [String], to: &'n str) -> Vec<&'n str> {
    let passed = via.iter().map(String::as_str);
    [from].into_iter().chain(passed).chain([to]).collect()
}

impl<'a> Routes<'a> {
    pub fn new(links: &'a [LinkSpec]) -> Routes<'a> {
        let mut routes = Routes {
            nodes: BTreeMap::new(),
            names: vec![],
            out: vec![],
            links,
            last: None,
        };
        let mut order: Vec<usize> = (0..links.len()).collect();
        order.sort_by(|a, b| links[*a].name.cmp(&links[*b].name));
        for link in order {
            let (from, to) = (routes.node(&links[link].from), routes.node(&links[link].to));
            routes.out[from].push((Hop { link, reverse: false }, to));
            routes.out[to].push((Hop { link, reverse: true }, from));
        }
        routes
    }

    fn node(&mut self, name: &'a str) -> usize {
        let next = self.names.len();
        let id = *self.nodes.entry(name).or_insert(next);
        if id == next {
            self.names.push(name);
            self.out.push(vec![]);
        }
        id
    }

    /// All nodes, in alphabetical order.
    pub fn node_names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.nodes.keys().copied()
    }

    pub fn has(&self, node: &str) -> bool {
        self.nodes.contains_key(node)
    }

    /// The hops and the propagation delay from a node to every other node, and the last hop to each.
    fn ways_from(&mut self, source: usize) -> &[ShortestWay] {
        if self.last.as_ref().is_none_or(|(s, _)| *s != source) {
            let mut ways = vec![
                ShortestWay {
                    hops: FAR,
                    delay: Duration::ZERO,
                    by: None
                };
                self.names.len()
            ];
            ways[source].hops = 0;
            let mut layer = vec![source];
            // The search goes layer by layer, so a node's delay is final before the search goes on from this node.
            while !layer.is_empty() {
                let mut next_layer = vec![];
                for &n in &layer {
                    for &(hop, next) in &self.out[n] {
                        let way = ShortestWay {
                            hops: ways[n].hops + 1,
                            delay: ways[n].delay + self.delay(hop),
                            by: Some((hop, n)),
                        };
                        if ways[next].hops == FAR {
                            next_layer.push(next);
                        }
                        if (way.hops, way.delay) < (ways[next].hops, ways[next].delay) {
                            ways[next] = way;
                        }
                    }
                }
                layer = next_layer;
            }
            self.last = Some((source, ways));
        }
        self.last.as_ref().map_or(&[], |(_, ways)| ways)
    }

    fn delay(&self, hop: Hop) -> Duration {
        let link = &self.links[hop.link];
        if hop.reverse {
            link.reverse.delay
        } else {
            link.forward.delay
        }
    }

    /// The hops between two nodes; `None` when there is no way or no such node.
    pub fn path(&mut self, from: &str, to: &str) -> Option<Vec<Hop>> {
        let (from, mut node) = (*self.nodes.get(from)?, *self.nodes.get(to)?);
        let ways = self.ways_from(from);
        let mut hops = vec![];
        while node != from {
            let (hop, before) = ways[node].by?;
            hops.push(hop);
            node = before;
        }
        hops.reverse();
        Some(hops)
    }

    /// The hops of the first path over given nodes; `None` when there is no way.
    pub fn over(&mut self, from: &str, via: &[String], to: &str) -> Option<Vec<Hop>> {
        let mut hops = vec![];
        for pair in nodes_over(from, via, to).windows(2).filter(|pair| pair[0] != pair[1]) {
            hops.extend(self.path(pair[0], pair[1])?);
        }
        Some(hops)
    }

    /// All hops of paths with the fewest hops, in the order of links.
    pub fn equal(&mut self, from: &str, to: &str) -> Vec<Hop> {
        let (Some(&from), Some(&to)) = (self.nodes.get(from), self.nodes.get(to)) else {
            return vec![];
        };
        let hops_from =
            |routes: &mut Routes<'a>, node| routes.ways_from(node).iter().map(|w| w.hops).collect::<Vec<_>>();
        let (hops_there, hops_back) = (hops_from(self, from), hops_from(self, to));
        if hops_there[to] == FAR {
            return vec![];
        }
        let on_path = |node: usize, next: usize| {
            hops_there[node] != FAR
                && hops_back[next] != FAR
                && hops_there[node] + 1 + hops_back[next] == hops_there[to]
        };
        let leaving = self.out.iter().enumerate();
        let mut all: Vec<Hop> = leaving
            .flat_map(|(node, out)| {
                out.iter()
                    .filter(move |(_, next)| on_path(node, *next))
                    .map(|(hop, _)| *hop)
            })
            .collect();
        all.sort_by_key(|h| (h.link, h.reverse));
        all
    }

    /// The node that a hop leads to.
    pub fn end_of(&self, hop: Hop) -> &'a str {
        let link = &self.links[hop.link];
        if hop.reverse { &link.from } else { &link.to }
    }

    /// The hops that data may take.
    pub fn taken(&mut self, [from, to]: [&str; 2], paths: Paths, via: &[String]) -> Vec<Hop> {
        match paths {
            Paths::First => self.over(from, via, to).unwrap_or_default(),
            _ => self.equal(from, to),
        }
    }

    /// The propagation delay of these hops there and back.
    pub fn round_trip(&self, hops: &[Hop]) -> Duration {
        hops.iter().fold(Duration::ZERO, |sum, hop| {
            sum + self.delay(*hop)
                + self.delay(Hop {
                    reverse: !hop.reverse,
                    ..*hop
                })
        })
    }

    /// The nodes with one link, in natural order.
    pub fn leaves(&self) -> Vec<&'a str> {
        let mut leaves: Vec<&str> = self
            .nodes
            .iter()
            .filter(|(_, i)| self.out[**i].len() == 1)
            .map(|(n, _)| *n)
            .collect();
        leaves.sort_by(|a, b| tailback_sim::sim::names::natural(a, b));
        leaves
    }

    /// The node at the other end of a host's only link.
    pub fn neighbour(&self, host: &str) -> Option<&'a str> {
        match &self.out[*self.nodes.get(host)?][..] {
            [(_, next)] => Some(self.names[*next]),
            _ => None,
        }
    }

    /// The nodes that can be reached from this one, without the node itself.
    pub fn connected(&mut self, node: &str) -> Vec<&'a str> {
        let Some(id) = self.nodes.get(node).copied() else {
            return vec![];
        };
        let near: Vec<bool> = self.ways_from(id).iter().map(|w| w.hops != FAR).collect();
        self.nodes
            .iter()
            .filter(|(_, i)| near[**i] && **i != id)
            .map(|(n, _)| *n)
            .collect()
    }
}
