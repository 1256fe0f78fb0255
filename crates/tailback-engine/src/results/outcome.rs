//! The tables of one run.

use crate::measure::histogram::Histogram;
use crate::measure::recorder::{Fate, Recorder};
use crate::results::table::{Cell, ColumnDef, Table};
use crate::sim::flow::{Flow, Snapshot, since};
use crate::sim::{EngineCounters, Sim};
use crate::traffic::bursts::BurstStats;
use std::sync::Arc;
use tailback_base::Time;
use tailback_queue::{DropReason, MarkReason, Place};
use tailback_transport::SenderReport;

/// Everything a run gives back.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One row a flow.
    pub flows: Table,
    /// One row a flow and interval, if the scenario asks for intervals.
    pub intervals: Table,
    /// One row a group of flows.
    pub groups: Table,
    /// One row a direction of a declared link.
    pub links: Table,
    /// Drops and marks of each such direction, by place and reason.
    pub losses: Table,
    /// Recorded probes.
    pub series: Table,
    /// One row a drop or mark, if the scenario asks for the log.
    pub log: Table,
    pub engine: EngineCounters,
}

pub static FLOWS: [ColumnDef; 32] = [
    ColumnDef::text("id", "the flow: its group and number"),
    ColumnDef::text("group", "the group it belongs to"),
    ColumnDef::real("start_s", "s", "when it started"),
    ColumnDef::real(
        "goodput_bps",
        "bit/s",
        "payload delivered in order, once, over the measured time",
    ),
    ColumnDef::real("goodput_wire_bps", "bit/s", "the same, counting whole packets"),
    ColumnDef::real(
        "throughput_bps",
        "bit/s",
        "everything that reached the destination, whole packets, repeats included",
    ),
    ColumnDef::count("sent_packets", "packets", "data packets sent, retransmissions included"),
    ColumnDef::count(
        "received_packets",
        "packets",
        "data packets that reached the destination",
    ),
    ColumnDef::count("retransmitted_packets", "packets", "data packets sent again"),
    ColumnDef::count("timeouts", "1", "retransmission timeouts"),
    ColumnDef::count("fast_retransmits", "1", "recoveries entered by duplicate ACKs or SACK"),
    ColumnDef::count("dropped_packets", "packets", "data packets lost on the way"),
    ColumnDef::count("marked_packets", "packets", "CE marks set on data packets on the way"),
    ColumnDef::real("delay_mean_s", "s", "one-way delay, first link to destination"),
    ColumnDef::real("delay_p50_s", "s", "its median"),
    ColumnDef::real("delay_p95_s", "s", "its 95th percentile"),
    ColumnDef::real("delay_p99_s", "s", "its 99th percentile"),
    ColumnDef::real("delay_max_s", "s", "its maximum"),
    ColumnDef::real("rtt_mean_s", "s", "round-trip time as the sender sampled it"),
    ColumnDef::real("rtt_min_s", "s", "its minimum over the life of the flow"),
    ColumnDef::real("rtt_max_s", "s", "its maximum over the life of the flow"),
    ColumnDef::text(
        "limited_by",
        "what held the sender back most of the time: network, window cap or application",
    ),
    ColumnDef::real(
        "limited_network",
        "1",
        "share of the sender's time the congestion window held it back",
    ),
    ColumnDef::real(
        "limited_window_cap",
        "1",
        "share of the time the window cap or advertised window did",
    ),
    ColumnDef::real("limited_application", "1", "share of the time it had nothing to send"),
    ColumnDef::count("ecn_reductions", "1", "window reductions that answered an ECN echo"),
    ColumnDef::count(
        "fresh_packets",
        "packets",
        "data packets that reached the destination and were no retransmissions",
    ),
    ColumnDef::count("rtt_samples", "1", "round-trip samples behind rtt_mean_s"),
    ColumnDef::count(
        "bursts",
        "1",
        "bursts that ended in the measured time; for traffic that comes in bursts",
    ),
    ColumnDef::real(
        "burst_time_mean_s",
        "s",
        "time of a burst, first byte handed over to last acknowledgement, mean",
    ),
    ColumnDef::real("burst_time_max_s", "s", "its maximum"),
    ColumnDef::real(
        "burst_goodput_wire_bps",
        "bit/s",
        "goodput while a burst is under way: data of the ended bursts, whole packets, over the sum of their times",
    ),
];

