//! Quantities that depend on the path: `"0.5 bdp"`, `"2 rtt"`, `"95 % of bottleneck"`.
//!
//! This module reads them. Only a scenario has the rates and round trips of its paths. It replaces each such quantity
//! by a plain one before a model gets it.

use crate::split::split;

/// A multiple of a quantity that depends on the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OfPath<'t> {
    /// A multiple of the product of a line's rate and a round trip, as in `"0.5 bdp"`.
    Products(f64),
    /// A multiple of the round trip, as in `"2 rtt"`.
    RoundTrips(f64),
    /// A share of the rate of a link, 0.95 for `"95 % of bottleneck"`. The name is empty for the link that the value is
    /// for.
    Share(f64, &'t str),
}

/// The quantity of the path that a text gives; `None` for any other text.
///
/// ```
/// use tailback_base::relative::{OfPath, parse};
///
/// assert_eq!(parse("0.5 bdp"), Some(OfPath::Products(0.5)));
/// assert_eq!(parse("2rtt"), Some(OfPath::RoundTrips(2.0)));
/// assert_eq!(parse("95 % of bottleneck"), Some(OfPath::Share(0.95, "bottleneck")));
/// assert_eq!(parse("100 packets"), None);
/// ```
pub fn parse(text: &str) -> Option<OfPath<'_>> {
    let (magnitude, unit) = split(text)?;
    match unit {
        "bdp" | "BDP" => Some(OfPath::Products(magnitude)),
        "rtt" | "RTT" => Some(OfPath::RoundTrips(magnitude)),
        "%" => Some(OfPath::Share(magnitude / 100.0, "")),
        _ => {
            let of = unit.strip_prefix('%')?.trim_start().strip_prefix("of ")?;
            Some(OfPath::Share(magnitude / 100.0, of.trim()))
        }
    }
}

/// The least whole number that is not below `x`. The rounding error of a multiplication does not count as more.
///
/// ```
/// use tailback_base::relative::whole_above;
///
/// assert_eq!((whole_above(83.2), whole_above(84.0)), (84, 84));
/// assert_eq!(whole_above(0.1 * 250_000.0 + 4e-12), 25_000);
/// ```
pub fn whole_above(x: f64) -> u64 {
    libm::ceil(x - x.abs() * 1e-12) as u64
}
