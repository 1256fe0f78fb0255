//! Discard state (DSDRR): a queue that has reached its dynamic threshold is closed until it has been served empty.
//!
//! A threshold alone spreads losses over all long queues, so all flows slow down together. Here a closed queue refuses
//! all arrivals until it is empty, just as QSDRR keeps the same victim. So one queue after another loses its arrivals
//! for a while, and the other queues keep the line busy. A limit on the number of closed queues prevents the line from
//! becoming idle. The limit grows by `step` in each period in which the buffer overflowed. Otherwise it falls to one
//! more than the number of closed queues.
//!
//! ```text
//! closed?                                                    refuse
//! does not fit                                               refuse (overflow); close, unless the queue is empty
//! length >= alpha * free, fewer closed than the limit        close, refuse (an empty queue is never closed)
//! otherwise                                                  accept, over the threshold or not
//! served empty                                               open
//! each period   overflowed: limit + step; else if closed < limit: closed + 1; at most maximum * K, at least 1
//!               (`limit_follows`: else closed + 1)
//! ```
//!
//! The thesis gives no rule for some cases; our choices are these (`docs/decisions/discard-state.md`). An overflow
//! closes a queue even if the limit is reached. An empty queue is never closed, because no departure would open it
//! again. The limit stays the same while the number of closed queues equals it. Only lack of space counts as an
//! overflow. K is the configured number of queues; with a queue for each flow it is the number of queues so far. Until
//! the first period ends, the limit is the initial share of K.
//!
//! State: a bit for each queue, the number of bits that are set, the limit, and whether the buffer has overflowed in
//! this period. A packet costs O(1). Every closing and opening is reported through the probe `closed`, so that each
//! interval can be measured.
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 6 (DSDRR). The rules follow the text, because the flow
//! chart is missing.

use crate::contract::discipline::DropReason;
use crate::pieces::drop::threshold::{ALPHA_RANGE, reached};
use crate::pieces::drop::{DropPolicy, Eviction, PolicyEntry, Scene};
use crate::pieces::store::{PerQueue, QueueId};
use tailback_base::{Duration, Key, Kind, Model, Packet, ProbeDef, Settings, Time, params};

/// Whether a queue is closed; reported on every change.
pub const CLOSED: ProbeDef = ProbeDef {
    name: "closed",
    unit: "1",
    doc: "1 while the queue refuses all packets, 0 otherwise.",
    per: "queue",
};
/// The number of closed queues.
pub const CLOSED_QUEUES: ProbeDef = ProbeDef {
    name: "closed_queues",
    unit: "queues",
    doc: "Queues that are closed.",
    per: "",
};
/// The limit; reported on every change.
pub const CLOSED_LIMIT: ProbeDef = ProbeDef {
    name: "closed_limit",
    unit: "queues",
    doc: "How many queues may be closed because of their length. There is no value before the first packet or without \
          a limit.",
    per: "",
};

pub const PROBES: &[ProbeDef] = &[CLOSED, CLOSED_QUEUES, CLOSED_LIMIT];

const CLOSED_AT: usize = 0;
const QUEUES_AT: usize = 1;
const LIMIT_AT: usize = 2;

params! {
    pub const PARAMS;

    pub ALPHA: f64 = Key::new("alpha", ALPHA_RANGE, "0.1",
        "The threshold as a multiple of the free space.", THESIS);
    pub LIMITED: bool = Key::new("limited", Kind::Bool, "true",
        "Whether the number of queues that are closed by their length has a bound.",
        "thesis chapter 6: without a bound goodput is poor");
    pub LIMIT_INITIAL: f64 = Key::new("limit_initial", Kind::Real { min: 0.0, max: 1.0 }, "0.1",
        "The bound at first, as a share of all queues; at least one queue.", THESIS);
    pub LIMIT_MAXIMUM: f64 = Key::new("limit_maximum", Kind::Real { min: 0.0, max: 1.0 }, "0.5",
        "The largest bound, as a share of all queues, rounded down; at least one queue.", THESIS);
    pub LIMIT_STEP: u64 = Key::new("limit_step", Kind::Count { min: 1, max: 1_000_000 }, "2",
        "By how many queues the bound grows after a period with an overflow.", THESIS);
    pub LIMIT_FOLLOWS: bool = Key::new("limit_follows", Kind::Bool, "false",
        "Whether the bound becomes the number of closed queues plus one after every period without an overflow. If \
         false, the bound stays after a period in which as many queues were closed as it allowed.",
        "thesis section 6.2: otherwise it is set to the number of marked queues plus one");
    pub PERIOD: Duration = Key::new("period", Kind::Time { min: 1e-3, max: 1e4 }, "1s",
        "Time between changes of the bound.", THESIS);
}

const THESIS: &str = "thesis chapter 6";

/// The declaration of the policy alone, for use with any scheduler.
pub static MODEL: Model = Model {
    name: "dsdrr",
    family: "policy",
    title: "Discard state",
    summary: "A queue that reaches its threshold is closed until it has been served empty.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 6",
    params: PARAMS,
    probes: PROBES,
};

/// The registry entry of this drop policy.
pub const fn entry<P: Packet + 'static>() -> PolicyEntry<P> {
    PolicyEntry {
        model: &MODEL,
        build: |s, _, _| Ok(Box::new(build(s))),
    }
}

/// The policy that these settings describe. The settings may also be those of a discipline that declares its
/// parameters.
pub fn build(s: &Settings) -> Discard {
    Discard::new(s.get(&ALPHA), ClosingLimit::from_settings(s))
}

/// The limit on the number of queues that are closed because of their length.
#[derive(Clone, Copy, Debug)]
pub struct ClosingLimit {
    /// The initial limit and the largest limit, as shares of all queues.
    pub initial: f64,
    pub maximum: f64,
    pub step: u32,
    /// Whether the limit also rises without an overflow, to one more than the number of closed queues.
    pub follows: bool,
    pub period: Duration,
}

