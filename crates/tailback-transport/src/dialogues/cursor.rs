//! Reads one word after another, and makes the error messages about words that do not fit.

use super::lex::{Kind, Token};
use super::packetdrill::{MOST_NESTED, MOST_SECONDS};
use crate::dialogues::Fault;

/// A place in the words of a script.
pub struct Cursor<'a> {
    text: &'a str,
    words: &'a [Token<'a>],
    at: usize,
    depth: u32,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str, words: &'a [Token<'a>]) -> Cursor<'a> {
        Cursor {
            text,
            words,
            at: 0,
            depth: 0,
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.words.len()
    }

    pub fn peek(&self) -> Option<Kind<'a>> {
        self.words.get(self.at).map(|t| t.kind)
    }

    pub fn peek_after(&self, words: usize) -> Option<Kind<'a>> {
        self.words.get(self.at + words).map(|t| t.kind)
    }

    pub fn next(&mut self) -> Option<Kind<'a>> {
        let kind = self.peek();
        self.at += usize::from(kind.is_some());
        kind
    }

    /// The line of the next word, or of the last one.
    pub fn line(&self) -> u32 {
        self.words.get(self.at).or(self.words.last()).map_or(1, |t| t.line)
    }

    /// Where the next word begins.
    pub fn begin(&self) -> usize {
        self.words.get(self.at).map_or(self.text.len(), |t| t.span.0)
    }

    /// The text from `begin` up to the last word taken, with one blank for each run of blanks.
    pub fn text_since(&self, begin: usize) -> String {
        let end = self.words[..self.at].last().map_or(begin, |t| t.span.1);
        let lines = self.text[begin..end.max(begin)].lines();
        let without_comments = lines.map(|l| l.find("//").map_or(l, |n| &l[..n]));
        without_comments
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// A message about the next word.
    pub fn fault(&self, what: impl Into<String>) -> Fault {
        let word = self.words.get(self.at).map_or("", |t| &self.text[t.span.0..t.span.1]);
        Fault::new(self.line(), word, what)
    }

    /// A message about the word just taken.
    pub fn fault_before(&self, what: impl Into<String>) -> Fault {
        let Some(last_taken) = self.at.checked_sub(1).and_then(|n| self.words.get(n)) else {
            return self.fault(what);
        };
        Fault::new(last_taken.line, &self.text[last_taken.span.0..last_taken.span.1], what)
    }

    pub fn take_option(&mut self) -> Option<(u32, &'a str, &'a str)> {
        let Some(Kind::Option(name, value)) = self.peek() else {
            return None;
        };
        let line = self.line();
        self.next();
        Some((line, name, value))
    }

    /// Whether the next word is on a later line than the last one taken.
    pub fn is_at_line_end(&self) -> bool {
        let taken = self.at.checked_sub(1).and_then(|n| self.words.get(n));
        let (Some(next), Some(taken)) = (self.words.get(self.at), taken) else {
            return self.is_at_end();
        };
        next.line > taken.line
    }

    /// The word after the next one, if it is on the same line.
    pub fn peek_second(&self) -> Option<Kind<'a>> {
        let (next, second) = (self.words.get(self.at)?, self.words.get(self.at + 1)?);
        (next.line == second.line).then_some(second.kind)
    }

    /// Whether there is no gap between the last word taken and the next one.
    pub fn touches(&self) -> bool {
        let taken = self.at.checked_sub(1).and_then(|n| self.words.get(n));
        matches!((self.words.get(self.at), taken), (Some(next), Some(taken)) if next.span.0 == taken.span.1)
    }

    pub fn take_sign(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(Kind::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    pub fn take_dots(&mut self) -> bool {
        let is_next = self.peek() == Some(Kind::Dots);
        self.at += usize::from(is_next);
        is_next
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(Kind::Word(word));
        self.at += usize::from(is_next);
        is_next
    }

    pub fn expect_sign(&mut self, sign: char, of: &str) -> Result<(), Fault> {
        if self.take_sign(sign) {
            return Ok(());
        }
        Err(self.fault(format!("write `{sign}` here: {of}")))
    }

    /// A whole number up to `most`.
    pub fn whole(&mut self, most: u64, of: &str) -> Result<u64, Fault> {
        let value = match self.peek() {
            Some(Kind::Number(digits)) => digits.parse::<u64>().ok(),
            Some(Kind::Hex(digits)) => u64::from_str_radix(digits, 16).ok(),
            _ => return Err(self.fault(format!("write a whole number here: {of}"))),
        };
        match value.filter(|&v| v <= most) {
            Some(value) => {
                self.next();
                Ok(value)
            }
            None => Err(self.fault(format!("{of} is a whole number from 0 to {most}"))),
        }
    }

    pub fn whole_u32(&mut self, of: &str) -> Result<u32, Fault> {
        Ok(self.whole(u64::from(u32::MAX), of)? as u32)
    }

    pub fn whole_u16(&mut self, of: &str) -> Result<u32, Fault> {
        Ok(self.whole(u64::from(u16::MAX), of)? as u32)
    }

    /// A number of seconds, as nanoseconds.
    pub fn time(&mut self) -> Result<u64, Fault> {
        let Some(Kind::Number(text)) = self.peek() else {
            return Err(self.fault("write a time here, in seconds, such as 0.1"));
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let seconds = if whole.is_empty() { Ok(0) } else { whole.parse::<u64>() };
        let seconds = seconds.ok().filter(|&s| s <= MOST_SECONDS);
        let Some(seconds) = seconds else {
            return Err(self.fault(format!("a time is at most {MOST_SECONDS} s")));
        };
        let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
        let nanoseconds = digits.fold(0, |sum, d| 10 * sum + u64::from(d - b'0'));
        self.next();
        Ok(seconds * 1_000_000_000 + nanoseconds)
    }

    /// Read the text inside brackets or operands, unless it is nested too deep.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= MOST_NESTED {
            return Err(self.fault(format!("more than {MOST_NESTED} brackets are nested")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
}
