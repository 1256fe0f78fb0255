//! WF2Q: among the packets that a fluid server would have begun, sends the one it would finish first, with the exact
//! clock.
//!
//! The scheduler is in [`schedule::wf2q`](crate::pieces::schedule::wf2q).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::params::{AQM, BEFORE};
use crate::pieces::assembly::under;
use crate::pieces::by_name::{POLICY, Pieces};
use crate::pieces::params::{BUFFER, PORT_PROBES};
use crate::pieces::schedule::wf2q::Wf2q;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "wf2q",
    family: "queue",
    title: "Worst-case fair weighted fair queueing, exact",
    summary: "A queue for each flow; of the packets a fluid server would have begun to serve the one goes first that \
              it \
              would finish first. Measure: each queue's length. Function and action when the buffer is full: those of \
              the \
              policy; it never marks.",
    source: "Bennett and Zhang, INFOCOM 1996; Kantawala and Turner, WUCSE-2005-11, chapter 7",
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
    under(s, context, pieces, Wf2q::new())
}
