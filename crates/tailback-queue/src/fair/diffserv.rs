//! The port of a DiffServ router: it serves expedited forwarding first, then four classes of assured forwarding and
//! best effort by weight.
//!
//! The code point decides the class of a packet. EF (46) is served before all other classes. So that it cannot starve
//! them, it is policed at arrival: packets beyond `ef_rate` are dropped. AF1 to AF4 and best effort share the remaining
//! rate by weighted deficit round robin. Each class has a queue and a buffer of its own. An AQM that distinguishes drop
//! precedences ([`mred`](crate::aqm::colours::mred) by default) runs on each queue of assured forwarding. Measure,
//! function and action are those of the AQM. EF and best effort drop packets that do not fit (overflow), and EF also
//! drops packets beyond its rate (profile).
//!
//! From: RFC 2474 and 2475 (code points, policing at the entry); RFC 3246 (EF has a rate, and waits only for the packet
//! on the line); RFC 2597 section 2 (the four classes of AF are forwarded independently, each with its buffer); RFC
//! 4594 (EF has priority over a rate scheduler).
//!
//! State: six queues; a token bucket; for each of five classes its credit in bytes; the class that has the turn.
//!
//! Departures and choices. A class may send while its credit is above zero, and the packet is charged afterwards. So
//! the size of a packet that an AQM may still drop need not be known in advance. Shares are those of the weights, and a
//! turn exceeds its quantum by less than a packet. When the queue of a class becomes empty, the class loses its credit,
//! also a negative one. Without `ef_rate`, EF has a tenth of the line.
//!
//! Cost of a packet: O(1), and the cost of its AQM.

use crate::contract::admission::{Admission, earlier};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, Out, Place, ProbeId, QueueDiscipline, Service};
use crate::contract::queue_aqms::QueueAqms;
use crate::contract::view::{Handle, QueueView};
use crate::entry::{Build, Entry, Facts};
use crate::fifo::{DropTail, Fifo};
use crate::params::{AQM, BEFORE};
use tailback_base::quantity::Refusal;
use tailback_base::{
    BitRate, Bucket, Colour, Key, Kind, Model, Packet, Param, ProbeDef, Settings, Size, Stream, Time, params,
};

pub static MODEL: Model = Model {
    name: "diffserv",
    family: "queue",
    title: "The port of a DiffServ router",
    summary: "Serves expedited forwarding first, up to its rate, then four classes of assured forwarding and best \
              effort by weight. Each class has its own queue and buffer. Measure and function: those of the AQM on \
              each class of assured forwarding. Action: drop (overflow, profile), and the actions of this AQM.",
    source: "RFC 2597 section 2; RFC 3246; Shreedhar and Varghese 1995",
    params: PARAMS,
    probes: &[ProbeDef {
        name: "waiting",
        unit: "packets",
        doc: "Packets that wait in a class. Index 0 is expedited forwarding, 1 to 4 are assured forwarding, 5 is best \
              effort",
        per: "class",
    }],
};

params! {
    const PARAMS;

    BUFFER: Size = Key::new("buffer", Kind::Size, "100 packets",
        "How much may wait in each class of assured forwarding, and in best effort.", "tailback");
    WEIGHTS: Vec<f64> = Key::new("weights", Kind::List(&Kind::Real { min: 1e-3, max: 1e6 }), "[4, 3, 2, 1, 1]",
        "The shares of AF1, AF2, AF3, AF4 and best effort in the rate that expedited forwarding leaves.", "tailback");
    QUANTUM: u64 = Key::new("quantum", Kind::Bytes { min: 64, max: 1_000_000 }, "1500B",
        "How many bytes the class with the least weight may send in a turn.", "the largest packet");
    EF_RATE: Option<BitRate> = Key::new("ef_rate", Kind::Rate { min: 1.0, max: 1e14 }, "none",
        "The rate of expedited forwarding; packets beyond it are dropped. Default: a tenth of the line's rate.",
        "RFC 3246 section 2; the tenth is tailback's");
    EF_BURST: u64 = Key::new("ef_burst", Kind::Bytes { min: 40, max: 1_000_000_000 }, "3000B",
        "How many bytes of expedited forwarding may arrive at once. Give at least the size of its largest packet.",
        "two packets");
    EF_BUFFER: Size = Key::new("ef_buffer", Kind::Size, "100 packets",
        "How much of expedited forwarding may wait.", "tailback");
    OWN_AQM = Param::new(AQM.name, AQM.kind, "mred",
        "The AQM on each queue of assured forwarding; its buffer is that of the queue.", "RFC 2597 section 4");
    BEFORE;
}

