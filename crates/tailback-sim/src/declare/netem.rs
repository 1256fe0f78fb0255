//! Declares `netem`, Linux's network emulator, with the keywords of tc-netem(8).

use super::impairments::{Harm, Impairment};
use super::kinds::{self, TIME};
use tailback_base::model::{Key, Kind, Model, Settings};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, params};

/// A probability, and its correlation: how much of the last random number each new one keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlated {
    pub probability: f64,
    pub correlation: f64,
}

/// The rule that selects lost packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses {
    Random(Correlated),
    /// Four states: the probabilities of going from 1 to 3, 3 to 1, 3 to 2, 2 to 3, 1 to 4.
    States([f64; 5]),
    /// Gilbert and Elliott: the probabilities of going to the bad state, of going to the good state, of a loss in the
    /// bad state, and of a loss in the good state.
    Elliott([f64; 4]),
}

tailback_base::choice! {
    /// The distribution of delays around their mean.
    pub enum Distribution {
        Uniform = "uniform",
        Normal = "normal",
        Pareto = "pareto",
        ParetoNormal = "paretonormal",
    }
}

/// The checked values.
#[derive(Clone, Debug, PartialEq)]
pub struct Netem {
    pub limit: u64,
    pub delay: Duration,
    pub jitter: Duration,
    pub delay_correlation: f64,
    pub distribution: Distribution,
    pub losses: Losses,
    /// Marks capable packets in place of losing them.
    pub ecn: bool,
    pub duplicate: Correlated,
    pub corrupt: Correlated,
    pub reorder: Correlated,
    pub gap: u64,
    pub rate: Option<BitRate>,
    pub overhead: u64,
    pub cell_size: u64,
    pub cell_overhead: u64,
}

impl Netem {
    /// The effect on a selected packet, if the emulator selects any.
    pub fn harm(&self) -> Option<Harm> {
        let never = Losses::Random(Correlated {
            probability: 0.0,
            correlation: 0.0,
        });
        match (self.ecn, self.losses == never) {
            (_, true) => (self.corrupt.probability > 0.0).then_some(Harm::Drop),
            (true, false) => Some(Harm::Mark),
            (false, false) => Some(Harm::Drop),
        }
    }

    /// The share of packets that it loses or marks, at least and at most.
    pub fn struck(&self) -> [f64; 2] {
        let lost = match self.losses {
            Losses::Random(c) => narrowed(c),
            Losses::States(_) | Losses::Elliott(_) => [0.0, 1.0],
        };
        let corrupt = narrowed(self.corrupt);
        [lost[0] + corrupt[0], lost[1] + corrupt[1]].map(|share| share.min(1.0))
    }

    /// The longest delay. The values of a delay table go up to four times the jitter.
    pub fn longest_delay(&self) -> Duration {
        self.delay + Duration(4 * self.jitter.0)
    }

    /// The largest share of packets that it sends twice.
    pub fn copied(&self) -> f64 {
        narrowed(self.duplicate)[1]
    }
}

/// Correlated numbers are nearer to their mean, so the frequency of small numbers differs from the given probability.
fn narrowed(c: Correlated) -> [f64; 2] {
    match (c.probability, c.correlation) {
        (p, 0.0) => [p; 2],
        (0.0, _) => [0.0; 2],
        _ => [0.0, 1.0],
    }
}

pub static MODEL: Model = Model {
    name: "netem",
    family: "impairment",
    title: "Linux's emulator of networks",
    summary: "Holds each packet for a random delay, so that a packet with a shorter delay overtakes others; it holds \
              at most `limit` packets. It also loses, marks, duplicates and reorders packets, and sends them at a \
              rate.",
    source: "tc-netem(8); S. Salsano, F. Ludovici, A. Ordine, \"Definition of a general and intuitive loss model for \
             packet networks\", 2009",
    params: PARAMS,
    probes: &[],
};

const CORRELATION: &str = "The weight of the last random number in each new random number.";

