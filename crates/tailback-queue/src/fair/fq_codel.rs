//! FQ-CoDel: each flow its own queue, new flows first, and a CoDel on each queue.
//!
//! Flows are hashed to `queues` queues. The scheduler ([`drr_plus_plus`](crate::pieces::schedule::drr_plus_plus))
//! serves queues that have just become active before those that stay backlogged, so a flow that sends little does not
//! wait. CoDel ([`crate::aqm::codel`]) keeps each queue short. When the whole buffer is full, the fattest queue loses
//! a batch ([`batch`](crate::pieces::drop::batch)). Measure: the sojourn time in a flow's own queue. Function:
//! CoDel's control law. Action: a mark for capable packets, a drop for others (sojourn); drops from the fattest queue
//! (overload).
//!
//! From: RFC 8290. It is a [`port`](crate::fair::port) of these pieces; a test compares it with the port that names
//! them.
//!
//! Departures: the hash is ours. Marks need `ecn`, which is on by default. Cost of a packet: that of the pieces,
//! O(1).

use crate::aqm::codel::{self, CE_THRESHOLD, COUNT_SHED, Codel, INTERVAL, MTU, PROBES, TARGET};
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
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "fq-codel",
    family: "queue",
    title: "FQ-CoDel",
    summary: "Flows hashed to queues that take turns, those that have just woken first, with a CoDel on each. \
              Measure: the \
              sojourn time in a flow's own queue. Function: CoDel's control law. Action: mark capable packets, drop \
              others \
              (sojourn); a full buffer drops a batch of the fattest queue (overload).",
    source: "RFC 8290",
    params: &[
        FLOW_BUFFER.param,
        FLOW_QUEUES.param,
        FLOW_HASH_KEY.param,
        WAYS_OR_NONE.param,
        ETHERNET_QUANTUM.param,
        DROP_BATCH.param,
        MEMORY.param,
        TARGET.param,
        INTERVAL.param,
        MTU.param,
        ecn_param!(
            "Mark capable packets instead of dropping them, where CoDel acts.",
            "RFC 8290 section 5.2.6"
        ),
        CE_THRESHOLD.param,
        COUNT_SHED.param,
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
    ],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            also: const { &[Alias::linux("fq_codel"), Alias::ns3("FqCoDelQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["target", "ce_threshold"],
            ..Facts::MAPPED
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let config = codel::Config::from_settings(s)?;
    flow_queueing(s, context, move |_| Box::new(Codel::new(config)))
}

#[cfg(test)]
#[path = "flow_queueing_tests.rs"]
mod tests;