pub static INTERVALS: [ColumnDef; 20] = [
    ColumnDef::text("id", "the flow"),
    ColumnDef::text("group", "its group"),
    ColumnDef::real("from_s", "s", "start of the interval"),
    ColumnDef::real("to_s", "s", "end of the interval"),
    ColumnDef::real("goodput_bps", "bit/s", "payload delivered in order, once"),
    ColumnDef::real("goodput_wire_bps", "bit/s", "the same, counting whole packets"),
    ColumnDef::count("sent_packets", "packets", "data packets sent"),
    ColumnDef::count("dropped_packets", "packets", "data packets lost on the way"),
    ColumnDef::count("marked_packets", "packets", "CE marks set on the way"),
    ColumnDef::real("delay_mean_s", "s", "one-way delay"),
    ColumnDef::count(
        "received_packets",
        "packets",
        "data packets that reached the destination",
    ),
    ColumnDef::count(
        "fresh_packets",
        "packets",
        "of these, packets that were no retransmissions",
    ),
    ColumnDef::count("retransmitted_packets", "packets", "data packets sent again"),
    ColumnDef::count("timeouts", "1", "retransmission timeouts"),
    ColumnDef::count("fast_retransmits", "1", "recoveries entered by duplicate ACKs or SACK"),
    ColumnDef::real(
        "rtt_mean_s",
        "s",
        "round-trip time, mean of the samples of this interval",
    ),
    ColumnDef::count("rtt_samples", "1", "how many they are"),
    ColumnDef::real(
        "settled_s",
        "s",
        "until its rate stayed at what is reserved; for flows with a settling meter",
    ),
    ColumnDef::real(
        "settled_without_first_s",
        "s",
        "the same, the first delivery not counted",
    ),
    ColumnDef::real(
        "settled_sliding_s",
        "s",
        "the same, the rate taken over the sliding window",
    ),
];

pub static GROUPS: [ColumnDef; 18] = [
    ColumnDef::text("group", "the group of flows"),
    ColumnDef::count("flows", "1", "its flows"),
    ColumnDef::count("connections", "1", "connections its application opened and closed"),
    ColumnDef::real("goodput_bps_mean", "bit/s", "mean over its flows"),
    ColumnDef::real("goodput_bps_sd", "bit/s", "standard deviation over its flows"),
    ColumnDef::real("goodput_wire_bps_mean", "bit/s", "mean over its flows, whole packets"),
    ColumnDef::real(
        "goodput_wire_bps_sd",
        "bit/s",
        "standard deviation over its flows, whole packets",
    ),
    ColumnDef::real(
        "goodput_bps_sum",
        "bit/s",
        "all its flows (and closed connections) together",
    ),
    ColumnDef::real(
        "jain_index",
        "1",
        "Jain's fairness index of the goodputs: 1 when all are equal",
    ),
    ColumnDef::real("delay_mean_s", "s", "one-way delay, mean over its packets"),
    ColumnDef::count("sent_packets", "packets", "data packets sent"),
    ColumnDef::count("retransmitted_packets", "packets", "data packets sent again"),
    ColumnDef::count("timeouts", "1", "retransmission timeouts"),
    ColumnDef::count("dropped_packets", "packets", "data packets lost on the way"),
    ColumnDef::count("bursts", "1", "bursts that ended in the measured time"),
    ColumnDef::real(
        "burst_time_mean_s",
        "s",
        "time of a burst, mean over all bursts of the group",
    ),
    ColumnDef::real("burst_time_max_s", "s", "its maximum"),
    ColumnDef::real(
        "burst_goodput_wire_bps_mean",
        "bit/s",
        "goodput while a burst is under way, whole packets: mean over its flows that ended one",
    ),
];

