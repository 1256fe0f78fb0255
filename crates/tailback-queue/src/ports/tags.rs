//! Ports whose packets leave in the order of tags: fair queueing, and the schedulers that approach it.

use super::UNDER_A_POLICY;
use crate::entry::{Facts, Marks, Unlimited};
use crate::params::{AQM, BEFORE, COUNT_IN_SERVICE};
use crate::pieces::assembly::{fair_queueing, under};
use crate::pieces::classify::conversations::CONVERSATION;
use crate::pieces::drop::share_mark::ShareMark;
use crate::pieces::drop::{most_held, share_mark};
use crate::pieces::params::{BUFFER, PORT_PROBES};
use crate::pieces::schedule::fair_queueing::{CHARGE_DROPPED, DELTA, VIRTUAL_TIME};
use crate::pieces::schedule::scfq::Scfq;
use crate::pieces::schedule::wf2q::Wf2q;
use crate::pieces::schedule::wf2q_plus::Wf2qPlus;
use tailback_base::model::Alias;
use tailback_base::{Param, ProbeDef, join};

ports! {
    /// Self-clocked fair queueing: fair queueing whose clock is the tag of the packet in service.
    ///
    /// The scheduler is in [`schedule::scfq`](crate::pieces::schedule::scfq).
    scfq {
        name: "scfq",
        title: "Self-clocked fair queueing",
        summary: "A queue for each flow. Packets leave in the order of finish tags, which grow with bytes over weight; \
                  the clock is the tag of the packet in service. Measure: each queue's length. Function and action \
                  when the buffer is full: those of the policy; it never marks.",
        source: "Golestani, INFOCOM 1994; Kantawala and Turner, WUCSE-2005-11, chapter 7",
        params: join!(Param: &[BUFFER.param], UNDER_A_POLICY),
        probes: PORT_PROBES,
        facts: Facts::SEVERAL_QUEUES,
        build: |s, context, pieces| under(s, context, pieces, Scfq::new()),
    }

    /// WF2Q+: as WF2Q, with a cheaper clock.
    ///
    /// The scheduler is in [`schedule::wf2q_plus`](crate::pieces::schedule::wf2q_plus).
    wf2q_plus {
        name: "wf2q-plus",
        title: "Worst-case fair weighted fair queueing, WF2Q+",
        summary: "A queue for each flow. Of the packets that are due, the one that would be finished first at \
                  shares by weight leaves first. Measure: each queue's length. Function and action when the buffer is \
                  full: those of the policy; it never marks.",
        source: "Bennett and Zhang, SIGCOMM 1996; Kantawala and Turner, WUCSE-2005-11, chapter 7",
        params: join!(Param: &[BUFFER.param], UNDER_A_POLICY),
        probes: PORT_PROBES,
        facts: Facts::SEVERAL_QUEUES,
        build: |s, context, pieces| under(s, context, pieces, Wf2qPlus::new()),
    }

    /// WF2Q serves packets that a fluid server has begun, in the order in which it ends them. The clock is exact.
    ///
    /// The scheduler is in [`schedule::wf2q`](crate::pieces::schedule::wf2q).
    wf2q {
        name: "wf2q",
        title: "Worst-case fair weighted fair queueing, exact",
        summary: "A queue for each flow. Only packets that a fluid server would have begun to serve may leave. Of \
                  these, the one that the fluid server would finish first leaves first. Measure: each queue's length. \
                  Function and action when the buffer is full: those of the policy; it never marks.",
        source: "Bennett and Zhang, INFOCOM 1996; Kantawala and Turner, WUCSE-2005-11, chapter 7",
        params: join!(Param: &[BUFFER.param], UNDER_A_POLICY),
        probes: PORT_PROBES,
        facts: Facts::SEVERAL_QUEUES,
        build: |s, context, pieces| under(s, context, pieces, Wf2q::new()),
    }

    /// Fair queueing (FQ): packets leave in the order in which a server that sends all conversations at once would be
    /// done with them.
    ///
    /// The scheduler is in [`schedule::fair_queueing`](crate::pieces::schedule::fair_queueing), the drop rule in
    /// [`drop::most_held`](crate::pieces::drop::most_held).
    fq {
        name: "fq",
        title: "Fair queueing",
        summary: "Packets leave in the order in which bit-by-bit round robin between conversations would finish them. \
                  Measure: each conversation's backlog. Function: which conversation holds the most. Action: when the \
                  buffer is full, the packet of that conversation that came last is dropped (overflow); it never \
                  marks.",
        source: "Demers, Keshav and Shenker, SIGCOMM 1989; Keshav, thesis 1991, chapter 6",
        params: &[
            BUFFER.param, DELTA.param, CHARGE_DROPPED.param, most_held::TIE.param, CONVERSATION.param,
            COUNT_IN_SERVICE.param, AQM, BEFORE,
        ],
        probes: FAIR_PROBES,
        facts: Facts::SEVERAL_QUEUES.also(const { &[Alias::ns2("FQ")] }),
        build: |s, _, _| Ok(fair_queueing(s, most_held::build(s))),
    }

    /// Fair queueing with the congestion bit: fair queueing that marks flows that hold much of the buffer.
    ///
    /// The rule is in [`drop::share_mark`](crate::pieces::drop::share_mark).
    fqbit {
        name: "fqbit",
        title: "Fair queueing with the congestion bit",
        summary: "Fair queueing that also marks. Measure: packets of the arriving conversation at the port, with the \
                  one on the line. Function: more than theta of its equal part of the buffer. Action: an arriving data \
                  packet is marked if it is ECN-capable; when the buffer is full, drops as fq.",
        source: "Keshav, thesis 1991, chapter 6",
        params: &[
            BUFFER.param, DELTA.param, CHARGE_DROPPED.param, most_held::TIE.param, share_mark::THETA.param,
            CONVERSATION.param, COUNT_IN_SERVICE.param, AQM, BEFORE,
        ],
        probes: FAIR_PROBES,
        facts: Facts {
            marks: Marks::Signal,
            unlimited: Some(Unlimited {
                why: "marks who holds more than a share of the buffer, and an unlimited one has no shares",
                ..Unlimited::leaves("fq")
            }),
            ..Facts::SEVERAL_QUEUES
        },
        build: |s, _, _| Ok(fair_queueing(s, ShareMark::new(most_held::build(s), s.get(&share_mark::THETA)))),
    }
}

const FAIR_PROBES: &[ProbeDef] = join!(ProbeDef: PORT_PROBES, &[VIRTUAL_TIME]);

#[cfg(test)]
#[path = "fq_tests.rs"]
mod fq_tests;
