//! DualPI2: a queue of low latency and a classic queue, which are coupled so that the flows of both get equal rates.
//!
//! A scalable sender responds so gently to a mark that its queue can be kept below a millisecond. A classic sender
//! needs a queue of several milliseconds. If both used one queue, classic packets would raise the delay of the scalable
//! ones. So there are two queues: L for ECT(1) and CE, and the classic queue for all other packets. L is served first.
//! To protect the classic queue from starvation, its controller also signals packets of L, k times as strongly. The
//! rate of a classic flow falls with the square root of its signal probability, that of a scalable flow with the
//! probability itself. So both get the same rate if the probability is p' squared for classic packets and k p' for L
//! packets. Measure: the delay of the heads. Function: a PI controller of the larger delay. Action: classic packets are
//! dropped or marked (early); L packets are marked (coupled, or step by the shallow ramp); under overload packets of
//! both queues are dropped (overload).
//!
//! ```text
//! every update_interval:  d = the longer wait of both heads;  p' += alpha * (d - target) + beta * (d - d before)
//! L:        max(ramp(sojourn), k p') of the packets are marked
//! classic:  p'^2 of them are marked, or dropped where they are not capable
//! k p' >= 1 is overload: classic drops p'^2 of whatever it sends, and so does L; L marks the rest with k p'
//! ```
//!
//! From: RFC 9332, sections 2.4 and 4.1 and appendix A (DualPI2). The default gains are those of Linux dualpi2. If
//! `form` is `linux`, the rules are those of net/sched/sch_dualpi2.c (Linux); the page of `dualpi2` has a table of
//! these rules. With `protection`, L packets of some flows go to the classic queue (`protection.rs`, RFC 9957).
//!
//! State: two queues; `base`, p'; `delay_before`, seconds; for each use of a probability a sum that gives evenly spaced
//! signals; `balance`, the bytes by which L is ahead of its share.
//!
//! Choices. Time-shifted service uses the waiting times of the heads. A packet is signalled when it leaves, according
//! to its own waiting time. By default signals are evenly spaced, so there is no randomness. Updates are on a grid that
//! starts at time zero. Updates are skipped while they would have no effect (both queues are empty and p' is 0).
//!
//! Cost of a packet: a few additions and comparisons.

pub mod params;
mod protection;

use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{
    Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, QueueDiscipline, Service as Answer, signal,
};
use crate::contract::view::{Handle, QueueView};
use crate::entry::{Build, Entry, Facts, Law, Marks, Queues};
use crate::fifo::Ring;
use crate::linux::{Linux, Unsaid, Value, Word};
use params::BUFFER;
use params::{Config, DualForm, MODEL, Service, Signals};
use protection::Protection;
use std::collections::VecDeque;
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Ecn, KeyField, Packet, ProbeDef, Settings, Size, Stream, Time};

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            acts_early: true,
            queues: Queues::Several,
            marks: Marks::Signal,
            waits: &["target", "l_max"],
            // Packets that an earlier AQM has marked go to L, and queue protection moves some packets from L to the
            // classic queue.
            overtakes: &["before", "protection"],
            law: Some(Law::Delay("target")),
            linux: Some(&LINUX),
            ..Facts::ONE_QUEUE
        },
    }
}

static LINUX: Linux = Linux {
    since: "6.17",
    differs: "In Linux's L queue every packet above the step is marked; here the probability rises between l_min and \
              l_max where they differ. Linux's rules are those of form = \"linux\".",
    ..Linux::new(
        "dualpi2",
        &[
            Word::new("buffer", "limit", Value::Packets, "10000 packets"),
            Word::new("target", "target", Value::Time, "15ms"),
            Word::new("update_interval", "tupdate", Value::Time, "16ms"),
            Word::new("alpha", "alpha", Value::Number, "0.16"),
            Word::new("beta", "beta", Value::Number, "3.2"),
            Word::new("coupling", "coupling_factor", Value::Whole, "2"),
            Word::new("l_max", "step_thresh", Value::Time, "")
                .also(&["l_min"])
                .unsaid(Unsaid::Told),
            Word::new("l_floor", "min_qlen_step", Value::Whole, "").unsaid(Unsaid::Told),
            Word::new("classic_weight", "classic_protection", Value::Percent, "0.1"),
        ],
    )
};

