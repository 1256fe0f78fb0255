//! A packet and a log for tests of this crate and of your own disciplines.
//!
//! [`TestPacket`] is a small `Copy` packet with an identity (`id`), so that a test can say which packet left and how.
//! [`Log`] is an [`Out`] that keeps all reports of a discipline. [`Bench`] combines both with a discipline, a clock and
//! a line, so that a test is a list of actions and results:
//!
//! ```
//! use tailback_base::{BitRate, Duration, Settings, Stream};
//! use tailback_queue::{BuildContext, DropReason, registry, testing::{Bench, TestPacket}};
//!
//! let model = registry::find("droptail").unwrap();
//! let settings = Settings::defaults(model).with("buffer", "2 packets");
//! let context = BuildContext { stream: Stream::new(1, "test"), rate: BitRate(1_000_000), delay: Duration::ZERO };
//! let mut bench = Bench::new(registry::build::<TestPacket>(&settings, context).unwrap());
//! for id in 0..3 {
//!     bench.arrive(TestPacket::new(id, 0, 1000));
//! }
//! assert_eq!(bench.log.drops(DropReason::Overflow), [2]);
//! assert_eq!(bench.serve(), Some(0));
//! ```

use crate::contract::discipline::{
    Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, QueueDiscipline, Service,
};
use crate::contract::server::{ByHand, Sent, Server};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use tailback_base::{BitRate, Dscp, Duration, Ecn, FlowId, KeyField, Packet, PureAck, Request, Stream, Time};

/// A packet with an identity. The fields are public, so that a test can set the ones that it needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TestPacket {
    /// The identity of the packet. A discipline cannot read or change it.
    pub id: u64,
    pub flow: u32,
    /// The size on the wire, bytes.
    pub bytes: u32,
    pub ecn: Ecn,
    pub dscp: u8,
    pub stamp: Time,
    pub retransmission: bool,
    pub data: bool,
    pub sequence: u64,
    /// The destination label ([`KeyField::Label`]).
    pub label: u64,
    /// The weight of its flow ([`Packet::weight`]).
    pub weight: f64,
    /// The source host and the destination host, if flows share hosts.
    pub hosts: Option<(u64, u64)>,
    /// The acknowledgement that the packet carries, if it is a pure ACK.
    pub ack: Option<PureAck>,
}

impl TestPacket {
    /// A data packet of this flow that is not ECN-capable.
    pub fn new(id: u64, flow: u32, bytes: u32) -> TestPacket {
        TestPacket {
            id,
            flow,
            bytes,
            ecn: Ecn::NotEct,
            dscp: 0,
            stamp: Time::ZERO,
            retransmission: false,
            data: true,
            sequence: 0,
            label: 0,
            weight: 1.0,
            hosts: None,
            ack: None,
        }
    }

    /// The same packet, ECN-capable (ECT(0)).
    pub fn capable(self) -> TestPacket {
        TestPacket { ecn: Ecn::Ect0, ..self }
    }
}

impl Packet for TestPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
    /// If the packet has no `hosts`, its flow has its own hosts, and each key except the label is the number of the
    /// flow.
    fn key(&self, field: KeyField) -> u64 {
        match (field, self.hosts) {
            (KeyField::Label, _) => self.label,
            (KeyField::Source, Some((source, _))) => source,
            (KeyField::Destination, Some((_, destination))) => destination,
            _ => u64::from(self.flow),
        }
    }
    fn dscp(&self) -> Dscp {
        Dscp(self.dscp)
    }
    fn set_dscp(&mut self, colour: Dscp) {
        self.dscp = colour.0;
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn stamp(&self) -> Time {
        self.stamp
    }
    fn set_stamp(&mut self, t: Time) {
        self.stamp = t;
    }
    fn is_retransmission(&self) -> bool {
        self.retransmission
    }
    fn is_data(&self) -> bool {
        self.data
    }
    fn sequence(&self) -> u64 {
        self.sequence
    }
    fn weight(&self) -> f64 {
        self.weight
    }
    fn pure_ack(&self) -> Option<PureAck> {
        self.ack
    }
}

/// All reports of a discipline, in order.
#[derive(Clone, Debug)]
pub struct Log<P> {
    pub dropped: Vec<(P, Place, DropReason)>,
    /// Each mark, with a copy of the packet right after the mark.
    pub marked: Vec<(P, MarkReason)>,
    pub requests: Vec<(P, Request)>,
    pub notes: Vec<(ProbeId, u32, f64)>,
}

impl<P> Default for Log<P> {
    fn default() -> Self {
        Log {
            dropped: vec![],
            marked: vec![],
            requests: vec![],
            notes: vec![],
        }
    }
}

impl<P: Clone> Out<P> for Log<P> {
    fn dropped(&mut self, p: P, place: Place, why: DropReason) {
        self.dropped.push((p, place, why));
    }
    fn marked(&mut self, p: &P, why: MarkReason) {
        self.marked.push((p.clone(), why));
    }
    fn request(&mut self, about: &P, r: Request) {
        self.requests.push((about.clone(), r));
    }
    fn note(&mut self, probe: ProbeId, index: u32, value: f64) {
        self.notes.push((probe, index, value));
    }
}

