//! Playing a dialogue: each step is done, or checked against the segments that the ends have sent and the states that
//! they show.

use super::net::{OnPath, number};
use super::{Act, Clock, DialogueStep, Does, Expr, GivenAck, Net, PAYLOAD, Sends, Sent, SentAck, StateCheck, Who};
use crate::{Flags, SackBlocks, Segment};
use std::collections::HashMap;
use std::fmt::{self, Write};
use tailback_base::{Duration, Ecn, Time};

/// A smaller difference comes from rounding of binary fractions and does not count.
const ROUNDING: f64 = 1e-6;
/// The longest time that `wait` waits.
const MOST_WAITED: Duration = Duration(1_000_000_000_000);
/// Names of values: the states of loss recovery of Linux's `tcp_info`, the states of a connection, and infinity.
const VALUES: [(&str, f64); 18] = [
    ("Open", 0.0),
    ("Disorder", 1.0),
    ("CWR", 2.0),
    ("Recovery", 3.0),
    ("Loss", 4.0),
    ("ESTABLISHED", 1.0),
    ("SYN_SENT", 2.0),
    ("SYN_RECV", 3.0),
    ("FIN_WAIT1", 4.0),
    ("FIN_WAIT2", 5.0),
    ("TIME_WAIT", 6.0),
    ("CLOSE", 7.0),
    ("CLOSE_WAIT", 8.0),
    ("LAST_ACK", 9.0),
    ("LISTEN", 10.0),
    ("CLOSING", 11.0),
    ("inf", f64::INFINITY),
    ("never", f64::INFINITY),
];

/// A step that failed, or could not be played.
#[derive(Clone, PartialEq, Debug)]
pub struct Broken {
    /// The line of the dialogue, from 1.
    pub line: u32,
    /// The time on the dialogue's clock.
    pub at: Duration,
    /// The expectation, which is the text of the step.
    pub step: String,
    pub got: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let at_ms = self.at.0 as f64 / 1e6;
        write!(
            f,
            "line {}, {at_ms} ms: expected `{}`; {}",
            self.line, self.step, self.got
        )
    }
}

/// A running dialogue.
pub struct Playing<'n, 'a> {
    pub net: &'n mut Net<'a>,
    kept: HashMap<String, f64>,
    /// How far the list of sent segments has been checked: by `>` and `again`, by `> ack`, and by `says`.
    seen: [[usize; 2]; 2],
    said: usize,
    /// The greatest acknowledgement that the dialogue has given, segments.
    upto: u64,
}

/// Play a dialogue.
///
/// # Errors
/// The first step that fails.
pub fn play(steps: &[DialogueStep], net: &mut Net) -> Result<(), Broken> {
    let mut player = Playing::new(net);
    steps.iter().try_for_each(|s| player.step(s))
}

impl<'n, 'a> Playing<'n, 'a> {
    pub fn new(net: &'n mut Net<'a>) -> Playing<'n, 'a> {
        Playing {
            net,
            kept: VALUES.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
            seen: [[0; 2]; 2],
            said: 0,
            upto: 0,
        }
    }

    /// Do one step.
    ///
    /// # Errors
    /// The step fails, or cannot be done.
    pub fn step(&mut self, step: &DialogueStep) -> Result<(), Broken> {
        let due = match step.when {
            Clock::At(at) => self.net.zero + Duration(at),
            Clock::After(passed) => self.net.now + Duration(passed),
        };
        self.net
            .run(due)
            .and_then(|()| self.act(step))
            .map_err(|failure| Broken {
                line: step.line,
                at: self.net.now.since(self.net.zero),
                step: step.text.clone(),
                got: failure,
            })
    }

