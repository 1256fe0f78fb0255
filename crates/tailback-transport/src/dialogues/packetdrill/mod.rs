//! The reader of packetdrill's scripts, which turns text into a [`Script`].
//!
//! Source: Cardwell et al., "packetdrill: scriptable network stack testing", USENIX ATC 2013. The language is the one
//! that the scripts of google/packetdrill, nplab/packetdrill and Linux use. A script consists of option lines, followed
//! by steps. Each step has a time and a segment, a system call, commands in backticks, or a block of code.
//!
//! Nothing of a script is run. Commands are read as settings (`commands`), and code as assertions (`code`). Some
//! features are not supported, and a message refuses each one by name: packets that are not TCP over IP, headers around
//! packets, TCP options other than those of [`TcpOption`], loops and imports of Python, and other programs.
//!
//! Each kind of step has a file. Words are read as in all dialogues. A text of n bytes costs O(n), and [`MOST_NESTED`]
//! bounds the depth of nesting.

mod call;
mod code;
mod commands;
mod packet;
mod script;
mod step;

pub use script::*;

use super::Fault;
use super::cursor::Cursor;
use super::lex::{self, Comments};

/// The largest depth to which brackets and operators may be nested.
pub const MOST_NESTED: u32 = 24;
/// The latest time of a step, s.
pub const MOST_SECONDS: u64 = 100_000;
/// The longest text, bytes.
pub const MOST_BYTES: usize = 4 << 20;

/// Read a script.
///
/// # Errors
/// The first line and word that cannot be read.
pub fn read(text: &[u8]) -> Result<Script, Fault> {
    let text = as_text(text)?;
    let words = lex::words(text, Comments::Slashes)?;
    let mut cursor = Cursor::new(text, &words);
    let mut script = Script::default();
    while let Some((line, name, value)) = cursor.take_option() {
        script.options.push(OptionLine {
            line,
            name: name.to_string(),
            value: value.to_string(),
        });
    }
    while !cursor.is_at_end() {
        script.steps.push(step::read(&mut cursor)?);
    }
    if script.steps.is_empty() {
        return Err(cursor.fault("there is no step; write one, such as `0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3`"));
    }
    Ok(script)
}

/// Read a file of commands, such as the `defaults.sh` that scripts include.
///
/// # Errors
/// The first line and word that is no setting.
pub fn read_commands(text: &[u8]) -> Result<Vec<Command>, Fault> {
    commands::read(as_text(text)?, 1)
}

fn as_text(bytes: &[u8]) -> Result<&str, Fault> {
    if bytes.len() > MOST_BYTES {
        return Err(Fault::new(
            1,
            "",
            format!("the file has {} bytes; at most {MOST_BYTES} are read", bytes.len()),
        ));
    }
    str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count() as u32;
        let byte = bytes.get(e.valid_up_to()).copied().unwrap_or_default();
        Fault::new(
            line,
            &format!("\\x{byte:02x}"),
            "this byte is not UTF-8; save the file as UTF-8",
        )
    })
}

#[cfg(test)]
mod tests;
