//! The parameters of RED, and of all disciplines that use it.
//!
//! A model that uses RED's decision lists these parameters in its declaration, with another default if its authors
//! chose one ([`Key::with_default`]).

use crate::aqm::average::IdleEnds;
use crate::aqm::red::config::IdleStarts;
use tailback_base::{Duration, Key, Kind, Level, params};

pub const PROBABILITY: Kind = Kind::Real { min: 0.0, max: 1.0 };

params! {
    pub MIN_THRESHOLD: Option<Level> = Key::new("min_threshold", Kind::Level, "none",
        "Average backlog from which packets are signalled. If it is in packets and the buffer in bytes, a packet \
         counts as mean_packet. Default: half of what the line sends in 5 ms, but at least 5 packets, and at most a \
         sixth of the buffer.",
        "ns-2 automatic setting; Floyd, Gummadi, Shenker 2001");
    pub MAX_THRESHOLD: Option<Level> = Key::new("max_threshold", Kind::Level, "none",
        "Average backlog at which the probability reaches max_probability. Default: three times min_threshold.",
        "Floyd 1997");
    pub DELAY_TARGET: Option<Duration> = Key::new("delay_target", Kind::Time { min: 1e-6, max: 100.0 }, "none",
        "Derive both thresholds from the number of packets that the line sends in this time: min is half of this \
         number, but at least 5 packets, and max = 3 min.",
        "ns-2 automatic setting, there 5 ms; Floyd, Gummadi, Shenker 2001");
    pub WEIGHT: f64 = Key::new("weight", PROBABILITY, "0.002",
        "Weight of a new sample in the average. With 0, the average stays at initial_average.",
        "Floyd and Jacobson 1993 section 6");
}

tailback_base::choice! {
    /// The source of the weight.
    pub enum WeightRule {
        Given = "given",
        ByRate = "rate",
        ByRoundTrip = "round-trip",
    }
}

params! {
    pub WEIGHT_RULE: WeightRule = Key::choice("weight_rule", "given",
        "Where the weight comes from: the parameter `weight`; the line's rate, as 1 - exp(-1/c) for c mean packets a \
         second, which gives a time constant of a second; or ten round trips, as 1 - exp(-1/(10 R c)) with R = \
         max(0.1 s, 3 (link delay + 1/c)).",
        "Floyd, Gummadi, Shenker 2001 (rate); ns-2 automatic setting (round-trip)");
    pub MAX_PROBABILITY: f64 = Key::new("max_probability", PROBABILITY, "0.1",
        "Signal probability as the average reaches max_threshold.", "ns-2 linterm 10; the paper used 0.02");
    pub GENTLE: bool = Key::new("gentle", Kind::Bool, "true",
        "Let the probability climb from max_probability to 1 between max_threshold and twice that.",
        "Floyd 2000; ns-2 since 4/2001");
}
params! {
    pub MARK_CAP: f64 = Key::new("mark_cap", PROBABILITY, "0.1",
        "If the base probability is above this, an early signal drops even an ECN-capable packet.",
        "ns-2 mark_p_ since 12/2005");
    pub MARK_ABOVE_MAX: bool = Key::new("mark_above_max", Kind::Bool, "false",
        "With ecn, mark ECN-capable packets also when the probability is 1, instead of a forced drop.",
        "Listing in Jiang 2006");
    pub BYTES: bool = Key::new("bytes", Kind::Bool, "false",
        "Multiply the probability by size / mean_packet, and count the packets since the last signal in mean packets.",
        "Floyd and Jacobson 1993 section 7; ns-2 default since 10/2004");
    pub MEAN_PACKET: u64 = Key::new("mean_packet", Kind::Bytes { min: 1, max: 65_535 }, "500B",
        "Mean packet size S, for idle time, byte mode and thresholds in packets on a buffer in bytes.",
        "ns-2 mean_pktsize_");
    pub SPREAD: bool = Key::new("spread", Kind::Bool, "true",
        "Spread signals evenly by the count of packets since the last signal; false gives independent (geometric) \
         signals.",
        "Floyd and Jacobson 1993 section 7");
    pub WAIT: bool = Key::new("wait", Kind::Bool, "true",
        "Send no signal for 1/pb packets after each signal, where pb is the base probability.", "ns-2 wait_");
    pub FIRST_COUNT: u64 = Key::new("first_count", Kind::Count { min: 0, max: 1 }, "1",
        "When an arrival is added to the count of packets since the last signal: before the test of this arrival (1), \
         or only after it was accepted (0).", "ns-2 (1); REDn (0)");
    pub NS2_GUARDS: bool = Key::new("ns2_guards", Kind::Bool, "false",
        "Do nothing while fewer than two packets wait (red on a buffer in bytes: while no packet waits), and spare the \
         arrival that crosses min_threshold.", "ns-2 red");
    pub INITIAL_AVERAGE: Level = Key::new("initial_average", Kind::Level, "0 packets",
        "The average before the first arrival.", "tailback, for tests with weight = 0");
    pub IDLE_START: IdleStarts = Key::choice("idle_start", "line-idle",
        "When idle time begins: when the line finds nothing to send, or with the transmission that leaves no packet \
         waiting.", "Floyd and Jacobson 1993 figure 2 (line-idle); ns-2 (last-departure)");
    pub IDLE_END: IdleEnds = Key::choice("idle_end", "arrival",
        "What ends idle time: any arrival; or only an arrival that is stored, where a refused arrival sets the \
         beginning of idle time anew.",
        "Floyd and Jacobson 1993 figure 2 (arrival); Liu 2001 (enqueue)");
}
