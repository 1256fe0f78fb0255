//! Declarations: every parameter of every model is written down once, as data.
//!
//! A [`Model`] names a discipline, a transport, a traffic source or a table of the scenario file, and lists its
//! [`Param`]s with kind, range, default, one sentence and source. The scenario schema, `tailback describe`, the
//! reference pages and the error messages are generated from it, and [`Settings`] holds the checked values a model is
//! built from.

use crate::quantity::{self, BitRate, Level, Refusal, Size};
use crate::time::Duration;

/// A model a scenario can name.
#[derive(Debug)]
pub struct Model {
    /// The name a scenario writes, such as `red`.
    pub name: &'static str,
    /// The kind of thing it is: `queue`, `transport`, `traffic`, or a table of the scenario such as `link`.
    pub family: &'static str,
    /// The name people say, such as `Random Early Detection`.
    pub title: &'static str,
    /// What it is and why, in a few sentences.
    pub summary: &'static str,
    /// Paper or RFC, with section.
    pub source: &'static str,
    pub params: &'static [Param],
    pub probes: &'static [ProbeDef],
}

/// One parameter of a model.
#[derive(Debug)]
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
    /// The default as a user would write it; empty when the user must give a value; `none` when absence means something.
    pub default: &'static str,
    /// One sentence: what it does.
    pub doc: &'static str,
    /// Where the default or the rule comes from, with section; may be empty for plain wiring.
    pub source: &'static str,
}

