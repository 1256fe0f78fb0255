//! Two ends and the path between them: which end sent which segment when, and what happens to the segments that a
//! dialogue names.

use super::{Act, PAYLOAD, PathStep, Sent, Which, Who};
use crate::{Flags, Segment};
use std::collections::BTreeMap;
use tailback_base::{Duration, Ecn, Time};

/// The largest number of segments in flight. An unbounded window would double as long as no segment is lost.
const MOST_SENT: usize = 200_000;

/// An end of the connection of a dialogue.
pub trait PlayedEnd {
    fn act(&mut self, act: Act, now: Time);
    fn arrive(&mut self, s: &Segment, now: Time);
    /// The time of the next action of this end; `NEVER` if it waits.
    fn next(&self) -> Time;
    /// Let this end do what is due.
    fn advance(&mut self, now: Time);
    /// The segments that this end has sent since the last call.
    fn take(&mut self) -> Vec<Sent>;
    /// The value of the state with this name. Times count from `zero`.
    fn value(&self, name: &str, now: Time, zero: Time) -> Option<f64>;
    fn names(&self) -> Vec<&'static str>;
}

/// Both ends, with the clock.
pub struct Net<'a> {
    pub ends: [Box<dyn PlayedEnd + 'a>; 2],
    pub now: Time,
    /// The instant at which the dialogue's time begins.
    pub zero: Time,
    path: PathStep,
    /// The time at which the path's line is free, or its bucket full, and the number of data segments that arrived
    /// since the path was last set.
    busy: Time,
    come: u64,
    /// Everything that was sent.
    pub sent: Vec<(Who, Sent)>,
    rules: Vec<Rule>,
    acks: [u64; 2],
    /// The receiving end and the segment, by due time and by order.
    flying: BTreeMap<(Time, u64), (Who, Segment)>,
    order: u64,
}

