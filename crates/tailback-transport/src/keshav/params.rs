//! The declarations of all parameters and probes of the sources.
//!
//! "Keshav 1991" is S. Keshav, Congestion Control in Computer Networks, thesis, Berkeley 1991, chapter 6. A parameter
//! without a source is not stated in that chapter, so its default is our choice.

use crate::segment::MOST_HEADER;
use tailback_base::model::{Key, Kind, Model, ProbeDef};
use tailback_base::{Duration, choice, params};

const KESHAV: &str = "Keshav 1991, chapter 6";
const TIME: Kind = Kind::Time {
    min: 1e-6,
    max: 86_400.0,
};
const FACTOR: Kind = Kind::Real { min: 1.0, max: 1e6 };
const WEIGHT: Kind = Kind::Real { min: 1e-6, max: 1.0 };
const PACKETS: Kind = Kind::Real { min: 1.0, max: 1e6 };

params! {
    // Parameters of all sources.
    pub PACKET: u32 = Key::new("packet", Kind::Bytes { min: 1, max: 65_000 }, "1000B",
        "Size of a data packet, without header. A longer write is cut into packets of this size; a shorter one is a \
         packet of its own.", KESHAV);
    pub HEADER: u32 = Key::new("header", Kind::Bytes { min: 0, max: MOST_HEADER as u64 }, "0B",
        "Bytes of a data packet on the wire in addition to its size.", "");
    pub ACK: u32 = Key::new("ack", Kind::Bytes { min: 1, max: 255 }, "40B", "Size of an acknowledgement.", KESHAV);
    pub WMAX: u32 = Key::new("wmax", Kind::Count { min: 1, max: 1_000_000 }, "5",
        "The largest window, in packets.", KESHAV);
    pub USE_ECHO: bool = Key::new("use_echo", Kind::Bool, "true",
        "Whether the source uses the number of the packet that each acknowledgement answers. Then it does not send \
         again packets that arrived out of order.", "");
    pub RTT0: Duration = Key::new("rtt0", TIME, "3s",
        "First estimate of the round trip, unless `rtt0_path` gives a larger one.", "");
    pub RTT0_PATH: f64 = Key::new("rtt0_path", Kind::Real { min: 0.0, max: 1e3 }, "2",
        "The first estimate is at least this many round trips of the empty path.", "");
    pub RTO_MIN: Duration = Key::new("rto_min", Kind::Time { min: 0.0, max: 3600.0 }, "1s",
        "A timeout without backoff is at least this.", "");
    pub RTO_MAX: Duration = Key::new("rto_max", TIME, "64s",
        "A timeout, backoff included, is at most this, or what rto_max_factor allows if that is more.", "");
    pub RTO_MAX_FACTOR: f64 = Key::new("rto_max_factor", FACTOR, "8",
        "A timeout, backoff included, is at most this many times the first one, or rto_max if that is more.", "");
    pub BACKOFF: f64 = Key::new("backoff", FACTOR, "2",
        "Factor on the timeout after each expiry.", "that it backs off: Keshav 1991, chapter 6");
    pub TICK: Duration = Key::new("tick", Kind::Time { min: 0.0, max: 10.0 }, "0s",
        "Granularity of the clock: samples and timers count whole ticks; 0s is an exact clock.", "BSD: 0.5 s");

    // Parameters of sources with a timer for each packet.
    pub BETA: f64 = Key::new("beta", FACTOR, "2",
        "A packet's timeout is this many estimates of the round trip.", KESHAV);
    pub GAIN: f64 = Key::new("gain", WEIGHT, "0.125", "Weight of a new round-trip sample.", KESHAV);
    pub SAMPLE: SampleFrom = Key::choice("sample", "first",
        "For a packet that was sent again: the transmission from which its round trip is measured.", KESHAV);
}

choice! {
    /// The transmission that a round trip is measured from.
    pub enum SampleFrom { First = "first", Last = "last" }
}

