//! The distributions of transfer sizes and of pauses: the models of the families `transfer-size` (bytes) and `pause`
//! (time), and a row for each.
//!
//! A law has a mean and, if that does not determine its form, a shape. Sizes are in bytes, pauses in nanoseconds;
//! results are rounded to whole numbers.

use super::conflict::Conflict;
use crate::declare::kinds::{PROBABILITY, SOME_TIME};
use tailback_base::model::Registered;
use tailback_base::{Duration, Kind, Model, Param, Settings, Stream, Value, choice};

const BYTES: Kind = Kind::Bytes { min: 1, max: 1 << 50 };

/// A distribution of positive numbers.
pub trait Draw {
    fn draw(&self, rng: &mut Stream) -> f64;

    /// The mean of draws, if it is known in closed form.
    fn mean(&self) -> Option<f64> {
        None
    }

    /// A draw as a whole number, at least 1.
    fn whole(&self, rng: &mut Stream) -> u64 {
        (libm::round(self.draw(rng)) as u64).max(1)
    }
}

choice! {
    /// The distribution of the lengths of a source's times around their mean.
    pub enum Distribution {
        Constant = "constant",
        Exponential = "exponential",
    }
}

impl Distribution {
    pub fn draw(self, mean: Duration, rng: &mut Stream) -> Duration {
        match self {
            Distribution::Constant => mean,
            Distribution::Exponential => Duration(rng.exponential(mean.0 as f64) as u64),
        }
    }
}

/// A law: its two models, and how it is made. Sizes are drawn in bytes, pauses in nanoseconds.
pub struct Law {
    /// The model of the family `transfer-size`.
    pub size: Model,
    /// The model of the family `pause`.
    pub pause: Model,
    pub build: fn(&Settings) -> Box<dyn Draw>,
    /// Values that contradict each other.
    pub check: fn(&Settings) -> Result<(), Conflict>,
}

impl Law {
    /// Whether the law is one of pauses too. A law without parameters has values of its own, which are bytes.
    pub fn is_of_pauses(&self) -> bool {
        !self.pause.params.is_empty()
    }
}

/// A law is registered under the name of its model of sizes; the model of pauses has the same name.
impl Registered for &'static Law {
    const FAMILY: &'static str = "transfer-size";
    const WHAT: &'static str = "law";
    fn model(&self) -> &'static Model {
        &self.size
    }
}

/// The same declaration for bytes and for times.
macro_rules! row {
    ($name:literal, $title:literal, $summary:literal, $source:literal, $build:expr, $check:expr,
     [$(($p:literal, $size:expr, $pause:expr, $default:literal, $doc:literal)),*]) => {
        Law {
            size: Model {
                name: $name, family: "transfer-size", title: $title, summary: $summary, source: $source,
                params: &[$(Param::new($p, $size, $default, $doc, "")),*],
                probes: &[],
            },
            pause: Model {
                name: $name, family: "pause", title: $title, summary: $summary, source: $source,
                params: &[$(Param::new($p, $pause, $default, $doc, "")),*],
                probes: &[],
            },
            build: $build,
            check: $check,
        }
    };
}

