//! Recordings: series of probes, rows by interval, the log of drops.

use super::lines::{Line, Lines};
use super::{Parts, losses, of, queues, tables};
use tailback_base::{Settings, Time};
use tailback_sim::declare::impairments::Impairment;
use tailback_sim::sim::flow::Snapshot;
use tailback_sim::sim::recorder::{ALWAYS, LogRow, Series};
use tailback_sim::spec::{RecordSpec, Sampling, Spec, Target};
use tailback_sim::traffic::churn::MEAN_HOLD;
use tailback_sim::wire::port::snapshot::PortSnapshot;
use tailback_transport::datagram::{DELAY, ROUND_TRIP};

/// A point of a series: its time, its index and its value.
const POINT: f64 = (size_of::<Time>() + size_of::<u32>() + size_of::<f64>()) as f64;
/// A growing vector has at most twice the memory of its contents.
const GROWS: f64 = 2.0;
/// The number of changes of a quantity per packet: at its arrival and at its departure.
const CHANGES: f64 = 2.0;
/// Probes that change less often than packets arrive, with changes per packet: states of a rule that crosses
/// thresholds.
const SELDOM: &[(&[&str], f64)] = &[
    (&["dynamic", "static", "effective", "source"], 0.05),
    (&["victim", "closed", "closed_queues"], 0.1),
];
/// Probes with a row for each packet that arrives.
const PER_PACKET: &[&str] = &[DELAY.name, ROUND_TRIP.name];
/// Probes that change when flows join, leave, or change their address.
const BY_FLOWS: &[&str] = &["flow_ratio", "queue_flow", "queue_flows"];
/// Rows of a sample by percentage.
const PERCENT: f64 = 101.0;
/// Rows of a sample by colour or class.
const COLOURS: f64 = 64.0;

/// Add the recordings.
pub fn add(parts: &mut Parts, spec: &Spec, lines: &Lines) {
    let seconds = spec.duration.seconds();
    for r in &spec.record {
        let (series, points) = points(r, spec, lines, seconds);
        let (rows, kept) = tables::rows("series", points);
        let own = series * (of::<Series>() + 160.0);
        parts.add(&format!("record.{}", r.name), own + GROWS * points * POINT + rows, kept);
    }
    if let Some(interval) = spec.interval {
        let intervals = (seconds - spec.warmup.seconds()) / interval.seconds() + 2.0;
        let flows: f64 = spec.flows.iter().map(|g| f64::from(g.count)).sum();
        let members: f64 = spec.sessions.iter().map(|s| f64::from(s.clients)).sum();
        let links = 2.0 * spec.links.len() as f64;
        let (row_bytes, kept_bytes) = tables::rows("intervals", intervals * (flows + members));
        let (link_rows, link_kept) = tables::rows("link_intervals", intervals * links);
        let groups = (spec.flows.len() + spec.sessions.len()) as f64;
        let (group_rows, group_kept) = tables::rows("group_intervals", intervals * groups);
        // A snapshot, and a row with names made from two of them.
        let snapshot_bytes =
            intervals * (flows + members) * 2.0 * of::<Snapshot>() + intervals * links * 2.0 * of::<PortSnapshot>();
        let groups = intervals * groups * of::<Snapshot>();
        parts.add(
            "interval",
            snapshot_bytes + groups + row_bytes + link_rows + group_rows,
            kept_bytes + link_kept + group_kept,
        );
    }
    if spec.log_drops {
        let drops = losses::rows(lines);
        let (rows, kept) = tables::rows("log", drops);
        parts.add("log_drops", GROWS * drops * of::<LogRow>() + rows, kept);
    }
}

