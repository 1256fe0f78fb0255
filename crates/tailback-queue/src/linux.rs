//! The form of a discipline in Linux: its name in the kernel, and the words of `tc` for its parameters.
//!
//! This module contains only data. Python's `tailback.linux` writes and reads command lines of `tc` with it. The
//! options of iproute2 and the defaults of the kernel are from tc(8) and the page of each discipline, such as
//! tc-codel(8), and from net/sched/sch_*.c. Values have the form and units of a scenario.

/// The form of a discipline in Linux.
#[derive(Clone, Copy, Debug)]
pub struct Linux {
    /// The name of the discipline in the kernel.
    pub kind: &'static str,
    /// The name in the kernel if the buffer counts bytes, if this is another name.
    pub in_bytes: &'static str,
    /// Words that every command line of this discipline has.
    pub always: &'static [&'static str],
    /// The words, in the order of a command line of `tc`.
    pub options: &'static [Word],
    pub presets: &'static [Preset],
    pub built_in: &'static [BuiltIn],
    /// The first version of Linux and of iproute2 that has the discipline; empty if every version in use has it.
    pub since: &'static str,
    /// A sentence about the differences between the discipline in Linux and in the simulator.
    pub differs: &'static str,
    /// A sentence that a user should know before the command line is used.
    pub note: &'static str,
}

/// A word of `tc`, with its value.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub word: &'static str,
    /// The parameter that the word sets; empty for a word that sets no parameter, such as the rate of the line.
    pub parameter: &'static str,
    /// Other parameters that must have the same value, because the word sets all of them.
    pub also: &'static [&'static str],
    pub value: Value,
    /// The value in Linux if the word is absent.
    pub unsaid: Unsaid,
    /// A parameter that must be true; otherwise the word has no effect.
    pub only_with: &'static str,
    /// The largest number that `tc` or the kernel accepts; 0 if there is no limit.
    pub most: u32,
}

/// The form in which a value is written.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A number of packets.
    Packets,
    /// A number of packets or of bytes, whichever the discipline counts in Linux.
    Size,
    /// A number of bytes.
    Bytes,
    /// A number of bytes, also if the size is given in packets.
    BytesOfPackets,
    /// A time with its unit.
    Time,
    /// Whole seconds.
    Seconds,
    /// A rate with its unit.
    Rate,
    /// A whole number.
    Whole,
    /// A power of two.
    PowerOfTwo,
    Number,
    /// The value times this number, as a whole number.
    Times(u32),
    /// A share, in whole per cent.
    Percent,
    /// The weight of an average, given as the longest burst that stays below the lower threshold with this weight.
    Burst,
    /// Target and interval of CoDel, given as the round trip from which both are derived.
    RoundTrip,
    /// A word for true and a word for false, without a value. An empty word is not written.
    Flag(&'static str, &'static str),
    /// Each choice and its word, without a value.
    Choice(&'static [(&'static str, &'static str)]),
}

/// The value in Linux if a word is absent.
#[derive(Clone, Copy, Debug)]
pub enum Unsaid {
    /// This is the value.
    Is(&'static str),
    /// The number of packets that the device has set for its queue.
    Device,
    /// `tc` requires the word.
    Needed,
    /// The value is always written if it is known, even if it is the default.
    Told,
}

/// A word that sets several values at once.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub word: &'static str,
    /// Parameters and their values. A parameter with an empty value is not changed.
    pub values: [(&'static str, &'static str); 3],
    /// Whether the values are added to earlier ones.
    pub adds: bool,
}

/// A parameter for which Linux has no word, and its value in Linux.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    pub parameter: &'static str,
    pub value: &'static str,
    /// A sentence about the difference, if the simulator has another value.
    pub differs: &'static str,
}

impl Linux {
    pub const fn new(kind: &'static str, options: &'static [Word]) -> Linux {
        Linux {
            kind,
            in_bytes: "",
            always: &[],
            options,
            presets: &[],
            built_in: &[],
            since: "",
            differs: "",
            note: "",
        }
    }
}

impl Word {
    /// A word, with the value in Linux if the word is absent.
    pub const fn new(parameter: &'static str, word: &'static str, value: Value, unsaid: &'static str) -> Word {
        Word {
            word,
            parameter,
            also: &[],
            value,
            unsaid: Unsaid::Is(unsaid),
            only_with: "",
            most: 0,
        }
    }

    /// A flag that is always written.
    pub const fn flag(parameter: &'static str, yes: &'static str, no: &'static str) -> Word {
        Word::new(parameter, yes, Value::Flag(yes, no), "").unsaid(Unsaid::Told)
    }

    /// A choice between several words.
    pub const fn choice(
        parameter: &'static str,
        words: &'static [(&'static str, &'static str)],
        unsaid: &'static str,
    ) -> Word {
        Word::new(parameter, "", Value::Choice(words), unsaid)
    }

    #[must_use]
    pub const fn unsaid(self, unsaid: Unsaid) -> Word {
        Word { unsaid, ..self }
    }

