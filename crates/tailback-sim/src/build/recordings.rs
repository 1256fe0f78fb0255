//! Finds the recordings of a scenario by the names of parts and of their probes.

use super::network::Built;
use crate::declare::tables::{
    DELIVERED_BYTES, GOODPUT, PASSED_PACKETS, SOJOURN_PERCENTILES, WAITING_BYTES, WAITING_PACKETS,
};
use crate::sim::flow::Carrier;
use crate::sim::recorder::{ALL, Arrival, Recorder, Series, Source};
use crate::spec::{RecordSpec, Sampling, Spec, Target};
use crate::traffic::application::Side;
use crate::wire::port::Queue;
use tailback_base::Duration;
use tailback_base::quantity::Refusal;
use tailback_base::work::counted_as;
use tailback_transport::datagram::{DELAY, ROUND_TRIP};

/// Declare the series and the log.
pub(super) fn declare(spec: &Spec, built: &mut Built) -> Result<(), Refusal> {
    if spec.record.is_empty() && !spec.log_drops {
        return Ok(());
    }
    let mut r = Recorder {
        log: spec.log_drops.then(Vec::new),
        ..Recorder::default()
    };
    r.port_series = vec![Vec::new(); built.sim.net.ports.len()];
    r.flow_series = vec![Vec::new(); built.sim.flows.all.len()];
    r.edge_series = vec![Vec::new(); built.sim.edges.all.len()];
    let mut samples: Vec<(Duration, Vec<u32>)> = Vec::new();
    for record in &spec.record {
        let first = r.series.len() as u32;
        for probe in &record.probes {
            series_of(record, probe, built, &mut r)?;
        }
        let added = first..r.series.len() as u32;
        for i in counted_as(4, added.clone()) {
            if let Source::Arrival { flow, .. } = r.series[i as usize].source {
                built.sim.flows.all[flow as usize].watched = true;
                r.flow_series[flow as usize].push(i);
            }
        }
        match record.when {
            Sampling::Every(period) => samples.push((period, added.collect())),
            Sampling::OnChange => {
                for i in counted_as(4, added) {
                    match r.series[i as usize].source {
                        // Each arrival reports its value itself, at whatever time it is recorded.
                        Source::Arrival { .. } => {}
                        Source::Endpoint { flow, .. } | Source::Payload { flow, .. } => {
                            built.sim.flows.all[flow as usize].watched = true;
                            r.flow_series[flow as usize].push(i);
                        }
                        Source::Edge { edge, .. } | Source::EdgeSent { edge, .. } => {
                            built.sim.edges.all[edge as usize].watched = true;
                            r.edge_series[edge as usize].push(i);
                        }
                        Source::Queue(p)
                        | Source::QueueBytes(p)
                        | Source::PortDelivered(p)
                        | Source::Discipline { port: p, .. } => {
                            built.sim.net.ports[p as usize].watched = true;
                            r.port_series[p as usize].push(i);
                        }
                        // The value changes with each packet that leaves.
                        Source::Sojourn { .. } => {
                            return Err(Refusal::new(
                                format!(
                                    "the probe \"{}\" is sampled at an interval, not on change",
                                    SOJOURN_PERCENTILES.name
                                ),
                                "replace on_change by every = \"1s\", or, for one sample, by every = its time",
                            ));
                        }
                        Source::Outside => {}
                    }
                }
            }
        }
    }
    built.record(r, samples);
    built.sim.record_start();
    Ok(())
}

