//! Fair queueing against an exact reference: rational arithmetic without limit, a search over all waiting packets, and
//! the fluid server's own account.
//!
//! The reference keeps all tags as whole numbers over one common denominator, which it multiplies by the weight served
//! whenever a division would not come out even. Time is divided into phases, each from an idle line to the next.
//!
//! * A million random packets: order of service and drops are identical, for `delta`, both charging rules, weights, on
//!   arrivals at random instants and on a grid that makes ties common; also in phases of thousands of packets.
//! * No conversation is ever behind the fluid server by a maximum packet or more.

use num_bigint::BigInt;
use num_integer::Integer;
use std::collections::VecDeque;
use tailback_base::{BitRate, Duration, Settings, Stream, Time};
use tailback_queue::BuildContext;
use tailback_queue::registry;
use tailback_queue::testing::{Log, Queue, TestPacket};
use tailback_queue::{Line, Service};

/// A byte is this many bit/s times ns.
const BYTE: u64 = 8_000_000_000;

struct Waiting {
    id: u64,
    bytes: u32,
    key: BigInt,
    before: BigInt,
}

#[derive(Default)]
struct Conversation {
    weight: u64,
    finish: BigInt,
    waiting: VecDeque<Waiting>,
    /// Which change made it hold as much as it does.
    since: u64,
    arrived: u64,
    sent: u64,
}

/// Tags are in bytes / 8e9, over `denominator`.
struct Reference {
    denominator: BigInt,
    v: BigInt,
    at: u64,
    rate: u64,
    conversations: Vec<Conversation>,
    delta: u64,
    charge: bool,
    lowest: bool,
    buffer: usize,
    changes: u64,
}

impl Reference {
    fn refine(&mut self, by: u64) {
        self.denominator *= by;
        self.v *= by;
        for c in &mut self.conversations {
            c.finish *= by;
            for p in &mut c.waiting {
                p.key *= by;
                p.before *= by;
            }
        }
    }

    /// Conversation `c` holds more or less than it did.
    fn changed(&mut self, c: usize) {
        self.changes += 1;
        self.conversations[c].since = self.changes;
    }

    fn advance(&mut self, now: u64) {
        let mut left = BigInt::from(self.rate) * (now - self.at) * &self.denominator;
        self.at = now;
        loop {
            let active = || self.conversations.iter().filter(|c| c.finish > self.v);
            let total: u64 = active().map(|c| c.weight).sum();
            let Some(near) = active().map(|c| c.finish.clone()).min() else {
                return;
            };
            let need = (&near - &self.v) * total;
            if need <= left {
                left -= need;
                self.v = near;
                continue;
            }
            let (step, rest) = left.div_rem(&BigInt::from(total));
            if rest == BigInt::ZERO {
                self.v += step;
            } else {
                self.refine(total);
                self.v += left;
            }
            return;
        }
    }

    /// A packet arrives. Gives whether the buffer overflowed, and then who was dropped.
    fn enqueue(&mut self, id: u64, c: usize, bytes: u32, now: u64) -> Option<u64> {
        self.advance(now);
        let weight = self.conversations[c].weight;
        if &self.denominator % weight != BigInt::ZERO {
            self.refine(weight);
        }
        let size = BigInt::from(bytes) * BYTE * &self.denominator / weight;
        let late = &self.v - BigInt::from(self.delta) * BYTE * &self.denominator;
        let conversation = &mut self.conversations[c];
        let before = conversation.finish.clone();
        conversation.finish = before.clone().max(self.v.clone()) + &size;
        conversation.arrived += u64::from(bytes);
        let key = before.clone().max(late) + size;
        conversation.waiting.push_back(Waiting { id, bytes, key, before });
        self.changed(c);
        let lengths = || self.conversations.iter().map(|c| c.waiting.len());
        if lengths().sum::<usize>() <= self.buffer {
            return None;
        }
        let most = lengths().max()?;
        let victim = match self.conversations[c].waiting.len() == most {
            true => c,
            false => {
                let all = self.conversations.iter().enumerate();
                let tied = all.filter(|(_, c)| c.waiting.len() == most);
                tied.min_by_key(|(i, c)| if self.lowest { *i as u64 } else { c.since })?
                    .0
            }
        };
        self.changed(victim);
        let victim = &mut self.conversations[victim];
        let dropped = victim.waiting.pop_back()?;
        victim.arrived -= u64::from(dropped.bytes);
        if !self.charge {
            victim.finish = dropped.before;
        }
        Some(dropped.id)
    }

