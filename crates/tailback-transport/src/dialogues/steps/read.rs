//! The reader, which turns text into steps.

use super::{
    Act, Clock, DialogueStep, Does, Expr, GivenAck, MOST_SEGMENTS, PAYLOAD, PathStep, Sends, SentAck, StateCheck,
    Which, Who,
};
use crate::dialogues::Fault;
use crate::dialogues::cursor::Cursor;
use crate::dialogues::lex::{self, Comments, Kind};
use crate::dialogues::packetdrill::MOST_SECONDS;
use tailback_base::Ecn;

const STEPS: &str = "open, write, close, abort, stay_open, read, <, >, again, copies, says, wait, keep, path, lose, \
                     mark, late, apart, and states such as cwnd = 10";
const NO_TIME: &str = "write a time here: a number and us, ms or s, such as 100ms";
/// The attributes of a sent segment.
const MARKS: [&str; 7] = ["cwr", "no-cwr", "ece", "no-ece", "ect0", "ect1", "not-ect"];

/// Read a dialogue.
///
/// # Errors
/// The first line and word that cannot be read.
pub fn read(text: &str) -> Result<Vec<DialogueStep>, Fault> {
    let words = lex::words(text, Comments::Hash)?;
    let mut c = Cursor::new(text, &words);
    let mut steps = Vec::new();
    let mut now = 0;
    while !c.is_at_end() {
        steps.push(step(&mut c, &mut now)?);
        if !c.take_sign(';') && !c.is_at_line_end() {
            return Err(c.fault("a step ends here; write `;` or a new line before the next one"));
        }
    }
    if steps.is_empty() {
        return Err(Fault::new(
            1,
            "",
            "the dialogue has no steps; write what happens, such as `0ms write 10`",
        ));
    }
    Ok(steps)
}

/// Read a step. The earliest time at which the step may happen is `now`.
fn step(c: &mut Cursor, now: &mut u64) -> Result<DialogueStep, Fault> {
    let line = c.line();
    let when = if c.take_sign('+') {
        let passed = time(c)?;
        *now += passed;
        Clock::After(passed)
    } else if matches!(c.peek(), Some(Kind::Number(_))) {
        let instant = time_anywhere(c)?;
        if instant < *now {
            return Err(c.fault_before("this is before the step above it; write steps in the order of time"));
        }
        *now = instant;
        Clock::At(instant)
    } else {
        Clock::After(0)
    };
    let begin = c.begin();
    let who = match c.peek() {
        Some(Kind::Word(_)) if matches!(c.peek_second(), Some(Kind::Sign('=' | '.' | '+' | '-' | '*' | '!'))) => None,
        Some(Kind::Word("A")) => Some(Who::A),
        Some(Kind::Word("B")) => Some(Who::B),
        _ => None,
    };
    if who.is_some() {
        c.next();
    }
    let who = who.unwrap_or(Who::A);
    let what = what(c, who)?;
    if matches!(what, Does::Open { .. }) {
        *now = 0;
    }
    let text = c.text_since(begin);
    Ok(DialogueStep {
        line,
        text,
        when,
        who,
        what,
    })
}