impl Log<TestPacket> {
    /// The identities of the packets dropped for this reason, in order.
    pub fn drops(&self, why: DropReason) -> Vec<u64> {
        self.dropped
            .iter()
            .filter(|(_, _, w)| *w == why)
            .map(|(p, _, _)| p.id)
            .collect()
    }

    /// The identities of the packets marked for this reason, in order.
    pub fn marks(&self, why: MarkReason) -> Vec<u64> {
        self.marked
            .iter()
            .filter(|(_, w)| *w == why)
            .map(|(p, _)| p.id)
            .collect()
    }
}

/// A discipline with a clock, a line that the test operates, and a log.
///
/// ```
/// use tailback_base::{DropReason, Size};
/// use tailback_queue::fifo::{DropTail, Fifo};
/// use tailback_queue::testing::{Bench, TestPacket};
///
/// let mut bench = Bench::new(Fifo::new(Size::Packets(1), DropTail));
/// bench.arrive(TestPacket::new(1, 0, 1500));
/// bench.arrive(TestPacket::new(2, 0, 1500));
/// assert_eq!(bench.log.drops(DropReason::Overflow), [2]);
/// assert_eq!(bench.serve(), Some(1));
/// ```
pub struct Bench<D> {
    pub by_hand: ByHand<D>,
    pub log: Log<TestPacket>,
}

/// Clock, line and discipline are those of [`ByHand`].
impl<D> Deref for Bench<D> {
    type Target = ByHand<D>;
    fn deref(&self) -> &ByHand<D> {
        &self.by_hand
    }
}

impl<D> DerefMut for Bench<D> {
    fn deref_mut(&mut self) -> &mut ByHand<D> {
        &mut self.by_hand
    }
}

impl<D: QueueDiscipline<TestPacket>> Bench<D> {
    /// A bench at time zero, with an idle line of 1 Mbit/s.
    pub fn new(queue: D) -> Bench<D> {
        Bench {
            by_hand: ByHand::new(queue, BitRate(1_000_000)),
            log: Log::default(),
        }
    }

    /// Let the time `d` pass. Timers of the discipline that become due run, each at its instant.
    pub fn pass(&mut self, d: Duration) {
        self.until(self.now + d);
    }

    /// Let time pass until `t`. Timers of the discipline that become due run, each at its instant.
    pub fn until(&mut self, t: Time) {
        while self.by_hand.to_next_timer(t) {
            let line = self.line();
            self.by_hand.queue.on_timer(&line, &mut self.log);
        }
    }

    pub fn arrive(&mut self, p: TestPacket) {
        let line = self.line();
        self.by_hand.queue.enqueue(p, &line, &mut self.log);
    }

    /// Let this number of packets of a flow with this weight arrive, numbered from 0.
    pub fn fill(&mut self, flow: u32, weight: f64, bytes: u32, packets: u64) {
        for id in 0..packets {
            self.arrive(TestPacket {
                weight,
                ..TestPacket::new(id, flow, bytes)
            });
        }
    }

    /// Take at most this number of packets, as a free line does, and return their flows.
    pub fn flows(&mut self, packets: usize) -> Vec<u32> {
        (0..packets).filter_map(|_| self.take()).map(|p| p.flow).collect()
    }

    /// Take the next packet, as a free line does; `None` for `Empty` and `Wait`.
    pub fn take(&mut self) -> Option<TestPacket> {
        let line = Line {
            busy: None,
            ..self.line()
        };
        match self.by_hand.queue.dequeue(&line, &mut self.log) {
            Service::Send(p) => Some(p),
            Service::Wait(_) | Service::Empty => None,
        }
    }

    /// Take the next packet and return its identity.
    pub fn serve(&mut self) -> Option<u64> {
        self.take().map(|p| p.id)
    }

    /// Serve until no packet is left, and return the identities in order.
    pub fn drain(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.serve()).collect()
    }

    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The value of the probe with this name. Panics if the discipline has no such probe.
    pub fn probe(&self, name: &str, index: u32) -> f64 {
        let i = self
            .queue
            .probes()
            .iter()
            .position(|d| d.name == name)
            .unwrap_or_else(|| panic!("no probe {name}"));
        self.queue.read(ProbeId(i as u16), index)
    }
}

/// A discipline as a registry builds it.
pub type Queue = Box<dyn QueueDiscipline<TestPacket>>;