/// What a parameter's value may be. Ranges are inclusive, in the unit named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    /// A whole number.
    Count {
        min: u64,
        max: u64,
    },
    /// A real number without unit.
    Real {
        min: f64,
        max: f64,
    },
    /// A time, range in seconds.
    Time {
        min: f64,
        max: f64,
    },
    /// A rate, range in bit/s.
    Rate {
        min: f64,
        max: f64,
    },
    /// A buffer in packets or bytes, or unlimited; at least one packet or byte.
    Size,
    /// A threshold in packets, bytes or percent of the buffer.
    Level,
    /// A number of bytes.
    Bytes {
        min: u64,
        max: u64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Free text, such as a name; what it may say is checked where it is used.
    Text,
    /// One value, or a list that is repeated over the flows in turn.
    PerFlow(&'static Kind),
    /// A list of values.
    List(&'static Kind),
    /// A model of this family: its name, or a table whose `kind` is its name.
    Model(&'static str),
    /// A table of named tables of this family, such as `[link.NAME]`.
    Named(&'static str),
}

/// A quantity a model lets the recorder read.
#[derive(Debug)]
pub struct ProbeDef {
    pub name: &'static str,
    pub unit: &'static str,
    pub doc: &'static str,
    /// What an index counts (`queue`, `colour`), empty for a single value.
    pub per: &'static str,
}

/// A value as it stands in a file or an argument, before anyone knows what it means.
#[derive(Debug, Clone, PartialEq)]
pub enum Raw {
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    List(Vec<Raw>),
}

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Absent, where the default is `none`.
    None,
    Bool(bool),
    Count(u64),
    Real(f64),
    Time(Duration),
    Rate(BitRate),
    Size(Size),
    Level(Level),
    Text(String),
    List(Vec<Value>),
}

impl Raw {
    /// How the user would recognise it.
    pub fn show(&self) -> String {
        match self {
            Raw::Bool(b) => b.to_string(),
            Raw::Int(i) => i.to_string(),
            Raw::Real(x) => x.to_string(),
            Raw::Text(t) => format!("\"{t}\""),
            Raw::List(l) => format!("[{}]", l.iter().map(Raw::show).collect::<Vec<_>>().join(", ")),
        }
    }

    /// Read a bare word the way `--set` and declared defaults need it: number, bool, list in brackets, else text.
    pub fn from_word(word: &str) -> Raw {
        let w = word.trim();
        if let Ok(i) = w.parse::<i64>() {
            return Raw::Int(i);
        }
        if let Some(x) = w.parse::<f64>().ok().filter(|x| x.is_finite()) {
            return Raw::Real(x);
        }
        match w {
            "true" => Raw::Bool(true),
            "false" => Raw::Bool(false),
            _ => match w.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
                Some(inner) if inner.trim().is_empty() => Raw::List(vec![]),
                Some(inner) => Raw::List(inner.split(',').map(Raw::from_word).collect()),
                None => Raw::Text(w.trim_matches(|c| c == '"' || c == '\'').to_string()),
            },
        }
    }
}

impl Kind {
    /// Check a raw value and give it its meaning.
    pub fn check(&self, raw: &Raw) -> Result<Value, Refusal> {
        let expected = || {
            Refusal::new(
                format!("{} is not {}", raw.show(), self.noun()),
                format!("give {}", self.allowed()),
            )
        };
        let out_of_range = || {
            Refusal::new(
                format!("{} is out of range", raw.show()),
                format!("give {}", self.allowed()),
            )
        };
        match (self, raw) {
            (Kind::Bool, Raw::Bool(b)) => Ok(Value::Bool(*b)),
            (Kind::Count { min, max }, Raw::Int(i)) => match u64::try_from(*i) {
                Ok(n) if n >= *min && n <= *max => Ok(Value::Count(n)),
                _ => Err(out_of_range()),
            },
            (Kind::Real { min, max }, Raw::Int(_) | Raw::Real(_)) => {
                let x = match raw {
                    Raw::Int(i) => *i as f64,
                    Raw::Real(x) => *x,
                    _ => return Err(expected()),
                };
                if x >= *min && x <= *max {
                    Ok(Value::Real(x))
                } else {
                    Err(out_of_range())
                }
            }
            (Kind::Time { min, max }, Raw::Text(t)) => {
                let d = quantity::parse_time(t)?;
                if d.seconds() >= *min && d.seconds() <= *max {
                    Ok(Value::Time(d))
                } else {
                    Err(out_of_range())
                }
            }
            (Kind::Rate { min, max }, Raw::Text(t)) => {
                let r = quantity::parse_rate(t)?;
                if r.bits_per_second() >= *min && r.bits_per_second() <= *max {
                    Ok(Value::Rate(r))
                } else {
                    Err(out_of_range())
                }
            }
            (Kind::Size, Raw::Text(t)) => match quantity::parse_size(t)? {
                Size::Packets(0) | Size::Bytes(0) => Err(Refusal::new(
                    format!("the size {} is zero", raw.show()),
                    format!("give {}", self.allowed()),
                )),
                size => Ok(Value::Size(size)),
            },
            (Kind::Level, Raw::Text(t)) => Ok(Value::Level(quantity::parse_level(t)?)),
            (Kind::Bytes { min, max }, Raw::Text(t)) => {
                let n = quantity::parse_bytes(t)?;
                if n >= *min && n <= *max {
                    Ok(Value::Count(n))
                } else {
                    Err(out_of_range())
                }
            }
            (Kind::Choice(words), Raw::Text(t)) => match words.iter().find(|w| *w == t) {
                Some(_) => Ok(Value::Text(t.clone())),
                None => Err(Refusal::new(
                    format!("{} is not a choice here", raw.show()),
                    with_nearest(t, words.iter().copied(), &self.allowed()),
                )),
            },
            (Kind::Text, Raw::Text(t)) => Ok(Value::Text(t.clone())),
            (Kind::PerFlow(kind) | Kind::List(kind), Raw::List(list)) => {
                if list.is_empty() {
                    return Err(Refusal::new(
                        "the list is empty",
                        format!("give at least one value: {}", kind.allowed()),
                    ));
                }
                Ok(Value::List(
                    list.iter().map(|r| kind.check(r)).collect::<Result<_, _>>()?,
                ))
            }
            (Kind::PerFlow(kind) | Kind::List(kind), one) => Ok(Value::List(vec![kind.check(one)?])),
            // A bare number where a unit belongs.
            (Kind::Time { .. }, Raw::Int(_) | Raw::Real(_)) => Err(self.without_unit("time", raw, &["s", "ms"])),
            (Kind::Rate { .. }, Raw::Int(_) | Raw::Real(_)) => Err(self.without_unit("rate", raw, &["bps", "Mbps"])),
            (Kind::Size | Kind::Level, Raw::Int(_) | Raw::Real(_)) => {
                Err(self.without_unit("size", raw, &[" packets", "B"]))
            }
            (Kind::Bytes { .. }, Raw::Int(_) | Raw::Real(_)) => Err(self.without_unit("size", raw, &["B"])),
            _ => Err(expected()),
        }
    }

    /// The refusal of a bare number; it proposes the number with a unit only where that would be allowed.
    fn without_unit(&self, noun: &str, raw: &Raw, units: &[&str]) -> Refusal {
        let good: Vec<String> = units
            .iter()
            .map(|u| format!("{}{u}", raw.show()))
            .filter(|t| self.check(&Raw::Text(t.clone())).is_ok())
            .map(|t| format!("\"{t}\""))
            .collect();
        let remedy = match good[..] {
            [] => format!("give {}", self.allowed()),
            _ => format!("write {}", good.join(" or ")),
        };
        Refusal::new(format!("the {noun} {} has no unit", raw.show()), remedy)
    }

    /// What such a value is called.
    pub fn noun(&self) -> String {
        match self {
            Kind::Bool => "true or false".into(),
            Kind::Count { .. } => "a whole number".into(),
            Kind::Real { .. } => "a number".into(),
            Kind::Time { .. } => "a time".into(),
            Kind::Rate { .. } => "a rate".into(),
            Kind::Size => "a size".into(),
            Kind::Level => "a threshold".into(),
            Kind::Bytes { .. } => "a number of bytes".into(),
            Kind::Choice(_) => "a choice".into(),
            Kind::Text => "a text".into(),
            Kind::PerFlow(k) => format!("{} or a list of such", k.noun()),
            Kind::List(k) => format!("a list of {}", k.noun()),
            Kind::Model(family) => format!("{} {family}: its name, or a table with `kind`", article(family)),
            Kind::Named(family) => format!("tables [{family}.NAME]"),
        }
    }

    /// The allowed values, in words.
    pub fn allowed(&self) -> String {
        fn range(min: f64, max: f64, show: impl Fn(f64) -> String) -> String {
            match (min.is_finite() && min > f64::MIN, max.is_finite() && max < 1e17) {
                (true, true) => format!(" from {} to {}", show(min), show(max)),
                (true, false) => format!(", at least {}", show(min)),
                (false, true) => format!(", at most {}", show(max)),
                (false, false) => String::new(),
            }
        }
        let time = |s: f64| Duration::from_seconds(s).to_string();
        match self {
            Kind::Bool => "true or false".into(),
            Kind::Count { min, max } => {
                format!("a whole number{}", range(*min as f64, *max as f64, |x| format!("{x}")))
            }
            Kind::Real { min, max } => format!("a number{}", range(*min, *max, |x| format!("{x}"))),
            Kind::Time { min, max } => format!("a time such as \"50ms\"{}", range(*min, *max, time)),
            Kind::Rate { min, max } => format!(
                "a rate such as \"500Mbps\"{}",
                range(*min, *max, |x| BitRate(x as u64).to_string())
            ),
            Kind::Size => "a size of at least 1 such as \"1000 packets\" or \"64KB\", or \"unlimited\"".into(),
            Kind::Level => "a threshold such as \"5 packets\", \"30KB\" or \"20%\" of the buffer".into(),
            Kind::Bytes { min, max } => format!(
                "bytes such as \"1500B\"{}",
                range(*min as f64, *max as f64, |x| format!("{x}B"))
            ),
            Kind::Choice(words) => format!(
                "one of {}",
                words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ")
            ),
            Kind::Text => "a text in quotes".into(),
            Kind::PerFlow(k) => format!("{}, or a list of such, taken by the flows in turn", k.allowed()),
            Kind::List(k) => format!("a list of values, each {}", k.allowed()),
            Kind::Model(_) | Kind::Named(_) => self.noun(),
        }
    }
}

/// "a" or "an".
pub fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// Add "did you mean" to a remedy when a known name is near.
pub fn with_nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    match nearest(word, names) {
        Some(name) => format!("did you mean \"{name}\"? Give {otherwise}"),
        None => format!("give {otherwise}"),
    }
}

/// The name nearest to `word` by edit distance, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // WF2Q+ is written wf2q-plus.
    let clean = |s: &str| s.to_lowercase().replace(['_', '-', ' '], "").replace('+', "plus");
    let word = clean(word);
    names
        .map(|n| (distance(&word, &clean(n)), n))
        .filter(|(d, n)| *d <= (n.len() / 3).max(1))
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Levenshtein distance with neighbouring swaps counted as one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for j in 0..=b.len() {
        rows[0][j] = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

impl Param {
    pub const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
        source: &'static str,
    ) -> Param {
        Param {
            name,
            kind,
            default,
            doc,
            source,
        }
    }

    /// The declared default, checked like a user's value; `None` when the user must give one.
    pub fn default_value(&self) -> Option<Result<Value, Refusal>> {
        match self.default {
            "" => None,
            "none" => Some(Ok(Value::None)),
            text => Some(self.kind.check(&Raw::from_word(text))),
        }
    }
}

impl Model {
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|p| p.name == name)
    }
}

