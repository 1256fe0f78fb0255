//! Heavy flows lose first: when the buffer is full, an arriving packet of a flow that sends much is refused. For an
//! arriving packet of another flow, the longest queue loses a packet.
//!
//! Policies by queue cannot distinguish the flows of one queue. If there are fewer queues than flows, a light flow that
//! shares a queue with a heavy one loses packets too. Here counters that all flows share ([`MultistageFilter`]) show
//! which flows have sent more than a share of the line in the present interval, without a table of flows. A flow that
//! sends little is never refused, unless its estimate is too large.
//!
//! ```text
//! an arrival   counts its bytes for its flow; the flow is heavy from heavy_share * rate * interval on
//! it does not fit   its flow is heavy: refuse it (overflow); else the longest queue loses its front packet
//! interval     all counters start from 0
//! ```
//!
//! State: the counters; an index of the queue lengths. A packet costs the update of one counter in each stage, and of
//! the index of [`longest`].
//!
//! From: C. Estan and G. Varghese, SIGCOMM 2002, for the counters, which A. Kantawala and J. S. Turner, WUCSE-2005-11,
//! name among related work. The treatment of heavy flows is our choice; the paper only counts their traffic.

use crate::contract::discipline::DropReason;
use crate::pieces::drop::longest::{self, Longest};
use crate::pieces::drop::{DropPolicy, Eviction, PolicyEntry, Scene};
use crate::pieces::index::heavy_flows::{MultistageFilter, Update};
use crate::pieces::index::length_index::TIE;
use crate::pieces::store::QueueId;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, Size, Stream, Time, params};

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "heavy-flows",
    family: "policy",
    title: "Heavy flows lose first",
    summary: "When the buffer is full, an arriving packet of a flow that has sent much is refused; for other arrivals \
              the longest queue loses its front packet.",
    source: "Estan and Varghese, SIGCOMM 2002",
    params: PARAMS,
    probes: PROBES,
};

params! {
    const PARAMS;

    TIE;
    pub FLOW_KEY: KeyField = Key::new("flow_key", Kind::Choice(&["destination", "source", "pair", "tuple", "label"]),
        "tuple",
        "What distinguishes flows: the five-tuple, destination host, source host, both, or the destination label.",
        "Estan and Varghese 2002");
    pub STAGES: u64 = Key::new("stages", Kind::Count { min: 1, max: 16 }, "4",
        "How many counters each flow has.", "Estan and Varghese 2002");
    pub COUNTERS: u64 = Key::new("counters", Kind::Count { min: 1, max: 10_000_000 }, "1000",
        "How many counters each stage has.", "tailback");
    pub UPDATE: Update = Key::choice("update", "conservative",
        "Which counters a packet raises. Let s be the smallest counter of its flow plus the packet's bytes: only the \
         counters below s, which become s; or all counters of its flow, by its bytes.",
        "Estan and Varghese 2002");
    pub HEAVY_SHARE: f64 = Key::new("heavy_share", Kind::Real { min: 1e-6, max: 10.0 }, "0.01",
        "A flow is heavy if it sends at least this share of what the line carries in an interval.",
        "Estan and Varghese 2002: a share such as 0.1 % or 1 % of the link");
    pub INTERVAL: Duration = Key::new("interval", Kind::Time { min: 1e-3, max: 1e4 }, "5s",
        "After this time all counters start from 0.", "Estan and Varghese 2002");
}

/// The number of packets whose flow was classified as heavy.
pub const HEAVY_PACKETS: ProbeDef = ProbeDef {
    name: "heavy_packets",
    unit: "packets",
    doc: "Arrivals so far of flows that were found to be heavy.",
    per: "",
};

const PROBES: &[ProbeDef] = &[HEAVY_PACKETS];

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, buffer, context| Ok(Box::new(HeavyFirst::from_settings(s, buffer, context.stream)?)),
    }
}

/// The policy that refuses packets of heavy flows when the buffer is full.
#[derive(Debug)]
pub struct HeavyFirst {
    key: KeyField,
    filter: MultistageFilter,
    share: f64,
    interval: Duration,
    ends: Time,
    heavy: u64,
    others: Longest,
}

