//! A class of CAKE: its queues in three lists, a COBALT for each queue, and its clock.
//!
//! A queue that becomes active is *sparse* and is in the new list. When it has used its first quantum it is *bulk*: it
//! is in the old list, and counts as a bulk flow of its hosts. A queue that is found empty leaves its list. While its
//! COBALT is not yet in its initial state, the queue is *decaying*. With each packet one decaying queue is checked, so
//! that its COBALT returns to the initial state in time.

use super::acks::Acks;
use super::hosts::{HostId, Hosts};
use super::params::{AckFilter, Config, Isolation, Translated};
use super::scheme::Class;
use crate::aqm::delay::cobalt::{self, Control};
use crate::contract::server::LineClock;
use crate::pieces::classify::hash_sets::{Found, Sets};
use crate::pieces::store::{QueueId, Store};
use std::collections::VecDeque;
use tailback_base::work::done_if_long;
use tailback_base::{Duration, KeyField, Packet, Time};

/// The units of credit in a byte, as a power of two. A byte is divided into units because a quantum is divided between
/// the flows of a host.
const BYTE: u32 = 20;

/// The state of a queue, which determines its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Out,
    Sparse,
    /// The queue became empty while its credit was negative. It is at the end of the old list, but is not a bulk flow.
    Waiting,
    Bulk,
    Decaying,
}

/// The data of a queue that every turn reads. It is stored separately so that a thousand queues fit into a CPU cache.
#[derive(Clone, Debug)]
struct Queue {
    deficit: i64,
    /// The number of moves of the queue, by which old entries in lists are recognised.
    moves: u32,
    source: HostId,
    destination: HostId,
    standing: Standing,
}

/// A list of queues. Entries of queues that have moved to another list are skipped.
#[derive(Clone, Debug, Default)]
struct Queues(VecDeque<(u32, u32)>);

/// One class.
pub struct Tin {
    pub class: Class,
    /// The number of the first queue of this class in the store.
    pub first: QueueId,
    pub packets: u64,
    pub cobalt: cobalt::Config,
    pub mtu_time: Duration,
    /// If CAKE shapes, the time when the class is due, and the clock for its packets at its rate.
    pub due: Time,
    pub clock: Option<LineClock>,
    /// The credit, if CAKE does not shape, bytes.
    pub credit: i64,
    pub bulk_flows: u32,
    /// Whether rounds without service are computed in one step. A test that compares both ways sets this to false.
    pub skips_rounds: bool,
    shares: Shares,
    sets: Sets,
    flows: Vec<Queue>,
    /// The ACKs of each queue, if any are filtered.
    pub acks: Vec<Acks>,
    controls: Vec<Control>,
    new: Queues,
    old: Queues,
    decaying: Queues,
}

/// How a quantum is divided between the flows of a host.
struct Shares {
    isolation: Isolation,
    translated: Translated,
    /// The credit per turn for a queue of a host with this many bulk flows.
    credits: Vec<i64>,
    sources: Hosts,
    destinations: Hosts,
}

/// The size of the largest Ethernet frame, bytes.
pub const MTU: u64 = 1514;

impl Tin {
    pub fn new(config: &Config, class: Class, first: QueueId, seed: u64) -> Tin {
        let rate = config.rate.map(|r| class.rate(r));
        let mtu_time = rate.map_or(Duration::ZERO, |r| r.time_of(MTU));
        let cobalt = config.cobalt_at(mtu_time);
        let quantum = rate.map_or(MTU, |r| (r.0 / 8 / 4096).clamp(300, MTU));
        let flow = Queue {
            standing: Standing::Out,
            moves: 0,
            deficit: 0,
            source: 0,
            destination: 0,
        };
        // All queues may be bulk flows of one host.
        let credit = |n: u32| ((quantum as i64) << BYTE) / i64::from(n.max(1));
        Tin {
            class,
            first,
            packets: 0,
            cobalt,
            mtu_time,
            due: Time::ZERO,
            clock: rate.map(LineClock::new),
            credit: 0,
            bulk_flows: 0,
            skips_rounds: true,
            shares: Shares {
                isolation: config.isolation,
                translated: config.translated,
                credits: (0..=config.queues).map(credit).collect(),
                sources: Hosts::default(),
                destinations: Hosts::default(),
            },
            sets: Sets::new(KeyField::Tuple, config.queues, config.ways, seed),
            flows: vec![flow; config.queues as usize],
            acks: match config.ack_filter {
                AckFilter::Off => vec![],
                _ => vec![Acks::default(); config.queues as usize],
            },
            controls: vec![Control::new(&cobalt); config.queues as usize],
            new: Queues::default(),
            old: Queues::default(),
            decaying: Queues::default(),
        }
    }