/// The checked values of one model, in the order of its declaration.
#[derive(Debug, Clone)]
pub struct Settings {
    pub model: &'static Model,
    values: Vec<Option<Value>>,
    given: Vec<bool>,
}

impl Settings {
    /// The declared defaults. Parameters without default stay open until [`Settings::set`].
    pub fn defaults(model: &'static Model) -> Settings {
        let values = model
            .params
            .iter()
            .map(|p| p.default_value().and_then(Result::ok))
            .collect();
        Settings {
            model,
            values,
            given: vec![false; model.params.len()],
        }
    }

    /// Set one parameter from a raw value; the refusal says what is wrong and what is allowed.
    pub fn set(&mut self, name: &str, raw: &Raw) -> Result<(), Refusal> {
        let Some(i) = self.model.params.iter().position(|p| p.name == name) else {
            let names: Vec<&str> = self.model.params.iter().map(|p| p.name).collect();
            let known = format!("one of {}", names.join(", "));
            return Err(Refusal::new(
                format!("{} has no parameter \"{name}\"", self.model.name),
                with_nearest(name, names.iter().copied(), &known),
            ));
        };
        let value = self.model.params[i].kind.check(raw)?;
        self.values[i] = Some(value);
        self.given[i] = true;
        Ok(())
    }

