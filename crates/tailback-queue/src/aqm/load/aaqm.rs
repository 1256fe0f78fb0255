//! AAQM: RED with marks that grow with the congestion, before a stage that tokens pay for.
//!
//! RED waits for the average to cross a threshold and then acts at one rate. AAQM acts earlier, in two ways. On the
//! input side, between a pre-congestion threshold and the upper one, it asks a source to slow down, and again each
//! time the average has grown by another step. On the output side a token bucket lets packets pass that RED would
//! have lost: while there are tokens, packets move ahead into a second stage, so that the managed buffer overflows
//! later, and a packet that RED has picked but cannot mark is admitted. Measure: the filtered backlog of the first
//! buffer, the backlog itself, the tokens. Function: RED's ramp, the levels of requests. Action: a mark (early or
//! request), a request to the source, a drop of what can be neither marked nor paid for (early), a drop above the
//! upper threshold (forced).
//!
//! ```text
//! arrivals -> [ IN: managed, `buffer` ] -> tokens -> [ OUT: at most `ahead_buffer` packets ] -> line
//!
//! average:   0 ---- calm ---- min ---- early ---- th ---- pre ---- max ---- hot ----
//!                             RED picks packets ------------------>  all are dropped
//!                                                 requests, tokens twice as fast
//! ```
//!
//! The line serves OUT, then IN: it is never idle while a packet waits, and the order is first in, first out.
//!
//! From: W. Jiang, "An adaptive active queue management algorithm in Internet", UQAM and UQAC 2006. The thesis gives
//! the elements and their settings, but not every rule; docs/decisions/aaqm.md has the readings, the reasons for the
//! choice, and a parameter for each other reading.
//!
//! State: RED's average and count; a [`Bucket`]; the highest level requested; both queues.
//!
//! Departures: if every packet of a line of 1.5 Mb/s had to pay with tokens of 64 kb/s, the line would stop. So
//! sending at the rate of the line is free and tokens pay for what exceeds it (`token_use = "shape"` and
//! `charge_line` are the other readings). Packets that bypass the line (`overdrive`) are not implemented, because no
//! line does that.
//!
//! Cost of a packet: RED's, a few integer operations for the tokens, and a move if it goes ahead.

mod levels;
mod settings;

pub use settings::{Config, MODEL, entry};

use crate::aqm::average::Average;
use crate::aqm::red::Hot;
use crate::aqm::red::SHARE_HOT;
use crate::aqm::red::signals::{Class, Ramp, RampShape, SignalRules};
use crate::contract::capacity;
use crate::contract::discipline::{
    Backlog, DropReason, Line, MarkReason, Out, Place, ProbeId, QueueDiscipline, Service, signal,
};
use crate::contract::view::{Congestion, Handle, QueueView};
use crate::fifo::Ring;
use levels::Levels;
use settings::{AheadOn, Tokens};
use tailback_base::model::Probe;
use tailback_base::{BitRate, Bucket, Ecn, Packet, ProbeDef, Request, Size, Stream, Time};

/// The congestion zone of the average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Zone {
    Calm,
    Early,
    Pre,
    Hot,
}

/// Counts of what was done to packets since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    hot: Hot,
    marks: u64,
    requests: u64,
    /// Packets that tokens paid for.
    funded: u64,
}

/// The discipline.
#[derive(Debug)]
pub struct Aaqm<P> {
    config: Config,
    average: Average,
    /// What RED picks.
    class: Class,
    rules: SignalRules,
    bucket: Bucket,
    levels: Levels,
    inside: Ring<P>,
    ahead: Ring<P>,
    stream: Stream,
    counts: Counts,
}

impl<P: Packet> Aaqm<P> {
    /// Values that can be recorded.
    const READ: [Probe<Aaqm<P>>; 10] = [
        Probe::new(
            "average",
            "unit of the buffer",
            "Filtered backlog at the last arrival",
            |q, _| q.average.value(),
        ),
        Probe::new(
            "probability",
            "",
            "Base probability of a pick at the last arrival",
            |q, _| q.class.probability(),
        ),
        Probe::new(
            "tokens",
            "bytes",
            "Tokens when they were last counted; below zero, what is owed",
            |q, _| q.bucket.bytes(),
        ),
        Probe::new(
            "inside",
            "packets",
            "Packets that wait under RED's management",
            |q, _| q.inside.backlog().packets as f64,
        ),
        Probe::new("ahead", "packets", "Packets that wait ahead", |q, _| {
            q.ahead.backlog().packets as f64
        }),
        Probe::new(
            "level",
            "",
            "Highest level asked for, -1 below the pre-congestion threshold",
            |q, _| q.levels.highest().map_or(-1.0, f64::from),
        ),
        Probe::new("marks", "packets", "Packets marked since the start", |q, _| {
            q.counts.marks as f64
        }),
        Probe::new("requests", "", "Control packets sent since the start", |q, _| {
            q.counts.requests as f64
        }),
        Probe::new(
            "funded",
            "packets",
            "Packets that tokens paid for since the start",
            |q, _| q.counts.funded as f64,
        ),
        Probe::of(SHARE_HOT, |q, _| q.counts.hot.share()),
    ];

