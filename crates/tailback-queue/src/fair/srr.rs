//! Smoothed round robin: a queue for each flow, visits by weight, and a limit for each queue.
//!
//! The scheduler is in [`schedule::srr`](crate::pieces::schedule::srr), the limit in
//! [`drop::queue_limit`](crate::pieces::drop::queue_limit). Departure from ns-2: each flow has its own queue, while
//! ns-2 has sixteen queues and a map (`port` has these pieces with any mapper); and the shared buffer has a limit
//! too.

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::params::{AQM, BEFORE};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::queue_limit::{LIMIT, QueueLimit};
use crate::pieces::params::{BUFFER, PORT_PROBES};
use crate::pieces::port::Port;
use crate::pieces::schedule::srr::{GRANULARITY, QUANTUM_OF_VISIT, Srr};
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "srr",
    family: "queue",
    title: "Smoothed round robin",
    summary: "A queue for each flow; visits by the integer parts of their weights, spread over the round. Measure: \
              each \
              queue's length. Function: its limit. Action: drop what arrives at a full queue (percap) or a full buffer \
              (overflow); it never marks.",
    source: "Guo, SIGCOMM 2001; ns-2 SRR",
    params: &[
        BUFFER.param,
        LIMIT.param,
        QUANTUM_OF_VISIT.param,
        GRANULARITY.param,
        AQM,
        BEFORE,
    ],
    probes: &PORT_PROBES,
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts::SEVERAL_QUEUES.also(const { &[Alias::ns2("SRR")] }),
    }
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let policy = QueueLimit::from_settings(s);
    let port = Port::new(s.get(&BUFFER), PerFlow::new(), Srr::from_settings(s), policy);
    Ok(Box::new(port.declaring(&PORT_PROBES)))
}
