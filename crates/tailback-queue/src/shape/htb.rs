//! HTB: a shaper around a discipline, like a single class of Linux's hierarchical token bucket. With `classes` it is a
//! tree of classes that borrow rate from each other ([`tree`]).
//!
//! The discipline inside decides which packet leaves, and which packets are dropped or marked. HTB decides when a
//! packet leaves. Measure: tokens, which arrive at `rate` and are kept up to `burst`. Function: a packet takes a token
//! for each byte of its length on the link. Action: no packet leaves while the number of tokens is negative. HTB does
//! not know in advance which packet leaves, so it cannot check whether there are enough tokens for it. The packet may
//! make the number of tokens negative, and the next packet waits until it is not. So the mean rate is `rate` for any
//! packet sizes, and after a pause two packets leave at once if the bucket has the size of one packet.
//!
//! ```text
//! dequeue   tokens = min(tokens + rate t, burst);  tokens < 0: wait;  else a packet of the discipline inside, and
//!           tokens -= its length on the link
//! ```
//!
//! From: the manual of the Linux discipline, tc-htb(8), for `rate` and for `cburst`, the bytes that may leave at the
//! speed of the line; tc-stab(8) for `overhead` and `mpu`.
//!
//! State: the tokens; the time at which they are no longer negative; the last packet, which the discipline inside sees
//! on its line until that time.
//!
//! Departures: the ceiling of a single class is its rate, because there is no class to borrow from, and `burst` is
//! Linux's `cburst`. Linux's HTB has no framing of PTM; its users configure 64/65 of the rate instead. A new rate
//! counts from the last packet on.
//!
//! Cost of a packet: O(1), and the cost of the discipline inside.

pub mod classes;
pub mod tree;

use self::classes::{Tree, TreeClass};
use self::tree::Classes;
use super::length::{self, Length, MPU, OVERHEAD};
use crate::contract::admission::earlier;
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, Line, OnWire, Out, ProbeId, QueueDiscipline, Service};
use crate::contract::row::laid;
use crate::contract::view::QueueView;
use crate::entry::{Build, Entry, Facts, Inner, Marks};
use crate::params::QUEUE;
use tailback_base::quantity::Refusal;
use tailback_base::{
    BitRate, Bucket, Duration, Key, KeyField, Kind, Model, Packet, Param, ProbeDef, Settings, Stream, Time, params,
};

pub static MODEL: Model = Model {
    name: "htb",
    family: "queue",
    title: "Token buckets around disciplines",
    summary: "A shaper: the packets of one discipline leave at a given rate, however fast the line is. Or the shaper \
              has a tree of classes, each with a discipline, a rate, and a ceiling up to which it borrows. Measure: \
              tokens, of which a packet takes its length on the link. Function: a packet leaves only while no token \
              is owed. Action: packets wait; drops and marks are those of the disciplines inside.",
    source: "tc-htb(8); Devera, HTB Linux queuing discipline manual",
    params: PARAMS,
    probes: &PROBES,
};

/// The probes of a shaper with classes. Without classes they have no values.
const PROBES: [ProbeDef; 2] = [
    ProbeDef {
        name: "class_packets",
        unit: "packets",
        doc: "Packets that wait in a class; the classes are in the order of the scenario",
        per: "class",
    },
    ProbeDef {
        name: "borrowed",
        unit: "packets",
        doc: "Packets that a class has sent at rate borrowed from other classes",
        per: "class",
    },
];

