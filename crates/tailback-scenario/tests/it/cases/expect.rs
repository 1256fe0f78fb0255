//! What runs must give: lines of comparisons, and the values on both sides of them.
//!
//! ```text
//! flows[f.0].goodput_bps = 9.6Mbps +- 1%      a cell: the column of the rows with this text (_ for a blank)
//! losses[line overflow].packets > 100         the rows that have both texts; sum(...) counts 0 where there are none
//! series[queue time_s>3].value < 50           a number of the rows, also > =, and kept names; each value is held
//! transfers[#0].done_s = 1.15 +- 1e-4         the first of the rows, #-1 the last, #1..9 from the second to the ninth
//! pages.objects = 8, 8, 8                     a list; transfers.rows is how many rows there are
//! reno.links[line].utilisation < 0.95         of a case with several runs, the cell of the run `reno`
//! x = 0.5 .. 2                                also <, <=, >, >=, !=; `none` is a cell without a value
//! keep W = mean(series[cwnd].value) / 2       a name for the lines below; + - * / and brackets are between values
//! sum mean min max sd count last abs sqrt cbrt steps      functions; steps: from each value to the next
//! quantile(0.95, values)
//! at(times, values, t), over_time(times, values, from, to)        what holds until the next: at t, and its mean
//! episodes(times, values, after)        when a value becomes 1, more than 0.3 s after it did so before
//! least(times, values, E), most(times, values, E)       of the values between each two instants of E
//! ```
//!
//! With `--nocapture` each line is printed with the values on its left.

use super::functions;
use crate::common::number;
use std::collections::BTreeMap;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::{Data, Table};

pub type Values = Vec<f64>;
pub type Answer<T = Values> = Result<T, String>;

/// The runs of a case by their names, and what was kept.
pub struct Seen {
    pub runs: Vec<(String, Outcome)>,
    pub kept: BTreeMap<String, Values>,
}

impl Seen {
    /// Hold the runs against a line: what is not so, in words.
    pub fn check(&mut self, line: &str) -> Answer<()> {
        if let Some((name, what)) = line.strip_prefix("keep ").and_then(|l| l.split_once('=')) {
            let (values, rest) = self.value(what)?;
            self.kept.insert(name.trim().to_string(), values);
            return ended(rest);
        }
        let (left, rest) = self.value(line)?;
        let sign = ["!=", "<=", ">=", "=", "<", ">"].iter().find(|s| rest.starts_with(**s));
        let sign = sign.ok_or(format!("`{rest}`: write = != < <= > or >= here"))?;
        let (right, mut rest) = self.value(&rest[sign.len()..])?;
        let mut upper = right.clone();
        let mut within = vec![0.0];
        if let Some(end) = rest.strip_prefix("..") {
            (upper, rest) = self.value(end)?;
        } else if let Some(tolerance) = rest.strip_prefix("+-") {
            (within, rest) = self.value(tolerance)?;
            if tolerance[..tolerance.len() - rest.len()].trim_end().ends_with('%') {
                within = both(&within, &right, |t, x| t * x.abs())?;
            }
        }
        ended(rest)?;
        println!("{line}; it is {left:?}");
        if left.is_empty() {
            return Err("there is no such value".to_string());
        }
        let side = |values: &Values| broadcast(values, left.len());
        let (right, upper, within) = (side(&right)?, side(&upper)?, side(&within)?);
        for (i, x) in left.iter().enumerate() {
            let same = x.is_nan() && right[i].is_nan();
            let holds = match *sign {
                "=" => same || (*x >= right[i] - within[i] && *x <= upper[i] + within[i]),
                "!=" => !same && *x != right[i],
                "<" => *x < right[i],
                "<=" => *x <= right[i],
                ">" => *x > right[i],
                _ => *x >= right[i],
            };
            if !holds {
                let place = if left.len() > 1 {
                    format!(", the {}. of {}", i + 1, left.len())
                } else {
                    String::new()
                };
                let of = match (right[i], upper[i]) {
                    (a, b) if a == b || a.is_nan() => format!("{a}"),
                    (a, b) => format!("{a} .. {b}"),
                };
                return Err(format!("it is {x}{place}, on the right {of}"));
            }
        }
        Ok(())
    }