pub static LINKS: [ColumnDef; 18] = [
    ColumnDef::text("name", "the link; its other direction ends in .reverse"),
    ColumnDef::real("rate_bps", "bit/s", "its rate at the end of the run"),
    ColumnDef::real("utilisation", "1", "share of the measured time the line was sending"),
    ColumnDef::real("throughput_bps", "bit/s", "delivered, whole packets"),
    ColumnDef::count("arrived_packets", "packets", "packets that reached its head"),
    ColumnDef::count("delivered_packets", "packets", "packets that reached its far end"),
    ColumnDef::count("dropped_packets", "packets", "packets lost at it, all reasons"),
    ColumnDef::count("marked_packets", "packets", "CE marks set at it, all reasons"),
    ColumnDef::real("loss_rate", "1", "dropped over arrived"),
    ColumnDef::real("mean_queue_packets", "packets", "waiting packets, mean over time"),
    ColumnDef::count("max_queue_packets", "packets", "waiting packets, maximum"),
    ColumnDef::real("sojourn_mean_s", "s", "arrival to start of transmission"),
    ColumnDef::real("sojourn_p50_s", "s", "its median"),
    ColumnDef::real("sojourn_p95_s", "s", "its 95th percentile"),
    ColumnDef::real("sojourn_p99_s", "s", "its 99th percentile"),
    ColumnDef::real("sojourn_max_s", "s", "its maximum"),
    ColumnDef::count("arrived_bytes", "bytes", "bytes that reached its head"),
    ColumnDef::real("wasted", "1", "bytes dropped after they were stored, over bytes stored"),
];

pub static LOSSES: [ColumnDef; 6] = [
    ColumnDef::text("link", "the link"),
    ColumnDef::text("event", "drop or mark"),
    ColumnDef::text("place", "arriving, queued or dequeued; empty for marks"),
    ColumnDef::text("reason", "why"),
    ColumnDef::count("packets", "packets", "how many"),
    ColumnDef::count("bytes", "bytes", "their bytes on the wire"),
];

pub static SERIES: [ColumnDef; 5] = [
    ColumnDef::text("what", "the link or flow"),
    ColumnDef::text("probe", "the quantity; its unit is in the reference of its model"),
    ColumnDef::count("index", "1", "which of several: a queue, a colour; else 0"),
    ColumnDef::real("time_s", "s", "when"),
    ColumnDef::real("value", "", "the value"),
];

pub static LOG: [ColumnDef; 8] = [
    ColumnDef::real("time_s", "s", "when"),
    ColumnDef::text("link", "where"),
    ColumnDef::text("flow", "whose"),
    ColumnDef::count("sequence", "1", "first byte of the segment, or number of the datagram"),
    ColumnDef::count("bytes", "bytes", "size on the wire"),
    ColumnDef::text("event", "drop or mark"),
    ColumnDef::text("place", "arriving, queued or dequeued; empty for marks"),
    ColumnDef::text("reason", "why"),
];

/// What the outcome needs to know beside the simulator's state.
pub struct Frame<'a> {
    pub port_names: &'a [String],
    /// Ports that are reported, in order.
    pub reported: &'a [u32],
    pub groups: &'a [String],
    /// Start of the measured time.
    pub from: Time,
    pub to: Time,
}

/// Mean and sample standard deviation.
pub fn mean_sd(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    if x.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mean = x.iter().sum::<f64>() / n;
    let var = if x.len() > 1 {
        x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)
    } else {
        0.0
    };
    (mean, libm::sqrt(var))
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2); NaN for no flows or no traffic.
pub fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    let squares: f64 = x.iter().map(|v| v * v).sum();
    if squares > 0.0 {
        sum * sum / (x.len() as f64 * squares)
    } else {
        f64::NAN
    }
}

