//! Equal paths: the choice of a flow, a packet or a flowlet among all shortest paths.
//!
//! All paths with the fewest hops are equal, whatever their delay, because a switch that balances load considers only
//! the number of hops. A node that has several next hops on such paths chooses one:
//!
//! * for a flow (`"flow"`), by a hash. SplitMix64 mixes the 64 bits that represent the flow's addresses and ports with
//!   the seed of the node. The result times the number of next hops, over 2^64, is the choice. The reverse path has
//!   bits of its own. The choices are made once, when the route is set up (RFC 2992 compares such hashes);
//! * for each packet (`"packet"`), in turn. Dixit et al., "On the impact of packet spraying in data center networks",
//!   INFOCOM 2013, spray packets too, but choose at random;
//! * for a flowlet (`"flowlet"`), at random, when no packet of the flow has arrived during a gap (Vanini et al., "Let
//!   it flow", NSDI 2017). Each flow has an entry of its own in each node, whereas flows may share an entry in a table
//!   of limited size.
//!
//! The module `ways` sets up routes of ports and choices. A choice is made when the packet has arrived, in the order of
//! events. The ports of such routes therefore take nothing ahead (`sim/ahead.rs`).
//!
//! Where links may fail, all choices are made while the packet travels. When routes follow a failure, the next hops to
//! all destinations are found anew without the links that are down. A packet goes on from where it is. It is lost if no
//! path is left, or if every path left has more hops than a route has room for. Nothing runs ahead.
//!
//! State: for each destination node, the next hops from all nodes; for each set of next hops, its turn; for flowlets,
//! the last packet and the port of each flow at each set. Cost: nothing for flows on first paths. A choice is a
//! look-up, and for flowlets one in a hash table.

mod ways;

use super::Sim;
use super::route::{Graph, Router};
use crate::wire::packet::WirePacket;
use std::collections::{BTreeMap, HashMap};
use tailback_base::rng::mixed;
use tailback_base::work::done;
use tailback_base::{Duration, Time};
use tailback_queue::DropReason;

/// An entry of a route with this number or a higher one is a choice and not a port.
pub const CHOICE: u32 = 1 << 31;
/// Flags of a choice: it is made for a flowlet, or by the hash of the flow. Without both flags it is made for each
/// packet.
const FLOWLET: u32 = 1 << 30;
const BY_HASH: u32 = 1 << 29;
/// The number of a goal within a choice.
const GOAL: u32 = BY_HASH - 1;
/// No next hops.
const NOWHERE: u32 = u32::MAX;

/// The next hops of a node on equal paths.
struct NextHops {
    /// The ports in ascending order.
    ports: Vec<u32>,
    seed: u64,
    /// The number of packets, or flowlets, that have been sent on.
    turn: u64,
}

impl NextHops {
    /// The port for a hash.
    fn by_hash(&self, bits: u64) -> u32 {
        let wide = u128::from(mixed(bits ^ self.seed)) * self.ports.len() as u128;
        self.ports[(wide >> 64) as usize]
    }

    fn in_turn(&mut self) -> u32 {
        let n = self.ports.len() as u64;
        self.turn += 1;
        self.ports[(self.seed.wrapping_add(self.turn) % n) as usize]
    }

    fn at_random(&mut self) -> u32 {
        self.turn += 1;
        self.by_hash(mixed(self.turn))
    }
}

/// The flowlet of a flow at a node.
struct Flowlet {
    /// The opening time of the connection: a later connection may have the same slot.
    opened: Time,
    last: Time,
    port: u32,
}

/// The next place of a packet that leaves a node.
pub(super) enum Next {
    Port(u32),
    /// The packet is at its destination.
    End,
    /// No path is left.
    Lost,
}

/// The ports that a route with choices may use.
struct Within {
    from: u32,
    ports: Vec<u32>,
}

