//! Static shortest-path routes.
//!
//! A route takes a path with the fewest hops. Among several such paths it takes the one with the least propagation
//! delay, and among equal ones the first by name. Data and ACKs take the same links in opposite directions. Hosts with
//! a single link are removed from the graph first, so that ten thousand of them cost no more than the core to which
//! they are attached. Paths through the core are found once for each pair of its ends.
//!
//! Where flows share all shortest paths, `equal/ways.rs` sets up their routes.
//!
//! State: the graph, and the paths found so far.

use crate::sim::Sim;
use crate::sim::equal::EqualPaths;
use crate::sim::flow::Route;
use crate::traffic::application::NodeId;
use crate::wire::packet::MAX_HOPS;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use tailback_base::Duration;
use tailback_base::work::counted_as;
use tailback_transport::path::Path;

/// One direction of a link in the graph.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    pub port: u32,
    pub to: u32,
    pub delay: Duration,
}

/// The directions of links, by the node they leave.
#[derive(Default)]
pub(super) struct Graph {
    /// The arcs by node, and then in order of port.
    arcs: Vec<Arc>,
    /// The position where the arcs of each node begin, and after the last node the position where they end.
    starts: Vec<u32>,
    /// The place of each port's arc. A million hosts may be attached to a node, so that no search among its arcs is
    /// needed.
    places: Vec<u32>,
}

/// The graph, and the paths found so far.
#[derive(Default)]
pub struct Router {
    pub(super) graph: Graph,
    core: BTreeMap<(u32, u32), Option<Vec<Arc>>>,
    found: BTreeMap<(u32, u32), (Route, Route)>,
    /// The path that was searched last.
    way: Vec<Arc>,
    pub(crate) equal: EqualPaths,
}

impl Graph {
    pub(super) fn nodes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(super) fn arc(&self, port: u32) -> Arc {
        self.arcs[self.places[port as usize] as usize]
    }

    /// The arcs that leave a node.
    pub(super) fn leaving(&self, node: u32) -> &[Arc] {
        let node = node as usize;
        &self.arcs[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Dijkstra over the core, least (hops, delay, ports).
    fn search(&self, from: u32, to: u32) -> Option<Vec<Arc>> {
        let nodes = self.starts.len() - 1;
        let mut least_cost: Vec<Option<(u32, u64)>> = vec![None; nodes];
        let mut arcs: Vec<Option<(u32, Arc)>> = vec![None; nodes];
        let mut heap = BinaryHeap::from([Reverse((0u32, 0u64, from))]);
        least_cost[from as usize] = Some((0, 0));
        while let Some(Reverse((hops, delay, node))) = heap.pop() {
            if node == to {
                let mut path = Vec::new();
                let mut n = to;
                while let Some((previous, arc)) = arcs[n as usize] {
                    path.push(arc);
                    n = previous;
                }
                path.reverse();
                return Some(path);
            }
            if least_cost[node as usize].is_some_and(|b| b < (hops, delay)) {
                continue;
            }
            for arc in self.leaving(node) {
                if self.leaving(arc.to).len() < 2 && arc.to != to {
                    continue;
                }
                let cost = (hops + 1, delay + arc.delay.0);
                if least_cost[arc.to as usize].is_none_or(|b| cost < b) {
                    least_cost[arc.to as usize] = Some(cost);
                    arcs[arc.to as usize] = Some((node, *arc));
                    heap.push(Reverse((cost.0, cost.1, arc.to)));
                }
            }
        }
        None
    }
}

impl Router {
    /// The number of nodes, and the arcs that leave them.
    pub fn new(nodes: usize, leaving: impl Iterator<Item = (NodeId, Arc)> + Clone) -> Router {
        let mut starts = vec![0u32; nodes + 1];
        leaving.clone().for_each(|(node, _)| starts[node.0 as usize + 1] += 1);
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let (port, to, delay) = (0, 0, Duration::ZERO);
        let mut arcs = vec![Arc { port, to, delay }; starts[nodes] as usize];
        let mut next = starts.clone();
        leaving.for_each(|(node, arc)| {
            let place = &mut next[node.0 as usize];
            arcs[*place as usize] = arc;
            *place += 1;
        });
        // Fixes the order in which equal paths are tried.
        for of_node in counted_as(8, starts.windows(2)) {
            arcs[of_node[0] as usize..of_node[1] as usize].sort_by_key(|a| a.port);
        }
        let mut places = vec![0; arcs.len()];
        for (place, arc) in (0..).zip(&arcs) {
            places[arc.port as usize] = place;
        }
        Router {
            graph: Graph { arcs, starts, places },
            ..Router::default()
        }
    }

    /// The path from one node to another, or `None` if no path exists (or if it is longer than a packet can count).
    /// `peer`: the opposite direction of each port.
    pub fn path(&mut self, from: NodeId, to: NodeId, peer: &[u32]) -> Option<&[Arc]> {
        self.way.clear();
        let mut node = from.0;
        // A host with one link has no choice.
        if let [only] = *self.graph.leaving(node)
            && node != to.0
        {
            self.way.push(only);
            node = only.to;
        }
        let mut tail = None;
        let mut goal = to.0;
        if let [Arc { port, to: up, .. }] = *self.graph.leaving(goal)
            && goal != node
        {
            tail = Some(self.graph.arc(peer[port as usize]));
            goal = up;
        }
        if node != goal {
            let graph = &self.graph;
            let shortest = self
                .core
                .entry((node, goal))
                .or_insert_with(|| graph.search(node, goal));
            self.way.extend(shortest.as_ref()?);
        }
        self.way.extend(tail);
        (!self.way.is_empty() && self.way.len() <= MAX_HOPS).then_some(&self.way)
    }

    /// Both directions of a path as stretches of the table of routes; unknown pairs give an empty route.
    pub fn routes(&mut self, from: NodeId, to: NodeId, table: &mut Vec<u32>, peer: &[u32]) -> (Route, Route) {
        if let Some(r) = self.found.get(&(from.0, to.0)) {
            return *r;
        }
        let routes = self.lay(from, to, table, peer);
        self.found.insert((from.0, to.0), routes);
        routes
    }

    /// Like [`Router::routes`], for a pair that is requested only once.
    pub fn lay(&mut self, from: NodeId, to: NodeId, table: &mut Vec<u32>, peer: &[u32]) -> (Route, Route) {
        let path = self.path(from, to, peer).unwrap_or_default();
        let route = |table: &Vec<u32>| Route {
            start: table.len() as u32,
            len: path.len() as u8,
            tos: 0,
        };
        let forward = route(table);
        table.extend(path.iter().map(|a| a.port));
        let backward = route(table);
        table.extend(path.iter().rev().map(|a| peer[a.port as usize]));
        (forward, backward)
    }
}

impl Sim {
    /// The data about the lines of a path that the endpoints of a flow get.
    pub(crate) fn path(&mut self, from: NodeId, to: NodeId) -> Path {
        let mut path = Path::default();
        let (ports, peer) = (&self.net.ports, &self.net.peer);
        for arc in self.net.router.path(from, to, peer).unwrap_or_default() {
            let back = peer[arc.port as usize];
            for (way, port) in [(&mut path.there, arc.port), (&mut path.back, back)] {
                let port = &ports[port as usize];
                way.lines.push(port.rate());
                way.delay += port.delay;
            }
        }
        path
    }
}