impl HeavyFirst {
    /// The policy with these settings of the model, for this buffer.
    ///
    /// # Errors
    /// A tie that is not known.
    pub fn from_settings(s: &Settings, buffer: Size, mut stream: Stream) -> Result<HeavyFirst, Refusal> {
        let (stages, counters) = (s.get(&STAGES) as u32, s.get(&COUNTERS) as u32);
        Ok(HeavyFirst {
            key: s.get(&FLOW_KEY),
            filter: MultistageFilter::new(stages, counters, s.get(&UPDATE), &mut stream),
            share: s.get(&HEAVY_SHARE),
            interval: s.get(&INTERVAL),
            ends: Time::ZERO + s.get(&INTERVAL),
            heavy: 0,
            others: longest::build(s, buffer, stream)?,
        })
    }
}

impl<P: Packet> DropPolicy<P> for HeavyFirst {
    fn refuse(&mut self, _q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        let sent_bytes = self.filter.count(p.key(self.key), p.bytes());
        let limit = self.share * scene.line.rate.0 as f64 / 8.0 * self.interval.seconds();
        let heavy = sent_bytes as f64 >= limit;
        self.heavy += u64::from(heavy);
        let full = !scene.store.fits(scene.store.cost(p));
        (heavy && full).then_some(DropReason::Overflow)
    }

    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<P>) -> Option<Eviction> {
        self.others.evict(newcomer, scene)
    }

    fn after_append(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        self.others.after_append(q, p, scene);
    }

    fn after_service(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        self.others.after_service(q, p, scene);
    }

    fn after_evict(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) {
        self.others.after_evict(q, p, scene);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ends)
    }

    fn on_timer(&mut self, scene: &mut Scene<P>) {
        self.ends = scene.line.now + self.interval;
        self.filter.clear();
    }

    fn probes(&self) -> &'static [ProbeDef] {
        PROBES
    }

    fn read(&self, _probe: usize, _index: u32) -> f64 {
        self.heavy as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::pieces::classify::per_flow::Even;
    use crate::pieces::index::length_index::Tie;
    use crate::pieces::port::Port;
    use crate::pieces::schedule::round_robin::RoundRobin;
    use crate::pieces::store::Unit;

    /// A port with one queue for all flows, a buffer of 10 packets and a line of 1 Mb/s.
    fn bench<D: DropPolicy<TestPacket>>(policy: D) -> Bench<Port<TestPacket, Even, RoundRobin, D>> {
        let port = Port::new(Size::Packets(10), Even::new(1), RoundRobin::default(), policy);
        Bench::new(port.declaring(PROBES))
    }

    /// A policy for which a flow is heavy if it sends at least 1250 B in 100 ms.
    fn heavy() -> HeavyFirst {
        let s = Settings::defaults(&MODEL)
            .with("heavy_share", "0.1")
            .with("interval", "100ms");
        HeavyFirst::from_settings(&s, Size::Packets(10), Stream::new(1, "test")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The packets that are lost if flow 0 has filled the single queue, and then a packet of flow 1 and one of flow 0
    /// arrive.
    fn lost<D: DropPolicy<TestPacket>>(policy: D) -> Vec<u64> {
        let mut b = bench(policy);
        (0..10).for_each(|id| b.arrive(TestPacket::new(id, 0, 500)));
        b.arrive(TestPacket::new(10, 1, 500));
        b.arrive(TestPacket::new(11, 0, 500));
        b.log.dropped.iter().map(|d| d.0.id).collect()
    }

    /// The packet of flow 1 takes the place of the first packet, and the packet of flow 0 is refused. Longest-queue
    /// drop would store the packet of flow 0.
    #[test]
    fn a_heavy_flow_is_refused_and_a_light_one_is_not() {
        assert_eq!(lost(heavy()), [0, 11]);
        assert_eq!(
            lost(Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"))),
            [0, 1]
        );
    }

    /// From its third packet of 500 B on, the flow is heavy. After the interval it is light again.
    #[test]
    fn an_interval_forgets() {
        let mut b = bench(heavy());
        (0..10).for_each(|id| b.arrive(TestPacket::new(id, 0, 500)));
        assert_eq!(b.probe("heavy_packets", 0), 8.0);
        b.pass(Duration::from_millis(101));
        b.arrive(TestPacket::new(10, 0, 500));
        assert_eq!(b.probe("heavy_packets", 0), 8.0);
        let ids: Vec<u64> = b.log.dropped.iter().map(|d| d.0.id).collect();
        assert_eq!(ids, [0], "it takes the place of the first");
    }

    /// While the buffer is not full, no packet is refused.
    #[test]
    fn room_is_for_all() {
        let mut b = bench(heavy());
        (0..10).for_each(|id| b.arrive(TestPacket::new(id, 0, 500)));
        b.take();
        b.arrive(TestPacket::new(10, 0, 500));
        assert!(b.log.dropped.is_empty());
    }
}
