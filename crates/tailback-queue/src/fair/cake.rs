//! CAKE: one discipline with everything that a home gateway needs at its slow link.
//!
//! A shaper keeps the queue in this discipline instead of in the modem. Three classes (or four, eight, or one) let
//! calls go before uploads, and backups after uploads, each within a share of the rate. In each class every flow has a
//! queue. The line is shared fairly between hosts and between the flows of each host. COBALT runs on each queue.
//! Measure: the sojourn time in a flow's own queue. Function: COBALT's control law. Action: a mark for capable packets,
//! a drop for others (sojourn), BLUE's drops, and drops from the longest queue when memory is short (overload).
//!
//! ```text
//! enqueue:  class by DiffServ code point; queue by hash in sets; over memory: the head of the longest queue is dropped
//! dequeue:  not before the shaper's clock;  a class: of those due voice, video, bulk, best effort, else the earliest;
//!           unshaped: turns by weight 16 : 8 : 4 : 1 (best effort, video, voice, bulk)
//!           a queue: new before old, a quantum over the bulk flows of its hosts;  COBALT, which spares the last packet
//! a packet of L bytes on the link puts the shaper's clock on by 8 L / rate, that of its class by 8 L / its rate
//! ```
//!
//! From: T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways", LANMAN 2018; defaults of Linux cake.
//!
//! State: the store of all queues; for each class its clock, lists and hosts (`tin`); the shaper's clock; an index that
//! finds the longest queue while memory is short.
//!
//! Departures: hosts are distinguished exactly, not by a hash. A queue that is found empty decays at once, while DRR++
//! first moves it to the old list. Without its shaper CAKE has no rate, so `target` is not adapted. The ACK filter is
//! in `acks`, with departures of its own. The splitting of large segments and automatic rates are not implemented.
//!
//! Cost of a packet: O(`ways`); while memory is short O(log queues) more. A host with n bulk flows needs n turns for a
//! packet, but these turns are computed in one step.

mod acks;
mod hosts;
pub mod params;
mod scheme;
mod tin;

use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, Out, Place, ProbeId, QueueDiscipline, Service};
use crate::contract::server::LineClock;
use crate::contract::view::{Handle, QueueView};
use crate::entry::{Build, Entry, Facts, Law, Marks};
use crate::pieces::classify::hash_sets::COUNTS;
use crate::pieces::index::fattest::Fattest;
use crate::pieces::port::{BACKLOGGED, QUEUE_BYTES, QUEUE_PACKETS};
use crate::pieces::store::{QueueId, Store};
use params::{AckFilter, BUFFER, Config, MODEL, RATE};
use scheme::Class;
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Dscp, Duration, Packet, ProbeDef, Settings, Size, Stream, Time};
use tin::Tin;

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            acts_early: true,
            // By default there are three tins, each with hosts and flows.
            sets: 6,
            marks: Marks::WithEcn,
            waits: &["target"],
            shapes: Some(RATE.param.name),
            follows: Some(params::follow_rtt),
            law: Some(Law::RoundTrip("rtt")),
            linux: Some(&params::LINUX),
            ..Facts::MAPPED
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let config = Config::from_settings(s, context.rate)?;
    Ok(Box::new(Cake::new(config, s.get(&BUFFER), context.stream)))
}

/// The bytes of a turn of a class with weight 1. A turn of a class with the whole rate covers a packet of the largest
/// size.
const TURN: i64 = 6;

/// The discipline.
pub struct Cake<P> {
    config: Config,
    store: Store<P>,
    tins: Vec<Tin>,
    /// If CAKE shapes, its clock, and the time when the next packet may leave.
    shaper: Option<(LineClock, Time)>,
    /// The class that has the turn, if CAKE does not shape.
    turn: usize,
    longest: Fattest,
    stream: Stream,
}

impl<P: Packet> Cake<P> {
    /// Values that can be recorded.
    const READ: [Probe<Cake<P>>; 9] = [
        Probe::of(BACKLOGGED, |c, _| f64::from(c.store.backlogged())),
        Probe::of(QUEUE_PACKETS, |c, q| c.of_queue(q, |s| f64::from(s.packets(q)))),
        Probe::of(QUEUE_BYTES, |c, q| c.of_queue(q, |s| s.bytes(q) as f64)),
        Probe::new(
            "tin_packets",
            "packets",
            "Packets in a class. The order is best effort, bulk, voice, video; of eight classes, the lowest is first.",
            |c: &Cake<P>, i| c.of_tin(i, |t| t.packets as f64),
        )
        .per("tin"),
        Probe::new(
            "bulk_flows",
            "queues",
            "Queues of a class that have used up their first quantum.",
            |c: &Cake<P>, i| c.of_tin(i, |t| f64::from(t.bulk_flows)),
        )
        .per("tin"),
        Probe::of(COUNTS[0], |c, _| c.found(0)),
        Probe::of(COUNTS[1], |c, _| c.found(1)),
        Probe::of(COUNTS[2], |c, _| c.found(2)),
        Probe::of(COUNTS[3], |c, _| c.found(3)),
    ];

