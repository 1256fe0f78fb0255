//! Queues by hash, in sets: if two flows hash to the same queue, the second takes the next free queue of the set.
//!
//! With a plain hash of n flows to K queues, many flows share a queue although most queues are free: on average 4.7 of
//! 100 flows on 1024 queues. Here the queues are grouped in sets of `ways`. A flow first gets the queue of its set that
//! has its tag. If no queue has its tag, the flow gets the first queue, from the hashed one on, that is not in use, and
//! this queue gets its tag. Only if all queues of the set are in use does the flow share the hashed queue (a
//! collision). A processor's cache finds its lines in the same way. A collision may cause reordering: the flow may
//! later get its own queue while it still has packets in the shared one, and these packets are overtaken.
//!
//! From: T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", LANMAN 2018, section III-B.
//!
//! State: the tag of each queue (8 bytes) and its number of packets. Four counts say how often a packet found its queue
//! at once, found it elsewhere in its set, got a free queue, or shared a queue. A packet costs a hash, and the
//! comparison of up to two times `ways` tags.

use crate::pieces::classify::Classifier;
use crate::pieces::classify::hash::{Hashed, mix};
use crate::pieces::store::{PerQueue, QueueId};
use tailback_base::quantity::Refusal;
use tailback_base::{Key, KeyField, Kind, Packet, ProbeDef, Stream, Time, params};

params! {
    /// The size of a set.
    pub WAYS: u32 = Key::new("ways", Kind::Count { min: 1, max: 1024 }, "8",
        "How many queues make a set, for mapper \"hash_sets\".", "Linux cake");
    /// The size of a set, for disciplines that hash without sets by default.
    pub WAYS_OR_NONE: Option<u32> = Key::new(WAYS.param.name, WAYS.param.kind, "none",
        "How many queues make a set. A flow whose queue has another flow takes a free queue of its set. Default: a \
         plain hash without sets.",
        "8 in Linux cake, and in ns-3 where it is asked for");
}

/// The counts of how packets found their queues.
pub const COUNTS: [ProbeDef; 4] = [
    count("hash_direct", "Packets of flows that had the hashed queue."),
    count("hash_hits", "Packets of flows that had another queue of their set."),
    count("hash_misses", "Packets of flows that were given a free queue."),
    count(
        "hash_collisions",
        "Packets of flows that had to share the hashed queue with another flow.",
    ),
];

const fn count(name: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit: "packets",
        doc,
        per: "",
    }
}

/// How a packet found its queue, in the order of [`COUNTS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Direct,
    Hit,
    Miss,
    Collision,
}

/// The tags of all queues.
#[derive(Clone, Debug)]
pub struct Sets {
    hash: Hashed,
    seed: u64,
    ways: u32,
    /// The tag of each queue; `None` until the queue has been used.
    tags: Vec<Option<u64>>,
    counts: [u64; 4],
}

impl Sets {
    /// The sets of `queues` queues, which is a multiple of `ways`.
    pub fn new(key: KeyField, queues: u32, ways: u32, seed: u64) -> Sets {
        Sets {
            hash: Hashed::new(key, queues, seed),
            seed,
            ways: ways.max(1),
            tags: vec![None; queues.max(1) as usize],
            counts: [0; 4],
        }
    }

    /// The queue for this key, and how it was found. `in_use` says which queues are occupied.
    pub fn find(&mut self, key: u64, in_use: impl Fn(QueueId) -> bool) -> (QueueId, Found) {
        let tag = Some(mix(key) ^ self.seed);
        let hashed = self.hash.queue(key);
        let (base, first) = (hashed - hashed % self.ways, hashed % self.ways);
        let ways = self.ways;
        let around = (0..ways).map(|i| base + (first + i) % ways);
        let (q, outcome) = match around.clone().find(|q| self.tags[*q as usize] == tag) {
            Some(q) if q == hashed => (q, Found::Direct),
            Some(q) => (q, Found::Hit),
            None => match around.into_iter().find(|q| !in_use(*q)) {
                Some(q) => (q, Found::Miss),
                None => (hashed, Found::Collision),
            },
        };
        self.tags[q as usize] = tag;
        self.counts[outcome as usize] += 1;
        (q, outcome)
    }

    /// The value of one of [`COUNTS`].
    pub fn count(&self, found: usize) -> f64 {
        self.counts.get(found).map_or(f64::NAN, |n| *n as f64)
    }
}

/// The mapper: sets of queues. A queue is in use while it has packets.
#[derive(Clone, Debug)]
pub struct HashSets {
    key: KeyField,
    sets: Sets,
    queues: u32,
    packets: PerQueue<u32>,
}

impl HashSets {
    pub fn new(key: KeyField, queues: u32, ways: u32, seed: u64) -> HashSets {
        HashSets {
            key,
            sets: Sets::new(key, queues, ways, seed),
            queues,
            packets: PerQueue::default(),
        }
    }

