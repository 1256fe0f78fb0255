//! A path for packet dialogues between two ends that both send: a fixed one-way delay, and a function that may drop,
//! mark, delay or repeat segments.

#![allow(dead_code)] // each test file uses its part

use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Time};
use tailback_transport::tcp::Config;
use tailback_transport::tcp::connection::{ConnectionEnd, State, new_pair};
use tailback_transport::{AppEvent, AppEvents, Endpoint, Flags, Segment, Transmit};

/// What happens to a segment on the way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    Pass,
    Drop,
    Mark,
    /// Arrives this much later.
    Late(Duration),
    /// Arrives twice, the second time this much later.
    Twice(Duration),
}

/// The end that opens the connection, and the other.
pub const A: usize = 0;
pub const B: usize = 1;

struct Ears<'a> {
    now: Time,
    heard: &'a mut Vec<(Time, AppEvent)>,
}

impl AppEvents for Ears<'_> {
    fn event(&mut self, e: AppEvent) {
        self.heard.push((self.now, e));
    }
}

pub struct TwoWay {
    pub ends: [ConnectionEnd; 2],
    pub now: Time,
    pub delay: Duration,
    /// By due time and order: to whom, and the segment.
    flying: BTreeMap<(Time, u64), (usize, Segment)>,
    order: u64,
    /// Everything sent: when, and by which end.
    pub sent: Vec<(Time, usize, Segment)>,
    pub heard: [Vec<(Time, AppEvent)>; 2],
    /// When an end's pacer lets the next segment go.
    paced: [Time; 2],
}

impl TwoWay {
    pub fn new(cfg: &Arc<Config>, delay_ms: u64) -> TwoWay {
        let (a, b) = new_pair(cfg);
        TwoWay::between([a, b], delay_ms)
    }

    pub fn between(ends: [ConnectionEnd; 2], delay_ms: u64) -> TwoWay {
        TwoWay {
            ends,
            now: Time::ZERO,
            delay: Duration::from_millis(delay_ms),
            flying: BTreeMap::new(),
            order: 0,
            sent: Vec::new(),
            heard: [Vec::new(), Vec::new()],
            paced: [Time::NEVER; 2],
        }
    }

    fn fly(&mut self, to: usize, mut s: Segment, fate: Fate) {
        let late = match fate {
            Fate::Drop => return,
            Fate::Late(d) => d,
            Fate::Mark => {
                s.ecn = Ecn::Ce;
                Duration::ZERO
            }
            Fate::Pass => Duration::ZERO,
            Fate::Twice(d) => {
                self.order += 1;
                let due = self.now + self.delay + d;
                self.flying.insert((due, self.order), (to, s.clone()));
                Duration::ZERO
            }
        };
        self.order += 1;
        let due = self.now + self.delay + late;
        self.flying.insert((due, self.order), (to, s));
    }

    /// Send what may be sent now. `hand` sees each segment, who sent it, and its index among all that were sent.
    pub fn pump(&mut self, hand: &mut dyn FnMut(usize, &Segment, usize) -> Fate) {
        for from in [A, B] {
            self.paced[from] = loop {
                match self.ends[from].poll_transmit(self.now) {
                    Transmit::Segment(s) => {
                        let fate = hand(from, &s, self.sent.len());
                        self.sent.push((self.now, from, s.clone()));
                        self.fly(1 - from, s, fate);
                    }
                    Transmit::NotBefore(t) => break t,
                    Transmit::Idle => break Time::NEVER,
                }
            };
        }
    }

    /// Process one arrival or timer, if there is one by `until`; returns false when nothing is left to do.
    pub fn step(&mut self, until: Time, hand: &mut dyn FnMut(usize, &Segment, usize) -> Fate) -> bool {
        self.pump(hand);
        let timers = [self.ends[A].next_timeout(), self.ends[B].next_timeout()];
        let first = self.flying.keys().next().map(|(due, _)| *due);
        let paced = self.paced.into_iter().filter(|t| *t != Time::NEVER);
        let Some(next) = timers
            .into_iter()
            .flatten()
            .chain(first)
            .chain(paced)
            .min()
            .filter(|t| *t <= until)
        else {
            return false;
        };
        self.now = next.max(self.now);
        let now = self.now;
        if let Some(due) = self.flying.first_entry().filter(|e| e.key().0 <= now) {
            let (to, s) = due.remove();
            let heard = &mut self.heard[to];
            self.ends[to].on_segment(&s, now, &mut Ears { now, heard });
            return true;
        }
        for (end, timer) in timers.into_iter().enumerate() {
            if timer.is_some_and(|t| t <= now) {
                let heard = &mut self.heard[end];
                self.ends[end].on_timeout(now, &mut Ears { now, heard });
            }
        }
        true
    }

    pub fn run_with(&mut self, seconds: f64, hand: &mut dyn FnMut(usize, &Segment, usize) -> Fate) {
        let until = Time::from_seconds(seconds);
        while self.step(until, hand) {}
        self.now = until.max(self.now);
    }

    pub fn run(&mut self, seconds: f64) {
        self.run_with(seconds, &mut |_, _, _| Fate::Pass);
    }

    pub fn states(&self) -> [State; 2] {
        [self.ends[A].state(), self.ends[B].state()]
    }

    /// Bytes that have arrived in order at an end.
    pub fn delivered(&self, end: usize) -> u64 {
        let bytes = |e: &(Time, AppEvent)| match e.1 {
            AppEvent::Delivered(n) => n,
            _ => 0,
        };
        self.heard[end].iter().map(bytes).sum()
    }

    /// When an end first heard this.
    pub fn when(&self, end: usize, what: AppEvent) -> Option<f64> {
        self.heard[end].iter().find(|e| e.1 == what).map(|e| e.0.seconds())
    }

    /// Everything sent, a word each: who, flags, payload.
    pub fn dialogue(&self) -> Vec<String> {
        self.sent
            .iter()
            .map(|(_, from, s)| format!("{} {}", ["A", "B"][*from], word(s)))
            .collect()
    }
}

fn word(s: &Segment) -> String {
    let names = [
        (Flags::SYN, "SYN"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
        (Flags::ACK, "ACK"),
    ];
    let flags: Vec<&str> = names.into_iter().filter(|n| s.flags.has(n.0)).map(|n| n.1).collect();
    match s.payload {
        0 => flags.join("+"),
        n => format!("{} {n}", flags.join("+")),
    }
}