/// The number of series of a recording, and the number of points in total.
fn points(r: &RecordSpec, spec: &Spec, lines: &Lines, seconds: f64) -> (f64, f64) {
    let (recorded, settings, line, changes) = match &r.what {
        Target::Link { name, reverse } => {
            let load = line(lines, name, *reverse);
            let passing = load.map_or(0.0, |l| CHANGES * (l.data + l.acks + 1.0));
            (1.0, load.map(|l| &l.spec.queue), load, passing)
        }
        Target::Flows { group, only, .. } => {
            let i = spec.flows.iter().position(|g| g.name == *group);
            let used = i.map(|i| &lines.flows[i]);
            let changes = used.map_or(0.0, |u| CHANGES * u.sent);
            let settings = i.map(|i| &spec.flows[i].transport);
            (
                i.map_or(0.0, |i| only.map_or(f64::from(spec.flows[i].count), |_| 1.0)),
                settings,
                None,
                changes,
            )
        }
        Target::Edge { name } => {
            let of_group = spec
                .flows
                .iter()
                .position(|g| name.strip_prefix("flows.") == Some(&g.name));
            let flows = of_group.map_or(1.0, |i| f64::from(spec.flows[i].count));
            let passing = match of_group {
                Some(i) => lines.flows[i].carried,
                None => lines
                    .all
                    .iter()
                    .filter(|l| l.name == *name)
                    .map(|l| l.data + l.acks)
                    .sum(),
            };
            (flows, None, None, CHANGES * 1.5 * passing)
        }
    };
    let mut values = 0.0;
    for probe in &r.probes {
        let indices = indices(
            settings,
            line,
            probe,
            spec,
            lines,
            matches!(r.what, Target::Edge { .. }),
        );
        values += match r.when {
            Sampling::Every(period) => recorded * indices * (seconds / period.seconds() + 2.0),
            Sampling::OnChange => recorded + indices * 2.0 + often(spec, probe, changes, &r.what) * copies(spec, probe),
        };
    }
    (recorded * r.probes.len() as f64, values)
}

/// The number of changes of a probe, if packets would change it this often.
fn often(spec: &Spec, probe: &str, changes: f64, what: &Target) -> f64 {
    if PER_PACKET.contains(&probe) {
        return changes / CHANGES;
    }
    if !matches!(what, Target::Link { .. }) {
        return changes;
    }
    if BY_FLOWS.contains(&probe) {
        let addresses = |g: &tailback_sim::spec::GroupSpec| {
            let kept = g.traffic.number(MEAN_HOLD.name).unwrap_or(f64::INFINITY);
            f64::from(g.count) * (4.0 + 4.0 * spec.duration.seconds() / kept)
        };
        return changes.min(spec.flows.iter().map(addresses).sum());
    }
    let seldom = SELDOM.iter().find(|(names, _)| names.contains(&probe));
    changes * seldom.map_or(1.0, |s| s.1)
}

/// The number of copies of a packet that may arrive, for a probe that has a row for each copy. There is one answer for
/// each copy.
fn copies(spec: &Spec, probe: &str) -> f64 {
    let directions = spec.links.iter().flat_map(|l| [&l.forward, &l.reverse]);
    let links = directions.flat_map(|d| &d.impairments);
    let private = spec.flows.iter().flat_map(|g| [&g.access, &g.exit]).flatten();
    let all = links.chain(private.flat_map(|a| &a.impairments));
    let share = |i: &Impairment| 1.0 + i.copied();
    if PER_PACKET.contains(&probe) {
        all.map(share).product()
    } else {
        1.0
    }
}

fn line<'l, 'a>(lines: &'l Lines<'a>, name: &str, reverse: bool) -> Option<&'l Line<'a>> {
    let full = if reverse {
        format!("{name}.reverse")
    } else {
        name.to_string()
    };
    lines.all.iter().find(|l| l.name == full)
}

/// The number of values of a sample of a probe.
fn indices(s: Option<&Settings>, l: Option<&Line>, probe: &str, spec: &Spec, lines: &Lines, edge: bool) -> f64 {
    if probe == "sojourn_percentiles" {
        return PERCENT;
    }
    if edge && probe == "packets" {
        return COLOURS.min(8.0);
    }
    let Some(s) = s else { return 1.0 };
    let own = s.probes();
    let per = own.iter().find(|p| p.name == probe).map_or("", |p| p.per);
    let flows = |_: &Spec| {
        2.0 * lines
            .flows
            .iter()
            .chain(&lines.sessions)
            .map(|u| u.brings.flows)
            .sum::<f64>()
            + 64.0
    };
    match per {
        "" => 1.0,
        "queue" => l.map_or(1.0, |l| {
            let all = queues::queues(s, l);
            // Of the other values only those that are not zero have rows.
            all.min(f64::from(ALWAYS) + 2.0 * l.flows + l.waiting)
        }),
        "flow" | "conversation" => flows(spec),
        _ => COLOURS,
    }
}
