//! One direction of a link: a queue, a line and a wire.
//!
//! There are two forms. *Fused*: a FIFO that decides only at arrivals (drop-tail, a step) does not act when a packet
//! leaves. A packet's departure is therefore known when it arrives, and the port is arithmetic at enqueue. *Explicit*:
//! any other discipline, which is asked for a packet each time the line becomes free.
//!
//! State: the line becomes free at `free_at`; the wire holds packets with their time of arrival at the far end, ns.
//! Counters run from `since`. Parts that reach past an instant (a transmission in progress, a departure already
//! computed) are subtracted when the counters are read, so that means are exact for any interval.
//!
//! Cost: a fused port needs at most one event for each packet-hop, and no event for a packet that is handed on ahead of
//! time. An explicit port needs one more.

pub mod prefetch;
pub mod ring;
pub mod snapshot;
pub mod wire;

use crate::measure::histogram::Histogram;
use crate::wire::impair::Impairments;
use crate::wire::packet::{SimPacket, WirePacket};
use crate::wire::port::ring::Ring;
use crate::wire::port::wire::Wire;
use tailback_base::{BitRate, Dscp, Duration, Ecn, Packet, Size, Time};
use tailback_queue::entry::Arithmetic;
use tailback_queue::server::{LineClock, Sent};
use tailback_queue::{DropReason, MarkReason, Place, QueueDiscipline, Server};

/// The memory of a packet that waits in a fused queue, bytes.
pub const WAITING_BYTES: usize = size_of::<Waiting>();

/// A packet that waits in a fused queue.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// The time at which its transmission starts.
    start: Time,
    arrived: Time,
    bytes: u32,
}

/// Drop-tail as arithmetic, with or without a step.
#[derive(Debug)]
pub struct Fused {
    limit: Size,
    /// The number of waiting packets from which on a packet meets a step, which marks it or drops it; never without a
    /// step.
    step_at: u64,
    marks: bool,
    /// The packets that wait; packets whose transmission has started are removed lazily.
    waiting: Ring<Waiting>,
    waiting_bytes: u64,
}

impl Fused {
    /// Whether it takes every packet unchanged.
    pub fn takes_all(&self) -> bool {
        self.limit == Size::Unlimited && self.step_at == u64::MAX
    }

    pub fn new(rule: Arithmetic) -> Fused {
        Fused {
            limit: rule.limit,
            step_at: rule.step.map_or(u64::MAX, |step| step.threshold),
            marks: rule.step.is_some_and(|step| step.marks),
            waiting: Ring::default(),
            waiting_bytes: 0,
        }
    }

    /// Count the packets whose transmission has started, and remove them. At one instant departures come first.
    #[inline(always)]
    fn drain(&mut self, now: Time, sojourn: &mut Option<Box<Histogram>>) {
        while let Some(&w) = self.waiting.front() {
            if w.start > now {
                break;
            }
            self.waiting.pop();
            self.waiting_bytes -= u64::from(w.bytes);
            if let Some(h) = sojourn {
                h.add(w.start - w.arrived);
            }
        }
    }
}

/// Any other discipline, before its line.
pub struct Explicit {
    pub server: Server<SimPacket>,
    /// No packet arrives earlier than this, because a packet that was sent before the delay fell arrives then.
    pub not_before: Time,
    /// The bits that its line had sent and offered at the beginning of the count; only for a line whose rate changes.
    carried: Option<(f64, f64)>,
    /// Whether ends that limit their hosts send into it (see `sim/endpoints/host.rs`).
    pub tells: bool,
    /// The time of the event of a lazy port; [`Time::NEVER`] without an event.
    pub armed: Time,
    backlog: u64,
    changed: Time,
}

pub enum Queue {
    Fused(Fused),
    Explicit(Box<Explicit>),
}

impl Queue {
    /// The smallest packet size that does not enter an empty buffer by arithmetic. A packet may have zero length.
    fn too_long_alone(&self) -> u32 {
        match self {
            Queue::Explicit(_) => 0,
            Queue::Fused(f) => match f.limit {
                Size::Unlimited => u32::MAX,
                Size::Packets(0) => 0,
                Size::Packets(_) => u32::MAX,
                Size::Bytes(n) => n.saturating_add(1).min(u64::from(u32::MAX)) as u32,
            },
        }
    }
}

