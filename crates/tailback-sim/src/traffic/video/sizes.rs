//! The variation of the sizes of video frames: the models of the family `frame-size`. Each draws a factor whose mean is
//! 1.

use crate::traffic::conflict::Conflict;
use tailback_base::{Key, Kind, Model, Settings, Stream, params};

const COEFFICIENT: Kind = Kind::Real { min: 0.0, max: 10.0 };

pub static LOG_NORMAL: Model = Model {
    name: "log-normal",
    family: "frame-size",
    title: "Log-normal",
    summary: "The logarithm of a size has a normal distribution.",
    source: "",
    params: LOG_NORMAL_PARAMS,
    probes: &[],
};

params! {
    const LOG_NORMAL_PARAMS;

    I: f64 = Key::new("i", COEFFICIENT, "0.2", "The coefficient of variation of the sizes of I frames.", "");
    P: f64 = Key::new("p", COEFFICIENT, "0.3", "The coefficient of variation of the sizes of P frames.", "");
}

pub static WEIBULL: Model = Model {
    name: "weibull",
    family: "frame-size",
    title: "Weibull",
    summary: "The Weibull distribution.",
    source: "IEEE 802.11-14/0571r12, section on buffered video streaming",
    params: WEIBULL_PARAMS,
    probes: &[],
};

params! {
    const WEIBULL_PARAMS;

    SHAPE: f64 = Key::new("shape", Kind::Real { min: 0.1, max: 100.0 }, "0.8099",
        "Its shape; below 1 the tail is heavier than that of an exponential distribution.", "");
}

pub static GAUSSIAN: Model = Model {
    name: "gaussian",
    family: "frame-size",
    title: "Normal, bounded",
    summary: "The normal distribution; draws outside `min` to `max` are made again.",
    source: "3GPP TR 38.838, section 5.1",
    params: GAUSSIAN_PARAMS,
    probes: &[],
};

params! {
    const GAUSSIAN_PARAMS;

    VARIATION: f64 = Key::new("variation", COEFFICIENT, "0.105", "Its standard deviation, as a share of the mean.", "");
    MIN: f64 = Key::new("min", Kind::Real { min: 0.0, max: 1.0 }, "0.5", "The least size, as a share of the mean.", "");
    MAX: f64 = Key::new("max", Kind::Real { min: 1.0, max: 100.0 }, "1.5",
        "The largest size, as a share of the mean.", "");
}

pub static LAPLACE: Model = Model {
    name: "laplace",
    family: "frame-size",
    title: "Laplace",
    summary: "One plus a value of the Laplace distribution around 0; draws that give no positive size are made again.",
    source: "RFC 8593 section 5.1",
    params: LAPLACE_PARAMS,
    probes: &[],
};

params! {
    const LAPLACE_PARAMS;

    SCALE: f64 = Key::new("scale", Kind::Real { min: 0.0, max: 0.3 }, "0.15",
        "Its scale; the coefficient of variation is the square root of 2, times this.", "RFC 8593 table 1");
}

/// Every model, in the order of the reference page.
pub fn models() -> Vec<&'static Model> {
    vec![&LOG_NORMAL, &WEIBULL, &GAUSSIAN, &LAPLACE]
}

/// A frame on which the rest of its group builds, or one that builds on earlier frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    I,
    P,
}

/// A distribution of factors.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    /// Standard deviations of the logarithm, of I and P frames.
    LogNormal([f64; 2]),
    /// Scale and shape.
    Weibull(f64, f64),
    /// Standard deviation and bounds.
    Gaussian(f64, [f64; 2]),
    /// Scale.
    Laplace(f64),
}

impl Factor {
    /// From the settings of one of the models.
    pub fn new(s: &Settings) -> Factor {
        if std::ptr::eq(s.model, &LOG_NORMAL) {
            return Factor::LogNormal([I, P].map(|key| {
                let v = s.get(&key);
                libm::sqrt(libm::log(1.0 + v * v))
            }));
        }
        if std::ptr::eq(s.model, &WEIBULL) {
            let shape = s.get(&SHAPE);
            return Factor::Weibull(1.0 / libm::tgamma(1.0 + 1.0 / shape), shape);
        }
        if std::ptr::eq(s.model, &LAPLACE) {
            return Factor::Laplace(s.get(&SCALE));
        }
        Factor::Gaussian(s.get(&VARIATION), [s.get(&MIN), s.get(&MAX)])
    }

    pub fn draw(&self, sort: Sort, rng: &mut Stream) -> f64 {
        match self {
            Factor::LogNormal(sigmas) => {
                let sigma = sigmas[sort as usize];
                libm::exp(sigma * rng.normal() - sigma * sigma / 2.0)
            }
            Factor::Weibull(scale, shape) => scale * libm::pow(rng.exponential(1.0), 1.0 / shape),
            Factor::Laplace(scale) => loop {
                let x = 1.0 + scale * (rng.exponential(1.0) - rng.exponential(1.0));
                if x > 0.0 {
                    return x;
                }
            },
            Factor::Gaussian(sd, [min, max]) => loop {
                let x = 1.0 + sd * rng.normal();
                if (*min..=*max).contains(&x) {
                    return x;
                }
            },
        }
    }
}

/// Refuse bounds that hardly any draw satisfies.
pub fn check(s: &Settings) -> Result<(), Conflict> {
    let is_gaussian = std::ptr::eq(s.model, &GAUSSIAN);
    if !is_gaussian || s.get(&MAX) - s.get(&MIN) >= 0.01 * s.get(&VARIATION) {
        return Ok(());
    }
    Err(Conflict {
        param: "frames",
        value: None,
        problem: "min and max of the frame sizes leave hardly any room, so that nearly every draw is made again".into(),
        remedy: "let min and max of frames lie farther apart, or give a smaller variation",
    })
}