    /// The waiting packet with the least key, ties by arrival (identities grow).
    fn dequeue(&mut self) -> Option<(u64, usize, u32)> {
        let all = self.conversations.iter().enumerate();
        let heads = all.flat_map(|(c, x)| x.waiting.iter().map(move |p| (&p.key, p.id, c)));
        let (_, id, c) = heads.min()?;
        let conversation = &mut self.conversations[c];
        let at = conversation.waiting.iter().position(|p| p.id == id)?;
        assert_eq!(at, 0, "packets of a conversation stay in order");
        let p = conversation.waiting.pop_front()?;
        conversation.sent += u64::from(p.bytes);
        self.changed(c);
        Some((id, c, p.bytes))
    }

    /// The fluid server and the line are idle: what is left of the past are differences to V, and those below -delta do
    /// not matter.
    fn forget(&mut self) {
        let v = std::mem::take(&mut self.v);
        let oldest = -(BigInt::from(self.delta) * BYTE * &self.denominator);
        let mut common = self.denominator.clone();
        for c in &mut self.conversations {
            c.finish = (&c.finish - &v).max(oldest.clone());
            common = common.gcd(&c.finish);
        }
        self.denominator /= &common;
        for c in &mut self.conversations {
            c.finish /= &common;
        }
    }

    /// Asserts that nobody is a maximum packet behind the fluid server. Of `on_line` a part has been sent.
    fn check_lag(&mut self, now: u64, longest: u32, on_line: Option<(usize, u32, u64)>) {
        self.advance(now);
        for (i, c) in self.conversations.iter().enumerate() {
            // In bytes / 8e9, times the denominator.
            let behind = (&c.finish - &self.v).max(BigInt::ZERO) * c.weight;
            let fluid = BigInt::from(c.arrived) * BYTE * &self.denominator - behind;
            let mut real = BigInt::from(c.sent) * BYTE;
            if let Some((_, bytes, since)) = on_line.filter(|x| x.0 == i) {
                real -= BigInt::from(bytes) * BYTE - BigInt::from(self.rate) * (now - since);
            }
            let lag = fluid - real * &self.denominator;
            assert!(
                lag < BigInt::from(longest) * BYTE * &self.denominator,
                "conversation {i} at {now}"
            );
        }
    }
}

struct Set {
    rate: u64,
    delta: u64,
    charge: bool,
    /// Of those that hold most the lowest number loses, not who has held so much longest.
    lowest: bool,
    weights: [u64; 6],
    /// What the queue is told of a weight of 1.
    unit: f64,
    buffer: usize,
    /// Arrivals are at multiples of this, ns.
    grid: u64,
    sizes: &'static [u32],
    /// Mean packets in a phase.
    phase: u64,
    /// Offered load within a phase.
    load: f64,
}

const PLAIN: Set = Set {
    rate: 8_000_000,
    delta: 0,
    charge: false,
    lowest: false,
    weights: [1; 6],
    unit: 1.0,
    buffer: 1_000_000,
    grid: 1,
    sizes: &[40, 500, 576, 1000, 1500],
    phase: 40,
    load: 0.95,
};

fn build(s: &Set) -> Queue {
    let settings = Settings::defaults(registry::find("fq").unwrap())
        .with("buffer", &format!("{} packets", s.buffer))
        .with("delta", &format!("{}B", s.delta))
        .with("charge_dropped", &s.charge.to_string())
        .with("tie", if s.lowest { "lowest" } else { "fifo" });
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(s.rate),
        delay: Duration::ZERO,
    };
    registry::build(&settings, context).unwrap()
}

