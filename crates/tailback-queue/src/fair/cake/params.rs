//! The parameters of CAKE: its declaration and the checked values.

use super::scheme::{Scheme, Tins};
use crate::aqm::delay::cobalt::{self, P_DOWN, P_UP, TARGET};
use crate::aqm::delay::codel::INTERVAL;
use crate::contract::testing::TestPacket;
use crate::fair::cake::Cake;
use crate::linux::{self, Linux, Preset, Unsaid, Value as Said, Word};
use crate::params::{BEFORE, ecn_key, profile};
use crate::pieces::classify::hash_sets::WAYS;
use crate::pieces::params::FLOW_QUEUES;
use crate::shape::length::{FRAMING, Length, MPU, OVERHEAD};
use tailback_base::model::{Probe, Profile, Value};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Key, Kind, Model, Param, Settings, Size, params};

pub static MODEL: Model = Model {
    name: "cake",
    family: "queue",
    title: "CAKE",
    summary: "A shaper with three classes, a queue for each flow, fair shares for flows and hosts, and a COBALT on \
              each queue. Measure: the sojourn time in a flow's own queue. Function: CoDel's control law, and BLUE's \
              probability. Action: mark ECN-capable packets, drop others (sojourn); BLUE drops any packet (overload); \
              when the memory is full, the head of the longest queue is dropped (overload).",
    source: "Høiland-Jørgensen, Täht, Morton, LANMAN 2018; Linux cake",
    params: PARAMS,
    probes: &Probe::defs(&Cake::<TestPacket>::READ),
};

params! {
    const PARAMS;

    pub BUFFER: Size = Key::new("buffer", Kind::Size, "15503360B",
        "The most that may wait, whatever `memory` allows.", "Linux cake: 10240 packets of 1514 B");
    MEMORY: Option<u64> = Key::new("memory", Kind::Bytes { min: 1, max: 1_000_000_000_000 }, "none",
        "How many bytes may wait. Default: 4 MiB, or what the rate sends in four intervals if that is more.",
        "Linux cake");
    pub(super) RATE: Option<BitRate> = Key::new("rate", Kind::Rate { min: 1.0, max: 1e13 }, "none",
        "Shape to this rate. Default: packets go as fast as the line takes them.", "Linux cake (bandwidth)");
    TINS: Tins = Key::choice("tins", "diffserv3",
        "Classes by DiffServ code point: three (bulk, best effort and voice); four (these and video, which has half of \
         the rate); eight, each with seven eighths of the rate of the class before; eight by precedence; or one for \
         all.",
        "Høiland-Jørgensen, Täht, Morton 2018 section III.D; tc-cake(8); Linux cake");
    ISOLATION: Isolation = Key::choice("isolation", "triple",
        "What shares the line evenly: hosts, and then the flows of each host, where hosts are counted at both ends, \
         at the source, or at the destination; flows, whichever host they belong to; or nothing, so that all packets \
         wait in one queue.", "Linux cake");
    TRANSLATED: Translated = Key::choice("translated", "neither",
        "The side whose hosts are behind address translation, so that they look like one host here. With `neither`, \
         the queue can tell all hosts apart, as with the option nat of Linux.", "tc-cake(8), nonat");
    OWN_FLOW_QUEUES = Param::new(FLOW_QUEUES.param.name, FLOW_QUEUES.param.kind, FLOW_QUEUES.param.default,
        "How many queues each class has.", "Linux cake");
    OWN_WAYS = Param::new(WAYS.param.name, WAYS.param.kind, WAYS.param.default,
        "How many queues make a set. A flow whose queue has another flow takes a free queue of its set.",
        WAYS.param.source);
    PROFILE = profile(PATHS);
    RTT: Option<Duration> = Key::new("rtt", Kind::Time { min: 1e-6, max: 3600.0 }, "none",
        "The round trip of most paths. The interval is set to it, and the target to a twentieth of it. Default: \
         `target` and `interval` have their own values.", "tc-cake(8)");
    TARGET;
    INTERVAL;
    P_UP;
    P_DOWN;
    OWN_ECN: Option<bool> = ecn_key!(
        "Mark ECN-capable packets where CoDel would drop them. BLUE also drops ECN-capable packets.",
        "Linux cake, which always marks");
    OVERHEAD;
    MPU;
    FRAMING;
    WASH: bool = Key::new("wash", Kind::Bool, "false",
        "Clear the DiffServ code point of each packet that leaves.", "tc-cake(8)");
    ACK_FILTER: AckFilter = Key::choice("ack_filter", "off",
        "Which ACKs are dropped among those that a later one of their flow makes redundant: no ACK, all except the \
         last two, or all except the last.", "tc-cake(8); Høiland-Jørgensen, Täht, Morton 2018 section III.C");
    INGRESS: bool = Key::new("ingress", Kind::Bool, "false",
        "Whether the slow link that the shaper protects lies before this queue. Dropped packets then count in the \
         shaper, since they have already used that link.", "Linux cake");
    BEFORE;
}

