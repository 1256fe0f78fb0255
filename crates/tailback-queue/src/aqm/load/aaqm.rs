//! AAQM: RED with marks that become more frequent as congestion grows, before a second stage that packets enter by
//! paying with tokens.
//!
//! RED waits until the average crosses a threshold, and then signals at one rate. AAQM acts earlier, in two ways. On
//! the input side, it asks a source to slow down when the average is between a pre-congestion threshold and the upper
//! threshold. It asks again each time the average has grown by another step. On the output side, a token bucket lets
//! packets pass that RED would have dropped. While there are tokens, packets move ahead into a second stage, so that
//! the managed buffer overflows later. A packet that RED has picked but cannot mark is admitted if tokens pay for it.
//! Measure: the filtered backlog of the first buffer, the backlog itself, the tokens. Function: RED's ramp, the levels
//! of requests. Action: a mark (early or request), a request to the source, a drop of a packet that can be neither
//! marked nor paid for (early), a drop above the upper threshold (forced).
//!
//! ```text
//! arrivals -> [ IN: managed, `buffer` ] -> tokens -> [ OUT: at most `ahead_buffer` packets ] -> line
//!
//! average:   0 ---- calm ---- min ---- early ---- th ---- pre ---- max ---- hot ----
//!                             RED picks packets ------------------>  all are dropped
//!                                                 requests, tokens twice as fast
//! ```
//!
//! The line serves OUT before IN. It is never idle while a packet waits, and the order is first in, first out. So OUT
//! and IN are one queue with a boundary in it. AAQM can also run on one queue of a port. There the buffer is the one
//! that all queues share, and packets ahead count in it.
//!
//! From: W. Jiang, "An adaptive active queue management algorithm in Internet", UQAM and UQAC 2006. The thesis gives
//! the elements and their settings, but not every rule; docs/decisions/aaqm.md lists the interpretations and the
//! reasons for the choice, with a parameter for each other interpretation.
//!
//! State: RED's average and count; a [`Bucket`]; the highest level requested; the backlog that is ahead, and the
//! backlog of the whole queue.
//!
//! Departures: if every packet of a line of 1.5 Mb/s had to pay with tokens of 64 kb/s, the line would stop. So sending
//! at the rate of the line is free, and tokens pay for what exceeds this rate (`token_use = "shape"` and `charge_line`
//! are the other interpretations). Packets that bypass the line (`overdrive`) are not implemented, because no line does
//! that.
//!
//! Cost of a packet: the same as in RED, and a few integer operations for the tokens and for the boundary; in a port,
//! each packet that goes ahead also costs a pass over the packets that are already ahead.

mod alone;
mod levels;
mod settings;

pub use settings::{Config, MODEL, entry};

use crate::aqm::average::Average;
use crate::aqm::red::Hot;
use crate::aqm::red::SHARE_HOT;
use crate::aqm::red::signals::{Ramp, RampShape, RedClass, SignalRules};
use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, MarkReason, Out, ProbeId, signal};
use crate::contract::view::{Congestion, Exit, PacketSource};
use levels::Levels;
use settings::{AheadOn, Room, Tokens};
use tailback_base::model::Probe;
use tailback_base::{BitRate, Bucket, Ecn, Packet, ProbeDef, Request, Stream, Time};

/// The congestion zone in which the average lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Zone {
    Calm,
    Early,
    Pre,
    Hot,
}

/// Counts of actions on packets since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Reactions {
    hot: Hot,
    marks: u64,
    requests: u64,
    /// Packets that tokens paid for.
    funded: u64,
}

/// The packets at the front of the queue that have gone ahead.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    backlog: Backlog,
    /// The time when the last packet ahead was stored.
    until: Time,
}

impl Ahead {
    fn add(&mut self, bytes: u32, stored: Time) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(bytes);
        self.until = stored;
    }

    fn less(&mut self, bytes: u32) {
        self.backlog.packets = self.backlog.packets.saturating_sub(1);
        self.backlog.bytes = match self.backlog.packets {
            0 => 0,
            _ => self.backlog.bytes.saturating_sub(u64::from(bytes)),
        };
    }

    /// The part of this backlog that is behind the packets ahead.
    fn rest_of(&self, all: Backlog) -> Backlog {
        Backlog {
            packets: all.packets.saturating_sub(self.backlog.packets),
            bytes: all.bytes.saturating_sub(self.backlog.bytes),
        }
    }
}

