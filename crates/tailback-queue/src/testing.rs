//! A packet and a log for tests: of this crate, and of your own disciplines.
//!
//! [`TestPacket`] is a small `Copy` packet with an identity (`id`), so that a test can say which packet left and how.
//! [`Log`] is an [`Out`] that keeps everything a discipline reported. [`Bench`] puts both around a discipline, with a
//! clock and a line, so that a test reads as a dialogue:
//!
//! ```
//! use tailback_base::{BitRate, Settings, Stream};
//! use tailback_queue::{DropReason, registry, testing::{Bench, TestPacket}};
//!
//! let model = registry::find("droptail").unwrap();
//! let settings = Settings::defaults(model).with("buffer", "2 packets");
//! let place = registry::Place { stream: Stream::new(1, "test"), rate: BitRate(1_000_000) };
//! let mut bench = Bench::new(registry::build::<TestPacket>(&settings, place).unwrap());
//! for id in 0..3 {
//!     bench.arrive(TestPacket::new(id, 0, 1000));
//! }
//! assert_eq!(bench.log.drops(DropReason::Overflow), [2]);
//! assert_eq!(bench.serve(), Some(0));
//! ```

use crate::discipline::{Backlog, DropReason, Line, MarkReason, OnWire, Out, Place, ProbeId, QueueDiscipline, Service};
use tailback_base::{BitRate, Dscp, Duration, Ecn, FlowId, KeyField, Packet, Request, Time};

/// A packet with an identity. Fields are public: a test sets what it needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TestPacket {
    /// Its identity; a discipline cannot see it, so it cannot change it.
    pub id: u64,
    pub flow: u32,
    /// Size on the wire, bytes.
    pub bytes: u32,
    pub ecn: Ecn,
    pub dscp: u8,
    pub stamp: Time,
    pub retransmission: bool,
    pub data: bool,
    pub sequence: u64,
    /// The destination label ([`KeyField::Label`]).
    pub label: u64,
    /// Its flow's share ([`Packet::weight`]).
    pub weight: f64,
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
    /// Every flow has its own hosts, so each key but the label is the flow.
    fn key(&self, field: KeyField) -> u64 {
        match field {
            KeyField::Label => self.label,
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
}

/// Everything a discipline reported, in order.
#[derive(Clone, Debug)]
pub struct Log<P> {
    pub dropped: Vec<(P, Place, DropReason)>,
    /// Each mark, with the packet as it was right after it.
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

/// A discipline with a clock, a line and a log around it.
pub struct Bench<D> {
    pub queue: D,
    pub now: Time,
    pub rate: BitRate,
    /// What is on the wire; only [`Bench::arrive`] and [`Bench::serve`] show it to the discipline, nothing ends it.
    pub busy: Option<OnWire>,
    pub log: Log<TestPacket>,
}

impl<D: QueueDiscipline<TestPacket>> Bench<D> {
    /// Time zero, an idle line of 1 Mbit/s.
    pub fn new(queue: D) -> Bench<D> {
        Bench {
            queue,
            now: Time::ZERO,
            rate: BitRate(1_000_000),
            busy: None,
            log: Log::default(),
        }
    }

    pub fn line(&self) -> Line {
        Line {
            now: self.now,
            rate: self.rate,
            busy: self.busy,
        }
    }

    /// Let `d` pass, running the discipline's timers that fall due, each at its instant.
    pub fn pass(&mut self, d: Duration) {
        self.until(self.now + d);
    }

    /// Let time pass until `t`, running the discipline's timers that fall due, each at its instant.
    pub fn until(&mut self, t: Time) {
        while let Some(at) = self.queue.next_timer().filter(|at| *at <= t) {
            self.now = self.now.max(at);
            let line = self.line();
            self.queue.on_timer(&line, &mut self.log);
        }
        self.now = self.now.max(t);
    }

    pub fn arrive(&mut self, p: TestPacket) {
        let line = self.line();
        self.queue.enqueue(p, &line, &mut self.log);
    }

    /// Take the next packet, as a line that is free does; `None` for `Empty` and `Wait`.
    pub fn take(&mut self) -> Option<TestPacket> {
        let line = Line {
            busy: None,
            ..self.line()
        };
        match self.queue.dequeue(&line, &mut self.log) {
            Service::Send(p) => Some(p),
            Service::Wait(_) | Service::Empty => None,
        }
    }

    /// Take the next packet and tell its identity.
    pub fn serve(&mut self) -> Option<u64> {
        self.take().map(|p| p.id)
    }

    /// Serve until nothing comes; the identities in order.
    pub fn drain(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.serve()).collect()
    }

    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// A probe by name; panics when the discipline has none of this name.
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
