//! A class of CAKE: its queues in three lists, their COBALTs, and its clock.
//!
//! A queue that wakes is *sparse* and stands in the new list. With its first quantum used up it is *bulk*, stands in the old
//! list, and counts for its hosts. A queue found empty leaves; while its COBALT remembers something it is *decaying*, and
//! of these one is looked at with each packet, so that it forgets in time.

use super::hosts::{HostId, Hosts};
use super::params::{Config, Isolation};
use super::scheme::Class;
use crate::aqm::cobalt::{self, Control};
use crate::pieces::classify::hash_sets::{Found, Sets};
use crate::pieces::store::{QueueId, Store};
use crate::server::LineClock;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, KeyField, Packet, Time};

/// A byte of credit, as a power of two: a quantum is divided between the flows of a host.
const BYTE: u32 = 20;

/// Where a queue stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Out,
    Sparse,
    /// It ran empty before its debts were paid: at the end of the old list, but no bulk flow.
    Waiting,
    Bulk,
    Decaying,
}

#[derive(Clone, Debug)]
struct Flow {
    standing: Standing,
    /// Grows with each move, so that entries of lists that were left are known.
    moves: u32,
    deficit: i64,
    control: Control,
    source: HostId,
    destination: HostId,
}

/// A list of queues; entries of queues that have moved on are skipped.
#[derive(Clone, Debug, Default)]
struct List(VecDeque<(u32, u32)>);

/// One class.
pub struct Tin {
    pub class: Class,
    /// The number of its first queue in the store.
    pub first: QueueId,
    pub packets: u64,
    pub cobalt: cobalt::Config,
    pub mtu_time: Duration,
    /// When it is due, of a shaped CAKE; and how long its packets take at its rate.
    pub due: Time,
    pub clock: Option<LineClock>,
    /// Credit of an unshaped CAKE, bytes.
    pub credit: i64,
    pub bulk_flows: u32,
    /// Off in a test that holds both ways equal.
    pub skips_rounds: bool,
    isolation: Isolation,
    quantum: i64,
    sets: Sets,
    flows: Vec<Flow>,
    new: List,
    old: List,
    decaying: List,
    sources: Hosts,
    destinations: Hosts,
}

/// A largest packet of an Ethernet, bytes.
pub const MTU: u64 = 1514;