/// The decision.
#[derive(Debug)]
pub struct Aaqm {
    config: Config,
    average: Average,
    /// RED's state, which picks packets.
    class: RedClass,
    rules: SignalRules,
    bucket: Bucket,
    levels: Levels,
    ahead: Ahead,
    /// The backlog of packets that were let in and have not left.
    waits: Backlog,
    stream: Stream,
    counts: Reactions,
}

impl Aaqm {
    /// Values that can be recorded.
    const READ: [Probe<Aaqm>; 10] = [
        Probe::new(
            "average",
            "unit of the buffer",
            "Filtered backlog at the last arrival",
            |q, _| q.average.value(),
        ),
        Probe::new(
            "probability",
            "",
            "Base probability that RED picks a packet, at the last arrival",
            |q, _| q.class.probability(),
        ),
        Probe::new(
            "tokens",
            "bytes",
            "Tokens at their last count; a negative number is a debt",
            |q, _| q.bucket.bytes(),
        ),
        Probe::new(
            "inside",
            "packets",
            "Packets that wait in the first stage, which RED manages",
            |q, _| q.ahead.rest_of(q.waits).packets as f64,
        ),
        Probe::new(
            "ahead",
            "packets",
            "Packets that wait in the second stage, ahead of the others",
            |q, _| q.ahead.backlog.packets as f64,
        ),
        Probe::new(
            "level",
            "",
            "Highest level requested; -1 below the pre-congestion threshold",
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

    pub fn new(config: Config, stream: Stream) -> Aaqm {
        let bucket = Bucket::full(config.depth);
        Aaqm {
            average: Average::new(config.initial_average, config.weight, config.mean_packet),
            class: RedClass::new(Ramp {
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
            ahead: Ahead::default(),
            waits: Backlog::default(),
            stream,
            counts: Reactions::default(),
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

    /// The backlog for RED's part, in the unit of the buffer.
    fn level(&self, of: Backlog) -> f64 {
        capacity::level(self.config.buffer, of) as f64
    }

    /// Whether there is room behind the waiting packets. On a queue of a port, the port decides.
    fn has_room(&self, all: Backlog, bytes: u32, in_port: bool) -> bool {
        match self.config.room {
            Room::Port => in_port,
            Room::BothStores => capacity::fits(self.config.buffer, all, bytes),
            Room::Managed => capacity::fits(self.config.buffer, self.ahead.rest_of(all), bytes),
        }
    }

    /// Let packets go ahead while tokens pay for them: first the waiting packets, then the arriving one. `newcomer` is
    /// its size in bytes.
    fn move_ahead<P: Packet>(&mut self, queue: &Waiting<'_, P>, newcomer: Option<u32>, line: &Line) {
        let Tokens::Acts { ahead: true, .. } = self.config.tokens else {
            return;
        };
        if line.busy.is_none() || self.zone() == Zone::Hot {
            return;
        }
        let stored = queue.backlog();
        let with_newcomer = Backlog {
            packets: stored.packets + u64::from(newcomer.is_some()),
            bytes: stored.bytes + newcomer.map_or(0, u64::from),
        };
        while self.ahead.backlog.packets < self.config.ahead_buffer.min(with_newcomer.packets) {
            let presses = match self.config.ahead_on {
                AheadOn::Backlog => self.level(self.ahead.rest_of(with_newcomer)) >= self.config.pre_threshold,
                AheadOn::Average => self.average.value() >= self.config.pre_threshold,
                AheadOn::Always => true,
            };
            if !presses {
                return;
            }
            let position = self.ahead.backlog.packets;
            let candidate = match newcomer.filter(|_| position == stored.packets) {
                Some(bytes) => Some((bytes, line.now)),
                None => queue
                    .nth(position)
                    .and_then(|h| queue.get(h))
                    .map(|p| (p.bytes(), p.stamp())),
            };
            let Some((bytes, stored)) = candidate.filter(|(bytes, _)| self.bucket.take(*bytes)) else {
                return;
            };
            self.ahead.add(bytes, stored);
            self.counts.funded += 1;
        }
    }

    /// Whether tokens pay for a packet that would be lost.
    fn pay<P: Packet>(&mut self, p: &P) -> bool {
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

    fn rescues<P: Packet>(&mut self, p: &P) -> bool {
        matches!(self.config.tokens, Tokens::Acts { rescue: true, .. }) && self.pay(p)
    }

    fn mark<P: Packet>(&mut self, p: &mut P, why: MarkReason, out: &mut dyn Out<P>) -> bool {
        let marked = signal(p, true, why, out);
        self.counts.marks += u64::from(marked);
        marked
    }

    /// Ask the source to slow down, if the average has reached another level. Returns whether this packet was marked
    /// for this request.
    fn ask<P: Packet>(&mut self, p: &mut P, out: &mut dyn Out<P>) -> bool {
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

    /// Let RED's part decide about an arrival that fits. Returns the reason if the packet is dropped.
    fn judge<P: Packet>(&mut self, p: &mut P, out: &mut dyn Out<P>) -> Option<DropReason> {
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

    fn pick<P: Packet>(&mut self, p: &mut P, out: &mut dyn Out<P>) -> Option<DropReason> {
        let picked = self.class.selects(p.bytes(), &self.rules, &mut self.stream);
        let marked = self.ask(p, out);
        let kept = !picked || marked || self.mark(p, MarkReason::Early, out) || self.rescues(p);
        (!kept).then_some(DropReason::Early)
    }
}

impl<P: Packet> Admission<P> for Aaqm {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        self.refill(line.now);
        let waiting = queue.backlog();
        let seen = match self.config.average_of_total {
            true => waiting,
            false => self.ahead.rest_of(waiting),
        };
        let average = self.average.arrival(self.level(seen), line);
        self.class.finds(average);
        self.counts.hot.arrival(self.zone() == Zone::Hot);
        self.levels.observe(average);
        self.move_ahead(queue, None, line);
        if !self.has_room(waiting, p.bytes(), queue.fits(p.bytes())) {
            self.class.restart();
            return Decision::Drop(DropReason::Overflow);
        }
        if let Some(why) = self.judge(p, out) {
            return Decision::Drop(why);
        }
        self.move_ahead(queue, Some(p.bytes()), line);
        self.waits.packets += 1;
        self.waits.bytes += u64::from(p.bytes());
        Decision::Store
    }

    fn take(&mut self, from: &mut dyn PacketSource<P>, line: &Line, _out: &mut dyn Out<P>) -> Option<P> {
        let p = from.pop()?;
        if self.ahead.backlog.packets > 0 {
            self.ahead.less(p.bytes());
        } else if self.config.charge_line {
            self.refill(line.now);
            self.bucket.take_at_most(p.bytes());
        }
        Some(p)
    }

    fn needs_its_queue(&self) -> Option<&'static str> {
        Some("divides the queue of the packets that it lets in")
    }

    /// If an arrival has evicted this packet, only the age of the packet shows where it was: a packet that was stored
    /// no later than the last packet ahead was itself ahead.
    fn left(&mut self, p: &P, how: Exit, _rest: Backlog, _line: &Line) {
        self.waits.packets -= 1;
        self.waits.bytes -= u64::from(p.bytes());
        let was_ahead = matches!(how, Exit::Evicted(_)) && p.stamp() <= self.ahead.until;
        let ahead = self.ahead.backlog.packets;
        if ahead > 0 && (was_ahead || ahead > self.waits.packets) {
            self.ahead.less(p.bytes());
        }
    }

    fn idle(&mut self, line: &Line) {
        self.average.idle(line.now);
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.average.value(),
            threshold: self.config.min_threshold,
        })
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

#[cfg(test)]
mod tests;

#[cfg(test)]
mod in_port_tests;