/// Next hops on equal paths, and the routes that consist of them.
#[derive(Default)]
pub struct EqualPaths {
    /// The seed of the hash of each node.
    pub seeds: Vec<u64>,
    /// A longer pause ends a flowlet.
    pub gap: Duration,
    sets: Vec<NextHops>,
    /// The number of the set with these ports, which belong to one node.
    set_of: BTreeMap<Vec<u32>, u32>,
    /// Links may fail, so that all choices are made on the way.
    pub may_fail: bool,
    /// The directions that routes leave out, by port.
    down: Vec<bool>,
    /// The hash bits of each flow, if links may fail.
    bits: Vec<u64>,
    /// The set of next hops of each node, for each goal.
    goals: Vec<Vec<u32>>,
    goal_nodes: Vec<u32>,
    goal_of: BTreeMap<u32, u32>,
    /// The place of this node's entries in the table of routes.
    laid: BTreeMap<(u32, Vec<u32>), u32>,
    /// The routes with choices, by their start in that table.
    within: BTreeMap<u32, Within>,
    flowlets: HashMap<(u32, u32, bool), Flowlet>,
}

impl EqualPaths {
    /// The number of a destination. Its next hops are found by breadth-first search from it.
    fn goal(&mut self, graph: &Graph, goal: u32) -> u32 {
        if let Some(g) = self.goal_of.get(&goal) {
            return *g;
        }
        let next = self.next_hops(graph, goal);
        let number = self.goals.len() as u32;
        self.goals.push(next);
        self.goal_nodes.push(goal);
        self.goal_of.insert(goal, number);
        number
    }

    /// The next hops to a node from all others, over links that are up.
    fn next_hops(&mut self, graph: &Graph, goal: u32) -> Vec<u32> {
        let far = u32::MAX;
        let mut hops = vec![far; graph.nodes()];
        hops[goal as usize] = 0;
        let mut layer = vec![goal];
        let mut next_sets = vec![NOWHERE; graph.nodes()];
        while !layer.is_empty() {
            let mut beyond = vec![];
            for node in &layer {
                for arc in graph.leaving(*node) {
                    done(4);
                    if self.is_down(arc.port) {
                        continue;
                    }
                    // Nothing passes through a host.
                    if hops[arc.to as usize] == far && graph.leaving(arc.to).len() > 1 {
                        hops[arc.to as usize] = hops[*node as usize] + 1;
                        beyond.push(arc.to);
                    }
                }
            }
            for node in &beyond {
                let up = graph.leaving(*node).iter().filter(|a| !self.is_down(a.port));
                let nearer = up.filter(|a| hops[a.to as usize] < hops[*node as usize]);
                let ports: Vec<u32> = nearer.map(|a| a.port).collect();
                next_sets[*node as usize] = self.set(*node, ports);
            }
            layer = beyond;
        }
        next_sets
    }

    fn is_down(&self, port: u32) -> bool {
        self.down.get(port as usize).is_some_and(|down| *down)
    }

    /// Let routes follow this direction of a link that has failed or returned.
    fn follow(&mut self, graph: &Graph, port: u32, up: bool) {
        if self.down.len() <= port as usize {
            self.down.resize(port as usize + 1, false);
        }
        self.down[port as usize] = !up;
        for number in 0..self.goals.len() {
            self.goals[number] = self.next_hops(graph, self.goal_nodes[number]);
        }
    }

    /// Note the hash bits of the flow in this slot.
    pub fn note_bits(&mut self, slot: usize, bits: u64) {
        if self.may_fail {
            self.bits.resize(self.bits.len().max(slot + 1), 0);
            self.bits[slot] = bits;
        }
    }

    /// The number of a set of next hops. Ports belong to one node, so that sets of different nodes differ.
    fn set(&mut self, node: u32, ports: Vec<u32>) -> u32 {
        let (sets, seeds) = (&mut self.sets, &self.seeds);
        *self.set_of.entry(ports).or_insert_with_key(|ports| {
            sets.push(NextHops {
                ports: ports.clone(),
                seed: seeds.get(node as usize).copied().unwrap_or(0),
                turn: 0,
            });
            (sets.len() - 1) as u32
        })
    }

