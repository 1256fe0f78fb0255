//! A kind as data, for programs that show values and input fields for them. The words for people are [`Kind::allowed`].

use super::kind::{Kind, Per};

/// The values of a parameter, as data.
///
/// ```
/// use tailback_base::model::Kind;
///
/// let time = Kind::Time { min: 0.0, max: f64::INFINITY }.data();
/// assert_eq!((time.of, time.least, time.most), ("time", Some(0.0), None));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KindData {
    /// The type of one value: `flag`, `count`, `number`, `time`, `rate`, `size`, `level`, `bytes`, `code-point`,
    /// `choice`, `text`, `model`, `profile` or `tables`.
    pub of: &'static str,
    /// Whether a list is allowed instead of one value. The inner value is the subject of each item, if the kind names
    /// one.
    pub list: Option<Option<Per>>,
    /// The bound in s, bit/s or bytes, or without a unit; `None` if the declaration has no bound.
    pub least: Option<f64>,
    pub most: Option<f64>,
    /// The words of a choice, and the names of profiles that are built in.
    pub words: Vec<&'static str>,
    /// The family of a model or of named tables.
    pub family: Option<&'static str>,
}

/// A bound from this number on means "unlimited".
const NO_BOUND: f64 = 1e17;

impl Kind {
    /// The kind as data, without words for people.
    pub fn data(&self) -> KindData {
        let plain = |of| KindData {
            of,
            list: None,
            least: None,
            most: None,
            words: vec![],
            family: None,
        };
        let bound = |x: f64| (x.abs() < NO_BOUND).then_some(x);
        let numeric_kind = |of, min, max| KindData {
            least: bound(min),
            most: bound(max),
            ..plain(of)
        };
        match *self {
            Kind::Bool => plain("flag"),
            Kind::Count { min, max } => numeric_kind("count", min as f64, max as f64),
            Kind::Real { min, max } => numeric_kind("number", min, max),
            Kind::Time { min, max } => numeric_kind("time", min, max),
            Kind::Rate { min, max } => numeric_kind("rate", min, max),
            Kind::Bytes { min, max } => numeric_kind("bytes", min as f64, max as f64),
            Kind::Size => plain("size"),
            Kind::Level => plain("level"),
            Kind::CodePoint => plain("code-point"),
            Kind::Text => plain("text"),
            Kind::Choice(words) => KindData {
                words: words.to_vec(),
                ..plain("choice")
            },
            Kind::Profile(list) => KindData {
                words: list.iter().map(|p| p.name).collect(),
                ..plain("profile")
            },
            Kind::Model(family) => KindData {
                family: Some(family),
                ..plain("model")
            },
            Kind::Named(family) => KindData {
                family: Some(family),
                ..plain("tables")
            },
            Kind::Each(per, kind) => KindData {
                list: Some(Some(per)),
                ..kind.data()
            },
            Kind::List(kind) => KindData {
                list: Some(None),
                ..kind.data()
            },
        }
    }
}

impl Per {
    /// One word for the subject of each item of a list.
    pub fn word(self) -> &'static str {
        match self {
            Per::Flow => "flow",
            Per::Change => "change",
            Per::Colour => "colour",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_bounds_and_words_of_its_items() {
        const SHARE: Kind = Kind::Real { min: 0.0, max: 1.0 };
        let each = Kind::Each(Per::Colour, &SHARE).data();
        assert_eq!((each.of, each.list), ("number", Some(Some(Per::Colour))));
        assert_eq!((each.least, each.most), (Some(0.0), Some(1.0)));
        let several = Kind::List(&Kind::Choice(&["a", "b"])).data();
        assert_eq!((several.list, several.words), (Some(None), vec!["a", "b"]));
        let unbounded = Kind::Count { min: 1, max: u64::MAX }.data();
        assert_eq!((unbounded.least, unbounded.most), (Some(1.0), None));
    }
}
