//! SFB, stochastic fair Blue: runs Blue for each bin of a Bloom filter, so that only unresponsive flows are limited.
//!
//! Every flow is hashed into one bin on each of several levels. Each bin has a length and a probability. The
//! probability rises when a packet finds the length of the bin at its target, and falls when a packet finds the bin
//! empty. A packet is signalled with the smallest of the probabilities of its flow's bins. A flow that does not respond
//! drives the probabilities of all its bins to 1. A flow that shares some of these bins, but not all, is signalled with
//! the probability of another bin. If the probabilities of all bins of a flow are 1, the flow is admitted only at the
//! penalty rate. No state is kept for flows. Measure: the backlog of the bins. Function: the smallest of Blue's
//! probabilities. Action: a drop (early), or with `ecn` a mark; if the probability is above one half, some of these
//! marks are drops; drops at the cap of a bin (percap) and by the penalty rate (penalty).
//!
//! ```text
//! arrival   on each level: bin empty: probability -= down;  bin at its target: probability += up
//!           least length >= bin_max: drop;  least probability p = 1: the penalty bucket decides
//!           else u drawn: u < p: drop if u < 2 (p - 1/2), else mark;  let in: length += 1 in each bin
//! ```
//!
//! From: Feng, Kandlur, Saha, Shin, "Stochastic fair Blue: a queue management algorithm for enforcing fairness",
//! INFOCOM 2001. Levels, bins, steps at each packet, the penalty bucket and drops above one half are those of the
//! public implementation in Linux. The profile `paper` uses the levels and bins of the paper, Blue's steps and freeze
//! time, and marks above one half.
//!
//! A flow that shares all its bins with an unresponsive flow is limited like that flow. So the hash is changed every
//! `rehash`, and for `warmup` before the change a second set of bins is prepared. The second set counts the packets of
//! all flows. It also updates its probabilities for flows that the present set finds unresponsive, so that these flows
//! are limited at once after the change.
//!
//! State: for each bin its packets and [`Probability`], 80 bytes; the same for the next set while it warms up; a salt
//! for each set; the penalty bucket. A packet is counted in the sets that existed before its arrival. Its time stamp
//! shows which sets these are.
//!
//! Departure: the next set counts the packets of all flows, not only of those that update its probabilities. So its
//! lengths are right from the change on.
//!
//! Cost of a packet: a hash and a step on each level at arrival, a hash on each level at departure, and one random draw
//! while its probability is between 0 and 1.

use crate::aqm::load::blue::Probability;
use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, signal, unchanged};
use crate::contract::view::Exit;
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, ECN, FLOW_KEY, profile};
use crate::pieces::classify::hash::mix;
use tailback_base::bucket::Bucket;
use tailback_base::model::{Probe, Profile};
use tailback_base::quantity::Refusal;
use tailback_base::work::counted;
use tailback_base::{BitRate, Duration, Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, Time, params};

const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        doc: "the declared defaults",
        values: &[],
    },
    Profile {
        name: "linux",
        doc: "Linux's steps, which are whole parts of 65535, and its buffer",
        values: &[
            ("buffer", "1000 packets"),
            ("up", "0.00100709544518196"),
            ("down", "0.000167849240863661"),
        ],
    },
    Profile {
        name: "paper",
        doc: "Feng et al. 2001: two levels of 23 bins, bins that move once in a freeze time, marks at any probability",
        values: &[
            ("levels", "2"),
            ("bins", "23"),
            ("freeze", "100ms"),
            ("up", "0.02"),
            ("down", "0.002"),
            ("drop_above_half", "false"),
        ],
    },
];

/// Values that can be recorded.
const READ: [Probe<Sfb>; 2] = [
    Probe::new(
        "probability",
        "",
        "The smallest probability of the bins of the last arrival",
        |q, _| q.probability,
    ),
    Probe::new(
        "certain_bins",
        "",
        "Number of bins with probability 1, over all levels",
        |q, _| {
            counted(&q.active.bins)
                .filter(|bin| bin.probability.value() >= 1.0)
                .count() as f64
        },
    ),
];

