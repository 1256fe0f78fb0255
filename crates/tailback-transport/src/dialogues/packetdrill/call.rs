//! A system call: `write(4, ..., 1000) = 1000`, `connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)`.

use super::script::{Call, CallValue};
use crate::dialogues::Fault;
use crate::dialogues::cursor::Cursor;
use crate::dialogues::lex::Kind;

/// The call at this place.
pub fn read(c: &mut Cursor, returns: Option<u64>) -> Result<Call, Fault> {
    let Some(Kind::Word(name)) = c.next() else {
        return Err(c.fault_before("write the name of a system call"));
    };
    if !c.take_sign('(') {
        return Err(c.fault_before("this is no step; a system call is written name(arguments) = result"));
    }
    let arguments = list(c, ')')?;
    c.expect_sign('=', "a system call has a result, such as `= 0`")?;
    let result = value(c)?;
    let error = match c.peek() {
        Some(Kind::Word(error)) => {
            c.next();
            Some(error.to_string())
        }
        _ => None,
    };
    // A bracket that explains the error, or the flags of a number, is skipped.
    if c.take_sign('(') {
        while !c.take_sign(')') {
            if c.next().is_none() {
                return Err(c.fault("the bracket after the result is not closed"));
            }
        }
    }
    Ok(Call {
        name: name.to_string(),
        arguments,
        result,
        error,
        returns,
    })
}

/// Values up to a closing bracket.
fn list(c: &mut Cursor, close: char) -> Result<Vec<CallValue>, Fault> {
    let mut values = Vec::new();
    if c.take_sign(close) {
        return Ok(values);
    }
    loop {
        values.push(c.nested(value)?);
        if c.take_sign(close) {
            return Ok(values);
        }
        c.expect_sign(',', &format!("between two values, and `{close}` after the last one"))?;
    }
}

fn value(c: &mut Cursor) -> Result<CallValue, Fault> {
    Ok(match c.peek() {
        Some(Kind::Dots) => {
            c.next();
            CallValue::Any
        }
        Some(Kind::Quoted(text)) => {
            c.next();
            CallValue::Text(text.to_string())
        }
        Some(Kind::Sign('-')) => {
            c.next();
            CallValue::Whole(-whole(c)?)
        }
        Some(Kind::Number(_) | Kind::Hex(_)) => CallValue::Whole(whole(c)?),
        Some(Kind::Sign('[')) => {
            c.next();
            CallValue::List(list(c, ']')?)
        }
        Some(Kind::Sign('{')) => {
            c.next();
            CallValue::Fields(fields(c)?)
        }
        Some(Kind::Word(name)) => {
            c.next();
            names(c, name)?
        }
        _ => return Err(c.fault("write a value here: a number, a name, `...`, [list] or {name=value}")),
    })
}

fn whole(c: &mut Cursor) -> Result<i64, Fault> {
    Ok(c.whole(i64::MAX as u64, "a number of a call")? as i64)
}

/// A constant, constants with `|` between them, or a function call such as `htons(8080)`.
fn names(c: &mut Cursor, first: &str) -> Result<CallValue, Fault> {
    if c.take_sign('(') {
        return Ok(CallValue::Made(first.to_string(), list(c, ')')?));
    }
    let mut names = vec![first.to_string()];
    while c.take_sign('|') {
        match c.next() {
            Some(Kind::Word(name)) => names.push(name.to_string()),
            Some(Kind::Number(digits)) => names.push(digits.to_string()),
            _ => return Err(c.fault_before("write a name after `|`")),
        }
    }
    Ok(CallValue::Names(names))
}

fn fields(c: &mut Cursor) -> Result<Vec<(String, CallValue)>, Fault> {
    let mut fields = Vec::new();
    if c.take_sign('}') {
        return Ok(fields);
    }
    loop {
        let mut name = String::new();
        if let Some(Kind::Word(word)) = c.peek() {
            match c.peek_after(1) {
                Some(Kind::Sign('=')) => {
                    name = word.to_string();
                    c.next();
                    c.next();
                }
                // `msg_iov(1)=[...]`
                Some(Kind::Sign('(')) if c.peek_after(4) == Some(Kind::Sign('=')) => {
                    name = word.to_string();
                    (0..5).for_each(|_| _ = c.next());
                }
                _ => {}
            }
        }
        fields.push((name, c.nested(value)?));
        if c.take_sign('}') {
            return Ok(fields);
        }
        c.expect_sign(',', "between two fields, and `}` after the last one")?;
    }
}