    fn act(&mut self, step: &DialogueStep) -> Result<(), String> {
        let who = step.who;
        match &step.what {
            Does::Open { round_trip, lost } => self.open(Duration(*round_trip), *lost),
            Does::Do(act) => self.net.act(who, *act),
            Does::Ack(ack) => self.ack(who, ack),
            Does::Data { numbers, ecn, cwr } => {
                let flags = Flags::ACK.with(if *cwr { Flags::CWR } else { Flags::NONE });
                numbers.iter().try_for_each(|n| {
                    let s = segment(1 + (n - 1) * PAYLOAD, PAYLOAD as u32, 1, flags);
                    self.net.arrive(who, &Segment { ecn: *ecn, ..s })
                })
            }
            Does::Sends(wanted) => sends(&self.look(who), wanted),
            Does::Count {
                most,
                number,
                cwr_first,
            } => count(&self.look(who), *most, *number, *cwr_first),
            Does::SendsAck(wanted) => self.sends_ack(who, wanted.as_ref()),
            Does::Again(wanted) => {
                let mut again = self.look(who);
                again.retain(|s| is_again(&s.segment));
                sends(&again, wanted)
            }
            Does::Copies { number: n, at } => {
                let of = |(w, s): &&(Who, Sent)| *w == who && has_number(&s.segment) && number(&s.segment) == *n;
                let copies = self.net.sent.iter().filter(of);
                let instants: Vec<u64> = copies.map(|(_, s)| s.at.since(self.net.zero).0).collect();
                let texts: Vec<String> = instants.iter().map(|t| format!("{} ms", *t as f64 / 1e6)).collect();
                holds(instants == *at, || format!("it was sent at {}", texts.join(", ")))
            }
            Does::Says { words, and_more } => self.says(words, *and_more),
            Does::Check(check) => self.check(who, check),
            Does::Wait(check) => {
                let deadline = self.net.now + MOST_WAITED;
                while let Err(failure) = self.check(who, check) {
                    if self.net.now >= deadline {
                        return Err(failure);
                    }
                    self.net.run(self.net.now + Duration(1_000_000))?;
                }
                Ok(())
            }
            Does::Keep { name, value } => {
                let value = self.evaluate(who, value)?;
                self.kept.insert(name.clone(), value);
                Ok(())
            }
            Does::Path(path) => {
                self.net.set_path(*path);
                Ok(())
            }
            Does::Lose { which, times } => {
                self.net.rule(who, which, *times, |_| OnPath::Lost);
                Ok(())
            }
            Does::Mark(which) => {
                self.net.rule(who, which, 1, |_| OnPath::Marked);
                Ok(())
            }
            Does::Late { which, by, more } => {
                let times = |i: usize| if *more { i as u64 } else { 1 };
                self.net.rule(who, which, 1, |i| OnPath::Late(Duration(by * times(i))));
                Ok(())
            }
        }
    }

    fn open(&mut self, round_trip: Duration, lost: u64) -> Result<(), String> {
        self.net.act(Who::A, Act::Write(Some(0)))?;
        while self.net.sent.len() <= lost as usize {
            let next_event = self.net.ends[0].next();
            if next_event == Time::NEVER {
                return Err("it sent no SYN".to_string());
            }
            self.net.run(next_event)?;
        }
        let (first, last) = (self.net.sent[0].1.at, self.net.sent[lost as usize].1.clone());
        let gap = last.at.since(first).seconds() / lost as f64;
        self.kept.insert("syn_gap".to_string(), gap);
        self.net.run(last.at + round_trip)?;
        let syn = &last.segment;
        let asks = syn.flags.has(Flags::ECE) && syn.flags.has(Flags::CWR);
        let flags = Flags::SYN
            .with(Flags::ACK)
            .with(if asks { Flags::ECE } else { Flags::NONE });
        let timestamps = syn.timestamps.map(|(value, _)| (self.net.now, value));
        // The other end receives the SYN. Its own answer is dropped, and the answer that is made here arrives instead.
        self.net.ends[1].arrive(syn, self.net.now);
        self.net.ends[1].take();
        self.net.begin();
        (self.seen, self.said) = ([[0; 2]; 2], 0);
        self.net.arrive(
            Who::A,
            &Segment {
                timestamps,
                ..segment(0, 0, 1, flags)
            },
        )
    }

    fn ack(&mut self, who: Who, ack: &GivenAck) -> Result<(), String> {
        let acked = ack.acked / PAYLOAD;
        let copies = |n: u64| {
            let is_copy = move |s: &&Sent| is_data(&s.segment) && number(&s.segment) == n;
            let mut copies = self
                .net
                .sent
                .iter()
                .filter(|(w, _)| *w == who)
                .map(|(_, s)| s)
                .filter(is_copy);
            let copy = if ack.again { copies.next_back() } else { copies.next() };
            copy.map(|s| s.segment.timestamps.map(|(value, _)| value))
        };
        // The time stamp of the first newly covered segment is echoed (RFC 7323 section 4.3).
        let newly = (self.upto + 1..=acked).find(|n| copies(*n).is_some());
        let whose = ack
            .of
            .or(newly)
            .or_else(|| (1..=acked).rev().find(|n| copies(*n).is_some()));
        let echo = whose.and_then(copies);
        if let (Some(of), None) = (ack.of, echo) {
            return Err(format!(
                "segment {of} has not been sent, so its time stamp cannot be echoed"
            ));
        }
        self.upto = self.upto.max(acked);
        let flags = Flags::ACK.with(if ack.ece { Flags::ECE } else { Flags::NONE });
        let bounds = ack
            .reports
            .iter()
            .map(|(a, b)| (1 + (a - 1) * PAYLOAD, 1 + b * PAYLOAD));
        let s = Segment {
            sack: bounds.collect(),
            timestamps: echo.flatten().map(|echo| (self.net.now, echo)),
            window: ack.window.map(|w| w as u32),
            ..segment(1, 0, 1 + ack.acked, flags)
        };
        self.net.arrive(who, &s)
    }