/// The fate of a packet that was offered to an arithmetic port.
pub enum Offer {
    /// The packet is on its way, and arrives at this time.
    Taken(Time),
    /// The same as `Taken`, and a step marks the packet.
    Marked(Time),
    /// The buffer is full, or a step drops a packet that it cannot mark.
    Refused(DropReason),
    /// This port has a discipline.
    Explicit,
}

/// The counts of a port since `since`.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct PortStats {
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// Time the line was busy, ns; may include future time.
    busy_ns: u64,
    /// Packets whose transmission began when they arrived. Most packets do so. They are not in `sojourn`, which is
    /// elsewhere in memory.
    at_once: u64,
    pub sojourn: Option<Box<Histogram>>,
    pub losses: Option<Box<Losses>>,
    /// Integral of the waiting packets over time, packet-ns; for a fused port it may include future time.
    queue_ns: Wide,
    pub max_queue: u64,
    pub since: Time,
}

/// Drops and marks, by colour (the DiffServ code point); in order of first use.
#[derive(Debug, Default, Clone)]
pub struct Losses {
    pub colours: Vec<(Dscp, ColourLosses)>,
}

/// Drops by place and reason, marks by reason.
#[derive(Debug, Default, Clone)]
pub struct ColourLosses {
    pub drops: [[Tally; DropReason::ALL.len()]; Place::ALL.len()],
    pub marks: [Tally; MarkReason::ALL.len()],
}

impl Losses {
    fn of(&mut self, colour: Dscp) -> &mut ColourLosses {
        let i = self.colours.iter().position(|c| c.0 == colour).unwrap_or_else(|| {
            self.colours.push((colour, ColourLosses::default()));
            self.colours.len() - 1
        });
        &mut self.colours[i].1
    }
}

/// A number of two words that needs no more alignment than one.
#[derive(Clone, Copy, Debug, Default)]
struct Wide([u64; 2]);

impl Wide {
    fn get(self) -> u128 {
        (u128::from(self.0[1]) << 64) | u128::from(self.0[0])
    }

    #[inline]
    fn add(&mut self, x: u64) {
        let (sum, wraps) = self.0[0].overflowing_add(x);
        self.0 = [sum, self.0[1] + u64::from(wraps)];
    }
}

impl From<u128> for Wide {
    fn from(x: u128) -> Wide {
        Wide([x as u64, (x >> 64) as u64])
    }
}

/// A number of packets, and their bytes on the wire.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub packets: u64,
    pub bytes: u64,
}

