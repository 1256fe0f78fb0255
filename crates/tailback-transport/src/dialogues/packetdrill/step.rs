//! A step: its time, and its event.

use super::script::{Step, What, When};
use super::{call, code, commands, packet};
use crate::dialogues::Fault;
use crate::dialogues::cursor::Cursor;
use crate::dialogues::lex::Kind;

/// The next step.
pub fn read(c: &mut Cursor) -> Result<Step, Fault> {
    let (line, begin) = (c.line(), c.begin());
    let when = time(c)?;
    let what_begins = c.begin();
    let (when, returns) = match when {
        // `0.1...0.2`: a call that blocks.
        Some(When::At { from, .. }) if c.take_dots() => (Some(When::At { from, to: from }), Some(c.time()?)),
        Some(When::After { from, .. }) if c.take_dots() => {
            c.take_sign('+');
            (Some(When::After { from, to: from }), Some(c.time()?))
        }
        other => (other, None),
    };
    let what = what(c, when.is_some(), returns)?;
    if returns.is_some() && !matches!(what, What::Call(_)) {
        return Err(Fault::new(
            line,
            &c.text_since(what_begins),
            "only a system call lasts from one time to another",
        ));
    }
    Ok(Step {
        line,
        when: when.unwrap_or(When::Any),
        what,
        text: c.text_since(begin),
    })
}

/// The time, if one is written.
fn time(c: &mut Cursor) -> Result<Option<When>, Fault> {
    if c.take_sign('*') {
        return Ok(Some(When::Any));
    }
    let relative = c.take_sign('+');
    if !relative && !matches!(c.peek(), Some(Kind::Number(_))) {
        return Ok(None);
    }
    let from = c.time()?;
    let to = if c.take_sign('~') {
        if relative {
            c.expect_sign(
                '+',
                "the second time of a range counts from the step before, as the first does",
            )?;
        }
        let to = c.time()?;
        if to < from {
            return Err(c.fault_before("this range ends before it begins"));
        }
        to
    } else {
        from
    };
    Ok(Some(if relative {
        When::After { from, to }
    } else {
        When::At { from, to }
    }))
}

fn what(c: &mut Cursor, timed: bool, returns: Option<u64>) -> Result<What, Fault> {
    match c.peek() {
        Some(Kind::Shell(text)) => {
            let line = c.line();
            c.next();
            Ok(What::Commands(commands::read(text, line)?))
        }
        _ if !timed => Err(c.fault(
            "a step begins with its time: `0.1`, `+0.1`, `0.1~0.2` or `*`; option lines such as --tolerance_usecs \
             stand above the first step",
        )),
        Some(Kind::Code(text)) => {
            let line = c.line();
            c.next();
            Ok(What::Code(code::read(text, line)?))
        }
        Some(Kind::Sign('<')) => {
            c.next();
            Ok(What::Arrives(packet::read(c, packet::Way::In)?))
        }
        Some(Kind::Sign('>')) => {
            c.next();
            Ok(What::Sends(packet::read(c, packet::Way::Out)?))
        }
        Some(Kind::Word(_)) => Ok(What::Call(call::read(c, returns)?)),
        _ => Err(c.fault("write a segment (`<` or `>`), a system call, `commands` or %{ code }% after the time")),
    }
}
