//! A scenario after it has been read and checked: plain data from which the engine builds a network.
//!
//! The crate `tailback-scenario` makes a [`Spec`] from TOML or from Python; the simulator trusts it. Units are in the
//! types.

use crate::change::{Change, Values};
use crate::declare::impairments::Impairment;
use crate::declare::instants::Instants;
use crate::declare::paths::Paths;
use crate::declare::tables::{DELAY_ONLY_BPS, End, TunnelHash};
use crate::traffic::session::{self, ServersAsked};
use crate::traffic::workload::{Gaps, ListedFlow, Pattern};
use std::fmt;
use std::sync::Arc;
use tailback_base::{BitRate, Dscp, Duration, Settings, Size};
use tailback_queue::entry::Arithmetic;
use tailback_queue::rate_trace::Trace;
use tailback_queue::registry;

/// One scenario, ready to run with any seed.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: String,
    /// The run ends at this instant.
    pub duration: Duration,
    /// The time at which statistics start; earlier events are simulated but not counted.
    pub warmup: Duration,
    pub seed: u64,
    /// The interval of the rows in the table of flows by interval, if such rows are wanted.
    pub interval: Option<Duration>,
    pub links: Vec<LinkSpec>,
    pub switches: Vec<SwitchSpec>,
    pub flows: Vec<GroupSpec>,
    pub sessions: Vec<SessionSpec>,
    pub workloads: Vec<WorkloadSpec>,
    pub end: End,
    pub record: Vec<RecordSpec>,
    /// Keep one row for each drop and mark.
    pub log_drops: bool,
    pub size_classes: SizeClasses,
    pub marking: Marking,
    pub path_rules: PathRules,
}

/// The choice of nodes among equal paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathRules {
    /// The seed; by default that of the run.
    pub seed: Option<u64>,
    /// All nodes have the same seed.
    pub one_seed: bool,
    /// A longer pause ends a flowlet.
    pub flowlet_gap: Duration,
    /// The time from a link's failure or return to the new routes.
    pub route_delay: Duration,
    /// Packets that are on the way over a link when it fails still arrive.
    pub keeps: bool,
}

/// The size classes of the table of completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeClasses {
    /// The largest size of each class, bytes, from the smallest to the largest. The last class, which has no limit, is
    /// not listed.
    To(Vec<u64>),
    /// Tenths of the transfers that a run requests, by size.
    Deciles,
}

/// Whether the queues of a network mark, and the reason. The settings of queues already follow this decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marking {
    pub on: bool,
    pub because: MarkingBecause,
}

/// Why a network marks or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkingBecause {
    /// The scenario sets it.
    Given,
    /// These flows or sessions have ECN on, as in `flows.bulk`.
    Capable(String),
    /// No packet is ECN-capable.
    NotCapable,
}

/// A link between two nodes; both directions.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    pub name: String,
    pub from: String,
    pub to: String,
    /// The links of a topology that it belongs to, such as `leaf-spine`.
    pub layer: Option<String>,
    pub forward: DirectionSpec,
    /// The direction from `to` back to `from`. Results call it `NAME.reverse`.
    pub reverse: DirectionSpec,
}

impl LinkSpec {
    /// The name of one of its directions.
    pub fn port_name(&self, reverse: bool) -> String {
        if reverse {
            format!("{}.reverse", self.name)
        } else {
            self.name.clone()
        }
    }
}

/// A node whose ports share a memory by dynamic thresholds.
#[derive(Clone, Debug)]
pub struct SwitchSpec {
    /// The node.
    pub name: String,
    pub buffer: Size,
    /// The factor of queue 0, 1, ... of each port; the last value applies to all later queues.
    pub alpha: Vec<f64>,
}

/// The switch whose memory stores the packets of a direction.
#[derive(Clone, Copy, Debug)]
pub struct SwitchPort {
    /// The place of the switch in the list.
    pub number: usize,
    pub memory: Size,
}

/// One direction of a link. A packet passes its parts in this order: conditioner, impairments, queue, line.
#[derive(Clone, Debug)]
pub struct DirectionSpec {
    pub rate: BitRate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// A model of family `queue`.
    pub queue: Settings,
    /// The switch whose memory stores the packets, if this direction leaves a switch.
    pub switch: Option<SwitchPort>,
    /// A model of family `conditioner`, if this direction begins at an edge router.
    pub conditioner: Option<Settings>,
    pub impairments: Vec<Impairment>,
    /// The changes during the run.
    pub changes: Vec<Change>,
    /// The trace that replaces `rate`.
    pub trace: Option<Arc<Trace>>,
}

