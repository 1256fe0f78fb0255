//! Kinds: the values that a parameter may have, and the check of a value.

use super::profile::Profile;
use super::raw::Raw;
use super::settings::Value;
use crate::code_point::Dscp;
use crate::nearest::{article, with_nearest};
use crate::quantity::{self, BitRate, Refusal, Size};
use crate::relative::{self, OfPath};
use crate::time::Duration;

/// The values that a parameter may have. Ranges are inclusive, in the unit given.
///
/// ```
/// use tailback_base::model::{Kind, Raw, Value};
///
/// let probability = Kind::Real { min: 0.0, max: 1.0 };
/// assert_eq!(probability.check(&Raw::Real(0.1)), Ok(Value::Real(0.1)));
/// assert!(probability.check(&Raw::Real(2.0)).is_err());
/// ```
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
    /// A DiffServ code point: its name, or its number.
    CodePoint,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Free text, such as a name; it is checked where it is used.
    Text,
    /// One value for all, or a list with a value for each.
    Each(Per, &'static Kind),
    /// A list of values.
    List(&'static Kind),
    /// A model of this family: its name, or a table whose `kind` is its name.
    Model(&'static str),
    /// The name of one of these sets of values, or of a set that a scenario defines.
    Profile(&'static [Profile]),
    /// A table of named tables of this family, such as `[link.NAME]`.
    Named(&'static str),
}

/// The subject of each item of a [`Kind::Each`] list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// The flows take the values of a list in turn.
    Flow,
    /// The changes of a run take the values of a list in turn.
    Change,
    /// One value for each colour: green, yellow, red.
    Colour,
}

impl Per {
    /// Whether a list may have this length.
    fn allows(self, length: usize) -> bool {
        match self {
            Per::Flow | Per::Change => length > 0,
            Per::Colour => length == 1 || length == 3,
        }
    }

    fn taken(self) -> &'static str {
        match self {
            Per::Flow => "taken by the flows in turn",
            Per::Change => "taken in turn",
            Per::Colour => "one for each colour: green, yellow, red",
        }
    }
}

impl Kind {
    /// Whether a value contains a model, or a list of models.
    pub fn holds_models(&self) -> bool {
        match self {
            Kind::Model(_) => true,
            Kind::List(k) | Kind::Each(_, k) => k.holds_models(),
            _ => false,
        }
    }

    /// The family of the models that a value contains.
    pub fn family(&self) -> Option<&'static str> {
        match self {
            Kind::Model(family) => Some(family),
            Kind::List(k) | Kind::Each(_, k) => k.family(),
            _ => None,
        }
    }

    /// The dependence of a text on the path, if a value of this kind may depend on the path in that way: sizes on
    /// products, times on round trips, rates on the rate of a link.
    pub fn of_path<'t>(&self, text: &'t str) -> Option<OfPath<'t>> {
        relative::parse(text).filter(|of| {
            matches!(
                (self, of),
                (Kind::Size | Kind::Level | Kind::Bytes { .. }, OfPath::Products(_))
                    | (Kind::Time { .. }, OfPath::RoundTrips(_))
                    | (Kind::Rate { .. }, OfPath::Share(..))
            )
        })
    }

    /// Check a raw value and convert it.
    pub fn check(&self, raw: &Raw) -> Result<Value, Refusal> {
        match (self, raw) {
            (Kind::Bool, Raw::Bool(b)) => Ok(Value::Flag(*b)),
            (Kind::Count { min, max }, Raw::Int(i)) => match u64::try_from(*i) {
                Ok(n) => self.in_range(raw, n, (*min, *max), Value::Count(n)),
                Err(_) => Err(self.out_of_range(raw)),
            },
            (Kind::Real { min, max }, Raw::Int(i)) => {
                let x = *i as f64;
                self.in_range(raw, x, (*min, *max), Value::Real(x))
            }
            (Kind::Real { min, max }, Raw::Real(x)) => self.in_range(raw, *x, (*min, *max), Value::Real(*x)),
            (Kind::Choice(words), Raw::Text(t)) => match words.iter().find(|w| *w == t) {
                Some(_) => Ok(Value::Text(t.clone())),
                None => Err(Refusal::new(
                    format!("{} is not a choice here", raw.show()),
                    with_nearest(t, words.iter().copied(), &self.allowed()),
                )),
            },
            (Kind::CodePoint, Raw::Text(t)) => Dscp::parse(t).map(|code| Value::Count(code.0.into())),
            (Kind::CodePoint, Raw::Int(i)) => Dscp::parse(&i.to_string()).map(|code| Value::Count(code.0.into())),
            // A model or profile is only a name until a catalogue is used: see `Settings::with_models`.
            (Kind::Text | Kind::Model(_) | Kind::Profile(_), Raw::Text(t)) => Ok(Value::Text(t.clone())),
            (Kind::Each(..) | Kind::List(_), _) => self.check_list(raw),
            _ => self.check_quantity(raw),
        }
    }

    /// A quantity as text with its unit. A bare number is refused, with the units it may have.
    fn check_quantity(&self, raw: &Raw) -> Result<Value, Refusal> {
        match (self, raw) {
            (Kind::Time { min, max }, Raw::Text(t)) => {
                let d = quantity::parse_time(t)?;
                self.in_range(raw, d.seconds(), (*min, *max), Value::Time(d))
            }
            (Kind::Rate { min, max }, Raw::Text(t)) => {
                let r = match *min > 0.0 {
                    true => quantity::parse_rate(t)?,
                    false => quantity::parse_rate_or_zero(t)?,
                };
                self.in_range(raw, r.bits_per_second(), (*min, *max), Value::Rate(r))
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
                self.in_range(raw, n, (*min, *max), Value::Count(n))
            }
            (Kind::Time { .. }, Raw::Int(_) | Raw::Real(_)) => Err(self.without_unit("time", raw, &["s", "ms"])),
            (Kind::Rate { .. }, Raw::Int(_) | Raw::Real(_)) => Err(self.without_unit("rate", raw, &["bps", "Mbps"])),
            (Kind::Size | Kind::Level, Raw::Int(_) | Raw::Real(_)) => {
                Err(self.without_unit("size", raw, &[" packets", "B"]))
            }
            (Kind::Bytes { .. }, Raw::Int(_) | Raw::Real(_)) => Err(self.without_unit("size", raw, &["B"])),
            _ => Err(Refusal::new(
                format!("{} is not {}", raw.show(), self.noun()),
                format!("give {}", self.allowed()),
            )),
        }
    }

    /// `value` if `x` lies between the limits, both included; NaN does not.
    fn in_range<T: PartialOrd>(&self, raw: &Raw, x: T, (min, max): (T, T), value: Value) -> Result<Value, Refusal> {
        if x >= min && x <= max {
            Ok(value)
        } else {
            Err(self.out_of_range(raw))
        }
    }

    fn out_of_range(&self, raw: &Raw) -> Refusal {
        Refusal::new(
            format!("{} is out of range", raw.show()),
            format!("give {}", self.allowed()),
        )
    }

    /// A list, or one value, which counts as a list of one.
    fn check_list(&self, raw: &Raw) -> Result<Value, Refusal> {
        let (Kind::Each(_, kind) | Kind::List(kind)) = self else {
            return self.check(raw);
        };
        let Raw::List(list) = raw else {
            return Ok(Value::List(vec![kind.check(raw)?]));
        };
        // An empty list of models is allowed.
        if list.is_empty() && !kind.holds_models() {
            let remedy = format!("give at least one value: {}", kind.allowed());
            return Err(Refusal::new("the list is empty", remedy));
        }
        if let Kind::Each(per, kind) = self
            && !per.allows(list.len())
        {
            let problem = format!("{} values do not fit", list.len());
            let remedy = format!("give one, or {}: {}", per.taken(), kind.allowed());
            return Err(Refusal::new(problem, remedy));
        }
        let values: Result<_, _> = list.iter().map(|r| kind.check(r)).collect();
        Ok(Value::List(values?))
    }

    /// The refusal of a bare number; it proposes the number with a unit only if that value would be allowed.
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

    /// The name of a value of this kind.
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
            Kind::CodePoint => "a code point".into(),
            Kind::Choice(_) => "a choice".into(),
            Kind::Text => "a text".into(),
            Kind::Each(_, k) => format!("{} or a list of such", k.noun()),
            Kind::List(k) => format!("a list of {}", k.noun()),
            Kind::Model(family) => format!("{} {family}: its name, or a table with `kind`", article(family)),
            Kind::Profile(_) => "the name of a profile".into(),
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
            Kind::CodePoint => Dscp::WORDS.into(),
            Kind::Choice(words) => format!(
                "one of {}",
                words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ")
            ),
            Kind::Text => "a text in quotes".into(),
            Kind::Each(per, k) => format!("{}, or a list of such, {}", k.allowed(), per.taken()),
            Kind::List(k) => format!("a list of values, each {}", k.allowed()),
            Kind::Profile(list) => {
                let names: Vec<String> = list.iter().map(|p| format!("\"{}\"", p.name)).collect();
                format!("one of {}", names.join(", "))
            }
            Kind::Model(_) | Kind::Named(_) => self.noun(),
        }
    }
}