/// The name of a series, its unit, and the source of its values.
type ProbeSource = (String, &'static str, Source);

fn series_of(record: &RecordSpec, probe: &str, built: &Built, r: &mut Recorder) -> Result<(), Refusal> {
    let on_change = record.when == Sampling::OnChange;
    let declared = match &record.what {
        Target::Link { name, reverse } => of_link(name, *reverse, probe, built).map(|series| vec![series]),
        Target::Edge { name } => of_edges(name, probe, built),
        Target::Flows { group, only, reverse } => of_flows((group, *only), *reverse, probe, built),
    };
    let unknown = || {
        Refusal::new(
            format!("there is no probe \"{probe}\""),
            "see `tailback describe` for the probes of each model",
        )
    };
    let series = declared
        .ok_or_else(unknown)?
        .into_iter()
        .map(|(what, unit, source)| Series::new(what, probe.to_string(), unit, source, on_change));
    r.series.extend(series);
    Ok(())
}

/// A probe of a port; `None` when there is no such probe.
fn of_link(name: &str, reverse: bool, probe: &str, built: &Built) -> Option<ProbeSource> {
    let full = match reverse {
        true => format!("{name}.reverse"),
        false => name.to_string(),
    };
    let port = built.port_names.find(&full)?;
    let series_name = format!("link.{full}");
    let of_every_port = [
        (WAITING_PACKETS, Source::Queue(port)),
        (WAITING_BYTES, Source::QueueBytes(port)),
        (DELIVERED_BYTES, Source::PortDelivered(port)),
        (SOJOURN_PERCENTILES, Source::Sojourn { port, percent: ALL }),
    ];
    if let Some((def, source)) = of_every_port.into_iter().find(|(def, _)| def.name == probe) {
        return Some((series_name, def.unit, source));
    }
    let Queue::Explicit(e) = &built.sim.net.ports[port as usize].queue else {
        return None;
    };
    let probes = e.server.queue.probes();
    let i = probes.iter().position(|p| p.name == probe)?;
    let single = probes[i].per.is_empty();
    let probe = i as u16;
    let source = Source::Discipline {
        port,
        probe,
        index: if single { 0 } else { ALL },
    };
    Some((series_name, probes[i].unit, source))
}

/// A probe of each edge that a name means.
fn of_edges(name: &str, probe: &str, built: &Built) -> Option<Vec<ProbeSource>> {
    let mut series = vec![];
    for (i, e) in counted_as(8, &built.sim.edges.all).enumerate() {
        let port = built.port_names.of(e.port);
        if !is_edge(&port, name) {
            continue;
        }
        let (series_name, edge) = (format!("edge.{port}"), i as u32);
        if probe == PASSED_PACKETS.name {
            series.push((series_name, PASSED_PACKETS.unit, Source::EdgeSent { edge, index: ALL }));
            continue;
        }
        let probes = e.conditioner.probes();
        let i = probes.iter().position(|p| p.name == probe)?;
        let index = if probes[i].per.is_empty() { 0 } else { ALL };
        let probe = i as u16;
        series.push((series_name, probes[i].unit, Source::Edge { edge, probe, index }));
    }
    Some(series)
}

/// A probe of the sources, or of the destinations, of each flow of a group, or of one of them.
fn of_flows((group, only): (&str, Option<u32>), reverse: bool, probe: &str, built: &Built) -> Option<Vec<ProbeSource>> {
    let (side, suffix) = match reverse {
        true => (Side::Destination, ".reverse"),
        false => (Side::Source, ""),
    };
    let mut series = vec![];
    for (id, f) in counted_as(32, &built.sim.flows.all).enumerate() {
        if built.group_names[f.group as usize] != *group || only.is_some_and(|n| f.index != n) {
            continue;
        }
        let (series_name, flow) = (format!("flows.{group}.{}{suffix}", f.index), id as u32);
        if probe == GOODPUT.name {
            series.push((series_name, GOODPUT.unit, Source::Payload { flow, by: side }));
            continue;
        }
        let ends = match &f.carrier {
            Carrier::Connection(ends) => ends,
            Carrier::Member(_) | Carrier::Closed => return None,
            Carrier::Datagrams { .. } | Carrier::Injected(_) => {
                let (unit, arrival) = of_datagrams(reverse, probe)?;
                series.push((series_name, unit, Source::Arrival { flow, what: arrival }));
                continue;
            }
        };
        let probes = ends[side as usize].probes();
        let i = probes.iter().position(|p| p.name == probe)?;
        let (probe, unit) = (i as u16, probes[i].unit);
        series.push((series_name, unit, Source::Endpoint { flow, side, probe }));
    }
    Some(series)
}

/// A probe of datagrams, or with `reverse` of their answers.
fn of_datagrams(reverse: bool, probe: &str) -> Option<(&'static str, Arrival)> {
    let all = [
        (DELAY, false, Arrival::There),
        (DELAY, true, Arrival::Back),
        (ROUND_TRIP, false, Arrival::RoundTrip),
    ];
    let row = all.iter().find(|(def, back, _)| def.name == probe && *back == reverse);
    row.map(|(def, _, arrival)| (def.unit, *arrival))
}

/// Whether a name means the edge at this port. The name is that of the port, or `flows.NAME` for the hosts of a group.
fn is_edge(port: &str, name: &str) -> bool {
    let host = || {
        let rest = port.strip_prefix(name)?.strip_prefix('.')?;
        let number = rest.strip_suffix(".access")?;
        Some(number.bytes().all(|b| b.is_ascii_digit()))
    };
    port == name || (name.starts_with("flows.") && host() == Some(true))
}