    fn value<'t>(&self, text: &'t str) -> Answer<(Values, &'t str)> {
        let mut reader = Reader { rest: text, seen: self };
        let mut list = vec![reader.sum()?];
        while reader.take(",") {
            list.push(reader.sum()?);
        }
        if list.len() > 1
            && let Some(i) = list.iter().position(Vec::is_empty)
        {
            return Err(format!("there is no such value at place {} of the list", i + 1));
        }
        Ok((list.concat(), reader.rest.trim_start()))
    }

    fn table(&self, run: Option<&str>, name: &str) -> Answer<&Table> {
        let outcome = match run {
            None => &self.runs[0].1,
            Some(run) => {
                &self
                    .runs
                    .iter()
                    .find(|(n, _)| n == run)
                    .ok_or(format!("there is no run {run}"))?
                    .1
            }
        };
        let names = || {
            outcome
                .tables
                .iter()
                .map(|t| t.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = outcome.tables.iter().find(|t| t.name == name);
        found.ok_or_else(|| format!("there is no table {name}; there are {}", names()))
    }
}

fn ended(rest: &str) -> Answer<()> {
    match rest.is_empty() {
        true => Ok(()),
        false => Err(format!("`{rest}` is too much")),
    }
}

/// As many values: those that there are, or one for all.
fn broadcast(values: &Values, n: usize) -> Answer {
    match values.len() {
        m if m == n => Ok(values.clone()),
        1 => Ok(vec![values[0]; n]),
        m => Err(format!("{m} values beside {n}: {values:?}")),
    }
}

fn both(a: &Values, b: &Values, f: impl Fn(f64, f64) -> f64) -> Answer {
    let n = if a.len() == 1 { b.len() } else { a.len() };
    let (a, b) = (broadcast(a, n)?, broadcast(b, n)?);
    Ok(a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect())
}

struct Reader<'t, 's> {
    rest: &'t str,
    seen: &'s Seen,
}

impl<'t> Reader<'t, '_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self, of: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest.trim_start();
        let (word, rest) = rest.split_at(rest.find(|c| !of(c)).unwrap_or(rest.len()));
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Answer {
        let mut x = self.product()?;
        loop {
            if !self.rest.trim_start().starts_with("+-") && self.take("+") {
                x = both(&x, &self.product()?, |a, b| a + b)?;
            } else if self.take("-") {
                x = both(&x, &self.product()?, |a, b| a - b)?;
            } else {
                return Ok(x);
            }
        }
    }

    fn product(&mut self) -> Answer {
        let mut x = self.term()?;
        loop {
            if self.take("*") {
                x = both(&x, &self.term()?, |a, b| a * b)?;
            } else if self.take("/") {
                x = both(&x, &self.term()?, |a, b| a / b)?;
            } else {
                return Ok(x);
            }
        }
    }

    fn term(&mut self) -> Answer {
        if self.take("-") {
            return Ok(self.term()?.iter().map(|x| -x).collect());
        }
        if self.take("(") {
            let x = self.sum()?;
            return if self.take(")") {
                Ok(x)
            } else {
                Err(format!("`{}`: write ) here", self.rest))
            };
        }
        if self.rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.rest.starts_with('(') {
            return self.function(name);
        }
        if !self.rest.starts_with(['.', '[']) || self.rest.starts_with("..") {
            return match name {
                "none" => Ok(vec![f64::NAN]),
                _ => self
                    .seen
                    .kept
                    .get(name)
                    .cloned()
                    .ok_or(format!("`{name}{}`: what is it?", self.rest)),
            };
        }
        self.cell(name)
    }

    fn number(&mut self) -> Answer {
        let rest = self.rest.trim_start();
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .unwrap_or(rest.len());
        let mut end = rest[..digits].find("..").unwrap_or(digits);
        if let Some(exponent) = rest[end..].strip_prefix('e') {
            let sign = usize::from(exponent.starts_with('-'));
            let more = exponent[sign..]
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(exponent.len() - sign);
            end += 1 + sign + more;
        }
        let value: f64 = rest[..end]
            .replace('_', "")
            .parse()
            .map_err(|e| format!("{}: {e}", &rest[..end]))?;
        self.rest = &rest[end..];
        let unit = if self.rest.starts_with(char::is_whitespace) {
            ""
        } else {
            self.word(|c| c == '%' || c.is_ascii_alphabetic())
        };
        Ok(vec![match unit {
            "" | "s" | "B" | "bps" => value,
            "%" => value / 1e2,
            "ms" => value / 1e3,
            "us" => value / 1e6,
            "kB" | "kbps" => value * 1e3,
            "MB" | "Mbps" => value * 1e6,
            "Gbps" => value * 1e9,
            _ => return Err(format!("`{unit}` is no unit here")),
        }])
    }

    /// The values of a column: `table.column`, with a run before it or a choice of rows.
    fn cell(&mut self, first: &str) -> Answer {
        let name = |r: &mut Self| r.word(|c| c.is_ascii_alphanumeric() || c == '_');
        let (mut run, mut table, mut choice, mut column) = (None, first, "", "");
        if self.take(".") {
            column = name(self);
            if self.rest.starts_with(['.', '[']) && !self.rest.starts_with("..") {
                (run, table, column) = (Some(first), column, "");
            }
        }
        if self.take("[") {
            let end = self.rest.find(']').ok_or(format!("`{}`: where is the ]?", self.rest))?;
            (choice, self.rest) = (&self.rest[..end], &self.rest[end + 1..]);
        }
        if column.is_empty() && self.take(".") {
            column = name(self);
        }
        let table = self.seen.table(run, table)?;
        let rows = chosen(table, choice, &self.seen.kept)?;
        if column == "rows" {
            return Ok(vec![rows.len() as f64]);
        }
        let names = || table.columns.iter().map(|c| &*c.name).collect::<Vec<_>>().join(", ");
        if table.column(column).is_none() {
            return Err(format!(
                "there is no column `{column}` in {}; there are {}",
                table.name,
                names()
            ));
        }
        Ok(rows.into_iter().map(|i| number(table, column, i)).collect())
    }

    fn function(&mut self, name: &str) -> Answer {
        let mut of: Vec<Values> = Vec::new();
        self.take("(");
        loop {
            of.push(self.sum()?);
            if self.take(")") {
                break;
            }
            if !self.take(",") {
                return Err(format!("`{}`: write , or ) here", self.rest));
            }
        }
        functions::call(name, &of)
    }
}