params! {
    const PARAMS;

    RATE: BitRate = Key::new("rate", Kind::Rate { min: 1.0, max: 1e13 }, "",
        "The rate to which packets are held.", "tc-htb(8)");
    BURST: u64 = Key::new("burst", Kind::Bytes { min: 0, max: 1_000_000_000 }, "1514B",
        "How much may leave after a pause before packets are spaced. The last of these packets may exceed this amount.",
        "tc-htb(8), cburst: at most one packet");
    OVERHEAD;
    MPU;
    FRAMING: length::Framing = length::FRAMING.with_doc(
        "How the link frames packets: it adds nothing, it uses cells of 53 B that carry 48 B, or it adds a byte for \
         each 64, which Linux's htb does not support.");
    QUEUE;
    CLASSES = Param::new("classes", Kind::List(&Kind::Model(classes::FAMILY)), "none",
        "A tree of classes that share the rate, in the order of their turns. The packets of each are in a \
         discipline of its own.", "tc-htb(8)");
    DEFAULT: Option<String> = Key::new("default", Kind::Text, "none",
        "The class of packets whose code point belongs to no class. Default: these packets go first and are not \
         shaped.",
        "tc-htb(8)");
    R2Q: u64 = Key::new("r2q", Kind::Count { min: 1, max: 1_000_000 }, "10",
        "A class without a quantum gets its rate in bytes a second divided by this.", "tc-htb(8)");
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Around(build),
        admission: None,
        facts: Facts {
            marks: Marks::Inside,
            shapes: Some(RATE.param.name),
            ..Facts::ONE_QUEUE
        },
    }
}

fn build<P: Packet + 'static>(
    s: &Settings,
    context: BuildContext,
    inner: Inner<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let (inner_settings, rate) = (s.within(QUEUE.name), s.get(&RATE));
    let inner_context = BuildContext {
        rate: context.rate.min(rate),
        ..context
    };
    if s.nested_list(CLASSES.name).next().is_some() {
        return with_classes(s, inner_context, inner);
    }
    if let Some(name) = s.get(&DEFAULT) {
        let e = Refusal::new(
            format!("there is no class \"{name}\""),
            "give classes = [...], or leave it out",
        );
        return Err(e.within(DEFAULT.name));
    }
    let queue = inner(inner_settings, inner_context).map_err(|e| e.within(QUEUE.name))?;
    let probes = PROBES.iter().chain(queue.probes()).copied().collect();
    Ok(Box::new(Htb {
        rate,
        bucket: Bucket::full(s.get(&BURST)),
        length: Length::from_settings(s),
        paid: Time::ZERO,
        last: None,
        is_told: true,
        inside: laid(inner_settings).map_err(|e| e.within(QUEUE.name))?,
        queue,
        probes,
    }))
}

/// The shaper with a tree of classes. The discipline of each class has its own random stream.
fn with_classes<P: Packet + 'static>(
    s: &Settings,
    mut within: BuildContext,
    inner: Inner<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let tree = Tree::from_settings(s)?;
    let seed = within.stream.bits();
    let make_queue = |place: usize, class: &TreeClass| {
        let context = BuildContext {
            stream: Stream::new(seed, &format!("class.{}", class.name)),
            rate: within.rate.min(class.ceil),
            delay: within.delay,
        };
        match &class.queue {
            Some(queue) => inner(queue, context).map_err(|e| named(place, e)),
            None => inner(s.within(QUEUE.name), within.clone()).map_err(|e| e.within(QUEUE.name)),
        }
    };
    Ok(Box::new(Classes::new(tree, Length::from_settings(s), make_queue)?))
}

/// The same error, as one of the discipline of the class with this index. Index 0 is the class at the top.
fn named(place: usize, e: Refusal) -> Refusal {
    let refusal = e.within(QUEUE.name);
    refusal.within(&format!("{}[{}]", CLASSES.name, place.saturating_sub(1)))
}

/// The shaper.
pub struct Htb<P> {
    rate: BitRate,
    bucket: Bucket,
    length: Length,
    /// The time at which the tokens are no longer negative after the last packet, and this packet.
    paid: Time,
    last: Option<OnWire>,
    /// Whether the discipline inside has been asked for a packet since its line became free, and had none.
    is_told: bool,
    /// The settings of the discipline inside.
    inside: Settings,
    queue: Box<dyn QueueDiscipline<P>>,
    /// The probes of classes, then those of the discipline inside.
    probes: Vec<ProbeDef>,
}

