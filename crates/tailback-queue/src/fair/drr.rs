//! Deficit round robin: queues take turns in bytes, and the longest queue loses when the buffer is full.
//!
//! The scheduler is in [`schedule::drr`](crate::pieces::schedule::drr), the policy in
//! [`drop::longest`](crate::pieces::drop::longest); the disciplines of `buffers/` are this one with another policy.

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::pieces::assembly::over_drr;
use crate::pieces::by_name::Pieces;
use crate::pieces::drop::longest;
use crate::pieces::index::length_index::TIE;
use crate::pieces::params::{COUNT_NEWCOMER, port_params, port_probes};
use crate::pieces::schedule::drr::QUANTUM;
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "drr",
    family: "queue",
    title: "Deficit round robin with longest-queue drop",
    summary: "A queue for each flow, or for several, that share one buffer and take turns on the line, a quantum of \
              bytes \
              a turn. Measure: each queue's length. Function: the longest. Action: when the buffer is full, the front \
              packet of the longest queue is dropped (overflow); it never marks.",
    source: "Shreedhar and Varghese 1995; McKenney 1990; Kantawala and Turner, WUCSE-2005-11, chapter 3",
    params: port_params![QUANTUM.param; TIE.param, COUNT_NEWCOMER.param],
    probes: port_probes![],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::OfPieces(build),
        admission: None,
        facts: Facts::MAPPED.also(const { &[Alias::ns2("DRR")] }),
    }
}

fn build<P: Packet + 'static>(
    s: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    over_drr(s, context, pieces, |stream| longest::build(s, s.size("buffer"), stream))
}
