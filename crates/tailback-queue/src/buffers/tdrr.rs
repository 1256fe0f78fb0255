//! Throughput deficit round robin: deficit round robin in which the queue that has been served fastest loses.
//!
//! The policy is in [`drop::throughput`](crate::pieces::drop::throughput).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Unlimited};
use crate::pieces::assembly::over_drr;
use crate::pieces::by_name::Pieces;
use crate::pieces::drop::throughput::{QUEUE_RATE, Throughput};
use crate::pieces::index::length_index::TIE;
use crate::pieces::index::rate_estimate::{Clocked, ESTIMATOR, Estimator, PerArrival, PerService, THETA, WEIGHT};
use crate::pieces::params::{COUNT_NEWCOMER, port_params, port_probes};
use crate::pieces::schedule::drr::QUANTUM;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "tdrr",
    family: "queue",
    title: "Throughput deficit round robin",
    summary: "Deficit round robin that drops from the fastest. Measure: each queue's service rate, an average that \
              outlives the queue. Function: the highest among the non-empty queues. Action: when the buffer is full, \
              the \
              front packet of that queue is dropped (overflow); it never marks.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: port_params![ESTIMATOR.param,
        WEIGHT.param,
        THETA.param,
        QUANTUM.param; TIE.param,
        COUNT_NEWCOMER.param],
    probes: port_probes![QUEUE_RATE],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::OfPieces(build),
        admission: None,
        facts: Facts {
            unlimited: Some(Unlimited::leaves("drr")),
            ..Facts::MAPPED
        },
    }
}

fn build<P: Packet + 'static>(
    s: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let tie = s.get(&TIE);
    match Estimator::from_settings(s)? {
        Estimator::PerService(w) => over_drr(s, context, pieces, |r| Ok(Throughput::new(PerService::new(w), tie, r))),
        Estimator::PerArrival(w) => over_drr(s, context, pieces, |r| Ok(Throughput::new(PerArrival::new(w), tie, r))),
        Estimator::Clocked(theta) => over_drr(s, context, pieces, |r| Ok(Throughput::new(Clocked::new(theta), tie, r))),
    }
}