/// A discipline before a line, with three kinds of senders: with a fixed window, with Poisson arrivals, and with a
/// constant rate.
///
/// At one instant, departures come before arrivals, and arrivals come in the order in which they were scheduled.
pub struct ClosedLoop {
    server: Server<TestPacket>,
    pub log: Log<TestPacket>,
    /// For each flow, the time from the arrival of each packet to the end of its transmission.
    pub delays: Vec<Vec<Duration>>,
    sources: Vec<Source>,
    events: BTreeMap<(Time, u64), u32>,
    made: u64,
    /// The packet on the line, and the end of its transmission.
    wire: Option<(Time, TestPacket)>,
}

struct Source {
    bytes: u32,
    weight: f64,
    /// For a sender with a window, the time from the transmission of a packet until it arrives again.
    back: Option<Duration>,
    gaps: Option<Gaps>,
}

enum Gaps {
    /// Gaps with this mean, in seconds.
    Exponential(Stream, f64),
    Equal(Duration),
}

impl ClosedLoop {
    pub fn new(queue: Queue, rate: BitRate) -> ClosedLoop {
        ClosedLoop {
            server: Server::new(queue, rate),
            log: Log::default(),
            delays: vec![],
            sources: vec![],
            events: BTreeMap::new(),
            made: 0,
            wire: None,
        }
    }

    pub fn queue(&self) -> &Queue {
        &self.server.queue
    }

    fn source(&mut self, s: Source) -> u32 {
        self.sources.push(s);
        self.delays.push(vec![]);
        (self.sources.len() - 1) as u32
    }

    fn arrives(&mut self, at: Time, flow: u32) {
        self.made += 1;
        self.events.insert((at, self.made), flow);
    }

    /// Add a flow with a window of `packets` packets of `bytes` bytes. Each packet arrives again this time after it was
    /// sent. Returns the number of the flow.
    pub fn window(&mut self, packets: u32, bytes: u32, back: Duration) -> u32 {
        let flow = self.source(Source {
            bytes,
            weight: 1.0,
            back: Some(back),
            gaps: None,
        });
        for _ in 0..packets {
            self.arrives(Time::ZERO, flow);
        }
        flow
    }

    /// Add a flow of packets with exponential gaps of this mean, seconds. Returns the number of the flow.
    pub fn poisson(&mut self, bytes: u32, mean: f64) -> u32 {
        let name = format!("poisson.{}", self.sources.len());
        let mut stream = Stream::new(1, &name);
        let first_arrival = Time::from_seconds(stream.exponential(mean));
        let flow = self.source(Source {
            bytes,
            weight: 1.0,
            back: None,
            gaps: Some(Gaps::Exponential(stream, mean)),
        });
        self.arrives(first_arrival, flow);
        flow
    }

    /// Add a flow of packets with equal gaps, the first at `first`. Returns the number of the flow.
    pub fn constant(&mut self, bytes: u32, gap: Duration, first: Duration) -> u32 {
        let flow = self.source(Source {
            bytes,
            weight: 1.0,
            back: None,
            gaps: Some(Gaps::Equal(gap)),
        });
        self.arrives(Time::ZERO + first, flow);
        flow
    }

    /// Set the weight of a flow, which is 1 by default.
    pub fn weigh(&mut self, flow: u32, weight: f64) {
        self.sources[flow as usize].weight = weight;
    }

    /// Run until this time.
    pub fn run(&mut self, until: Duration) {
        loop {
            let arrival = self.events.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
            let server = self.server.next().unwrap_or(Time::NEVER);
            let now = arrival.min(server);
            if now > Time::ZERO + until {
                return;
            }
            let transmission = if server <= arrival {
                if self.wire.is_some_and(|w| w.0 == now) {
                    self.departs(now);
                }
                self.server.advance(now, &mut self.log).and_then(|(_, sent)| sent)
            } else {
                match self.events.pop_first() {
                    Some((_, flow)) => self.enters(now, flow),
                    None => return,
                }
            };
            if let Some(transmission) = transmission {
                self.wire = Some((transmission.end, transmission.packet));
            }
        }
    }

    fn departs(&mut self, now: Time) {
        let Some((_, p)) = self.wire.take() else { return };
        self.delays[p.flow as usize].push(now.since(p.stamp));
        if let Some(back) = self.sources[p.flow as usize].back {
            self.arrives(now + back, p.flow);
        }
    }

    fn enters(&mut self, now: Time, flow: u32) -> Option<Sent<TestPacket>> {
        let s = &mut self.sources[flow as usize];
        let p = TestPacket {
            weight: s.weight,
            ..TestPacket::new(self.made, flow, s.bytes).capable()
        };
        if let Some(gaps) = &mut s.gaps {
            let gap = match gaps {
                Gaps::Exponential(stream, mean) => Duration::from_seconds(stream.exponential(*mean)),
                Gaps::Equal(gap) => *gap,
            };
            self.arrives(now + gap, flow);
        }
        self.server.arrive(p, now, &mut self.log)
    }

    /// The mean delay of a flow, seconds.
    pub fn mean_delay(&self, flow: u32) -> f64 {
        let d = &self.delays[flow as usize];
        d.iter().map(|d| d.seconds()).sum::<f64>() / d.len() as f64
    }
}