/// The number of queues: EF, AF1 to AF4, and best effort.
const QUEUES: usize = 6;
const EF: usize = 0;
const BEST_EFFORT: usize = 5;
const AF: std::ops::RangeInclusive<usize> = 1..=4;
/// The code point of expedited forwarding (RFC 3246 section 2.7).
const EF_CODE: u8 = 46;
/// By default the rate of EF is the rate of the line divided by this number.
const EF_PART: u64 = 10;
/// The units of credit in a byte. Bytes are divided so that weights need not be whole numbers.
const BYTE: f64 = 1024.0;

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            beside: Some(beside),
            ..Facts::SEVERAL_QUEUES
        },
    }
}

/// The limits of the other queues: four more buffers, and that of EF.
fn beside(s: &Settings) -> u64 {
    let amount = |size| match size {
        Size::Packets(n) | Size::Bytes(n) => n,
        // This is more packets or bytes than can ever wait.
        Size::Unlimited => 1 << 40,
    };
    4 * amount(s.get(&BUFFER)) + amount(s.get(&EF_BUFFER))
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let weights = s.get(&WEIGHTS);
    if weights.len() != QUEUES - 1 {
        let e = format!("{} weights for AF1 to AF4 and best effort", weights.len());
        return Err(Refusal::new(e, "give five, such as weights = [4, 3, 2, 1, 1]").within("weights"));
    }
    let least_weight = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let mut quanta = [0; QUEUES];
    for (quantum, weight) in quanta[1..].iter_mut().zip(&weights) {
        *quantum = libm::round(s.get(&QUANTUM) as f64 * BYTE * weight / least_weight) as i64;
    }
    let (buffer, ef_buffer) = (s.get(&BUFFER), s.get(&EF_BUFFER));
    let queue = |q: usize| -> Queue<P> { Fifo::new(if q == EF { ef_buffer } else { buffer }, Box::new(DropTail)) };
    Ok(Box::new(Diffserv {
        queues: std::array::from_fn(queue),
        limit: together(buffer, ef_buffer),
        ef_rate: s.get(&EF_RATE),
        policer: Bucket::full(s.get(&EF_BURST)),
        quanta,
        credit: [0; QUEUES],
        turn: 1,
        given: false,
        probes: MODEL.probes.to_vec(),
    }))
}

/// The limit of all queues together. If EF has another unit than the other queues, there is no common limit.
fn together(buffer: Size, ef: Size) -> Size {
    match (buffer, ef) {
        (Size::Packets(n), Size::Packets(e)) => Size::Packets(5 * n + e),
        (Size::Bytes(n), Size::Bytes(e)) => Size::Bytes(5 * n + e),
        _ => Size::Unlimited,
    }
}

type Queue<P> = Fifo<P, Box<dyn Admission<P>>>;

/// The port.
pub struct Diffserv<P> {
    queues: [Queue<P>; QUEUES],
    limit: Size,
    /// The rate of EF; `None` for its default part of the line.
    ef_rate: Option<BitRate>,
    policer: Bucket,
    /// The quantum of a turn, in units of credit.
    quanta: [i64; QUEUES],
    credit: [i64; QUEUES],
    /// The class that has the turn, and whether it has received its quantum for this turn.
    turn: usize,
    given: bool,
    probes: Vec<ProbeDef>,
}

/// The queue of a packet.
fn class_of<P: Packet>(p: &P) -> usize {
    let code = p.dscp();
    match Colour::of(code) {
        Some(_) => usize::from(code.0 >> 3),
        None if code.0 == EF_CODE => EF,
        None => BEST_EFFORT,
    }
}

impl<P: Packet> Diffserv<P> {
    fn waits(&self, q: usize) -> bool {
        self.queues[q].backlog().packets > 0
    }

