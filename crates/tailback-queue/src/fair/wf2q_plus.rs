//! WF2Q+: like WF2Q, with a clock that costs less.
//!
//! The scheduler is in [`schedule::wf2q_plus`](crate::pieces::schedule::wf2q_plus).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::params::{AQM, BEFORE};
use crate::pieces::assembly::under;
use crate::pieces::by_name::{POLICY, Pieces};
use crate::pieces::params::{BUFFER, PORT_PROBES};
use crate::pieces::schedule::wf2q_plus::Wf2qPlus;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "wf2q-plus",
    family: "queue",
    title: "Worst-case fair weighted fair queueing, WF2Q+",
    summary: "A queue for each flow; of the packets that are due the one goes first that would be done first, by \
              weights. \
              Measure: each queue's length. Function and action when the buffer is full: those of the policy; it never \
              marks.",
    source: "Bennett and Zhang, SIGCOMM 1996; Kantawala and Turner, WUCSE-2005-11, chapter 7",
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
    under(s, context, pieces, Wf2qPlus::new())
}