/// Run both on the same arrivals; gives how many packets were dropped and how many overtook an earlier arrival.
fn compare(s: &Set, packets: u64, seed: u64, check_lag: bool) -> (u64, u64) {
    let mut queue = build(s);
    let mut reference = Reference {
        denominator: BigInt::from(1),
        v: BigInt::ZERO,
        at: 0,
        rate: s.rate,
        conversations: s
            .weights
            .map(|weight| Conversation {
                weight,
                ..Conversation::default()
            })
            .into(),
        delta: s.delta,
        charge: s.charge,
        lowest: s.lowest,
        buffer: s.buffer,
        changes: 0,
    };
    let mut stream = Stream::new(seed, "arrivals");
    let mut log = Log::default();
    let longest = s.sizes.iter().copied().max().unwrap();
    let mean = s.sizes.iter().map(|b| u64::from(*b)).sum::<u64>() / s.sizes.len() as u64;
    let gap = (mean * BYTE) as f64 / s.rate as f64 / s.load;
    let (mut id, mut now, mut dropped, mut overtaken, mut latest) = (0, 0, 0, 0, 0);
    let mut on_line: Option<(usize, u32, u64, u64)> = None;
    while id < packets {
        // A phase: arrivals, then silence until everything, also what was charged in vain, is over.
        let arrivals = 1 + stream.below(2 * s.phase);
        let (mut at, mut bytes) = (now, 0);
        let mut burst = 0;
        for _ in 0..arrivals {
            // Now and then several packets at one instant, or of one conversation.
            if burst == 0 {
                burst = stream.below(4);
                at += (stream.exponential(gap * 2.5) / s.grid as f64).round() as u64 * s.grid;
            } else {
                burst -= 1;
            }
            let until = |x: &Option<(usize, u32, u64, u64)>| x.map(|x| x.3).filter(|t| *t <= at);
            while let Some(t) = until(&on_line) {
                now = t;
                on_line = None;
                serve(
                    s,
                    &mut queue,
                    &mut reference,
                    &mut log,
                    &mut on_line,
                    now,
                    &mut latest,
                    &mut overtaken,
                );
                if check_lag {
                    reference.check_lag(now, longest, on_line.map(|x| (x.0, x.1, x.2)));
                }
            }
            now = at;
            // The queue numbers conversations as they appear.
            let c = if id < 6 { id as usize } else { stream.below(6) as usize };
            let size = s.sizes[stream.below(s.sizes.len() as u64) as usize];
            bytes += u64::from(size);
            let line = Line {
                now: Time(now),
                rate: BitRate(s.rate),
                busy: None,
            };
            let p = TestPacket {
                weight: s.weights[c] as f64 * s.unit,
                ..TestPacket::new(id, c as u32, size)
            };
            queue.enqueue(p, &line, &mut log);
            let expected = reference.enqueue(id, c, size, now);
            let gone: Vec<_> = log.dropped.drain(..).map(|d| d.0.id).collect();
            assert_eq!(gone, Vec::from_iter(expected), "drops at {now}, packet {id}");
            dropped += u64::from(expected.is_some());
            if on_line.is_none() {
                serve(
                    s,
                    &mut queue,
                    &mut reference,
                    &mut log,
                    &mut on_line,
                    now,
                    &mut latest,
                    &mut overtaken,
                );
            }
            if check_lag {
                reference.check_lag(now, longest, on_line.map(|x| (x.0, x.1, x.2)));
            }
            id += 1;
        }
        while let Some((_, _, _, t)) = on_line.take() {
            now = t;
            serve(
                s,
                &mut queue,
                &mut reference,
                &mut log,
                &mut on_line,
                now,
                &mut latest,
                &mut overtaken,
            );
            if check_lag {
                reference.check_lag(now, longest, on_line.map(|x| (x.0, x.1, x.2)));
            }
        }
        now += bytes * BYTE / s.rate + 1;
        now += s.grid - now % s.grid;
        reference.advance(now);
        reference.forget();
    }
    (dropped, overtaken)
}

