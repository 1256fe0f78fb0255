//! A recorded quantity of the only flow.

use crate::common::{number, text};
use tailback_sim::results::outcome::Outcome;

/// A probe of the only flow: times and values.
pub fn series(o: &Outcome, probe: &str) -> Vec<(f64, f64)> {
    let t = &o["series"];
    let here = (0..t.rows()).filter(|i| text(t, "probe", *i) == probe);
    here.map(|i| (number(t, "time_s", i), number(t, "value", i))).collect()
}
