//! Queue-state deficit round robin: when the buffer overflows, the same queue loses until it is the shortest.
//!
//! The policy is in [`drop::sticky`](crate::pieces::drop::sticky).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Unlimited};
use crate::pieces::assembly::over_drr;
use crate::pieces::by_name::Pieces;
use crate::pieces::drop::sticky::{self, VICTIM};
use crate::pieces::index::length_index::TIE;
use crate::pieces::params::{COUNT_NEWCOMER, port_params, port_probes};
use crate::pieces::schedule::drr::QUANTUM;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "qsdrr",
    family: "queue",
    title: "Queue-state deficit round robin",
    summary: "Deficit round robin whose overflow victim is sticky. Measure: each queue's length. Function: the victim \
              is \
              the longest queue when it is chosen, and stays until it is strictly the shortest. Action: when the \
              buffer \
              is full, the victim's front packet is dropped (overflow); it never marks.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: port_params![QUANTUM.param; TIE.param, COUNT_NEWCOMER.param],
    probes: port_probes![VICTIM],
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
    over_drr(s, context, pieces, |stream| sticky::build(s, s.size("buffer"), stream))
}
