//! The set-up of routes over equal paths: as ports, and as choices where several next ports are possible.
//!
//! An entry of a route is a port or a choice. A choice is a mark and the number of the node that the packet goes to.
//! Where a hash chooses, and no link may fail, the choices are made once, when the route is set up. Where links may
//! fail, a route consists only of choices between the switches of its ends, as many as the longest detour needs.
//!
//! Cost: a look-up for a route that has been set up before.

use super::{BY_HASH, CHOICE, FLOWLET, GOAL, Within};
use crate::declare::paths::Paths;
use crate::sim::Topology;
use crate::sim::flow::Route;
use crate::sim::route::Router;
use crate::traffic::application::NodeId;
use crate::wire::packet::MAX_HOPS;
use std::borrow::Cow;
use tailback_base::rng::mixed;

/// The number of choices of a route if links may fail, which bounds the longest detour.
const DETOUR: usize = 24;

impl Router {
    /// The routes in both directions over equal paths; empty if no path exists. `bits` represent the flow where paths
    /// are chosen by a hash.
    pub(crate) fn spread(
        &mut self,
        [from, to]: [NodeId; 2],
        paths: Paths,
        bits: u64,
        table: &mut Vec<u32>,
        peer: &[u32],
    ) -> (Route, Route) {
        let forward_route = self.one_direction(from, to, paths, mixed(bits), table, peer);
        let back = self.one_direction(to, from, paths, mixed(bits ^ 1), table, peer);
        (forward_route, back)
    }

    fn one_direction(
        &mut self,
        from: NodeId,
        to: NodeId,
        paths: Paths,
        bits: u64,
        table: &mut Vec<u32>,
        peer: &[u32],
    ) -> Route {
        let (mut entries, mut tail) = (Vec::new(), None);
        let (mut at, mut goal) = (from.0, to.0);
        if let [only] = *self.graph.leaving(at)
            && at != goal
        {
            entries.push(only.port);
            at = only.to;
        }
        if let [only] = *self.graph.leaving(goal)
            && goal != at
        {
            tail = Some(peer[only.port as usize]);
            goal = only.to;
        }
        let head = entries.len();
        let mut within = Vec::new();
        if at != goal {
            let goal_index = self.equal.goal(&self.graph, goal);
            let mut level = vec![at];
            while level != [goal] {
                let mut ports = Vec::new();
                for node in &level {
                    match (self.equal.next(goal_index, *node), paths) {
                        (None, _) => return Route::default(),
                        (Some(hops), Paths::Flow) => ports.push(hops.by_hash(bits)),
                        (Some(hops), _) => ports.extend(&hops.ports),
                    }
                }
                entries.push(if let [only] = ports[..] {
                    only
                } else {
                    choice(paths, goal_index)
                });
                level = ports.iter().map(|p| self.graph.arc(*p).to).collect();
                level.sort_unstable();
                level.dedup();
                within.append(&mut ports);
            }
        }
        if at != goal && self.equal.may_fail {
            let g = self.equal.goal(&self.graph, goal);
            entries.truncate(head);
            entries.resize(head + DETOUR, choice(paths, g));
        }
        entries.extend(tail);
        if entries.is_empty() || entries.len() > MAX_HOPS {
            return Route::default();
        }
        within.extend(entries.iter().filter(|e| **e < CHOICE));
        within.sort_unstable();
        within.dedup();
        let has_choice = entries.iter().any(|e| *e >= CHOICE);
        let way = self.stretch(from, entries, table);
        if has_choice {
            let ports = within;
            self.equal.within.insert(way.start, Within { from: from.0, ports });
        }
        way
    }

    /// All ports on paths with the fewest hops.
    pub fn equal_ports(&mut self, from: NodeId, to: NodeId, peer: &[u32]) -> Vec<u32> {
        let mut table = Vec::new();
        let way = self.one_direction(from, to, Paths::Packet, 0, &mut table, peer);
        // Routes are looked up by their entries, and the table with these entries is replaced.
        self.equal.laid.clear();
        match self.equal.within.remove(&way.start) {
            Some(within) => within.ports,
            None => table,
        }
    }

    /// A route over given nodes, and back over the same links. Between two nodes it follows the first path.
    pub(crate) fn lay_over(&mut self, nodes: &[NodeId], table: &mut Vec<u32>, peer: &[u32]) -> (Route, Route) {
        let mut ports = Vec::new();
        for pair in nodes.windows(2).filter(|pair| pair[0] != pair[1]) {
            let Some(path) = self.path(pair[0], pair[1], peer) else {
                return Default::default();
            };
            ports.extend(path.iter().map(|a| a.port));
        }
        if ports.is_empty() || ports.len() > MAX_HOPS {
            return Default::default();
        }
        let back = ports.iter().rev().map(|p| peer[*p as usize]).collect();
        let [from, to] = [nodes[0], nodes[nodes.len() - 1]];
        (self.stretch(from, ports, table), self.stretch(to, back, table))
    }

    /// The stretch of the table of routes with these entries. A choice does not say where a route begins, so routes of
    /// different nodes have stretches of their own.
    fn stretch(&mut self, from: NodeId, entries: Vec<u32>, table: &mut Vec<u32>) -> Route {
        let len = entries.len() as u8;
        let start = *self
            .equal
            .laid
            .entry((from.0, entries))
            .or_insert_with_key(|(_, entries)| {
                let start = table.len() as u32;
                table.extend(entries);
                start
            });
        Route { start, len, tos: 0 }
    }
}

impl Topology {
    /// The elements of a route: ports and choices.
    pub fn entries(&self, way: Route) -> &[u32] {
        &self.routes[way.start as usize..][..usize::from(way.len)]
    }

    /// Whether a route has choices.
    pub fn is_spread(&self, way: Route) -> bool {
        way.len > 0 && self.router.equal.within.contains_key(&way.start)
    }

    /// All ports that packets may pass on a route: in the order of travel if there are no choices.
    pub fn ports_within(&self, way: Route) -> &[u32] {
        match self.router.equal.within.get(&way.start).filter(|_| way.len > 0) {
            Some(within) => &within.ports,
            None => self.entries(way),
        }
    }

    /// The ports of one path that packets may take on a route, in the order of travel. A route without choices is
    /// returned without a copy, because each transfer calls this.
    pub fn one_path(&self, way: Route) -> Cow<'_, [u32]> {
        let Router { graph, equal, .. } = &self.router;
        let Some(within) = equal.within.get(&way.start).filter(|_| way.len > 0) else {
            return Cow::Borrowed(self.entries(way));
        };
        let mut node = within.from;
        let mut ports = Vec::with_capacity(usize::from(way.len));
        for entry in self.entries(way) {
            let port = match *entry {
                port if port < CHOICE => port,
                choice => {
                    let set = equal.goals[(choice & GOAL) as usize][node as usize];
                    match equal.sets.get(set as usize) {
                        Some(hops) => hops.ports[0],
                        // The packet is at its destination, or no path is left.
                        None => continue,
                    }
                }
            };
            node = graph.arc(port).to;
            ports.push(port);
        }
        Cow::Owned(ports)
    }
}

/// The entry of a route where paths are chosen by this rule.
fn choice(paths: Paths, goal: u32) -> u32 {
    let rule = match paths {
        Paths::Flowlet => FLOWLET,
        Paths::Flow => BY_HASH,
        Paths::First | Paths::Packet => 0,
    };
    CHOICE | rule | goal
}