    /// For tests and code that knows its own declarations: set from text, as in a scenario. Panics on a refusal.
    pub fn with(mut self, name: &str, text: &str) -> Settings {
        if let Err(e) = self.set(name, &Raw::from_word(text)) {
            panic!("{name} = {text}: {e}");
        }
        self
    }

    /// The first parameter that still needs a value.
    pub fn missing(&self) -> Option<&'static Param> {
        self.values
            .iter()
            .position(Option::is_none)
            .map(|i| &self.model.params[i])
    }

    /// Whether the user gave this parameter (as opposed to its default).
    pub fn is_given(&self, name: &str) -> bool {
        self.model
            .params
            .iter()
            .position(|p| p.name == name)
            .is_some_and(|i| self.given[i])
    }

    pub fn get(&self, name: &str) -> &Value {
        let i = self.model.params.iter().position(|p| p.name == name);
        i.and_then(|i| self.values[i].as_ref())
            .unwrap_or_else(|| panic!("{}.{name} is not declared or not set", self.model.name))
    }

    fn wrong(&self, name: &str, v: &Value) -> ! {
        panic!(
            "{}.{name} is declared with another kind than it is read with: {v:?}",
            self.model.name
        )
    }

    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Bool(b) => *b,
            v => self.wrong(name, v),
        }
    }

    /// A whole number or a number of bytes.
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Count(n) => *n,
            v => self.wrong(name, v),
        }
    }

    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Real(x) => *x,
            v => self.wrong(name, v),
        }
    }

    pub fn time(&self, name: &str) -> Duration {
        match self.get(name) {
            Value::Time(d) => *d,
            v => self.wrong(name, v),
        }
    }

    pub fn rate(&self, name: &str) -> BitRate {
        match self.get(name) {
            Value::Rate(r) => *r,
            v => self.wrong(name, v),
        }
    }

    pub fn size(&self, name: &str) -> Size {
        match self.get(name) {
            Value::Size(s) => *s,
            v => self.wrong(name, v),
        }
    }

    pub fn level(&self, name: &str) -> Level {
        match self.get(name) {
            Value::Level(l) => *l,
            v => self.wrong(name, v),
        }
    }

    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Text(t) => t,
            v => self.wrong(name, v),
        }
    }

    /// A list, or one value as a list of one; empty for `none`.
    pub fn list(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Value::List(l) => l,
            Value::None => &[],
            v => self.wrong(name, v),
        }
    }

    pub fn is_none(&self, name: &str) -> bool {
        matches!(self.get(name), Value::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TOY: Model = Model {
        name: "toy",
        family: "queue",
        title: "Toy",
        summary: "",
        source: "",
        params: &[
            Param::new("buffer", Kind::Size, "", "how much fits", ""),
            Param::new(
                "target",
                Kind::Time { min: 0.0, max: 1.0 },
                "5ms",
                "the delay to hold",
                "",
            ),
            Param::new("mode", Kind::Choice(&["fast", "slow"]), "fast", "how", ""),
        ],
        probes: &[],
    };

    #[test]
    fn a_setting_is_checked_where_it_is_given() {
        let mut s = Settings::defaults(&TOY);
        assert_eq!(s.missing().unwrap().name, "buffer");
        s.set("buffer", &Raw::Text("10 packets".into())).unwrap();
        assert!(s.missing().is_none());
        assert_eq!(s.time("target"), Duration::from_millis(5));
        let e = s.set("tarket", &Raw::Text("1ms".into())).unwrap_err();
        assert!(e.remedy.contains("did you mean \"target\""), "{e}");
        let e = s.set("target", &Raw::Text("2s".into())).unwrap_err();
        assert!(e.remedy.contains("from 0s to 1s"), "{e}");
        let e = s.set("mode", &Raw::Text("slwo".into())).unwrap_err();
        assert!(e.remedy.contains("\"slow\""), "{e}");
        let e = s.set("buffer", &Raw::Int(10)).unwrap_err();
        assert!(e.remedy.contains("10 packets"), "{e}");
        let e = s.set("buffer", &Raw::Text("0 packets".into())).unwrap_err();
        assert!(e.problem.contains("is zero"), "{e}");
    }
}
