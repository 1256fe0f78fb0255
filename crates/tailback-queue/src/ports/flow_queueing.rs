//! Flow queueing: flows hashed to queues, new flows first, and an AQM on each queue (RFC 8290).

use super::in_linux;
use crate::aqm::delay::cobalt::{BLUE_THRESHOLD, BesideControl, Cobalt, P_DOWN, P_UP};
use crate::aqm::delay::codel::{COUNT_SHED, Codel, INTERVAL};
use crate::aqm::delay::pie::Pie;
use crate::aqm::delay::{cobalt, codel, pie};
use crate::entry::{Facts, Law, Marks};
use crate::params::{BEFORE, CE_THRESHOLD, ecn_key};
use crate::pieces::assembly::flow_queueing;
use crate::pieces::params::{FLOW_PROBES, flow_params, of_each_queue};
use crate::pieces::schedule::drr_plus_plus::ETHERNET_QUANTUM;
use tailback_base::model::Alias;
use tailback_base::{Key, Kind, Param, ProbeDef, join};

ports! {
    /// FQ-CoDel: each flow its own queue, new flows first, and a CoDel on each queue.
    ///
    /// Flows are hashed to `queues` queues. The scheduler ([`drr_plus_plus`](crate::pieces::schedule::drr_plus_plus))
    /// serves queues that have just woken before standing queues, so that a flow that sends little does not wait for
    /// others; CoDel ([`crate::aqm::delay::codel`]) keeps each queue short; when the whole buffer is full, the fattest
    /// queue loses a batch ([`batch`](crate::pieces::drop::batch)). Measure: the sojourn time in a flow's own queue.
    /// Function: CoDel's control law. Action: a mark of ECN-capable packets, a drop of others (sojourn); drops of the
    /// fattest queue (overload).
    ///
    /// From: RFC 8290. It is a [`port`](mod@super::port) of these pieces; a test compares it with the same pieces by
    /// name.
    ///
    /// Departures: the hash is ours. Marks need `ecn`, which is on. Cost of a packet: what the pieces cost, O(1).
    fq_codel {
        name: "fq-codel",
        title: "FQ-CoDel",
        summary: "Flows are hashed to queues that take turns. Queues that have just become active go first. Each queue \
                  has a CoDel. Measure: the sojourn time in a flow's own queue. Function: CoDel's control law. Action: \
                  mark ECN-capable packets, drop others (sojourn); a full buffer drops a batch of the fattest queue \
                  (overload).",
        source: "RFC 8290",
        params: join!(Param: &flow_params(ETHERNET_QUANTUM), &[
            codel::TARGET.param,
            INTERVAL.param,
            codel::MTU.param,
            ecn_key!("Mark ECN-capable packets where CoDel would drop them.", "RFC 8290 section 5.2.6").param,
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
    /// Departures: the hash is ours. A full buffer drops a batch of the fattest queue, as in ns-3; Linux drops the
    /// arriving packet.
    fq_pie {
        name: "fq-pie",
        title: "FQ-PIE",
        summary: "Flows are hashed to queues that take turns. Queues that have just become active go first. Each queue \
                  has a PIE. Measure: the delay in a flow's own queue. Function: a probability that changes while the \
                  delay is not at the reference. Action: drop (early), or with ecn mark; a full buffer drops a batch \
                  of the fattest queue (overload).",
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
    /// `target` on whatever the line's rate (`mtu = "0B"`), and a sojourn above `blue_threshold` raises BLUE's
    /// probability. The drops of a full buffer change the state of no COBALT.
    ///
    /// From: Palmei et al., LANMAN 2019 (ns-3's FqCobalt), with the queues of RFC 8290.
    ///
    /// Departures: the hash is ours; within a set (`ways`) the search begins at the hashed queue, not at the first.
    fq_cobalt {
        name: "fq-cobalt",
        title: "FQ-COBALT",
        summary: "Flows are hashed to queues that take turns. Queues that have just become active go first. Each queue \
                  has a COBALT. Measure: the sojourn time in a flow's own queue. Function: CoDel's control law, and \
                  BLUE's probability. Action: mark ECN-capable packets, drop others (sojourn); BLUE drops any packet, \
                  and a full buffer drops a batch of the fattest queue (overload).",
        source: "Palmei et al., LANMAN 2019; RFC 8290",
        params: join!(Param: &flow_params(ETHERNET_QUANTUM.with_default("1500B", "ns-3: the MTU of the link")), &[
            cobalt::TARGET.param,
            INTERVAL.param,
            NO_PACKET_ON_THE_LINE.param,
            P_UP.param,
            P_DOWN.param,
            Param { default: "400ms", source: "ns-3", ..BLUE_THRESHOLD.param },
            ecn_key!(
                "Mark ECN-capable packets where CoDel would drop them. BLUE also drops ECN-capable packets.",
                "ns-3"
            )
            .param,
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
}

/// The `mtu` of FQ-COBALT.
const NO_PACKET_ON_THE_LINE: Key<u64> = Key::new(
    "mtu",
    Kind::Bytes { min: 0, max: 1_000_000 },
    "0B",
    "The delay is also acceptable while it is below the time that four packets of this size take on the line. With 0B \
     only target counts.",
    "ns-3 has none",
);

#[cfg(test)]
#[path = "flow_queueing_tests.rs"]
mod flow_queueing_tests;
