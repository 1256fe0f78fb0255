//! Words of a dialogue. In a script of packetdrill, comments are `//` to the end of the line and `/* */`. In our own
//! language, comments are `#` to the end of the line. A line end is a blank like any other.

use crate::dialogues::Fault;

/// A word and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    pub line: u32,
    /// The place of the word's first byte, and one past the place of its last byte.
    pub span: (usize, usize),
    pub kind: Kind<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// `--name`, and the value after `=`.
    Option(&'a str, &'a str),
    /// Digits, with or without a point.
    Number(&'a str),
    Hex(&'a str),
    Word(&'a str),
    Quoted(&'a str),
    /// The text between backticks.
    Shell(&'a str),
    /// The text between `%{` and `}%`.
    Code(&'a str),
    Dots,
    Sign(char),
}

/// How comments are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comments {
    /// `//` and `/* */`
    Slashes,
    /// `#`
    Hash,
}

/// All words of a text.
pub fn words(text: &str, comments: Comments) -> Result<Vec<Token<'_>>, Fault> {
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        comments,
    };
    let mut tokens = Vec::new();
    while lexer.skip()? {
        let (line, begin) = (lexer.line, lexer.at);
        let kind = lexer.next()?;
        let span = (begin, lexer.at);
        tokens.push(Token { line, span, kind });
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    comments: Comments,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fault(&self, word: &str, what: &str) -> Fault {
        Fault::new(self.line, word, what)
    }

    fn pass(&mut self, bytes: usize) -> &'a str {
        let passed = &self.text[self.at..self.at + bytes];
        self.line += passed.matches('\n').count() as u32;
        self.at += bytes;
        passed
    }

    /// Skip blanks and comments. Returns whether anything is left.
    fn skip(&mut self) -> Result<bool, Fault> {
        loop {
            let remaining = self.rest();
            let blank = remaining.len() - remaining.trim_start().len();
            let slashes = self.comments == Comments::Slashes;
            if blank > 0 {
                self.pass(blank);
            } else if remaining.starts_with(if slashes { "//" } else { "#" }) {
                self.pass(remaining.find('\n').unwrap_or(remaining.len()));
            } else if slashes && remaining.starts_with("/*") {
                let end = remaining.find("*/");
                let end = end.ok_or_else(|| self.fault("/*", "this comment has no end; write */ after it"))?;
                self.pass(end + 2);
            } else {
                return Ok(!remaining.is_empty());
            }
        }
    }

    fn next(&mut self) -> Result<Kind<'a>, Fault> {
        let remaining = self.rest();
        let first_char = remaining.chars().next().unwrap_or(' ');
        if remaining.starts_with("--") && remaining[2..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.option();
        }
        if remaining.starts_with("...") {
            self.pass(3);
            return Ok(Kind::Dots);
        }
        if let Some(hex) = remaining.strip_prefix("0x") {
            let digits = hex.len() - hex.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
            return Ok(Kind::Hex(&self.pass(2 + digits)[2..]));
        }
        if first_char.is_ascii_digit()
            || (first_char == '.' && remaining[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            return Ok(self.number());
        }
        if first_char.is_ascii_alphabetic() || first_char == '_' {
            let end = remaining.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            return Ok(Kind::Word(self.pass(end.unwrap_or(remaining.len()))));
        }
        match first_char {
            '`' => Ok(Kind::Shell(self.between("`", "`", "backtick")?)),
            '"' => Ok(Kind::Quoted(self.between("\"", "\"", "quotation mark")?)),
            '%' if remaining.starts_with("%{") => Ok(Kind::Code(self.between("%{", "}%", "}%")?)),
            sign => {
                self.pass(sign.len_utf8());
                Ok(Kind::Sign(sign))
            }
        }
    }

    /// A number ends after its digits. The text `1a` is refused by the code that reads the number.
    fn number(&mut self) -> Kind<'a> {
        let remaining = self.rest();
        let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let whole_digits = digits(remaining);
        let fraction = remaining[whole_digits..].strip_prefix('.').map_or(0, digits);
        let length = if fraction > 0 {
            whole_digits + 1 + fraction
        } else {
            whole_digits
        };
        Kind::Number(self.pass(length))
    }

    fn option(&mut self) -> Result<Kind<'a>, Fault> {
        let remaining = self.rest();
        let end = remaining[2..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let name = &self.pass(end.map_or(remaining.len(), |n| n + 2))[2..];
        let Some(value) = self.rest().strip_prefix('=') else {
            return Ok(Kind::Option(name, ""));
        };
        let value = if value.starts_with('"') {
            self.pass(1);
            self.between("\"", "\"", "quotation mark")?
        } else {
            self.pass(1);
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            self.pass(end)
        };
        Ok(Kind::Option(name, value))
    }

    /// The text between two marks. A backslash makes the next character literal.
    fn between(&mut self, open: &str, close: &str, called: &str) -> Result<&'a str, Fault> {
        let rest = self.rest();
        let inside = &rest[open.len()..];
        let mut search_start = 0;
        let end = loop {
            let Some(close_at) = inside[search_start..].find(close).map(|n| search_start + n) else {
                return Err(self.fault(open, &format!("this has no end; write the closing {called} after it")));
            };
            let escaped = inside[..close_at].len() - inside[..close_at].trim_end_matches('\\').len();
            if close.len() > 1 || escaped.is_multiple_of(2) {
                break close_at;
            }
            search_start = close_at + 1;
        };
        self.pass(open.len() + end + close.len());
        Ok(&inside[..end])
    }
}