fn build<P: Packet + 'static>(s: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let queue = DualPi2::new(s.get(&BUFFER), Config::from_settings(s)?, context.stream);
    Ok(Box::new(queue))
}

/// The L queue or the classic queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    L,
    Classic,
}

/// The uses of a probability, each with its own sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SumFor {
    LMark,
    LDrop,
    Classic,
    LStep,
}

/// The first value of the balance. In Linux the L queue starts one packet ahead.
fn fresh_balance(service: Service) -> f64 {
    match service {
        Service::Credit(share) => FRAME * (2.0 * share - 1.0),
        Service::Weighted(_) | Service::TimeShifted(_) => 0.0,
    }
}

/// Two coupled queues.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: Config,
    buffer: Size,
    /// The L queue, then the classic queue.
    rings: [Ring<P>; 2],
    /// The sojourn time of the last packet sent from each queue, seconds.
    sojourn: [f64; 2],
    base: f64,
    delay_before: f64,
    /// The time of the next update; `None` while an update would have no effect.
    next_update: Option<Time>,
    sums: [f64; 4],
    balance: f64,
    /// In the form of Linux: for each packet of L, whether L was long enough for the step when the packet arrived.
    /// Empty if the length of L does not count.
    steps: VecDeque<bool>,
    protection: Option<Box<Protection>>,
    /// L packets that were sent to the classic queue.
    sent_away: u64,
    stream: Stream,
}

/// The largest Ethernet frame without its checksum. Linux uses this size for the credit of one packet.
const FRAME: f64 = 1514.0;

impl<P: Packet> DualPi2<P> {
    /// Values that can be recorded.
    const READ: [Probe<DualPi2<P>>; 8] = [
        Probe::new(
            "probability",
            "",
            "Base probability p' since the last update",
            |q, _| q.base,
        ),
        Probe::new(
            "classic_probability",
            "",
            "Square of p', the probability with which the classic queue signals",
            |q, _| q.classic_probability(),
        ),
        Probe::new(
            "coupled_probability",
            "",
            "k times p', the least probability with which the L queue signals",
            |q, _| q.coupled_probability(),
        ),
        Probe::new("l_packets", "packets", "Packets in the L queue", |q, _| {
            q.rings[0].backlog().packets as f64
        }),
        Probe::new("classic_packets", "packets", "Packets in the classic queue", |q, _| {
            q.rings[1].backlog().packets as f64
        }),
        Probe::new(
            "l_sojourn",
            "s",
            "Waiting time of the last packet of the L queue",
            |q, _| q.sojourn[0],
        ),
        Probe::new(
            "classic_sojourn",
            "s",
            "Waiting time of the last packet of the classic queue",
            |q, _| q.sojourn[1],
        ),
        Probe::new(
            "sent_away",
            "packets",
            "L packets that queue protection has sent to the classic queue",
            |q, _| q.sent_away as f64,
        ),
    ];

    pub fn new(buffer: Size, config: Config, stream: Stream) -> DualPi2<P> {
        DualPi2 {
            protection: config.protection.map(|c| Box::new(Protection::new(c))),
            steps: VecDeque::new(),
            sent_away: 0,
            balance: fresh_balance(config.service),
            config,
            buffer,
            rings: [Ring::new(Size::Unlimited), Ring::new(Size::Unlimited)],
            sojourn: [0.0; 2],
            base: 0.0,
            delay_before: 0.0,
            next_update: None,
            sums: [0.0; 4],
            stream,
        }
    }

    fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    fn coupled_probability(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }

    /// Whether the coupled probability has reached its limit, so that marks alone no longer control L. If p' is limited
    /// to less than one, this is never the case, and the full buffer limits L instead.
    fn l_is_overloaded(&self) -> bool {
        let k = self.config.coupling * self.base;
        let is_over = match self.config.form {
            DualForm::Rfc9332 => k >= 1.0,
            DualForm::Linux => k > 1.0,
        };
        is_over && self.config.most >= 1.0
    }