    pub fn new(config: Config, stream: Stream) -> Aaqm<P> {
        let bucket = Bucket::full(config.depth);
        Aaqm {
            average: Average::new(config.initial_average, config.weight, config.mean_packet),
            class: Class::new(Ramp {
                min_threshold: config.min_threshold,
                max_threshold: config.max_threshold,
                max_probability: config.max_probability,
                gentle: false,
                shape: RampShape::Line,
            }),
            rules: SignalRules {
                ecn: true,
                mark_cap: 1.0,
                mark_above_max: config.mark_above_max,
                bytes: false,
                mean_packet: config.mean_packet,
                spread: true,
                wait: config.wait,
                first_count: true,
                ns2_guards: false,
            },
            bucket: if config.start_full { bucket } else { bucket.emptied() },
            levels: Levels::new(&config),
            inside: Ring::new(config.buffer),
            ahead: Ring::new(Size::Packets(config.ahead_buffer)),
            stream,
            counts: Counts::default(),
            config,
        }
    }

    fn zone(&self) -> Zone {
        let (c, average) = (&self.config, self.average.value());
        if average < c.min_threshold {
            Zone::Calm
        } else if average < c.pre_threshold {
            Zone::Early
        } else if average < c.max_threshold {
            Zone::Pre
        } else {
            Zone::Hot
        }
    }

    /// The rate at which tokens arrive, from the zone since the last arrival.
    fn token_rate(&self) -> BitRate {
        match self.zone() {
            Zone::Pre => self.config.boosted,
            Zone::Hot if self.config.boost_hot => self.config.boosted,
            _ => self.config.rate,
        }
    }

    fn refill(&mut self, now: Time) {
        self.bucket.fill(self.token_rate(), now);
    }

    fn total(&self) -> Backlog {
        let (a, b) = (self.inside.backlog(), self.ahead.backlog());
        Backlog {
            packets: a.packets + b.packets,
            bytes: a.bytes + b.bytes,
        }
    }

    /// The backlog for RED's part, in the unit of the buffer.
    fn level(&self, of: Backlog) -> f64 {
        capacity::level(self.config.buffer, of) as f64
    }

    fn has_room(&self, bytes: u32) -> bool {
        match self.config.ahead_in_buffer {
            true => capacity::fits(self.config.buffer, self.total(), bytes),
            false => self.inside.fits(bytes),
        }
    }

    /// Move packets ahead while tokens pay for them.
    fn move_ahead(&mut self, line: &Line) {
        let Tokens::Acts { ahead: true, .. } = self.config.tokens else {
            return;
        };
        if line.busy.is_none() || self.zone() == Zone::Hot {
            return;
        }
        while self.ahead.backlog().packets < self.config.ahead_buffer {
            let presses = match self.config.ahead_on {
                AheadOn::Backlog => self.level(self.inside.backlog()) >= self.config.pre_threshold,
                AheadOn::Average => self.average.value() >= self.config.pre_threshold,
                AheadOn::Always => true,
            };
            let Some(head) = self.inside.get(0).filter(|_| presses) else {
                return;
            };
            if !self.bucket.take(head.bytes()) {
                return;
            }
            if let Some(p) = self.inside.pop() {
                self.ahead.push_stamped(p);
                self.counts.funded += 1;
            }
        }
    }

    /// Whether tokens pay for a packet that would be lost.
    fn pay(&mut self, p: &P) -> bool {
        let enough = self.bucket.take(p.bytes());
        let paid = enough
            || (self.config.partly && {
                let share = self.bucket.bytes() / f64::from(p.bytes().max(1));
                self.bucket.take_at_most(p.bytes());
                self.stream.chance(share)
            });
        self.counts.funded += u64::from(paid);
        paid
    }

    fn rescues(&mut self, p: &P) -> bool {
        matches!(self.config.tokens, Tokens::Acts { rescue: true, .. }) && self.pay(p)
    }

    fn mark(&mut self, p: &mut P, why: MarkReason, out: &mut dyn Out<P>) -> bool {
        let marked = signal(p, true, why, out);
        self.counts.marks += u64::from(marked);
        marked
    }

