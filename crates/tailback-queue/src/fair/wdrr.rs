//! Weighted deficit round robin: quanta in proportion to the weights of flows.
//!
//! The scheduler is in [`schedule::drr`](crate::pieces::schedule::drr).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::params::{AQM, BEFORE};
use crate::pieces::assembly::under;
use crate::pieces::by_name::{POLICY, Pieces};
use crate::pieces::params::{BUFFER, PORT_PROBES};
use crate::pieces::schedule::drr::{self, Drr, QUANTUM_OF_LEAST};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "wdrr",
    family: "queue",
    title: "Weighted deficit round robin",
    summary: "A queue for each flow; the queues take turns on the line, with a quantum in proportion to the flow's \
              weight. \
              Measure: each queue's length. Function and action when the buffer is full: those of the policy; it never \
              marks.",
    source: "Shreedhar and Varghese 1995; Kantawala and Turner, WUCSE-2005-11, chapter 7",
    params: &[BUFFER.param, QUANTUM_OF_LEAST.param, POLICY, AQM, BEFORE],
    probes: &PORT_PROBES,
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::OfPieces(build),
        admission: None,
        facts: Facts::SEVERAL_QUEUES,
    }
}

fn build<P: Packet + 'static>(
    s: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    under(s, context, pieces, Drr::weighted(drr::quantum(s)))
}