    /// Whether the probability of the classic queue has reached its limit. It can reach one if the coupling is below
    /// one.
    fn classic_is_overloaded(&self) -> bool {
        self.l_is_overloaded() || (self.base >= 1.0 && self.config.form == DualForm::Rfc9332)
    }

    fn has_room(&self, bytes: u32, line: &Line) -> bool {
        let (stored, more) = (self.backlog(), u64::from(bytes));
        let in_time = |t| stored.bytes + more <= (line.rate.bits_per_second() * t / 8.0) as u64;
        capacity::fits(self.buffer, stored, bytes) && self.config.buffer_time.is_none_or(|t| in_time(t.seconds()))
    }

    /// The first instant of the grid after `now`.
    fn after(&self, now: Time) -> Time {
        let step = self.config.update_interval.0.max(1);
        Time((now.0 / step + 1) * step)
    }

    /// The waiting time of the head of a queue so far, seconds; 0 if the queue is empty.
    fn wait(&self, side: Half, now: Time) -> f64 {
        let head = self.rings[side as usize].get(0);
        head.map_or(0.0, |p| now.since(p.stamp()).seconds())
    }

    /// The queue to be served; `None` if both are empty.
    fn turn(&mut self, now: Time) -> Option<Half> {
        let empty = |side: Half| self.rings[side as usize].get(0).is_none();
        let by_credit = matches!(self.config.service, Service::Credit(_));
        match (empty(Half::L), empty(Half::Classic)) {
            (true, true) => {
                if by_credit {
                    self.balance = fresh_balance(self.config.service);
                }
                None
            }
            (true, false) if by_credit => Some(Half::Classic),
            (false, true) if by_credit => Some(Half::L),
            (l_empty, false) if l_empty => {
                self.balance = 0.0;
                Some(Half::Classic)
            }
            (_, true) => {
                self.balance = 0.0;
                Some(Half::L)
            }
            _ => match self.config.service {
                Service::Weighted(_) | Service::Credit(_) if self.balance > 0.0 => Some(Half::Classic),
                Service::Weighted(_) | Service::Credit(_) => Some(Half::L),
                Service::TimeShifted(shift) => {
                    let l = self.wait(Half::L, now) + shift.seconds();
                    let classic_first = self.wait(Half::Classic, now) > l;
                    Some(if classic_first { Half::Classic } else { Half::L })
                }
            },
        }
    }

    /// A packet leaves. `alone` says whether the other queue is empty.
    fn charge(&mut self, side: Half, bytes: u32, alone: bool) {
        if let Service::Weighted(share) | Service::Credit(share) = self.config.service {
            if alone && matches!(self.config.service, Service::Credit(_)) {
                return;
            }
            self.balance += match side {
                Half::L => share * f64::from(bytes),
                Half::Classic => (share - 1.0) * f64::from(bytes),
            };
        }
    }

    /// Whether this packet is to be signalled, if packets are signalled with this probability.
    fn hits(&mut self, what: SumFor, probability: f64) -> bool {
        match self.config.signals {
            Signals::Random => self.stream.chance(probability),
            Signals::Even => {
                let sum = &mut self.sums[what as usize];
                *sum += probability;
                let hit = *sum > 1.0;
                if hit {
                    *sum -= 1.0;
                }
                hit
            }
        }
    }

