//! Discard state deficit round robin: a queue that has reached its threshold is closed until it has been served empty.
//!
//! The policy is in [`drop::discard`](crate::pieces::drop::discard).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Unlimited};
use crate::pieces::assembly::over_drr;
use crate::pieces::by_name::Pieces;
use crate::pieces::drop::discard::{
    self, ALPHA, CLOSED, CLOSED_LIMIT, CLOSED_QUEUES, LIMIT_INITIAL, LIMIT_MAXIMUM, LIMIT_STEP, LIMITED, PERIOD,
};
use crate::pieces::params::{port_params, port_probes};
use crate::pieces::schedule::drr::QUANTUM;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "dsdrr",
    family: "queue",
    title: "Discard state deficit round robin",
    summary: "Deficit round robin that closes long queues until they are empty. Measure: the queue's length, the free \
              space, how many queues are closed. Function: a threshold of alpha times the free space, and a limit on \
              closed queues that follows the overflows. Action: what arrives at a closed queue, or closes it, is \
              dropped \
              on arrival (refused), what does not fit as well (overflow); nothing stored is ever dropped, and it never \
              marks.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 6",
    params: port_params![ALPHA.param,
        LIMITED.param,
        LIMIT_INITIAL.param,
        LIMIT_MAXIMUM.param,
        LIMIT_STEP.param,
        PERIOD.param,
        QUANTUM.param; ],
    probes: port_probes![CLOSED, CLOSED_QUEUES, CLOSED_LIMIT],
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
    over_drr(s, context, pieces, |_| Ok(discard::build(s)))
}