    /// The data segments (and SYN) that an end has sent since the last look.
    fn look(&mut self, who: Who) -> Vec<Sent> {
        let first_unseen = std::mem::replace(&mut self.seen[who as usize][0], self.net.sent.len());
        let sent = self.net.sent[first_unseen.min(self.net.sent.len())..].iter();
        let data = sent.filter(|(w, s)| *w == who && has_number(&s.segment));
        data.map(|(_, s)| Sent {
            at: Time(s.at.since(self.net.zero).0),
            segment: s.segment.clone(),
        })
        .collect()
    }

    fn sends_ack(&mut self, who: Who, wanted: Option<&SentAck>) -> Result<(), String> {
        let first_unseen = std::mem::replace(&mut self.seen[who as usize][1], self.net.sent.len());
        let sent = self.net.sent[first_unseen.min(self.net.sent.len())..].iter();
        let acks = sent.filter(|(w, s)| *w == who && !s.segment.occupies());
        let sent_acks: Vec<SentAck> = acks
            .map(|(_, s)| SentAck {
                acked: s.segment.ack - 1,
                reports: (s.segment.sack.iter())
                    .map(|(a, b)| ((a - 1) / PAYLOAD + 1, (b - 1) / PAYLOAD))
                    .collect(),
                ece: s.segment.flags.has(Flags::ECE),
                bytes: wanted.and_then(|w| w.bytes).map(|_| u64::from(s.segment.bytes)),
            })
            .collect();
        holds(sent_acks.iter().collect::<Vec<_>>() == Vec::from_iter(wanted), || {
            let mut text = String::new();
            for a in &sent_acks {
                let ece = if a.ece { " ece" } else { "" };
                let _ = write!(text, " ack {}{ece} {:?}", a.acked as f64 / PAYLOAD as f64, a.reports);
            }
            format!("it sent{}", if text.is_empty() { " no ack" } else { &text })
        })
    }

    fn says(&mut self, words: &[String], and_more: bool) -> Result<(), String> {
        let first_unseen = std::mem::replace(&mut self.said, self.net.sent.len());
        let sent = self.net.sent[first_unseen.min(self.net.sent.len())..].iter();
        let words_sent: Vec<String> = sent.map(|(who, s)| format!("{who:?} {}", word(&s.segment))).collect();
        let is_as_said = if and_more {
            words_sent.starts_with(words)
        } else {
            words_sent == words
        };
        holds(is_as_said, || {
            format!("they said {}", words_sent[..words_sent.len().min(40)].join(", "))
        })
    }

    fn evaluate(&self, who: Who, value: &Expr) -> Result<f64, String> {
        value.value(|name| {
            let (who, state) = match name.split_once('.') {
                Some(("A", state)) => (Who::A, state),
                Some(("B", state)) => (Who::B, state),
                _ => (who, name),
            };
            if let Some(value) = self.kept.get(name) {
                return Ok(*value);
            }
            let count = |of: fn(&Segment) -> bool| {
                let sent = self.net.sent.iter().filter(|(w, s)| *w == who && of(&s.segment));
                sent.count() as f64
            };
            match state {
                "sent" => return Ok(count(is_data)),
                "syns" => return Ok(count(|s| s.flags.has(Flags::SYN))),
                "fins" => return Ok(count(|s| s.flags.has(Flags::FIN))),
                "not_ect" => return Ok(count(|s| s.ecn == Ecn::NotEct)),
                "ect" => return Ok(count(|s| s.ecn != Ecn::NotEct)),
                "cwrs" => return Ok(count(|s| is_data(s) && s.flags.has(Flags::CWR))),
                "acks" => return Ok(count(|s| !s.occupies())),
                "echoes" => return Ok(count(|s| !s.occupies() && s.flags.has(Flags::ECE))),
                "end" => {
                    let ends = self
                        .net
                        .sent
                        .iter()
                        .filter(|(w, _)| *w == who)
                        .map(|(_, s)| s.segment.end());
                    return Ok(ends.max().map_or(0.0, |n| (n - 1) as f64 / PAYLOAD as f64));
                }
                "now" => return Ok(self.net.now.since(self.net.zero).seconds()),
                "last" => {
                    let last = self.net.sent.iter().rfind(|(w, _)| *w == who);
                    return Ok(last.map_or(f64::NAN, |(_, s)| s.at.since(self.net.zero).seconds()));
                }
                _ => {}
            }
            let end = &self.net.ends[who as usize];
            end.value(state, self.net.now, self.net.zero)
                .ok_or_else(|| format!("there is no state '{state}'; there are {}", end.names().join(", ")))
        })
    }

