//! From a [`Spec`] and a seed to an [`Outcome`].

use crate::app::Application;
use crate::bursts::Bursts;
use crate::network::{Built, Direction, Network, QueueChoice, Transport};
use crate::packet::{MAX_TIME, SimPacket};
use crate::port::Queue;
use crate::record::{Recorder, Series, Source};
use crate::results::outcome::{Frame, Outcome};
use crate::settling::Settling;
use crate::spec::{AccessSpec, DirectionSpec, GroupSpec, Impairment, Instants, RecordSpec, Sampling, Spec, Target};
use crate::traffic::{self, Pattern, Sizes};
use std::collections::HashMap;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Ecn, Settings, Size, Stream, Time, Value};
use tailback_queue::{QueueDiscipline, registry};
use tailback_transport::registry::{self as connections, Connection};

/// Makes a discipline for one run, which may know what a discipline of the registry may.
pub type QueueMaker<'a> = &'a (dyn Fn(registry::Place) -> Box<dyn QueueDiscipline<SimPacket>> + Sync);

/// What a caller adds to a scenario from outside.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Disciplines that no scenario can name (written in Python, or in a test), by port: `bottleneck`,
    /// `bottleneck.reverse`.
    pub queues: HashMap<String, QueueMaker<'a>>,
    /// Called about every hundredth of the run with the share done; stops the run when it answers false.
    pub progress: Option<&'a dyn Fn(f64) -> bool>,
}

/// Run a scenario with a seed.
///
/// # Errors
/// What can only be known when the network is built: parameters of a model that contradict each other, a destination
/// that cannot be reached. Also an interruption by `hooks.progress`.
pub fn run(spec: &Spec, seed: u64, hooks: &Hooks) -> Result<Outcome, Refusal> {
    let Prepared {
        mut built,
        reported,
        from,
    } = prepare(spec, seed, hooks)?;
    let to = Time::ZERO + spec.duration;
    for part in 1..=100u64 {
        built
            .sim
            .run_until(Time((u128::from(to.0) * u128::from(part) / 100) as u64));
        if hooks.progress.is_some_and(|p| !p(part as f64 / 100.0)) {
            return Err(Refusal::new(
                "the run was interrupted",
                "run it again; finished runs are kept",
            ));
        }
    }
    built.sim.finish();
    let frame = Frame {
        port_names: &built.port_names,
        reported: &reported,
        groups: &built.group_names,
        from,
        to,
    };
    Ok(Outcome::read(&built.sim, &frame))
}

/// A network ready to run.
pub struct Prepared {
    pub built: Built,
    /// Ports of the declared links, in order of their names.
    pub reported: Vec<u32>,
    /// Start of the measured time.
    pub from: Time,
}

/// Build the network a spec describes.
///
/// # Errors
/// See [`run`].
pub fn prepare(spec: &Spec, seed: u64, hooks: &Hooks) -> Result<Prepared, Refusal> {
    if spec.duration.0 > MAX_TIME.0 {
        return Err(Refusal::new(
            format!("a run of {} is too long", spec.duration),
            "give at most 78h",
        ));
    }
    let mut net = Network::new(seed);
    let watched: Vec<&Target> = spec
        .record
        .iter()
        .filter(|r| r.when == Sampling::OnChange)
        .map(|r| &r.what)
        .collect();
    for l in &spec.links {
        let (from, to) = (net.node(&l.from), net.node(&l.to));
        let direction = |d: &DirectionSpec, reverse: bool| -> Result<Direction, Refusal> {
            let name = if reverse {
                format!("{}.reverse", l.name)
            } else {
                l.name.clone()
            };
            let observed = watched.iter().any(|t| {
                **t == Target::Link {
                    name: l.name.clone(),
                    reverse,
                }
            });
            let queue = match (hooks.queues.get(&name), registry::fused_limit(&d.queue)) {
                (Some(make), _) => QueueChoice::Discipline(make(place(d.rate, seed, &name))),
                // Departures of a fused queue are not events, so a queue watched at every change is simulated.
                (None, Some(limit)) if !observed => QueueChoice::DropTail(limit),
                _ => QueueChoice::Discipline(registry::build(&d.queue, place(d.rate, seed, &name))?),
            };
            let (impairments, rate_changes) = (d.impairments.clone(), d.rate_changes.clone());
            Ok(Direction {
                rate: d.rate,
                delay: d.delay,
                queue,
                impairments,
                rate_changes,
                quantiles: true,
            })
        };
        let (forward, reverse) = (direction(&l.forward, false)?, direction(&l.reverse, true)?);
        net.link(&l.name, from, to, forward, reverse);
    }
    for g in &spec.flows {
        add_group(&mut net, g, seed, Time::ZERO + spec.duration)?;
    }
    let mut built = net.build()?;
    let reported: Vec<u32> = (0..built.port_names.len() as u32)
        .filter(|p| {
            let name = &built.port_names[*p as usize];
            let base = name.strip_suffix(".reverse").unwrap_or(name);
            spec.links.iter().any(|l| l.name == base)
        })
        .collect();
    let from = Time::ZERO + spec.warmup;
    if spec.warmup.0 > 0 {
        built.warm_up(from);
    }
    if let Some(period) = spec.interval {
        built.intervals(period, from + period);
    }
    declare_recordings(spec, &mut built)?;
    Ok(Prepared { built, reported, from })
}