    fn of_queue(&self, q: u32, value: impl Fn(&Store<P>) -> f64) -> f64 {
        if q < self.store.queues() {
            value(&self.store)
        } else {
            f64::NAN
        }
    }

    fn of_tin(&self, i: u32, value: fn(&Tin) -> f64) -> f64 {
        self.tins.get(i as usize).map_or(f64::NAN, value)
    }

    fn found(&self, how: usize) -> f64 {
        self.tins.iter().map(|t| t.found(how)).sum()
    }

    pub fn new(config: Config, buffer: Size, mut stream: Stream) -> Cake<P> {
        let classes = config.scheme.classes;
        let tin = |(i, class): (usize, &Class)| Tin::new(&config, *class, i as u32 * config.queues, stream.bits());
        Cake {
            tins: classes.iter().enumerate().map(tin).collect(),
            store: Store::new(buffer),
            shaper: config.rate.map(|rate| (LineClock::new(rate), Time::ZERO)),
            turn: 0,
            longest: Fattest::default(),
            config,
            stream,
        }
    }

    fn tin_of(&self, p: &P) -> usize {
        self.config.scheme.class_of(p.dscp().0)
    }

    /// The class of a queue, and its number in that class.
    fn place_of(&self, q: QueueId) -> (usize, u32) {
        ((q / self.config.queues) as usize, q % self.config.queues)
    }

    fn is_over(&self) -> bool {
        !self.store.fits(0) || self.store.backlog().bytes > self.config.memory
    }

    /// Remove a packet from the store.
    fn take(&mut self, slot: u32) -> Option<(QueueId, P)> {
        let (q, p) = self.store.remove(slot)?;
        let (tin, _) = self.place_of(q);
        self.tins[tin].packets -= 1;
        self.longest.changed(q, &self.store);
        Some((q, p))
    }

    /// Drop heads of the longest queue until the memory limit holds; `newcomer` is the slot of the packet that
    /// arrived.
    fn shed(&mut self, newcomer: u32, line: &Line, out: &mut dyn Out<P>) {
        let mut newcomer = Some(newcomer);
        while self.is_over() {
            let head = self.longest.find(&self.store).and_then(|q| self.store.head(q));
            let Some((slot, (q, p))) = head.and_then(|slot| Some((slot, self.take(slot)?))) else {
                return;
            };
            let (tin, flow) = self.place_of(q);
            self.tins[tin].overflow(flow, line.now);
            if self.config.ingress {
                self.advance(tin, p.bytes(), line.now);
            }
            let place = match newcomer.take_if(|n| *n == slot) {
                Some(_) => Place::Arriving,
                None => Place::Queued,
            };
            out.dropped(p, place, DropReason::Overload);
        }
    }

    /// Drop the ACK, if any, that the packet in `slot` makes redundant. This packet is the last one in queue `q` of
    /// class `i`.
    fn filter(&mut self, i: usize, q: u32, slot: u32, line: &Line, out: &mut dyn Out<P>) {
        let tin = &mut self.tins[i];
        let Some(redundant_slot) =
            tin.acks[q as usize].redundant(&self.store, tin.first + q, slot, self.config.ack_filter)
        else {
            return;
        };
        if let Some((_, p)) = self.take(redundant_slot) {
            if self.config.ingress {
                self.advance(i, p.bytes(), line.now);
            }
            out.dropped(p, Place::Queued, DropReason::Filtered);
        }
    }

    /// Advance the clocks by a packet of this class.
    fn advance(&mut self, tin: usize, bytes: u32, now: Time) {
        let length = self.config.length.of(bytes);
        let tin = &mut self.tins[tin];
        tin.credit -= length as i64;
        let Some((clock, next_departure)) = &mut self.shaper else {
            return;
        };
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        *next_departure += clock.service(length, false);
        let took = tin.clock.as_mut().map_or(Duration::ZERO, |c| c.service(length, false));
        tin.due = match tin.due < now {
            true => tin.due + took,
            false => tin.due.max(now + took),
        };
    }