    /// The next packet of a queue, unless its AQM drops all waiting packets.
    fn take(&mut self, q: usize, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        let Service::Send(p) = self.queues[q].dequeue(line, out) else {
            return None;
        };
        if !self.waits(q) {
            // The queue of this AQM is idle from now on, even if the line sends packets of other queues.
            self.queues[q].admission.idle(line);
        }
        Some(p)
    }

    fn pass_turn(&mut self) {
        self.turn = if self.turn == BEST_EFFORT { 1 } else { self.turn + 1 };
        self.given = false;
    }
}

impl<P: Packet> QueueDiscipline<P> for Diffserv<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        let q = class_of(&p);
        if q == EF {
            let rate = self.ef_rate.unwrap_or(BitRate(line.rate.0 / EF_PART));
            self.policer.fill(rate, line.now);
            if !self.policer.take(p.bytes()) {
                return out.dropped(p, Place::Arriving, DropReason::Profile);
            }
        }
        self.queues[q].enqueue(p, line, out);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        if let Some(p) = self.take(EF, line, out) {
            return Service::Send(p);
        }
        while (1..QUEUES).any(|q| self.waits(q)) {
            let q = self.turn;
            if !self.waits(q) {
                self.credit[q] = 0;
                self.pass_turn();
                continue;
            }
            if !self.given {
                self.credit[q] += self.quanta[q];
                self.given = true;
            }
            if self.credit[q] <= 0 {
                self.pass_turn();
                continue;
            }
            if let Some(p) = self.take(q, line, out) {
                self.credit[q] -= i64::from(p.bytes()) * BYTE as i64;
                return Service::Send(p);
            }
        }
        Service::Empty
    }

    fn give_aqms(&mut self, aqms: QueueAqms<P>) -> Result<(), QueueAqms<P>> {
        self.probes = MODEL.probes.to_vec();
        self.probes.extend(aqms.probes().iter().map(|own| ProbeDef {
            per: "class and colour",
            ..*own
        }));
        for q in AF {
            self.queues[q].admission = aqms.made(q as u32);
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<Time> {
        self.queues.iter().fold(None, |first, q| earlier(first, q.next_timer()))
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        for q in &mut self.queues {
            if q.next_timer().is_some_and(|t| t <= line.now) {
                q.on_timer(line, out);
            }
        }
    }

    fn backlog(&self) -> Backlog {
        let sum = |a: Backlog, q: &Queue<P>| Backlog {
            packets: a.packets + q.backlog().packets,
            bytes: a.bytes + q.backlog().bytes,
        };
        self.queues.iter().fold(Backlog::default(), sum)
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    /// The value of a probe. A probe of an AQM has a block of indices for each class of assured forwarding. The index
    /// within a block is that of the AQM.
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        let index = index as usize;
        match probe.0 as usize {
            0 => self.queues.get(index).map_or(f64::NAN, |q| q.backlog().packets as f64),
            own => {
                let (class, inner) = (index / INNER + 1, (index % INNER) as u32);
                match AF.contains(&class) {
                    true => self.queues[class].read(ProbeId(own as u16 - 1), inner),
                    false => f64::NAN,
                }
            }
        }
    }
}

/// The number of values of an AQM's probe: one for each colour.
const INNER: usize = crate::aqm::colours::precedence::COLOURS;

impl<P: Packet> QueueView<P> for Diffserv<P> {
    fn stored(&self) -> Backlog {
        self.backlog()
    }
    fn limit(&self) -> Size {
        self.limit
    }
    /// The queues have separate limits, so this is true if any queue has room.
    fn fits(&self, bytes: u32) -> bool {
        self.queues
            .iter()
            .any(|q| capacity::fits(q.limit(), q.backlog(), bytes))
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        let mut position = stream.below(self.backlog().packets);
        for (i, q) in self.queues.iter().enumerate() {
            let held = q.backlog().packets;
            if position < held {
                return Some(Handle((i as u64) << 32 | position));
            }
            position -= held;
        }
        None
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.queues.get((at.0 >> 32) as usize)?.get(inside(at))
    }
    fn remove(&mut self, at: Handle, why: DropReason, line: &Line) -> Option<P> {
        self.queues
            .get_mut((at.0 >> 32) as usize)?
            .remove(inside(at), why, line)
    }
}

/// The handle of a packet in its own queue.
fn inside(at: Handle) -> Handle {
    Handle(at.0 & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