impl Tally {
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl PortStats {
    pub fn count_drop(&mut self, place: Place, why: DropReason, p: &WirePacket) {
        let losses = self.losses.get_or_insert_default().of(p.colour());
        losses.drops[place as usize][why as usize].add(p.size());
    }

    pub fn count_mark(&mut self, why: MarkReason, p: &WirePacket) {
        let losses = self.losses.get_or_insert_default().of(p.colour());
        losses.marks[why as usize].add(p.size());
    }

    /// A packet begins its transmission, after its time in an explicit queue.
    #[inline]
    pub fn transmit(&mut self, sent: &Sent<SimPacket>) {
        let waited = sent.begin - sent.packet.stamp();
        if waited == Duration::ZERO {
            self.at_once += 1;
        } else if let Some(h) = &mut self.sojourn {
            h.add(waited);
        }
        self.busy_ns += (sent.end - sent.begin).0;
    }

    fn colours(&self) -> impl Iterator<Item = &ColourLosses> {
        self.losses.iter().flat_map(|l| l.colours.iter().map(|c| &c.1))
    }

    pub fn dropped(&self) -> u64 {
        let drops = self.colours().flat_map(|l| l.drops.iter().flatten());
        drops.map(|t| t.packets).sum()
    }

    /// The share of the memory's bandwidth that went into packets never sent; NaN when nothing was stored.
    pub fn wasted(&self) -> f64 {
        let drops_at = |place: Place| -> u64 {
            let all = self.colours().flat_map(|l| &l.drops[place as usize]);
            all.map(|t| t.bytes).sum()
        };
        let stored = self.arrived_bytes.saturating_sub(drops_at(Place::Arriving));
        (drops_at(Place::Queued) + drops_at(Place::Dequeued)) as f64 / stored as f64
    }

    pub fn marked(&self) -> u64 {
        self.colours().flat_map(|l| &l.marks).map(|t| t.packets).sum()
    }
}

/// The value for no conditioner.
pub const NO_EDGE: u32 = u32::MAX;

/// The optional stages before a queue. Most ports have none of them; one test shows that.
pub struct Before;

impl Before {
    pub const NOTHING: u8 = 0;
    pub const CONDITIONER: u8 = 1;
    pub const IMPAIRMENTS: u8 = 1 << 1;
    pub const TAP: u8 = 1 << 2;
    /// The tap sees the far end as well.
    pub const TAP_AT_EXIT: u8 = 1 << 3;
    /// The conditioner may send requests to sources.
    pub const REQUESTS: u8 = 1 << 4;
    /// The link has failed.
    pub const DOWN: u8 = 1 << 5;
    /// Packets that reach its far end are lost.
    pub const LOSES: u8 = 1 << 6;
}

/// The fields are in the order of use: where nothing waits, a packet touches the first two cache lines.
#[repr(C, align(64))]
pub struct Port {
    pub wire: Wire,
    pub delay: Duration,
    /// Fused: the time at which the line has sent everything it was given.
    free_at: Time,
    /// Fused: the times on the line.
    clock: LineClock,
    /// The stages between an offered packet and the queue: bits of [`Before`].
    pub before: u8,
    /// Something observes the packets at the far end: a conditioner at the opposite port, or a tap.
    pub watched_exit: bool,
    /// Some probe of this port is recorded at every change.
    pub watched: bool,
    /// It may hand packets on before they have arrived (see `sim/ahead.rs`).
    pub hands_ahead: bool,
    /// Fused: a packet of fewer bytes enters an empty buffer; 0 for a port that is not fused.
    too_long_alone: u32,
    /// Fused: some packets may wait.
    waits: bool,
    /// Fused and without limit, and the number of waiting packets is never read.
    uncounted: bool,
    /// Explicit: it is served when its state is needed (see `sim/lazy.rs`).
    pub lazy: bool,
    /// The conditioner in front of this port's queue.
    pub edge: u32,
    pub stats: PortStats,
    pub queue: Queue,
    pub impair: Option<Box<Impairments>>,
}

impl Port {
    pub fn new(rate: BitRate, delay: Duration, queue: Queue, quantiles: bool) -> Port {
        Port {
            clock: LineClock::new(rate),
            delay,
            free_at: Time::ZERO,
            wire: Wire::default(),
            too_long_alone: queue.too_long_alone(),
            waits: false,
            uncounted: false,
            queue,
            stats: PortStats {
                sojourn: quantiles.then(Box::default),
                ..PortStats::default()
            },
            before: 0,
            watched_exit: false,
            impair: None,
            edge: NO_EDGE,
            watched: false,
            hands_ahead: false,
            lazy: false,
        }
    }

    /// The queue of this port will never be read, so a queue without limit need not be kept.
    pub fn leave_queue_uncounted(&mut self) {
        let takes_all = matches!(&self.queue, Queue::Fused(f) if f.takes_all());
        self.uncounted = takes_all && self.stats.sojourn.is_none();
    }

    /// Take a packet, if this port is arithmetic, and return its arrival time. The caller has to put the packet on the
    /// wire.
    #[inline(always)]
    pub fn offer_fused(&mut self, p: &WirePacket, now: Time) -> Offer {
        let (bytes, idle) = (p.size(), !self.waits & (self.free_at <= now));
        if (idle & (bytes < self.too_long_alone)) | self.uncounted {
            self.stats.arrived_packets += 1;
            self.stats.arrived_bytes += u64::from(bytes);
            self.stats.at_once += 1;
            let service = self.clock.service(bytes, self.free_at < now);
            self.stats.busy_ns += service.0;
            self.free_at = self.free_at.max(now) + service;
            return Offer::Taken(self.free_at + self.delay);
        }
        self.offer_queued(p, now)
    }