    /// A mapper whose queues form whole sets.
    ///
    /// # Errors
    /// The queues do not form whole sets.
    pub fn whole(key: KeyField, queues: u32, ways: u32, stream: &mut Stream) -> Result<HashSets, Refusal> {
        if !queues.is_multiple_of(ways) {
            return Err(Refusal::new(
                format!("queues = {queues} is not a multiple of ways = {ways}"),
                format!("give queues = {}, or other ways", queues.next_multiple_of(ways)),
            ));
        }
        Ok(HashSets::new(key, queues, ways, stream.bits()))
    }

    fn gone(&mut self, q: QueueId) {
        let packets = self.packets.at(q);
        *packets = packets.saturating_sub(1);
    }
}

impl<P: Packet> Classifier<P> for HashSets {
    fn queue_of(&mut self, p: &P, _now: Time) -> QueueId {
        let (q, _) = self.sets.find(p.key(self.key), |q| self.packets.get(q) > 0);
        *self.packets.at(q) += 1;
        q
    }

    fn queues(&self) -> Option<u32> {
        Some(self.queues)
    }

    fn refused(&mut self, _p: &P, q: QueueId, _now: Time) {
        self.gone(q);
    }

    fn left(&mut self, _p: &P, q: QueueId, _now: Time) {
        self.gone(q);
    }

    fn probes(&self) -> &'static [ProbeDef] {
        &COUNTS
    }

    fn read(&self, probe: usize, _index: u32) -> f64 {
        self.sets.count(probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;
    use std::collections::HashSet;

    /// Keys whose hashed queues are in this set.
    fn keys_of_set(sets: &Sets, set: u32, n: usize) -> Vec<u64> {
        (0..)
            .filter(|k| sets.hash.queue(*k) / sets.ways == set)
            .take(n)
            .collect()
    }

    #[test]
    fn the_ninth_flow_of_a_set_shares() {
        let mut h = HashSets::new(KeyField::Tuple, 1024, 8, 7);
        let keys = keys_of_set(&h.sets, 5, 9);
        let packet = |k: u64| TestPacket::new(0, k as u32, 1000);
        let queues: Vec<QueueId> = keys.iter().map(|k| h.queue_of(&packet(*k), Time::ZERO)).collect();
        assert_eq!(h.sets.counts, [0, 0, 8, 1]);
        let own: HashSet<_> = queues[..8].iter().collect();
        assert_eq!(own.len(), 8, "eight queues for eight flows");
        assert_eq!(queues[8], h.sets.hash.queue(keys[8]), "the ninth shares the hashed one");
        // The tag of this queue is now that of the ninth flow. The previous owner gets another private queue only if
        // one is free.
        let loser = queues.iter().position(|q| *q == queues[8]).unwrap();
        h.queue_of(&packet(keys[8]), Time::ZERO);
        assert_eq!(h.sets.counts, [1, 0, 8, 1]);
        let freed = (loser + 1) % 8;
        h.left(&packet(keys[freed]), queues[freed], Time::ZERO);
        let again = h.queue_of(&packet(keys[loser]), Time::ZERO);
        assert_eq!((again, h.sets.counts), (queues[freed], [1, 0, 9, 1]));
    }

    /// A flow keeps its queue while the queue is empty, unless another flow has taken it.
    #[test]
    fn a_tag_outlives_the_packets() {
        let mut h = HashSets::new(KeyField::Tuple, 64, 8, 3);
        let p = TestPacket::new(0, 11, 1000);
        let q = h.queue_of(&p, Time::ZERO);
        h.left(&p, q, Time::ZERO);
        assert_eq!(h.queue_of(&p, Time::ZERO), q);
        assert_eq!(h.sets.counts, [1, 0, 1, 0]);
    }

    /// The mean number of permanent flows on 1024 queues that share a queue. With a plain hash it is 4.7 of 100 flows
    /// and 68.7 of 400; with 8 ways it is 0 and 0.85.
    #[test]
    fn sets_keep_flows_apart() {
        let runs = 400;
        for (flows, ways, expected, within) in [
            (100, 1, 4.67, 0.3),
            (400, 1, 68.7, 1.0),
            (100, 8, 0.0, 0.02),
            (400, 8, 0.85, 0.2),
        ] {
            let shared: u64 = (0..runs)
                .map(|seed| {
                    let mut sets = Sets::new(KeyField::Tuple, 1024, ways, mix(seed));
                    let mut used = HashSet::new();
                    for key in 0..flows {
                        let (q, _) = sets.find(key, |q| used.contains(&q));
                        used.insert(q);
                    }
                    flows - used.len() as u64
                })
                .sum();
            let mean = shared as f64 / runs as f64;
            assert!((mean - expected).abs() < within, "{flows} flows, {ways} ways: {mean}");
        }
    }

    #[test]
    fn queues_make_whole_sets() {
        let e = HashSets::whole(KeyField::Tuple, 20, 8, &mut Stream::new(1, "")).unwrap_err();
        assert!(e.remedy.contains("24"), "{e}");
    }
}