/// The parameters of all sources, followed by the parameters of one source.
macro_rules! source_params {
    ($wmax:expr; $($own:expr),* $(,)?) => {
        &[
            PACKET.param, HEADER.param, ACK.param, $wmax.param, USE_ECHO.param, RTT0.param, RTT0_PATH.param,
            RTO_MIN.param, RTO_MAX.param, RTO_MAX_FACTOR.param, BACKOFF.param, TICK.param, $($own.param),*
        ]
    };
}

params! {
    FIXED_WINDOW: u32 = Key::new("wmax", WMAX.param.kind, "5", "The window, in packets.", KESHAV);
    pub GENERIC_TIMER: GenericTimers = Key::choice("timer", "packet",
        "packet: a timer for each packet, started when the packet is sent. restart: one timer, which each \
         acknowledgement of new data restarts; when it expires, the oldest packet is sent again. restart-all: the \
         same timer; when it expires, all packets that were sent before its last start are sent again.", "");
}

pub static GENERIC: Model = Model {
    name: "generic",
    family: "transport",
    title: "Generic window flow control",
    summary: "A fixed window, a retransmission timer for each packet (or one for the oldest), and no reaction to \
              congestion: the flow control that Keshav's REAL simulator calls generic.",
    source: KESHAV,
    params: source_params!(FIXED_WINDOW; BETA, GAIN, SAMPLE, GENERIC_TIMER),
    probes: WINDOW_PROBES,
};

choice! {
    /// The timers of a generic source.
    pub enum GenericTimers { One = "restart", All = "restart-all", Each = "packet" }

    /// The rule for repeats.
    pub enum Repair { Own = "own", Timers = "timers" }

    /// Which packets have a timer.
    pub enum RetransmissionTimers { One = "restart", Each = "packet" }
}

params! {
    pub INITIAL_WINDOW: f64 = Key::new("initial_window", PACKETS, "1", "The window at the start, in packets.", KESHAV);
    pub INITIAL_SSTHRESH: Option<f64> = Key::new("initial_ssthresh", PACKETS, "none",
        "Slow-start threshold at the start, in packets. Default: wmax.", "");
    pub MIN_SSTHRESH: f64 = Key::new("min_ssthresh", PACKETS, "2",
        "The least slow-start threshold, in packets.", "Jacobson and Karels 1988");
    pub SHUT_WINDOW: f64 = Key::new("shut_window", PACKETS, "1", "The window after a loss, in packets.", KESHAV);
    pub DUPTHRESH: u32 = Key::new("dupthresh", Kind::Count { min: 1, max: 1000 }, "3",
        "A loss is taken as certain at this many duplicate acknowledgements in a row.", "4.3BSD-Tahoe");
    pub GO_BACK: bool = Key::new("go_back", Kind::Bool, "false",
        "What the source sends again after duplicate acknowledgements: if on, all packets that are outstanding and \
         not known to have arrived, as after a timeout.",
        "off: 4.3BSD-Tahoe");
    pub MEAN_GAIN: f64 = Key::new("mean_gain", WEIGHT, "0.125",
        "Weight of a new sample in the mean.", "Jacobson and Karels 1988");
    pub DEVIATION_GAIN: f64 = Key::new("deviation_gain", WEIGHT, "0.25",
        "Weight of a new error in the deviation.", "Jacobson and Karels 1988");
    pub K: f64 = Key::new("k", Kind::Real { min: 0.0, max: 100.0 }, "4",
        "A timeout is the mean plus this many deviations.", "4; 2 in 4.3BSD-Tahoe");
    pub TIMER: RetransmissionTimers = Key::choice("timer", "restart",
        "Which timers the source has: one that each acknowledgement of new data restarts, or one for each packet, from \
         its own transmission.",
        "restart: 4.3BSD");
    pub REPAIR: Repair = Key::choice("repair", "own",
        "What decides which packets are sent again. own: duplicates and the source's own timer. timers: each packet \
         has a timer as in a generic source (`beta`, `gain`, which have no effect otherwise) and is sent again \
         when it expires; duplicates and expiries shut the window.", "");
    pub FIRST_SAMPLES: u32 = Key::new("first_samples", Kind::Count { min: 0, max: 1000 }, "4",
        "Until this many round trips are measured, a timeout is at least the first estimate of the round trip.", "");
}

