//! A port whose pieces are all chosen by name: mapper, scheduler, drop policy and AQM.
//!
//! The other disciplines with several queues are ports with one or two fixed pieces. This one has none: every piece
//! is chosen. `fq-codel` is the port of hashed queues, `drr-plus-plus`, `batch-drop` and `codel`.

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::pieces::assembly::of_pieces;
use crate::pieces::by_name::{POLICY, Pieces};
use crate::pieces::params::{COUNT_NEWCOMER, port_params, port_probes};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "port",
    family: "queue",
    title: "A port of pieces by name",
    summary: "Several queues that share one buffer, with the mapper, scheduler, drop policy and AQM that are named. \
              Measure, \
              function and action are those of the pieces.",
    source: "tailback",
    params: port_params![POLICY; COUNT_NEWCOMER.param],
    probes: port_probes![],
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::OfPieces(build),
        admission: None,
        facts: Facts::MAPPED,
    }
}

fn build<P: Packet + 'static>(
    s: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    of_pieces(s, context, pieces)
}
