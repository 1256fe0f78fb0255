//! FQ-COBALT: FQ-CoDel with a COBALT on each queue, against flows that do not respond.
//!
//! Like [`fq_codel`](crate::fair::fq_codel), with [`cobalt`](crate::aqm::cobalt): there is no rule about the last
//! packets of a queue, the delay counts above `target` whatever the line's rate (`mtu = "0B"`), and a sojourn above
//! `blue_threshold` raises BLUE's probability. Packets that a full buffer drops do not affect a COBALT.
//!
//! From: Palmei et al., LANMAN 2019 (ns-3's FqCobalt), with the queues of RFC 8290.
//!
//! Departures: the hash is ours; within a set (`ways`) the search begins at the hashed queue, not at the first.

use crate::aqm::cobalt::{BLUE_THRESHOLD, BesideControl, Cobalt, Config, P_DOWN, P_UP, PROBES, TARGET};
use crate::aqm::codel::{CE_THRESHOLD, INTERVAL};
use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Marks};
use crate::marking::ecn_param;
use crate::params::BEFORE;
use crate::pieces::assembly::flow_queueing;
use crate::pieces::classify::hash_sets::{COUNTS, WAYS_OR_NONE};
use crate::pieces::drop::batch::{DROP_BATCH, MEMORY};
use crate::pieces::params::{FLOW_BUFFER, FLOW_HASH_KEY, FLOW_QUEUES, of_each_queue};
use crate::pieces::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, QUEUE_BYTES, QUEUE_PACKETS};
use crate::pieces::schedule::drr_plus_plus::ETHERNET_QUANTUM;
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Model, Packet, Param, Settings};

const QUANTUM: Key<u64> = Key::new(
    "quantum",
    ETHERNET_QUANTUM.param.kind,
    "1500B",
    ETHERNET_QUANTUM.param.doc,
    "ns-3: the MTU of the link",
);

const MTU: Key<u64> = Key::new(
    "mtu",
    Kind::Bytes { min: 0, max: 1_000_000 },
    "0B",
    "The delay is good below the time of four of these on the line; with 0B target alone counts.",
    "ns-3 has none",
);

pub static MODEL: Model = Model {
    name: "fq-cobalt",
    family: "queue",
    title: "FQ-COBALT",
    summary: "Flows hashed to queues that take turns, those that have just woken first, with a COBALT on each. \
              Measure: the \
              sojourn time in a flow's own queue. Function: CoDel's control law, and BLUE's probability. Action: mark \
              capable packets, drop others (sojourn); BLUE drops any, and a full buffer a batch of the fattest queue \
              (overload).",
    source: "Palmei et al., LANMAN 2019; RFC 8290",
    params: &[
        FLOW_BUFFER.param,
        FLOW_QUEUES.param,
        FLOW_HASH_KEY.param,
        WAYS_OR_NONE.param,
        QUANTUM.param,
        DROP_BATCH.param,
        MEMORY.param,
        TARGET.param,
        INTERVAL.param,
        MTU.param,
        P_UP.param,
        P_DOWN.param,
        Param::new(
            BLUE_THRESHOLD.param.name,
            BLUE_THRESHOLD.param.kind,
            "400ms",
            BLUE_THRESHOLD.param.doc,
            "ns-3",
        ),
        ecn_param!(
            "Mark capable packets instead of dropping them, where CoDel acts; BLUE drops them.",
            "ns-3"
        ),
        CE_THRESHOLD.param,
        BEFORE,
    ],
    probes: &[
        BACKLOGGED,
        QUEUE_PACKETS,
        QUEUE_BYTES,
        EVICTED_BYTES,
        EVICTED_SHARE,
        COUNTS[0],
        COUNTS[1],
        COUNTS[2],
        COUNTS[3],
        of_each_queue(PROBES[0]),
        of_each_queue(PROBES[1]),
        of_each_queue(PROBES[2]),
        of_each_queue(PROBES[3]),
    ],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            also: const { &[Alias::ns3("FqCobaltQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["target", "blue_threshold", "ce_threshold"],
            ..Facts::MAPPED
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let (config, mtu) = (Config::from_settings(s)?, s.get(&MTU));
    let beside = BesideControl::from_settings(s);
    flow_queueing(s, context, move |stream| {
        Box::new(Cobalt::new(config, mtu, beside, stream))
    })
}