/// The words of tc-cake(8) for round trips. The values of the first one are those of `internet`.
const PATHS: &[Profile] = &[
    Profile {
        name: "default",
        doc: "Target and interval as they are given: 5 ms and 100 ms.",
        values: &[],
    },
    path("datacentre", "A round trip of 100 us.", &[("rtt", "100us")]),
    path("lan", "A round trip of 1 ms.", &[("rtt", "1ms")]),
    path("metro", "A round trip of 10 ms.", &[("rtt", "10ms")]),
    path("regional", "A round trip of 30 ms.", &[("rtt", "30ms")]),
    path("internet", "A round trip of 100 ms.", &[("rtt", "100ms")]),
    path("oceanic", "A round trip of 300 ms.", &[("rtt", "300ms")]),
    path("satellite", "A round trip of 1 s.", &[("rtt", "1s")]),
    path("interplanetary", "A round trip of an hour.", &[("rtt", "3600s")]),
];

const fn path(name: &'static str, doc: &'static str, values: &'static [(&'static str, &'static str)]) -> Profile {
    Profile { name, doc, values }
}

/// The words of tc-cake(8), including the words for a kind of line, which set several values.
pub static LINUX: Linux = Linux {
    built_in: &[linux::ALWAYS_MARKS],
    presets: &[
        line("docsis", "18B", "64B", "plain"),
        line("ethernet", "38B", "84B", "plain"),
        line("conservative", "48B", "", "atm"),
        line("raw", "0B", "", "plain"),
        line("bridged-ptm", "22B", "", "ptm"),
        line("pppoe-ptm", "30B", "", "ptm"),
        line("ipoa-vcmux", "8B", "", "atm"),
        line("ipoa-llcsnap", "16B", "", "atm"),
        line("bridged-vcmux", "24B", "", "atm"),
        line("bridged-llcsnap", "32B", "", "atm"),
        line("pppoa-vcmux", "10B", "", "atm"),
        line("pppoa-llc", "14B", "", "atm"),
        line("pppoe-vcmux", "32B", "", "atm"),
        line("pppoe-llcsnap", "40B", "", "atm"),
        Preset {
            values: [("rtt", "1000s"), ("", ""), ("", "")],
            ..line("interplanetary", "", "", "")
        },
        Preset {
            word: "ether-vlan",
            adds: true,
            ..line("", "4B", "", "")
        },
    ],
    ..Linux::new(
        "cake",
        &[
            Word::new(RATE.param.name, "bandwidth", Said::Rate, "none"),
            Word::choice(
                "translated",
                &[("neither", "nat"), ("source", "nonat"), ("destination", "nonat")],
                "neither",
            ),
            Word::choice(
                "isolation",
                &[
                    ("triple", "triple-isolate"),
                    ("dual-src", "dual-srchost"),
                    ("dual-dst", "dual-dsthost"),
                    ("flows", "flows"),
                    ("flowblind", "flowblind"),
                ],
                "triple",
            ),
            Word::new("ingress", "ingress", Said::Flag("ingress", "egress"), "false"),
            Word::choice(
                "ack_filter",
                &[
                    ("off", "no-ack-filter"),
                    ("conservative", "ack-filter"),
                    ("aggressive", "ack-filter-aggressive"),
                ],
                "off",
            ),
            Word::choice(
                "tins",
                &[
                    ("diffserv3", "diffserv3"),
                    ("diffserv4", "diffserv4"),
                    ("diffserv8", "diffserv8"),
                    ("precedence", "precedence"),
                    ("besteffort", "besteffort"),
                ],
                "diffserv3",
            ),
            Word::new("wash", "wash", Said::Flag("wash", "nowash"), "false"),
            Word::new("rtt", "rtt", Said::Time, "none"),
            Word::choice("profile", OF_PATHS, "default"),
            Word::new("interval", "rtt", Said::RoundTrip, "100ms").also(&["target"]),
            Word::new("memory", "memlimit", Said::Bytes, "none"),
            Word::new("buffer", "memlimit", Said::BytesOfPackets, "15503360B"),
            Word::new("overhead", "overhead", Said::Bytes, "0B").most(256),
            Word::new("mpu", "mpu", Said::Bytes, "0B").most(256),
            Word::choice(
                "framing",
                &[("plain", "noatm"), ("atm", "atm"), ("ptm", "ptm")],
                "plain",
            ),
            Word::new("", "split-gso", Said::Flag("split-gso", "no-split-gso"), "").unsaid(Unsaid::Told),
        ],
    )
};