    /// The class to be served; at least one class has packets.
    fn class(&mut self, now: Time) -> usize {
        if self.shaper.is_none() {
            loop {
                let tin = &mut self.tins[self.turn];
                if tin.packets > 0 && tin.credit > 0 {
                    return self.turn;
                }
                tin.credit = match tin.packets {
                    0 => 0,
                    _ => tin.credit + TURN * tin.class.weight,
                };
                self.turn = (self.turn + 1) % self.tins.len();
            }
        }
        let (order, rest) = (self.config.scheme.order, self.config.scheme.rest);
        let waiting = || order.iter().copied().filter(|t| self.tins[*t].packets > 0);
        let due = waiting().find(|t| self.tins[*t].due <= now);
        due.or_else(|| waiting().min_by_key(|t| self.tins[*t].due))
            .unwrap_or(rest)
    }

    /// The next packet of this class, which has at least one.
    fn next_of(&mut self, i: usize, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        self.tins[i].decay(line.now);
        loop {
            let q = self.tins[i].turn(&self.store, line.now)?;
            let id = self.tins[i].first + q;
            let (_, mut p) = self.store.head(id).and_then(|slot| self.take(slot))?;
            let is_last = self.store.packets(id) == 0;
            let (mtu, bulk) = (self.tins[i].mtu_time, u64::from(self.tins[i].bulk_flows));
            let sharing = if self.config.ingress { 2 * bulk } else { 0 };
            let cobalt = self.tins[i].cobalt;
            let threshold = cobalt.target.max(Duration(mtu.0.saturating_mul(sharing.max(4))));
            let chance = (line.now, &mut self.stream);
            let kill = self.tins[i].control(q).judge(&cobalt, &mut p, threshold, chance, out);
            let length = self.config.length.of(p.bytes());
            match kill {
                Some(why) if !is_last => {
                    if self.config.ingress {
                        self.tins[i].charge(q, length);
                        self.advance(i, p.bytes(), line.now);
                    }
                    out.dropped(p, Place::Dequeued, why);
                }
                _ => {
                    self.tins[i].charge(q, length);
                    self.advance(i, p.bytes(), line.now);
                    return Some(p);
                }
            }
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for Cake<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        if !capacity::fits_alone(self.store.size(), p.bytes()) {
            return out.dropped(p, Place::Arriving, DropReason::Overflow);
        }
        if self.store.backlog().packets == 0
            && let Some((_, next)) = &mut self.shaper
        {
            *next = (*next).max(line.now);
        }
        let i = self.tin_of(&p);
        let tin = &mut self.tins[i];
        if tin.packets == 0 {
            tin.due = tin.due.max(line.now);
        }
        let q = tin.classify(&p);
        let slot = match self.store.append(tin.first + q, p, line.now) {
            Ok(slot) => slot,
            Err(p) => return out.dropped(p, Place::Arriving, DropReason::Overflow),
        };
        tin.packets += 1;
        tin.wake(q);
        self.longest.changed(tin.first + q, &self.store);
        if self.config.ack_filter != AckFilter::Off {
            self.filter(i, q, slot, line, out);
        }
        self.shed(slot, line, out);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        while self.store.backlog().packets > 0 {
            // With `ingress`, packets that are dropped here also advance the clock.
            if let Some((_, next)) = self.shaper.as_ref().filter(|s| s.1 > line.now) {
                return Service::Wait(*next);
            }
            let class = self.class(line.now);
            if let Some(mut p) = self.next_of(class, line, out) {
                if self.config.wash {
                    p.set_dscp(Dscp(0));
                }
                return Service::Send(p);
            }
        }
        Service::Empty
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn leave_washing(&mut self) -> bool {
        std::mem::take(&mut self.config.wash)
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&Self::READ, self, usize::from(probe.0), index)
    }
}

/// This view lets an admission run before CAKE, and draw packets from all queues with equal probability.
impl<P: Packet> QueueView<P> for Cake<P> {
    fn stored(&self) -> Backlog {
        self.store.backlog()
    }
    fn limit(&self) -> Size {
        self.store.size()
    }
    /// True for every packet that fits into the empty buffer, because CAKE drops others to make room.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits_alone(self.store.size(), bytes)
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        let n = Some(self.store.backlog().packets).filter(|n| *n > 0)?;
        let slot = self.store.nth(stream.below(n) as u32)?;
        Some(Handle(u64::from(slot)))
    }
    fn oldest(&self) -> Option<Handle> {
        self.store.oldest().map(|slot| Handle(u64::from(slot)))
    }
    fn newest(&self) -> Option<Handle> {
        self.store.newest().map(|slot| Handle(u64::from(slot)))
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.store.packet(u32::try_from(at.0).ok()?)
    }
    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        self.take(u32::try_from(at.0).ok()?).map(|x| x.1)
    }
}

#[cfg(test)]
#[path = "cake/tests.rs"]
mod tests;