impl DirectionSpec {
    /// The rule of its queue if that is arithmetic: drop-tail or a step, with a memory of its own.
    pub fn arithmetic(&self) -> Option<Arithmetic> {
        registry::arithmetic(&self.queue).filter(|_| self.switch.is_none())
    }

    /// The buffer, if its queue is plain drop-tail.
    pub fn fused_limit(&self) -> Option<Size> {
        registry::fused_limit(&self.queue).filter(|_| self.switch.is_none())
    }

    /// The longest delay that it has during a run.
    pub fn longest_delay(&self) -> Duration {
        let changed = self.changes.iter().filter_map(|c| match &c.to {
            Values::Delay(delays) => delays.iter().max(),
            _ => None,
        });
        let held = self.impairments.iter().map(Impairment::longest_delay);
        changed.copied().fold(self.delay, Duration::max) + held.fold(Duration::ZERO, |a, b| a + b)
    }

    /// The least rate above 0 and the greatest rate during a run; for a trace, its mean and its greatest rate.
    pub fn rates(&self) -> [BitRate; 2] {
        let mut all = vec![self.rate];
        for change in &self.changes {
            if let Values::Rate(rates) = &change.to {
                all.extend(rates);
            }
        }
        if let Some(trace) = &self.trace {
            let (mean, most) = trace.span();
            all = vec![BitRate(mean as u64), BitRate(most as u64)];
        }
        all.retain(|r| r.0 > 0);
        let fold = |f: fn(u64, u64) -> u64| BitRate(all.iter().map(|r| r.0).reduce(f).unwrap_or(self.rate.0));
        [fold(u64::min), fold(u64::max)]
    }
}

/// A group of flows that share everything but start, delays and rates.
#[derive(Clone, Debug)]
pub struct GroupSpec {
    pub name: String,
    pub count: u32,
    /// The node where the sources attach (or live, without `access`).
    pub from: String,
    /// The node where the destinations attach (or live, without `exit`).
    pub to: String,
    /// The choice of the flows among all shortest paths.
    pub paths: Paths,
    /// The nodes that the flows pass, if they are given.
    pub via: Vec<String>,
    /// The weights for schedulers that share a line by weight. Flow i has the entry at i modulo the length.
    pub weight: Vec<f64>,
    /// Each flow has its own source host behind such a link.
    pub access: Option<AccessSpec>,
    /// Each flow has its own destination host behind such a link.
    pub exit: Option<AccessSpec>,
    /// A model of family `conditioner`, if each source host has one before its access link.
    pub conditioner: Option<Settings>,
    /// Names of the edges at which the flows enter and leave the network.
    pub aggregate: [String; 2],
    /// The name of the tunnel that the flows are in, and how queues tell them apart there.
    pub tunnel: Option<(String, TunnelHash)>,
    /// A model of family `transport` (`tcp`, `udp`).
    pub transport: Settings,
    /// A model of family `traffic`.
    pub traffic: Settings,
    /// A model of family `sizes`: the distribution of packet sizes of datagram sources.
    pub sizes: Settings,
    /// A model of family `meter`, if wanted.
    pub meter: Option<Settings>,
    /// The code point of all packets that the ends send.
    pub dscp: Dscp,
    /// The longest delay of an arrival that is not late; `None` if nothing is late, or if the source has a deadline of
    /// its own.
    pub deadline: Option<Duration>,
    /// A model of family `playout`, if the playout is measured.
    pub playout: Option<Settings>,
    /// The changes during the run.
    pub changes: Vec<Change>,
    pub start: Instants,
    /// The time at which the flow stops producing data; `None` means the end of the run.
    pub stop: Option<Instants>,
}

/// The reason, as the end of a sentence, such as `flows.bulk has ECN on`.
impl fmt::Display for Marking {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.because {
            MarkingBecause::Given => write!(f, "marking = {}", self.on),
            MarkingBecause::Capable(who) => write!(f, "{who} has ECN on"),
            MarkingBecause::NotCapable => f.write_str("no flow has ECN on"),
        }
    }
}