    /// Signal a packet that leaves L as Linux does. `quiet` says that L is too short for signals by p'; `step` says
    /// that L was long enough for the step. A packet that is not ECN-capable is dropped where it would be marked.
    fn signal_l_as_linux(
        &mut self,
        p: &mut P,
        (quiet, step): (bool, bool),
        now: Time,
        out: &mut dyn Out<P>,
    ) -> Option<DropReason> {
        let overloaded = self.l_is_overloaded();
        if !quiet && overloaded && self.hits(SumFor::LDrop, self.classic_probability()) {
            return Some(DropReason::Overload);
        }
        let coupled = !quiet && (overloaded || self.hits(SumFor::LMark, self.coupled_probability()));
        if coupled && !signal(p, true, MarkReason::Coupled, out) {
            return Some(DropReason::Early);
        }
        let step = step && self.hits(SumFor::LStep, self.config.ramp(now.since(p.stamp())));
        if step && p.ecn() != Ecn::Ce && !signal(p, true, MarkReason::Step, out) {
            return Some(DropReason::Early);
        }
        None
    }

    /// Mark a packet that leaves L, or return the reason if it is dropped. `waiting` packets were in L, including this
    /// one.
    fn signal_l(&mut self, p: &mut P, waiting: u64, now: Time, out: &mut dyn Out<P>) -> Option<DropReason> {
        let coupled = self.coupled_probability();
        if self.l_is_overloaded() {
            if self.hits(SumFor::LDrop, self.classic_probability()) {
                return Some(DropReason::Overload);
            }
            if self.hits(SumFor::LMark, coupled) {
                signal(p, true, MarkReason::Coupled, out);
            }
            return None;
        }
        let own_probability = match waiting > self.config.l_floor {
            true => self.config.ramp(now.since(p.stamp())),
            false => 0.0,
        };
        if self.hits(SumFor::LMark, own_probability.max(coupled)) {
            let why = if own_probability > coupled {
                MarkReason::Step
            } else {
                MarkReason::Coupled
            };
            signal(p, true, why, out);
        }
        None
    }

    /// Mark a packet that leaves the classic queue, or return the reason if it is dropped.
    fn signal_classic(&mut self, p: &mut P, out: &mut dyn Out<P>) -> Option<DropReason> {
        if !self.hits(SumFor::Classic, self.classic_probability()) {
            return None;
        }
        if self.classic_is_overloaded() && p.ecn().is_capable() {
            return Some(DropReason::Overload);
        }
        (!signal(p, true, MarkReason::Early, out)).then_some(DropReason::Early)
    }

    /// Whether the length of L at the arrival of a packet is recorded.
    fn looks_at_entry(&self) -> bool {
        self.config.form == DualForm::Linux && self.config.l_floor > 0
    }

    /// Whether queue protection sends an L packet to the classic queue.
    #[cold]
    fn is_sent_away(&mut self, p: &P, line: &Line) -> bool {
        let held = self.rings[0].backlog().bytes;
        let delay = Duration::from_seconds(held as f64 * 8.0 / line.rate.bits_per_second());
        let own = self.config.ramp(delay);
        let away = self.protection.as_mut().is_some_and(|protection| {
            let flow = p.key(KeyField::Tuple);
            protection.sends_away(flow, p.bytes(), delay, own, line.now)
        });
        self.sent_away += u64::from(away);
        away
    }

