//! FQ-PIE: FQ-CoDel with a PIE on each queue.
//!
//! Like [`fq_codel`](crate::fair::fq_codel), with [`pie`](crate::aqm::pie) on each queue: an arriving packet is
//! marked or dropped with the probability of its own queue, instead of one at the head.
//!
//! From: RFC 8290 for the queues, RFC 8033 for PIE; G. Ramakrishnan, M. Bhasi, V. Saicharan, L. Monis, S. Patil, M.
//! Tahiliani, "FQ-PIE queue discipline in the Linux kernel", LCN 2019.
//!
//! Departures: the hash is ours. A full buffer drops a batch from the fattest queue, as in ns-3; Linux drops the
//! arrival.

use crate::aqm::pie::{Config, PROBES, Pie, pie_params};
use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Marks};
use crate::params::BEFORE;
use crate::pieces::assembly::flow_queueing;
use crate::pieces::classify::hash_sets::{COUNTS, WAYS_OR_NONE};
use crate::pieces::drop::batch::{DROP_BATCH, MEMORY};
use crate::pieces::params::{FLOW_BUFFER, FLOW_HASH_KEY, FLOW_QUEUES, of_each_queue};
use crate::pieces::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, QUEUE_BYTES, QUEUE_PACKETS};
use crate::pieces::schedule::drr_plus_plus::ETHERNET_QUANTUM;
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "fq-pie",
    family: "queue",
    title: "FQ-PIE",
    summary: "Flows hashed to queues that take turns, those that have just woken first, with a PIE on each. Measure: \
              the \
              delay in a flow's own queue. Function: a probability that moves while that is not at the reference. \
              Action: \
              drop (early), or with ecn mark; a full buffer drops a batch of the fattest queue (overload).",
    source: "Ramakrishnan et al., LCN 2019; RFC 8290; RFC 8033",
    params: pie_params![
        FLOW_BUFFER.param, FLOW_QUEUES.param, FLOW_HASH_KEY.param, WAYS_OR_NONE.param, ETHERNET_QUANTUM.param,
        DROP_BATCH.param, MEMORY.param; BEFORE
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
    ],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            also: const { &[Alias::linux("fq_pie"), Alias::ns3("FqPieQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["reference"],
            ..Facts::MAPPED
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let config = Config::from_settings(s)?;
    flow_queueing(s, context, move |stream| Box::new(Pie::new(config, stream)))
}