    fn check(&self, who: Who, check: &StateCheck) -> Result<(), String> {
        let (measured, expected) = (self.evaluate(who, &check.left)?, self.evaluate(who, &check.value)?);
        let tolerance = check.tolerance.as_ref().map_or(Ok(0.0), |t| self.evaluate(who, t))?;
        let allowed = tolerance + ROUNDING * expected.abs().max(1.0);
        let (low, high) = (expected - allowed, expected + allowed);
        let equal = (low <= measured && measured <= high) || measured == expected;
        let is_as_stated = match check.operator {
            "=" => equal,
            "!=" => !equal,
            "<" => measured < low,
            "<=" => measured <= high,
            ">" => measured > high,
            _ => measured >= low,
        };
        holds(is_as_stated, || {
            let mut text = format!("{} is {measured}", check.left.names().join(", "));
            if !check.value.names().is_empty() {
                let _ = write!(text, ", and {} is {expected}", check.value.names().join(", "));
            }
            text
        })
    }
}

fn holds(good: bool, got: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(got()) }
}

fn is_data(s: &Segment) -> bool {
    s.payload > 0
}

fn has_number(s: &Segment) -> bool {
    is_data(s) || s.flags.has(Flags::SYN)
}

fn is_again(s: &Segment) -> bool {
    s.flags.has(Flags::RETRANSMISSION)
}

fn segment(seq: u64, payload: u32, ack: u64, flags: Flags) -> Segment {
    Segment {
        seq,
        payload,
        ack,
        flags,
        ecn: Ecn::NotEct,
        bytes: 40 + payload,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
        counts: None,
    }
}

/// Flags and payload, such as `ACK 1000`.
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

fn sends(seen: &[Sent], wanted: &Sends) -> Result<(), String> {
    let numbers: Vec<u64> = seen.iter().map(|s| number(&s.segment)).collect();
    let is_as_stated = if wanted.and_more {
        numbers.starts_with(&wanted.numbers)
    } else {
        numbers == wanted.numbers
    };
    holds(is_as_stated, || format!("it sent {}", shown(seen)))?;
    for s in seen.iter().take(wanted.numbers.len()).map(|s| &s.segment) {
        let cwr = if s.flags.has(Flags::CWR) { "cwr" } else { "no-cwr" };
        let ece = if s.flags.has(Flags::ECE) { "ece" } else { "no-ece" };
        let ecn = match s.ecn {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        };
        if let Some(missing) = wanted.marks.iter().find(|m| ![cwr, ece, ecn].contains(&m.as_str())) {
            return Err(format!(
                "segment {} has {cwr}, {ece}, {ecn}, and not {missing}",
                number(s)
            ));
        }
        if wanted.bytes.is_some_and(|n| n != u64::from(s.payload)) {
            return Err(format!("segment {} has {} B", number(s), s.payload));
        }
    }
    Ok(())
}

fn count(seen: &[Sent], most: bool, wanted: u64, cwr_first: bool) -> Result<(), String> {
    let segments = seen.len() as u64;
    let is_as_stated = if most { segments <= wanted } else { segments >= wanted };
    holds(is_as_stated, || format!("it sent {}", shown(seen)))?;
    let with_cwr: Vec<usize> = (0..seen.len())
        .filter(|i| seen[*i].segment.flags.has(Flags::CWR))
        .collect();
    holds(!cwr_first || with_cwr == [0], || {
        format!("CWR is on {with_cwr:?} of {segments}")
    })
}

/// Segments with their times. Segments of one instant are shown as ranges.
fn shown(sent: &[Sent]) -> String {
    let mut runs: Vec<(u64, u64, &Sent)> = Vec::new();
    for s in sent {
        let n = number(&s.segment);
        match runs.last_mut() {
            Some((_, last, first))
                if *last + 1 == n && first.at == s.at && is_again(&first.segment) == is_again(&s.segment) =>
            {
                *last = n;
            }
            _ => runs.push((n, n, s)),
        }
    }
    let parts = runs.iter().take(8).map(|(first, last, s)| {
        let span = if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        };
        let again = if is_again(&s.segment) { " again" } else { "" };
        format!("{span}{again} at {} ms", s.at.0 as f64 / 1e6)
    });
    let parts: Vec<String> = parts.collect();
    match (parts.is_empty(), runs.len() > 8) {
        (true, _) => "nothing".to_string(),
        (_, more) => parts.join(", ") + if more { " and more" } else { "" },
    }
}