#[allow(clippy::too_many_arguments)]
fn serve(
    s: &Set,
    queue: &mut Queue,
    reference: &mut Reference,
    log: &mut Log<TestPacket>,
    on_line: &mut Option<(usize, u32, u64, u64)>,
    now: u64,
    latest: &mut u64,
    overtaken: &mut u64,
) {
    let rate = BitRate(s.rate);
    let sent = match queue.dequeue(&Line::idle(Time(now), rate), log) {
        Service::Send(p) => Some(p.id),
        _ => None,
    };
    let expected = reference.dequeue();
    assert_eq!(sent, expected.map(|x| x.0), "service at {now}");
    if let Some((id, c, bytes)) = expected {
        *overtaken += u64::from(id < *latest);
        *latest = id.max(*latest);
        let Duration(time) = rate.time_of(u64::from(bytes));
        *on_line = Some((c, bytes, now, now + time));
    }
}

#[test]
fn a_million_packets_leave_in_the_exact_order() {
    let sets = [
        (PLAIN, 250_000),
        // An odd rate, arrivals at any nanosecond.
        (
            Set {
                rate: 7_654_321,
                sizes: &[40, 41, 999, 1500, 9000],
                ..PLAIN
            },
            150_000,
        ),
        // Everything on the grid of one packet: ties all the time.
        (
            Set {
                grid: 125_000,
                sizes: &[500, 500, 1000],
                ..PLAIN
            },
            200_000,
        ),
        (
            Set {
                delta: 700,
                grid: 50_000,
                ..PLAIN
            },
            100_000,
        ),
        (
            Set {
                delta: 2500,
                buffer: 12,
                load: 1.3,
                ..PLAIN
            },
            80_000,
        ),
        (
            Set {
                buffer: 15,
                load: 1.4,
                lowest: true,
                ..PLAIN
            },
            80_000,
        ),
        (
            Set {
                buffer: 15,
                load: 1.4,
                charge: true,
                grid: 125_000,
                ..PLAIN
            },
            80_000,
        ),
        (
            Set {
                weights: [1, 2, 3, 5, 7, 10],
                grid: 1000,
                ..PLAIN
            },
            50_000,
        ),
        (
            Set {
                weights: [1, 1, 2, 2, 4, 90],
                buffer: 20,
                load: 1.4,
                charge: true,
                delta: 300,
                ..PLAIN
            },
            30_000,
        ),
        // A clock that runs so fast that it starts again several times.
        (
            Set {
                unit: 0.0001,
                sizes: &[1500, 4000, 9000],
                grid: 250_000,
                ..PLAIN
            },
            50_000,
        ),
        // Busy periods of thousands of packets.
        (
            Set {
                phase: 3000,
                load: 1.01,
                ..PLAIN
            },
            20_000,
        ),
        (
            Set {
                phase: 3000,
                load: 1.01,
                grid: 125_000,
                sizes: &[500, 1000],
                ..PLAIN
            },
            20_000,
        ),
    ];
    let total: u64 = sets.iter().map(|s| s.1).sum();
    assert!(total >= 1_000_000);
    for (i, (set, packets)) in sets.iter().enumerate() {
        let (dropped, overtaken) = compare(set, *packets, i as u64, false);
        // The comparison means something only if there was something to decide.
        assert!(overtaken > packets / 50, "set {i}: {overtaken}");
        assert_eq!(dropped > packets / 100, set.buffer < 100, "set {i}: {dropped}");
    }
}

#[test]
fn nobody_is_a_packet_behind_the_fluid_server() {
    let sets = [
        PLAIN,
        Set {
            sizes: &[40, 1500],
            load: 1.0,
            phase: 200,
            ..PLAIN
        },
        Set {
            grid: 125_000,
            sizes: &[500, 1000, 1500],
            ..PLAIN
        },
        Set {
            weights: [1, 2, 3, 5, 7, 10],
            ..PLAIN
        },
    ];
    for (i, set) in sets.iter().enumerate() {
        compare(set, 20_000, 100 + i as u64, true);
    }
}
