//! A path for packet dialogues: two endpoints, a fixed one-way delay, and a function that may drop, mark or delay
//! segments.

#![allow(dead_code)] // each test file uses its part

pub mod reference_net;
pub mod two_way;

use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Settings, Time};
use tailback_transport::tcp::{Config, MODEL, Receiver, Sender, new_pair};
use tailback_transport::{AppEvent, AppEvents, Endpoint, Segment, Transmit};

pub const PAYLOAD: u64 = 1000;

/// Parameters from pairs of text; segments of 1000 B, no timestamps and no delayed ACKs unless said otherwise.
pub fn settings(values: &[(&str, &str)]) -> Settings {
    let base = Settings::defaults(&MODEL)
        .with("payload", "1000B")
        .with("timestamps", "false")
        .with("delayed_ack", "1");
    values.iter().fold(base, |s, (name, text)| s.with(name, text))
}

/// The same, checked.
pub fn config(values: &[(&str, &str)]) -> Arc<Config> {
    Arc::new(Config::resolve(&settings(values), &[]).unwrap())
}

/// What happens to a segment on the way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    Pass,
    Drop,
    Mark,
    /// Arrives this much later.
    Late(Duration),
}

/// Number of a data segment, from 1; 0 is the SYN.
pub fn number(s: &Segment) -> u64 {
    if s.seq == 0 { 0 } else { (s.seq - 1) / PAYLOAD + 1 }
}

#[derive(Default)]
pub struct Heard(pub Vec<AppEvent>);

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.0.push(e);
    }
}

pub struct Path {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub delay: Duration,
    /// By due time and order: whether it goes to the receiver, and the segment.
    flying: BTreeMap<(Time, u64), (bool, Segment)>,
    order: u64,
    /// When the sender's pacer lets the next segment go.
    paced: Time,
    /// Everything the sender sent, and the receiver's answers.
    pub sent: Vec<(Time, Segment)>,
    pub acks: Vec<(Time, Segment)>,
    pub at_sender: Heard,
    pub at_receiver: Heard,
}

impl Path {
    pub fn new(cfg: &Arc<Config>, delay_ms: u64) -> Path {
        let (sender, receiver) = new_pair(cfg);
        Path {
            sender,
            receiver,
            now: Time::ZERO,
            delay: Duration::from_millis(delay_ms),
            flying: BTreeMap::new(),
            order: 0,
            paced: Time::NEVER,
            sent: Vec::new(),
            acks: Vec::new(),
            at_sender: Heard::default(),
            at_receiver: Heard::default(),
        }
    }

    fn fly(&mut self, forward: bool, mut s: Segment, fate: Fate) {
        let late = match fate {
            Fate::Drop => return,
            Fate::Late(d) => d,
            Fate::Mark => {
                s.ecn = Ecn::Ce;
                Duration::ZERO
            }
            Fate::Pass => Duration::ZERO,
        };
        self.order += 1;
        let due = self.now + self.delay + late;
        self.flying.insert((due, self.order), (forward, s));
    }

    /// Send what may be sent now. `data` sees each segment and its index among those sent, from 0.
    pub fn pump(
        &mut self,
        data: &mut dyn FnMut(&Segment, usize) -> Fate,
        acks: &mut dyn FnMut(&Segment, usize) -> Fate,
    ) {
        self.paced = loop {
            match self.sender.poll_transmit(self.now) {
                Transmit::Segment(s) => {
                    let fate = data(&s, self.sent.len());
                    self.sent.push((self.now, s.clone()));
                    self.fly(true, s, fate);
                }
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        while let Transmit::Segment(s) = self.receiver.poll_transmit(self.now) {
            let fate = acks(&s, self.acks.len());
            self.acks.push((self.now, s.clone()));
            self.fly(false, s, fate);
        }
    }

    /// Run until nothing is left to do, or until `until`.
    pub fn run_with(
        &mut self,
        until: Time,
        data: &mut dyn FnMut(&Segment, usize) -> Fate,
        acks: &mut dyn FnMut(&Segment, usize) -> Fate,
    ) {
        loop {
            self.pump(data, acks);
            let first = self.flying.keys().next().map(|(due, _)| *due);
            let timers = [self.sender.next_timeout(), self.receiver.next_timeout()];
            let Some(next) = timers
                .iter()
                .flatten()
                .copied()
                .chain(first)
                .chain((self.paced != Time::NEVER).then_some(self.paced))
                .min()
                .filter(|t| *t <= until)
            else {
                self.now = until.max(self.now);
                return;
            };
            self.now = next.max(self.now);
            let now = self.now;
            if let Some(due) = self.flying.first_entry().filter(|e| e.key().0 <= now) {
                let (forward, s) = due.remove();
                if forward {
                    self.receiver.on_segment(&s, self.now, &mut self.at_receiver);
                } else {
                    self.sender.on_segment(&s, self.now, &mut self.at_sender);
                }
                continue;
            }
            if timers[0].is_some_and(|t| t <= self.now) {
                self.sender.on_timeout(self.now, &mut self.at_sender);
            }
            if timers[1].is_some_and(|t| t <= self.now) {
                self.receiver.on_timeout(self.now, &mut self.at_receiver);
            }
        }
    }

    /// As above; ACKs pass.
    pub fn run(&mut self, seconds: f64, data: &mut dyn FnMut(&Segment, usize) -> Fate) {
        self.run_with(Time::from_seconds(seconds), data, &mut |_, _| Fate::Pass);
    }

    /// Numbers of the segments sent more than once.
    pub fn repeated(&self) -> Vec<u64> {
        let again = |s: &Segment| s.flags.has(tailback_transport::Flags::RETRANSMISSION);
        self.sent
            .iter()
            .filter(|(_, s)| again(s))
            .map(|(_, s)| number(s))
            .collect()
    }

    pub fn cwnd(&self) -> f64 {
        self.sender.read(0)
    }

    pub fn ssthresh(&self) -> f64 {
        self.sender.read(1)
    }
}

/// Drops the first copy of these data segments.
pub fn lose(numbers: &'static [u64]) -> impl FnMut(&Segment, usize) -> Fate {
    let mut left = numbers.to_vec();
    move |s, _| match left.iter().position(|n| *n == number(s) && s.payload > 0) {
        Some(i) => {
            left.remove(i);
            Fate::Drop
        }
        None => Fate::Pass,
    }
}

pub fn pass(_: &Segment, _: usize) -> Fate {
    Fate::Pass
}
