//! Warnings about queues on the way of data: a rule without a limit to act on, a buffer that holds no packet, a
//! threshold or a target that is never reached. Each is a warning with its line and not an error, because studies
//! switch a rule off in this way.

use crate::check::Reader;
use crate::error::At;
use crate::read::flows::Around;
use crate::read::names::place;
use crate::read::routes::{Hop, Routes};
use std::collections::BTreeMap;
use tailback_base::model::Settings;
use tailback_base::{BitRate, Duration, Level, Param, Size, Value};
use tailback_queue::aqm::red::params::MEAN_PACKET;
use tailback_queue::entry::Unlimited;
use tailback_queue::params::{AQM, BEFORE};
use tailback_queue::pieces::params::BUFFER;
use tailback_queue::registry::facts;
use tailback_queue::shaped;
use tailback_sim::declare::tables::link;
use tailback_sim::library::Library;
use tailback_sim::spec::{DirectionSpec, GroupSpec, LinkSpec, SessionSpec};
use tailback_transport::keshav::params::{PACKET, WMAX};
use tailback_transport::tcp::params::{HEADER, PAYLOAD, RWND, WINDOW_CAP};

/// Flows that cross a port, as far as its queue is concerned.
struct Crossing {
    /// The name of the flows, as in `flows.web`.
    name: String,
    flows: u64,
    /// The smallest and the largest data packet, bytes on the wire.
    packets: Option<(u64, u64)>,
    /// The bytes on the wire that one flow may have outstanding.
    window: Option<u64>,
}

impl Crossing {
    fn group(library: &Library, g: &GroupSpec) -> Crossing {
        let (packets, window) = of_transport(&g.transport);
        let drawn_sizes = || {
            let sizes = (library.sizes(g.sizes.model).ok()?.build)(&g.sizes);
            Some((u64::from(sizes.smallest()), u64::from(sizes.largest())))
        };
        Crossing {
            name: format!("flows.{}", g.name),
            flows: u64::from(g.count),
            packets: packets.map(|p| (p, p)).or_else(drawn_sizes),
            window,
        }
    }

    /// A client may have any number of connections open.
    fn session(s: &SessionSpec) -> Crossing {
        Crossing {
            name: format!("sessions.{}", s.name),
            flows: u64::from(s.clients),
            packets: of_transport(&s.transport).0.map(|p| (p, p)),
            window: None,
        }
    }
}

/// A full data packet of a transport, and the largest outstanding amount: bytes on the wire.
pub fn of_transport(t: &Settings) -> (Option<u64>, Option<u64>) {
    let Some(data) = t.find_key(&PAYLOAD).or_else(|| t.find_key(&PACKET)) else {
        return (None, None);
    };
    let packet = u64::from(data) + u64::from(t.find_key(&HEADER).unwrap_or(0));
    let caps = [WINDOW_CAP, RWND].into_iter().filter_map(|key| t.find_key(&key));
    let windows = caps.filter_map(|cap| match cap {
        Size::Packets(n) => Some(n),
        Size::Bytes(n) => Some(n.div_ceil(u64::from(data.max(1)))),
        Size::Unlimited => None,
    });
    let wmax = t.find_key(&WMAX).map(u64::from);
    let window = windows.chain(wmax).min();
    (Some(packet), window.map(|n| n.saturating_mul(packet)))
}

/// Warn of such settings at the ports on the way of data, once for each port and each setting.
pub fn warn(r: &mut Reader, groups: &[GroupSpec], sessions: &[SessionSpec], around: &Around, routes: &mut Routes) {
    let of_groups = groups.iter().map(|g| {
        let hops = routes.taken([&g.from, &g.to], g.paths, &g.via);
        (Crossing::group(r.library, g), hops)
    });
    let mut all: Vec<(Crossing, Vec<Hop>)> = of_groups.collect();
    all.extend(sessions.iter().map(|s| {
        let hops = routes.taken([&s.from, &s.to], s.paths, &[]);
        (Crossing::session(s), hops)
    }));
    let mut crossed: BTreeMap<(usize, bool), Vec<&Crossing>> = BTreeMap::new();
    for (crossing, hops) in &all {
        for h in hops {
            crossed.entry((h.link, h.reverse)).or_default().push(crossing);
        }
    }
    for ((link, reverse), crossing) in crossed {
        let link = &around.links[link];
        let (port, suffix) = if reverse {
            (&link.reverse, ".reverse")
        } else {
            (&link.forward, "")
        };
        let about = format!("link.{}{suffix}", link.name);
        for (own, warning) in of_port(port, &crossing) {
            let path = [shaped::path(&port.queue), own].concat();
            r.warn(at(around, link, reverse, &path), &about, warning);
        }
    }
}

