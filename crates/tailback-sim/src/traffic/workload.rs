//! Workloads: an application that opens a connection for each flow between two of many hosts, at random or from a list.
//!
//! Flows arrive at times of a process of their own, whatever happens to earlier flows (an open loop). Each flow is a
//! transfer over a connection of its own, from its source to its destination. The connection closes when all data are
//! acknowledged. The pattern says who sends to whom:
//!
//! * all to all: source and destination are drawn for each flow;
//! * permutation: each host sends to one other host and receives from one, drawn once (Sattolo's algorithm: one cycle
//!   over all hosts);
//! * pairs: each host sends to one other host, drawn once; several hosts may send to the same one;
//! * incast: a destination and a given number of different sources are drawn for each event, and all sources send at
//!   the same instant.
//!
//! Connections may be kept: a connection whose flow is done waits for the next flow between the same hosts. That flow
//! takes the connection that has become idle last. Connections that carry no flow at the end are closed then.
//!
//! State: the flows under way, by connection, idle connections by their ends, and the permutation. The results of flows
//! are in the table of transfers. Times, pairs and sizes are drawn from separate streams, so another discipline or
//! sender changes none of them.

use super::application::{AppInput, Application, Net, NodeId, Part, Side, TransferId, TransportId};
use super::laws::Draw;
pub use crate::declare::workload::{Arrivals, Pattern};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_base::{Duration, FlowId, Stream, Time};
use tailback_transport::AppEvent;

/// The process of the arrivals of flows.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    pub arrivals: Arrivals,
    /// Mean time from one arrival to the next, seconds.
    pub mean: f64,
    /// The standard deviation of the logarithm, for log-normal times.
    pub shape: f64,
}

impl Gaps {
    fn draw(&self, rng: &mut Stream) -> Duration {
        let seconds = match self.arrivals {
            Arrivals::Poisson => rng.exponential(self.mean),
            Arrivals::LogNormal => self.mean * libm::exp(self.shape * rng.normal() - self.shape * self.shape / 2.0),
        };
        Duration::from_seconds(seconds)
    }
}

/// A flow of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedFlow {
    pub at: Time,
    /// Places in the list of hosts.
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
}

/// The origin of flows.
pub enum Flows {
    Drawn {
        pattern: Pattern,
        fan_in: u32,
        gaps: Gaps,
        sizes: Box<dyn Draw>,
    },
    /// The flows of a list, in the order of their times.
    Listed(Arc<[ListedFlow]>),
}

/// The context in which a workload is built.
pub struct Parts {
    pub hosts: Vec<NodeId>,
    pub flows: Flows,
    pub transport: TransportId,
    /// The largest number of flows.
    pub most: Option<u64>,
    pub keeps: bool,
    /// The streams of times, pairs and sizes.
    pub streams: [Stream; 3],
}

/// A flow under way.
#[derive(Clone, Copy)]
struct Carried {
    transfer: TransferId,
    /// Places in the list of hosts.
    ends: (u32, u32),
}

/// A workload.
pub struct Workload {
    hosts: Vec<NodeId>,
    flows: Flows,
    transport: TransportId,
    left: Option<u64>,
    times: Stream,
    pairs: Stream,
    sizes: Stream,
    /// The destination of each host, if it is drawn once.
    partners: Vec<u32>,
    /// The time of the next flow or event.
    next: Time,
    /// The next flow of a list.
    listed: usize,
    open: BTreeMap<u32, Carried>,
    /// The idle connections by source and destination. The one that has become idle last is at the end. The map is
    /// empty unless connections are kept.
    idle: BTreeMap<(u32, u32), Vec<FlowId>>,
    keeps: bool,
    over: bool,
    finished: bool,
}

impl Workload {
    pub fn new(parts: Parts) -> Workload {
        let [times, pairs, sizes] = parts.streams;
        let mut workload = Workload {
            hosts: parts.hosts,
            flows: parts.flows,
            transport: parts.transport,
            left: parts.most,
            times,
            pairs,
            sizes,
            partners: vec![],
            next: Time::ZERO,
            listed: 0,
            open: BTreeMap::new(),
            idle: BTreeMap::new(),
            keeps: parts.keeps,
            over: false,
            finished: false,
        };
        if let Flows::Drawn { pattern, .. } = workload.flows {
            workload.partners = partners(pattern, workload.hosts.len(), &mut workload.pairs);
        }
        workload
    }

    /// Plan the next flow or event after this instant, if there is one.
    fn plan(&mut self, now: Time) {
        self.next = match &self.flows {
            Flows::Drawn { gaps, .. } => now + gaps.draw(&mut self.times),
            Flows::Listed(all) => all.get(self.listed).map_or(Time::NEVER, |f| f.at),
        };
        self.over |= self.next == Time::NEVER || self.left == Some(0);
    }

