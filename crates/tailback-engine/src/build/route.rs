//! Static shortest-path routes.
//!
//! A path has the fewest hops; among those the least propagation delay; among those the first by name. Data and ACKs
//! take the same links in opposite directions. Hosts with a single link are peeled off first, so that ten thousand of
//! them cost no more than the core they hang on; paths through the core are found once for each pair of its ends.

use crate::packet::MAX_HOPS;
use crate::sim::flow::Route;
use crate::traffic::application::NodeId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use tailback_base::Duration;
use tailback_base::work::counted_as;

/// One direction of a link in the graph.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    pub port: u32,
    pub to: u32,
    pub delay: Duration,
}

/// The graph, and the paths found so far.
#[derive(Default)]
pub struct Router {
    /// By node, in order of port.
    arcs: Vec<Vec<Arc>>,
    core: HashMap<(u32, u32), Option<Vec<Arc>>>,
    found: HashMap<(u32, u32), (Route, Route)>,
}

impl Router {
    pub fn new(nodes: usize) -> Router {
        Router {
            arcs: vec![Vec::new(); nodes],
            ..Router::default()
        }
    }

    /// So many pairs will be asked for: their table is made once, not doubled in the middle.
    pub fn expect(&mut self, pairs: usize) {
        self.found.reserve(pairs);
    }

    pub fn add(&mut self, from: NodeId, arc: Arc) {
        self.arcs[from.0 as usize].push(arc);
    }

    /// Fix the order in which equal paths are tried.
    pub fn finish(&mut self) {
        for a in counted_as(8, &mut self.arcs) {
            a.sort_by_key(|a| a.port);
        }
    }

    /// The path from one node to another, or `None` if there is none (or it is longer than a packet can count).
    /// `peer`: the opposite direction of each port.
    pub fn path(&mut self, from: NodeId, to: NodeId, peer: &[u32]) -> Option<Vec<Arc>> {
        let mut head = Vec::new();
        let mut at = from.0;
        // A host with one link has no choice.
        if self.arcs[at as usize].len() == 1 && at != to.0 {
            let only = self.arcs[at as usize][0];
            head.push(only);
            at = only.to;
        }
        let mut tail = None;
        let mut goal = to.0;
        if goal != at && self.arcs[goal as usize].len() == 1 {
            // A million hosts may hang on this node, so theirs is not looked for one by one.
            let Arc { port, to: up, .. } = self.arcs[goal as usize][0];
            let down = &self.arcs[up as usize];
            let i = down.binary_search_by_key(&peer[port as usize], |a| a.port).ok()?;
            tail = Some(down[i]);
            goal = up;
        }
        if at != goal {
            let core = match self.core.get(&(at, goal)) {
                Some(p) => p.clone(),
                None => {
                    let p = self.search(at, goal);
                    self.core.insert((at, goal), p.clone());
                    p
                }
            };
            head.extend(core?);
        }
        head.extend(tail);
        (!head.is_empty() && head.len() <= MAX_HOPS).then_some(head)
    }

    /// Dijkstra over the core, least (hops, delay, ports).
    fn search(&self, from: u32, to: u32) -> Option<Vec<Arc>> {
        let mut best: Vec<Option<(u32, u64)>> = vec![None; self.arcs.len()];
        let mut came: Vec<Option<(u32, Arc)>> = vec![None; self.arcs.len()];
        let mut heap = BinaryHeap::from([Reverse((0u32, 0u64, from))]);
        best[from as usize] = Some((0, 0));
        while let Some(Reverse((hops, delay, at))) = heap.pop() {
            if at == to {
                let mut path = Vec::new();
                let mut n = to;
                while let Some((previous, arc)) = came[n as usize] {
                    path.push(arc);
                    n = previous;
                }
                path.reverse();
                return Some(path);
            }
            if best[at as usize].is_some_and(|b| b < (hops, delay)) {
                continue;
            }
            for arc in &self.arcs[at as usize] {
                if self.arcs[arc.to as usize].len() < 2 && arc.to != to {
                    continue;
                }
                let cost = (hops + 1, delay + arc.delay.0);
                if best[arc.to as usize].is_none_or(|b| cost < b) {
                    best[arc.to as usize] = Some(cost);
                    came[arc.to as usize] = Some((at, *arc));
                    heap.push(Reverse((cost.0, cost.1, arc.to)));
                }
            }
        }
        None
    }

    /// Both directions as stretches of the table of routes; unknown pairs give an empty route.
    pub fn routes(&mut self, from: NodeId, to: NodeId, table: &mut Vec<u32>, peer: &[u32]) -> (Route, Route) {
        if let Some(r) = self.found.get(&(from.0, to.0)) {
            return *r;
        }
        let path = self.path(from, to, peer).unwrap_or_default();
        let forward = Route {
            start: table.len() as u32,
            len: path.len() as u8,
        };
        table.extend(path.iter().map(|a| a.port));
        let backward = Route {
            start: table.len() as u32,
            len: path.len() as u8,
        };
        table.extend(path.iter().rev().map(|a| peer[a.port as usize]));
        self.found.insert((from.0, to.0), (forward, backward));
        (forward, backward)
    }
}
