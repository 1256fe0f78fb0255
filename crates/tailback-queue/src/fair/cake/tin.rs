//! A class of CAKE: its queues in three lists, their COBALTs, and its clock.
//!
//! A queue that wakes is *sparse* and stands in the new list. With its first quantum used up it is *bulk*, stands in
//! the old list, and counts for its hosts. A queue found empty leaves; while its COBALT remembers something it is
//! *decaying*, and of these one is looked at with each packet, so that it forgets in time.

use super::hosts::{HostId, Hosts};
use super::params::{Config, Isolation};
use super::scheme::Class;
use crate::aqm::delay::cobalt::{self, Control};
use crate::contract::server::LineClock;
use crate::pieces::classify::hash_sets::{Found, Sets};
use crate::pieces::store::{QueueId, Store};
use std::collections::VecDeque;
use tailback_base::work::done_if_long;
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

/// What every turn looks at, apart from the rest so that a thousand queues stay in a cache.
#[derive(Clone, Debug)]
struct Queue {
    deficit: i64,
    /// Grows with each move, so that entries of lists that were left are known.
    moves: u32,
    source: HostId,
    destination: HostId,
    standing: Standing,
}

/// A list of queues; entries of queues that have moved on are skipped.
#[derive(Clone, Debug, Default)]
struct Queues(VecDeque<(u32, u32)>);

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
    shares: Shares,
    sets: Sets,
    flows: Vec<Queue>,
    controls: Vec<Control>,
    new: Queues,
    old: Queues,
    decaying: Queues,
}

/// How a quantum is divided between the flows of a host.
struct Shares {
    isolation: Isolation,
    /// What a turn gives a queue of a host with so many bulk flows.
    credits: Vec<i64>,
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
        let flow = Queue {
            standing: Standing::Out,
            moves: 0,
            deficit: 0,
            source: 0,
            destination: 0,
        };
        // All queues can be bulk flows of one host.
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
                credits: (0..=config.queues).map(credit).collect(),
                sources: Hosts::default(),
                destinations: Hosts::default(),
            },
            sets: Sets::new(KeyField::Tuple, config.queues, config.ways, seed),
            flows: vec![flow; config.queues as usize],
            controls: vec![Control::new(&cobalt); config.queues as usize],
            new: Queues::default(),
            old: Queues::default(),
            decaying: Queues::default(),
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
            let source = self.shares.sources.number(p.key(KeyField::Source));
            let destination = self.shares.destinations.number(p.key(KeyField::Destination));
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
        self.controls[q as usize].overflow(now);
    }

    pub fn control(&mut self, q: u32) -> &mut Control {
        &mut self.controls[q as usize]
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
            // Only in the new list.
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

    /// The first queue of the old list that may send; those before it get the credit of a turn and go to its end.
    ///
    /// A round in which every queue was given credit and none had enough will be followed by others like it: a host
    /// with a thousand flows needs hundreds of them for a packet. They are taken at once, all but the last.
    fn first_with_credit(&mut self) -> Option<u32> {
        // Only the first entry can be of a queue that has moved on.
        self.old.first(&self.flows)?;
        loop {
            // How many rounds more none of those visited will have enough; and what a turn gives between the last
            // hosts.
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
                // They go to the end with the entries they have, so that they have not moved.
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

    /// What a turn gives this queue.
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

impl Shares {
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
    /// The first queue that still stands here.
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
