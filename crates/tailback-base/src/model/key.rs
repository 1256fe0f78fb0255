//! Keys: a parameter with the type of its value.
//!
//! A model's parameter is declared once, as a [`Key`]. Code reads its value by that key, so the name is written only
//! once, and reading a value as another type than the declared one does not compile.
//!
//! ```
//! use tailback_base::model::{Key, Model, Settings};
//! use tailback_base::{Duration, Kind};
//!
//! const TARGET: Key<Duration> = Key::new(
//!     "target",
//!     Kind::Time { min: 0.0, max: 100.0 },
//!     "5ms",
//!     "Standing delay that is acceptable.",
//!     "RFC 8289 section 4.4",
//! );
//! static MODEL: Model = Model {
//!     name: "mine",
//!     family: "queue",
//!     title: "Mine",
//!     summary: "Waits for a target.",
//!     source: "",
//!     params: &[TARGET.param],
//!     probes: &[],
//! };
//! let settings = Settings::defaults(&MODEL).with("target", "7ms");
//! assert_eq!(settings.get(&TARGET), Duration::from_millis(7));
//! ```
//!
//! The compiler refuses a time that is declared as a number, and a word without a meaning:
//!
//! ```compile_fail,E0080
//! # use tailback_base::model::Key;
//! # use tailback_base::{Duration, Kind};
//! const TARGET: Key<Duration> = Key::new("target", Kind::Real { min: 0.0, max: 1.0 }, "0.5", "", "");
//! ```
//!
//! ```compile_fail,E0080
//! # use tailback_base::model::{Key, Kind};
//! # use tailback_base::Colour;
//! const COLOUR: Key<Colour> = Key::new("colour", Kind::Choice(&["green", "blue"]), "green", "", "");
//! ```

use super::settings::Value;
use super::{Kind, Param};
use crate::code_point::Dscp;
use crate::quantity::{BitRate, Level, Size};
use crate::time::Duration;
use std::marker::PhantomData;
use std::ops::Deref;

/// A parameter whose value is a `T`: `bool`, `u64`, `u32` (if no value exceeds it), `f64`, [`Duration`], [`BitRate`],
/// [`Size`], [`Level`], [`Dscp`], `String`, a [`Choice`], an `Option` of one of them if the default is `none`, or a
/// `Vec` if the parameter is a list.
#[derive(Debug)]
pub struct Key<T> {
    pub param: Param,
    of: PhantomData<fn() -> T>,
}

impl<T> Deref for Key<T> {
    type Target = Param;

    fn deref(&self) -> &Param {
        &self.param
    }
}

impl<T: Typed> Key<T> {
    /// A parameter of this kind. A kind whose values are not of type `T` does not compile.
    pub const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
        source: &'static str,
    ) -> Key<T> {
        assert!(
            T::SHAPE.fits(&kind, default),
            "the values of this kind are of another type"
        );
        Key {
            param: Param::new(name, kind, default, doc, source),
            of: PhantomData,
        }
    }
}

impl<T> Key<T> {
    /// The parameter, without the type of its value.
    pub const fn declared(&self) -> Param {
        self.param
    }
}

impl<T: Typed> Key<T> {
    /// The same parameter with another default and another source for it.
    pub const fn with_default(&self, default: &'static str, source: &'static str) -> Key<T> {
        Key::new(self.param.name, self.param.kind, default, self.param.doc, source)
    }

    /// The same parameter with another sentence, for another table.
    pub const fn with_doc(&self, doc: &'static str) -> Key<T> {
        Key {
            param: Param { doc, ..self.param },
            of: PhantomData,
        }
    }

    /// The same parameter, which other programs call by this name.
    pub const fn called_elsewhere(&self, elsewhere: &'static str) -> Key<T> {
        Key {
            param: Param {
                elsewhere,
                ..self.param
            },
            of: PhantomData,
        }
    }

    /// The same parameter with values of another kind, such as one for each colour.
    pub const fn of_kind<U: Typed>(&self, kind: Kind) -> Key<U> {
        Key::new(
            self.param.name,
            kind,
            self.param.default,
            self.param.doc,
            self.param.source,
        )
    }
}

