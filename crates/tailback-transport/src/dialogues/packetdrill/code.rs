//! A block of code: `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`.
//!
//! packetdrill hands such a block to Python. Here the block is read as statements about whole numbers. The statements
//! are `assert`, `print`, `name = value` and `name += value`. Their expressions may have comparisons, sums, products,
//! bit operators, `and`, `or`, `not` and brackets. Anything else of Python is refused. The message of an assertion,
//! after its comma, is skipped.

use super::MOST_NESTED;
use super::script::{Expr, Statement};
use crate::dialogues::Fault;

/// The statements of a block that begins in this line.
pub fn read(text: &str, line: u32) -> Result<Vec<Statement>, Fault> {
    let mut parsed = Vec::new();
    for (line, words) in statements(text, line)? {
        let mut reader = Reader {
            line,
            words: &words,
            at: 0,
            depth: 0,
        };
        parsed.push(reader.statement()?);
    }
    Ok(parsed)
}

/// The words of each statement. A statement ends at a line end or a semicolon outside of brackets.
fn statements(text: &str, first: u32) -> Result<Vec<(u32, Vec<&str>)>, Fault> {
    let (mut finished, mut words, mut open_brackets) = (Vec::new(), Vec::new(), 0u32);
    let (mut line, mut begun, mut remaining) = (first, first, text);
    let mut end = |words: &mut Vec<_>, begun| {
        if !words.is_empty() {
            finished.push((begun, std::mem::take(words)));
        }
    };
    loop {
        remaining = remaining.trim_start_matches([' ', '\t', '\r']);
        let Some(c) = remaining.chars().next() else { break };
        let length = match c {
            '\n' | ';' if open_brackets == 0 => {
                end(&mut words, begun);
                1
            }
            '\n' => 1,
            '\\' if remaining[1..].trim_start_matches([' ', '\r']).starts_with('\n') => {
                remaining.find('\n').map_or(remaining.len(), |n| n + 1)
            }
            '#' => remaining.find('\n').unwrap_or(remaining.len()),
            _ => {
                let length = word(remaining, line)?;
                if words.is_empty() {
                    begun = line;
                }
                match c {
                    '(' => open_brackets += 1,
                    ')' => open_brackets = open_brackets.saturating_sub(1),
                    _ => {}
                }
                words.push(&remaining[..length]);
                length
            }
        };
        line += remaining[..length].matches('\n').count() as u32;
        remaining = &remaining[length..];
    }
    end(&mut words, begun);
    Ok(finished)
}

/// The number of bytes of the first word.
fn word(rest: &str, line: u32) -> Result<usize, Fault> {
    let first_char = rest.chars().next().unwrap_or(' ');
    if first_char.is_ascii_alphanumeric() || first_char == '_' {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        return Ok(end.unwrap_or(rest.len()));
    }
    if first_char == '\'' || first_char == '"' {
        let end = rest[1..]
            .find([first_char, '\n'])
            .filter(|&n| rest[1 + n..].starts_with(first_char));
        return end.map(|n| n + 2).ok_or_else(|| {
            Fault::new(
                line,
                &rest[..1],
                "this text has no end; write the closing quotation mark",
            )
        });
    }
    let two_characters = ["==", "!=", "<=", ">=", "+=", "-=", "*=", "//", "<<", ">>", "**"];
    Ok(two_characters
        .iter()
        .find(|t| rest.starts_with(**t))
        .map_or(first_char.len_utf8(), |t| t.len()))
}

struct Reader<'a> {
    line: u32,
    words: &'a [&'a str],
    at: usize,
    depth: u32,
}

/// Binary operators by precedence, the lowest first. The precedence of comparisons is between that of the operators
/// that are words and that of the operators on bits.
const WORDS: [&str; 2] = ["or", "and"];
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
const BITS_AND_SUMS: [&[&str]; 5] = [&["|"], &["^"], &["&"], &["+", "-"], &["*", "//", "/", "%"]];