impl<P: Packet> Htb<P> {
    /// The line as the discipline inside sees it: it has the rate of the shaper, and is busy until the next packet may
    /// leave.
    fn line(&self, line: &Line) -> Line {
        let paying = self.last.filter(|last| last.until > line.now);
        Line {
            rate: line.rate.min(self.rate),
            busy: match (line.busy, paying) {
                (Some(wire), Some(last)) if wire.until < last.until => Some(last),
                (None, last) => last,
                (wire, _) => wire,
            },
            ..*line
        }
    }

    /// Whether the number of tokens is negative. If it is, `paid` is set to the time at which it no longer is.
    fn owes(&mut self, now: Time) -> bool {
        self.bucket.fill(self.rate, now);
        let owes = !self.bucket.holds(0);
        if owes {
            self.paid = now + self.bucket.wait(0, self.rate).unwrap_or(Duration(u64::MAX - now.0));
        }
        owes
    }

    fn charge(&mut self, p: &P, now: Time) {
        let length = u32::try_from(self.length.of(p.bytes())).unwrap_or(u32::MAX);
        self.bucket.charge(length);
        self.is_told = false;
        self.last = self.owes(now).then(|| OnWire {
            until: self.paid,
            flow: p.flow(),
            pair: p.key(KeyField::Pair),
            bytes: p.bytes(),
        });
    }

    fn ask(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let own_line = self.line(line);
        let service = self.queue.dequeue(&own_line, out);
        match &service {
            Service::Send(p) => self.charge(p, line.now),
            Service::Wait(_) | Service::Empty => self.is_told = true,
        }
        service
    }

    /// The time at which the line of the discipline inside becomes idle, if a timer must report this to the discipline.
    fn falls_free(&self) -> Option<Time> {
        let last = self.last.filter(|_| !self.is_told)?;
        (self.queue.backlog().packets == 0).then_some(last.until)
    }
}

impl<P: Packet> QueueDiscipline<P> for Htb<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        let own_line = self.line(line);
        self.queue.enqueue(p, &own_line, out);
    }

    fn flow_joined(&mut self, p: &P, now: Time) {
        self.queue.flow_joined(p, now);
    }

    fn flow_left(&mut self, p: &P, now: Time) {
        self.queue.flow_left(p, now);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        if !self.owes(line.now) {
            return self.ask(line, out);
        }
        match self.queue.backlog().packets {
            0 => Service::Empty,
            _ => Service::Wait(self.paid),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        earlier(self.queue.next_timer(), self.falls_free())
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        if self.queue.next_timer().is_some_and(|t| t <= line.now) {
            let own_line = self.line(line);
            self.queue.on_timer(&own_line, out);
        }
        if self.falls_free().is_some_and(|t| t <= line.now) {
            // If the real line is still busy, the discipline is asked when it becomes free. If the rate was lowered
            // after the packet left, the tokens are negative for longer.
            match (self.owes(line.now), &mut self.last) {
                (true, Some(last)) => last.until = self.paid,
                _ if line.busy.is_some() => self.last = None,
                _ => {
                    let service = self.ask(line, out);
                    debug_assert!(!matches!(service, Service::Send(_)), "sent what it did not count");
                }
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        let inner_settings = laid(settings.within(QUEUE.name)).map_err(|e| e.within(QUEUE.name))?;
        // The discipline inside may refuse every change, so it is only reconfigured if its own values change.
        if inner_settings != self.inside {
            self.queue
                .reconfigure(&inner_settings)
                .map_err(|e| e.within(QUEUE.name))?;
            self.inside = inner_settings;
        }
        self.rate = settings.get(&RATE);
        self.length = Length::from_settings(settings);
        self.bucket.set_depth(self.rate, Duration::ZERO, settings.get(&BURST));
        Ok(())
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        self.queue.view()
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        self.queue.view_mut()
    }

    fn sends_requests(&self) -> bool {
        self.queue.sends_requests()
    }

    fn is_shared(&self) -> bool {
        self.queue.is_shared()
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        match usize::from(probe.0).checked_sub(PROBES.len()) {
            Some(inside) => self.queue.read(ProbeId(inside as u16), index),
            None => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests;