pub static MODEL: Model = Model {
    name: "sfb",
    family: "queue",
    title: "Stochastic fair Blue",
    summary: "Blue for each bin of a Bloom filter. Measure: the backlog of a flow's bins. Function: the least of the \
              bins' probabilities. Action: drop (early); with ecn, mark instead; packets of flows that do not respond \
              are let in up to the penalty rate and dropped beyond it (penalty), and no flow fills its bins beyond a \
              cap (percap).",
    source: "Feng, Kandlur, Saha, Shin, INFOCOM 2001; Linux sfb",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    PROFILE = profile(PROFILES);
    BUFFER;
    LEVELS: u64 = Key::new("levels", Kind::Count { min: 1, max: 16 }, "8",
        "How many levels of bins there are. A flow has one bin on each level.", "Linux sfb; 2 in Feng et al. 2001");
    BINS: u64 = Key::new("bins", Kind::Count { min: 1, max: 65_536 }, "16",
        "How many bins each level has.", "Linux sfb; 23 in Feng et al. 2001");
    BIN_TARGET: u64 = Key::new("bin_target", Kind::Count { min: 1, max: 10_000_000 }, "20",
        "The probability of a bin rises while this many packets or more are in it.", "Linux sfb target");
    BIN_MAX: u64 = Key::new("bin_max", Kind::Count { min: 1, max: 10_000_000 }, "25",
        "A flow that has this many packets in each of its bins cannot add another.", "Linux sfb max");
    UP: f64 = Key::new("up", Kind::Real { min: 0.0, max: 1.0 }, "0.001",
        "How much the probability of a bin rises when a packet finds the bin at the target.", "Linux sfb increment");
    DOWN: f64 = Key::new("down", Kind::Real { min: 0.0, max: 1.0 }, "1.6666666666666666e-4",
        "How much the probability of a bin falls when a packet finds the bin empty.", "Linux sfb decrement: 1/6000");
    FREEZE: Duration = Key::new("freeze", Kind::Time { min: 0.0, max: 1000.0 }, "0s",
        "Shortest time between two changes of a bin's probability; with 0s it changes with every packet.",
        "Linux sfb; Blue's freeze time in Feng et al. 2001");
    DROP_ABOVE_HALF: bool = Key::new("drop_above_half", Kind::Bool, "true",
        "When the probability is above one half, drop a part of the packets that would otherwise be marked. When it is \
         1, drop all these packets.",
        "Linux sfb; false: Feng et al. 2001");
    PENALTY_RATE: u64 = Key::new("penalty_rate", Kind::Count { min: 0, max: 1_000_000_000 }, "10",
        "How many packets per second are let in from all flows that do not respond, taken together.",
        "Linux sfb penalty_rate");
    PENALTY_BURST: u64 = Key::new("penalty_burst", Kind::Count { min: 1, max: 1_000_000_000 }, "20",
        "How many packets of flows that do not respond may arrive at once.", "Linux sfb penalty_burst");
    REHASH: Duration = Key::new("rehash", Kind::Time { min: 0.0, max: 1e6 }, "600s",
        "Time between changes of the hash; with 0s the hash never changes.", "Linux sfb rehash");
    WARMUP: Duration = Key::new("warmup", Kind::Time { min: 0.0, max: 1e6 }, "60s",
        "How long before a change of the hash the bins of the next hash begin to count packets.", "Linux sfb db");
    FLOW_KEY;
    ECN;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Sfb>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Sfb {
    /// # Errors
    /// A cap below the target, or a warm-up longer than the time between changes.
    fn configured(s: &Settings, mut context: BuildContext) -> Result<Self, Refusal> {
        let (target, bin_max) = (s.get(&BIN_TARGET), s.get(&BIN_MAX));
        if bin_max < target {
            return Err(Refusal::new(
                format!("bin_max ({bin_max}) is below bin_target ({target}): the probability would never rise"),
                "give a bin_max of at least bin_target",
            ));
        }
        let rehash = Some(s.get(&REHASH)).filter(|r| *r > Duration::ZERO);
        let warmup = s.get(&WARMUP);
        if let Some(rehash) = rehash.filter(|r| warmup > *r) {
            return Err(Refusal::new(
                format!("warmup ({warmup}) is longer than rehash ({rehash}), the time between two changes"),
                "give a shorter warmup, or a longer rehash",
            ));
        }
        if rehash.is_none() && s.gives(&WARMUP) {
            return Err(Refusal::new(
                "warmup is given, but with rehash = \"0s\" the hash never changes",
                "leave warmup out, or give rehash",
            ));
        }
        let shape = Sizes {
            levels: s.get(&LEVELS) as u32,
            bins: s.get(&BINS) as u32,
            target: target as u32,
            bin: Bin {
                packets: 0,
                probability: Probability::new(s.get(&UP), s.get(&DOWN), s.get(&FREEZE), false),
            },
        };
        Ok(Sfb {
            key: s.get(&FLOW_KEY),
            active: Bins::new(&shape, context.stream.bits(), None),
            next: None,
            shape,
            most: bin_max as u32,
            drop_above_half: s.get(&DROP_ABOVE_HALF),
            // A token stands for a packet, and is one byte of the bucket.
            penalty: Bucket::full(s.get(&PENALTY_BURST)),
            penalty_burst: s.get(&PENALTY_BURST),
            penalty_rate: BitRate(8 * s.get(&PENALTY_RATE)),
            rehash,
            warmup,
            changes: 0,
            ecn: params::ecn(s),
            probability: 0.0,
            context,
        })
    }
}

/// The settings that all sets of bins share.
#[derive(Clone, Debug)]
struct Sizes {
    levels: u32,
    bins: u32,
    /// The target length of a bin, packets.
    target: u32,
    /// A bin in its initial state.
    bin: Bin,
}

#[derive(Clone, Debug)]
struct Bin {
    packets: u32,
    probability: Probability,
}

/// A set of bins under one hash.
#[derive(Clone, Debug)]
struct Bins {
    salt: u64,
    /// Packets that arrived after this instant are counted; with `None` all packets are counted.
    since: Option<Time>,
    /// The number of bins of a level.
    width: u32,
    /// All bins, one level after the other.
    bins: Vec<Bin>,
}

/// The smallest length and the smallest probability among the bins of a flow.
#[derive(Clone, Copy, Debug)]
struct Least {
    packets: u32,
    probability: f64,
}

impl Bins {
    fn new(shape: &Sizes, salt: u64, since: Option<Time>) -> Bins {
        Bins {
            salt,
            since,
            width: shape.bins,
            bins: vec![shape.bin.clone(); (shape.levels * shape.bins) as usize],
        }
    }

    /// The bin of a flow on each level.
    fn of(&mut self, key: u64) -> impl Iterator<Item = &mut Bin> {
        let (salt, width) = (self.salt, u64::from(self.width));
        let flow = mix(key);
        self.bins
            .chunks_mut(self.width as usize)
            .zip(0_u64..)
            .map(move |(level, l)| {
                let hash = mix(flow ^ mix(salt.wrapping_add(l)));
                &mut level[((u128::from(hash) * u128::from(width)) >> 64) as usize]
            })
    }

    /// A packet of this flow arrives: update the bins.
    fn learn(&mut self, key: u64, target: u32, now: Time) -> Least {
        let mut least_of_bins = Least {
            packets: u32::MAX,
            probability: 1.0,
        };
        for bin in self.of(key) {
            if bin.packets == 0 {
                bin.probability.lower(now);
            } else if bin.packets >= target {
                bin.probability.raise(now);
            }
            least_of_bins.packets = least_of_bins.packets.min(bin.packets);
            least_of_bins.probability = least_of_bins.probability.min(bin.probability.value());
        }
        least_of_bins
    }

    /// Whether a packet that was admitted at this instant is counted in this set.
    fn counts(&self, came: Time) -> bool {
        self.since.is_none_or(|since| came > since)
    }

    fn add(&mut self, key: u64, now: Time) {
        if self.counts(now) {
            self.of(key).for_each(|bin| bin.packets += 1);
        }
    }

    fn take(&mut self, key: u64, came: Time) {
        if self.counts(came) {
            self.of(key).for_each(|bin| bin.packets = bin.packets.saturating_sub(1));
        }
    }
}

/// SFB's decision.
#[derive(Clone, Debug)]
pub struct Sfb {
    key: KeyField,
    shape: Sizes,
    active: Bins,
    /// The next set, while it warms up.
    next: Option<Bins>,
    /// The cap of a bin, packets.
    most: u32,
    drop_above_half: bool,
    /// The penalty bucket. One byte of it stands for a packet.
    penalty: Bucket,
    penalty_burst: u64,
    penalty_rate: BitRate,
    rehash: Option<Duration>,
    warmup: Duration,
    /// Changes of the hash so far.
    changes: u64,
    ecn: bool,
    /// The probability at the last arrival.
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl Sfb {
    /// The time of the next change of the hash.
    fn change(&self) -> Option<Time> {
        let rehash = self.rehash?;
        Some(Time(rehash.0.saturating_mul(self.changes + 1)))
    }

    /// Decide about a packet. `least` is the smallest probability of its flow's bins, which may be 1.
    fn judge<P: Packet>(&mut self, p: &mut P, least: f64, now: Time, out: &mut dyn Out<P>) -> Decision {
        if least >= 1.0 {
            self.penalty.fill(self.penalty_rate, now);
            return match self.penalty.take(1) {
                true => Decision::Store,
                false => Decision::Drop(DropReason::Penalty),
            };
        }
        if least <= 0.0 {
            return Decision::Store;
        }
        let u = self.context.stream.uniform();
        let dropped = self.drop_above_half && u < 2.0 * (least - 0.5);
        match u < least && (dropped || !signal(p, self.ecn, MarkReason::Early, out)) {
            true => Decision::Drop(DropReason::Early),
            false => Decision::Store,
        }
    }
}

impl<P: Packet> Admission<P> for Sfb {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let key = p.key(self.key);
        let least_of_bins = self.active.learn(key, self.shape.target, line.now);
        self.probability = least_of_bins.probability;
        if least_of_bins.packets >= self.most {
            return Decision::Drop(DropReason::Percap);
        }
        if let Some(next) = self.next.as_mut().filter(|_| least_of_bins.probability >= 1.0) {
            next.learn(key, self.shape.target, line.now);
        }
        let decision = self.judge(p, least_of_bins.probability, line.now, out);
        if decision == Decision::Store {
            self.active.add(key, line.now);
            if let Some(next) = &mut self.next {
                next.add(key, line.now);
            }
        }
        decision
    }

    fn left(&mut self, p: &P, how: Exit, _rest: Backlog, line: &Line) {
        // A packet that was refused later never received a time stamp here.
        let learned_at = match how {
            Exit::Dropped(Place::Arriving, _) => line.now,
            Exit::Served | Exit::Evicted(_) | Exit::Dropped(_, _) => p.stamp(),
        };
        let key = p.key(self.key);
        self.active.take(key, learned_at);
        if let Some(next) = &mut self.next {
            next.take(key, learned_at);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let change = self.change()?;
        match self.next {
            Some(_) => Some(change),
            None => Some(Time(change.0.saturating_sub(self.warmup.0))),
        }
    }

    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        if self.next.is_none() {
            self.next = Some(Bins::new(&self.shape, self.context.stream.bits(), Some(line.now)));
        }
        if self.change().is_some_and(|t| t <= line.now) {
            if let Some(next) = self.next.take() {
                self.active = next;
            }
            self.changes += 1;
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The bins stay with their counts and probabilities. The number of bins and the times of the hash changes stay
    /// too.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let new = Sfb::configured(s, self.context.clone())?;
        unchanged(LEVELS.name, &self.shape.levels, &new.shape.levels)?;
        unchanged(BINS.name, &self.shape.bins, &new.shape.bins)?;
        unchanged(FLOW_KEY.name, &self.key, &new.key)?;
        unchanged(REHASH.name, &self.rehash, &new.rehash)?;
        unchanged(WARMUP.name, &self.warmup, &new.warmup)?;
        unchanged(PENALTY_BURST.name, &self.penalty_burst, &new.penalty_burst)?;
        for bin in self
            .active
            .bins
            .iter_mut()
            .chain(self.next.iter_mut().flat_map(|n| &mut n.bins))
        {
            let before = std::mem::replace(&mut bin.probability, new.shape.bin.probability.clone());
            bin.probability.follow(&before);
        }
        (self.shape, self.most, self.ecn) = (new.shape, new.most, new.ecn);
        (self.drop_above_half, self.penalty_rate) = (new.drop_above_half, new.penalty_rate);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
