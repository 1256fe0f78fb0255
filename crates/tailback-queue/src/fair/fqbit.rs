//! Fair queueing with the congestion bit: [`fq`] that also marks conversations that hold much of the buffer.
//!
//! The rule is in [`drop::share_mark`](crate::pieces::drop::share_mark).

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts, Marks, Unlimited};
use crate::fair::fq::{self, CHARGE_DROPPED, DELTA, PROBES, TIE};
use crate::params::COUNT_IN_SERVICE;
use crate::params::{AQM, BEFORE};
use crate::pieces::classify::conversations::CONVERSATION;
use crate::pieces::drop::share_mark::{ShareMark, THETA};
use crate::pieces::params::BUFFER;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings};

pub static MODEL: Model = Model {
    name: "fqbit",
    family: "queue",
    title: "Fair queueing with the congestion bit",
    summary: "Fair queueing that also marks. Measure: packets of the arriving conversation at the port, with the one \
              on \
              the line. Function: more than theta of its equal part of the buffer. Action: an arriving data packet is \
              marked if it is ECN-capable; when the buffer is full, drops as fq.",
    source: "Keshav, thesis 1991, chapter 6",
    params: &[
        BUFFER.param,
        DELTA.param,
        CHARGE_DROPPED.param,
        TIE.param,
        THETA.param,
        CONVERSATION.param,
        COUNT_IN_SERVICE.param,
        AQM,
        BEFORE,
    ],
    probes: &PROBES,
};

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            marks: Marks::Signal,
            unlimited: Some(Unlimited {
                why: "marks who holds more than a share of the buffer, and an unlimited one has no shares",
                ..Unlimited::leaves("fq")
            }),
            ..Facts::SEVERAL_QUEUES
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    fq::port(s, ShareMark::new(fq::policy(s)?, s.get(&THETA)))
}
