//! The parameters of the mapper "bloom", and the construction of the mapper.

use super::filters::FilterShape;
use super::table::{BalanceTie, MoveRules, PbCounts};
use super::{Bloom, Config};
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, KeyField, Kind, Param, Settings, Stream, params};

tailback_base::choice! {
    /// When groups move.
    pub enum Balance {
        Never = "none",
        Periodic = "pb",
        AtDequeue = "db",
        Both = "both",
    }
}

impl Balance {
    /// Whether groups move each period, and whether a group may move when its last packet leaves.
    fn moments(self) -> (bool, bool) {
        match self {
            Balance::Never => (false, false),
            Balance::Periodic => (true, false),
            Balance::AtDequeue => (false, true),
            Balance::Both => (true, true),
        }
    }
}

tailback_base::choice! {
    /// How the ratio of flows to queues is rounded.
    pub enum BalanceThreshold {
        Ceil = "ceil",
        Exact = "exact",
    }
}

/// The largest memory for the filters of a mapper. It is far more than in any case of the thesis, but little for a
/// machine.
const MOST_BYTES: u64 = 1 << 30;

params! {
    /// All parameters except those that every mapper with a hash has.
    pub const PARAMS;

    pub GROUPS: Option<u64> = Key::new("groups", Kind::Count { min: 1, max: 10_000_000 }, "none",
        "How many groups the flows are hashed to. Default: ten for each queue.",
        "thesis chapter 5: G/K = 5, 10, 20");
    pub GROUP_FLOWS: u64 = Key::new("group_flows", Kind::Count { min: 1, max: 100_000 }, "5",
        "How many flows are expected in a group. The sizes of its filter and its counter follow from this number.",
        "thesis chapter 5");
    pub FILTER_BITS: Option<u64> = Key::new("filter_bits", Kind::Count { min: 1, max: 1_000_000 }, "none",
        "Bits of a group's Bloom filter. Default: ten for each expected flow.", "thesis chapter 5: 50 for 5 flows");
    pub HASH_FUNCTIONS: Option<u64> = Key::new("hash_functions", Kind::Count { min: 1, max: 64 }, "none",
        "Bits that a flow sets in its filter. Default: ln 2 times the bits of a filter, divided by the expected \
         flows, rounded.",
        "the number that misses fewest flows");
    pub COUNTER_BITS: Option<u64> = Key::new("counter_bits", Kind::Count { min: 1, max: 32 }, "none",
        "Bits of a group's counter of flows, which saturates. Default: enough for three times the expected flows.",
        "thesis chapter 5: 4 for 5 flows");
    pub FILTER_PERIOD: Duration = Key::new("filter_period", Kind::Time { min: 1e-4, max: 1e4 }, "200ms",
        "Time between clearings of all filters.", "thesis chapter 5");
    pub SETTLE: Duration = Key::new("settle", Kind::Time { min: 1e-6, max: 1e4 }, "50ms",
        "How long flows are counted after each clearing. No group moves during this time.", "thesis chapter 5");
    pub BALANCE: Balance = Key::choice("balance", "db",
        "When groups move to queues with fewer flows: never, in each period (PB), when a group's last packet leaves \
         (DB), or in both cases.", "thesis chapter 5");
    pub BALANCE_THRESHOLD: BalanceThreshold = Key::choice("balance_threshold", "ceil",
        "The threshold above which a queue gives groups away: the mean number of flows in a queue (all flows / \
         queues), rounded up or not rounded.",
        "tailback: the thesis has the quotient; rounded up was chosen after a look at DB's published means");
    pub BALANCE_TIE: BalanceTie = Key::choice("balance_tie", "fewest-groups",
        "Which of several queues with the fewest flows takes a group: the one with the fewest groups, or the first \
         one, which then takes all groups without flows.",
        "thesis figure 5.3: the current minimum queue, which is the first; tailback spreads them");
    pub LIVE_COUNTS: bool = Key::new("live_counts", Kind::Bool, "false",
        "Count new flows between learning phases as well.", "tailback: false is the rule read literally");
    pub REPICK: bool = Key::new("repick", Kind::Bool, "false",
        "PB looks for the queue with the fewest flows after every move, not only once for each queue that groups \
         leave.",
        "tailback: false is the rule read literally");
    pub NO_WORSE: bool = Key::new("no_worse", Kind::Bool, "false",
        "Move a group only if its new queue, with the group, has fewer flows than its old queue had before the move.",
        "tailback");
    pub LARGEST_FIRST: bool = Key::new("largest_first", Kind::Bool, "false",
        "PB first moves the groups of a queue that have the most flows.", "tailback");
    pub PB_COUNTS: PbCounts = Key::choice("pb_counts", "fresh",
        "Which counts PB uses: those of the period that just ended; those of the period before it; or, for groups, \
         those of the period that just ended, and for queues and their threshold those of the period before it.",
        "thesis figures 5.7 and 5.8, whose steps at the end of learning are in no order: mixed if PB is first");
}

