//! Quantities that depend on the path: `"0.5 bdp"`, `"2 rtt"`, `"95 % of bottleneck"`.
//!
//! Here they are read. What the path has is known to a scenario alone, which puts a plain quantity in the place of each
//! before a model sees it.

use crate::split::split;

/// A number of something that the path decides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OfPath<'t> {
    /// A multiple of the product of a line's rate and a round trip, as in `"0.5 bdp"`.
    Products(f64),
    /// A multiple of the round trip, as in `"2 rtt"`.
    RoundTrips(f64),
    /// Of the rate of a link, 0.95 for `"95 % of bottleneck"`. The name is empty for the link that the value is for.
    Share(f64, &'t str),
}

/// What a text says of the path; `None` for any other text.
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
    let (x, unit) = split(text)?;
    match unit {
        "bdp" | "BDP" => Some(OfPath::Products(x)),
        "rtt" | "RTT" => Some(OfPath::RoundTrips(x)),
        "%" => Some(OfPath::Share(x / 100.0, "")),
        _ => {
            let of = unit.strip_prefix('%')?.trim_start().strip_prefix("of ")?;
            Some(OfPath::Share(x / 100.0, of.trim()))
        }
    }
}

/// The least whole number that is not below `x`. What a multiplication left over does not count as more.
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
