//! Which packets belong to which flow: named by the caller, or learned as they come, and forgotten when nothing is
//! heard of them any more.
//!
//! How long a learned conversation is kept is what is asked of a box that translates addresses, which has the same
//! question: a TCP connection 2 hours and 4 minutes (RFC 5382 section 5, REQ-5), 4 minutes once one end has closed or
//! reset it (same place), UDP 5 minutes (RFC 4787 section 4.3, REQ-5), queries of ICMP and anything else 60 seconds
//! (RFC 5508 section 3.2, REQ-2).
//!
//! State: of each conversation its flow, when it was last heard of, and whether it is over; how many share each flow.
//! A packet costs one look-up. Old ones are looked for when a new one finds no free flow, once a second at most.
//!
//! A conversation that has found no free flow shares the last one until it is forgotten itself.

use crate::wire::{Headers, Tuple};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use tailback_base::{Duration, FlowId, Time};

const fn seconds(n: u64) -> Duration {
    Duration::from_millis(n * 1000)
}

const TCP_OPEN: Duration = seconds(2 * 3600 + 4 * 60);
const TCP_CLOSED: Duration = seconds(4 * 60);
const UDP: Duration = seconds(5 * 60);
const OTHER: Duration = seconds(60);
/// Old ones are looked for no more often.
const LOOK_EVERY: Duration = seconds(1);

/// Which packets belong to which flow.
pub enum Conversations {
    /// Those that the caller names, as their sources send. Where a source's port is 0, any port is meant that is not
    /// named: such a conversation goes with a flow, and its numbers are not the flow's.
    Declared(HashMap<Tuple, FlowId>),
    /// Each new one takes a free flow; those that come when all are taken share the last.
    Learned(Learned),
}

struct Known {
    flow: FlowId,
    heard: Time,
    /// One end has closed or reset it.
    over: bool,
}

impl Known {
    fn is_old(&self, protocol: u8, now: Time) -> bool {
        let keep = match protocol {
            6 if self.over => TCP_CLOSED,
            6 => TCP_OPEN,
            17 => UDP,
            _ => OTHER,
        };
        now.since(self.heard) >= keep
    }
}

/// What is known of the conversations that have passed.
#[derive(Default)]
pub struct Learned {
    known: HashMap<Tuple, Known>,
    /// Flows that nobody uses, and how many use each.
    free: BTreeSet<u32>,
    users: Vec<u32>,
    /// A number for each address, by the order in which they were seen.
    hosts: HashMap<IpAddr, u32>,
    next_host: u32,
    looked: Option<Time>,
}

/// The flow of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    pub flow: FlowId,
    /// It begins a conversation: the numbers of its source and its destination.
    pub new: Option<[u32; 2]>,
    /// No other conversation has this flow.
    pub alone: bool,
}

impl Learned {
    /// With so many flows, one at least.
    pub fn new(flows: u32) -> Learned {
        Learned {
            free: (0..flows).collect(),
            users: vec![0; flows as usize],
            ..Learned::default()
        }
    }

    /// Conversations that are remembered.
    pub fn remembered(&self) -> usize {
        self.known.len()
    }

    /// The flow of a packet that comes now, whose conversation its source would name so.
    pub fn flow_of(&mut self, tuple: Tuple, h: &Headers, now: Time) -> Found {
        if let Some(k) = self.known.get_mut(&tuple) {
            k.heard = now;
            match &h.tcp {
                // The connection after this one, on the same ports.
                Some(t) if t.syn => k.over = false,
                Some(t) if t.fin || t.rst => k.over = true,
                _ => {}
            }
            return Found {
                flow: k.flow,
                new: None,
                alone: self.users[k.flow.0 as usize] == 1,
            };
        }
        if self.free.is_empty() && self.looked.is_none_or(|l| now.since(l) >= LOOK_EVERY) {
            self.looked = Some(now);
            self.forget(now);
        }
        let flow = self.free.pop_first().unwrap_or(self.users.len() as u32 - 1);
        self.users[flow as usize] += 1;
        let over = h.tcp.is_some_and(|t| t.fin || t.rst);
        let known = Known {
            flow: FlowId(flow),
            heard: now,
            over,
        };
        self.known.insert(tuple, known);
        let hosts = [tuple.source, tuple.destination].map(|a| self.number_of(a));
        Found {
            flow: FlowId(flow),
            new: Some(hosts),
            alone: self.users[flow as usize] == 1,
        }
    }