    pub fn found(&self, how: usize) -> f64 {
        self.sets.count(how)
    }

    /// The queue of an arriving packet, by its number in this tin.
    pub fn classify<P: Packet>(&mut self, p: &P) -> u32 {
        let flows = &self.flows;
        let in_use = |q: QueueId| flows[q as usize].standing != Standing::Out;
        let (q, found) = self.sets.find(p.key(KeyField::Tuple), in_use);
        if matches!(found, Found::Miss | Found::Collision) {
            let (source_address, destination_address) = self.shares.hosts_of(p);
            let source = self.shares.sources.number(source_address);
            let destination = self.shares.destinations.number(destination_address);
            let bulk = self.flows[q as usize].standing == Standing::Bulk;
            if bulk {
                self.count_hosts(q, false);
            }
            let flow = &mut self.flows[q as usize];
            (flow.source, flow.destination) = (source, destination);
            if bulk {
                self.count_hosts(q, true);
            }
        }
        q
    }

    /// A packet was stored in this queue.
    pub fn wake(&mut self, q: u32) {
        match self.flows[q as usize].standing {
            Standing::Out | Standing::Decaying => {
                self.flows[q as usize].deficit = self.turn_credit(q);
                self.move_to(q, Standing::Sparse);
            }
            Standing::Waiting => {
                // The place of the queue in the old list does not change.
                self.flows[q as usize].standing = Standing::Bulk;
                self.bulk_flows += 1;
                self.count_hosts(q, true);
            }
            Standing::Sparse | Standing::Bulk => {}
        }
    }

    /// Inform the COBALT of this queue that the memory was full and this queue was the longest.
    pub fn overflow(&mut self, q: u32, now: Time) {
        self.controls[q as usize].overflow(now);
    }

    pub fn control(&mut self, q: u32) -> &mut Control {
        &mut self.controls[q as usize]
    }

    /// Charge the queue for the bytes that were sent.
    pub fn charge(&mut self, q: u32, length: u64) {
        self.flows[q as usize].deficit -= (length as i64) << BYTE;
    }

    /// Check one of the decaying queues.
    pub fn decay(&mut self, now: Time) {
        if let Some(q) = self.decaying.first(&self.flows) {
            self.found_empty(q, now);
        }
    }

    /// The queue that has the turn and has packets. `None` if no queue has packets.
    pub fn turn<P: Packet>(&mut self, store: &Store<P>, now: Time) -> Option<u32> {
        loop {
            let q = match self.new.first(&self.flows) {
                Some(q) => q,
                None => self.first_with_credit()?,
            };
            let holds = store.packets(self.first + q) > 0;
            if self.flows[q as usize].deficit > 0 {
                if holds {
                    return Some(q);
                }
                self.found_empty(q, now);
                continue;
            }
            // A queue without credit can only come from the new list here.
            let standing = match holds {
                true => {
                    self.bulk_flows += 1;
                    self.count_hosts(q, true);
                    Standing::Bulk
                }
                false => Standing::Waiting,
            };
            self.flows[q as usize].deficit += self.turn_credit(q);
            self.move_to(q, standing);
        }
    }

