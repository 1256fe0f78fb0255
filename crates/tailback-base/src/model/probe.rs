//! Probes: the quantities of a model that can be read during a run, each declared with the function that reads it.
//!
//! ```
//! use tailback_base::model::Probe;
//!
//! struct Counter {
//!     seen: u64,
//! }
//! const PROBES: [Probe<Counter>; 1] = [Probe::new("seen", "packets", "Packets so far", |c, _| c.seen as f64)];
//! assert_eq!(Probe::read(&PROBES, &Counter { seen: 3 }, 0, 0), 3.0);
//! assert_eq!(Probe::defs(&PROBES)[0].name, "seen");
//! ```

use super::ProbeDef;

/// A quantity that can be read from a `Q`: its declaration, and the function that reads it. `At` is an index, if there
/// is a value for each queue, colour or flow, or the time of the reading.
pub struct Probe<Q: ?Sized, At = u32> {
    def: ProbeDef,
    read: fn(&Q, At) -> f64,
}

impl<Q: ?Sized, At> Probe<Q, At> {
    /// A single value.
    pub const fn new(name: &'static str, unit: &'static str, doc: &'static str, read: fn(&Q, At) -> f64) -> Self {
        let per = "";
        Probe::of(ProbeDef { name, unit, doc, per }, read)
    }

    /// A probe whose declaration is elsewhere.
    pub const fn of(def: ProbeDef, read: fn(&Q, At) -> f64) -> Self {
        Probe { def, read }
    }

    /// A probe with one value for each of these.
    #[must_use]
    pub const fn per(mut self, what: &'static str) -> Self {
        self.def.per = what;
        self
    }

    /// The declarations of a list of probes.
    pub const fn defs<const N: usize>(list: &[Self; N]) -> [ProbeDef; N] {
        let mut defs = [ProbeDef {
            name: "",
            unit: "",
            doc: "",
            per: "",
        }; N];
        let mut i = 0;
        while i < N {
            defs[i] = list[i].def;
            i += 1;
        }
        defs
    }

    /// The value of the probe at this place of a list; NaN if there is no such probe.
    pub fn read(list: &[Self], of: &Q, place: usize, at: At) -> f64 {
        list.get(place).map_or(f64::NAN, |probe| (probe.read)(of, at))
    }
}
