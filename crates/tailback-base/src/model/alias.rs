//! The names that other programs use for a model.

/// A name of another program. A scenario may use it; the model's own name is stored and shown.
///
/// ```
/// use tailback_base::model::Alias;
///
/// let alias = Alias::linux("fq_codel");
/// assert_eq!((alias.name, alias.of), ("fq_codel", "Linux"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    pub name: &'static str,
    /// The program, such as `Linux`.
    pub of: &'static str,
}

impl Alias {
    /// The name that `tc` and `sysctl` accept.
    pub const fn linux(name: &'static str) -> Alias {
        Alias { name, of: "Linux" }
    }

    /// The class of a queue or agent in ns-2, without the prefix that all of them share.
    pub const fn ns2(name: &'static str) -> Alias {
        Alias { name, of: "ns-2" }
    }

    /// The class, without `ns3::`.
    pub const fn ns3(name: &'static str) -> Alias {
        Alias { name, of: "ns-3" }
    }
}