/// The mapper that these settings describe.
///
/// # Errors
/// Learning takes the whole period; there are fewer groups than queues; the filters take more memory than `MOST_BYTES`
/// or than is available; or a parameter that only PB uses is given without PB.
pub fn build(settings: &Settings, key: KeyField, queues: u32, stream: &mut Stream) -> Result<Bloom, Refusal> {
    let count_or = |p: &Param, otherwise: u32| match settings.is_none(p.name) {
        true => otherwise,
        false => u32::try_from(settings.count(p.name)).unwrap_or(u32::MAX),
    };
    let groups = count_or(&GROUPS, queues.saturating_mul(10));
    if groups < queues {
        return Err(Refusal::new(
            format!("{groups} groups cannot fill {queues} queues"),
            "give several groups for each queue, such as ten",
        ));
    }
    let (period, settle) = (settings.get(&FILTER_PERIOD), settings.get(&SETTLE));
    if settle >= period {
        return Err(Refusal::new(
            format!("settle takes {settle} of every filter_period of {period}, so no group would ever move"),
            "make settle shorter than filter_period",
        ));
    }
    let flows = settings.get(&GROUP_FLOWS) as u32;
    let typical = FilterShape::for_flows(groups, flows);
    let bits = count_or(&FILTER_BITS, typical.bits);
    let shape = FilterShape {
        groups,
        bits,
        hashes: count_or(&HASH_FUNCTIONS, FilterShape::hashes_for(bits, flows)),
        counter_bits: count_or(&COUNTER_BITS, typical.counter_bits),
    };
    let bytes = u64::from(groups) * u64::from(bits).div_ceil(64) * 8;
    if bytes > MOST_BYTES {
        return Err(Refusal::new(
            format!(
                "the filters of {groups} groups, {bits} bits each, would take {} MB",
                bytes >> 20
            ),
            format!(
                "lower groups, filter_bits or group_flows; {} MB is the most",
                MOST_BYTES >> 20
            ),
        ));
    }
    // A check of a scenario also builds it, before the memory for its run has been reserved.
    let room = usize::try_from(bytes).unwrap_or(usize::MAX);
    if Vec::<u8>::new().try_reserve_exact(room).is_err() {
        return Err(Refusal::new(
            format!("the filters take {} MB, more than there is memory for", bytes >> 20),
            "lower groups, filter_bits or group_flows, or raise the limit of memory (ulimit -v)",
        ));
    }
    let balance = settings.get(&BALANCE);
    let (periodic, at_dequeue) = balance.moments();
    if !periodic {
        let only_pb = [REPICK.name, LARGEST_FIRST.name, PB_COUNTS.name];
        if let Some(name) = only_pb.iter().find(|name| settings.is_given(name)) {
            return Err(Refusal::new(
                format!(
                    "{name} is a parameter of PB, which balance = \"{}\" does not use",
                    balance.word()
                ),
                format!("leave {name} out, or set balance = \"pb\" or \"both\""),
            ));
        }
    }
    let rules = MoveRules {
        periodic,
        at_dequeue,
        exact: settings.get(&BALANCE_THRESHOLD) == BalanceThreshold::Exact,
        repick: settings.get(&REPICK),
        no_worse: settings.get(&NO_WORSE),
        largest_first: settings.get(&LARGEST_FIRST),
        counts: settings.get(&PB_COUNTS),
        tie: settings.get(&BALANCE_TIE),
    };
    let config = Config {
        key,
        queues,
        shape,
        rules,
        live: settings.get(&LIVE_COUNTS),
        period,
        settle,
    };
    Ok(Bloom::new(config, stream))
}
