//! The workloads of a scenario: one member each, which opens connections between hosts.

use super::flows::Around;
use super::network::Network;
use crate::spec::{WorkloadFlows, WorkloadSpec};
use crate::traffic::application::NodeId;
use crate::traffic::workload::{Flows, Parts, Workload};
use tailback_base::quantity::Refusal;
use tailback_base::{Named, Time};

pub(super) fn add(net: &mut Network, w: &WorkloadSpec, around: &Around) -> Result<(), Refusal> {
    let library = around.hooks.library();
    let hosts: Vec<NodeId> = w.hosts.iter().map(|name| net.node(name)).collect();
    for (node, name) in hosts.iter().zip(&w.hosts) {
        net.set_edge_number(*node, around.number(name));
    }
    let connection = around.hooks.connection(&w.name, &w.transport)?.ok_or_else(|| {
        let problem = format!(
            "workloads open connections, but {} has no connections",
            w.transport.model.name
        );
        Refusal::new(problem, "give transport = \"tcp\"")
    })?;
    let stream_name = Named::new(around.seed).text("workload.").text(&w.name);
    let stream = |what: &str| stream_name.text(".").text(what).stream();
    let transport = net.described_transport(connection, stream_name.text(".transport"));
    net.spread(transport, w.paths, stream("paths").bits());
    let flows = match &w.flows {
        WorkloadFlows::Listed(all) => Flows::Listed(all.clone()),
        WorkloadFlows::Drawn {
            pattern,
            fan_in,
            gaps,
            sizes,
        } => Flows::Drawn {
            pattern: *pattern,
            fan_in: *fan_in,
            gaps: *gaps,
            sizes: library.law(sizes),
        },
    };
    let workload = Workload::new(Parts {
        hosts,
        flows,
        transport,
        most: w.most,
        keeps: w.keeps,
        streams: ["times", "pairs", "sizes"].map(stream),
    });
    let group = net.group(&w.name);
    let member = net.member(group, 0, stream_name);
    let stop = w.stop.map(|t| Time::ZERO + t).filter(|t| *t < around.end);
    net.feed(member, Box::new(workload), Time::ZERO + w.start, stop, true);
    net.keep_to_transport(member, transport);
    net.set_dscp(member, w.dscp);
    Ok(())
}