/// Clients and servers that open connections during the run.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    pub name: String,
    /// The number of clients; each client is a member.
    pub clients: u32,
    /// The number of servers. Clients use the servers in turn, or send requests to all of them.
    pub servers: u32,
    /// The node where the servers attach (or live, without `access`).
    pub from: String,
    /// The node where the clients attach (or live, without `exit`).
    pub to: String,
    /// The nodes from which pages draw their servers, if this kind of session does so.
    pub page_servers: Vec<String>,
    /// The choice of the connections among all shortest paths.
    pub paths: Paths,
    /// Client i has entry i modulo the length.
    pub weight: Vec<f64>,
    /// Each server has its own host behind such a link.
    pub access: Option<AccessSpec>,
    /// Each client has its own host behind such a link.
    pub exit: Option<AccessSpec>,
    /// A model of family `transport` that is a connection.
    pub transport: Settings,
    pub kind: &'static session::Entry,
    /// The settings of the model of that kind.
    pub settings: Settings,
    /// The code point of all packets that the ends of its connections send.
    pub dscp: Dscp,
    /// The name of the tunnel that the connections are in, and how queues tell them apart there.
    pub tunnel: Option<(String, TunnelHash)>,
    pub start: Instants,
    pub stop: Option<Instants>,
}

impl SessionSpec {
    /// The number of servers that get requests.
    pub fn servers_used(&self) -> u32 {
        match self.kind.servers {
            ServersAsked::One => self.servers.min(self.clients),
            ServersAsked::All => self.servers,
        }
    }

    /// The number of servers to which each client sends requests at once.
    pub fn servers_at_once(&self) -> u32 {
        match self.kind.servers {
            ServersAsked::One => 1,
            ServersAsked::All => self.servers,
        }
    }
}

/// Flows among many hosts, each over its own connection.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    pub name: String,
    /// The names of the nodes.
    pub hosts: Vec<String>,
    pub flows: WorkloadFlows,
    /// The largest number of flows.
    pub most: Option<u64>,
    /// The choice of the connections among all shortest paths.
    pub paths: Paths,
    /// Whether connections are kept for later flows between the same hosts.
    pub keeps: bool,
    /// A model of family `transport` that is a connection.
    pub transport: Settings,
    /// The code point of all packets that the ends of its connections send.
    pub dscp: Dscp,
    pub start: Duration,
    pub stop: Option<Duration>,
}

/// The origin of the flows of a workload.
#[derive(Clone, Debug)]
pub enum WorkloadFlows {
    Drawn {
        pattern: Pattern,
        fan_in: u32,
        gaps: Gaps,
        /// A model of family `transfer-size`.
        sizes: Settings,
    },
    /// The flows of a list, in the order of their times.
    Listed(Arc<[ListedFlow]>),
}

/// A private link for each flow of a group, between its own host and the network. Lists are taken in turn.
#[derive(Clone, Debug)]
pub struct AccessSpec {
    pub rate: Vec<BitRate>,
    pub delay: Vec<Duration>,
    /// Impairments on the data direction (host to network for `access`, network to host for `exit`).
    pub impairments: Vec<Impairment>,
}

impl AccessSpec {
    /// A link that takes no time.
    pub fn no_time() -> AccessSpec {
        AccessSpec {
            rate: vec![BitRate(DELAY_ONLY_BPS)],
            delay: vec![Duration::ZERO],
            impairments: vec![],
        }
    }
}

/// A quantity to record, and the interval.
#[derive(Clone, Debug)]
pub struct RecordSpec {
    /// The name, as in `[record.NAME]`.
    pub name: String,
    /// `link.NAME` or `flows.NAME` (every flow of the group), each also with `.reverse`.
    pub what: Target,
    /// Probe names of that thing, such as `queue`, `average`, `cwnd`.
    pub probes: Vec<String>,
    pub when: Sampling,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The conditioner of a link (`NAME`, `NAME.reverse`) or of the hosts of a group (`flows.NAME`).
    Edge {
        name: String,
    },
    Link {
        name: String,
        reverse: bool,
    },
    /// Data from the sources, or, with `reverse`, from the destinations.
    Flows {
        group: String,
        /// The number of one flow of the group; `None` means all flows.
        only: Option<u32>,
        reverse: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    Every(Duration),
    OnChange,
}
