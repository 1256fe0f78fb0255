//! Ports whose queues take turns: deficit round robin with each way to drop, and the schedulers by weight.

use super::{NEEDS_A_LIMIT, UNDER_A_POLICY};
use crate::entry::Facts;
use crate::params::{AQM, BEFORE};
use crate::pieces::assembly::{over_drr, under};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::queue_limit::{LIMIT, QueueLimit};
use crate::pieces::drop::throughput::{QUEUE_RATE, Throughput};
use crate::pieces::drop::{discard, longest, sticky, threshold};
use crate::pieces::index::length_index::TIE;
use crate::pieces::index::rate_estimate::{Clocked, ESTIMATOR, Estimator, PerArrival, PerService, THETA, WEIGHT};
use crate::pieces::params::{BUFFER, COUNT_NEWCOMER, PORT_PROBES, port_params, port_probes};
use crate::pieces::port::Port;
use crate::pieces::schedule::drr as drr_turns;
use crate::pieces::schedule::drr::{Drr, QUANTUM, QUANTUM_OF, QUANTUM_OF_LEAST};
use crate::pieces::schedule::srr::{GRANULARITY, QUANTUM_OF_VISIT, Srr};
use tailback_base::model::Alias;
use tailback_base::{Param, join};

ports! {
    /// Deficit round robin: queues take turns in bytes, and the longest queue loses when the buffer is full.
    ///
    /// The scheduler is in [`schedule::drr`](crate::pieces::schedule::drr), the policy in
    /// [`drop::longest`](crate::pieces::drop::longest); the next four are this one with another policy.
    drr {
        name: "drr",
        title: "Deficit round robin with longest-queue drop",
        summary: "Each flow has a queue, or several flows share one. The queues share one buffer and take turns on the \
                  line, a quantum of bytes a turn. Measure: each queue's length. Function: the longest. Action: when \
                  the buffer is full, the front packet of the longest queue is dropped (overflow); it never marks.",
        source: "Shreedhar and Varghese 1995; McKenney 1990; Kantawala and Turner, WUCSE-2005-11, chapter 3",
        params: port_params!(&[QUANTUM.param], &[TIE.param, COUNT_NEWCOMER.param]),
        probes: port_probes!(),
        facts: Facts::MAPPED.also(const { &[Alias::ns2("DRR")] }),
        build: |s, context, pieces| {
            let buffer = s.get(&BUFFER);
            over_drr(s, context, pieces, |r| Ok(longest::build(s, buffer, r)?.in_buffer(buffer)))
        },
    }

    /// Throughput deficit round robin: deficit round robin in which the queue that has been served fastest loses.
    ///
    /// The policy is in [`drop::throughput`](crate::pieces::drop::throughput).
    tdrr {
        name: "tdrr",
        title: "Throughput deficit round robin",
        summary: "Deficit round robin that drops from the fastest. Measure: each queue's service rate, an average that \
                  outlives the queue. Function: the highest among the non-empty queues. Action: when the buffer is \
                  full, the front packet of that queue is dropped (overflow); it never marks.",
        source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
        params: port_params!(
            &[ESTIMATOR.param, WEIGHT.param, THETA.param, QUANTUM.param],
            &[TIE.param, COUNT_NEWCOMER.param]
        ),
        probes: port_probes!(&[QUEUE_RATE]),
        facts: NEEDS_A_LIMIT,
        build: |s, context, pieces| {
            let tie = s.get(&TIE);
            match Estimator::from_settings(s)? {
                Estimator::PerService(w) => {
                    over_drr(s, context, pieces, |r| Ok(Throughput::new(PerService::new(w), tie, r)))
                }
                Estimator::PerArrival(w) => {
                    over_drr(s, context, pieces, |r| Ok(Throughput::new(PerArrival::new(w), tie, r)))
                }
                Estimator::Clocked(theta) => {
                    over_drr(s, context, pieces, |r| Ok(Throughput::new(Clocked::new(theta), tie, r)))
                }
            }
        },
    }

    /// Queue-state deficit round robin: deficit round robin whose overflow victim stays the victim until it is the
    /// shortest.
    ///
    /// The policy is in [`drop::sticky`](crate::pieces::drop::sticky).
    qsdrr {
        name: "qsdrr",
        title: "Queue-state deficit round robin",
        summary: "Deficit round robin whose overflow victim is sticky. Measure: each queue's length. Function: the \
                  victim is the longest queue when it is chosen, and stays until it is strictly the shortest. Action: \
                  when the buffer is full, the victim's front packet is dropped (overflow); it never marks.",
        source: "Kantawala and Turner, WUCSE-2005-11, chapter 3",
        params: port_params!(&[QUANTUM.param], &[TIE.param, COUNT_NEWCOMER.param]),
        probes: port_probes!(&[sticky::VICTIM]),
        facts: NEEDS_A_LIMIT,
        build: |s, context, pieces| over_drr(s, context, pieces, |r| sticky::build(s, s.get(&BUFFER), r)),
    }

    /// Dynamic threshold deficit round robin: no queue may be longer than alpha times the free space.
    ///
    /// The policy is in [`drop::threshold`](crate::pieces::drop::threshold).
    dtdrr {
        name: "dtdrr",
        title: "Dynamic threshold deficit round robin",
        summary: "Deficit round robin that refuses at the door of long queues. Measure: the queue's length and the \
                  free space. Function: a threshold of alpha times the free space. Action: a packet whose queue has \
                  reached the threshold is dropped on arrival (refused), and so is a packet that does not fit \
                  (overflow). No stored packet is ever dropped; it never marks.",
        source: "Kantawala and Turner, WUCSE-2005-11, chapter 6; Choudhury and Hahne, 1998",
        params: port_params!(&[threshold::ALPHA.param, QUANTUM.param], &[]),
        probes: port_probes!(),
        facts: NEEDS_A_LIMIT,
        build: |s, context, pieces| over_drr(s, context, pieces, |_| Ok(threshold::build(s))),
    }

    /// Discard state deficit round robin: a queue that has reached its threshold is closed until it has been served
    /// empty.
    ///
    /// The policy is in [`drop::discard`](crate::pieces::drop::discard).
    dsdrr {
        name: "dsdrr",
        title: "Discard state deficit round robin",
        summary: "Deficit round robin that closes long queues until they are empty. Measure: the queue's length, the \
                  free space, how many queues are closed. Function: a threshold of alpha times the free space, and a \
                  limit on closed queues that follows the overflows. Action: a packet that arrives at a closed queue, \
                  or closes the queue, is dropped on arrival (refused), and so is a packet that does not fit \
                  (overflow). No stored packet is ever dropped; it never marks.",
        source: "Kantawala and Turner, WUCSE-2005-11, chapter 6",
        params: port_params!(join!(Param: discard::PARAMS, &[QUANTUM.param]), &[]),
        probes: port_probes!(discard::PROBES),
        facts: NEEDS_A_LIMIT,
        build: |s, context, pieces| over_drr(s, context, pieces, |_| Ok(discard::build(s))),
    }

    /// Weighted deficit round robin: quanta in proportion to the weights of flows.
    ///
    /// The scheduler is in [`schedule::drr`](crate::pieces::schedule::drr).
    wdrr {
        name: "wdrr",
        title: "Weighted deficit round robin",
        summary: "A queue for each flow; the queues take turns on the line, with a quantum in proportion to the flow's \
                  weight. Measure: each queue's length. Function and action when the buffer is full: those of the \
                  policy; it never marks.",
        source: "Shreedhar and Varghese 1995; Kantawala and Turner, WUCSE-2005-11, chapter 7",
        params: join!(Param: &[BUFFER.param, QUANTUM_OF_LEAST.param, QUANTUM_OF.param], UNDER_A_POLICY),
        probes: PORT_PROBES,
        facts: Facts::SEVERAL_QUEUES,
        build: |s, context, pieces| under(s, context, pieces, Drr::weighted(drr_turns::quantum(s), s.get(&QUANTUM_OF))),
    }

    /// Smoothed round robin: a queue for each flow, visits by weight, and a limit for each queue.
    ///
    /// The scheduler is in [`schedule::srr`](crate::pieces::schedule::srr), the limit in
    /// [`drop::queue_limit`](crate::pieces::drop::queue_limit). Departures from ns-2: each flow has a queue of its own,
    /// where ns-2 has sixteen queues and a map (`port` has these pieces with any mapper). The buffer that all share has
    /// a limit too.
    srr {
        name: "srr",
        title: "Smoothed round robin",
        summary: "A queue for each flow. In a round each queue has as many visits as the integer part of its weight, \
                  spread over the round. Measure: each queue's length. Function: its limit. Action: drop a packet that \
                  arrives at a full queue (percap) or a full buffer (overflow); it never marks.",
        source: "Guo, SIGCOMM 2001; ns-2 SRR",
        params: &[BUFFER.param, LIMIT.param, QUANTUM_OF_VISIT.param, GRANULARITY.param, AQM, BEFORE],
        probes: PORT_PROBES,
        facts: Facts::SEVERAL_QUEUES.also(const { &[Alias::ns2("SRR")] }),
        build: |s, _, _| {
            let policy = QueueLimit::from_settings(s);
            let port = Port::new(s.get(&BUFFER), PerFlow::new(), Srr::from_settings(s), policy);
            Ok(Box::new(port.changing(s, |_| false).declaring(PORT_PROBES)))
        },
    }
}