fn quantiles(h: Option<&Histogram>) -> [f64; 5] {
    h.map_or([f64::NAN; 5], |h| {
        [h.mean(), h.quantile(0.5), h.quantile(0.95), h.quantile(0.99), h.max()]
    })
}

/// The longest burst, seconds; NaN before the first has ended.
fn longest(b: &BurstStats) -> f64 {
    if b.count > 0 { b.longest.seconds() } else { f64::NAN }
}

fn wire_ratio(s: &Snapshot) -> f64 {
    let payload = s.received_payload_bytes;
    if payload > 0 {
        s.received_wire_bytes as f64 / payload as f64
    } else {
        1.0
    }
}

fn rtt_mean(r: &SenderReport) -> f64 {
    if r.rtt_samples > 0 {
        r.rtt_sum / r.rtt_samples as f64
    } else {
        f64::NAN
    }
}

impl Outcome {
    /// Read a simulator that has run to `frame.to`.
    pub fn read(sim: &Sim, frame: &Frame) -> Outcome {
        let seconds = (frame.to - frame.from).seconds();
        let names: Vec<Arc<str>> = frame.groups.iter().map(|g| g.as_str().into()).collect();
        let id_of = |f: &Flow| -> Arc<str> { format!("{}.{}", frame.groups[f.group as usize], f.index).into() };
        let declared = || sim.flows.iter().enumerate().filter(|(_, f)| f.declared);

        let mut flows = Table::new("flows", &FLOWS);
        let no_bursts = BurstStats::default();
        let mut by_group: Vec<GroupTotals> = (0..names.len()).map(|_| GroupTotals::default()).collect();
        for (i, f) in declared() {
            let total = f.snapshot(frame.to);
            let s = sim.baseline.get(i).map_or(total, |b| since(&total, b));
            let goodput = s.delivered as f64 * 8.0 / seconds;
            let wire = goodput * wire_ratio(&s);
            let limits = [
                s.sender.limited_by_network,
                s.sender.limited_by_window_cap,
                s.sender.limited_by_application,
            ];
            let all: u64 = limits.iter().map(|d| d.0).sum();
            let shares = limits.map(|d| if all > 0 { d.0 as f64 / all as f64 } else { f64::NAN });
            let most = (0..3)
                .max_by_key(|i| (limits[*i], std::cmp::Reverse(*i)))
                .filter(|_| all > 0);
            let limited_by = most.map_or("", |i| ["network", "window cap", "application"][i]);
            let [mean, p50, p95, p99, max] = quantiles(Some(&f.stats.delay));
            let r = &s.sender;
            let sampled = r.rtt_samples > 0;
            let bursts = f.stats.bursts.as_deref().unwrap_or(&no_bursts);
            let active = bursts.active_bps() * wire_ratio(&s);
            let g = &mut by_group[f.group as usize];
            g.goodput.push(goodput);
            g.wire.push(wire);
            // The mean of nothing is not a number, and times nothing it is none either.
            if f.stats.delay.count() > 0 {
                g.delay_sum += f.stats.delay.mean() * f.stats.delay.count() as f64;
                g.delay_count += f.stats.delay.count();
            }
            g.bursts.merge(bursts);
            if active.is_finite() {
                g.active.push(active);
            }
            let sent = if s.datagrams > 0 { s.datagrams } else { r.sent_packets };
            g.counts[0] += sent;
            g.counts[1] += r.retransmitted_packets;
            g.counts[2] += r.timeouts;
            g.counts[3] += s.dropped;
            flows.row([
                Cell::Text(id_of(f)),
                (&names[f.group as usize]).into(),
                f.opened.seconds().into(),
                goodput.into(),
                wire.into(),
                (s.received_wire_bytes as f64 * 8.0 / seconds).into(),
                sent.into(),
                s.received_packets.into(),
                r.retransmitted_packets.into(),
                r.timeouts.into(),
                r.fast_retransmits.into(),
                s.dropped.into(),
                s.marked.into(),
                mean.into(),
                p50.into(),
                p95.into(),
                p99.into(),
                max.into(),
                rtt_mean(r).into(),
                if sampled { r.rtt_min } else { f64::NAN }.into(),
                if sampled { r.rtt_max } else { f64::NAN }.into(),
                limited_by.into(),
                shares[0].into(),
                shares[1].into(),
                shares[2].into(),
                r.ecn_reductions.into(),
                (s.received_packets - s.repeats).into(),
                r.rtt_samples.into(),
                bursts.count.into(),
                bursts.mean_seconds().into(),
                longest(bursts).into(),
                active.into(),
            ]);
        }

        let mut groups = Table::new("groups", &GROUPS);
        for (i, g) in by_group.iter().enumerate() {
            let retired = sim.retired(i);
            let (mean, sd) = mean_sd(&g.goodput);
            let (wire_mean, wire_sd) = mean_sd(&g.wire);
            groups.row([
                (&names[i]).into(),
                (g.goodput.len() as u64).into(),
                retired.connections.into(),
                mean.into(),
                sd.into(),
                wire_mean.into(),
                wire_sd.into(),
                (g.goodput.iter().sum::<f64>() + retired.delivered as f64 * 8.0 / seconds).into(),
                jain(&g.goodput).into(),
                (if g.delay_count > 0 {
                    g.delay_sum / g.delay_count as f64
                } else {
                    f64::NAN
                })
                .into(),
                (g.counts[0] + retired.sent_packets).into(),
                (g.counts[1] + retired.retransmitted_packets).into(),
                (g.counts[2] + retired.timeouts).into(),
                (g.counts[3] + retired.dropped).into(),
                g.bursts.count.into(),
                g.bursts.mean_seconds().into(),
                longest(&g.bursts).into(),
                mean_sd(&g.active).0.into(),
            ]);
        }

        let mut intervals = Table::new("intervals", &INTERVALS);
        for pair in sim.intervals.windows(2) {
            let ((from, before), (to, after)) = (&pair[0], &pair[1]);
            let seconds = (*to - *from).seconds();
            for (i, f) in declared() {
                let (Some(a), Some(b)) = (after.get(i), before.get(i)) else {
                    continue;
                };
                let s = since(a, b);
                let goodput = s.delivered as f64 * 8.0 / seconds;
                intervals.row([
                    Cell::Text(id_of(f)),
                    (&names[f.group as usize]).into(),
                    from.seconds().into(),
                    to.seconds().into(),
                    goodput.into(),
                    (goodput * wire_ratio(&s)).into(),
                    if s.datagrams > 0 {
                        s.datagrams
                    } else {
                        s.sender.sent_packets
                    }
                    .into(),
                    s.dropped.into(),
                    s.marked.into(),
                    (if s.delay_count > 0 {
                        s.delay_sum / s.delay_count as f64
                    } else {
                        f64::NAN
                    })
                    .into(),
                    s.received_packets.into(),
                    (s.received_packets - s.repeats).into(),
                    s.sender.retransmitted_packets.into(),
                    s.sender.timeouts.into(),
                    s.sender.fast_retransmits.into(),
                    rtt_mean(&s.sender).into(),
                    s.sender.rtt_samples.into(),
                    s.settled[0].into(),
                    s.settled[1].into(),
                    s.settled[2].into(),
                ]);
            }
        }

        let mut links = Table::new("links", &LINKS);
        let mut losses = Table::new("losses", &LOSSES);
        for &p in frame.reported {
            let (port, name) = (&sim.ports[p as usize], frame.port_names[p as usize].as_str());
            let s = &port.stats;
            let [mean, p50, p95, p99, max] = quantiles(s.sojourn.as_deref());
            links.row([
                name.into(),
                port.clock.rate().bits_per_second().into(),
                (port.busy_seconds(frame.to) / seconds).into(),
                (s.delivered_bytes as f64 * 8.0 / seconds).into(),
                s.arrived_packets.into(),
                s.delivered_packets.into(),
                s.dropped().into(),
                s.marked().into(),
                (if s.arrived_packets > 0 {
                    s.dropped() as f64 / s.arrived_packets as f64
                } else {
                    f64::NAN
                })
                .into(),
                (port.queue_seconds(frame.to) / seconds).into(),
                s.max_queue.into(),
                mean.into(),
                p50.into(),
                p95.into(),
                p99.into(),
                max.into(),
                s.arrived_bytes.into(),
                s.wasted().into(),
            ]);
            let Some(l) = &s.losses else { continue };
            for place in Place::ALL {
                for why in DropReason::ALL {
                    let n = l.drops[place as usize][why as usize];
                    if n.packets > 0 {
                        losses.row([
                            name.into(),
                            "drop".into(),
                            place.name().into(),
                            why.name().into(),
                            n.packets.into(),
                            n.bytes.into(),
                        ]);
                    }
                }
            }
            for why in MarkReason::ALL {
                let n = l.marks[why as usize];
                if n.packets > 0 {
                    losses.row([
                        name.into(),
                        "mark".into(),
                        "".into(),
                        why.name().into(),
                        n.packets.into(),
                        n.bytes.into(),
                    ]);
                }
            }
        }

        let (series, log) = recorded(sim.recorder.as_deref(), sim, frame, &id_of);
        Outcome {
            flows,
            intervals,
            groups,
            links,
            losses,
            series,
            log,
            engine: sim.counters(),
        }
    }