    fn next(&mut self, goal: u32, node: u32) -> Option<&mut NextHops> {
        let set = *self.goals.get(goal as usize)?.get(node as usize)?;
        self.sets.get_mut(set as usize)
    }

    /// The port for the next packet of a flow, at this instant.
    fn choose(&mut self, entry: u32, node: u32, (flow, backward, opened): (u32, bool, Time), now: Time) -> Option<u32> {
        let set = *self.goals.get((entry & GOAL) as usize)?.get(node as usize)?;
        let hops = self.sets.get_mut(set as usize)?;
        if hops.ports.len() == 1 {
            return hops.ports.first().copied();
        }
        if entry & BY_HASH != 0 {
            let bits = self.bits.get(flow as usize).copied().unwrap_or(0);
            return Some(hops.by_hash(mixed(bits ^ u64::from(backward))));
        }
        if entry & FLOWLET == 0 {
            return Some(hops.in_turn());
        }
        let gap = self.gap;
        let flowlet = self.flowlets.entry((set, flow, backward)).or_insert(Flowlet {
            opened: Time::NEVER,
            last: now,
            port: 0,
        });
        if flowlet.opened != opened || now - flowlet.last > gap || !hops.ports.contains(&flowlet.port) {
            *flowlet = Flowlet {
                opened,
                last: now,
                port: hops.at_random(),
            };
        }
        flowlet.last = now;
        Some(flowlet.port)
    }
}

impl Sim {
    /// The next place of a packet with a choice in its route, after the port that it came over or from its source.
    #[inline(never)]
    pub(super) fn choose(&mut self, entry: u32, came: Option<u32>, p: &mut WirePacket) -> Next {
        let id = p.flow_id().0;
        let way = self.net.ways[id as usize][usize::from(p.is_backward())];
        let router = &mut self.net.router;
        let node = match came {
            Some(port) => router.graph.arc(port).to,
            None => router.equal.within.get(&way.start).map_or(0, |w| w.from),
        };
        if router.equal.may_fail {
            let last_hop = usize::from(way.len) - 1;
            let tail = self.net.routes[way.start as usize + last_hop];
            if router.equal.goal_nodes[(entry & GOAL) as usize] == node {
                if tail >= CHOICE {
                    return Next::End;
                }
                p.set_hop(last_hop);
                return Next::Port(tail);
            }
            if p.hop() + 1 >= last_hop {
                return Next::Lost;
            }
        }
        let flow = (id, p.is_backward(), self.flows.all[id as usize].opened);
        match router.equal.choose(entry, node, flow, self.now) {
            Some(port) => Next::Port(port),
            None => Next::Lost,
        }
    }

    /// A packet at the far end of this port is lost: no path is left, or the link failed while the packet was on it.
    #[cold]
    pub(super) fn lose_at_far_end(&mut self, port: u32, p: &WirePacket) {
        let far = self.net.peer[port as usize];
        // The packet has already left the port.
        let mut p = *p;
        p.next_hop();
        self.outlet(far).drop_before(&p, DropReason::Impairment);
    }

    /// A packet that its source has just sent has no path.
    #[cold]
    pub(super) fn lose_at_source(&mut self, p: &WirePacket) {
        let way = self.net.ways[p.flow_id().0 as usize][usize::from(p.is_backward())];
        let port = self.net.ports_within(way).first().copied().unwrap_or(0);
        self.outlet(port).drop_before(p, DropReason::Impairment);
    }

    /// Routes follow a direction of a link that has failed or returned.
    pub(super) fn follow_link(&mut self, port: u32, up: bool) {
        let Router { graph, equal, .. } = &mut self.net.router;
        equal.follow(graph, port, up);
    }
}