    fn ring_of(&self, at: Handle) -> (usize, usize) {
        let first = self.rings[0].backlog().packets;
        match at.0.checked_sub(first) {
            None => (0, at.0 as usize),
            Some(rest) => (1, rest as usize),
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for DualPi2<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        if self.next_update.is_none() {
            self.next_update = Some(self.after(line.now));
        }
        if !self.has_room(p.bytes(), line) {
            return out.dropped(p, Place::Arriving, DropReason::Overflow);
        }
        let side = match p.ecn() {
            Ecn::Ect1 | Ecn::Ce => Half::L,
            Ecn::NotEct | Ecn::Ect0 => Half::Classic,
        };
        let side = match side {
            Half::L if self.protection.is_some() && self.is_sent_away(&p, line) => Half::Classic,
            side => side,
        };
        if side == Half::L && self.looks_at_entry() {
            self.steps
                .push_back(self.rings[0].backlog().packets >= self.config.l_floor);
        }
        self.rings[side as usize].push(p, line.now);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Answer<P> {
        loop {
            let Some(side) = self.turn(line.now) else {
                return Answer::Empty;
            };
            let linux = self.config.form == DualForm::Linux;
            let step = side == Half::Classic || !self.looks_at_entry() || self.steps.pop_front().unwrap_or(true);
            let quiet = self.backlog().bytes < self.config.min_backlog;
            let ring = &mut self.rings[side as usize];
            let waiting = ring.backlog().packets;
            let Some(mut p) = ring.pop() else { return Answer::Empty };
            self.sojourn[side as usize] = line.now.since(p.stamp()).seconds();
            let is_alone = self.rings[1 - side as usize].get(0).is_none();
            let stays = self.backlog().bytes < self.config.min_backlog;
            let dropped = match side {
                Half::L if linux => self.signal_l_as_linux(&mut p, (stays, step), line.now, out),
                Half::Classic if linux && stays => None,
                Half::Classic if linux => self.signal_classic(&mut p, out),
                _ if quiet => None,
                Half::L => self.signal_l(&mut p, waiting, line.now, out),
                Half::Classic => self.signal_classic(&mut p, out),
            };
            match dropped {
                Some(why) => out.dropped(p, Place::Dequeued, why),
                None => {
                    self.charge(side, p.bytes(), is_alone);
                    return Answer::Send(p);
                }
            }
        }
    }

    /// The probability stays. The balance of the service stays if the service is by shares.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let buffer = capacity::resized(self.buffer, s.get(&BUFFER))?;
        let config = Config::from_settings(s)?;
        if config.service != self.config.service {
            self.balance = fresh_balance(config.service);
        }
        if config.form != self.config.form || config.l_floor != self.config.l_floor {
            self.steps.clear();
        }
        match (&mut self.protection, config.protection) {
            (Some(p), Some(critical)) => p.set(critical),
            (p, critical) => *p = critical.map(|c| Box::new(Protection::new(c))),
        }
        (self.buffer, self.config) = (buffer, config);
        Ok(())
    }

    fn next_timer(&self) -> Option<Time> {
        self.next_update
    }

    fn on_timer(&mut self, line: &Line, _out: &mut dyn Out<P>) {
        let c = &self.config;
        let d = self.wait(Half::L, line.now).max(self.wait(Half::Classic, line.now));
        let step = c.alpha * (d - c.target) + c.beta * (d - self.delay_before);
        self.base = (self.base + step).clamp(0.0, c.most);
        let rests = self.base == 0.0 && d == 0.0 && self.delay_before == 0.0 && self.backlog().packets == 0;
        self.delay_before = d;
        self.next_update = (!rests).then(|| self.after(line.now));
    }

    fn backlog(&self) -> Backlog {
        let [l, classic] = [self.rings[0].backlog(), self.rings[1].backlog()];
        Backlog {
            packets: l.packets + classic.packets,
            bytes: l.bytes + classic.bytes,
        }
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

/// This view lets an admission run before DualPI2. It draws from the packets of both queues with equal probability. The
/// handles of the classic queue follow those of L.
impl<P: Packet> QueueView<P> for DualPi2<P> {
    fn stored(&self) -> Backlog {
        self.backlog()
    }
    fn limit(&self) -> Size {
        self.buffer
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.backlog().packets {
            0 => None,
            n => Some(Handle(stream.below(n))),
        }
    }
    fn oldest(&self) -> Option<Handle> {
        let stamp = |ring: usize| self.rings[ring].get(0).map(P::stamp);
        match (stamp(0), stamp(1)) {
            (None, None) => None,
            (Some(l), Some(classic)) if classic < l => Some(Handle(self.rings[0].backlog().packets)),
            // If L is empty the handles of the classic queue begin at 0.
            _ => Some(Handle(0)),
        }
    }
    fn get(&self, at: Handle) -> Option<&P> {
        let (ring, index) = self.ring_of(at);
        self.rings[ring].get(index)
    }
    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        let (ring, index) = self.ring_of(at);
        if ring == 0 && self.looks_at_entry() {
            self.steps.remove(index);
        }
        self.rings[ring].remove(index)
    }
}

#[cfg(test)]
mod tests;
