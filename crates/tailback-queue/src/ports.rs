//! The ports that have names. Each is a combination of pieces, without its own code.
//!
//! A row says which pieces, which of their parameters a scenario may give, and what is known of the whole. The
//! algorithms are in [`pieces`](crate::pieces); a discipline with an algorithm that is not a piece has a file in
//! [`fair`](crate::fair).

use crate::aqm::delay::cobalt::{self, BLUE_THRESHOLD, BesideControl, Cobalt, P_DOWN, P_UP};
use crate::aqm::delay::codel::{self, COUNT_SHED, Codel, INTERVAL};
use crate::aqm::delay::pie::{self, Pie};
use crate::entry::{Build, Entry, Facts, Law, Marks, Unlimited};
use crate::params::{AQM, BEFORE, CE_THRESHOLD, COUNT_IN_SERVICE, ecn_key};
use crate::pieces::assembly::{fair_queueing, flow_queueing, of_pieces, over_drr, under};
use crate::pieces::catalogue::POLICY;
use crate::pieces::classify::conversations::CONVERSATION;
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::queue_limit::{LIMIT, QueueLimit};
use crate::pieces::drop::share_mark::{self, ShareMark};
use crate::pieces::drop::throughput::{QUEUE_RATE, Throughput};
use crate::pieces::drop::{discard, longest, most_held, sticky, threshold};
use crate::pieces::index::length_index::TIE;
use crate::pieces::index::rate_estimate::{Clocked, ESTIMATOR, Estimator, PerArrival, PerService, THETA, WEIGHT};
use crate::pieces::params::{
    BUFFER, COUNT_NEWCOMER, FLOW_PROBES, PORT_PROBES, flow_params, of_each_queue, port_params, port_probes,
};
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::{self as drr_turns, Drr, QUANTUM, QUANTUM_OF, QUANTUM_OF_LEAST};
use crate::pieces::schedule::drr_plus_plus::ETHERNET_QUANTUM;
use crate::pieces::schedule::fair_queueing::{CHARGE_DROPPED, DELTA, VIRTUAL_TIME};
use crate::pieces::schedule::scfq::Scfq;
use crate::pieces::schedule::srr::{GRANULARITY, QUANTUM_OF_VISIT, Srr};
use crate::pieces::schedule::wf2q::Wf2q;
use crate::pieces::schedule::wf2q_plus::Wf2qPlus;
use tailback_base::model::Alias;
use tailback_base::{Key, Kind, Model, Packet, Param, ProbeDef, join};

mod in_linux;