fn what(c: &mut Cursor, who: Who) -> Result<Does, Fault> {
    if c.take_sign('<') {
        return arrives(c, who);
    }
    if c.take_sign('>') {
        return sends(c);
    }
    let Some(Kind::Word(verb)) = c.peek() else {
        return Err(c.fault(format!("there is no such step; there are {STEPS}")));
    };
    if matches!(
        c.peek_second(),
        Some(Kind::Sign('=' | '<' | '>' | '!' | '.' | '+' | '*'))
    ) {
        return Ok(Does::Check(check(c)?));
    }
    c.next();
    Ok(match verb {
        "open" => Does::Open {
            round_trip: time(c)?,
            lost: if c.take_word("lost") { whole(c, 0)? } else { 0 },
        },
        "write" if c.take_word("forever") => Does::Do(Act::Write(None)),
        "write" if c.take_word("nothing") => Does::Do(Act::Withdraw),
        "write" => Does::Do(Act::Write(Some(bytes(c, 0)?))),
        "close" => Does::Do(Act::Close),
        "abort" => Does::Do(Act::Abort),
        "stay_open" => Does::Do(Act::StayOpen),
        "read" => match c.next() {
            Some(Kind::Word("on")) => Does::Do(Act::Read(true)),
            Some(Kind::Word("off")) => Does::Do(Act::Read(false)),
            _ => return Err(c.fault_before("write `read on` or `read off`")),
        },
        "again" => Does::Again(segments(c)?),
        "copies" => {
            let number = whole(c, 0)?;
            let mut at = Vec::new();
            if !c.take_word("at") {
                return Err(c.fault("write the times after `at`, such as `copies 5 at 100ms,300ms`"));
            }
            loop {
                at.push(time(c)?);
                if !c.take_sign(',') {
                    return Ok(Does::Copies { number, at });
                }
            }
        }
        "says" => says(c)?,
        "wait" => Does::Wait(check(c)?),
        "keep" => {
            let Some(Kind::Word(name)) = c.next() else {
                return Err(c.fault_before("write `keep NAME = STATE`"));
            };
            c.expect_sign('=', "write `keep NAME = STATE`")?;
            Does::Keep {
                name: name.to_string(),
                value: Expr::read(c)?,
            }
        }
        "path" if c.take_word("off") => Does::Path(PathStep::default()),
        "path" => Does::Path(path(c)?),
        "lose" => {
            let which = which(c)?;
            let times = match c.peek() {
                Some(Kind::Word(word)) if word.starts_with('x') && !c.is_at_line_end() => {
                    let times = word[1..].parse().ok().filter(|n| (1..=MOST_SEGMENTS).contains(n));
                    let times = times.ok_or_else(|| c.fault(format!("write x1 to x{MOST_SEGMENTS}")))?;
                    c.next();
                    times
                }
                _ => 1,
            };
            Does::Lose { which, times }
        }
        "mark" => Does::Mark(which(c)?),
        "late" | "apart" => Does::Late {
            which: which(c)?,
            by: time(c)?,
            more: verb == "apart",
        },
        _ => return Err(c.fault_before(format!("there is no such step; there are {STEPS}"))),
    })
}

fn arrives(c: &mut Cursor, who: Who) -> Result<Does, Fault> {
    if who == Who::B && !matches!(c.peek(), Some(Kind::Word("ack"))) {
        let numbers = numbers(c, 1)?;
        let (mut ecn, mut cwr) = (Ecn::NotEct, false);
        while let Some(Kind::Word(word)) = c.peek().filter(|_| !c.is_at_line_end()) {
            match word {
                "ce" => ecn = Ecn::Ce,
                "ect0" => ecn = Ecn::Ect0,
                "ect1" => ecn = Ecn::Ect1,
                "cwr" => cwr = true,
                _ => return Err(c.fault("a segment that arrives may have ce, ect0, ect1 and cwr")),
            }
            c.next();
        }
        return Ok(Does::Data { numbers, ecn, cwr });
    }
    if !c.take_word("ack") {
        return Err(c.fault("write `< ack N`, and after it sack A-B, dsack A, ece, win N or `of again`"));
    }
    let mut ack = GivenAck {
        acked: bytes(c, 0)?,
        ..GivenAck::default()
    };
    while let Some(Kind::Word(word)) = c.peek().filter(|_| !c.is_at_line_end()) {
        c.next();
        match word {
            "sack" | "dsack" => ack.reports.extend(ranges(c, 1)?),
            "of" if c.take_word("again") => ack.again = true,
            "of" if c.take_word("first") => ack.again = false,
            "of" => ack.of = Some(whole(c, 0)?),
            "again" if ack.of.is_some() => ack.again = true,
            "win" => ack.window = Some(bytes(c, 0)?),
            "ece" => ack.ece = true,
            _ => return Err(c.fault_before("an acknowledgement has sack, dsack, ece, win and of")),
        }
    }
    Ok(Does::Ack(ack))
}

fn sends(c: &mut Cursor) -> Result<Does, Fault> {
    if c.take_word("no") {
        return match c.next() {
            Some(Kind::Word("ack")) => Ok(Does::SendsAck(None)),
            _ => Err(c.fault_before("write `> no ack`")),
        };
    }
    if c.take_word("ack") {
        return sent_ack(c);
    }
    if c.take_word("at") {
        let most = match c.next() {
            Some(Kind::Word("most")) => true,
            Some(Kind::Word("least")) => false,
            _ => return Err(c.fault_before("write `> at most N` or `> at least N`")),
        };
        let number = whole(c, 0)?;
        let cwr_first = !c.is_at_line_end() && c.peek() != Some(Kind::Sign(';'));
        if cwr_first && mark(c)?.is_none_or(|m| m != "cwr-first") {
            return Err(c.fault_before("write cwr-first or nothing after the number"));
        }
        return Ok(Does::Count {
            most,
            number,
            cwr_first,
        });
    }
    Ok(Does::Sends(segments(c)?))
}

