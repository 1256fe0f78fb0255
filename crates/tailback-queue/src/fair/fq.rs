//! Fair queueing (FQ): packets leave in the order in which a server that sends all conversations at once would finish
//! them.
//!
//! The scheduler is in [`schedule::fair_queueing`](crate::pieces::schedule::fair_queueing), the drop rule in
//! [`drop::most_held`](crate::pieces::drop::most_held). `fqbit` adds the congestion bit.

use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Build, Entry, Facts};
use crate::params::COUNT_IN_SERVICE;
use crate::params::{AQM, BEFORE};
use crate::pieces::classify::conversations::{CONVERSATION, Conversations};
use crate::pieces::classify::per_flow::QUEUE_FLOW;
use crate::pieces::drop::DropPolicy;
use crate::pieces::drop::most_held::MostHeld;
use crate::pieces::index::length_index::Tie;
use crate::pieces::params::BUFFER;
use crate::pieces::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, Port, QUEUE_BYTES, QUEUE_PACKETS};
use crate::pieces::schedule::fair_queueing::{Fair, VIRTUAL_TIME};
use crate::pieces::store::Unit;
use tailback_base::model::Alias;
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Model, Packet, ProbeDef, Settings};

pub const DELTA: Key<u64> = Key::new(
    "delta",
    Kind::Bytes {
        min: 0,
        max: 1_000_000_000,
    },
    "0B",
    "How far a packet of a conversation that was idle may jump ahead, in turns of a byte (promptness).",
    "Demers, Keshav and Shenker 1989; 0 in Keshav 1991",
);

pub const CHARGE_DROPPED: Key<bool> = Key::new(
    "charge_dropped",
    Kind::Bool,
    "false",
    "Let a dropped packet count as service its conversation has had.",
    "false in Keshav 1991, true in Demers, Keshav and Shenker 1989",
);

pub const TIE: Key<Tie> = Key::new(
    "tie",
    Kind::Choice(&["fifo", "lowest"]),
    "fifo",
    "Who loses where several others than the newcomer hold most: who has held so much longest, or the lowest number.",
    "neither source says; with lowest, low numbers lose more",
);

pub static MODEL: Model = Model {
    name: "fq",
    family: "queue",
    title: "Fair queueing",
    summary: "Packets leave in the order in which bit-by-bit round robin between conversations would finish them. \
              Measure: each conversation's backlog. Function: who holds most. Action: when the buffer is full, the \
              packet \
              of that conversation that came last is dropped (overflow); it never marks.",
    source: "Demers, Keshav and Shenker, SIGCOMM 1989; Keshav, thesis 1991, chapter 6",
    params: &[
        BUFFER.param,
        DELTA.param,
        CHARGE_DROPPED.param,
        TIE.param,
        CONVERSATION.param,
        COUNT_IN_SERVICE.param,
        AQM,
        BEFORE,
    ],
    probes: &PROBES,
};

pub const PROBES: [ProbeDef; 7] = [
    BACKLOGGED,
    QUEUE_PACKETS,
    QUEUE_BYTES,
    EVICTED_BYTES,
    EVICTED_SHARE,
    QUEUE_FLOW,
    VIRTUAL_TIME,
];

/// The row of the list.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts::SEVERAL_QUEUES.also(const { &[Alias::ns2("FQ")] }),
    }
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    port(s, policy(s)?)
}

/// The drop rule of these settings.
///
/// # Errors
/// A tie rule that does not exist.
pub fn policy(s: &Settings) -> Result<MostHeld, Refusal> {
    Ok(MostHeld::new(Unit::of(s.get(&BUFFER)), s.get(&TIE)))
}

/// Fair queueing over this drop policy.
pub fn port<P: Packet + 'static, D: DropPolicy<P> + 'static>(
    s: &Settings,
    policy: D,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let conversations = Conversations::new(s.get(&CONVERSATION));
    let scheduler = Fair::new(s.get(&DELTA), s.get(&CHARGE_DROPPED));
    let port = Port::new(s.get(&BUFFER), conversations, scheduler, policy)
        // The newcomer is compared with the others, as the rule requires.
        .counting_newcomer(true)
        .counting_in_service(s.get(&COUNT_IN_SERVICE));
    Ok(Box::new(port.declaring(s.model.probes)))
}

#[cfg(test)]
#[path = "fq_tests.rs"]
mod tests;
