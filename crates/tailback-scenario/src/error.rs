//! Errors of a scenario, in the form that a good compiler uses: place, problem, and remedy.
//!
//! ```text
//! error: the rate "0Mbps" is not above zero
//!   --> lab.toml:4:8, link.bottleneck.rate
//!    |
//!  4 | rate = "0Mbps"
//!    |        ^^^^^^^
//!    = allowed: a rate such as "500Mbps", at least 1bps
//!    = help: give at least 1 bps
//! ```
//!
//! Messages are plain text and safe for any input: columns count characters, long lines are cut around the place, and
//! control characters are not passed on to the terminal.

use std::fmt;

/// The place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// JSON, or the scenario as a whole.
    Nowhere,
    /// Bytes of the text.
    Text(usize, usize),
    /// The `--set` argument with this index.
    Argument(usize),
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The sort of problem, for programs: `unknown-key`, `value`, `missing`, `unreachable`, `duplicate`, `syntax`,
    /// `file`, `name`, `empty`, `limit`, `conflict`, `override`.
    pub code: &'static str,
    pub at: At,
    /// The path of the key, such as `link.bottleneck.rate`; empty when the problem has none.
    pub key: String,
    /// The offending value as the user wrote it; empty if no value is at fault.
    pub value: String,
    /// One sentence on the problem.
    pub problem: String,
    /// The values allowed here; empty if a list of them gives no information.
    pub allowed: String,
    /// The known name nearest to an unknown one.
    pub nearest: Option<String>,
    /// The remedy. It is never empty.
    pub remedy: String,
    /// Filled in when the document is at hand.
    pub place: TextPlace,
}

/// The place in the file, for people. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPlace {
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// The line, cut around the place if long.
    pub source: String,
    /// The position of the first caret below `source`, and the number of carets.
    pub caret: (usize, usize),
    /// The `--set` argument, if the value came from one.
    pub argument: Option<String>,
}

impl Problem {
    pub fn new(
        code: &'static str,
        at: At,
        key: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Problem {
        Problem {
            code,
            at,
            key: shorten(key, 200),
            value: String::new(),
            problem: problem.into(),
            allowed: String::new(),
            nearest: None,
            remedy: remedy.into(),
            place: TextPlace::default(),
        }
    }

    pub fn value(mut self, value: impl Into<String>) -> Problem {
        self.value = value.into();
        self
    }

    pub fn allowed(mut self, allowed: impl Into<String>) -> Problem {
        self.allowed = allowed.into();
        self
    }

    pub fn nearest(mut self, name: Option<&str>) -> Problem {
        self.nearest = name.map(str::to_string);
        self
    }

    /// Find line and column in the document's text.
    pub fn locate(&mut self, text: &str, arguments: &[String]) {
        match self.at {
            At::Nowhere => {}
            At::Argument(i) => self.place.argument = arguments.get(i).map(|a| shorten(a, 200)),
            At::Text(start, end) => self.place = place(text, start, end),
        }
    }
}

/// Why a scenario cannot be run: at least one problem, in the order of the file.
#[derive(Clone, Debug)]
pub struct ScenarioError {
    pub file: String,
    /// Never empty.
    pub problems: Vec<Problem>,
    /// The number of problems beyond those in `problems`.
    pub more: usize,
}

/// The largest number of problems that are shown.
pub const SHOWN: usize = 12;

impl ScenarioError {
    /// The problems of a text, with their places looked up, in the order of the text.
    pub fn in_text(file: &str, text: &str, arguments: &[String], mut problems: Vec<Problem>) -> ScenarioError {
        let order = |p: &Problem| match p.at {
            At::Text(start, _) => (0, start),
            At::Argument(i) => (1, i),
            At::Nowhere => (2, 0),
        };
        leave_out_what_follows(&mut problems);
        problems.sort_by_key(order);
        let left_out = problems.len().saturating_sub(SHOWN);
        problems.truncate(SHOWN);
        for p in &mut problems {
            p.locate(text, arguments);
        }
        ScenarioError {
            file: file.to_string(),
            problems,
            more: left_out,
        }
    }

    /// The first problem.
    pub fn first(&self) -> &Problem {
        &self.problems[0]
    }
}

/// A misspelt key may leave out a key or cause a contradiction. Such problems follow from the misspelt key and are not
/// reported in addition.
fn leave_out_what_follows(problems: &mut Vec<Problem>) {
    let table_of = |key: &str| {
        key.rsplit_once('.')
            .map_or(String::new(), |(table, _)| table.to_string())
    };
    let misspelt: Vec<String> = problems
        .iter()
        .filter(|p| p.code == "unknown-key" && p.nearest.is_some())
        .map(|p| table_of(&p.key))
        .collect();
    problems.retain(|p| !(matches!(p.code, "missing" | "conflict") && misspelt.contains(&table_of(&p.key))));
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, p) in self.problems.iter().enumerate() {
            if i > 0 {
                write!(f, "\n\n")?;
            }
            render(f, &self.file, p)?;
        }
        match self.more {
            0 => Ok(()),
            1 => write!(f, "\n\nand one more problem"),
            n => write!(f, "\n\nand {n} more problems"),
        }
    }
}