impl<'a> Reader<'a> {
    fn peek(&self) -> &'a str {
        self.words.get(self.at).copied().unwrap_or("")
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == word;
        self.at += usize::from(is_next);
        is_next
    }

    fn fault(&self, what: &str) -> Fault {
        Fault::new(self.line, self.peek(), what)
    }

    fn statement(&mut self) -> Result<Statement, Fault> {
        let first_word = self.peek();
        if self.take("assert") {
            let holds = self.nested(0)?;
            // The message.
            if self.peek() != "," && self.at < self.words.len() {
                return Err(self.fault("an assertion is a comparison, a comma and a message"));
            }
            let text = self.words[1..self.at].join(" ");
            let line = self.line;
            return Ok(Statement::Assert { line, text, holds });
        }
        if self.words.len() > 1 && self.words[1] == "(" && first_word == "print" {
            return Ok(Statement::Print);
        }
        let operator = self.words.get(1).copied().unwrap_or("");
        if is_name(first_word) && matches!(operator, "=" | "+=" | "-=" | "*=") {
            self.at = 2;
            let mut value = self.nested(0)?;
            if self.at < self.words.len() {
                return Err(self.fault("nothing may follow the value of a name"));
            }
            if let Some(operator) = ["+", "-", "*"].into_iter().find(|o| operator.starts_with(*o)) {
                value = Expr::Two(operator, Box::new(Expr::Name(first_word.into())), Box::new(value));
            }
            let (line, name) = (self.line, first_word.to_string());
            return Ok(Statement::Let { line, name, value });
        }
        Err(self.fault("no Python is run: a block may only have assertions, `name = value` and print(...)"))
    }

    /// Read operators of this level and of all levels that bind more closely.
    fn nested(&mut self, level: usize) -> Result<Expr, Fault> {
        self.depth += 1;
        // Each bracket adds one level for each level of operators.
        if self.depth > 10 * MOST_NESTED {
            return Err(self.fault(&format!("more than {MOST_NESTED} brackets are nested")));
        }
        let read = self.level(level);
        self.depth -= 1;
        read
    }

    fn level(&mut self, level: usize) -> Result<Expr, Fault> {
        match level {
            0 | 1 => self.chain(&[WORDS[level]], level),
            2 if self.take("not") => Ok(Expr::One("not", Box::new(self.nested(2)?))),
            2 => self.comparison(),
            n => match BITS_AND_SUMS.get(n - 3) {
                Some(operators) => self.chain(operators, level),
                None => self.operand(),
            },
        }
    }

    fn chain(&mut self, operators: &[&'static str], level: usize) -> Result<Expr, Fault> {
        let mut expression = self.nested(level + 1)?;
        // A chain of operators becomes a tree that is as deep as the chain is long.
        let mut length = 0;
        while let Some(operator) = operators.iter().find(|o| self.peek() == **o) {
            self.at += 1;
            length += 1;
            if length > MOST_NESTED {
                return Err(self.fault("this sum is too long"));
            }
            expression = Expr::Two(operator, Box::new(expression), Box::new(self.nested(level + 1)?));
        }
        Ok(expression)
    }

    fn comparison(&mut self) -> Result<Expr, Fault> {
        let first_operand = self.nested(3)?;
        let mut comparisons = Vec::new();
        while let Some(operator) = COMPARISONS.iter().find(|o| self.peek() == **o) {
            self.at += 1;
            comparisons.push((*operator, self.nested(3)?));
        }
        Ok(if comparisons.is_empty() {
            first_operand
        } else {
            Expr::Compare(Box::new(first_operand), comparisons)
        })
    }

    fn operand(&mut self) -> Result<Expr, Fault> {
        let word = self.peek();
        for sign in ["-", "~"] {
            if self.take(sign) {
                return Ok(Expr::One(sign, Box::new(self.nested(BITS_AND_SUMS.len() + 3)?)));
            }
        }
        if self.take("(") {
            let inside = self.nested(0)?;
            if !self.take(")") {
                return Err(self.fault("write `)` here"));
            }
            return Ok(inside);
        }
        let whole = match word.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        };
        let expression = match (word, whole) {
            ("True", _) => Expr::Whole(1),
            ("False", _) => Expr::Whole(0),
            (_, Some(whole)) => Expr::Whole(whole),
            (name, None) if is_name(name) => Expr::Name(name.to_string()),
            _ => return Err(self.fault("write a whole number, a name or a bracket here")),
        };
        self.at += 1;
        if self.peek() == "(" || self.peek() == "[" {
            return Err(self.fault("no Python is run: a block has no calls except print(...)"));
        }
        Ok(expression)
    }
}

/// Words of Python that cannot be names.
const KEYWORDS: [&str; 16] = [
    "if", "else", "for", "while", "import", "from", "def", "class", "lambda", "return", "in", "is", "and", "or", "not",
    "assert",
];

fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.contains(&word)
}