impl<T: Choice> Key<T> {
    /// A parameter whose values are the words of a [`Choice`].
    pub const fn choice(name: &'static str, default: &'static str, doc: &'static str, source: &'static str) -> Key<T> {
        Key::new(name, Kind::Choice(T::WORDS), default, doc, source)
    }
}

/// The type of a value, as far as a declaration is checked against it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    of: Of,
    many: bool,
    optional: bool,
}

#[derive(Clone, Copy, Debug)]
enum Of {
    Flag,
    Count,
    /// A count that always fits in a `u32`.
    Small,
    Real,
    Time,
    Rate,
    Size,
    Level,
    Text,
    CodePoint,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Shape {
    const fn one(of: Of) -> Shape {
        Shape {
            of,
            many: false,
            optional: false,
        }
    }

    const fn optional(self) -> Shape {
        Shape { optional: true, ..self }
    }

    const fn many(self) -> Shape {
        Shape { many: true, ..self }
    }

    /// Whether values of this kind have this shape. A list may be absent; then it is empty.
    const fn fits(self, kind: &Kind, default: &str) -> bool {
        if let Kind::Each(_, kind) | Kind::List(kind) = kind {
            return self.many && self.is_of(kind);
        }
        !self.many && self.is_of(kind) && self.optional == is_none(default)
    }

    const fn is_of(self, kind: &Kind) -> bool {
        match (self.of, kind) {
            (Of::Small, Kind::Count { max, .. } | Kind::Bytes { max, .. }) => *max <= u32::MAX as u64,
            (Of::Flag, Kind::Bool)
            | (Of::Count, Kind::Count { .. } | Kind::Bytes { .. })
            | (Of::Real, Kind::Real { .. })
            | (Of::Time, Kind::Time { .. })
            | (Of::Rate, Kind::Rate { .. })
            | (Of::Size, Kind::Size)
            | (Of::Level, Kind::Level)
            | (Of::CodePoint, Kind::CodePoint)
            | (Of::Text, Kind::Choice(_) | Kind::Text) => true,
            (Of::Word(known), Kind::Choice(words)) => are_among(words, known),
            _ => false,
        }
    }
}

/// Whether all of these words are known.
const fn are_among(words: &[&str], known: &[&str]) -> bool {
    let mut i = 0;
    while i < words.len() {
        let mut j = 0;
        while j < known.len() && !are_equal(words[i].as_bytes(), known[j].as_bytes()) {
            j += 1;
        }
        if j == known.len() {
            return false;
        }
        i += 1;
    }
    true
}

const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

const fn is_none(default: &str) -> bool {
    matches!(default.as_bytes(), b"none")
}

/// A type that the values of a parameter may have.
pub trait Typed: Sized {
    const SHAPE: Shape;
    /// The value; `None` if it has another type.
    fn of(value: &Value) -> Option<Self>;
}

macro_rules! typed {
    ($($type:ty = $of:ident;)*) => {$(
        impl Typed for $type {
            const SHAPE: Shape = Shape::one(Of::$of);
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::$of(x) => Some(x.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

typed! {
    bool = Flag;
    u64 = Count;
    f64 = Real;
    Duration = Time;
    BitRate = Rate;
    Size = Size;
    Level = Level;
    String = Text;
}

impl Typed for u32 {
    const SHAPE: Shape = Shape::one(Of::Small);
    fn of(value: &Value) -> Option<Self> {
        u64::of(value)?.try_into().ok()
    }
}

impl Typed for Dscp {
    const SHAPE: Shape = Shape::one(Of::CodePoint);
    fn of(value: &Value) -> Option<Self> {
        u8::try_from(u64::of(value)?).ok().map(Dscp)
    }
}

impl<T: Typed> Typed for Option<T> {
    const SHAPE: Shape = T::SHAPE.optional();
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

impl<T: Typed> Typed for Vec<T> {
    const SHAPE: Shape = T::SHAPE.many();
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(vec![]),
            Value::List(all) => all.iter().map(T::of).collect(),
            one => T::of(one).map(|x| vec![x]),
        }
    }
}

/// One of a few words, each with a meaning. It is declared with [`choice!`](crate::choice).
pub trait Choice: Copy + 'static {
    /// The words as a scenario writes them, in the order of their meanings.
    const WORDS: &'static [&'static str];
    const MEANINGS: &'static [Self];

    /// The word for a meaning.
    fn word(self) -> &'static str
    where
        Self: PartialEq,
    {
        let mut pairs = Self::WORDS.iter().zip(Self::MEANINGS);
        let own = pairs.find(|(_, meaning)| **meaning == self);
        own.map_or_else(
            || panic!("a meaning without a word beside {:?}", Self::WORDS),
            |(word, _)| word,
        )
    }
}

impl<T: Choice> Typed for T {
    const SHAPE: Shape = {
        assert!(T::WORDS.len() == T::MEANINGS.len(), "each word has one meaning");
        Shape::one(Of::Word(T::WORDS))
    };
    fn of(value: &Value) -> Option<Self> {
        let Value::Text(word) = value else { return None };
        let i = T::WORDS.iter().position(|w| w == word)?;
        T::MEANINGS.get(i).copied()
    }
}

/// The parameters of a model, each declared once: a [`Key`] with the type of its value, and the list of all of them
/// in this order.
///
/// A name alone is a key or a [`Param`] that is declared elsewhere. A parameter without a type, which contains a model
/// or a profile, is a [`Param`]. Without the first line there is no list.
///
/// ```
/// use tailback_base::{Duration, Key, Kind, Param, params};
///
/// const LIMIT: Key<u32> = Key::new("limit", Kind::Count { min: 1, max: 100 }, "10", "How many may wait.", "");
///
/// params! {
///     /// What a scenario may say of it.
///     pub const PARAMS;
///     TARGET: Duration = Key::new("target", Kind::Time { min: 0.0, max: 100.0 }, "5ms",
///         "The delay to hold.", "RFC 8289 section 4.4");
///     LIMIT;
///     pub AQM = Param::new("aqm", Kind::Model("aqm"), "none", "What acts on each queue.", "");
/// }
/// assert_eq!(TARGET.default, "5ms");
/// assert_eq!(PARAMS.iter().map(|p| p.name).collect::<Vec<_>>(), ["target", "limit", "aqm"]);
/// ```
#[macro_export]
macro_rules! params {
    (@declare [$(#[$about:meta])*] $vis:vis $name:ident) => {};
    (@declare [$(#[$about:meta])*] $vis:vis $name:ident = $value:expr) => {
        $(#[$about])* $vis const $name: $crate::Param = $value;
    };
    (@declare [$(#[$about:meta])*] $vis:vis $name:ident: $type:ty = $value:expr) => {
        $(#[$about])* $vis const $name: $crate::Key<$type> = $value;
    };
    (@param $name:ident) => { $name.declared() };
    (@param $name:ident = $value:expr) => { $name };
    (@param $name:ident: $type:ty = $value:expr) => { $name.param };
    (
        $(#[$meta:meta])* $list_vis:vis const $list:ident;
        $($(#[$about:meta])* $vis:vis $name:ident $(: $type:ty)? $(= $value:expr)?;)*
    ) => {
        $($crate::params!(@declare [$(#[$about])*] $vis $name $(: $type)? $(= $value)?);)*
        $(#[$meta])* $list_vis const $list: &[$crate::Param] = &[
            $($crate::params!(@param $name $(: $type)? $(= $value)?)),*
        ];
    };
    ($($(#[$about:meta])* $vis:vis $name:ident $(: $type:ty)? = $value:expr;)*) => {
        $($crate::params!(@declare [$(#[$about])*] $vis $name $(: $type)? = $value);)*
    };
}

/// Enums whose values a scenario writes as words.
///
/// ```
/// use tailback_base::model::{Choice, Key};
///
/// tailback_base::choice! {
///     /// Which of two that are equally long is taken.
///     pub enum Tie {
///         Lowest = "lowest",
///         Random = "random",
///     }
/// }
/// const TIE: Key<Tie> = Key::choice("tie", "lowest", "Which of two longest queues loses a packet.", "");
/// assert_eq!(Tie::WORDS, ["lowest", "random"]);
/// ```
#[macro_export]
macro_rules! choice {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$about:meta])* $value:ident = $word:literal),+ $(,)? }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name {
            $($(#[$about])* $value,)+
        }

        impl $crate::model::Choice for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const MEANINGS: &'static [Self] = &[$($name::$value),+];
        }
    )+};
}
