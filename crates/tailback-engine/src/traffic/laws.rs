//! Laws that sizes of transfers and lengths of pauses are drawn from: the models of the families `transfer-size` (bytes)
//! and `pause` (time), and a row for each.
//!
//! A law has a mean and, where its form is not fixed by that, a shape. Sizes are counted in bytes, pauses in nanoseconds;
//! results are rounded to whole ones.

use crate::kinds::SOME_TIME;
use tailback_base::{Kind, Model, Param, Settings, Stream, Value};

const BYTES: Kind = Kind::Bytes { min: 1, max: 1 << 50 };

/// A distribution of positive numbers.
pub trait Draw {
    fn draw(&self, rng: &mut Stream) -> f64;

    /// A draw as a whole number, at least 1.
    fn whole(&self, rng: &mut Stream) -> u64 {
        (libm::round(self.draw(rng)) as u64).max(1)
    }
}

/// A law: its two models, and how it is made. Sizes are drawn in bytes, pauses in nanoseconds.
pub struct Law {
    /// Of the family `transfer-size`.
    pub size: Model,
    /// Of the family `pause`.
    pub pause: Model,
    pub build: fn(&Settings) -> Box<dyn Draw>,
}

/// The same declaration for bytes and for times.
macro_rules! row {
    ($name:literal, $title:literal, $summary:literal, $source:literal, $build:expr,
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
        }
    };
}

/// Every law that tailback ships, in the order the reference shows them.
#[rustfmt::skip]
pub static LAWS: [Law; 4] = [
    row!("constant", "Always the same", "Every draw is the mean.", "",
        |s| Box::new(Constant(number(s, "mean"))),
        [("mean", BYTES, SOME_TIME, "", "The value.")]),
    row!("exponential", "Exponential", "The exponential distribution.", "",
        |s| Box::new(Exponential(number(s, "mean"))),
        [("mean", BYTES, SOME_TIME, "", "The mean.")]),
    row!("pareto", "Pareto, bounded",
        "The Pareto distribution, whose tail falls as a power; draws beyond `max` become `max`.", "",
        |s| Box::new(Pareto::new(number(s, "mean"), s.real("shape"), number(s, "max"))),
        [("mean", BYTES, SOME_TIME, "", "The mean before draws are bounded."),
         ("shape", SHAPE_OVER_1, SHAPE_OVER_1, "1.5", "The power by which the tail falls; the smaller, the heavier."),
         ("max", BYTES, SOME_TIME, "", "The largest value.")]),
    row!("log-normal", "Log-normal", "The logarithm of a draw has a normal distribution.", "",
        |s| Box::new(LogNormal::new(number(s, "mean"), s.real("shape"))),
        [("mean", BYTES, SOME_TIME, "", "The mean."),
         ("shape", SHAPE, SHAPE, "1", "The standard deviation of the logarithm.")]),
];

const SHAPE: Kind = Kind::Real { min: 0.0, max: 10.0 };
const SHAPE_OVER_1: Kind = Kind::Real { min: 1.001, max: 100.0 };

/// The law, of these, that a parameter of these settings holds; none where it says `none`.
pub fn of(laws: &[&'static Law], s: &Settings, param: &str) -> Option<Box<dyn Draw>> {
    let own = s.nested(param)?;
    let is = |m: &Model| std::ptr::eq(m, own.model);
    let law = laws.iter().find(|l| is(&l.size) || is(&l.pause));
    let law = law.unwrap_or_else(|| unreachable!("{} is not in the list of laws", own.model.name));
    Some((law.build)(own))
}

/// The value of a parameter of a law: bytes, or nanoseconds.
pub fn number(s: &Settings, param: &str) -> f64 {
    match s.get(param) {
        Value::Count(bytes) => *bytes as f64,
        Value::Time(t) => t.0 as f64,
        v => unreachable!("{param} is declared as bytes or a time, not {v:?}"),
    }
}

struct Constant(f64);

impl Draw for Constant {
    fn draw(&self, _: &mut Stream) -> f64 {
        self.0
    }
}

struct Exponential(f64);

impl Draw for Exponential {
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

struct LogNormal {
    /// Mean and standard deviation of the logarithm.
    mu: f64,
    sigma: f64,
}

impl LogNormal {
    fn new(mean: f64, sigma: f64) -> LogNormal {
        let mu = libm::log(mean) - sigma * sigma / 2.0;
        LogNormal { mu, sigma }
    }
}

impl Draw for LogNormal {
    fn draw(&self, rng: &mut Stream) -> f64 {
        // Box and Muller 1958; the second number of the pair is not kept, so that a draw takes two uniforms always.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.uniform()));
        let normal = radius * libm::cos(2.0 * std::f64::consts::PI * rng.uniform());
        libm::exp(self.mu + self.sigma * normal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(law: &dyn Draw, n: u32) -> f64 {
        let mut rng = Stream::new(7, "law");
        (0..n).map(|_| law.draw(&mut rng)).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn laws_have_their_means() {
        assert_eq!(mean(&Constant(10_000.0), 3), 10_000.0);
        for (law, tolerance) in [
            (&Exponential(10_000.0) as &dyn Draw, 0.01),
            (&Pareto::new(10_000.0, 3.0, 1e12), 0.01),
            (&LogNormal::new(10_000.0, 1.0), 0.01),
        ] {
            let m = mean(law, 400_000);
            assert!((m / 10_000.0 - 1.0).abs() < tolerance, "{m}");
        }
    }

    /// Cut at b, with the least value a and shape k, the mean is (k a - a^k b^(1-k)) / (k - 1).
    #[test]
    fn a_bounded_pareto_keeps_to_its_closed_form() {
        let law = Pareto::new(10_000.0, 1.5, 200_000.0);
        let (a, b, k) = (law.least, law.most, law.shape);
        let expected = (k * a - libm::pow(a, k) * libm::pow(b, 1.0 - k)) / (k - 1.0);
        let m = mean(&law, 400_000);
        assert!((m / expected - 1.0).abs() < 0.01, "{m} {expected}");
        let mut rng = Stream::new(1, "law");
        assert!((0..100_000).all(|_| (a..=b).contains(&law.draw(&mut rng))));
    }
}