    /// The first queue of the old list that may send. The queues before it get the credit of a turn and move to the end
    /// of the list.
    ///
    /// If in one round every queue got credit and no queue had enough, similar rounds follow. A host with a thousand
    /// flows needs hundreds of rounds for a packet. All these rounds except the last are computed in one step.
    fn first_with_credit(&mut self) -> Option<u32> {
        // Only the first entry can belong to a queue that has moved to another list.
        self.old.first(&self.flows)?;
        loop {
            // `rounds` is the number of further rounds in which no visited queue has enough credit, and `credit` the
            // credit per turn for the last pair of hosts.
            let (mut visits, mut rounds, mut hosts, mut credit) = (0, i64::MAX, None, 0);
            for (q, _) in &self.old.0 {
                let flow = &mut self.flows[*q as usize];
                if flow.deficit > 0 {
                    break;
                }
                if hosts != Some((flow.source, flow.destination)) {
                    hosts = Some((flow.source, flow.destination));
                    credit = self.shares.credit(flow);
                }
                flow.deficit += credit;
                if -flow.deficit < rounds.saturating_mul(credit) {
                    rounds = -flow.deficit / credit;
                }
                visits += 1;
            }
            done_if_long(visits);
            if visits < self.old.0.len() {
                // The visited queues move to the end of the list with their present entries, so this does not count as
                // a move.
                self.old.0.rotate_left(visits);
                return self.old.0.front().map(|e| e.0);
            }
            if rounds > 0 && self.skips_rounds {
                for (q, _) in &self.old.0 {
                    let flow = &mut self.flows[*q as usize];
                    flow.deficit += rounds * self.shares.credit(flow);
                }
            }
        }
    }

    /// The credit that a turn gives this queue.
    fn turn_credit(&self, q: u32) -> i64 {
        self.shares.credit(&self.flows[q as usize])
    }

    fn found_empty(&mut self, q: u32, now: Time) {
        if self.flows[q as usize].standing == Standing::Bulk {
            self.bulk_flows -= 1;
            self.count_hosts(q, false);
        }
        let control = &mut self.controls[q as usize];
        control.found_empty(&self.cobalt, now);
        let rests = control.is_at_rest(now);
        self.move_to(q, if rests { Standing::Out } else { Standing::Decaying });
    }

    fn count_hosts(&mut self, q: u32, more: bool) {
        let (flow, shares) = (&self.flows[q as usize], &mut self.shares);
        for (hosts, host) in [
            (&mut shares.sources, flow.source),
            (&mut shares.destinations, flow.destination),
        ] {
            match more {
                true => hosts.one_more(host),
                false => hosts.one_less(host),
            }
        }
    }

    /// Append the queue to the list of this state.
    fn move_to(&mut self, q: u32, standing: Standing) {
        let flow = &mut self.flows[q as usize];
        flow.standing = standing;
        flow.moves = flow.moves.wrapping_add(1);
        let entry = (q, flow.moves);
        match standing {
            Standing::Out => {}
            Standing::Sparse => self.new.0.push_back(entry),
            Standing::Waiting | Standing::Bulk => self.old.0.push_back(entry),
            Standing::Decaying => self.decaying.0.push_back(entry),
        }
    }
}

impl Shares {
    /// The source address and the destination address of a packet. On a side with address translation, all hosts have
    /// one address.
    fn hosts_of<P: Packet>(&self, p: &P) -> (u64, u64) {
        let (source, destination) = (p.key(KeyField::Source), p.key(KeyField::Destination));
        match self.translated {
            Translated::Neither => (source, destination),
            Translated::Source => (0, destination),
            Translated::Destination => (source, 0),
        }
    }

    #[inline]
    fn credit(&self, flow: &Queue) -> i64 {
        let source = self.sources.bulk(flow.source);
        let destination = self.destinations.bulk(flow.destination);
        let load = match self.isolation {
            Isolation::Triple => source.max(destination),
            Isolation::Source => source,
            Isolation::Destination => destination,
            Isolation::Flows | Isolation::Blind => 1,
        };
        self.credits[load as usize]
    }
}

impl Queues {
    /// The first queue that is still in this list.
    #[inline]
    fn first(&mut self, flows: &[Queue]) -> Option<u32> {
        loop {
            let (q, moves) = *self.0.front()?;
            if flows[q as usize].moves == moves {
                return Some(q);
            }
            self.0.pop_front();
        }
    }
}
