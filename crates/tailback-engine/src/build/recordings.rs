//! What a scenario wants recorded, found by the names of things and of their probes.

use super::network::Built;
use crate::measure::recorder::{ALL, Recorder, Series, Source};
use crate::port::Queue;
use crate::sim::flow::Carrier;
use crate::spec::{RecordSpec, Sampling, Spec, Target};
use crate::traffic::application::Side;
use tailback_base::Duration;
use tailback_base::quantity::Refusal;

/// Declare the series and the log.
pub(super) fn declare(spec: &Spec, built: &mut Built) -> Result<(), Refusal> {
    if spec.record.is_empty() && !spec.log_drops {
        return Ok(());
    }
    let mut r = Recorder {
        log: spec.log_drops.then(Vec::new),
        ..Recorder::default()
    };
    r.port_series = vec![Vec::new(); built.sim.ports.len()];
    r.flow_series = vec![Vec::new(); built.sim.flows.len()];
    r.edge_series = vec![Vec::new(); built.sim.edges.len()];
    let mut samples: Vec<(Duration, Vec<u32>)> = Vec::new();
    for record in &spec.record {
        let first = r.series.len() as u32;
        for probe in &record.probes {
            series_of(record, probe, built, &mut r)?;
        }
        let added = first..r.series.len() as u32;
        match record.when {
            Sampling::Every(period) => samples.push((period, added.collect())),
            Sampling::OnChange => {
                for i in added {
                    match r.series[i as usize].source {
                        Source::Endpoint { flow, .. } | Source::Delivered { flow, .. } => {
                            built.sim.flows[flow as usize].watched = true;
                            r.flow_series[flow as usize].push(i);
                        }
                        Source::Edge { edge, .. } | Source::EdgeSent { edge, .. } => {
                            built.sim.edges[edge as usize].watched = true;
                            r.edge_series[edge as usize].push(i);
                        }
                        Source::Queue(p)
                        | Source::QueueBytes(p)
                        | Source::PortDelivered(p)
                        | Source::Discipline { port: p, .. }
                        | Source::Pushed { port: p, .. } => {
                            built.sim.ports[p as usize].watched = true;
                            r.port_series[p as usize].push(i);
                        }
                    }
                }
            }
        }
    }
    built.record(r, samples);
    built.sim.record_start();
    Ok(())
}

fn series_of(record: &RecordSpec, probe: &str, built: &Built, r: &mut Recorder) -> Result<(), Refusal> {
    let on_change = record.when == Sampling::OnChange;
    let mut add = |what: String, unit: &'static str, source: Source| {
        r.series.push(Series {
            what,
            probe: probe.to_string(),
            unit,
            source,
            on_change,
            times: vec![],
            values: vec![],
            indices: vec![],
        });
    };
    let unknown = || {
        Refusal::new(
            format!("there is no probe \"{probe}\""),
            "see `tailback describe` for the probes of each model",
        )
    };
    match &record.what {
        Target::Link { name, reverse } => {
            let full = if *reverse {
                format!("{name}.reverse")
            } else {
                name.clone()
            };
            let port = built.port_names.iter().position(|n| *n == full).ok_or_else(unknown)? as u32;
            let what = format!("link.{full}");
            match probe {
                "queue" => add(what, "packets", Source::Queue(port)),
                "queue_bytes" => add(what, "bytes", Source::QueueBytes(port)),
                "delivered_bytes" => add(what, "bytes", Source::PortDelivered(port)),
                _ => {
                    let Queue::Explicit(e) = &built.sim.ports[port as usize].queue else {
                        return Err(unknown());
                    };
                    let i = e
                        .server
                        .queue
                        .probes()
                        .iter()
                        .position(|p| p.name == probe)
                        .ok_or_else(unknown)?;
                    let def = &e.server.queue.probes()[i];
                    let probe = i as u16;
                    let source = match (on_change, def.per.is_empty()) {
                        (true, false) => Source::Pushed { port, probe },
                        (_, single) => Source::Discipline {
                            port,
                            probe,
                            index: if single { 0 } else { u32::MAX },
                        },
                    };
                    add(what, def.unit, source);
                }
            }
        }
        Target::Edge { name } => {
            for (i, e) in built.sim.edges.iter().enumerate() {
                let port = &built.port_names[e.port as usize];
                if !is_edge(port, name) {
                    continue;
                }
                let (what, edge) = (format!("edge.{port}"), i as u32);
                if probe == "packets" {
                    add(what, "packets", Source::EdgeSent { edge, index: ALL });
                    continue;
                }
                let probes = e.conditioner.probes();
                let i = probes.iter().position(|p| p.name == probe).ok_or_else(unknown)?;
                let index = if probes[i].per.is_empty() { 0 } else { ALL };
                let source = Source::Edge {
                    edge,
                    probe: i as u16,
                    index,
                };
                add(what, probes[i].unit, source);
            }
        }
        Target::Flows { group, reverse } => {
            let (side, suffix) = if *reverse {
                (Side::Destination, ".reverse")
            } else {
                (Side::Source, "")
            };
            for (id, f) in built.sim.flows.iter().enumerate() {
                if built.group_names[f.group as usize] != *group {
                    continue;
                }
                let what = format!("flows.{group}.{}{suffix}", f.index);
                let flow = id as u32;
                if probe == "goodput" {
                    add(what, "bytes", Source::Delivered { flow, by: side });
                    continue;
                }
                let Carrier::Connection(ends) = &f.carrier else {
                    return Err(unknown());
                };
                let probes = ends[side as usize].probes();
                let i = probes.iter().position(|p| p.name == probe).ok_or_else(unknown)?;
                let (probe, unit) = (i as u16, probes[i].unit);
                add(what, unit, Source::Endpoint { flow, side, probe });
            }
        }
    }
    Ok(())
}

/// Whether the edge at this port is meant by a name: that of the port, or `flows.NAME` for the hosts of a group.
fn is_edge(port: &str, name: &str) -> bool {
    let host = || {
        let rest = port.strip_prefix(name)?.strip_prefix('.')?;
        let number = rest.strip_suffix(".access")?;
        Some(number.bytes().all(|b| b.is_ascii_digit()))
    };
    port == name || (name.starts_with("flows.") && host() == Some(true))
}