/// Every law of tailback, in the order of the reference page.
#[rustfmt::skip]
pub static LAWS: [Law; 10] = [
    row!("constant", "Always the same", "Every draw is the mean.", "",
        |s| Box::new(Constant(number(s, "mean"))), anything,
        [("mean", BYTES, SOME_TIME, "", "The value.")]),
    row!("exponential", "Exponential", "The exponential distribution.", "",
        |s| Box::new(Exponential(number(s, "mean"))), anything,
        [("mean", BYTES, SOME_TIME, "", "The mean.")]),
    row!("pareto", "Pareto, bounded",
        "The Pareto distribution, whose tail falls as a power; draws beyond `max` become `max`.", "",
        |s| Box::new(Pareto::new(number(s, "mean"), s.real("shape"), number(s, "max"))), pareto_fits,
        [("mean", BYTES, SOME_TIME, "", "The mean before draws are bounded."),
         ("shape", SHAPE_OVER_1, SHAPE_OVER_1, "1.5", "The power by which the tail falls; the smaller, the heavier."),
         ("max", BYTES, SOME_TIME, "", "The largest value.")]),
    row!("lomax", "Pareto from zero (Lomax)",
        "The Pareto distribution minus its smallest value, rounded up to whole steps.", "Lomax 1954",
        |s| Box::new(Lomax::of(s)), anything,
        [("mean", BYTES, SOME_TIME, "", "The mean before draws are rounded."),
         ("shape", SHAPE_OVER_1, SHAPE_OVER_1, "1.2", "The power by which the tail falls; the smaller, the heavier."),
         ("step", BYTES, SOME_TIME, "none", "Draws are rounded up to a multiple of it. Default: to a whole number.")]),
    row!("log-normal", "Log-normal",
        "The logarithm of a draw has a normal distribution. Draws outside `min` to `max` are made again.", "",
        |s| Box::new(LogNormal::of(s)), log_normal_fits,
        [("mean", BYTES, SOME_TIME, "", "The mean if no draw were made again."),
         ("shape", SHAPE, SHAPE, "1", "The standard deviation of the logarithm."),
         ("min", BYTES, SOME_TIME, "none", "No draw is smaller. Default: there is no least value."),
         ("max", BYTES, SOME_TIME, "none", "Every draw is smaller. Default: there is no largest value.")]),
    row!("body-and-tail", "Log-normal body, Pareto tail",
        "A draw comes from a log-normal distribution, or with probability `share` from the Pareto distribution that \
         begins at `tail_min`.",
        "Barford and Crovella 1998, section 3",
        |s| Box::new(BodyAndTail::of(s)), body_and_tail_fits,
        [("mean", BYTES, SOME_TIME, "", "The mean of the body."),
         ("shape", SHAPE, SHAPE, "1", "The standard deviation of the body's logarithm."),
         ("share", PROBABILITY, PROBABILITY, "", "The share of draws from the tail."),
         ("tail_min", BYTES, SOME_TIME, "", "The least value of the tail."),
         ("tail_shape", SHAPE_OVER_1, SHAPE_OVER_1, "", "The power by which the tail falls."),
         ("max", BYTES, SOME_TIME, "", "The largest value: a larger draw becomes this value.")]),
    row!("listed", "Listed values",
        "Each draw is one of the values, with a probability in proportion to its weight.", "",
        |s| Box::new(Listed::of(s)), weights_fit,
        [("values", Kind::List(&BYTES), Kind::List(&SOME_TIME), "", "The values."),
         ("weights", Kind::List(&WEIGHT), Kind::List(&WEIGHT), "none",
          "How often each value is drawn, relative to the others. Default: all equally often.")]),
    row!("cdf", "Points of a distribution function",
        "The share of draws that are no larger than each value; between two values a draw is equally likely \
         anywhere.", "",
        |s| Box::new(Cdf::of(s)), shares_fit,
        [("values", Kind::List(&VALUE), Kind::List(&SOME_TIME), "", "The values, in ascending order."),
         ("shares", Kind::List(&PROBABILITY), Kind::List(&PROBABILITY), "",
          "The share of draws up to each value; that of the last is 1.")]),
    row!("web-search", "Flows of a web search cluster",
        "Sizes of flows of a cluster that answers searches: 1.7 MB in the mean, half of them below 80 kB.",
        "Alizadeh et al. 2010, figure 4; the points that public simulators have",
        |_| Box::new(Cdf::known(&WEB_SEARCH)), anything, []),
    row!("data-mining", "Flows of a data-mining cluster",
        "Sizes of flows of a cluster that mines data: 12.7 MB in the mean, half of them below 1.1 kB.",
        "Greenberg et al. (VL2) 2009, figure 2; the points that public simulators have",
        |_| Box::new(Cdf::known(&DATA_MINING)), anything, []),
];

/// The name of the law of points, which a file may give.
pub const CDF: &str = "cdf";

/// The mean of the law with these settings, if it is known.
pub fn known_mean(s: &Settings) -> Option<f64> {
    let law = LAWS
        .iter()
        .find(|l| std::ptr::eq(&l.size, s.model) || std::ptr::eq(&l.pause, s.model))?;
    (law.build)(s).mean()
}