/// The place of a value of a port's queue in the scenario, or of the innermost table around it that was given.
fn at(around: &Around, link: &LinkSpec, reverse: bool, path: &[&str]) -> At {
    let table = around.link_tables.and_then(|t| t.get(&link.name)).map(|e| &e.node);
    let place_of = |key: &Param| {
        let whole: Vec<&str> = std::iter::once(key.name).chain(path.iter().copied()).collect();
        table.filter(|t| t.given(key).is_some()).map(|t| place(t, &whole))
    };
    // The reverse direction may have the queue of the forward direction.
    let own = if reverse { place_of(&link::REVERSE_QUEUE) } else { None };
    own.or_else(|| place_of(&link::QUEUE)).unwrap_or(At::Nowhere)
}

/// The place in the table of the discipline whose packets wait, and the message.
type Said = (Vec<&'static str>, String);

fn of_port(port: &DirectionSpec, crossing: &[&Crossing]) -> Vec<Said> {
    let queue = shaped::innermost(&port.queue);
    let mut warnings: Vec<Said> = endless(queue).into_iter().map(|w| (vec![BUFFER.name], w)).collect();
    warnings.extend(above_the_buffer(queue).into_iter().map(|(p, w)| (vec![p], w)));
    let few = crossing.iter().filter_map(|c| too_small(queue, c));
    let few: Vec<Said> = few.map(|w| (vec![BUFFER.name], w)).collect();
    if !few.is_empty() {
        warnings.extend(few);
        return warnings;
    }
    let Some(most) = Most::of(port, crossing) else {
        return warnings;
    };
    if warnings.is_empty() {
        warnings.extend(most.thresholds(queue).map(|(p, w)| (vec![p], w)));
    }
    let nested = [AQM.name, BEFORE.name]
        .into_iter()
        .filter(|name| queue.model.param(name).is_some());
    let nested = nested.flat_map(|name| queue.nested_list(name).map(move |s| (Some(name), s)));
    for (within, settings) in std::iter::once((None, queue)).chain(nested) {
        if let Some((param, warning)) = most.target(settings) {
            warnings.push((within.into_iter().chain([param]).collect(), warning));
        }
    }
    warnings
}

/// The most that can ever wait at a port.
struct Most {
    /// Bytes on the wire.
    bytes: u64,
    /// The largest packet that crosses.
    packet: u64,
    buffer: Size,
    /// The bound, as the subject of a sentence, and the remedy.
    because: String,
    remedy: &'static str,
    /// The buffer bounds it, not the windows.
    by_buffer: bool,
    /// The lowest rate of the line in the whole run.
    rate: BitRate,
}

impl Most {
    /// `None` if no bound is known.
    fn of(port: &DirectionSpec, crossing: &[&Crossing]) -> Option<Most> {
        let packet = crossing
            .iter()
            .map(|c| c.packets.map(|p| p.1))
            .try_fold(0, |a, p| Some(a.max(p?)))?;
        let buffer = shaped::innermost(&port.queue).find_key(&BUFFER)?;
        let room = match buffer {
            Size::Packets(n) => Some(n.saturating_mul(packet)),
            Size::Bytes(n) => Some(n),
            Size::Unlimited => None,
        };
        let outstanding = |c: &&Crossing| c.window.map(|w| w.saturating_mul(c.flows));
        let windows = crossing
            .iter()
            .map(outstanding)
            .try_fold(0u64, |a, w| Some(a.saturating_add(w?)));
        let by_buffer = room.is_some_and(|b| windows.is_none_or(|w| b <= w));
        let bytes = if by_buffer { room } else { windows }?;
        let (because, remedy) = match by_buffer {
            true => (format!("buffer = \"{buffer}\""), "give a larger buffer"),
            false => {
                let flows: u64 = crossing.iter().map(|c| c.flows).sum();
                let because = format!(
                    "the windows of the {flows} flows on the way, together {} packets",
                    bytes / packet.max(1)
                );
                (because, "allow larger windows")
            }
        };
        Some(Most {
            bytes,
            packet,
            buffer,
            because,
            remedy,
            by_buffer,
            rate: shaped::rate(&port.queue, port.rates()[0]),
        })
    }

    /// The lowest threshold, if all given thresholds are above the backlog that the flows' windows allow. Each
    /// threshold above the buffer has a message of its own.
    fn thresholds(&self, queue: &Settings) -> Option<(&'static str, String)> {
        if self.by_buffer {
            return None;
        }
        let levels_in_bytes =
            levels(queue).filter_map(|(name, level)| Some((name, level, self.bytes_of(queue, level)?)));
        let (name, level, bytes) = levels_in_bytes.min_by(|a, b| a.2.total_cmp(&b.2))?;
        (bytes > self.bytes as f64).then(|| {
            let text = format!(
                "{name} = \"{level}\" is never reached, because no more than {} can wait; lower it, or {}",
                self.because, self.remedy
            );
            (name, text)
        })
    }

    fn bytes_of(&self, queue: &Settings, level: Level) -> Option<f64> {
        match (level, self.buffer) {
            (Level::Packets(n), Size::Bytes(_)) => Some(n * queue.find_key(&MEAN_PACKET).unwrap_or(self.packet) as f64),
            (Level::Packets(n), _) => Some(n * self.packet as f64),
            (_, Size::Packets(_)) => level.resolve(self.buffer).map(|n| n * self.packet as f64),
            _ => level.resolve(self.buffer),
        }
    }

    /// A waiting time at which the model acts and that no packet can have.
    fn target(&self, settings: &Settings) -> Option<(&'static str, String)> {
        let waits = facts(settings.model.name)?.waits.iter();
        let targets = waits.filter_map(|name| match settings.find(name)? {
            Value::Time(target) => Some((*target, *name)),
            _ => None,
        });
        let (target, name) = targets.min()?;
        // Rounded up to the microsecond, for people.
        let us = (self.bytes as f64 * 8e6 / self.rate.bits_per_second()).ceil() as u64;
        let drained = Duration(us.saturating_mul(1000));
        (drained < target).then(|| {
            let text = format!(
                "{name} = \"{target}\" is never reached, because {} leave{} the line of {} in {drained}: {} has no \
                 effect; lower it, or {}",
                self.because,
                if self.by_buffer { "s" } else { "" },
                self.rate,
                settings.model.name,
                self.remedy
            );
            // If the file gives no target, the value that it gives is the bound of the queue.
            (if settings.is_given(name) { name } else { BUFFER.name }, text)
        })
    }
}

/// A warning about the queue of a port that data cross: an unlimited buffer leaves its discipline nothing to do. Ports
/// that only ACKs cross have unlimited buffers on purpose.
fn endless(queue: &Settings) -> Option<String> {
    let name = queue.model.name;
    let Unlimited { leaves, why, unless } = facts(name)?.unlimited?;
    if queue.get(&BUFFER) != Size::Unlimited || unless.is_some_and(|other| !queue.is_none(other)) {
        return None;
    }
    Some(format!(
        "{name} {why}: it is the same as {leaves} here; give it a buffer, such as buffer = \"{}\", or say {leaves}",
        queue.model.param(BUFFER.name).map_or("100 packets", |p| p.default)
    ))
}

/// The thresholds of the backlog in the settings of a queue.
fn levels(queue: &Settings) -> impl Iterator<Item = (&'static str, Level)> {
    let params = queue.model.params.iter().filter(|p| queue.is_given(p.name));
    params.filter_map(|p| match queue.find(p.name)? {
        Value::Level(level) => Some((p.name, *level)),
        _ => None,
    })
}

/// The thresholds of a queue that its buffer never lets the backlog reach, with a warning each.
fn above_the_buffer(queue: &Settings) -> Vec<(&'static str, String)> {
    let Some(buffer) = queue.find_key(&BUFFER) else {
        return vec![];
    };
    let most_level = match buffer {
        Size::Packets(n) | Size::Bytes(n) => n as f64,
        Size::Unlimited => return vec![],
    };
    // The size of a packet for a threshold in packets and a buffer in bytes, if the discipline gives it.
    let mean_packet = queue.find_key(&MEAN_PACKET);
    let reached = |level: Level| match (level, buffer) {
        (Level::Packets(n), Size::Bytes(_)) => mean_packet.is_none_or(|m| n * m as f64 <= most_level),
        (level, _) => level.resolve(buffer).is_none_or(|level| level <= most_level),
    };
    let above = levels(queue).filter(|(_, level)| !reached(*level));
    above
        .map(|(name, level)| {
            let text = format!(
                "{name} = \"{level}\" is above buffer = \"{buffer}\" and never reached; lower it, or give a larger \
                 buffer"
            );
            (name, text)
        })
        .collect()
}

/// A warning about a buffer, in bytes, that holds no packet of these flows.
fn too_small(queue: &Settings, flows: &Crossing) -> Option<String> {
    let Size::Bytes(buffer) = queue.find_key(&BUFFER)? else {
        return None;
    };
    let (packet, _) = flows.packets?;
    (packet > buffer).then(|| {
        format!(
            "buffer = \"{buffer}B\" has no room for a packet of {}, of {packet}B: every packet that must wait is \
             dropped; give at least one packet, such as buffer = \"{}B\"",
            flows.name,
            20 * packet
        )
    })
}