impl Tin {
    pub fn new(config: &Config, class: Class, first: QueueId, seed: u64) -> Tin {
        let rate = config.rate.map(|r| BitRate((r.0 / class.divisor).max(1)));
        let mtu_time = rate.map_or(Duration::ZERO, |r| r.time_of(MTU));
        let cobalt = config.cobalt_at(mtu_time);
        let quantum = rate.map_or(MTU, |r| (r.0 / 8 / 4096).clamp(300, MTU));
        let flow = Flow {
            standing: Standing::Out,
            moves: 0,
            deficit: 0,
            control: Control::new(&cobalt),
            source: 0,
            destination: 0,
        };
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
            isolation: config.isolation,
            quantum: (quantum as i64) << BYTE,
            sets: Sets::new(KeyField::Tuple, config.queues, config.ways, seed),
            flows: vec![flow; config.queues as usize],
            new: List::default(),
            old: List::default(),
            decaying: List::default(),
            sources: Hosts::default(),
            destinations: Hosts::default(),
        }
    }

    pub fn found(&self, how: usize) -> f64 {
        self.sets.count(how)
    }

    /// The queue, counted in this tin, of an arriving packet.
    pub fn classify<P: Packet>(&mut self, p: &P) -> u32 {
        let flows = &self.flows;
        let in_use = |q: QueueId| flows[q as usize].standing != Standing::Out;
        let (q, found) = self.sets.find(p.key(KeyField::Tuple), in_use);
        if matches!(found, Found::Miss | Found::Collision) {
            let source = self.sources.number(p.key(KeyField::Source));
            let destination = self.destinations.number(p.key(KeyField::Destination));
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
                // Its place in the old list stays.
                self.flows[q as usize].standing = Standing::Bulk;
                self.bulk_flows += 1;
                self.count_hosts(q, true);
            }
            Standing::Sparse | Standing::Bulk => {}
        }
    }

    /// The memory was full, and this queue was the longest.
    pub fn overflow(&mut self, q: u32, now: Time) {
        self.flows[q as usize].control.overflow(now);
    }

    pub fn control(&mut self, q: u32) -> &mut Control {
        &mut self.flows[q as usize].control
    }

    /// What was sent of the queue.
    pub fn charge(&mut self, q: u32, length: u64) {
        self.flows[q as usize].deficit -= (length as i64) << BYTE;
    }

    /// One of the queues that forget is looked at.
    pub fn decay(&mut self, now: Time) {
        if let Some(q) = self.decaying.first(&self.flows) {
            self.found_empty(q, now);
        }
    }

    /// The queue whose turn it is: one with packets. None when none has any.
    pub fn turn<P: Packet>(&mut self, store: &Store<P>, now: Time) -> Option<u32> {
        // Visits in a row that only gave credit.
        let mut gave = 0;
        loop {
            let q = self.new.first(&self.flows).or_else(|| self.old.first(&self.flows))?;
            let holds = store.packets(self.first + q) > 0;
            if self.flows[q as usize].deficit <= 0 {
                let standing = match (self.flows[q as usize].standing, holds) {
                    (Standing::Sparse, true) => {
                        self.bulk_flows += 1;
                        self.count_hosts(q, true);
                        Standing::Bulk
                    }
                    (Standing::Sparse, false) => Standing::Waiting,
                    (other, _) => other,
                };
                gave = if standing == self.flows[q as usize].standing {
                    gave + 1
                } else {
                    0
                };
                self.flows[q as usize].deficit += self.turn_credit(q);
                self.move_to(q, standing);
                if gave >= self.old.0.len() && self.skips_rounds {
                    self.skip_rounds();
                    gave = 0;
                }
                continue;
            }
            if holds {
                return Some(q);
            }
            self.found_empty(q, now);
        }
    }

    /// A round in which every queue was given credit and none had enough will be followed by others like it: a host with a
    /// thousand flows needs a thousand of them for a packet. They are taken at once, all but the last.
    fn skip_rounds(&mut self) {
        let standing = |(q, moves): &&(u32, u32)| self.flows[*q as usize].moves == *moves;
        let queues: Vec<u32> = self.old.0.iter().filter(standing).map(|e| e.0).collect();
        let short = |q: &u32| -self.flows[*q as usize].deficit / self.turn_credit(*q);
        let rounds = queues.iter().map(short).min().unwrap_or(0).max(0);
        for q in queues {
            self.flows[q as usize].deficit += rounds * self.turn_credit(q);
        }
    }

    /// What a turn gives this queue.
    fn turn_credit(&self, q: u32) -> i64 {
        self.quantum / i64::from(self.load(q))
    }

    /// Between how many flows the quantum of this one is divided.
    fn load(&self, q: u32) -> u32 {
        let flow = &self.flows[q as usize];
        let source = self.sources.bulk(flow.source);
        let destination = self.destinations.bulk(flow.destination);
        let load = match self.isolation {
            Isolation::Triple => source.max(destination),
            Isolation::Source => source,
            Isolation::Destination => destination,
            Isolation::Flows | Isolation::Blind => 1,
        };
        load.max(1)
    }

    fn found_empty(&mut self, q: u32, now: Time) {
        if self.flows[q as usize].standing == Standing::Bulk {
            self.bulk_flows -= 1;
            self.count_hosts(q, false);
        }
        let control = &mut self.flows[q as usize].control;
        control.found_empty(&self.cobalt, now);
        let rests = control.is_at_rest(now);
        self.move_to(q, if rests { Standing::Out } else { Standing::Decaying });
    }

    fn count_hosts(&mut self, q: u32, more: bool) {
        let flow = &self.flows[q as usize];
        for (hosts, host) in [
            (&mut self.sources, flow.source),
            (&mut self.destinations, flow.destination),
        ] {
            match more {
                true => hosts.one_more(host),
                false => hosts.one_less(host),
            }
        }
    }

    /// At the end of the list of this standing.
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

impl List {
    /// The first queue that still stands here.
    fn first(&mut self, flows: &[Flow]) -> Option<u32> {
        loop {
            let (q, moves) = *self.0.front()?;
            if flows[q as usize].moves == moves {
                return Some(q);
            }
            self.0.pop_front();
        }
    }
}
