//! The range of a control's slider. The scenario loads with the value at each end.
//!
//! The slider covers the declared range, or the part of the range near the value. If values contradict each other, such
//! as a warm-up longer than the duration, the end of the slider is moved to the last value that loads.

use crate::digits::{general, rounded};
use crate::state::{PAGE, ScenarioReader, ScenarioTable, table_in};
use serde_json::{Value, json};
use tailback_base::quantity::{parse_bytes, parse_rate, parse_time};

/// The factor that a slider reaches below and above a value, if the declared range is wider.
const REACH: f64 = 20.0;
/// The end of a slider for a count, if the declared range is wider: this number, or four times the value.
const MOST_COUNT: f64 = 40.0;
/// Steps of the bisection that finds the last value that loads.
const HALVINGS: u32 = 12;
/// The number of digits of a value that a slider sets.
const DIGITS: usize = 3;

/// The parameter that a slider sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliderMeasure {
    /// Seconds.
    Time,
    /// Bits a second.
    Rate,
    Bytes,
    Count,
    Number,
}

impl SliderMeasure {
    /// A value of the declared kind.
    pub fn of(kind: &str) -> Option<SliderMeasure> {
        let measures = [
            SliderMeasure::Time,
            SliderMeasure::Rate,
            SliderMeasure::Bytes,
            SliderMeasure::Count,
            SliderMeasure::Number,
        ];
        measures.into_iter().find(|m| m.word() == kind)
    }

    pub fn word(self) -> &'static str {
        match self {
            SliderMeasure::Time => "time",
            SliderMeasure::Rate => "rate",
            SliderMeasure::Bytes => "bytes",
            SliderMeasure::Count => "count",
            SliderMeasure::Number => "number",
        }
    }

    /// The first position of a slider without a value.
    fn middle(self) -> f64 {
        match self {
            SliderMeasure::Time => 0.01,
            SliderMeasure::Rate => 1e7,
            SliderMeasure::Bytes => 1500.0,
            SliderMeasure::Count | SliderMeasure::Number => 1.0,
        }
    }

    /// The number that a value of a scenario stands for.
    pub fn read(self, value: &Value) -> Option<f64> {
        let Value::String(text) = value else {
            return value.as_f64();
        };
        match self {
            SliderMeasure::Time => parse_time(text).ok().map(|t| t.seconds()),
            SliderMeasure::Rate => parse_rate(text).ok().map(|r| r.bits_per_second()),
            SliderMeasure::Bytes => parse_bytes(text).ok().map(|b| b as f64),
            SliderMeasure::Count | SliderMeasure::Number => text.trim().parse().ok(),
        }
    }

    /// A number in the form in which the page writes it into a scenario, as `written` in `words.js` does.
    fn written(self, number: f64) -> Value {
        let with_unit = |factor: f64, unit: &str| {
            let shown = general(rounded(number * factor, DIGITS), 15);
            json!(format!("{shown}{unit}"))
        };
        match self {
            SliderMeasure::Time if number >= 1.0 => with_unit(1.0, "s"),
            SliderMeasure::Time if number >= 1e-3 => with_unit(1e3, "ms"),
            SliderMeasure::Time => with_unit(1e6, "us"),
            SliderMeasure::Rate if number >= 1e6 => with_unit(1e-6, "Mbps"),
            SliderMeasure::Rate => with_unit(1e-3, "kbps"),
            SliderMeasure::Bytes => json!(format!("{}B", number.round_ties_even())),
            SliderMeasure::Count => json!(number.round_ties_even() as u64),
            SliderMeasure::Number => json!(rounded(number, DIGITS)),
        }
    }

    /// The declared range, or the part of the range near the value.
    pub fn near(self, number: Option<f64>, least: Option<f64>, most: Option<f64>) -> (f64, f64) {
        let (low, high) = (least.unwrap_or(0.0), most.unwrap_or(f64::INFINITY));
        if self == SliderMeasure::Number && high <= (100.0 * low).max(1.0) {
            return (low, high);
        }
        let middle = number.filter(|n| *n != 0.0).unwrap_or(self.middle());
        let (low_reach, high_reach) = match self {
            SliderMeasure::Count => (1.0, (4.0 * middle).max(MOST_COUNT)),
            _ => (middle / REACH, middle * REACH),
        };
        (low.max(low_reach), high.min(high_reach))
    }
}

/// A slider of a document: the parameter that it sets, and its path.
pub struct Slider<'a> {
    pub document: &'a ScenarioTable,
    pub path: Vec<&'a str>,
    pub measure: SliderMeasure,
    pub reader: &'a ScenarioReader<'a>,
}

impl Slider<'_> {
    /// The ends, moved inwards until the document loads with the value of each end. `None` if no value loads, because
    /// other values of the scenario exclude the parameter.
    pub fn pulled_in(&self, number: Option<f64>, ends: (f64, f64)) -> Option<(f64, f64)> {
        let usual = number.unwrap_or_else(|| (ends.0.max(1e-9) * ends.1).sqrt());
        let mut good = [usual, ends.0, ends.1];
        let good = good.iter_mut().find(|n| self.loads(self.measure.written(**n)))?;
        Some((self.last_that_loads(*good, ends.0), self.last_that_loads(*good, ends.1)))
    }

    fn last_that_loads(&self, mut good: f64, end: f64) -> f64 {
        if self.loads(self.measure.written(end)) {
            return end;
        }
        let mut bad = end;
        for _ in 0..HALVINGS {
            let logarithms = good > 0.0 && bad > 0.0;
            let between = if logarithms {
                (good * bad).sqrt()
            } else {
                (good + bad) / 2.0
            };
            let value = self.measure.written(between);
            match self.measure.read(&value).filter(|_| self.loads(value)) {
                Some(read) => good = read,
                None => bad = between,
            }
        }
        good
    }

    fn loads(&self, value: Value) -> bool {
        let Some((last, tables)) = self.path.split_last() else {
            return false;
        };
        let mut changed = self.document.clone();
        let table = tables.iter().fold(&mut changed, |table, key| table_in(table, key));
        table.insert((*last).to_string(), value);
        self.reader.load(&changed, PAGE).is_ok()
    }
}