params! {
    const PARAMS;

    LIMIT: u64 = Key::new("limit", Kind::Count { min: 1, max: 1_000_000_000 }, "1000",
        "How many packets may be held at once. Packets that arrive beyond this number are lost.", "tc-netem(8)");
    DELAY: Duration = Key::new("delay", TIME, "0s", "The mean delay.", "tc-netem(8)");
    JITTER: Duration = Key::new("jitter", Kind::Time { min: 0.0, max: 2.147 }, "0s",
        "How much the delay varies around its mean. With `uniform` this is the largest distance; otherwise it is the \
         deviation to which the table of the distribution is scaled.", "tc-netem(8)");
    DELAY_CORRELATION: f64 = Key::new("delay_correlation", kinds::PROBABILITY, "0", CORRELATION, "tc-netem(8)");
    DISTRIBUTION: Distribution = Key::choice("distribution", "uniform", "Which distribution delays have.",
        "tc-netem(8)");
    LOSS: f64 = Key::new("loss", kinds::PROBABILITY, "0", "The probability that a packet is lost.", "tc-netem(8)");
    LOSS_CORRELATION: f64 = Key::new("loss_correlation", kinds::PROBABILITY, "0", CORRELATION, "tc-netem(8)");
    LOSS_STATE: Vec<f64> = Key::new("loss_state", Kind::List(&kinds::PROBABILITY), "none",
        "Losses follow a Markov chain of four states with the probabilities p13, p31, p32, p23 and p14. The defaults \
         of the last four are 1 - p13, 0, 1 and 0.", "tc-netem(8)");
    LOSS_GEMODEL: Vec<f64> = Key::new("loss_gemodel", Kind::List(&kinds::PROBABILITY), "none",
        "Losses follow the model of Gilbert and Elliott with the probabilities p, r, 1-h and 1-k. The defaults of the \
         last three are 1 - p, 1 and 0.", "tc-netem(8)");
    ECN: bool = Key::new("ecn", Kind::Bool, "false",
        "Mark ECN-capable packets instead of dropping them.", "tc-netem(8)");
    DUPLICATE: f64 = Key::new("duplicate", kinds::PROBABILITY, "0",
        "The probability that a packet is sent twice. All impairments of the link apply to the second packet anew.",
        "tc-netem(8)");
    DUPLICATE_CORRELATION: f64 = Key::new("duplicate_correlation", kinds::PROBABILITY, "0", CORRELATION, "tc-netem(8)");
    CORRUPT: f64 = Key::new("corrupt", kinds::PROBABILITY, "0",
        "The probability that a packet has a wrong bit. Such a packet is lost here and not at the destination, where \
         the checksum would find the error.",
        "tc-netem(8)");
    CORRUPT_CORRELATION: f64 = Key::new("corrupt_correlation", kinds::PROBABILITY, "0", CORRELATION, "tc-netem(8)");
    REORDER: f64 = Key::new("reorder", kinds::PROBABILITY, "0",
        "The probability that a packet leaves at once, before all packets that are held.", "tc-netem(8)");
    REORDER_CORRELATION: f64 = Key::new("reorder_correlation", kinds::PROBABILITY, "0", CORRELATION, "tc-netem(8)");
    GAP: Option<u64> = Key::new("gap", Kind::Count { min: 1, max: u32::MAX as u64 }, "none",
        "Only one packet in this many may leave at once. Default with `reorder`: 1, which is every packet.",
        "tc-netem(8)");
    RATE: Option<BitRate> = Key::new("rate", kinds::RATE, "none",
        "Each packet waits until all packets that are held have left, and then takes the time that it needs at this \
         rate.", "tc-netem(8)");
    OVERHEAD: u64 = Key::new("overhead", Kind::Bytes { min: 0, max: 1000 }, "0B",
        "How many bytes `rate` counts in addition to each packet.", "tc-netem(8), packetoverhead");
    CELL_SIZE: Option<u64> = Key::new("cell_size", Kind::Bytes { min: 1, max: 1_000_000 }, "none",
        "`rate` counts whole cells of this size.", "tc-netem(8), cellsize");
    CELL_OVERHEAD: u64 = Key::new("cell_overhead", Kind::Bytes { min: 0, max: 1000 }, "0B",
        "How many bytes `rate` counts in addition to each cell.", "tc-netem(8), celloverhead");
}

/// The impairment of a checked table.
///
/// # Errors
/// Two kinds of losses, too many values, reordering of packets that are not delayed.
pub fn read(s: &Settings) -> Result<Impairment, Refusal> {
    let correlated = |p: &Key<f64>, c: &Key<f64>| Correlated {
        probability: s.get(p),
        correlation: s.get(c),
    };
    let (states, elliott) = (s.get(&LOSS_STATE), s.get(&LOSS_GEMODEL));
    let given = [s.get(&LOSS) > 0.0, !states.is_empty(), !elliott.is_empty()];
    if given.iter().filter(|is| **is).count() > 1 {
        let e = Refusal::new(
            "losses are given in two ways",
            "give one of loss, loss_state and loss_gemodel",
        );
        return Err(e);
    }
    let losses = if let Some(p13) = states.first() {
        Losses::States(filled(LOSS_STATE.name, &states, [*p13, 1.0 - p13, 0.0, 1.0, 0.0])?)
    } else if let Some(p) = elliott.first() {
        Losses::Elliott(filled(LOSS_GEMODEL.name, &elliott, [*p, 1.0 - p, 1.0, 0.0])?)
    } else {
        Losses::Random(correlated(&LOSS, &LOSS_CORRELATION))
    };
    let (delay, rate) = (s.get(&DELAY), s.get(&RATE));
    let (reorder, gap) = (correlated(&REORDER, &REORDER_CORRELATION), s.get(&GAP));
    if reorder.probability > 0.0 && delay == Duration::ZERO {
        let e = Refusal::new(
            "reorder has no effect on packets without a delay",
            "give delay, or leave reorder out",
        );
        return Err(e.within(REORDER.name));
    }
    if gap.is_some() && reorder.probability <= 0.0 {
        let e = Refusal::new(
            "gap has no effect without reorder",
            "give reorder = 1, or leave gap out",
        );
        return Err(e.within(GAP.name));
    }
    Ok(Impairment::Netem(Box::new(Netem {
        limit: s.get(&LIMIT),
        delay,
        jitter: s.get(&JITTER),
        delay_correlation: s.get(&DELAY_CORRELATION),
        distribution: s.get(&DISTRIBUTION),
        losses,
        ecn: s.get(&ECN),
        duplicate: correlated(&DUPLICATE, &DUPLICATE_CORRELATION),
        corrupt: correlated(&CORRUPT, &CORRUPT_CORRELATION),
        gap: gap.unwrap_or(u64::from(reorder.probability > 0.0)),
        reorder,
        rate,
        overhead: s.get(&OVERHEAD),
        cell_size: s.get(&CELL_SIZE).unwrap_or(0),
        cell_overhead: s.get(&CELL_OVERHEAD),
    })))
}

/// The values that are given, and the defaults of `tc` for the others.
fn filled<const N: usize>(name: &str, given: &[f64], mut all: [f64; N]) -> Result<[f64; N], Refusal> {
    let Some(first) = all.get_mut(..given.len()) else {
        let e = Refusal::new(format!("{} values", given.len()), format!("give at most {N}"));
        return Err(e.within(name));
    };
    first.copy_from_slice(given);
    Ok(all)
}
