//! The flow of each packet. The caller names conversations, or they are recorded when they appear and removed when they
//! have been silent for a time.
//!
//! Such a recorded conversation is kept as long as the RFCs require of a box that translates addresses, which has the
//! same problem. A TCP connection is kept for 2 hours and 4 minutes (RFC 5382 section 5, REQ-5), or for 4 minutes once
//! one end has closed or reset it (same place). UDP is kept for 5 minutes (RFC 4787 section 4.3, REQ-5), and ICMP
//! queries and anything else for 60 seconds (RFC 5508 section 3.2, REQ-2).
//!
//! State: for each conversation its flow, the time of its last packet, and whether it is over; for each flow how many
//! conversations share it. A packet costs one look-up. Old conversations are removed when a new one finds no free
//! flow, at most once a second.
//!
//! A conversation that found no free flow shares the last flow until the conversation itself is removed.

use crate::wire::{Headers, Tuple};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use tailback_base::{Duration, FlowId, Time};

const fn seconds(n: u64) -> Duration {
    Duration::from_millis(n * 1000)
}

const TCP_OPEN: Duration = seconds(2 * 3600 + 4 * 60);
const TCP_CLOSED: Duration = seconds(4 * 60);
const UDP: Duration = seconds(5 * 60);
const OTHER: Duration = seconds(60);
/// Old conversations are removed at most this often.
const LOOK_EVERY: Duration = seconds(1);

/// The flow of each packet.
pub enum Conversations {
    /// Conversations that the caller names, as their sources send. If a source's port is 0, it means any port that is
    /// not named. Such a conversation shares the flow, and its sequence numbers are not those of the flow.
    Declared(HashMap<Tuple, FlowId>),
    /// Each new conversation takes a free flow; when all flows are taken, new conversations share the last one.
    Learned(Learned),
}

struct KnownFlow {
    flow: FlowId,
    heard: Time,
    /// Whether one end has closed or reset it.
    over: bool,
}

impl KnownFlow {
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

/// The table of conversations that have passed.
#[derive(Default)]
pub struct Learned {
    known: HashMap<Tuple, KnownFlow>,
    /// Free flows, and how many conversations use each flow.
    free: BTreeSet<u32>,
    users: Vec<u32>,
    /// The number of each address, in the order of first appearance.
    hosts: HashMap<IpAddr, u32>,
    next_host: u32,
    looked: Option<Time>,
    /// The number of conversations that each flow has had, with the first of them.
    had: BTreeMap<u32, (Tuple, u64)>,
}

/// The flow of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowMatch {
    pub flow: FlowId,
    /// If the packet begins a conversation: the numbers of its source and its destination.
    pub new: Option<[u32; 2]>,
    /// Whether this conversation does not share its flow.
    pub alone: bool,
}

impl Learned {
    /// A table with this many flows, but at least one.
    pub fn new(flows: u32) -> Learned {
        Learned {
            free: (0..flows).collect(),
            users: vec![0; flows as usize],
            ..Learned::default()
        }
    }

    /// The number of stored conversations.
    pub fn remembered(&self) -> usize {
        self.known.len()
    }

