//! Declarations: every parameter of every model is written down once, as data.
//!
//! A [`Model`] names a discipline, a transport, a traffic source or a table of the scenario file, and lists its
//! [`Param`]s with kind, range, default, one sentence and source. The scenario schema, `tailback describe`, the
//! reference pages and the error messages are generated from this declaration. [`Settings`] contains the checked values
//! from which a model is built. A parameter may itself be a model ([`Kind::Model`]), so that models nest to any depth:
//! an AQM behind a scheduler, a congestion control in a transport. A [`Catalogue`] lists the models of each family.

mod alias;
mod catalogue;
mod join;
mod key;
mod kind;
mod kind_data;
mod probe;
mod profile;
mod raw;
mod registry;
mod settings;

pub use crate::nearest::{article, nearest, with_nearest};
pub use alias::Alias;
pub use catalogue::{Catalogue, Family};
pub use join::{joined, total};
pub use key::{Choice, Key, Typed};
pub use kind::{Kind, Per};
pub use kind_data::KindData;
pub use probe::Probe;
pub use profile::{NamedValues, Profile};
pub use raw::Raw;
pub use registry::{Registered, Registry};
pub use settings::{Settings, Value};

use crate::quantity::Refusal;

/// A model that a scenario can name.
#[derive(Debug)]
pub struct Model {
    /// The name in a scenario, such as `red`.
    pub name: &'static str,
    /// The family: `queue`, `transport`, `traffic`, or a table of the scenario such as `link`.
    pub family: &'static str,
    /// The full name, such as `Random Early Detection`.
    pub title: &'static str,
    /// Its description and its reason, in a few sentences.
    pub summary: &'static str,
    /// Paper or RFC, with section.
    pub source: &'static str,
    pub params: &'static [Param],
    pub probes: &'static [ProbeDef],
}

/// One parameter of a model.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
    /// The default as a user would write it. It is empty if the user must give a value, and `none` if absence has a
    /// meaning.
    pub default: &'static str,
    /// One sentence on its effect.
    pub doc: &'static str,
    /// The source of the default or the rule, with section. It may be empty for a parameter without a rule.
    pub source: &'static str,
    /// The name of the parameter in other programs; empty if they have no other name. A message about that name gives
    /// the name here.
    pub elsewhere: &'static str,
}

/// A quantity of a model that can be recorded.
#[derive(Debug, Clone, Copy)]
pub struct ProbeDef {
    pub name: &'static str,
    pub unit: &'static str,
    pub doc: &'static str,
    /// The subject of an index (`queue`, `colour`); empty for a single value.
    pub per: &'static str,
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
            elsewhere: "",
        }
    }

    /// The parameter itself, like that of a [`Key`].
    pub const fn declared(&self) -> Param {
        *self
    }

    /// The declared default, checked like a user's value; `None` if the user must give a value.
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

    /// Its named sets of values, from the parameter of [`Kind::Profile`]; empty if it has no such parameter.
    pub fn profiles(&self) -> &'static [Profile] {
        let of = |p: &Param| match p.kind {
            Kind::Profile(list) => Some(list),
            _ => None,
        };
        self.params.iter().find_map(of).unwrap_or(&[])
    }
}