/// A row each: a module with its declaration, and its row of the list of disciplines.
macro_rules! ports {
    ($(
        $(#[$about:meta])*
        $row:ident {
            name: $name:literal,
            title: $title:literal,
            summary: $summary:literal,
            source: $source:literal,
            params: $params:expr,
            probes: $probes:expr,
            facts: $facts:expr,
            build: $build:expr,
        }
    )*) => {$(
        $(#[$about])*
        pub mod $row {
            use super::*;

            pub static MODEL: Model = Model {
                name: $name,
                family: "queue",
                title: $title,
                summary: $summary,
                source: $source,
                params: $params,
                probes: $probes,
            };

            /// The row of the list.
            pub const fn entry<P: Packet + 'static>() -> Entry<P> {
                Entry { model: &MODEL, build: Build::OfPieces($build), admission: None, facts: $facts }
            }
        }
    )*};
}

/// A port that acts when its buffer is short. Without a limit it is deficit round robin.
const NEEDS_A_LIMIT: Facts = Facts {
    unlimited: Some(Unlimited::leaves("drr")),
    ..Facts::MAPPED
};

/// What a port that is named after its scheduler, with a queue for each flow, has beside the scheduler's parameters.
const UNDER_A_POLICY: &[Param] = &[POLICY, AQM, BEFORE];

ports! {
    /// Deficit round robin: queues take turns in bytes, and the longest queue loses when the buffer is full.
    ///
    /// The scheduler is in [`schedule::drr`](crate::pieces::schedule::drr), the policy in
    /// [`drop::longest`](crate::pieces::drop::longest); the next four are this one with another policy.
    drr {
        name: "drr",
        title: "Deficit round robin with longest-queue drop",
        summary: "Each flow has a queue, or several have one together. The queues share one buffer and take turns on \
                  the line, a quantum of bytes a turn. Measure: each queue's length. Function: the longest. Action: \
                  when the buffer is full, the front packet of the longest queue is dropped (overflow); it never \
                  marks.",
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
                  reached the threshold is dropped on arrival (refused), one that does not fit as well (overflow); \
                  nothing stored is ever dropped, and it never marks.",
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
                  limit on closed queues that follows the overflows. Action: what arrives at a closed queue, or closes \
                  it, is dropped on arrival (refused), what does not fit as well (overflow); nothing stored is ever \
                  dropped, and it never marks.",
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

    /// Smoothed round robin: a queue a flow, visits by weight, and a limit for each queue.
    ///
    /// The scheduler is in [`schedule::srr`](crate::pieces::schedule::srr), the limit in
    /// [`drop::queue_limit`](crate::pieces::drop::queue_limit). Departures from ns-2: each flow has a queue of its own,
    /// where ns-2 has sixteen queues and a map (`port` has these pieces with any mapper). The buffer that all share has
    /// a limit too.
    srr {
        name: "srr",
        title: "Smoothed round robin",
        summary: "A queue for each flow. In a round each queue has as many visits as the integer part of its weight, \
                  spread over the round. Measure: each queue's length. Function: its limit. Action: drop what arrives \
                  at a full queue (percap) or a full buffer (overflow); it never marks.",
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

    /// Self-clocked fair queueing: fair queueing that reads its clock off the packet it is sending.
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
        summary: "A queue for each flow. Among the packets that are due, the one leaves first that would be finished \
                  first at shares by weight. Measure: each queue's length. Function and action when the buffer is \
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
        summary: "A queue for each flow. Among the packets that a fluid server would have begun to serve, the one \
                  leaves first that this server would finish first. Measure: each queue's length. Function and action \
                  when the buffer is full: those of the policy; it never marks.",
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

    /// FQ-CoDel: each flow its own queue, new flows first, and a CoDel on each queue.
    ///
    /// Flows are hashed to `queues` queues. The scheduler ([`drr_plus_plus`](crate::pieces::schedule::drr_plus_plus))
    /// serves queues that have just woken before standing queues, so that a flow that sends little does not wait for
    /// others; CoDel ([`crate::aqm::delay::codel`]) keeps each queue short; when the whole buffer is full, the fattest
    /// queue loses a batch ([`batch`](crate::pieces::drop::batch)). Measure: the sojourn time in a flow's own queue.
    /// Function: CoDel's control law. Action: a mark of capable packets, a drop of others (sojourn); drops of the
    /// fattest queue (overload).
    ///
    /// From: RFC 8290. It is a [`port`](mod@port) of these pieces; a test holds it equal to the same pieces named.
    ///
    /// Departures: the hash is ours. Marks need `ecn`, which is on. Cost of a packet: what the pieces cost, O(1).
    fq_codel {
        name: "fq-codel",
        title: "FQ-CoDel",
        summary: "Flows hashed to queues that take turns, those that have just woken first, with a CoDel on each. \
                  Measure: the sojourn time in a flow's own queue. Function: CoDel's control law. Action: mark capable \
                  packets, drop others (sojourn); a full buffer drops a batch of the fattest queue (overload).",
        source: "RFC 8290",
        params: join!(Param: &flow_params(ETHERNET_QUANTUM), &[
            codel::TARGET.param,
            INTERVAL.param,
            codel::MTU.param,
            ecn_key!("Mark capable packets instead of dropping them, where CoDel acts.", "RFC 8290 section 5.2.6")
                .param,
            CE_THRESHOLD.param,
            COUNT_SHED.param,
            BEFORE,
        ]),
        probes: join!(ProbeDef: FLOW_PROBES, &of_each_queue(codel::PROBES)),
        facts: Facts {
            acts_early: true,
            also: const { &[Alias::linux("fq_codel"), Alias::ns3("FqCoDelQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["target", "ce_threshold"],
            law: Some(Law::Sojourn),
            linux: Some(&in_linux::FQ_CODEL),
            ..Facts::MAPPED
        },
        build: |s, context, _| {
            let config = codel::Config::from_settings(s)?;
            flow_queueing(s, context, move |_| Box::new(Codel::new(config)))
        },
    }

    /// FQ-PIE: FQ-CoDel with a PIE on each queue.
    ///
    /// As [`mod@fq_codel`], with [`mod@pie`] on each queue: an arriving packet is marked or dropped with the
    /// probability of its own queue, instead of one at the head.
    ///
    /// From: RFC 8290 for the queues, RFC 8033 for PIE; G. Ramakrishnan, M. Bhasi, V. Saicharan, L. Monis, S. Patil, M.
    /// Tahiliani, "FQ-PIE queue discipline in the Linux kernel", LCN 2019.
    ///
    /// Departures: the hash is ours. A full buffer sheds a batch of the fattest queue, as ns-3 does; Linux drops the
    /// arrival.
    fq_pie {
        name: "fq-pie",
        title: "FQ-PIE",
        summary: "Flows hashed to queues that take turns, those that have just woken first, with a PIE on each. \
                  Measure: the delay in a flow's own queue. Function: a probability that moves while that is not at \
                  the reference. Action: drop (early), or with ecn mark; a full buffer drops a batch of the fattest \
                  queue (overload).",
        source: "Ramakrishnan et al., LCN 2019; RFC 8290; RFC 8033",
        params: join!(Param: &flow_params(ETHERNET_QUANTUM), pie::PARAMS, &[BEFORE]),
        probes: join!(ProbeDef: FLOW_PROBES, &of_each_queue(pie::PROBES)),
        facts: Facts {
            acts_early: true,
            also: const { &[Alias::linux("fq_pie"), Alias::ns3("FqPieQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["reference"],
            law: Some(Law::Delay("reference")),
            linux: Some(&in_linux::FQ_PIE),
            ..Facts::MAPPED
        },
        build: |s, context, _| {
            let config = pie::Config::from_settings(s)?;
            flow_queueing(s, context, move |stream| Box::new(Pie::new(config, stream)))
        },
    }

    /// FQ-COBALT: FQ-CoDel with a COBALT on each queue, against unresponsive flows.
    ///
    /// As [`mod@fq_codel`], with [`mod@cobalt`]: no rule about the last packets of a queue, the delay counts from
    /// `target` on whatever the line's rate (`mtu = "0B"`), and a sojourn above `blue_threshold` teaches BLUE. What a
    /// full buffer sheds touches no COBALT.
    ///
    /// From: Palmei et al., LANMAN 2019 (ns-3's FqCobalt), with the queues of RFC 8290.
    ///
    /// Departures: the hash is ours; within a set (`ways`) the search begins at the hashed queue, not at the first.
    fq_cobalt {
        name: "fq-cobalt",
        title: "FQ-COBALT",
        summary: "Flows hashed to queues that take turns, those that have just woken first, with a COBALT on each. \
                  Measure: the sojourn time in a flow's own queue. Function: CoDel's control law, and BLUE's \
                  probability. Action: mark capable packets, drop others (sojourn); BLUE drops any, and a full buffer \
                  a batch of the fattest queue (overload).",
        source: "Palmei et al., LANMAN 2019; RFC 8290",
        params: join!(Param: &flow_params(ETHERNET_QUANTUM.with_default("1500B", "ns-3: the MTU of the link")), &[
            cobalt::TARGET.param,
            INTERVAL.param,
            NO_PACKET_ON_THE_LINE.param,
            P_UP.param,
            P_DOWN.param,
            Param { default: "400ms", source: "ns-3", ..BLUE_THRESHOLD.param },
            ecn_key!("Mark capable packets instead of dropping them, where CoDel acts; BLUE drops them.", "ns-3").param,
            CE_THRESHOLD.param,
            BEFORE,
        ]),
        probes: join!(ProbeDef: FLOW_PROBES, &of_each_queue(cobalt::PROBES)),
        facts: Facts {
            acts_early: true,
            also: const { &[Alias::ns3("FqCobaltQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["target", "blue_threshold", "ce_threshold"],
            law: Some(Law::Sojourn),
            linux: Some(&in_linux::FQ_COBALT),
            ..Facts::MAPPED
        },
        build: |s, context, _| {
            let (config, mtu) = (cobalt::Config::from_settings(s)?, s.get(&NO_PACKET_ON_THE_LINE));
            let beside = BesideControl::from_settings(s);
            flow_queueing(s, context, move |stream| Box::new(Cobalt::new(config, mtu, beside, stream)))
        },
    }

    /// A port put together by name: any mapper, scheduler, drop policy and AQM.
    ///
    /// The others are ports with one piece or two of their own name. Here the scenario names each piece. `fq-codel` is
    /// the port of hashed queues, `drr-plus-plus`, `batch-drop` and `codel`.
    port {
        name: "port",
        title: "A port of pieces by name",
        summary: "Several queues that share one buffer, with a mapper, scheduler, drop policy and AQM of your choice. \
                  Measure, function and action are those of these parts.",
        source: "tailback",
        params: port_params!(&[POLICY], &[COUNT_NEWCOMER.param]),
        probes: port_probes!(),
        facts: Facts::MAPPED,
        build: of_pieces,
    }
}

/// The parameters of FQ-COBALT.
const NO_PACKET_ON_THE_LINE: Key<u64> = Key::new(
    "mtu",
    Kind::Bytes { min: 0, max: 1_000_000 },
    "0B",
    "The delay is also acceptable while it is below the time that four packets of this size take on the line. With 0B \
     only target counts.",
    "ns-3 has none",
);

const FAIR_PROBES: &[ProbeDef] = join!(ProbeDef: PORT_PROBES, &[VIRTUAL_TIME]);

#[cfg(test)]
#[path = "ports/flow_queueing_tests.rs"]
mod flow_queueing_tests;
#[cfg(test)]
#[path = "ports/fq_tests.rs"]
mod fq_tests;