    #[inline(never)]
    fn offer_queued(&mut self, p: &WirePacket, now: Time) -> Offer {
        let Port {
            clock,
            free_at,
            stats,
            delay,
            waits,
            queue: Queue::Fused(fused),
            ..
        } = self
        else {
            return Offer::Explicit;
        };
        let bytes = p.size();
        stats.arrived_packets += 1;
        stats.arrived_bytes += u64::from(bytes);
        let idle = *free_at <= now;
        let start = if idle { now } else { *free_at };
        fused.drain(now, &mut stats.sojourn);
        // This also holds on an idle line: a packet that does not fit into the empty buffer never enters, with any
        // discipline.
        let waiting = fused.waiting.len() as u64;
        let full = match fused.limit {
            Size::Unlimited => false,
            Size::Packets(n) => waiting >= n,
            Size::Bytes(n) => fused.waiting_bytes + u64::from(bytes) > n,
        };
        if full {
            return Offer::Refused(DropReason::Overflow);
        }
        let steps = waiting >= fused.step_at;
        if steps && (!fused.marks || p.ecn_bits() == Ecn::NotEct) {
            return Offer::Refused(DropReason::Forced);
        }
        if !idle {
            let arrived = now;
            fused.waiting.push(Waiting { start, arrived, bytes });
            fused.waiting_bytes += u64::from(bytes);
            stats.queue_ns.add(start.0 - now.0);
            stats.max_queue = stats.max_queue.max(fused.waiting.len() as u64);
        } else {
            stats.at_once += 1;
        }
        *waits = !fused.waiting.is_empty();
        // A packet that arrives at the instant at which the line becomes free continues the busy period, as in
        // `transmit`.
        let service = clock.service(bytes, *free_at < now);
        stats.busy_ns += service.0;
        *free_at = start + service;
        let arrives = *free_at + *delay;
        if steps {
            Offer::Marked(arrives)
        } else {
            Offer::Taken(arrives)
        }
    }

    /// A packet reaches the far end.
    #[inline(always)]
    pub fn count_delivered(&mut self, p: &WirePacket) {
        self.stats.delivered_packets += 1;
        self.stats.delivered_bytes += u64::from(p.size());
    }

    /// Packets and bytes waiting now.
    pub fn waiting(&mut self, now: Time) -> (u64, u64) {
        match &mut self.queue {
            Queue::Fused(f) => {
                f.drain(now, &mut self.stats.sojourn);
                (f.waiting.len() as u64, f.waiting_bytes)
            }
            Queue::Explicit(e) => {
                let b = e.server.queue.backlog();
                (b.packets, b.bytes)
            }
        }
    }

    /// Whether its discipline or its conditioner may send requests to sources.
    pub fn sends_requests(&self) -> bool {
        self.before & Before::REQUESTS != 0
            || matches!(&self.queue, Queue::Explicit(e) if e.server.queue.sends_requests())
    }

    /// The time at which the line has sent everything it was given.
    pub fn free_at(&self) -> Time {
        match &self.queue {
            Queue::Fused(_) => self.free_at,
            Queue::Explicit(e) => e.server.free_at(),
        }
    }

    pub fn rate(&self) -> BitRate {
        match &self.queue {
            Queue::Fused(_) => self.clock.rate(),
            Queue::Explicit(e) => e.server.rate(),
        }
    }

    /// Change the rate of the line, of explicit ports only. A packet that is on the line keeps its old rate. Returns
    /// when a line that had rate 0 looks for the next packet.
    #[must_use]
    pub fn set_rate(&mut self, rate: BitRate, now: Time) -> Option<Time> {
        match &mut self.queue {
            Queue::Explicit(e) => e.server.set_rate(rate, now),
            Queue::Fused(_) => None,
        }
    }

    /// Note that the rate of its line changes during the run. For explicit ports only.
    pub fn rate_changes(&mut self) {
        if let Queue::Explicit(e) = &mut self.queue {
            e.carried = Some((0.0, 0.0));
        }
    }

    /// The bits that the line has sent and offered between `since` and `now`, if its rate changes.
    pub fn carried(&self, now: Time) -> Option<(f64, f64)> {
        let Queue::Explicit(e) = &self.queue else { return None };
        let (sent_bits, offered_bits) = e.carried?;
        let (all_sent, all_offered) = e.server.carried(now);
        Some((all_sent - sent_bits, all_offered - offered_bits))
    }