/// A warning about a setting that is allowed and looks like a mistake: its subject, what it is, and its line.
pub fn warning(file: &str, text: &str, arguments: &[String], about: &str, at: At, problem: &str) -> String {
    let mut p = Problem::new("warning", at, "", problem, "");
    p.locate(text, arguments);
    let message = format!("{}: {}", clean(about), clean(problem));
    match (&p.place.argument, p.place.line) {
        (None, None) => message,
        _ => format!("{message}{}", Where(file, &p)),
    }
}

/// The place of a problem, and its line with carets below.
struct Where<'a>(&'a str, &'a Problem);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        render_place(f, self.0, self.1).map(|_| ())
    }
}

fn render(f: &mut fmt::Formatter, file: &str, p: &Problem) -> fmt::Result {
    write!(f, "error: {}", clean(&p.problem))?;
    let gutter = render_place(f, file, p)?;
    if !p.allowed.is_empty() && !p.remedy.contains(&p.allowed) {
        write!(f, "\n{gutter} = allowed: {}", p.allowed)?;
    }
    // A remedy may be an example of several lines.
    let remedy: Vec<String> = p.remedy.lines().map(clean).collect();
    write!(f, "\n{gutter} = help: {}", remedy.join("\n"))
}

/// The place and its line. Returns the blanks with which further lines begin.
fn render_place(f: &mut fmt::Formatter, file: &str, p: &Problem) -> Result<String, fmt::Error> {
    let file = clean(file);
    let mut place = match (&p.place.argument, p.place.line, p.place.column) {
        (Some(argument), ..) => format!("--set {} ({file})", clean(&shorten(argument, 200))),
        (None, Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        _ => file,
    };
    if !p.key.is_empty() {
        place.push_str(&format!(", {}", clean(&p.key)));
    }
    let line_number = p.place.line.map(|l| l.to_string()).unwrap_or_default();
    let gutter = " ".repeat(line_number.len() + 1);
    write!(f, "\n{gutter}--> {place}")?;
    if p.place.line.is_some() {
        let (from, width) = p.place.caret;
        write!(
            f,
            "\n{gutter} |\n {line_number} | {}\n{gutter} | {}{}",
            p.place.source,
            " ".repeat(from),
            "^".repeat(width)
        )?;
    } else if !p.value.is_empty() && p.place.argument.is_none() {
        write!(f, "\n{gutter} = value: {}", clean(&p.value))?;
    }
    Ok(gutter)
}

/// The number of characters of a long line that are shown.
const WIDTH: usize = 110;

/// Line, column and the cut of the line for a range of bytes. Any numbers are safe.
fn place(text: &str, start: usize, end: usize) -> TextPlace {
    let mut start = start.min(text.len());
    // A place at the very end of a text that ends in a newline belongs to its last line.
    if start == text.len() && end >= start {
        start = text.trim_end().len();
    }
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let line_number = text[..line_start].bytes().filter(|b| *b == b'\n').count() + 1;
    let column = text[line_start..start].chars().count();
    let mut end = end.clamp(start, line_end);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let width = text[start..end].trim_end().chars().count().max(1);
    // A window of the line, in characters.
    let window_start = if column + width.min(WIDTH / 2) > WIDTH {
        column.saturating_sub(WIDTH / 2)
    } else {
        0
    };
    let mut shown_line: String = text[line_start..line_end]
        .chars()
        .skip(window_start)
        .take(WIDTH)
        .collect();
    let cut_after = text[line_start..line_end]
        .chars()
        .skip(window_start)
        .nth(WIDTH)
        .is_some();
    shown_line = clean(shown_line.trim_end());
    let mut caret = column - window_start;
    if window_start > 0 {
        shown_line.insert_str(0, "... ");
        caret += 4;
    }
    let room = (WIDTH + 4).saturating_sub(caret).max(1);
    if cut_after {
        shown_line.push_str(" ...");
    }
    TextPlace {
        line: Some(line_number),
        column: Some(column + 1),
        source: shown_line,
        caret: (caret, width.min(room)),
        argument: None,
    }
}

/// The text with one column for each character, and without anything that could move a terminal's cursor or reverse its
/// text.
fn clean(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars()
        .map(|c| {
            if c == '\t' {
                ' '
            } else if hidden(c) {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// At most `most` characters of a text.
pub fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((i, _)) => format!("{}...", &text[..i]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, start: usize, end: usize) -> String {
        let mut p = Problem::new("value", At::Text(start, end), "a.b", "it is wrong", "right it");
        p.locate(text, &[]);
        ScenarioError {
            file: "f.toml".into(),
            problems: vec![p],
            more: 0,
        }
        .to_string()
    }

    #[test]
    fn the_caret_stands_under_the_value() {
        let s = show("one\n\tä = \"wörd\" # x\n", 10, 17);
        assert_eq!(
            s,
            "error: it is wrong\n  --> f.toml:2:6, a.b\n   |\n 2 |  ä = \"wörd\" # x\n   |      ^^^^^^\n   = help: \
             right it"
        );
    }

    #[test]
    fn no_place_is_too_odd() {
        let text = format!("x = 1\n{}日本語{}\n\u{1b}[2J\r\n", "é".repeat(300), "y".repeat(5000));
        for start in 0..text.len() + 3 {
            for width in [0, 1, 2, 400] {
                let s = show(&text, start, start + width);
                assert!(s.lines().all(|l| l.chars().count() < 140), "{s}");
                assert!(!s.contains('\u{1b}'));
            }
        }
        show("", 0, 0);
        show("", 7, 3);
    }
}
