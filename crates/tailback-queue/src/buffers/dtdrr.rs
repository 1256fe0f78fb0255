//! Dynamic threshold deficit round robin: no queue may be longer than alpha times the free space.
//!
//! The policy is in [`drop::threshold`](crate::pieces::drop::threshold).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Unlimited};
use crate::pieces::assembly::over_drr;
use crate::pieces::by_name::Pieces;
use crate::pieces::drop::threshold::{self, ALPHA};
use crate::pieces::params::{port_params, port_probes};
use crate::pieces::schedule::drr::QUANTUM;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "dtdrr",
    family: "queue",
    title: "Dynamic threshold deficit round robin",
    summary: "Deficit round robin that refuses at the door of long queues. Measure: the queue's length and the free \
              space. \
              Function: a threshold of alpha times the free space. Action: a packet whose queue has reached the \
              threshold \
              is dropped on arrival (refused), one that does not fit as well (overflow); nothing stored is ever \
              dropped, \
              and it never marks.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 6; Choudhury and Hahne, 1998",
    params: port_params![ALPHA.param,
        QUANTUM.param; ],
    probes: port_probes![],
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
    over_drr(s, context, pieces, |_| Ok(threshold::build(s)))
}