/// The profiles and their names in `tc`. The word `interplanetary` of `tc` has another value.
const OF_PATHS: &[(&str, &str)] = &[
    ("datacentre", "datacentre"),
    ("lan", "lan"),
    ("metro", "metro"),
    ("regional", "regional"),
    ("internet", "internet"),
    ("oceanic", "oceanic"),
    ("satellite", "satellite"),
];

/// A kind of line, with the bytes that it adds to a packet, its smallest packet, and its framing.
const fn line(word: &'static str, overhead: &'static str, mpu: &'static str, framing: &'static str) -> Preset {
    Preset {
        word,
        values: [("overhead", overhead), ("mpu", mpu), ("framing", framing)],
        adds: false,
    }
}

/// Derives target and interval from `rtt`, if they are not given.
pub fn follow_rtt(mut s: Settings) -> Settings {
    if let Some(rtt) = s.get(&RTT) {
        s.lay(INTERVAL.name, Value::Time(rtt));
        s.lay(TARGET.name, Value::Time(Duration(rtt.0 / 20)));
    }
    s
}

tailback_base::choice! {
    /// The side on which all hosts look like one host.
    pub enum Translated {
        Neither = "neither",
        Source = "source",
        Destination = "destination",
    }

    /// Which redundant ACKs are dropped.
    pub enum AckFilter {
        Off = "off",
        /// All redundant ACKs except the last two.
        Conservative = "conservative",
        /// All redundant ACKs except the last.
        Aggressive = "aggressive",
    }
}

tailback_base::choice! {
    /// The hosts between which the line is shared, in addition to flows.
    pub enum Isolation {
        Triple = "triple",
        Source = "dual-src",
        Destination = "dual-dst",
        Flows = "flows",
        /// One queue.
        Blind = "flowblind",
    }
}

/// The checked values.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub rate: Option<BitRate>,
    /// The memory limit, bytes.
    pub memory: u64,
    pub scheme: &'static Scheme,
    pub isolation: Isolation,
    pub queues: u32,
    pub ways: u32,
    /// COBALT's values before they are adapted to the rate of a tin.
    pub cobalt: cobalt::Config,
    pub length: Length,
    pub ingress: bool,
    pub translated: Translated,
    pub wash: bool,
    pub ack_filter: AckFilter,
}

const MIB: u64 = 1 << 20;

impl Config {
    /// Read the settings of the model, for a line of this rate.
    ///
    /// # Errors
    /// A target above the interval, or a number of queues that is not a multiple of the set size.
    pub fn from_settings(s: &Settings, line: BitRate) -> Result<Config, Refusal> {
        let s = &follow_rtt(s.clone());
        let rate = s.get(&RATE);
        let cobalt = cobalt::Config::from_settings(s)?;
        let (queues, ways) = (s.get(&FLOW_QUEUES) as u32, s.get(&WAYS));
        let isolation = s.get(&ISOLATION);
        let blind = isolation == Isolation::Blind;
        if !blind && !queues.is_multiple_of(ways) {
            return Err(Refusal::new(
                format!("queues = {queues} is not a multiple of ways = {ways}"),
                format!("give queues = {}, or other ways", queues.next_multiple_of(ways)),
            ));
        }
        let four_intervals = rate.unwrap_or(line).bits_per_second() / 8.0 * 4.0 * cobalt.interval.seconds();
        Ok(Config {
            rate,
            memory: s.get(&MEMORY).unwrap_or((4 * MIB).max(four_intervals as u64)),
            scheme: s.get(&TINS).scheme(),
            isolation,
            queues: if blind { 1 } else { queues },
            ways: if blind { 1 } else { ways },
            cobalt,
            length: Length::from_settings(s),
            ingress: s.get(&INGRESS),
            translated: s.get(&TRANSLATED),
            wash: s.get(&WASH),
            ack_filter: s.get(&ACK_FILTER),
        })
    }

    /// COBALT's values for a class. The target is at least the time of one and a half packets at the rate of the class.
    pub fn cobalt_at(&self, mtu_time: Duration) -> cobalt::Config {
        let (t0, i0) = (self.cobalt.target, self.cobalt.interval);
        let target = t0.max(Duration(mtu_time.0 * 3 / 2));
        let interval = Duration((i0.0 + target.0 - t0.0).max(2 * target.0));
        cobalt::Config {
            target,
            interval,
            ..self.cobalt
        }
    }
}
