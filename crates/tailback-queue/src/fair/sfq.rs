//! Stochastic fairness queueing: flows are hashed into a fixed number of buckets, which are served in turn, one packet
//! per turn.
//!
//! This is a simple form of fair queueing: it needs no state for flows, but some flows share a bucket. The scheduler is
//! in [`schedule::round_robin`](crate::pieces::schedule::round_robin), the hash in
//! [`classify::buckets`](crate::pieces::classify::buckets), the rules for a short buffer in
//! [`drop::fair_share`](crate::pieces::drop::fair_share) and [`drop::most_held`](crate::pieces::drop::most_held). A
//! turn is one packet. So flows with packets of 1500 B and 100 B share the bytes 15 to 1.

use crate::contract::build_context::BuildContext;
use crate::contract::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::linux::{Linux, Value, Word};
use crate::params::{AQM, BEFORE, FLOW_KEY};
use crate::pieces::classify::buckets::Buckets;
use crate::pieces::drop::DropPolicy;
use crate::pieces::drop::fair_share::FairShare;
use crate::pieces::drop::most_held::MostHeld;
use crate::pieces::index::length_index::Tie;
use crate::pieces::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, Port, QUEUE_BYTES, QUEUE_PACKETS};
use crate::pieces::schedule::round_robin::RoundRobin;
use crate::pieces::store::Unit;
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Packet, ProbeDef, Settings, Size, params};

tailback_base::choice! {
    /// The hash that maps a flow to its bucket.
    enum Hash {
        Salted = "salted",
        ByHosts = "ns2",
    }
}

tailback_base::choice! {
    /// The packet that is dropped at an overflow.
    enum Overflow {
        Share = "share",
        Longest = "longest",
    }
}

pub static MODEL: Model = Model {
    name: "sfq",
    family: "queue",
    title: "Stochastic fairness queueing",
    summary: "Flows are hashed into buckets that take turns, a packet a turn. Measure: each bucket's length. Function: \
              a bucket's share of the free space, or which bucket is the longest. Action: drop the arriving packet \
              (percap, overflow), or the last packet of the longest bucket (overflow); it never marks.",
    source: "McKenney, INFOCOM 1990; ns-2 SFQ",
    params: PARAMS,
    probes: &PROBES,
};

params! {
    const PARAMS;

    pub BUFFER: Size = Key::new("buffer", Kind::Size, "40 packets",
        "How much may wait in all buckets together.", "ns-2 maxqueue_");
    BUCKETS: u64 = Key::new("buckets", Kind::Count { min: 1, max: 1_000_000 }, "16",
        "How many buckets there are.", "ns-2 buckets_");
    HASH: Hash = Key::choice("hash", "salted",
        "How the bucket of a packet is found: by a salted hash of flow_key, or by ns-2's hash of the sum of the two \
         hosts' numbers.",
        "McKenney 1990; ns-2");
    FLOW_KEY;
    PERTURB: Duration = Key::new("perturb", Kind::Time { min: 0.0, max: 1e6 }, "0s",
        "Time between changes of the salt of the hash; packets that wait stay where they are. With 0s the salt never \
         changes.",
        "McKenney 1990; never in ns-2");
    OVERFLOW: Overflow = Key::choice("overflow", "share",
        "Which packet is dropped: one that arrives at a bucket which has its share of the free space, or the last \
         packet of the longest bucket when the buffer is full.", "share: ns-2; longest: McKenney 1990");
    AQM;
    BEFORE;
}

const PROBES: [ProbeDef; 5] = [BACKLOGGED, QUEUE_PACKETS, QUEUE_BYTES, EVICTED_BYTES, EVICTED_SHARE];

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            also: const { &[Alias::ns2("SFQ")] },
            overtakes: &["perturb"],
            linux: Some(&LINUX),
            ..Facts::SEVERAL_QUEUES
        },
    }
}

static LINUX: Linux = Linux {
    differs: "Linux's sfq has other buckets, and drops from the longest queue.",
    note: "Its limit is 127 packets by default. tc-sfq(8) advises a new hash each minute: perturb 60.",
    ..Linux::new(
        "sfq",
        &[
            Word::new("buffer", "limit", Value::Packets, "127 packets"),
            Word::new("buckets", "divisor", Value::PowerOfTwo, "1024").most(65_536),
            Word::new("perturb", "perturb", Value::Seconds, "0s"),
        ],
    )
};

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let (buffer, buckets) = (s.get(&BUFFER), buckets(s, context)?);
    Ok(match s.get(&OVERFLOW) {
        Overflow::Longest => port(s, buckets, MostHeld::new(Unit::of(buffer), Tie::Fifo), true),
        Overflow::Share => port(s, buckets, FairShare::new(buffer).map_err(or_longest)?, false),
    })
}

fn or_longest(e: Refusal) -> Refusal {
    Refusal::new(e.problem, "give the buffer in packets, or overflow = \"longest\"")
}