    /// Request less, if the average has reached another level. Returns whether this packet was marked for it.
    fn ask(&mut self, p: &mut P, out: &mut dyn Out<P>) -> bool {
        let Some(level) = self.levels.pending() else {
            return false;
        };
        if self.config.asks_source {
            let of = self.levels.count();
            out.request(p, Request::SlowDown { level, of });
            self.levels.asked();
            self.counts.requests += 1;
        }
        let marked = self.config.asks_by_mark && p.ecn() != Ecn::NotEct && self.mark(p, MarkReason::Request, out);
        if marked {
            self.levels.asked();
        }
        marked
    }

    /// The decision of RED's part about an arrival that fits; the reason if it is dropped.
    fn judge(&mut self, p: &mut P, out: &mut dyn Out<P>) -> Option<DropReason> {
        match self.zone() {
            Zone::Hot => {
                self.class.restart();
                let kept = (self.config.mark_above_max && self.mark(p, MarkReason::Forced, out))
                    || (self.config.rescue_hot && self.rescues(p));
                (!kept).then_some(DropReason::Forced)
            }
            Zone::Early if self.config.early => self.pick(p, out),
            Zone::Calm | Zone::Early => {
                self.class.rest();
                None
            }
            Zone::Pre => self.pick(p, out),
        }
    }

    fn pick(&mut self, p: &mut P, out: &mut dyn Out<P>) -> Option<DropReason> {
        let picked = self.class.selects(p.bytes(), &self.rules, &mut self.stream);
        let marked = self.ask(p, out);
        let kept = !picked || marked || self.mark(p, MarkReason::Early, out) || self.rescues(p);
        (!kept).then_some(DropReason::Early)
    }

    /// The next packet if every packet pays.
    fn shaped(&mut self, line: &Line) -> Service<P> {
        self.refill(line.now);
        let Some(bytes) = self.inside.get(0).map(P::bytes) else {
            self.average.idle(line.now);
            return Service::Empty;
        };
        if self.bucket.send(bytes) {
            return self.inside.pop().map_or(Service::Empty, Service::Send);
        }
        let wait = self.bucket.wait(bytes, self.token_rate());
        Service::Wait(wait.map_or(Time::NEVER, |d| line.now + d))
    }
}

impl<P: Packet> QueueDiscipline<P> for Aaqm<P> {
    fn enqueue(&mut self, mut p: P, line: &Line, out: &mut dyn Out<P>) {
        self.refill(line.now);
        let seen = match self.config.average_of_total {
            true => self.total(),
            false => self.inside.backlog(),
        };
        let average = self.average.arrival(self.level(seen), line);
        self.class.finds(average);
        self.counts.hot.arrival(self.zone() == Zone::Hot);
        self.levels.observe(average);
        self.move_ahead(line);
        if !self.has_room(p.bytes()) {
            self.class.restart();
            out.dropped(p, Place::Arriving, DropReason::Overflow);
            return;
        }
        if let Some(why) = self.judge(&mut p, out) {
            out.dropped(p, Place::Arriving, why);
            return;
        }
        self.inside.push(p, line.now);
        self.move_ahead(line);
    }

    fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<P>) -> Service<P> {
        if self.config.tokens == Tokens::Shape {
            return self.shaped(line);
        }
        if let Some(p) = self.ahead.pop() {
            return Service::Send(p);
        }
        let Some(p) = self.inside.pop() else {
            self.average.idle(line.now);
            return Service::Empty;
        };
        if self.config.charge_line {
            self.refill(line.now);
            self.bucket.take_at_most(p.bytes());
        }
        Service::Send(p)
    }

    fn backlog(&self) -> Backlog {
        self.total()
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn sends_requests(&self) -> bool {
        true
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&Self::READ, self, usize::from(probe.0), index)
    }
}

/// Packets are numbered in the order in which they leave: those ahead, then those behind.
impl<P: Packet> QueueView<P> for Aaqm<P> {
    fn stored(&self) -> Backlog {
        self.total()
    }

    fn limit(&self) -> Size {
        self.config.buffer
    }

    fn fits(&self, bytes: u32) -> bool {
        self.has_room(bytes)
    }

    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.total().packets {
            0 => None,
            n => Some(Handle(stream.below(n))),
        }
    }

    fn oldest(&self) -> Option<Handle> {
        (self.total().packets > 0).then_some(Handle(0))
    }

    fn get(&self, at: Handle) -> Option<&P> {
        let (index, ahead) = (at.0 as usize, self.ahead.backlog().packets as usize);
        match index < ahead {
            true => self.ahead.get(index),
            false => self.inside.get(index - ahead),
        }
    }

    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        let (index, ahead) = (at.0 as usize, self.ahead.backlog().packets as usize);
        match index < ahead {
            true => self.ahead.remove(index),
            false => self.inside.remove(index - ahead),
        }
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.average.value(),
            threshold: self.config.min_threshold,
        })
    }
}

#[cfg(test)]
mod tests;
