//! Self-clocked fair queueing: fair queueing that takes its clock from the packet being sent.
//!
//! The scheduler is in [`schedule::scfq`](crate::pieces::schedule::scfq).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::params::{AQM, BEFORE};
use crate::pieces::assembly::under;
use crate::pieces::by_name::{POLICY, Pieces};
use crate::pieces::params::{BUFFER, PORT_PROBES};
use crate::pieces::schedule::scfq::Scfq;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "scfq",
    family: "queue",
    title: "Self-clocked fair queueing",
    summary: "A queue for each flow, served by finish tags that grow with bytes over weight; the clock is the tag of \
              the \
              packet in service. Measure: each queue's length. Function and action when the buffer is full: those of \
              the \
              policy; it never marks.",
    source: "Golestani, INFOCOM 1994; Kantawala and Turner, WUCSE-2005-11, chapter 7",
    params: &[BUFFER.param, POLICY, AQM, BEFORE],
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
    under(s, context, pieces, Scfq::new())
}