/// The fate of a segment, and the number of segments that it applies to.
struct Rule {
    who: Who,
    key: SegmentKey,
    fate: OnPath,
    left: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentKey {
    Data(u64),
    Ack(u64),
    Syn,
    Fin,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnPath {
    Lost,
    Marked,
    Late(Duration),
}

/// The number of a segment of data, from 1; a SYN has the number 0.
pub(super) fn number(s: &Segment) -> u64 {
    if s.flags.has(Flags::SYN) {
        0
    } else {
        (s.seq - 1) / PAYLOAD + 1
    }
}

impl<'a> Net<'a> {
    pub fn new(a: Box<dyn PlayedEnd + 'a>, b: Box<dyn PlayedEnd + 'a>) -> Net<'a> {
        Net {
            ends: [a, b],
            now: Time::ZERO,
            zero: Time::ZERO,
            path: PathStep::default(),
            busy: Time::ZERO,
            come: 0,
            sent: Vec::new(),
            rules: Vec::new(),
            acks: [0; 2],
            flying: BTreeMap::new(),
            order: 0,
        }
    }

    /// Begin the dialogue now. The list of sent segments is cleared.
    pub(super) fn begin(&mut self) {
        self.zero = self.now;
        self.sent.clear();
        self.acks = [0; 2];
    }

    pub(super) fn act(&mut self, who: Who, act: Act) -> Result<(), String> {
        self.ends[who as usize].act(act, self.now);
        self.collect()
    }

    pub(super) fn arrive(&mut self, who: Who, s: &Segment) -> Result<(), String> {
        self.ends[who as usize].arrive(s, self.now);
        self.collect()
    }

    /// Let the time pass, and carry the segments that are sent.
    pub(super) fn run(&mut self, until: Time) -> Result<(), String> {
        loop {
            self.collect()?;
            let first_arrival = self.flying.keys().next().map_or(Time::NEVER, |(due, _)| *due);
            let next_event = first_arrival.min(self.ends[0].next()).min(self.ends[1].next());
            if next_event == Time::NEVER || next_event > until {
                self.now = until.max(self.now);
                return Ok(());
            }
            self.now = next_event.max(self.now);
            let now = self.now;
            if let Some(due) = self.flying.first_entry().filter(|e| e.key().0 <= now) {
                let (receiver, segment) = due.remove();
                self.ends[receiver as usize].arrive(&segment, now);
                continue;
            }
            for end in &mut self.ends {
                if end.next() <= self.now {
                    end.advance(self.now);
                }
            }
        }
    }

    fn collect(&mut self) -> Result<(), String> {
        for who in [Who::A, Who::B] {
            for sent in self.ends[who as usize].take() {
                self.carry(who, &sent);
                self.sent.push((who, sent));
            }
        }
        if self.sent.len() > MOST_SENT {
            return Err(format!(
                "more than {MOST_SENT} segments were sent; lose one, or bound the window with tcp = {{ window_cap = \
                 \"100 packets\" }}"
            ));
        }
        Ok(())
    }

    pub(super) fn set_path(&mut self, path: PathStep) {
        (self.path, self.come) = (path, 0);
        // Segments that already wait before the line leave at the times set before. A bucket is full at first.
        if path.bucket.is_some() {
            self.busy = self.now;
        }
    }

    /// When data that are sent at `at` leave the line; `None` if they are lost.
    fn through_line(&mut self, at: Time) -> Option<Time> {
        let path = self.path;
        self.come += 1;
        if path.every > 0 && self.come.is_multiple_of(path.every) {
            return None;
        }
        let free = self.busy.max(at);
        let waits = free.since(at).0;
        let most_wait_ns = path
            .room
            .or(path.bucket.map(|b| b - 1))
            .map_or(u64::MAX, |n| n.saturating_mul(path.each));
        if waits > most_wait_ns {
            return None;
        }
        self.busy = free + Duration(path.each);
        Some(if path.bucket.is_some() { at } else { self.busy })
    }

    fn carry(&mut self, who: Who, sent: &Sent) {
        if self.path.round_trip == 0 {
            return;
        }
        let mut s = sent.segment.clone();
        if !s.occupies() {
            self.acks[who as usize] += 1;
        }
        let count = self.acks[who as usize];
        let fits = |key: SegmentKey| match key {
            SegmentKey::Data(n) => s.payload > 0 && number(&s) == n,
            SegmentKey::Ack(n) => !s.occupies() && n == count,
            SegmentKey::Syn => s.flags.has(Flags::SYN),
            SegmentKey::Fin => s.flags.has(Flags::FIN),
            SegmentKey::All => true,
        };
        let mut taken = Vec::new();
        let kinds: [fn(OnPath) -> bool; 3] = [
            |f| f == OnPath::Lost,
            |f| f == OnPath::Marked,
            |f| matches!(f, OnPath::Late(_)),
        ];
        for kind in kinds {
            let applies = |r: &&mut Rule| r.who == who && r.left > 0 && kind(r.fate) && fits(r.key);
            if let Some(rule) = self.rules.iter_mut().find(applies) {
                rule.left -= u64::from(rule.key != SegmentKey::All);
                taken.push(rule.fate);
                if rule.fate == OnPath::Lost {
                    return;
                }
            }
        }
        let half = Duration(self.path.round_trip / 2);
        let mut due = sent.at;
        if who == Who::A && s.payload > 0 {
            let Some(through) = self.through_line(sent.at) else {
                return;
            };
            due = through;
        }
        due += if who == Who::A {
            half
        } else {
            Duration(self.path.round_trip - half.0)
        };
        if who == Who::A && self.path.grid > 0 {
            due = Time(due.0.next_multiple_of(self.path.grid));
        }
        for fate in taken {
            match fate {
                OnPath::Marked if s.ecn != Ecn::NotEct => s.ecn = Ecn::Ce,
                OnPath::Late(by) => due += by,
                _ => {}
            }
        }
        self.order += 1;
        let to = if who == Who::A { Who::B } else { Who::A };
        self.flying.insert((due, self.order), (to, s));
    }

    /// Set the fate of these segments, for this number of copies of each.
    pub(super) fn rule(&mut self, who: Who, which: &Which, times: u64, fate: impl Fn(usize) -> OnPath) {
        let keys: Vec<SegmentKey> = match which {
            Which::Data(numbers) => numbers.iter().map(|n| SegmentKey::Data(*n)).collect(),
            Which::Acks(numbers) => numbers.iter().map(|n| SegmentKey::Ack(*n)).collect(),
            Which::Syn => vec![SegmentKey::Syn],
            Which::Fin => vec![SegmentKey::Fin],
            Which::All => vec![SegmentKey::All],
            Which::Nothing => {
                let cleared = fate(0);
                self.rules.retain(|r| r.who != who || r.fate != cleared);
                return;
            }
        };
        for (i, key) in keys.into_iter().enumerate() {
            let fate = fate(i);
            self.rules.push(Rule {
                who,
                key,
                fate,
                left: times,
            });
        }
    }
}