pub static JACOBSON_KARELS: Model = Model {
    name: "jacobson-karels",
    family: "transport",
    title: "Jacobson-Karels window flow control",
    summary: "Slow start, congestion avoidance and fast retransmit as in 4.3BSD-Tahoe, in packets: the window opens \
              exponentially, then linearly, and drops to one on a loss.",
    source: "Jacobson and Karels 1988; Keshav 1991, chapter 6",
    params: source_params!(WMAX;
        INITIAL_WINDOW, INITIAL_SSTHRESH, MIN_SSTHRESH, SHUT_WINDOW, DUPTHRESH, GO_BACK, MEAN_GAIN, DEVIATION_GAIN,
        K, TIMER, REPAIR, BETA, GAIN, FIRST_SAMPLES),
    probes: JACOBSON_KARELS_PROBES,
};

params! {
    pub INCREASE: f64 = Key::new("increase", Kind::Real { min: 0.0, max: 1e6 }, "1",
        "How many packets are added to the window when the share of set bits is below `threshold`.",
        "Ramakrishnan and Jain 1990");
    pub DECREASE: f64 = Key::new("decrease", Kind::Real { min: 0.0, max: 1.0 }, "0.875",
        "The factor on the window when the share of set bits is at least `threshold`.", "Ramakrishnan and Jain 1990");
    pub THRESHOLD: f64 = Key::new("threshold", Kind::Real { min: 0.0, max: 1.0 }, "0.5",
        "The window shrinks when at least this share of the bits is set.", "Ramakrishnan and Jain 1990");
    pub TIMEOUT_WINDOW: f64 = Key::new("timeout_window", PACKETS, "1", "The window after a timeout, in packets.", "");
}

pub static DECBIT: Model = Model {
    name: "decbit",
    family: "transport",
    title: "DECbit window flow control",
    summary: "Once in two windows the window grows by one packet or shrinks to 7/8, depending on how many \
              acknowledgements carry the congestion bit. The bit is congestion experienced (CE) on data packets and \
              the ECN echo on acknowledgements; `decsel` and `fqbit` queues set it.",
    source: "Ramakrishnan and Jain 1990; Keshav 1991, chapter 6",
    params: source_params!(WMAX;
        BETA, GAIN, SAMPLE, INITIAL_WINDOW.with_default("1", ""), INCREASE, DECREASE, THRESHOLD, TIMEOUT_WINDOW),
    probes: WINDOW_PROBES,
};

const KESHAV_LAW: &str = "Keshav 1991, 1994";
const THREE: Kind = Kind::List(&Kind::Real { min: 0.0, max: 1.0 });

choice! {
    /// The packets that the window limits.
    pub enum Limited { Packet = "packet", Pair = "pair" }

    pub enum QueueFrom { Outstanding = "outstanding", RoundTrip = "rtt" }

    pub enum ControlEvery { Probe = "probe", TwoRoundTrips = "2rtt" }
}