/// The numbers of segments, and the attributes of each of these segments.
fn segments(c: &mut Cursor) -> Result<Sends, Fault> {
    let mut sends = Sends {
        numbers: numbers(c, 0)?,
        ..Sends::default()
    };
    while !c.is_at_line_end() && c.peek() != Some(Kind::Sign(';')) {
        if c.take_dots() {
            sends.and_more = true;
        } else if matches!(c.peek(), Some(Kind::Number(_))) {
            sends.bytes = Some(bytes(c, 1)?);
        } else if let Some(word) = mark(c)?.filter(|m| MARKS.contains(&m.as_str())) {
            sends.marks.push(word);
        } else {
            return Err(c.fault_before(format!("a segment has {}, or a size such as 500B", MARKS.join(", "))));
        }
    }
    Ok(sends)
}

/// A word with hyphens.
fn mark(c: &mut Cursor) -> Result<Option<String>, Fault> {
    let Some(Kind::Word(first)) = c.next() else {
        return Ok(None);
    };
    let mut word = first.to_string();
    while c.touches() && c.take_sign('-') {
        let Some(Kind::Word(part)) = c.next() else {
            return Err(c.fault_before("write a word with hyphens here, such as no-cwr"));
        };
        word = format!("{word}-{part}");
    }
    Ok(Some(word))
}

fn sent_ack(c: &mut Cursor) -> Result<Does, Fault> {
    let mut ack = SentAck {
        acked: bytes(c, 0)?,
        ..SentAck::default()
    };
    while !c.is_at_line_end() && c.peek() != Some(Kind::Sign(';')) {
        if c.take_word("sack") {
            ack.reports = ranges(c, 1)?;
        } else if c.take_word("ece") {
            ack.ece = true;
        } else if matches!(c.peek(), Some(Kind::Number(_))) {
            ack.bytes = Some(bytes(c, 1)?);
        } else {
            return Err(c.fault("an acknowledgement that was sent has sack, ece, and a size such as 40B"));
        }
    }
    Ok(Does::SendsAck(Some(ack)))
}

/// `A SYN, B SYN+ACK, A 500`
fn says(c: &mut Cursor) -> Result<Does, Fault> {
    let mut words = Vec::new();
    while !c.is_at_line_end() && c.peek() != Some(Kind::Sign(';')) {
        if c.take_dots() {
            return Ok(Does::Says { words, and_more: true });
        }
        if c.take_word("nothing") {
            break;
        }
        let begin = c.begin();
        while !c.is_at_line_end() && !matches!(c.peek(), Some(Kind::Sign(',' | ';') | Kind::Dots)) {
            c.next();
        }
        words.push(c.text_since(begin));
        c.take_sign(',');
    }
    Ok(Does::Says { words, and_more: false })
}

fn check(c: &mut Cursor) -> Result<StateCheck, Fault> {
    let left = Expr::read_first(c)?;
    let operator = match c.next() {
        Some(Kind::Sign('=')) => "=",
        Some(Kind::Sign('<')) if c.take_sign('=') => "<=",
        Some(Kind::Sign('>')) if c.take_sign('=') => ">=",
        Some(Kind::Sign('!')) if c.take_sign('=') => "!=",
        Some(Kind::Sign('<')) => "<",
        Some(Kind::Sign('>')) => ">",
        _ => return Err(c.fault_before("write =, !=, <, <=, > or >= between a state and its value")),
    };
    let value = Expr::read(c)?;
    let tolerance = if !c.is_at_line_end() && c.take_sign('+') {
        c.expect_sign('-', "a tolerance is written `+- 0.1`")?;
        Some(Expr::read(c)?)
    } else {
        None
    };
    Ok(StateCheck {
        left,
        operator,
        value,
        tolerance,
    })
}

fn which(c: &mut Cursor) -> Result<Which, Fault> {
    for (word, found) in [
        ("syn", Which::Syn),
        ("fin", Which::Fin),
        ("all", Which::All),
        ("nothing", Which::Nothing),
    ] {
        if c.take_word(word) {
            return Ok(found);
        }
    }
    if c.take_word("ack") {
        return Ok(Which::Acks(numbers(c, 1)?));
    }
    Ok(Which::Data(numbers(c, 1)?))
}