    /// For each flow that had a conversation: the first conversation, as its source sends, and the number of
    /// conversations.
    pub fn had(&self) -> impl Iterator<Item = (FlowId, Tuple, u64)> + '_ {
        self.had.iter().map(|(flow, (first, n))| (FlowId(*flow), *first, *n))
    }

    /// The flow of a packet that arrives now; `tuple` is its conversation in the direction of the source.
    pub fn flow_of(&mut self, tuple: Tuple, h: &Headers, now: Time) -> FlowMatch {
        if let Some(k) = self.known.get_mut(&tuple) {
            k.heard = now;
            match &h.tcp {
                // This is the next connection on the same ports.
                Some(t) if t.syn => k.over = false,
                Some(t) if t.fin || t.rst => k.over = true,
                _ => {}
            }
            return FlowMatch {
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
        let flow_state = KnownFlow {
            flow: FlowId(flow),
            heard: now,
            over,
        };
        self.known.insert(tuple, flow_state);
        self.had.entry(flow).or_insert((tuple, 0)).1 += 1;
        let hosts = [tuple.source, tuple.destination].map(|a| self.number_of(a));
        FlowMatch {
            flow: FlowId(flow),
            new: Some(hosts),
            alone: self.users[flow as usize] == 1,
        }
    }

    /// Remove conversations that have been silent for too long, and addresses that no other conversation uses.
    fn forget(&mut self, now: Time) {
        let (users, free) = (&mut self.users, &mut self.free);
        let known_before = self.known.len();
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
        if self.known.len() < known_before {
            let ends = self.known.keys().flat_map(|t| [t.source, t.destination]);
            let here: std::collections::HashSet<IpAddr> = ends.collect();
            self.hosts.retain(|a, _| here.contains(a));
        }
    }

    fn number_of(&mut self, host: IpAddr) -> u32 {
        let next = self.next_host;
        let host_number = *self.hosts.entry(host).or_insert(next);
        self.next_host += u32::from(host_number == next);
        host_number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Tcp;
    use tailback_base::{Dscp, Ecn};

    fn packet(port: u16, protocol: u8, fin: bool) -> Headers {
        let flag = |is_set| Tcp {
            sequence: 1,
            acknowledgement: 1,
            syn: false,
            fin: is_set,
            rst: false,
            ack: true,
            ece: false,
            cwr: false,
            options: false,
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

    /// Two flows: a third conversation gets its own flow as soon as one of the others is too old, and not before.
    fn free_after(protocol: u8, closed: bool) -> u64 {
        let mut learned = Learned::new(2);
        assert_eq!(flow(&mut learned, 0, packet(1, protocol, false)), (0, true));
        assert_eq!(flow(&mut learned, 0, packet(1, protocol, closed)), (0, false));
        assert_eq!(flow(&mut learned, 1, packet(2, 6, false)), (1, true));
        for now in (10..).step_by(10) {
            // Each of these packets arrives as that of a new conversation.
            match flow(&mut learned, now, packet(100 + (now / 10) as u16, 47, false)).0 {
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
        let mut learned = Learned::new(2);
        flow(&mut learned, 0, packet(1, 6, true));
        flow(&mut learned, 0, packet(2, 17, false));
        let mut syn = packet(1, 6, false);
        syn.tcp.as_mut().unwrap().syn = true;
        assert_eq!(flow(&mut learned, 100, syn), (0, false));
        assert_eq!(flow(&mut learned, 200, packet(2, 17, false)), (1, false));
        // The second had a packet after 200 s, and the first is open again, so neither is removed when other
        // conversations begin.
        assert_eq!(flow(&mut learned, 450, packet(3, 17, false)), (1, true));
        assert_eq!(flow(&mut learned, 500, packet(2, 17, false)), (1, false));
        assert_eq!(learned.remembered(), 3);
        let had: Vec<_> = learned
            .had()
            .map(|(flow, first, n)| (flow.0, first.ports[0], n))
            .collect();
        assert_eq!(had, [(0, 1, 1), (1, 2, 2)]);
    }

    /// A box that runs for a month, with ten new conversations a minute: each has its own flow, and memory does not
    /// grow.
    #[test]
    fn a_month_leaves_no_crowd_in_the_last_flow() {
        let mut learned = Learned::new(64);
        let mut shared = 0;
        for minute in 0..30 * 24 * 60 {
            for i in 0..10u16 {
                let mut h = packet(0, 17, false);
                h.tuple.ports[0] = ((minute * 10 + u64::from(i)) % 60_000) as u16;
                h.tuple.source = IpAddr::from((minute as u32).to_be_bytes());
                let found = learned.flow_of(h.tuple, &h, at(minute * 60 + u64::from(i)));
                shared += u32::from(!found.alone);
            }
        }
        assert_eq!(shared, 0);
        assert!(
            learned.remembered() <= 64 && learned.hosts.len() <= 65,
            "{}",
            learned.hosts.len()
        );
    }
}