params! {
    MOST_OUTSTANDING: u32 = Key::new("wmax", Kind::Count { min: 2, max: 1_000_000 }, "60",
        "How many packets may be outstanding at most, whatever the rate says.", KESHAV);
    pub SETPOINT: f64 = Key::new("setpoint", Kind::Real { min: 0.0, max: 1e6 }, "5",
        "The target for the number of the source's packets in the bottleneck's queue.", KESHAV);
    pub LIMIT: Limited = Key::choice("limit", "packet",
        "What the window limit applies to: each packet, so that the second packet of a pair may have to wait; or a \
         pair, which waits if it does not fit as a whole.",
        "packet: 2.40 s and 1.00 s in tables 2 and 6 of Keshav 1991 are 4 and 5 packets outstanding");
    pub QUEUE_EST: QueueFrom = Key::choice("queue_est", "outstanding",
        "How the queue is estimated: from the packets outstanding beyond those that fill the empty path, or from the \
         round trip beyond the first one.", KESHAV_LAW);
    pub CONTROL_EVERY: ControlEvery = Key::choice("control_every", "probe",
        "When the rate is computed: at every gap, or at most once in two round trips.", KESHAV);
    pub SILENCE: f64 = Key::new("silence", Kind::Real { min: 1.0, max: 1e6 }, "4",
        "After this many round trips without a gap the rate is one packet a round trip.", "");
    pub ALPHA_PEAKS: Vec<f64> = Key::new("alpha_peaks", THREE, "[0, 0.3, 0.6]",
        "The smoothed errors that count fully as low, as middle and as high.", "");
    pub ALPHA_OUTPUTS: Vec<f64> = Key::new("alpha_outputs", THREE, "[0.9, 0.5, 0.1]",
        "Weight of the past gaps at each of the errors in `alpha_peaks`.", "");
    pub FILTER_PEAKS: Vec<f64> = Key::new("filter_peaks", THREE, "[0, 0.2, 0.4]",
        "The changes of the error that count fully as low, as middle and as high.", "");
    pub FILTER_OUTPUTS: Vec<f64> = Key::new("filter_outputs", THREE, "[0.1, 0.5, 0.9]",
        "Weight of the past errors at each of the changes in `filter_peaks`.", "");
}

pub static PACKET_PAIR: Model = Model {
    name: "packet-pair",
    family: "transport",
    title: "Packet-pair rate control",
    summary: "Sends pairs of packets. The gap between the acknowledgements of a pair shows the rate that a Fair \
              Queueing bottleneck gives to this conversation. The pairs are paced so that the bottleneck holds a few \
              packets of the conversation. Made for `fq` queues: with a FIFO the gap only shows the rate of the line.",
    source: "Keshav 1991, chapter 6; Keshav 1994",
    params: source_params!(MOST_OUTSTANDING;
        BETA, GAIN, SETPOINT, LIMIT, QUEUE_EST, CONTROL_EVERY, SILENCE, ALPHA_PEAKS, ALPHA_OUTPUTS, FILTER_PEAKS,
        FILTER_OUTPUTS),
    probes: PACKET_PAIR_PROBES,
};

const fn probe(name: &'static str, unit: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit,
        doc,
        per: "",
    }
}

const WIN: ProbeDef = probe("win", "packets", "the window");
const RTT: ProbeDef = probe("rtt", "s", "smoothed round-trip time");
const OUTSTANDING: ProbeDef = probe("outstanding", "packets", "packets sent and not known to have arrived");

pub const WINDOW_PROBES: &[ProbeDef] = &[
    WIN,
    RTT,
    probe("rto", "s", "retransmission timeout, without backoff"),
    OUTSTANDING,
];

pub const JACOBSON_KARELS_PROBES: &[ProbeDef] = &[
    WIN,
    probe("ssthresh", "packets", "slow-start threshold"),
    RTT,
    probe("deviation", "s", "smoothed mean deviation of the round-trip time"),
    probe("rto", "s", "retransmission timeout, backoff included"),
    OUTSTANDING,
];

pub const PACKET_PAIR_PROBES: &[ProbeDef] = &[
    WIN,
    RTT,
    probe("rto", "s", "retransmission timeout, without backoff"),
    OUTSTANDING,
    probe("probe_gap", "s", "gap between the acknowledgements of the last pair"),
    probe(
        "service_gap",
        "s",
        "estimated gap between the acknowledgements of a pair",
    ),
    probe("send_gap", "s", "inverse of the sending rate"),
    probe("alpha", "1", "weight of the past in the last estimate"),
    probe("queue_est", "packets", "packets believed to wait at the bottleneck"),
];