/// The rows that have each text of `choice` in a cell and hold each of its comparisons; of these those at `#`.
fn chosen(table: &Table, choice: &str, kept: &BTreeMap<String, Values>) -> Answer<Vec<usize>> {
    let mut rows: Vec<usize> = (0..table.rows()).collect();
    let texts = |i: usize| {
        let of = move |data: &Data| {
            if let Data::Text(v) = data {
                Some(v[i].to_string())
            } else {
                None
            }
        };
        table.columns.iter().filter_map(move |c| of(&c.data))
    };
    for word in choice.split_whitespace() {
        if let Some(place) = word.strip_prefix('#') {
            let (from, to) = place.split_once("..").map_or((place, None), |(a, b)| (a, Some(b)));
            let count = |t: &str| t.parse::<isize>().map_err(|e| format!("{word}: {e}"));
            let behind = |i: isize| {
                if i < 0 {
                    rows.len().saturating_add_signed(i)
                } else {
                    i as usize
                }
            };
            let from = behind(count(from)?);
            let to = match to {
                None => from + 1,
                Some("") => rows.len(),
                Some(t) => behind(count(t)?),
            };
            rows = rows.get(from..to.min(rows.len())).unwrap_or_default().to_vec();
        } else if let Some(i) = word.find(['<', '>', '=']) {
            let (column, sign, value) = (&word[..i], &word[i..=i], &word[i + 1..]);
            let value = kept
                .get(value)
                .map(|v| v[0])
                .or(value.parse().ok())
                .ok_or(format!("{word}: what is {value}?"))?;
            table
                .column(column)
                .ok_or(format!("there is no column {column} in {}", table.name))?;
            rows.retain(|r| match (sign, number(table, column, *r)) {
                ("<", x) => x < value,
                (">", x) => x > value,
                (_, x) => (x - value).abs() < 1e-9,
            });
        } else {
            rows.retain(|r| texts(*r).any(|t| t.replace(' ', "_") == word));
        }
    }
    Ok(rows)
}