    pub fn tables(&self) -> [&Table; 7] {
        [
            &self.flows,
            &self.groups,
            &self.links,
            &self.losses,
            &self.intervals,
            &self.series,
            &self.log,
        ]
    }
}

#[derive(Default)]
struct GroupTotals {
    goodput: Vec<f64>,
    wire: Vec<f64>,
    delay_sum: f64,
    delay_count: u64,
    /// sent, retransmitted, timeouts, dropped
    counts: [u64; 4],
    bursts: BurstStats,
    /// Goodput while a burst is under way, of each flow that ended one.
    active: Vec<f64>,
}

fn recorded(
    recorder: Option<&Recorder>,
    sim: &Sim,
    frame: &Frame,
    id_of: &dyn Fn(&Flow) -> Arc<str>,
) -> (Table, Table) {
    let mut series = Table::new("series", &SERIES);
    let mut log = Table::new("log", &LOG);
    let Some(r) = recorder else { return (series, log) };
    for s in &r.series {
        let (what, probe): (Arc<str>, Arc<str>) = (s.what.as_str().into(), s.probe.as_str().into());
        for ((t, v), i) in s.times.iter().zip(&s.values).zip(&s.indices) {
            series.row([
                (&what).into(),
                (&probe).into(),
                u64::from(*i).into(),
                t.seconds().into(),
                (*v).into(),
            ]);
        }
    }
    let links: Vec<Arc<str>> = frame.port_names.iter().map(|n| n.as_str().into()).collect();
    let flows: Vec<Arc<str>> = sim.flows.iter().map(id_of).collect();
    let words: Vec<Arc<str>> = ["drop", "mark", ""].iter().map(|w| (*w).into()).collect();
    for row in r.log.iter().flatten() {
        let (event, place, reason) = match row.fate {
            Fate::Dropped(place, why) => (&words[0], place.name(), why.name()),
            Fate::Marked(why) => (&words[1], "", why.name()),
        };
        log.row([
            row.time.seconds().into(),
            (&links[row.port as usize]).into(),
            (&flows[row.flow as usize]).into(),
            row.sequence.into(),
            u64::from(row.bytes).into(),
            event.into(),
            place.into(),
            reason.into(),
        ]);
    }
    (series, log)
}