impl Default for ClosingLimit {
    fn default() -> Self {
        ClosingLimit {
            initial: 0.1,
            maximum: 0.5,
            step: 2,
            follows: false,
            period: Duration::from_millis(1000),
        }
    }
}

impl ClosingLimit {
    /// The limit that these settings describe, if any.
    pub fn from_settings(s: &Settings) -> Option<ClosingLimit> {
        s.get(&LIMITED).then(|| ClosingLimit {
            initial: s.get(&LIMIT_INITIAL),
            maximum: s.get(&LIMIT_MAXIMUM),
            step: s.get(&LIMIT_STEP) as u32,
            follows: s.get(&LIMIT_FOLLOWS),
            period: s.get(&PERIOD),
        })
    }

    fn top(&self, queues: u32) -> u32 {
        ((self.maximum * f64::from(queues)).floor() as u32).max(1)
    }

    fn at_first(&self, queues: u32) -> u32 {
        ((self.initial * f64::from(queues)).round() as u32).clamp(1, self.top(queues))
    }
}

/// The policy that closes queues that have reached their threshold.
#[derive(Clone, Debug)]
pub struct Discard {
    alpha: f64,
    limit: Option<ClosingLimit>,
    closed: PerQueue<bool>,
    n_closed: u32,
    /// The present limit; `None` until the end of the first period, while the initial limit is in force.
    bound: Option<u32>,
    /// The number of queues when it was last read.
    queues: u32,
    overflowed: bool,
    tick: Time,
}

impl Discard {
    /// A policy with this `alpha`, which is above 0. Without a limit, any number of queues may be closed.
    pub fn new(alpha: f64, limit: Option<ClosingLimit>) -> Discard {
        Discard {
            alpha,
            limit,
            closed: PerQueue::default(),
            n_closed: 0,
            bound: None,
            queues: 0,
            overflowed: false,
            tick: limit.map_or(Time::NEVER, |l| Time::ZERO + l.period),
        }
    }

    pub fn is_closed(&self, q: QueueId) -> bool {
        self.closed.get(q)
    }

    pub fn n_closed(&self) -> u32 {
        self.n_closed
    }

    /// The number of queues that may be closed because of their length; `None` without a limit.
    pub fn bound(&self) -> Option<u32> {
        let limit = self.limit?;
        Some(self.bound.unwrap_or_else(|| limit.at_first(self.queues)))
    }

    fn set<P: Packet>(&mut self, q: QueueId, closed: bool, scene: &mut Scene<P>) {
        *self.closed.at(q) = closed;
        self.n_closed = if closed { self.n_closed + 1 } else { self.n_closed - 1 };
        scene.note(CLOSED_AT, q, f64::from(u8::from(closed)));
        scene.note(QUEUES_AT, 0, f64::from(self.n_closed));
    }

    fn open_if_empty<P: Packet>(&mut self, q: QueueId, scene: &mut Scene<P>) {
        if self.closed.get(q) && scene.store.packets(q) == 0 {
            self.set(q, false, scene);
        }
    }
}

impl<P: Packet> DropPolicy<P> for Discard {
    fn refuse(&mut self, q: QueueId, p: &P, scene: &mut Scene<P>) -> Option<DropReason> {
        self.queues = scene.queues;
        if self.closed.get(q) {
            return Some(DropReason::Refused);
        }
        let busy = scene.store.packets(q) > 0;
        if !scene.store.fits(scene.store.cost(p)) {
            self.overflowed = true;
            if busy {
                self.set(q, true, scene);
            }
            return Some(DropReason::Overflow);
        }
        if busy && self.bound().is_none_or(|b| self.n_closed < b) && reached(self.alpha, q, scene) {
            self.set(q, true, scene);
            return Some(DropReason::Refused);
        }
        None
    }

    fn evict(&mut self, _newcomer: QueueId, _scene: &mut Scene<P>) -> Option<Eviction> {
        None
    }

    fn evicts(&self) -> bool {
        false
    }

    fn after_service(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.open_if_empty(q, scene);
    }

    /// Only an admission before the port evicts packets. If it empties a closed queue, the queue must be opened here;
    /// otherwise it would stay closed permanently.
    fn after_evict(&mut self, q: QueueId, _p: &P, scene: &mut Scene<P>) {
        self.open_if_empty(q, scene);
    }

    fn next_timer(&self) -> Option<Time> {
        self.limit.map(|_| self.tick)
    }

    fn on_timer(&mut self, scene: &mut Scene<P>) {
        let Some(limit) = self.limit else { return };
        self.tick = scene.line.now + limit.period;
        self.queues = scene.queues;
        let (old, top) = (self.bound().unwrap_or(1), limit.top(self.queues));
        let new = match std::mem::take(&mut self.overflowed) {
            true => old.saturating_add(limit.step).min(top),
            false if self.n_closed < old || limit.follows => (self.n_closed + 1).min(top),
            false => old,
        };
        self.bound = Some(new);
        if new != old {
            scene.note(LIMIT_AT, 0, f64::from(new));
        }
    }

    fn probes(&self) -> &'static [ProbeDef] {
        const { &[CLOSED, CLOSED_QUEUES, CLOSED_LIMIT] }
    }

    fn read(&self, probe: usize, index: u32) -> f64 {
        match probe {
            CLOSED_AT if index < self.queues => f64::from(u8::from(self.closed.get(index))),
            QUEUES_AT => f64::from(self.n_closed),
            LIMIT_AT if self.queues > 0 => self.bound().map_or(f64::NAN, f64::from),
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
#[path = "discard_tests.rs"]
mod tests;