/// A round trip, and the other properties of the path.
fn path(c: &mut Cursor) -> Result<PathStep, Fault> {
    let mut step = PathStep {
        round_trip: time(c)?,
        ..PathStep::default()
    };
    while !c.is_at_line_end() {
        if c.take_word("each") {
            step.each = time(c)?;
        } else if c.take_word("room") {
            step.room = Some(whole(c, 0)?);
        } else if c.take_word("bucket") {
            step.bucket = Some(whole(c, 1)?);
        } else if c.take_word("grid") {
            step.grid = time(c)?;
        } else if c.take_word("every") {
            step.every = whole(c, 1)?;
        } else {
            break;
        }
    }
    if step.each == 0 && (step.room.is_some() || step.bucket.is_some()) {
        return Err(c.fault_before("write how long the line takes for a segment: `path 40ms each 1ms room 20`"));
    }
    if step.room.is_some() && step.bucket.is_some() {
        return Err(c.fault_before("write `room` or `bucket`: in a bucket nothing waits"));
    }
    Ok(step)
}

/// A time such as `100ms`, in nanoseconds, in the line of the word before it.
fn time(c: &mut Cursor) -> Result<u64, Fault> {
    if c.is_at_line_end() {
        return Err(c.fault(NO_TIME));
    }
    time_anywhere(c)
}

fn time_anywhere(c: &mut Cursor) -> Result<u64, Fault> {
    let Some(Kind::Number(text)) = c.peek() else {
        return Err(c.fault(NO_TIME));
    };
    c.next();
    let unit = match c.peek() {
        Some(Kind::Word("s")) if c.touches() => 1e9,
        Some(Kind::Word("ms")) if c.touches() => 1e6,
        Some(Kind::Word("us")) if c.touches() => 1e3,
        _ => return Err(c.fault_before(NO_TIME)),
    };
    let ns = text.parse::<f64>().unwrap_or(f64::INFINITY) * unit;
    if ns > MOST_SECONDS as f64 * 1e9 {
        return Err(c.fault_before(format!("this time is too long; write at most {MOST_SECONDS}s")));
    }
    c.next();
    Ok(ns.round() as u64)
}

/// The bytes of a number of segments, or an amount of bytes such as `500B`.
fn bytes(c: &mut Cursor, least: u64) -> Result<u64, Fault> {
    let in_bytes = matches!(c.peek_second(), Some(Kind::Word("B")));
    if !in_bytes {
        return Ok(whole(c, least)? * PAYLOAD);
    }
    let bytes = c.whole(MOST_SEGMENTS * PAYLOAD, "a number of bytes")?;
    if !c.touches() {
        return Ok(bytes * PAYLOAD);
    }
    c.next();
    Ok(bytes)
}

fn whole(c: &mut Cursor, least: u64) -> Result<u64, Fault> {
    let text = match c.peek() {
        Some(Kind::Number(text)) if !c.is_at_line_end() => text,
        _ => return Err(c.fault(format!("write a whole number from {least} here"))),
    };
    match text.parse::<u64>() {
        Ok(n) if n > MOST_SEGMENTS => {
            Err(c.fault(format!("this is too many; write a whole number up to {MOST_SEGMENTS}")))
        }
        Ok(n) if n >= least => {
            c.next();
            Ok(n)
        }
        Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => {
            Err(c.fault(format!("this is too many; write a whole number up to {MOST_SEGMENTS}")))
        }
        _ => Err(c.fault(format!("write a whole number from {least} here"))),
    }
}

/// `nothing`, or numbers and ranges such as `1-10,12`.
fn numbers(c: &mut Cursor, least: u64) -> Result<Vec<u64>, Fault> {
    if c.take_word("nothing") {
        return Ok(Vec::new());
    }
    Ok(ranges(c, least)?
        .into_iter()
        .flat_map(|(first, last)| first..=last)
        .collect())
}

fn ranges(c: &mut Cursor, least: u64) -> Result<Vec<(u64, u64)>, Fault> {
    let mut ranges = Vec::new();
    loop {
        let low = whole(c, least)?;
        let high = if c.touches() && c.take_sign('-') {
            whole(c, least)?
        } else {
            low
        };
        if high < low {
            return Err(c.fault_before("this range ends before it begins"));
        }
        ranges.push((low, high));
        if !c.take_sign(',') {
            return Ok(ranges);
        }
    }
}
