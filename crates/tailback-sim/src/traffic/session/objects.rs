//! The number of objects of a page in addition to its main object: the models of the family `object-count`, and their
//! draws.

use crate::traffic::conflict::Conflict;
use tailback_base::{Key, Kind, Model, Settings, Stream, choice, params};

const MOST: f64 = 1e6;

pub static CONSTANT: Model = Model {
    name: "constant",
    family: "object-count",
    title: "Always the same",
    summary: "Every page has the same number of embedded objects.",
    source: "",
    params: CONSTANT_PARAMS,
    probes: &[],
};

params! {
    const CONSTANT_PARAMS;

    OBJECTS: u64 = Key::new("objects", Kind::Count { min: 0, max: MOST as u64 }, "",
        "Number of embedded objects of each page.", "");
}

pub static PARETO: Model = Model {
    name: "pareto",
    family: "object-count",
    title: "Pareto, less its least value",
    summary: "A draw from the Pareto distribution (at most `max`) minus `min`, as a whole number.",
    source: "",
    params: PARETO_PARAMS,
    probes: &[],
};

choice! {
    enum Rounding {
        Nearest = "nearest",
        Down = "down",
    }
    enum CountedObjects {
        Embedded = "embedded",
        All = "all",
    }
}

params! {
    const PARETO_PARAMS;

    MIN: f64 = Key::new("min", Kind::Real { min: 0.001, max: MOST }, "", "The least value of the distribution.", "");
    SHAPE: f64 = Key::new("shape", Kind::Real { min: 0.001, max: 100.0 }, "",
        "The power by which the tail falls; the smaller, the heavier.", "");
    MAX: f64 = Key::new("max", Kind::Real { min: 0.001, max: MOST }, "1000000",
        "The largest value: a larger draw becomes this value.", "");
    ROUNDING: Rounding = Key::choice("rounding", "nearest", "How the difference is rounded to a whole number.", "");
    COUNTS: CountedObjects = Key::choice("counts", "embedded",
        "What is counted: the draw minus `min` is the number of embedded objects; or the draw, rounded up, is the \
         number of all objects, including the main one.", "");
}

/// Every model, in the order of the reference page.
pub fn models() -> Vec<&'static Model> {
    vec![&CONSTANT, &PARETO]
}

/// The approximate mean number of embedded objects; the cut at the largest number is ignored.
pub fn mean(s: &Settings) -> f64 {
    if let Some(objects) = s.find_key(&OBJECTS) {
        return objects as f64;
    }
    let (least, shape) = (s.get(&MIN), s.get(&SHAPE).max(1.01));
    (least * shape / (shape - 1.0)).min(s.get(&MAX))
}

/// A distribution of numbers of objects.
pub enum Objects {
    Constant(u64),
    Pareto {
        least: f64,
        shape: f64,
        most: f64,
        whole: fn(f64) -> f64,
        with_main: bool,
    },
}

impl Objects {
    /// From the settings of one of the models.
    pub fn new(s: &Settings) -> Objects {
        if let Some(objects) = s.find_key(&OBJECTS) {
            return Objects::Constant(objects);
        }
        Objects::Pareto {
            least: s.get(&MIN),
            shape: s.get(&SHAPE),
            most: s.get(&MAX),
            whole: match s.get(&ROUNDING) {
                Rounding::Nearest => libm::round,
                Rounding::Down => libm::floor,
            },
            with_main: s.get(&COUNTS) == CountedObjects::All,
        }
    }

    pub fn draw(&self, rng: &mut Stream) -> u64 {
        match self {
            Objects::Constant(n) => *n,
            Objects::Pareto {
                least,
                shape,
                most,
                whole,
                with_main,
            } => {
                // The inverse of the distribution, at a number in (0, 1].
                let u = 1.0 - rng.uniform();
                let x = (least * libm::pow(u, -1.0 / shape)).min(*most);
                if *with_main {
                    return (libm::ceil(x) as u64).saturating_sub(1);
                }
                whole((x - least).max(0.0)) as u64
            }
        }
    }
}

/// Finds values that contradict each other.
pub fn check(s: &Settings) -> Result<(), Conflict> {
    if s.find_key(&MAX).is_none_or(|most| most > s.get(&MIN)) {
        return Ok(());
    }
    Err(Conflict {
        param: "objects",
        value: None,
        problem: "the largest number of objects is no more than the least value of the distribution".into(),
        remedy: "give objects a larger max, or a smaller min",
    })
}