    /// Change the delay of the wire. Packets on the way keep their delay and are not overtaken. For explicit ports
    /// only.
    pub fn set_delay(&mut self, delay: Duration) {
        if let Queue::Explicit(e) = &mut self.queue {
            e.not_before = e.not_before.max(e.server.free_at() + self.delay);
        }
        self.delay = delay;
    }

    /// Time the line was busy between `since` and `now`, seconds.
    pub fn busy_seconds(&self, now: Time) -> f64 {
        (self.stats.busy_ns - (self.free_at() - now).0.min(self.stats.busy_ns)) as f64 * 1e-9
    }

    /// Integral of the waiting packets from `since` to `now`, packet-seconds.
    pub fn queue_seconds(&self, now: Time) -> f64 {
        let ahead: u128 = match &self.queue {
            Queue::Fused(f) => f.waiting.iter().map(|w| u128::from(w.start.since(now).0)).sum(),
            Queue::Explicit(_) => 0,
        };
        let behind = match &self.queue {
            Queue::Fused(_) => 0,
            Queue::Explicit(e) => u128::from(e.backlog) * u128::from(now.0 - e.changed.0),
        };
        (self.stats.queue_ns.get() + behind - ahead) as f64 * 1e-9
    }

    /// Times in the queue of the packets whose transmission started between `since` and `now`.
    pub fn sojourn(&self, now: Time) -> Option<Histogram> {
        let mut h = self.stats.sojourn.as_deref()?.clone();
        h.add_nothing(self.stats.at_once);
        if let Queue::Fused(f) = &self.queue {
            for w in f.waiting.iter().take_while(|w| w.start <= now) {
                h.add(w.start - w.arrived);
            }
        }
        Some(h)
    }

    /// Start counting afresh at `now`.
    pub fn restart_statistics(&mut self, now: Time) {
        let quantiles = self.stats.sojourn.is_some();
        let (waiting, _) = self.waiting(now);
        self.stats = PortStats {
            since: now,
            busy_ns: (self.free_at() - now).0,
            queue_ns: match &self.queue {
                Queue::Fused(f) => f
                    .waiting
                    .iter()
                    .map(|w| u128::from(w.start.since(now).0))
                    .sum::<u128>()
                    .into(),
                Queue::Explicit(_) => Wide::default(),
            },
            max_queue: waiting,
            sojourn: quantiles.then(Box::default),
            ..PortStats::default()
        };
        if let Queue::Explicit(e) = &mut self.queue {
            e.changed = now;
            e.carried = e.carried.map(|_| e.server.carried(now));
        }
    }
}

impl Explicit {
    pub fn new(queue: Box<dyn QueueDiscipline<SimPacket>>, rate: BitRate) -> Explicit {
        Explicit {
            server: Server::new(queue, rate),
            not_before: Time::ZERO,
            carried: None,
            tells: false,
            armed: Time::NEVER,
            backlog: 0,
            changed: Time::ZERO,
        }
    }

    /// The event that a lazy port needs now. It comes one delay after the next due action, because a packet that is
    /// sent then is at the far end no earlier. An action that is due now gets an event now. `None` if the port has an
    /// event that comes no later, or if something is on its `wire`, because its arrival comes before that of packets
    /// sent later.
    #[inline]
    pub fn needs_event(&mut self, now: Time, delay: Duration, wire: &Wire) -> Option<Time> {
        let due = self.server.next().filter(|due| *due <= now || wire.is_empty())?;
        let timer = if due > now { due + delay } else { now };
        if timer >= self.armed {
            return None;
        }
        self.armed = timer;
        Some(timer)
    }

    /// Bring the queue's time average up to date after a call.
    #[inline]
    pub fn settle(&mut self, stats: &mut PortStats, now: Time) {
        let time = now.0 - self.changed.0;
        match self.backlog.checked_mul(time) {
            Some(area) => stats.queue_ns.add(area),
            None => stats.queue_ns = (stats.queue_ns.get() + u128::from(self.backlog) * u128::from(time)).into(),
        }
        self.changed = now;
        self.backlog = self.server.queue.backlog().packets;
        stats.max_queue = stats.max_queue.max(self.backlog);
    }
}