    /// Forget those of which nothing has been heard for too long, and the addresses that are in no other.
    fn forget(&mut self, now: Time) {
        let (users, free) = (&mut self.users, &mut self.free);
        let before = self.known.len();
        self.known.retain(|tuple, k| {
            let keep = !k.is_old(tuple.protocol, now);
            if !keep {
                let n = &mut users[k.flow.0 as usize];
                *n -= 1;
                if *n == 0 {
                    free.insert(k.flow.0);
                }
            }
            keep
        });
        if self.known.len() < before {
            let ends = self.known.keys().flat_map(|t| [t.source, t.destination]);
            let here: std::collections::HashSet<IpAddr> = ends.collect();
            self.hosts.retain(|a, _| here.contains(a));
        }
    }

    fn number_of(&mut self, host: IpAddr) -> u32 {
        let next = self.next_host;
        let number = *self.hosts.entry(host).or_insert(next);
        self.next_host += u32::from(number == next);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Tcp;
    use tailback_base::{Dscp, Ecn};

    fn packet(port: u16, protocol: u8, fin: bool) -> Headers {
        let flag = |on| Tcp {
            sequence: 1,
            acknowledgement: 1,
            syn: false,
            fin: on,
            rst: false,
            ack: true,
            ece: false,
            cwr: false,
        };
        Headers {
            tuple: Tuple {
                source: [10, 0, 0, port as u8].into(),
                destination: [10, 0, 1, 1].into(),
                protocol,
                ports: [port, 9],
            },
            dscp: Dscp(0),
            ecn: Ecn::NotEct,
            payload: 100,
            tcp: (protocol == 6).then(|| flag(fin)),
        }
    }

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    fn flow(l: &mut Learned, now: u64, h: Headers) -> (u32, bool) {
        let found = l.flow_of(h.tuple, &h, at(now));
        (found.flow.0, found.new.is_some())
    }

    /// Two flows; a third conversation has one for itself as soon as one of the others is too old, and not before.
    fn free_after(protocol: u8, closed: bool) -> u64 {
        let mut l = Learned::new(2);
        assert_eq!(flow(&mut l, 0, packet(1, protocol, false)), (0, true));
        assert_eq!(flow(&mut l, 0, packet(1, protocol, closed)), (0, false));
        assert_eq!(flow(&mut l, 1, packet(2, 6, false)), (1, true));
        for now in (10..).step_by(10) {
            // Each asks as a new one.
            match flow(&mut l, now, packet(100 + (now / 10) as u16, 47, false)).0 {
                1 => {}
                _ => return now,
            }
        }
        unreachable!()
    }

    #[test]
    fn a_conversation_is_forgotten_when_it_has_been_idle_for_its_time() {
        assert_eq!(free_after(17, false), 300);
        assert_eq!(free_after(1, false), 60);
        assert_eq!(free_after(6, true), 240);
        assert_eq!(free_after(6, false), 7440);
    }

    #[test]
    fn what_is_heard_of_is_kept_and_what_is_sent_again_opens_a_closed_one() {
        let mut l = Learned::new(2);
        flow(&mut l, 0, packet(1, 6, true));
        flow(&mut l, 0, packet(2, 17, false));
        let mut syn = packet(1, 6, false);
        syn.tcp.as_mut().unwrap().syn = true;
        assert_eq!(flow(&mut l, 100, syn), (0, false));
        assert_eq!(flow(&mut l, 200, packet(2, 17, false)), (1, false));
        // The second is heard of after 200 s, the first is open again: neither has gone when others ask.
        assert_eq!(flow(&mut l, 450, packet(3, 17, false)), (1, true));
        assert_eq!(flow(&mut l, 500, packet(2, 17, false)), (1, false));
        assert_eq!(l.remembered(), 3);
    }

    /// A box that runs for a month, with ten new conversations a minute: they have flows of their own, and memory
    /// stays.
    #[test]
    fn a_month_leaves_no_crowd_in_the_last_flow() {
        let mut l = Learned::new(64);
        let mut shared = 0;
        for minute in 0..30 * 24 * 60 {
            for i in 0..10u16 {
                let mut h = packet(0, 17, false);
                h.tuple.ports[0] = ((minute * 10 + u64::from(i)) % 60_000) as u16;
                h.tuple.source = IpAddr::from((minute as u32).to_be_bytes());
                let found = l.flow_of(h.tuple, &h, at(minute * 60 + u64::from(i)));
                shared += u32::from(!found.alone);
            }
        }
        assert_eq!(shared, 0);
        assert!(l.remembered() <= 64 && l.hosts.len() <= 65, "{}", l.hosts.len());
    }
}
