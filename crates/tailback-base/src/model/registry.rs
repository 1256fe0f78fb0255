//! Rows by name: one list for each kind of thing that a scenario can name, one look-up, and one message.
//!
//! ```
//! use tailback_base::model::{Registered, Model, Registry};
//!
//! struct Shape {
//!     model: &'static Model,
//!     corners: u32,
//! }
//! impl Registered for Shape {
//!     const FAMILY: &'static str = "shape";
//!     const WHAT: &'static str = "shape";
//!     fn model(&self) -> &'static Model {
//!         self.model
//!     }
//! }
//! static SQUARE: Model = Model {
//!     name: "square",
//!     family: "shape",
//!     title: "Square",
//!     summary: "Four corners.",
//!     source: "",
//!     params: &[],
//!     probes: &[],
//! };
//! let shapes = Registry::new([Shape { model: &SQUARE, corners: 4 }]);
//! assert_eq!(shapes.row("square").map(|s| s.corners), Ok(4));
//! let refused = shapes.row("circle").err().map(|e| e.problem);
//! assert_eq!(refused.as_deref(), Some("the library of this run cannot build the shape \"circle\""));
//! ```

use super::{Family, Model};
use crate::quantity::Refusal;
use std::ops::Deref;

/// A row of a list: a model, and the function that builds it.
pub trait Registered {
    /// The family of its model, which says where a scenario may name the model.
    const FAMILY: &'static str;
    /// Its name in messages.
    const WHAT: &'static str;
    fn model(&self) -> &'static Model;
}

impl<R: Registered> Registered for &'static R {
    const FAMILY: &'static str = R::FAMILY;
    const WHAT: &'static str = R::WHAT;
    fn model(&self) -> &'static Model {
        (**self).model()
    }
}

/// The rows of one kind, in the order the reference shows them.
#[derive(Clone, Debug)]
pub struct Registry<R>(Vec<R>);

impl<R> Deref for Registry<R> {
    type Target = [R];

    fn deref(&self) -> &[R] {
        &self.0
    }
}

impl<R: Registered> Registry<R> {
    pub fn new(rows: impl IntoIterator<Item = R>) -> Registry<R> {
        Registry(rows.into_iter().collect())
    }

    /// Add a row, so that scenarios can name its model.
    pub fn add(&mut self, row: R) {
        self.0.push(row);
    }

    /// The row of the model of this name.
    ///
    /// # Errors
    /// A model of another list.
    pub fn row(&self, name: &str) -> Result<&R, Refusal> {
        self.0.iter().find(|r| R::model(r).name == name).ok_or_else(|| {
            let problem = format!("the library of this run cannot build the {} \"{name}\"", R::WHAT);
            Refusal::new(problem, "give the run the library with which the scenario was read")
        })
    }

    pub fn models(&self) -> Vec<&'static Model> {
        self.0.iter().map(R::model).collect()
    }

    /// All rows, under the title that the reference gives them.
    pub fn family(&self, title: &'static str) -> Family {
        Family::new(R::FAMILY, title, self.models())
    }
}
