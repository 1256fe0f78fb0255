//! What CAKE is set by: its declaration and the checked values.

use super::length::{Framing, Length};
use super::scheme::{SCHEMES, Scheme};
use crate::aqm::cobalt::{self, P_DOWN, P_UP, TARGET};
use crate::aqm::codel::INTERVAL;
use crate::marking::ecn_param;
use crate::params::{BEFORE, chosen};
use crate::pieces::classify::hash_sets::{COUNTS, WAYS};
use crate::pieces::params::FLOW_QUEUES;
use crate::pieces::port::{BACKLOGGED, QUEUE_BYTES, QUEUE_PACKETS};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Kind, Model, Param, ProbeDef, Settings};

pub static MODEL: Model = Model {
    name: "cake",
    family: "queue",
    title: "CAKE",
    summary: "A shaper, three classes, a queue a flow, fair between hosts too, and a COBALT on each queue. Measure: the sojourn \
              time in a flow's own queue. Function: CoDel's control law, and BLUE's probability. Action: mark capable packets, \
              drop others (sojourn); BLUE drops any, and full memory the head of the longest queue (overload).",
    source: "Høiland-Jørgensen, Täht, Morton, LANMAN 2018; Linux cake",
    params: &[
        Param::new(
            "buffer",
            Kind::Size,
            "15503360B",
            "The most that may wait, whatever the memory rule allows.",
            "Linux cake: 10240 packets of 1514 B",
        ),
        Param::new(
            "memory",
            Kind::Bytes {
                min: 1,
                max: 1_000_000_000_000,
            },
            "none",
            "How many bytes may wait; without it 4 MiB, or what the rate sends in four intervals if that is more.",
            "Linux cake",
        ),
        Param::new(
            "rate",
            Kind::Rate { min: 1.0, max: 1e13 },
            "none",
            "Shape to this rate; without it packets go as fast as the line takes them.",
            "Linux cake (bandwidth)",
        ),
        Param::new(
            "tins",
            Kind::Choice(&["diffserv3", "diffserv4", "besteffort"]),
            "diffserv3",
            "Classes by DiffServ code point: bulk, best effort and voice; these and video, which has half of the rate; or one \
             for all.",
            "Høiland-Jørgensen, Täht, Morton 2018 section III.D; tc-cake(8)",
        ),
        Param::new(
            "isolation",
            Kind::Choice(&["triple", "dual-src", "dual-dst", "flows", "flowblind"]),
            "triple",
            "Between whom the line is shared: flows, and of these both hosts, source hosts or destination hosts; flows \
             alone; nobody.",
            "Linux cake",
        ),
        Param::new(
            FLOW_QUEUES.name,
            FLOW_QUEUES.kind,
            FLOW_QUEUES.default,
            "How many queues each class has.",
            "Linux cake",
        ),
        Param::new(
            WAYS.name,
            WAYS.kind,
            WAYS.default,
            "How many queues make a set, in which a flow that meets another takes a free one.",
            WAYS.source,
        ),
        TARGET,
        INTERVAL,
        P_UP,
        P_DOWN,
        ecn_param!(
            "Mark capable packets instead of dropping them, where CoDel acts; BLUE drops them.",
            "Linux cake, which always marks"
        ),
        Param::new(
            "overhead",
            Kind::Bytes { min: 0, max: 1000 },
            "0B",
            "What the link adds to each packet.",
            "Linux cake",
        ),
        Param::new(
            "mpu",
            Kind::Bytes { min: 0, max: 1000 },
            "0B",
            "The least a packet takes on the link.",
            "Linux cake",
        ),
        Param::new(
            "framing",
            Kind::Choice(&["plain", "atm", "ptm"]),
            "plain",
            "How the link frames: as it is, in cells of 48 of 53 B, or with a byte more in 64.",
            "Linux cake",
        ),
        Param::new(
            "ingress",
            Kind::Bool,
            "false",
            "The link to be spared lies before this queue: what is dropped has taken its time too.",
            "Linux cake",
        ),
        BEFORE,
    ],
    probes: &[
        BACKLOGGED,
        QUEUE_PACKETS,
        QUEUE_BYTES,
        ProbeDef {
            name: "tin_packets",
            unit: "packets",
            doc: "Packets in a class: best effort, bulk, voice.",
            per: "tin",
        },
        ProbeDef {
            name: "bulk_flows",
            unit: "queues",
            doc: "Queues of a class that have used up their first quantum.",
            per: "tin",
        },
        COUNTS[0],
        COUNTS[1],
        COUNTS[2],
        COUNTS[3],
    ],
};

/// Between whom the line is shared, beside flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    Triple,
    Source,
    Destination,
    Flows,
    /// One queue.
    Blind,
}

/// The checked values.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub rate: Option<BitRate>,
    /// Bytes.
    pub memory: u64,
    pub scheme: &'static Scheme,
    pub isolation: Isolation,
    pub queues: u32,
    pub ways: u32,
    /// Before it is fitted to the rate of a tin.
    pub cobalt: cobalt::Config,
    pub length: Length,
    pub ingress: bool,
}

const ISOLATIONS: [(&str, Isolation); 5] = [
    ("triple", Isolation::Triple),
    ("dual-src", Isolation::Source),
    ("dual-dst", Isolation::Destination),
    ("flows", Isolation::Flows),
    ("flowblind", Isolation::Blind),
];

const FRAMINGS: [(&str, Framing); 3] = [("plain", Framing::Plain), ("atm", Framing::Atm), ("ptm", Framing::Ptm)];

const MIB: u64 = 1 << 20;

impl Config {
    /// Read the settings of the model, for a line of this rate.
    ///
    /// # Errors
    /// A target above the interval; queues that do not make whole sets.
    pub fn from_settings(s: &Settings, line: BitRate) -> Result<Config, Refusal> {
        let rate = (!s.is_none("rate")).then(|| s.rate("rate"));
        let cobalt = cobalt::Config::from_settings(s)?;
        let (queues, ways) = (s.count("queues") as u32, s.count("ways") as u32);
        let isolation = chosen(s, "isolation", &ISOLATIONS)?;
        let blind = isolation == Isolation::Blind;
        if !blind && !queues.is_multiple_of(ways) {
            return Err(Refusal::new(
                format!("queues = {queues} are not whole sets of ways = {ways}"),
                format!("give queues = {}, or other ways", queues.next_multiple_of(ways)),
            ));
        }
        let four_intervals = rate.unwrap_or(line).bits_per_second() / 8.0 * 4.0 * cobalt.interval.seconds();
        Ok(Config {
            rate,
            memory: match s.is_none("memory") {
                true => (4 * MIB).max(four_intervals as u64),
                false => s.count("memory"),
            },
            scheme: chosen(s, "tins", &SCHEMES.each_ref().map(|scheme| (scheme.name, scheme)))?,
            isolation,
            queues: if blind { 1 } else { queues },
            ways: if blind { 1 } else { ways },
            cobalt,
            length: Length {
                overhead: s.count("overhead"),
                mpu: s.count("mpu"),
                framing: chosen(s, "framing", &FRAMINGS)?,
            },
            ingress: s.flag("ingress"),
        })
    }

    /// COBALT's values for a class of this rate: a packet and a half must fit into the target.
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