/// Sizes in bytes, and the share of transfers up to each size.
const WEB_SEARCH: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];
const DATA_MINING: [(f64, f64); 13] = [
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1_100.0, 0.5),
    (1_870.0, 0.6),
    (3_160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

const VALUE: Kind = Kind::Bytes { min: 0, max: 1 << 50 };

const WEIGHT: Kind = Kind::Real { min: 0.0, max: 1e9 };
const SHAPE: Kind = Kind::Real { min: 0.0, max: 10.0 };
const SHAPE_OVER_1: Kind = Kind::Real { min: 1.001, max: 100.0 };

/// The law among these that a parameter of these settings contains; `None` if the value is `none`.
pub fn of(laws: &[&'static Law], s: &Settings, param: &Param) -> Option<Box<dyn Draw>> {
    let own = s.nested(param.name)?;
    Some((row_of(laws, own).build)(own))
}

/// The law that a parameter always contains.
pub fn within(laws: &[&'static Law], s: &Settings, param: &Param) -> Box<dyn Draw> {
    let own = s.within(param.name);
    (row_of(laws, own).build)(own)
}

/// The law of these settings.
pub fn made(laws: &[&'static Law], own: &Settings) -> Box<dyn Draw> {
    (row_of(laws, own).build)(own)
}

/// The row of the law to which these settings belong.
fn row_of(laws: &[&'static Law], own: &Settings) -> &'static Law {
    let is = |m: &Model| std::ptr::eq(m, own.model);
    let law = laws.iter().find(|l| is(&l.size) || is(&l.pause));
    law.unwrap_or_else(|| unreachable!("{} is not in the list of laws", own.model.name))
}

/// For laws whose parameters cannot contradict each other.
pub fn anything(_: &Settings) -> Result<(), Conflict> {
    Ok(())
}

/// The conflict inside a law that a parameter of these settings contains: the parameter, and the conflict.
pub fn conflict(laws: &[&'static Law], s: &Settings) -> Option<(&'static Param, Conflict)> {
    let holds = |p: &&Param| matches!(p.kind, Kind::Model("transfer-size" | "pause"));
    let held = s.model.params.iter().filter(holds);
    held.filter_map(|p| Some((p, s.nested(p.name)?)))
        .find_map(|(param, own)| Some((param, (row_of(laws, own).check)(own).err()?)))
}

/// The value of a parameter of a law: bytes, or nanoseconds.
pub fn number(s: &Settings, param: &str) -> f64 {
    plain(s.value(param), param)
}

fn plain(value: &Value, param: &str) -> f64 {
    match value {
        Value::Count(bytes) => *bytes as f64,
        Value::Time(t) => t.0 as f64,
        v => unreachable!("{param} is declared as bytes or a time, not {v:?}"),
    }
}

struct Constant(f64);

impl Draw for Constant {
    fn mean(&self) -> Option<f64> {
        Some(self.0)
    }

    fn draw(&self, _: &mut Stream) -> f64 {
        self.0
    }
}

struct Exponential(f64);

impl Draw for Exponential {
    fn mean(&self) -> Option<f64> {
        Some(self.0)
    }

    fn draw(&self, rng: &mut Stream) -> f64 {
        rng.exponential(self.0)
    }
}

struct Pareto {
    /// The smallest value.
    least: f64,
    shape: f64,
    most: f64,
}

impl Pareto {
    fn new(mean: f64, shape: f64, most: f64) -> Pareto {
        let least = mean * (shape - 1.0) / shape;
        Pareto { least, shape, most }
    }
}

impl Draw for Pareto {
    fn draw(&self, rng: &mut Stream) -> f64 {
        // The inverse of the distribution, at a number in (0, 1].
        let u = 1.0 - rng.uniform();
        (self.least * libm::pow(u, -1.0 / self.shape)).min(self.most)
    }
}

struct Lomax {
    scale: f64,
    shape: f64,
    step: f64,
}

impl Lomax {
    fn of(s: &Settings) -> Lomax {
        let shape = s.real("shape");
        Lomax {
            scale: number(s, "mean") * (shape - 1.0),
            shape,
            step: if s.is_none("step") { 1.0 } else { number(s, "step") },
        }
    }
}

impl Draw for Lomax {
    fn draw(&self, rng: &mut Stream) -> f64 {
        let u = 1.0 - rng.uniform();
        let x = self.scale * (libm::pow(u, -1.0 / self.shape) - 1.0);
        // No result is larger than the largest transfer.
        (libm::ceil(x / self.step).max(1.0) * self.step).min((1_u64 << 50) as f64)
    }
}

fn pareto_fits(s: &Settings) -> Result<(), Conflict> {
    let law = Pareto::new(number(s, "mean"), s.real("shape"), 0.0);
    if number(s, "max") > law.least {
        return Ok(());
    }
    Err(Conflict {
        param: "max",
        value: None,
        problem: "the largest value is no more than the smallest one, mean * (shape - 1) / shape".into(),
        remedy: "give a larger max, or a smaller mean",
    })
}

struct LogNormal {
    /// Mean and standard deviation of the logarithm.
    mu: f64,
    sigma: f64,
    /// Draws outside [least, most) are repeated.
    least: f64,
    most: f64,
}

impl LogNormal {
    fn new(mean: f64, sigma: f64) -> LogNormal {
        LogNormal {
            mu: libm::log(mean) - sigma * sigma / 2.0,
            sigma,
            least: 0.0,
            most: f64::INFINITY,
        }
    }

    fn of(s: &Settings) -> LogNormal {
        let bound = |param: &str, without: f64| if s.is_none(param) { without } else { number(s, param) };
        LogNormal {
            least: bound("min", 0.0),
            most: bound("max", f64::INFINITY),
            ..LogNormal::new(number(s, "mean"), s.real("shape"))
        }
    }

    /// The share of draws that are not repeated.
    fn kept(&self) -> f64 {
        let mean_below = |x: f64| {
            if x <= 0.0 {
                0.0
            } else if self.sigma == 0.0 {
                f64::from(u8::from(libm::log(x) > self.mu))
            } else {
                let z = (libm::log(x) - self.mu) / self.sigma;
                0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
            }
        };
        mean_below(self.most) - mean_below(self.least)
    }
}

impl Draw for LogNormal {
    fn draw(&self, rng: &mut Stream) -> f64 {
        loop {
            let x = libm::exp(self.mu + self.sigma * rng.normal());
            if x >= self.least && x < self.most {
                return x;
            }
        }
    }
}

/// A law that needs a thousand draws for one result is considered a mistake.
const LEAST_KEPT: f64 = 1e-3;

fn log_normal_fits(s: &Settings) -> Result<(), Conflict> {
    let kept_share = LogNormal::of(s).kept();
    if kept_share >= LEAST_KEPT {
        return Ok(());
    }
    Err(Conflict {
        param: if s.is_none("min") { "max" } else { "min" },
        value: None,
        problem: format!(
            "only {:.2} % of the draws of this law lie between min and max",
            100.0 * kept_share
        ),
        remedy: "let min and max lie around the mean",
    })
}

struct BodyAndTail {
    body: LogNormal,
    tail: Pareto,
    share: f64,
}

impl BodyAndTail {
    fn of(s: &Settings) -> BodyAndTail {
        BodyAndTail {
            body: LogNormal::new(number(s, "mean"), s.real("shape")),
            tail: Pareto {
                least: number(s, "tail_min"),
                shape: s.real("tail_shape"),
                most: number(s, "max"),
            },
            share: s.real("share"),
        }
    }
}

impl Draw for BodyAndTail {
    fn draw(&self, rng: &mut Stream) -> f64 {
        if rng.chance(self.share) {
            self.tail.draw(rng)
        } else {
            self.body.draw(rng).min(self.tail.most)
        }
    }
}

fn body_and_tail_fits(s: &Settings) -> Result<(), Conflict> {
    if number(s, "max") > number(s, "tail_min") {
        return Ok(());
    }
    Err(Conflict {
        param: "max",
        value: None,
        problem: "the largest value is no more than the least value of the tail".into(),
        remedy: "give a larger max, or a smaller tail_min",
    })
}

struct Listed {
    values: Vec<f64>,
    /// For each value, the sum of the weights of all values up to it.
    up_to: Vec<f64>,
}

impl Listed {
    fn of(s: &Settings) -> Listed {
        let values: Vec<f64> = s.list("values").iter().map(|v| plain(v, "values")).collect();
        let mut weights = s.reals("weights");
        weights.resize(values.len(), 1.0);
        let mut sum = 0.0;
        let up_to = weights.iter().map(|w| {
            sum += w;
            sum
        });
        Listed {
            up_to: up_to.collect(),
            values,
        }
    }
}

impl Draw for Listed {
    fn mean(&self) -> Option<f64> {
        let (mut sum, mut share_before) = (0.0, 0.0);
        for (value, up_to) in self.values.iter().zip(&self.up_to) {
            sum += value * (up_to - share_before);
            share_before = *up_to;
        }
        Some(sum / share_before)
    }

    fn draw(&self, rng: &mut Stream) -> f64 {
        let last_index = self.values.len() - 1;
        let x = rng.uniform() * self.up_to[last_index];
        self.values[self.up_to.partition_point(|up_to| *up_to <= x).min(last_index)]
    }
}

fn weights_fit(s: &Settings) -> Result<(), Conflict> {
    let (values, weights) = (s.list("values").len(), s.reals("weights"));
    let wrong = |param: &'static str, problem: String, remedy: &'static str| {
        Err(Conflict {
            param,
            value: None,
            problem,
            remedy,
        })
    };
    if !s.is_none("weights") && weights.len() != values {
        let problem = format!("{} weights are given for {values} values", weights.len());
        return wrong("weights", problem, "give a weight for each value, or leave weights out");
    }
    if !s.is_none("weights") && weights.iter().sum::<f64>() <= 0.0 {
        return wrong(
            "weights",
            "all weights are zero".into(),
            "give the values that are drawn a weight",
        );
    }
    Ok(())
}

/// Draws by the inverse of a distribution function that is linear between points.
struct Cdf {
    points: Vec<(f64, f64)>,
}

impl Cdf {
    fn of(s: &Settings) -> Cdf {
        let values = s.list("values").iter().map(|v| plain(v, "values"));
        let shares = s.reals("shares");
        Cdf {
            points: values.zip(shares).collect(),
        }
    }

    fn known(points: &[(f64, f64)]) -> Cdf {
        Cdf {
            points: points.to_vec(),
        }
    }
}

impl Draw for Cdf {
    fn draw(&self, rng: &mut Stream) -> f64 {
        let probability = rng.uniform();
        let last = self.points.len() - 1;
        let above = self.points.partition_point(|p| p.1 <= probability).min(last);
        let (value, share) = self.points[above];
        match above.checked_sub(1).map(|i| self.points[i]) {
            Some((below, to)) if share > to => below + (value - below) * (probability - to) / (share - to),
            _ => value,
        }
    }

    fn mean(&self) -> Option<f64> {
        let first_part = self.points.first().map_or(0.0, |p| p.0 * p.1);
        let between = self
            .points
            .windows(2)
            .map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0);
        Some(first_part + between.sum::<f64>())
    }
}

fn shares_fit(s: &Settings) -> Result<(), Conflict> {
    let values: Vec<f64> = s.list("values").iter().map(|v| plain(v, "values")).collect();
    let shares = s.reals("shares");
    let wrong = |param: &'static str, problem: String, remedy: &'static str| {
        Err(Conflict {
            param,
            value: None,
            problem,
            remedy,
        })
    };
    if values.len() != shares.len() || values.is_empty() {
        let problem = format!("{} shares are given for {} values", shares.len(), values.len());
        return wrong("shares", problem, "give the share of draws up to each value");
    }
    if values.windows(2).any(|w| w[1] < w[0]) || shares.windows(2).any(|w| w[1] < w[0]) {
        return wrong(
            "values",
            "a value or a share is smaller than the one before".into(),
            "write values and shares in ascending order",
        );
    }
    if shares.last().is_none_or(|s| (s - 1.0).abs() > 1e-9) {
        return wrong(
            "shares",
            "the last share is not 1".into(),
            "let the last share be 1, for the largest value",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