    #[must_use]
    pub const fn also(self, also: &'static [&'static str]) -> Word {
        Word { also, ..self }
    }

    #[must_use]
    pub const fn most(self, most: u32) -> Word {
        Word { most, ..self }
    }

    #[must_use]
    pub const fn only_with(self, only_with: &'static str) -> Word {
        Word { only_with, ..self }
    }
}

/// The note for disciplines that hash flows to queues.
pub const OTHER_HASH: &str = "Linux uses another hash, so that other flows share a queue there.";

/// The note for a queue without its own limit.
pub const OF_THE_DEVICE: &str = "Without a limit the queue holds as many packets as the device says: often 1000 on a \
                                 network card, 32 on an IFB (`ip link show`).";

/// `ecn` or `noecn`, which is always written.
pub const ECN: Word = Word::flag("ecn", "ecn", "noecn");

/// The words of CoDel.
pub const TARGET: Word = Word::new("target", "target", Value::Time, "5ms");
pub const INTERVAL: Word = Word::new("interval", "interval", Value::Time, "100ms");
pub const CE_THRESHOLD: Word = Word::new("ce_threshold", "ce_threshold", Value::Time, "none");

/// The words of PIE. `alpha` and `beta` are in sixteenths.
pub const REFERENCE: Word = Word::new("reference", "target", Value::Time, "15ms");
pub const UPDATE: Word = Word::new("update_interval", "tupdate", Value::Time, "15ms");
pub const ALPHA: Word = Word::new("alpha", "alpha", Value::Times(16), "0.125").most(32);
pub const BETA: Word = Word::new("beta", "beta", Value::Times(16), "1.25").most(32);
pub const DELAY: Word = Word::choice(
    "delay",
    &[
        ("timestamp", "no_dq_rate_estimator"),
        ("departure_rate", "dq_rate_estimator"),
    ],
    "timestamp",
);

/// The note about the clock of PIE in Linux.
pub const TICKS: &str = "Linux changes the probability at ticks of its clock: 15 ms become 16 at 250 Hz (tc-pie(8)).";

/// The words of disciplines that hash flows to queues.
pub const FLOWS: Word = Word::new("queues", "flows", Value::Whole, "1024");
pub const QUANTUM: Word = Word::new("quantum", "quantum", Value::Bytes, "1514B");
pub const MEMORY: Word = Word::new("memory", "memory_limit", Value::Bytes, "32MiB");

/// RED, with its thresholds in bytes or in packets.
pub const fn red(value: Value) -> [Word; 9] {
    [
        Word::new("buffer", "limit", value, "").unsaid(Unsaid::Needed),
        Word::new("min_threshold", "min", value, "").unsaid(Unsaid::Needed),
        Word::new("max_threshold", "max", value, "").unsaid(Unsaid::Needed),
        Word::new("mean_packet", "avpkt", Value::Bytes, "").unsaid(Unsaid::Needed),
        Word::new("weight", "burst", Value::Burst, "").unsaid(Unsaid::Needed),
        Word::new("", "bandwidth", Value::Rate, "").unsaid(Unsaid::Needed),
        Word::new("max_probability", "probability", Value::Number, "").unsaid(Unsaid::Told),
        Word::flag("ecn", "ecn", ""),
        // With ECN, Linux also marks above `max` unless this word is given.
        Word::flag("mark_above_max", "", "harddrop").only_with("ecn"),
    ]
}

/// COBALT alone. Linux has it only inside `cake`.
pub const OF_CAKE: Linux = Linux {
    built_in: &[ALWAYS_MARKS],
    differs: "Linux has COBALT only inside cake, which is also a shaper; here COBALT is behind another shaper or the \
              line.",
    ..Linux::new(
        "cake",
        &[
            Word::new("", "bandwidth", Value::Rate, "").unsaid(Unsaid::Told),
            Word::new("interval", "rtt", Value::RoundTrip, "100ms").also(&["target"]),
            Word::new("memory", "memlimit", Value::Bytes, "none"),
            Word::new("buffer", "memlimit", Value::BytesOfPackets, "none"),
        ],
    )
};

/// A value of `cake` without a word.
pub const ALWAYS_MARKS: BuiltIn = BuiltIn {
    parameter: "ecn",
    value: "true",
    differs: "`cake` always marks packets of hosts that have ECN; it has no option that switches this off.",
};

pub const OF_RED: [Word; 9] = red(Value::BytesOfPackets);

/// A value of RED without a word in Linux.
pub const AS_GIVEN: BuiltIn = BuiltIn {
    parameter: "weight_rule",
    value: "given",
    differs: "In Linux the weight is computed from burst, not from the rate of the line.",
};

/// In Linux RED has no gentle slope.
pub const NOT_GENTLE: BuiltIn = BuiltIn {
    parameter: "gentle",
    value: "false",
    differs: "Linux drops all above `max`; in the simulator drops rise from there to twice `max` (gentle).",
};
pub const LARGE_BURST: &str = "tc may warn that the burst is large, because the average has a time constant of a \
                               second.";
pub const LIMIT_NEEDED: &str = "Linux asks for a limit: four times `max` here.";
