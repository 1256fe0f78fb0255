//! The error of a text that cannot be read: the line, the word, and the text to write instead.

use std::fmt;

/// The largest number of characters of a word that a message shows.
const SHOWN: usize = 60;

/// A text that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The line, from 1.
    pub line: u32,
    /// The word at which reading ended, shortened. It is empty at the end of the text.
    pub word: String,
    /// The error and its remedy.
    pub what: String,
}

impl Fault {
    pub fn new(line: u32, word: &str, what: impl Into<String>) -> Fault {
        Fault {
            line,
            word: shown(word),
            what: what.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.word.is_empty() {
            write!(f, "line {}: {}", self.line, self.what)
        } else {
            write!(f, "line {}, `{}`: {}", self.line, self.word, self.what)
        }
    }
}

impl std::error::Error for Fault {}

/// A word in the form of a message: on one line, without control characters, and not too long.
fn shown(word: &str) -> String {
    let mut clean: String = word
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN + 1)
        .collect();
    if clean.chars().count() > SHOWN {
        clean = clean.chars().take(SHOWN - 1).chain(['…']).collect();
    }
    clean.trim().to_string()
}