/// What a discipline may know of the port it is built for.
fn place(rate: BitRate, seed: u64, port: &str) -> registry::Place {
    let stream = Stream::new(seed, &format!("link.{port}.queue"));
    registry::Place { stream, rate }
}

fn add_group(net: &mut Network, g: &GroupSpec, seed: u64, end: Time) -> Result<(), Refusal> {
    let group = net.group(&g.name);
    let (from, to) = (net.node(&g.from), net.node(&g.to));
    let connection = if connections::is_connection(g.transport.model.name) {
        Some(Connection::resolve(&g.transport)?)
    } else {
        None
    };
    let (header, ecn) = match connection {
        Some(_) => (0, Ecn::NotEct),
        None => (
            g.transport.count("header") as u32,
            if g.transport.flag("ecn") {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            },
        ),
    };
    let starts = instants(
        &g.start,
        g.count,
        &[],
        &mut Stream::new(seed, &format!("flows.{}.start", g.name)),
    );
    let stops = g.stop.as_ref().map(|s| {
        instants(
            s,
            g.count,
            &starts,
            &mut Stream::new(seed, &format!("flows.{}.stop", g.name)),
        )
    });
    let sizes = Sizes::from_settings(&g.sizes);
    for i in 0..g.count {
        let name = format!("flows.{}.{i}", g.name);
        let source = match &g.access {
            Some(a) => {
                let host = net.node(&format!("{name}.source"));
                private_link(net, &format!("{name}.access"), a, i, host, from, &a.impairments, &[]);
                host
            }
            None => from,
        };
        let destination = match &g.exit {
            Some(a) => {
                let host = net.node(&format!("{name}.destination"));
                private_link(net, &format!("{name}.exit"), a, i, to, host, &a.impairments, &[]);
                host
            }
            None => to,
        };
        let transport = match &connection {
            Some(c) => Transport::Described(c.clone()),
            None => Transport::Datagrams { ecn },
        };
        let flow = net.flow(group, i, source, destination, transport);
        if g.traffic.model.name == "churn" {
            net.set_label(flow, Stream::new(seed, &format!("{name}.address")).bits() as u32);
        }
        net.set_weight(flow, g.weight[i as usize % g.weight.len()]);
        let start = starts[i as usize];
        let stop = stops.as_ref().map(|s| s[i as usize]).filter(|t| *t < end);
        let (source, listens): (Box<dyn Application>, bool) = if g.traffic.model.name == "bursts" {
            let segment = connection.as_ref().map_or(1, Connection::segment_bytes);
            (Box::new(bursts(&g.traffic, i, segment)), true)
        } else {
            let source = traffic::Source::new(pattern(&g.traffic, i), sizes.clone(), header, connection.is_some());
            (Box::new(source), false)
        };
        net.feed(flow, source, start, stop, listens);
        if let Some(m) = &g.meter {
            net.measure(flow, Settling::from_settings(m, i));
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn private_link(
    net: &mut Network,
    name: &str,
    a: &AccessSpec,
    i: u32,
    from: crate::app::NodeId,
    to: crate::app::NodeId,
    forward: &[Impairment],
    reverse: &[Impairment],
) {
    let (rate, delay) = (a.rate[i as usize % a.rate.len()], a.delay[i as usize % a.delay.len()]);
    let mut directions = [forward, reverse].map(|impairments| Direction {
        impairments: impairments.to_vec(),
        ..Direction {
            queue: QueueChoice::DropTail(Size::Unlimited),
            ..Direction::new(rate, delay)
        }
    });
    let back = std::mem::replace(&mut directions[1], Direction::new(rate, delay));
    let [there, _] = directions;
    net.link(name, from, to, there, back);
}

/// The value of a per-flow parameter for flow `i`.
fn nth<'a>(s: &'a Settings, name: &str, i: u32) -> &'a Value {
    let list = s.list(name);
    &list[i as usize % list.len()]
}

fn pattern(s: &Settings, i: u32) -> Pattern {
    let rate = || match nth(s, "rate", i) {
        Value::Rate(r) => *r,
        _ => BitRate(1),
    };
    match s.model.name {
        "transfer" => match nth(s, "size", i) {
            Value::Count(bytes) => Pattern::Transfer { bytes: *bytes },
            _ => Pattern::Bulk,
        },
        "cbr" => Pattern::Constant {
            rate: rate(),
            jitter: s.real("jitter"),
        },
        "poisson" => Pattern::Poisson { rate: rate() },
        "churn" => Pattern::Churn {
            rate: rate(),
            hold: (!s.is_none("mean_hold")).then(|| s.time("mean_hold")),
        },
        "on-off" => Pattern::OnOff {
            rate: rate(),
            on: s.time("mean_on"),
            off: s.time("mean_off"),
            exponential: s.text("distribution") == "exponential",
        },
        _ => Pattern::Bulk,
    }
}

/// The source of flow `i` of a group that sends bursts; a full segment carries `segment` bytes.
fn bursts(s: &Settings, i: u32, segment: u32) -> Bursts {
    let size = match nth(s, "size", i) {
        Value::Size(Size::Packets(n)) => n.saturating_mul(u64::from(segment)),
        Value::Size(Size::Bytes(n)) => *n,
        _ => u64::from(segment),
    };
    Bursts::new(size, s.time("mean_think"), s.text("distribution") == "exponential")
}

/// One instant a flow.
fn instants(what: &Instants, n: u32, starts: &[Time], rng: &mut Stream) -> Vec<Time> {
    match what {
        Instants::Listed(list) => (0..n as usize).map(|i| list[i % list.len()]).collect(),
        Instants::Uniform { from, to } => (0..n)
            .map(|_| *from + Duration((rng.uniform() * (to.0 - from.0) as f64) as u64))
            .collect(),
        Instants::Poisson {
            from,
            mean_gap,
            shuffled,
        } => {
            let mut t = *from;
            let mut next = || {
                t += Duration(rng.exponential(mean_gap.0 as f64) as u64);
                t
            };
            let mut all: Vec<Time> = (0..n).map(|_| next()).collect();
            if *shuffled {
                for i in (1..all.len()).rev() {
                    all.swap(i, rng.below(i as u64 + 1) as usize);
                }
            }
            all
        }
        Instants::After(list) => (0..n as usize)
            .map(|i| starts.get(i).copied().unwrap_or(Time::ZERO) + list[i % list.len()])
            .collect(),
    }
}

fn declare_recordings(spec: &Spec, built: &mut Built) -> Result<(), Refusal> {
    if spec.record.is_empty() && !spec.log_drops {
        return Ok(());
    }
    let mut r = Recorder {
        log: spec.log_drops.then(Vec::new),
        ..Recorder::default()
    };
    r.port_series = vec![Vec::new(); built.sim.ports.len()];
    r.flow_series = vec![Vec::new(); built.sim.flows.len()];
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
                        Source::Sender { flow, .. } | Source::Goodput(flow) => {
                            built.sim.flows[flow as usize].watched = true;
                            r.flow_series[flow as usize].push(i);
                        }
                        Source::Queue(p)
                        | Source::QueueBytes(p)
                        | Source::Delivered(p)
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
                "delivered_bytes" => add(what, "bytes", Source::Delivered(port)),
                _ => {
                    let Queue::Explicit(e) = &built.sim.ports[port as usize].queue else {
                        return Err(unknown());
                    };
                    let i = e
                        .queue
                        .probes()
                        .iter()
                        .position(|p| p.name == probe)
                        .ok_or_else(unknown)?;
                    let def = &e.queue.probes()[i];
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
        Target::Flows { group } => {
            for (id, f) in built.sim.flows.iter().enumerate() {
                if built.group_names[f.group as usize] != *group {
                    continue;
                }
                let what = format!("flows.{group}.{}", f.index);
                let flow = id as u32;
                if probe == "goodput" {
                    add(what, "bytes", Source::Goodput(flow));
                    continue;
                }
                let crate::flow::Carrier::Connection(ends) = &f.carrier else {
                    return Err(unknown());
                };
                let i = ends[0]
                    .probes()
                    .iter()
                    .position(|p| p.name == probe)
                    .ok_or_else(unknown)?;
                add(what, ends[0].probes()[i].unit, Source::Sender { flow, probe: i as u16 });
            }
        }
    }
    Ok(())
}
