//! Arrivals of a live run with the decisions of its queues, and the replay of these arrivals in the simulator.
//!
//! A recording is text: a line for each arrival, each mark, each drop and each departure, in this order. Scenario and
//! seed are stored elsewhere. A replay shows that a live run decides as the simulator does: the same packets leave, in
//! the same order at the same instants, and the same packets are dropped and marked.

use crate::stream::something;
use crate::watch::{Event, PacketFate, Watch, WatchTap};
use std::fmt::Write as _;
use tailback_base::quantity::Refusal;
use tailback_base::{DropReason, Dscp, Ecn, FlowId, MarkReason, Place, Time};
use tailback_sim::build::hooks::{FlowEnds, Hooks};
use tailback_sim::build::prepare;
use tailback_sim::declare::tables::GOODPUT;
use tailback_sim::spec::{Spec, Target};
use tailback_transport::datagram::DELAY;
use tailback_transport::{Flags, Segment};

/// A packet as it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivedPacket {
    pub born: Time,
    pub flow: FlowId,
    pub backward: bool,
    pub sequence: u64,
    pub acknowledged: u64,
    pub payload: u32,
    pub bytes: u32,
    pub flags: Flags,
    pub ecn: Ecn,
    pub dscp: Dscp,
    /// Whether it had options other than time stamps.
    pub options: bool,
}

impl ArrivedPacket {
    pub fn new(born: Time, flow: FlowId, backward: bool, s: &Segment, dscp: Dscp) -> ArrivedPacket {
        ArrivedPacket {
            born,
            flow,
            backward,
            sequence: s.seq,
            acknowledged: s.ack,
            payload: s.payload,
            bytes: s.bytes,
            flags: s.flags,
            ecn: s.ecn,
            dscp,
            options: !s.sack.is_empty(),
        }
    }

    pub fn segment(&self) -> Segment {
        Segment {
            seq: self.sequence,
            payload: self.payload,
            ack: self.acknowledged,
            flags: self.flags,
            ecn: self.ecn,
            bytes: self.bytes,
            sack: something(self.options, self.acknowledged),
            timestamps: None,
            window: None,
            counts: None,
        }
    }
}

/// A packet as it left: its time of entry, the time at which the network released it, and its ECN bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exit {
    pub born: Time,
    pub at: Time,
    pub ecn: Ecn,
}

/// The arrivals of a run, its marks and drops, and its departures, each list in order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    pub arrivals: Vec<ArrivedPacket>,
    pub events: Vec<Event>,
    pub exits: Vec<Exit>,
}

/// Replay arrivals in the simulator, until `to`.
///
/// # Errors
/// The errors are those of [`tailback_sim::run::run`].
pub fn replay(spec: &Spec, seed: u64, arrivals: &[ArrivedPacket], to: Time) -> Result<Recording, Refusal> {
    let hooks = Hooks {
        ends: FlowEnds::Injected,
        ..Hooks::default()
    };
    let mut prepared = prepare(&readable(spec), seed, &hooks)?;
    let watch = Watch::new(None);
    prepared.built.tap(Box::new(WatchTap(watch.clone())));
    let sim = &mut prepared.built.sim;
    let (mut exits, mut out) = (vec![], vec![]);
    for a in arrivals {
        sim.run_until(a.born);
        sim.inject(a.flow, a.backward, &a.segment(), a.dscp);
    }
    sim.run_until(to);
    sim.take_emitted(&mut out);
    exits.extend(out.iter().map(|e| Exit {
        born: e.born,
        at: e.at,
        ecn: e.ecn,
    }));
    let events = std::mem::take(&mut watch.borrow_mut().events);
    Ok(Recording {
        arrivals: arrivals.to_vec(),
        events,
        exits,
    })
}

impl Recording {
    /// Packets that leave after `to` have no exit, and dropped packets have none either.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for a in &self.arrivals {
            let ArrivedPacket { born, flow, bytes, .. } = a;
            let (way, ecn) = (u8::from(a.backward), a.ecn as u8);
            let (s, k, p, f, d) = (a.sequence, a.acknowledged, a.payload, a.flags.0, a.dscp.0);
            let options = if a.options { " options" } else { "" };
            let _ = writeln!(
                text,
                "arrival {} {} {way} {s} {k} {p} {bytes} {f} {ecn} {d}{options}",
                born.0, flow.0
            );
        }
        for e in &self.events {
            let (born, at, port) = (e.born.0, e.at.0, e.port);
            let _ = match e.fate {
                PacketFate::Marked(why) => writeln!(text, "mark {born} {at} {port} {}", why.name()),
                PacketFate::Dropped(place, why) => {
                    writeln!(text, "drop {born} {at} {port} {} {}", place.name(), why.name())
                }
            };
        }
        for e in &self.exits {
            let _ = writeln!(text, "exit {} {} {}", e.born.0, e.at.0, e.ecn as u8);
        }
        text
    }

    /// # Errors
    /// The line that cannot be read, and why.
    pub fn from_text(text: &str) -> Result<Recording, String> {
        let mut r = Recording::default();
        for (i, line) in text.lines().enumerate() {
            r.read(line).ok_or_else(|| {
                format!(
                    "line {} is no arrival, mark, drop or exit: {}; `tailback live --record FILE` makes a recording",
                    i + 1,
                    line.chars().take(60).collect::<String>()
                )
            })?;
        }
        Ok(r)
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let whole_at = |i: usize| words.get(i)?.parse::<u64>().ok();
        let byte_at = |i: usize| u8::try_from(whole_at(i)?).ok();
        let time_at = |i: usize| whole_at(i).map(Time);
        match *words.first()? {
            "arrival" => self.arrivals.push(ArrivedPacket {
                born: time_at(1)?,
                flow: FlowId(u32::try_from(whole_at(2)?).ok()?),
                backward: whole_at(3)? == 1,
                sequence: whole_at(4)?,
                acknowledged: whole_at(5)?,
                payload: u32::try_from(whole_at(6)?).ok()?,
                bytes: u32::try_from(whole_at(7)?).ok()?,
                flags: Flags(byte_at(8)?),
                ecn: Ecn::from_bits(byte_at(9)?),
                dscp: Dscp(byte_at(10)?),
                options: words.get(11) == Some(&"options"),
            }),
            "mark" => {
                let fate = PacketFate::Marked(MarkReason::ALL.into_iter().find(|r| Some(&r.name()) == words.get(4))?);
                self.event(time_at(1)?, time_at(2)?, whole_at(3)?, fate);
            }
            "drop" => {
                let place = Place::ALL.into_iter().find(|p| Some(&p.name()) == words.get(4))?;
                let why = DropReason::ALL.into_iter().find(|r| Some(&r.name()) == words.get(5))?;
                self.event(time_at(1)?, time_at(2)?, whole_at(3)?, PacketFate::Dropped(place, why));
            }
            "exit" => self.exits.push(Exit {
                born: time_at(1)?,
                at: time_at(2)?,
                ecn: Ecn::from_bits(byte_at(3)?),
            }),
            _ => return None,
        }
        Some(())
    }

    fn event(&mut self, born: Time, at: Time, port: u64, fate: PacketFate) {
        let port = port as u32;
        self.events.push(Event { born, at, port, fate });
    }
}

/// The scenario without recordings of values that only a simulated end has. A sender's kernel may supply them.
pub(crate) fn readable(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    for r in &mut spec.record {
        if matches!(r.what, Target::Flows { .. }) {
            r.probes.retain(|p| [GOODPUT.name, DELAY.name].contains(&p.as_str()));
        }
    }
    spec
}