fn port<P: Packet + 'static>(
    s: &Settings,
    buckets: Buckets,
    policy: impl DropPolicy<P> + 'static,
    count_newcomer: bool,
) -> Box<dyn QueueDiscipline<P>> {
    let port = Port::new(s.get(&BUFFER), buckets, RoundRobin::default(), policy);
    let port = port.changing(s, |_| false).counting_newcomer(count_newcomer);
    Box::new(port.declaring(&PROBES))
}

fn buckets(s: &Settings, context: BuildContext) -> Result<Buckets, Refusal> {
    let (count, perturb) = (s.get(&BUCKETS) as u32, s.get(&PERTURB));
    if s.get(&HASH) == Hash::Salted {
        let key = s.get(&FLOW_KEY);
        return Ok(Buckets::salted(key, count, perturb, context.stream));
    }
    let unused = match (s.gives(&FLOW_KEY), perturb > Duration::ZERO) {
        (true, _) => Some(FLOW_KEY.name),
        (_, true) => Some("perturb"),
        _ => None,
    };
    match unused {
        Some(unused) => Err(Refusal::new(
            format!("hash = \"ns2\" adds the numbers of the hosts and has no use for {unused}"),
            format!("leave {unused} out, or give hash = \"salted\""),
        )),
        None => Ok(Buckets::by_sum_of_hosts(count, context.stream)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::{DropReason, Place};
    use crate::contract::testing::{Bench, Queue, TestPacket};
    use tailback_base::{BitRate, Stream};

    fn settings(with: &[(&str, &str)]) -> Settings {
        with.iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
    }

    fn try_build(with: &[(&str, &str)]) -> Result<Queue, Refusal> {
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        build(&settings(with), context)
    }

    fn bench(with: &[(&str, &str)]) -> Bench<Queue> {
        Bench::new(try_build(with).unwrap_or_else(|e| panic!("{e}")))
    }

    /// With ns-2's hash, both hosts of a flow have the same number n, so the bucket of the flow is 2n - 1 for sums
    /// below 16.
    #[test]
    fn buckets_take_turns_and_have_their_shares() {
        let mut b = bench(&[("hash", "ns2"), ("buckets", "8")]);
        for id in 0..200 {
            b.arrive(TestPacket::new(
                id,
                1 + id as u32 % 3,
                if id % 3 == 0 { 1500 } else { 100 },
            ));
        }
        // The sums 2, 4 and 6 give the buckets 1, 3 and 5. Each bucket stores eight packets, and they are served in
        // turn, whatever their sizes.
        assert_eq!(b.backlog().packets, 24);
        let flows: Vec<u32> = std::iter::from_fn(|| b.take()).map(|p| p.flow).collect();
        assert_eq!(flows, [1, 2, 3].repeat(8));
        assert!(
            b.log
                .dropped
                .iter()
                .all(|d| d.1 == Place::Arriving && d.2 == DropReason::Percap)
        );
    }

    /// The last packet of the longest bucket is dropped. This is the arriving packet itself, if its bucket is the
    /// longest.
    #[test]
    fn with_longest_the_last_of_the_longest_goes() {
        for buffer in ["10 packets", "5000B"] {
            let mut b = bench(&[
                ("hash", "ns2"),
                ("buckets", "8"),
                ("overflow", "longest"),
                ("buffer", buffer),
            ]);
            for id in 0..10 {
                b.arrive(TestPacket::new(id, if id < 7 { 1 } else { 2 }, 500));
            }
            b.arrive(TestPacket::new(10, 2, 500));
            b.arrive(TestPacket::new(11, 1, 500));
            assert_eq!(b.log.drops(DropReason::Overflow), [6, 11], "{buffer}");
            assert_eq!(b.drain(), [0, 7, 1, 8, 2, 9, 3, 10, 4, 5]);
        }
    }

    /// A new salt may move a flow to another bucket, where its packets overtake packets that still wait in the old
    /// bucket.
    #[test]
    fn a_perturbed_flow_may_overtake_itself_once() {
        let overtakes = |perturb: &str| {
            let mut b = bench(&[("perturb", perturb), ("buffer", "1000 packets")]);
            let (mut id, mut last_ids, mut overtaken) = (0, [0; 4], 0);
            for _ in 0..200 {
                for _ in 0..40 {
                    b.arrive(TestPacket::new(id, id as u32 % 4, 500));
                    id += 1;
                }
                b.pass(Duration::from_millis(100));
                while b.backlog().packets > 20 {
                    let Some(p) = b.take() else { break };
                    overtaken += u32::from(p.id < last_ids[p.flow as usize]);
                    last_ids[p.flow as usize] = p.id;
                }
            }
            overtaken
        };
        assert_eq!(overtakes("0s"), 0);
        assert!(overtakes("1s") > 0);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (overrides, says) in [
            (&[("hash", "ns2"), ("flow_key", "pair")][..], "no use for flow_key"),
            (&[("hash", "ns2"), ("perturb", "10s")], "no use for perturb"),
            (&[("buffer", "40kB")], "counted in packets"),
        ] {
            let e = try_build(overrides).err().unwrap();
            assert!(e.problem.contains(says) && !e.remedy.is_empty(), "{e}");
        }
        assert!(try_build(&[("buffer", "40kB"), ("overflow", "longest")]).is_ok());
    }
}