    /// Source, destination and bytes of the flows that arrive now.
    fn arrivals(&mut self) -> Vec<(u32, u32, u64)> {
        let n = self.hosts.len() as u32;
        match &self.flows {
            Flows::Listed(all) => {
                let flow = all[self.listed];
                self.listed += 1;
                vec![(flow.from, flow.to, flow.bytes)]
            }
            Flows::Drawn {
                pattern, fan_in, sizes, ..
            } => {
                let mut size = || sizes.whole(&mut self.sizes);
                let host = self.pairs.below(u64::from(n)) as u32;
                match pattern {
                    Pattern::AllToAll => vec![(host, other(host, n, &mut self.pairs), size())],
                    Pattern::Permutation | Pattern::Pairs => vec![(host, self.partners[host as usize], size())],
                    Pattern::Incast => {
                        // The sources are the first hosts of a shuffle of all hosts except the destination.
                        let mut other_hosts: Vec<u32> = (0..n).filter(|other| *other != host).collect();
                        let count = (*fan_in as usize).min(other_hosts.len());
                        for i in 0..count {
                            let j = i + self.pairs.below((other_hosts.len() - i) as u64) as usize;
                            other_hosts.swap(i, j);
                        }
                        other_hosts[..count].iter().map(|from| (*from, host, size())).collect()
                    }
                }
            }
        }
    }

    fn begin(&mut self, (from, to, bytes): (u32, u32, u64), net: &mut dyn Net) {
        if self.left == Some(0) {
            return;
        }
        self.left = self.left.map(|n| n - 1);
        let transfer = net.ask(bytes);
        let ends = (from, to);
        let kept = self.idle.get_mut(&ends).and_then(Vec::pop);
        let flow = kept.unwrap_or_else(|| net.open(self.hosts[from as usize], self.hosts[to as usize], self.transport));
        self.open.insert(flow.0, Carried { transfer, ends });
        net.compare_alone(transfer, flow, self.transport, bytes);
        net.send(transfer, flow, Side::Source, bytes, Part::Data);
        if !self.keeps {
            net.close(flow, Side::Source);
        }
    }

    fn end_if_done(&mut self, net: &mut dyn Net) {
        if self.over && self.open.is_empty() && !self.finished {
            self.finished = true;
            for flow in std::mem::take(&mut self.idle).into_values().flatten() {
                net.close(flow, Side::Source);
            }
            net.finished();
        }
    }
}

/// A host other than this one.
fn other(host: u32, n: u32, rng: &mut Stream) -> u32 {
    let drawn = rng.below(u64::from(n - 1)) as u32;
    drawn + u32::from(drawn >= host)
}

/// The host that each host sends to, if it is drawn once.
fn partners(pattern: Pattern, n: usize, rng: &mut Stream) -> Vec<u32> {
    match pattern {
        Pattern::AllToAll | Pattern::Incast => vec![],
        Pattern::Pairs => (0..n as u32).map(|host| other(host, n as u32, rng)).collect(),
        Pattern::Permutation => {
            let mut to: Vec<u32> = (0..n as u32).collect();
            for i in (1..n).rev() {
                to.swap(i, rng.below(i as u64) as usize);
            }
            to
        }
    }
}

impl Application for Workload {
    fn waits_for_transfers(&self) -> bool {
        true
    }

    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.over => {
                self.plan(net.now());
                if !self.over {
                    net.wake(self.next);
                }
            }
            AppInput::Wake => {
                while !self.over && self.next <= net.now() {
                    for flow in self.arrivals() {
                        self.begin(flow, net);
                    }
                    self.plan(self.next);
                }
                if !self.over {
                    net.wake(self.next);
                }
            }
            AppInput::Stop => self.over = true,
            AppInput::Transport {
                flow,
                side: Side::Destination,
                event: AppEvent::Delivered(bytes),
            } => {
                if let Some(Carried { transfer, ends }) = self.open.get(&flow.0).copied()
                    && net.arrived(transfer, bytes).is_some()
                {
                    self.open.remove(&flow.0);
                    if self.keeps {
                        self.idle.entry(ends).or_default().push(flow);
                    }
                }
            }
            AppInput::Transport {
                flow,
                event: AppEvent::Closed,
                ..
            } => {
                // A connection that ends before its data have arrived has given up.
                self.open.remove(&flow.0);
                self.idle.values_mut().for_each(|idle| idle.retain(|f| *f != flow));
            }
            _ => {}
        }
        self.end_if_done(net);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_permutation_gives_each_host_one_other() {
        for n in [2, 3, 16, 101] {
            let to = partners(Pattern::Permutation, n, &mut Stream::new(1, "pairs"));
            assert!(to.iter().enumerate().all(|(i, t)| *t as usize != i));
            assert_eq!(to.iter().collect::<BTreeSet<_>>().len(), n);
            let pairs = partners(Pattern::Pairs, n, &mut Stream::new(1, "pairs"));
            assert!(
                pairs
                    .iter()
                    .enumerate()
                    .all(|(i, t)| *t as usize != i && (*t as usize) < n)
            );
        }
    }

    #[test]
    fn times_between_arrivals_have_their_mean() {
        for arrivals in [Arrivals::Poisson, Arrivals::LogNormal] {
            let gaps = Gaps {
                arrivals,
                mean: 0.001,
                shape: 1.0,
            };
            let mut rng = Stream::new(1, "times");
            let sum: f64 = (0..200_000).map(|_| gaps.draw(&mut rng).seconds()).sum();
            assert!((sum / 200.0 - 1.0).abs() < 0.02, "{arrivals:?}: {sum}");
        }
    }
}
