//! Kinds of parameters that several declarations share.

use tailback_base::choice;
use tailback_base::model::Kind;

/// The longest run: the event list keeps instants in 48 bits of nanoseconds, which is a little more than 78 hours.
pub const LONGEST_SECONDS: f64 = 280_800.0;

/// A time, zero included.
pub const TIME: Kind = Kind::Time {
    min: 0.0,
    max: LONGEST_SECONDS,
};

/// A time of at least one nanosecond.
pub const SOME_TIME: Kind = Kind::Time {
    min: 1e-9,
    max: LONGEST_SECONDS,
};

pub const RATE: Kind = Kind::Rate { min: 1.0, max: 1e14 };

/// The rate of a line for some time; 0 is an outage.
pub const RATE_OR_OUTAGE: Kind = Kind::Rate { min: 0.0, max: 1e14 };

/// Schedulers count weights in billionths.
pub const WEIGHT: Kind = Kind::Real { min: 0.001, max: 1e6 };

pub const PROBABILITY: Kind = Kind::Real { min: 0.0, max: 1.0 };

choice! {
    /// The fate of connections after an exchange, or after a flow.
    pub enum Connections {
        Keep = "keep",
        New = "new",
    }
}
